//! How conversations are shown.

use super::{ConversationKind, messages};
use crate::batch::{Batch, Header};
use crate::error::Result;
use crate::record::CONVERSATION;
use crate::record::chat::of_records;
use crate::record::conversation::Conversations;
use crate::said::Said;
use crate::view::{Look, Shown, ViewKind};

impl ViewKind for ConversationKind {
    fn name(&self) -> &'static str {
        CONVERSATION.name
    }

    fn look(&self, _: &Header, _: &Said) -> Result<Box<dyn Look>> {
        Ok(Box::new(ConversationKind))
    }
}

impl Look for ConversationKind {
    fn show(&self, batch: &Batch, row: usize) -> Result<Box<dyn Shown>> {
        let rows = Conversations::of(&batch.records)?;
        let json = rows.messages_json(row).unwrap_or("null");
        let mut beside = rows.beside(row);
        beside.retain(|(name, _)| of_records().any(|(known, _)| known == name));
        Ok(Box::new(messages::of_json(rows.id(row), json, &beside)))
    }
}
