//! How token sequences are shown: as conversations, with what of them is trained on.

use crate::batch::Batch;
use crate::error::Result;
use crate::record::tokens::Tokens;
use crate::view::{Seen, Shown, ShownConversation, Viewer, sequence};

impl Seen for Tokens<'_> {
    fn show(&self, viewer: &Viewer, batch: &Batch, row: usize) -> Result<Shown> {
        let place = batch.origin.remark(row).map(str::to_string);
        let sequence = sequence::of_tokens(self, row, viewer.alignment, &viewer.spans);
        Ok(Shown::Conversation(ShownConversation { place, ..sequence }))
    }
}
