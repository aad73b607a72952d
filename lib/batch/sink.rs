//! Where batches go, in the end.

use super::Batch;
use crate::cli::{Flow, Rejects};
use crate::error::Result;

/// What became of the records of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All that came, those that the filters before have dropped too.
    pub read: u64,
    /// All that were dropped, here and before.
    pub rejected: u64,
}

/// A stream or a dataset that is being written. What is dropped before [`Sink::finish`] leaves
/// nothing that looks finished.
pub trait Sink {
    /// Takes the records of a batch. What it cannot take goes to `rejects`, as does what the batch
    /// has rejected already, in the order of the input.
    fn write(&mut self, batch: Batch, rejects: &mut Rejects) -> Result<Flow>;

    /// Ends the output well. Returns warnings for the user.
    fn finish(self, counts: Counts) -> Result<Vec<String>>;
}
