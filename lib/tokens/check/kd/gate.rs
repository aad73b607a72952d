//! The rules of one sequence for a sink: it refuses what the checks call an error in one record.

use std::path::Path;

use super::sequences::{self, SequenceChecker, SequenceRules};
use crate::batch::{Header, WEIGHTS};
use crate::check::{Check, FindingPlace, Findings, Selection, Severity};
use crate::error::Result;
use crate::harmony::{Policy, Spans};
use crate::model::{NOT_HARMONY, Vocabulary, end_of, is_assumed};
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
    /// Makes the gate. Without a policy, everything that some policy accepts is right. Without spans, a message
    /// may have any span id, but only one. `end` is the last token of each sequence, if it is not o200k's.
    pub fn new(
        policy: Option<Policy>,
        spans: Option<Spans>,
        vocabulary: Vocabulary,
        end: Option<i32>,
    ) -> Result<SequenceGate> {
        let rules = SequenceRules {
            spans,
            vocabulary,
            end,
            may_have_end: end.is_some(),
            ..SequenceRules::assumed(Some(policy.unwrap_or(Policy::Chat)))
        };
        SequenceGate::of(&rules, &[])
    }

    /// Makes the gate for rows. Their writer has its own rules for ends of documents: if they are kept,
    /// every token is accepted, and a sequence may have no tokens.
    pub fn of_rows(header: &Header, keep_eod: bool) -> Result<SequenceGate> {
        SequenceGate::of_header(header, keep_eod, false, &[])
    }

    /// Makes the gate for rows of triples on disk: that their messages have weights is known, but not which ones. Texts
    /// are not decoded: what wrote the triples has done so (0.2 of 1.6 s of CPU for 52 M tokens).
    pub fn of_triples(header: &Header, keep_eod: bool) -> Result<SequenceGate> {
        let is_weighted = header.parameters.contains_key(WEIGHTS);
        SequenceGate::of_header(header, keep_eod, is_weighted, &[&sequences::TEXT])
    }

    fn of_header(
        header: &Header,
        keep_eod: bool,
        is_weighted: bool,
        without: &[&'static Check],
    ) -> Result<SequenceGate> {
        let spans = header.parameters.get("spans").filter(|spans| !spans.is_null());
        let vocabulary = Vocabulary::of(header.parameters.get("tokenizer"));
        let end = end_of(header);
        let policy = header.text("policy").and_then(Policy::from_name).or(Some(Policy::Chat));
        let rules = SequenceRules {
            spans: spans.map(Spans::from_json),
            is_weighted,
            vocabulary,
            end,
            may_have_end: end.is_some(),
            ..SequenceRules::assumed(policy)
        };
        // (Tokens of another tokenizer have no end but the one that is stated.)
        let ends = if keep_eod && vocabulary.is_o200k() { sequences::ENDS } else { &[] };
        let gate = SequenceGate::of(&rules, &[ends, without].concat())?;
        Ok(gate.assuming(is_assumed(header)))
    }

    fn of(rules: &SequenceRules, without: &[&'static Check]) -> Result<SequenceGate> {
        let all = sequences::all();
        let warnings = all.iter().filter(|check| check.severity != Severity::Error);
        let skipped = warnings.chain(without).map(|check| check.id.to_string()).collect();
        let selection = Selection::new(all, Vec::new(), skipped, false)?;
        let (checker, is_o200k) = (SequenceChecker::new(rules), rules.vocabulary.is_o200k());
        Ok(SequenceGate { checker, selection, is_assumed: false, is_o200k })
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
