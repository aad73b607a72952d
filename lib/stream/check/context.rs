//! What every check is given: options, number of threads, where to count.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::findings::Findings;
use super::select::Selection;
use crate::cli::Progress;
use crate::error::Result;
use crate::ordered::{Flow, one, ordered_map};
use crate::said::Said;

/// What the user says about the datasets.
#[derive(Debug, Default, Args)]
pub struct CheckOptions {
    /// Treat warnings as errors, and a root without its manifest as unfinished
    #[arg(long)]
    pub strict: bool,

    /// Manifest of the inputs that the datasets must have been made from
    #[arg(long, value_name = "FILE", help_heading = "Checks")]
    pub input_manifest: Option<PathBuf>,

    /// What the user says about the records.
    #[arg(skip)]
    pub said: Said,
}

pub struct CheckContext<'a> {
    pub selection: &'a Selection,
    pub options: &'a CheckOptions,
    pub jobs: NonZeroUsize,
    /// How many findings of each check are kept.
    pub max_findings: usize,
    /// Counts records and bytes.
    pub progress: &'a mut Progress,
    pub read: BytesRead,
}

/// How many bytes of one dataset were read so far: once as values, and once for the hashes of files.
#[derive(Debug, Clone, Copy, Default)]
pub struct BytesRead {
    values: u64,
    hashed: u64,
}

impl BytesRead {
    /// Counts bytes, and returns how many of them are new: most bytes are read twice.
    fn add(&mut self, bytes: u64, is_hashed: bool) -> u64 {
        let before = self.values.max(self.hashed);
        if is_hashed {
            self.hashed += bytes
        } else {
            self.values += bytes
        }
        self.values.max(self.hashed) - before
    }
}

/// The result of a worker for a chunk of records, besides its findings.
pub struct CheckedChunk<T> {
    pub records: u64,
    pub bytes: u64,
    /// The facts of the chunk that the family needs.
    pub summary: T,
}

impl<'a> CheckContext<'a> {
    /// Returns an empty list for findings.
    pub fn findings(&self) -> Findings<'a> {
        Findings::new(self.selection, self.max_findings)
    }

    /// Checks chunks of records on all threads; each thread has a worker of its own. Findings are
    /// merged, and summaries taken, in the order of the chunks.
    pub fn check_chunks<Chunk: Send, T: Send, Worker>(
        &mut self,
        chunks: impl Iterator<Item = Result<Chunk>> + Send,
        make_worker: impl Fn() -> Worker,
        findings: &mut Findings<'_>,
        mut take: impl FnMut(CheckedChunk<T>, &mut Findings<'_>) -> Result<()>,
    ) -> Result<()>
    where
        Worker: FnMut(Chunk, &mut Findings<'_>) -> Result<CheckedChunk<T>> + Send,
    {
        let (selection, most) = (self.selection, self.max_findings);
        let make_worker = || {
            let mut worker = make_worker();
            one(move |chunk| {
                let mut findings = Findings::new(selection, most);
                worker(chunk, &mut findings).map(|checked| (checked, findings))
            })
        };
        ordered_map(self.jobs, chunks, make_worker, |checked: Result<_>| {
            let (checked, found): (CheckedChunk<T>, Findings<'_>) = checked?;
            findings.merge(found);
            // Files are hashed without a look at their records.
            let bytes = self.read.add(checked.bytes, checked.records == 0);
            self.progress.add(checked.records, bytes);
            take(checked, findings)?;
            Ok(Flow::Continue)
        })
    }
}
