//! Puzzle records: lengths, and the rules of their domain. Where the stream says nothing of how it
//! was made, what only our builders keep is a warning.

use std::path::Path;

use super::{Looked, position};
use crate::batch::{Batch, Header};
use crate::check::puzzle::{check_of, level};
use crate::check::{At, Check};
use crate::cli::Result;
use crate::puzzle::{self, Split};
use crate::record::puzzle::Puzzles;

static LENGTH: Check = Check::error(
    "stream.puzzle.length",
    "labels of another length than inputs, or than the stream's seq_len: no set can hold them",
);
static SPLIT: Check = Check::error("stream.puzzle.split", "a split that is neither train nor test");

pub(super) static CHECKS: &[&Check] = &[&LENGTH, &SPLIT];

pub(super) struct Judge {
    /// Whether one of our builders made the records.
    ours: bool,
    seq_len: Option<usize>,
}

impl Judge {
    pub fn new(header: &Header) -> Judge {
        let ours = header.provenance.iter().any(|entry| entry["name"] == "puzzle-encode");
        let seq_len = header.parameters.get("seq_len").and_then(|len| len.as_u64());
        Judge { ours, seq_len: seq_len.and_then(|len| usize::try_from(len).ok()) }
    }

    pub fn look(&mut self, path: &Path, batch: &Batch, looked: &mut Looked<'_>) -> Result<()> {
        let view = Puzzles::of(&batch.records)?;
        for row in 0..view.len() {
            let example = view.get(row);
            let at =
                position(At::file(path), batch.origin.place(row).position).id(Some(example.puzzle));
            let (inputs, labels) = (example.inputs, example.labels);
            let lengths = [inputs.len(), labels.len()];
            let seq_len = self.seq_len.unwrap_or(inputs.len());
            if lengths != [seq_len; 2] {
                let [inputs, labels] = lengths;
                looked.findings.add(&LENGTH, at, || {
                    format!("{inputs} inputs, {labels} labels; {seq_len} are wanted")
                });
                continue;
            }
            let split = [Split::Train, Split::Test].into_iter().find(|s| s.name() == example.split);
            if split.is_none() {
                looked.findings.add(&SPLIT, at, || format!("it is {:?}", example.split));
            }
            let Some(domain) = example.domain.and_then(puzzle::domain) else { continue };
            for finding in domain.check(inputs, labels, split) {
                let Some(check) = check_of(finding.rule) else { continue };
                let worth = if self.ours { finding.rule.level } else { finding.rule.foreign };
                looked.findings.add_as(check, level(worth), at, || finding.message.clone());
            }
        }
        Ok(())
    }
}
