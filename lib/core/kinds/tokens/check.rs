//! Checks tokens records by the same rules as the sequences of a Megatron dataset, and their segments.

use std::path::Path;

use crate::batch::Header;
use crate::check::DERIVED;
use crate::check::gate::{self, SEGMENTS};
use crate::check::{
    AssertedRules, BatchCheck, Check, CheckView, Findings, RecordChecker, SequenceChecker,
    SequenceRules, checks,
};
use crate::error::Result;
use crate::harmony::{Alignment, Policy, Spans};
use crate::model::{Vocabulary, end_of, is_assumed};
use crate::record::tokens::Tokens;
use crate::wording::exactly;

checks! {
    NULL: Error Content "stream.tokens.null",
        "a sequence without tokens, or with only one of the two masks";
    LENGTHS: Error Content "stream.tokens.lengths",
        "a mask that is longer or shorter than its tokens: all after it would be shifted";
    UNKNOWN: Error Content "stream.tokens.unknown",
        "tokens that Harmony does not make, in a stream that does not state their tokenizer",
        hint "--model DIR, the folder of their model";
    ALIGNMENT: Error Structure "stream.tokens.alignment",
        "masks that are aligned to their own token: a Megatron dataset needs them for the next one",
        hint "try: span-mask without --align token";
}

impl CheckView for Tokens<'_> {
    fn checks() -> Vec<&'static Check> {
        [CHECKS, gate::CHECKS].concat()
    }

    fn header(path: &Path, header: &Header, findings: &mut Findings<'_>) {
        if header.is_token_aligned() {
            findings.add(&ALIGNMENT, path, "the header says that the masks are token-aligned");
        }
    }

    fn checker(header: &Header, said: AssertedRules) -> Box<dyn RecordChecker> {
        Box::new(TokensChecker::new(header, said))
    }
}

struct TokensChecker {
    sequences: SequenceChecker,
    rules: SequenceRules,
    /// Whether nothing is stated about the tokenizer.
    is_assumed: bool,
}

impl TokensChecker {
    /// The policy that is said counts if the header has none.
    fn new(header: &Header, said: AssertedRules) -> TokensChecker {
        let policy = header.text("policy").and_then(Policy::from_name).or(said.policy);
        let spans = header.parameters.get("spans");
        let spans = spans.map(Spans::from_json);
        let alignment = if header.is_token_aligned() { Alignment::Token } else { Alignment::Label };
        let vocabulary = Vocabulary::of(header.parameters.get("tokenizer"));
        let (is_weighted, tokenizer) = (false, said.tokenizer);
        let end = end_of(header);
        let rules =
            SequenceRules { policy, spans, alignment, is_weighted, vocabulary, tokenizer, end };
        let sequences = SequenceChecker::new(&rules);
        TokensChecker { sequences, rules, is_assumed: is_assumed(header) }
    }
}

impl TokensChecker {
    /// Returns the first place at which the span ids of a row do not follow from its segments. (For tokens that do
    /// not show the roles themselves.)
    fn differs(&self, view: &Tokens<'_>, row: usize, span: &[u8]) -> Option<String> {
        let (segments, spans) = (view.segments(row)?, self.rules.spans.as_ref()?);
        let mut derived = Vec::with_capacity(span.len());
        if let Err(cause) = spans.append(segments, span.len(), self.rules.alignment, &mut derived) {
            return Some(cause);
        }
        let place = derived.iter().zip(span).position(|(a, b)| a != b)?;
        let (found, expected) = (span[place], derived[place]);
        Some(format!("position {place} has span id {found}; its label's segment has {expected}"))
    }
}

impl RecordChecker for TokensChecker {
    fn check(&mut self, batch: &mut BatchCheck<'_, '_>) -> Result<()> {
        let view = Tokens::of(&batch.batch.records)?;
        for row in 0..view.len() {
            let id = view.id(row);
            let at = batch.at(row).id(id);
            if let Some(id) = id {
                batch.id(row, id);
            }
            let tokens = view.tokens(row);
            if tokens.is_empty() {
                batch.findings.add(&NULL, at, "has no tokens");
                continue;
            }
            if self.is_assumed && !view.may_be_harmony(row) {
                batch.findings.add(&UNKNOWN, at, "no message begins with <|start|> (200006)");
                continue;
            }
            let masks = match (view.loss_mask(row), view.span_id(row)) {
                (Some(mask), Some(span)) => {
                    let lengths @ [length, masked, spanned] =
                        [tokens.len(), mask.len(), span.len()];
                    let fits = lengths == [length; 3];
                    if !fits {
                        let message = format_args!(
                            "{}, {masked} in the loss mask, {}",
                            exactly(length, "token"),
                            exactly(spanned, "span id")
                        );
                        batch.findings.add(&LENGTHS, at, message);
                    }
                    fits.then_some((mask, span))
                }
                (None, None) => None,
                _ => {
                    batch.findings.add(&NULL, at, "has only one of the two masks");
                    None
                }
            };
            self.sequences.expect_weights(view.segments(row).filter(|_| view.has_weights()));
            self.sequences.expect_targets(view.segments(row));
            self.sequences.check(at, tokens, masks, batch.findings);
            if let Some((_, span)) = masks.filter(|_| !self.rules.vocabulary.is_o200k())
                && let Some(cause) = self.differs(&view, row, span)
            {
                batch.findings.add(&DERIVED, at, cause);
            }
            let are_its = |stated| self.sequences.are_its_segments(stated);
            if !view.segments(row).is_none_or(are_its) {
                batch.findings.add(&SEGMENTS, at, "its segments are not its messages");
            }
        }
        Ok(())
    }
}
