//! What every check is told: what is wanted, how many threads there are, whom to tell how far it is.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::findings::Findings;
use super::select::Selection;
use crate::cli::Progress;
use crate::harmony::Policy;

/// What the user says of the datasets.
#[derive(Debug, Default)]
pub struct Options {
    /// The manifest of the inputs that a dataset was made from.
    pub input_manifest: Option<PathBuf>,
    /// Under which policy conversations were accepted, where nothing else says.
    pub policy: Option<Policy>,
    /// The domain of puzzle sets; else their build says it, or their shape suggests it.
    pub domain: Option<String>,
}

pub struct Context<'a> {
    pub selection: &'a Selection,
    pub options: &'a Options,
    pub jobs: NonZeroUsize,
    /// How many findings of each kind are kept.
    pub max_findings: usize,
    /// Counts records and bytes.
    pub progress: &'a mut Progress,
}

impl<'a> Context<'a> {
    /// An empty list for findings.
    pub fn findings(&self) -> Findings<'a> {
        Findings::new(self.selection, self.max_findings)
    }
}
