//! Where batches are written.

use super::{Batch, Counts};
use crate::cli::Rejects;
use crate::error::Result;
use crate::ordered::Flow;

/// A stream or a dataset that is being written. What is dropped before [`Sink::finish`] leaves
/// nothing that looks finished.
pub trait Sink {
    /// Whether it writes to stdout.
    fn uses_stdout(&self) -> bool {
        false
    }

    /// Takes the records of a batch. Records that it refuses go to `rejects`, and so do those that
    /// the batch has rejected already, in the order of the input.
    fn write(&mut self, batch: Batch, rejects: &mut Rejects) -> Result<Flow>;

    /// Works on what still waits, after the last batch; what it refuses goes to `rejects`.
    fn end(&mut self, _rejects: &mut Rejects) -> Result<()> {
        Ok(())
    }

    /// Completes the output.
    fn finish(self, counts: Counts) -> Result<Finished>;
}

/// What a sink has to say at its end.
#[derive(Debug, Default)]
pub struct Finished {
    /// What was made, in a line; of a stream nothing.
    pub made: Option<String>,
    pub warnings: Vec<String>,
}
