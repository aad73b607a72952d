//! Tells chats from conversations: both have the column `messages`.

use crate::batch::{Batch, Header};
use crate::chat::filter_of;
use crate::error::{Error, Result};
use crate::record::CONVERSATION;
use crate::record::conversation::Conversations;
use crate::record::statements::POLICY;
use crate::way_on;

/// Fails if the first record of a first batch is a chat: reports show conversations, in which every message has its
/// channel.
pub fn refuse_chats(header: &Header, first: &Batch) -> Result<()> {
    if !holds_chats(header, first) {
        return Ok(());
    }
    let input = first.origin.place(0).source;
    let error = Error::usage("expected Harmony conversations, got chats").at(&input);
    Err(error.hint(way_on::through("chat-harmony", &input)))
}

/// Whether the first record of a first batch is a chat in the columns of conversations. A stream that
/// states its policy holds no chats.
pub fn holds_chats(header: &Header, first: &Batch) -> bool {
    let is_other = |(name, _): &(String, u64)| name != CONVERSATION.name;
    if header.get(&POLICY).is_some() || header.record.as_ref().is_some_and(is_other) {
        return false;
    }
    let Ok(conversations) = Conversations::of(&first.records) else { return false };
    let messages = (!conversations.is_empty()).then(|| conversations.messages_json(0)).flatten();
    messages.is_some_and(|messages| filter_of(messages).is_some())
}
