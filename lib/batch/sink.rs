//! Where batches are written.

use serde::{Deserialize, Serialize};

use super::{Batch, Skipped};
use crate::cli::{Flow, Rejects};
use crate::error::Result;

/// What became of the records of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All records, including those that earlier filters dropped or left out.
    pub read: u64,
    /// All dropped records, here and before.
    pub rejected: u64,
    /// All records that were left out on purpose, here and before.
    pub skipped: Skipped,
}

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

    /// Completes the output. Returns warnings for the user.
    fn finish(self, counts: Counts) -> Result<Vec<String>>;
}
