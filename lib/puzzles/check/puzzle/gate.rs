//! The rules of one example for a sink: it refuses what the checks call an error in one record.

use std::path::Path;

use super::{DomainExample, RULES};
use crate::check::{Check, FindingPlace, Findings, Selection};
use crate::error::Result;
use crate::puzzle::{Split, domain};
use crate::record::puzzle::Puzzle;

/// Refuses examples that break a rule of their stated domain, if the domain is known.
pub struct PuzzleGate {
    /// Whether one of our builders made the records.
    ours: bool,
    selection: Selection,
}

impl PuzzleGate {
    pub fn new(ours: bool) -> Result<PuzzleGate> {
        let all: Vec<&Check> = RULES.iter().map(|(_, check)| check).collect();
        Ok(PuzzleGate { ours, selection: Selection::new(all, Vec::new(), Vec::new(), false)? })
    }

    /// Checks whether an example, whose tokens are in the vocabulary, may be written; the error is
    /// the cause.
    pub fn check(&self, example: &Puzzle<'_>) -> Result<(), String> {
        let Some(domain) = example.domain.and_then(domain) else { return Ok(()) };
        let split = Split::ALL.into_iter().find(|split| split.name() == example.split);
        let (inputs, labels, ours) = (example.inputs, example.labels, self.ours);
        let mut findings = Findings::of_gate(&self.selection);
        let checked = DomainExample { inputs, labels, split, ours };
        checked.check(domain, FindingPlace::file(Path::new("")), &mut findings);
        findings.refusal()
    }
}
