//! Checks the masks of a sequence. They are derived again from the roles and channels in the tokens; if they
//! differ, the most likely cause is reported, once.

use super::rules::SequenceRules;
use crate::check::{Check, FindingPlace, Findings, checks};
use crate::harmony::{Alignment, Spans, is_unsupervised, loss_mask};
use crate::record::tokens::Segment;

checks! {
    UNSHIFTED: Error Content "kd.mask.unshifted",
        "masks are aligned to their own token, not to the next: training is off by one",
        hint "masks are for labels: position t is about tokens[t+1]; try: span-mask";
    DOUBLE_SHIFT: Error Content "kd.mask.double_shift",
        "the masks are shifted twice: training is off by one the other way",
        hint "span-mask shifts already; do not shift again in the pipeline or the trainer";
    SWAPPED: Error Content "kd.mask.swapped",
        "loss mask and span ids are swapped: losses are weighted wrongly";
    MASK_VALUE: Error Content "kd.mask.value",
        "a loss mask value that is neither 0 nor 1: the loss is multiplied by it";
    SPAN_VALUE: Error Content "kd.span.value",
        "a span id that no channel has: its loss is counted nowhere";
    pub(super) LAST: Error Content "kd.mask.last",
        "the last position, or the one before <|endoftext|>, is supervised: it labels no message";
    MASK_SPAN: Error Content "kd.mask.span",
        "the loss mask is not 1 exactly where the span id is over 0: one of them is wrong";
    pub(crate) DERIVED: Error Content "kd.mask.derived",
        "the masks do not follow from the roles and channels of the messages";
    UNSUPERVISED: Warning Content "kd.mask.unsupervised",
        "a sequence in which nothing is supervised: it costs time and teaches nothing",
        hint "no assistant message is in a supervised channel; try: span-mask --span CHANNEL=ID";
}

/// The loss mask and the span ids of a sequence.
pub type Masks<'a> = (&'a [u8], &'a [u8]);

/// Checks the masks of one sequence after another.
#[derive(Default)]
pub(super) struct MaskChecker {
    /// The span ids that follow from the messages of the last sequence.
    derived: Vec<u8>,
}

impl MaskChecker {
    /// Checks the masks of a sequence. `segments` are its messages; `None` if its spans cannot be derived from them.
    pub fn check<'a>(
        &mut self,
        at: FindingPlace<'_>,
        rules: &SequenceRules,
        segments: Option<impl Iterator<Item = Segment<'a>> + Clone>,
        masks: Masks<'_>,
        findings: &mut Findings<'_>,
    ) {
        if is_unsupervised(masks.0) {
            findings.add(&UNSUPERVISED, at, "nothing is supervised");
        }
        let mut cause = None;
        let segments = segments.filter(|segments| {
            let done = derive(rules, segments.clone(), masks.1, rules.alignment, &mut self.derived);
            cause = done.err();
            cause.is_none()
        });
        // (Messages of Harmony follow one another, as they are read from the tokens.)
        if let Some(cause) = cause {
            findings.add(&DERIVED, at, cause);
            return;
        }
        let differs = |all: u8, (&mask, &span): (&u8, &u8)| all | (mask ^ u8::from(span > 0));
        let is_mask = || masks.0.iter().zip(masks.1).fold(0, differs) == 0;
        if segments.is_some() && masks.1 == self.derived && is_mask() {
            return;
        }
        let is_derived = segments.is_some();
        let misplaced = segments.and_then(|segments| self.misplaced(rules, segments, masks));
        let wrong = || self.wrong_value(rules, masks, is_derived);
        if let Some((check, message)) = misplaced.or_else(wrong) {
            findings.add(check, at, message);
        }
    }

    /// Returns the check and the cause if the masks are the derived ones, but shifted or swapped.
    fn misplaced<'a>(
        &self,
        rules: &SequenceRules,
        segments: impl Iterator<Item = Segment<'a>>,
        (mask, span): Masks<'_>,
    ) -> Option<(&'static Check, String)> {
        let is = |span_id: &[u8]| span == span_id && mask == loss_mask(span_id);
        if mask == self.derived && span == loss_mask(&self.derived) {
            return Some((&SWAPPED, "the loss mask holds the span ids".to_string()));
        }
        if rules.alignment != Alignment::Label {
            return None;
        }
        let mut unshifted = Vec::new();
        let known = derive(rules, segments, span, Alignment::Token, &mut unshifted).is_ok();
        let twice: Vec<u8> = self.derived.iter().skip(1).copied().chain([0]).collect();
        let (check, sign) = if known && is(&unshifted) {
            (&UNSHIFTED, '-')
        } else {
            is(&twice).then_some((&DOUBLE_SHIFT, '+'))?
        };
        let first = span.iter().position(|&id| id > 0).unwrap_or(0);
        let message = "supervised from position";
        Some((check, format!("{message} {first} on; it should be from {first} {sign} 1")))
    }

    /// Returns the first wrong position, in masks that differ from the derived ones or could not be
    /// derived.
    fn wrong_value(
        &self,
        rules: &SequenceRules,
        (mask, span): Masks<'_>,
        is_derived: bool,
    ) -> Option<(&'static Check, String)> {
        if let Some(place) = mask.iter().position(|&value| value > 1) {
            return Some((&MASK_VALUE, format!("position {place} is {}", mask[place])));
        }
        if let Some(place) = span.iter().position(|&id| !rules.is_span(id)) {
            return Some((&SPAN_VALUE, format!("position {place} is {}", span[place])));
        }
        let length = mask.len();
        let both = |place: usize| format!("loss mask {} and span id {}", mask[place], span[place]);
        // (Before the end of a document nothing is supervised; another tokenizer may have no such end.)
        let has_end = rules.vocabulary.is_o200k() || rules.end.is_some();
        let last = if has_end { 2 } else { 1 };
        let end = match rules.alignment {
            Alignment::Label => length.saturating_sub(last)..length,
            Alignment::Token => 0..0,
        };
        if let Some(place) = end.into_iter().find(|&place| mask[place] > 0 || span[place] > 0) {
            return Some((&LAST, format!("position {place} of {length} has {}", both(place))));
        }
        let mut positions = mask.iter().zip(span);
        if let Some(place) = positions.position(|(&mask, &span)| (mask > 0) != (span > 0)) {
            return Some((&MASK_SPAN, format!("position {place} has {}", both(place))));
        }
        if !is_derived {
            return None;
        }
        let place = span.iter().zip(&self.derived).position(|(a, b)| a != b).unwrap_or(0);
        let (found, expected) = (span[place], self.derived[place]);
        let expected = format!("its label's message has {expected}");
        Some((&DERIVED, format!("position {place} has span id {found}; {expected}")))
    }
}

/// Derives the span ids of a sequence from its messages. If the spans are not known, a message has the id that
/// `stated` has at its beginning.
fn derive<'a>(
    rules: &SequenceRules,
    segments: impl Iterator<Item = Segment<'a>>,
    stated: &[u8],
    alignment: Alignment,
    span_ids: &mut Vec<u8>,
) -> Result<(), String> {
    span_ids.clear();
    let stated = (stated, rules.is_weighted);
    Spans::derive(rules.spans.as_ref(), segments, stated, alignment, span_ids)
}
