//! The rules of one sequence for a sink: it refuses what the checks call an error in one record.

use std::path::Path;

use super::sequences::{self, SequenceChecker, SequenceRules};
use crate::batch::Header;
use crate::check::{Check, FindingPlace, Findings, Selection, Severity};
use crate::error::Result;
use crate::harmony::Policy;
use crate::model::{NOT_HARMONY, is_assumed};
use crate::record::statements::WEIGHTS;
use crate::record::tokens::{Segment, Tokens};
use crate::tokenizer::START;

/// Refuses sequences in which the checks would find an error.
pub struct SequenceGate {
    checker: SequenceChecker,
    selection: Selection,
    /// Whether nothing is stated about the tokenizer.
    is_assumed: bool,
    is_o200k: bool,
}

impl SequenceGate {
    /// Makes the gate for records with this header. Without a policy, everything that some policy accepts is right.
    /// Without spans, a message may have any span id, but only one.
    pub fn of(header: &Header) -> Result<SequenceGate> {
        SequenceGate::of_rows(header, false)
    }

    /// Makes the gate for rows. Their writer has its own rules for ends of documents: if they are kept,
    /// every token is accepted, and a sequence may have no tokens.
    pub fn of_rows(header: &Header, keep_eod: bool) -> Result<SequenceGate> {
        SequenceGate::of_header(header, keep_eod, false, &[])
    }

    /// Makes the gate for rows of triples on disk: that their messages have weights is known, but not which ones. Texts
    /// are not decoded: what wrote the triples has done so (0.2 of 1.6 s of CPU for 52 M tokens).
    pub fn of_triples(header: &Header, keep_eod: bool) -> Result<SequenceGate> {
        let is_weighted = header.parameters.has(&WEIGHTS);
        SequenceGate::of_header(header, keep_eod, is_weighted, &[&sequences::TEXT])
    }

    fn of_header(
        header: &Header,
        keep_eod: bool,
        is_weighted: bool,
        without: &[&'static Check],
    ) -> Result<SequenceGate> {
        let stated = SequenceRules::of_header(header);
        let policy = stated.policy.or(Some(Policy::Chat));
        // (Tokens of another tokenizer have no end but the one that is stated.)
        let may_have_end = stated.end.is_some();
        let rules = SequenceRules { policy, is_weighted, may_have_end, ..stated };
        let is_o200k = rules.vocabulary.is_o200k();
        let all = sequences::all();
        let warnings = all.iter().filter(|check| check.severity != Severity::Error);
        let ends = if keep_eod && is_o200k { sequences::ENDS } else { &[] };
        let skipped = warnings.chain(ends).chain(without);
        let skipped = skipped.map(|check| check.id.to_string()).collect();
        let selection = Selection::new(all, Vec::new(), skipped, false)?;
        let checker = SequenceChecker::new(&rules);
        Ok(SequenceGate { checker, selection, is_assumed: is_assumed(header), is_o200k })
    }

    /// Checks whether a row may be written; the error is the cause. Masks, if there are any, are as
    /// long as the tokens.
    pub fn check(&mut self, view: &Tokens<'_>, row: usize) -> Result<(), String> {
        // (Without messages they may be plain text.)
        let has_messages = view.segments(row).is_some();
        if self.is_assumed && has_messages && !view.may_be_harmony(row) {
            return Err(NOT_HARMONY.to_string());
        }
        let masks = view.loss_mask(row).zip(view.span_id(row));
        self.refuse(view.tokens(row), masks, view.segments(row))
    }

    /// Does the same for a sequence on disk. Tokens of o200k that do not begin as a conversation show no messages with
    /// which masks could be compared: they are accepted as they are.
    pub fn check_stored(
        &mut self,
        tokens: &[i32],
        masks: (&[u8], &[u8]),
        segments: Option<Vec<Segment<'_>>>,
    ) -> Result<(), String> {
        if self.is_o200k && tokens.first() != Some(&START) {
            return Ok(());
        }
        self.refuse(tokens, Some(masks), segments.map(Vec::into_iter))
    }

    fn refuse<'a>(
        &mut self,
        tokens: &[i32],
        masks: Option<(&[u8], &[u8])>,
        segments: Option<impl ExactSizeIterator<Item = Segment<'a>> + Clone>,
    ) -> Result<(), String> {
        let mut findings = Findings::of_gate(&self.selection);
        let at = FindingPlace::file(Path::new(""));
        self.checker.check(at, tokens, masks, segments, &mut findings);
        findings.refusal()
    }
}
