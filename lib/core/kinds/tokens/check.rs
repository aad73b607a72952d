//! Checks tokens records by the same rules as the sequences of a Megatron dataset, and their segments.

use std::path::Path;

use crate::batch::Header;
use crate::check::{
    AssertedRules, BatchCheck, Check, CheckView, Findings, RecordChecker, SequenceChecker,
    SequenceRules, checks,
};
use crate::error::Result;
use crate::harmony::{Alignment, Policy, Spans};
use crate::model::{Vocabulary, end_of, is_assumed, is_stated_by_records};
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
        CHECKS.to_vec()
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
        let end = end_of(header);
        let rules = SequenceRules {
            spans,
            alignment,
            vocabulary,
            tokenizer: said.tokenizer,
            end,
            may_have_end: end.is_some() || is_stated_by_records(header) || is_assumed(header),
            ..SequenceRules::assumed(policy)
        };
        let sequences = SequenceChecker::new(&rules);
        TokensChecker { sequences, is_assumed: is_assumed(header) }
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
            self.sequences.check(at, tokens, masks, view.segments(row), batch.findings);
        }
        Ok(())
    }
}
