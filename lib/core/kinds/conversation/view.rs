//! How conversations are shown.

use crate::batch::Batch;
use crate::error::Result;
use crate::record::chat::of_records;
use crate::record::conversation::Conversations;
use crate::view::{RecordView, ShownRecord, Viewer, messages};

impl RecordView for Conversations<'_> {
    fn show(&self, _: &Viewer, _: &Batch, row: usize) -> Result<ShownRecord> {
        let json = self.messages_json(row).unwrap_or("null");
        let mut beside = self.beside(row);
        beside.retain(|(name, _)| of_records().any(|(known, _)| known == name));
        Ok(ShownRecord::Conversation(messages::of_json(self.id(row), json, &beside)))
    }
}
