//! Checks puzzle records: lengths, and the rules of their domain. Rules that only our builders keep are
//! warnings, unless the stream says that our builders made it.

use super::PuzzleKind;
use crate::batch::Header;
use crate::check::{
    BatchCheck, Check, CheckKind, DomainExample, DomainSaid, RecordChecker, RecordRules, checks,
};
use crate::error::Result;
use crate::puzzle::{self, Split};
use crate::record::PUZZLE;
use crate::record::puzzle::Puzzles;
use crate::record::statements::SEQ_LEN;
use crate::said::Said;
use crate::wording::exactly;

checks! {
    LENGTH: Error Content "stream.puzzle.length",
        "labels do not have the length of inputs, or of the stream's seq_len: no set can hold them";
    SPLIT: Error Content "stream.puzzle.split", "a split that is neither train nor test";
}

impl CheckKind for PuzzleKind {
    fn name(&self) -> &'static str {
        PUZZLE.name
    }

    fn checks(&self) -> Vec<&'static Check> {
        CHECKS.to_vec()
    }

    fn rules(&self, header: &Header, said: &Said) -> Result<Box<dyn RecordRules>> {
        Ok(Box::new(PuzzleRules::new(header, said.get().copied())))
    }
}

#[derive(Clone, Copy)]
struct PuzzleRules {
    /// Whether one of our builders made the records.
    ours: bool,
    seq_len: Option<usize>,
    said: Option<DomainSaid>,
}

impl PuzzleRules {
    fn new(header: &Header, said: Option<DomainSaid>) -> PuzzleRules {
        let ours = header.has_made("puzzle-encode");
        let seq_len = header.get(&SEQ_LEN);
        PuzzleRules { ours, seq_len: seq_len.and_then(|len| usize::try_from(len).ok()), said }
    }
}

impl RecordRules for PuzzleRules {
    fn checker(&self) -> Box<dyn RecordChecker> {
        Box::new(*self)
    }
}

impl RecordChecker for PuzzleRules {
    fn check(&mut self, batch: &mut BatchCheck<'_, '_>) -> Result<()> {
        let view = Puzzles::of(&batch.batch.records)?;
        for row in 0..view.len() {
            let example = view.get(row);
            let at = batch.at(row).id(Some(example.puzzle));
            let (inputs, labels) = (example.inputs, example.labels);
            let lengths = [inputs.len(), labels.len()];
            let seq_len = self.seq_len.unwrap_or(inputs.len());
            if lengths != [seq_len; 2] {
                let [inputs, labels] = lengths;
                let message = format_args!(
                    "{}, {}; seq_len is {seq_len}",
                    exactly(inputs, "input"),
                    exactly(labels, "label")
                );
                batch.findings.add(&LENGTH, at, message);
                continue;
            }
            let split = [Split::Train, Split::Test].into_iter().find(|s| s.name() == example.split);
            if split.is_none() {
                batch.findings.add(&SPLIT, at, format_args!("it is {:?}", example.split));
            }
            let stated = || example.domain.and_then(puzzle::domain);
            if let Some(domain) = self.said.map_or_else(stated, |DomainSaid(said)| said) {
                let example = DomainExample { inputs, labels, split, ours: self.ours };
                example.check(domain, at, batch.findings);
            }
        }
        Ok(())
    }
}
