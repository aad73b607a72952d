//! Where batches are written.

use super::{Batch, Counts};
use crate::cli::{CommonArgs, Rejects, Tool};
use crate::error::Result;
use crate::ordered::Flow;

/// A stream or a dataset that is being written. If it is dropped before [`Sink::finish`], it leaves
/// nothing that looks finished.
pub trait Sink {
    /// Whether it writes to stdout.
    fn uses_stdout(&self) -> bool {
        false
    }

    /// Writes the records of a batch. Records that it refuses, and records that the batch has rejected already, go to
    /// `rejects` in the order of the input.
    fn write(&mut self, batch: Batch, rejects: &mut Rejects) -> Result<Flow>;

    /// Writes records that still wait, after the last batch; records that it refuses go to
    /// `rejects`.
    fn end(&mut self, _rejects: &mut Rejects) -> Result<()> {
        Ok(())
    }

    /// Completes the output.
    fn finish(self, counts: Counts) -> Result<SinkSummary>;
}

/// The report of a sink at its end.
#[derive(Debug, Default)]
pub struct SinkSummary {
    /// The output in one line; `None` for a stream.
    pub made: Option<String>,
    /// What of the records it has left out on purpose, in one line.
    pub left: Option<String>,
    pub warnings: Vec<String>,
}

impl SinkSummary {
    /// Says what was made, what was rejected, and what was left out.
    pub fn tell(&self, tool: &Tool, common: &CommonArgs, rejects: Rejects) {
        tool.tell_made(self.made.as_deref(), common);
        tool.warn(&self.warnings, common);
        rejects.report(tool.name());
        tool.tell_left(self.left.as_deref(), common);
    }
}
