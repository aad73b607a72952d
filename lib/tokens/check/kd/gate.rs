//! The rules of one sequence for a sink: it refuses what the checks call an error in one record.

use std::path::Path;

use super::sequences::{self, SequenceChecker, SequenceRules};
use crate::check::{Check, FindingPlace, Findings, Selection, Severity};
use crate::error::Result;
use crate::harmony::{Policy, Spans};
use crate::model::{NOT_HARMONY, Vocabulary};
use crate::record::tokens::Tokens;

/// Refuses sequences in which the checks would find an error.
pub struct SequenceGate {
    checker: SequenceChecker,
    selection: Selection,
    /// Whether nothing is stated about the tokenizer.
    is_assumed: bool,
}

impl SequenceGate {
    /// Makes the gate. Without a policy, everything that some policy accepts is right. Without spans, a message
    /// may have any span id, but only one. `end` is the last token of each sequence, if it is not o200k's.
    pub fn new(
        policy: Option<Policy>,
        spans: Option<Spans>,
        vocabulary: Vocabulary,
        end: Option<i32>,
    ) -> Result<SequenceGate> {
        SequenceGate::besides(&[], policy, spans, (vocabulary, end))
    }

    /// Makes the gate for rows. Their writer has its own rules for ends of documents: if they are kept,
    /// every token is accepted, and a sequence may have no tokens.
    pub fn of_rows(
        policy: Option<Policy>,
        spans: Option<Spans>,
        keep_eod: bool,
        of: (Vocabulary, Option<i32>),
    ) -> Result<SequenceGate> {
        // (Tokens of another tokenizer have no end but the one that is stated.)
        let others = if keep_eod && of.0.is_o200k() { sequences::ENDS } else { &[] };
        SequenceGate::besides(others, policy, spans, of)
    }

    fn besides(
        others: &[&'static Check],
        policy: Option<Policy>,
        spans: Option<Spans>,
        (vocabulary, end): (Vocabulary, Option<i32>),
    ) -> Result<SequenceGate> {
        let rules = SequenceRules {
            spans,
            vocabulary,
            end,
            may_have_end: end.is_some(),
            ..SequenceRules::assumed(Some(policy.unwrap_or(Policy::Chat)))
        };
        let all = sequences::all();
        let warnings = all.iter().filter(|check| check.severity != Severity::Error);
        let skipped = warnings.chain(others).map(|check| check.id.to_string()).collect();
        let selection = Selection::new(all, Vec::new(), skipped, false)?;
        Ok(SequenceGate { checker: SequenceChecker::new(&rules), selection, is_assumed: false })
    }

    /// Sets whether nothing is stated about the tokenizer: then what Harmony cannot have made is refused.
    pub fn assuming(self, is_assumed: bool) -> SequenceGate {
        SequenceGate { is_assumed, ..self }
    }

    /// Checks whether a row may be written; the error is the cause. Masks, if there are any, are as
    /// long as the tokens.
    pub fn check(&mut self, view: &Tokens<'_>, row: usize) -> Result<(), String> {
        // (Without messages they may be plain text.)
        let has_messages = view.segments(row).is_some();
        if self.is_assumed && has_messages && !view.may_be_harmony(row) {
            return Err(NOT_HARMONY.to_string());
        }
        let mut findings = Findings::of_gate(&self.selection);
        let masks = view.loss_mask(row).zip(view.span_id(row));
        let at = FindingPlace::file(Path::new(""));
        self.checker.check(at, view.tokens(row), masks, view.segments(row), &mut findings);
        findings.refusal()
    }
}
