//! How token sequences are shown: as conversations, with marks on what is trained on.

use super::{TokenTexts, TokensKind, sequence};
use crate::batch::{Batch, Header};
use crate::check::ModelSaid;
use crate::error::Result;
use crate::harmony::{Alignment, Spans};
use crate::kinds::conversation::ShownConversation;
use crate::model::NOT_HARMONY;
use crate::record::TOKENS;
use crate::record::statements::PACKED;
use crate::record::tokens::Tokens;
use crate::said::Said;
use crate::view::{Look, Shown, ViewKind};

impl ViewKind for TokensKind {
    fn name(&self) -> &'static str {
        TOKENS.name
    }

    fn dataset(&self, header: &Header) -> Option<String> {
        let is_packed = header.parameters.has(&PACKED);
        let dataset = if is_packed { "rows for trainers" } else { "Megatron dataset" };
        Some(format!("{dataset}: {}", TOKENS.plural))
    }

    /// The user may say the alignment of masks, and the model of the tokens.
    fn look(&self, header: &Header, said: &Said) -> Result<Box<dyn Look>> {
        let align = said.get().copied();
        let model = said.get().map(|ModelSaid(folder)| folder.as_path());
        Ok(Box::new(TokensLook {
            alignment: Alignment::of(header, align)?,
            spans: Spans::stated(&header.parameters),
            texts: TokenTexts::of(header, model)?,
            lacks_eod: header.get(&PACKED).is_some_and(|rows| !rows.keep_eod),
        }))
    }
}

struct TokensLook {
    alignment: Alignment,
    /// `None` where the spans are not known.
    spans: Option<Spans>,
    texts: TokenTexts,
    /// Whether the end of a document is in the records and not in their file.
    lacks_eod: bool,
}

impl Look for TokensLook {
    fn show(&self, batch: &Batch, row: usize) -> Result<Box<dyn Shown>> {
        let rows = Tokens::of(&batch.records)?;
        let place = batch.origin.remark(row).map(str::to_string);
        let (spans, texts) = (self.spans.as_ref(), self.texts.of_record(&rows, row));
        let mut sequence = sequence::of_tokens(&rows, row, self.alignment, spans, texts);
        if self.texts.are_known() && !texts.are_known() {
            sequence.notes.push(NOT_HARMONY.to_string());
        }
        if self.lacks_eod {
            sequence.drop_eod();
        }
        Ok(Box::new(ShownConversation { place, ..sequence }))
    }

    fn masks(&self) -> &'static str {
        match self.alignment {
            Alignment::Label => " with label-aligned masks",
            Alignment::Token => " with token-aligned masks",
        }
    }

    fn remark(&self) -> Option<&'static str> {
        self.texts.remark()
    }
}
