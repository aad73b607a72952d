//! Checks tokens records by the same rules as the sequences of a Megatron dataset, and their segments.

use std::path::Path;

use super::TokensKind;
use crate::batch::Header;
use crate::check::{
    BatchCheck, Check, CheckKind, Findings, ModelSaid, RecordChecker, RecordRules, SequenceChecker,
    SequenceRules, checks,
};
use crate::error::Result;
use crate::harmony::Alignment;
use crate::model::{NOT_CHECKED, is_assumed, open_of_header, state_model};
use crate::record::TOKENS;
use crate::record::tokens::Tokens;
use crate::said::Said;
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

impl CheckKind for TokensKind {
    fn name(&self) -> &'static str {
        TOKENS.name
    }

    fn checks(&self) -> Vec<&'static Check> {
        CHECKS.to_vec()
    }

    fn header(&self, path: &Path, header: &Header, findings: &mut Findings<'_>) {
        if Alignment::is_token_in(header) {
            findings.add(&ALIGNMENT, path, "the header says that the masks are token-aligned");
        }
    }

    fn rules(&self, header: &Header, said: &Said) -> Result<Box<dyn RecordRules>> {
        let mut header = header.clone();
        let named = said.get().map(|ModelSaid(folder)| folder.as_path());
        let model = match state_model(&mut header, named)? {
            None => open_of_header(&header, None)?,
            model => model,
        };
        let tokenizer = model.map(|model| model.tokenizer().clone());
        // The policy that is said counts if the header has none.
        let stated = SequenceRules::of_header(&header);
        let policy = stated.policy.or(said.get().copied());
        let rules = SequenceRules { policy, tokenizer, ..stated };
        Ok(Box::new(TokensRules { rules, is_assumed: is_assumed(&header) }))
    }
}

struct TokensRules {
    rules: SequenceRules,
    /// Whether nothing is stated about the tokenizer.
    is_assumed: bool,
}

impl RecordRules for TokensRules {
    fn checker(&self) -> Box<dyn RecordChecker> {
        let sequences = SequenceChecker::new(&self.rules);
        Box::new(TokensChecker { sequences, is_assumed: self.is_assumed })
    }

    fn remark(&self) -> Option<&str> {
        let SequenceRules { vocabulary, tokenizer, .. } = &self.rules;
        (!vocabulary.is_o200k() && tokenizer.is_none()).then_some(NOT_CHECKED)
    }
}

struct TokensChecker {
    sequences: SequenceChecker,
    /// See [`TokensRules::is_assumed`].
    is_assumed: bool,
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
