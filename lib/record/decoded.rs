//! The `decoded` record: a token sequence as text, as `harmony-tok --decode` writes it.

use super::declare::prelude::*;

pub const DECODED: RecordType = RecordType {
    name: "decoded",
    version: 1,
    fields: DecodedFields::declared,
    known_by: &["text"],
    made_by: "harmony-tok --decode",
};

record_fields! {
    /// A token sequence as text.
    DecodedFields(DecodedColumns, DecodedColumnsBuilder) {
        /// The id of the token sequence.
        id: Option<String>,
        /// The whole sequence, control tokens by their names.
        text: String,
        /// The same text, one struct for each message.
        messages: List<MessageFields>,
    }
}

record_fields! {
    /// One message.
    MessageFields(MessageColumns, MessageBuilder) {
        /// The message's role.
        role: String,
        /// The message's channel.
        channel: Option<String>,
        /// The message's recipient.
        recipient: Option<String>,
        /// The content type in the message's header.
        content_type: Option<String>,
        /// The message's content.
        text: String,
    }
}

/// One message; see [`MessageFields`].
#[derive(Debug, Default)]
pub struct Message {
    pub role: String,
    pub channel: Option<String>,
    pub recipient: Option<String>,
    pub content_type: Option<String>,
    pub text: String,
}

/// Builds a batch.
#[derive(Debug, Default)]
pub struct DecodedBuilder(DecodedColumnsBuilder);

impl DecodedBuilder {
    pub fn push(&mut self, id: Option<&str>, text: String, messages: Vec<Message>) {
        let columns = &mut self.0;
        columns.id.push(id);
        columns.text.push(Some(&text));
        for message in messages {
            let columns = &mut columns.messages.items;
            columns.role.push(Some(&message.role));
            columns.channel.push(message.channel.as_deref());
            columns.recipient.push(message.recipient.as_deref());
            columns.content_type.push(message.content_type.as_deref());
            columns.text.push(Some(&message.text));
        }
        columns.messages.end_row(true);
    }

    pub fn finish(self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(DECODED.schema(), self.0.columns()?)
    }
}
