//! What every check is given: options, number of threads, where to count.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use gristmill_models::Tokenizer;

use super::findings::Findings;
use super::select::Selection;
use crate::cli::Progress;
use crate::error::{Error, Result};
use crate::harmony::Policy;
use crate::ordered::{Flow, one, ordered_map};
use crate::puzzle::{self, Domain};

/// What the user says about the datasets.
#[derive(Debug, Default, Args)]
pub struct CheckOptions {
    /// Treat warnings as errors, and a root without its manifest as unfinished
    #[arg(long)]
    pub strict: bool,

    /// Manifest of the inputs that the datasets must have been made from
    #[arg(long, value_name = "FILE", help_heading = "Checks")]
    pub input_manifest: Option<PathBuf>,

    /// Policy for conversations if the dataset does not state it: synth-kd-v1, chat
    #[arg(long, value_name = "NAME", value_enum, help_heading = "Checks")]
    #[arg(hide_possible_values = true)]
    pub policy: Option<Policy>,

    /// The model of the tokens, for streams that do not state it: gpt-oss, a folder, or a tokenizer.json
    #[arg(long, value_name = "DIR", help_heading = "Checks")]
    pub model: Option<PathBuf>,

    /// Domain of puzzle sets that do not state it: sudoku, arc, maze, domino; none: check no rules
    #[arg(long, value_name = "NAME", help_heading = "Checks")]
    pub domain: Option<String>,
}

/// The name of `--domain` that switches rules of domains off.
const NO_DOMAIN: &str = "none";

/// What the user asserts about the records.
#[derive(Clone, Default)]
pub struct AssertedRules {
    /// The policy, if the records state none.
    pub policy: Option<Policy>,
    /// The domain, whatever the records state; `Some(None)`: no rules of any domain.
    pub domain: Option<Option<&'static dyn Domain>>,
    /// The tokenizer of tokens, if it is not o200k and at hand.
    pub tokenizer: Option<Tokenizer>,
}

impl CheckOptions {
    pub fn said(&self) -> Result<AssertedRules> {
        let domain = self.domain.as_deref().map(|name| match (name, puzzle::domain(name)) {
            (NO_DOMAIN, _) => Ok(None),
            (_, Some(domain)) => Ok(Some(domain)),
            (_, None) => {
                let names = puzzle::DOMAINS.iter().map(|d| d.constants().name);
                let names: Vec<&str> = names.chain([NO_DOMAIN]).collect();
                let unknown = Error::usage(format!("--domain {name}: not a known domain"));
                Err(unknown.hint(names.join(", ")))
            }
        });
        Ok(AssertedRules { policy: self.policy, domain: domain.transpose()?, tokenizer: None })
    }
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
pub(super) struct CheckedChunk<T> {
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
    pub(super) fn check_chunks<Chunk: Send, T: Send, Worker>(
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
