//! How token sequences are shown: as conversations, with marks on what is trained on.

use crate::batch::{Batch, Header};
use crate::error::Result;
use crate::format::token_rows::PACKED;
use crate::model::NOT_HARMONY;
use crate::record::TOKENS;
use crate::record::tokens::Tokens;
use crate::view::{RecordView, ShownConversation, ShownRecord, Viewer, sequence};

impl RecordView for Tokens<'_> {
    const IS_ALIGNED: bool = true;

    fn dataset(header: &Header) -> Option<String> {
        let is_packed = header.parameters.contains_key(PACKED);
        let dataset = if is_packed { "rows for trainers" } else { "Megatron dataset" };
        Some(format!("{dataset}: {}", TOKENS.plural))
    }

    fn show(&self, viewer: &Viewer, batch: &Batch, row: usize) -> Result<ShownRecord> {
        let place = batch.origin.remark(row).map(str::to_string);
        let (spans, texts) = (viewer.spans.as_ref(), viewer.texts.of_record(self, row));
        let mut sequence = sequence::of_tokens(self, row, viewer.alignment, spans, texts);
        if viewer.texts.are_known() && !texts.are_known() {
            sequence.notes.push(NOT_HARMONY.to_string());
        }
        if viewer.lacks_eod {
            sequence.drop_eod();
        }
        Ok(ShownRecord::Conversation(ShownConversation { place, ..sequence }))
    }
}
