//! The `decoded` record: what a token sequence says, as `harmony-tok --decode` writes it.

use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};

use super::{RecordType, item};

/// `text` is all of the sequence, control tokens by their names; `messages` is the same by
/// message.
pub const DECODED: RecordType = RecordType {
    name: "decoded",
    version: 1,
    fields: || {
        vec![
            Field::new("id", DataType::Utf8, true),
            Field::new("text", DataType::Utf8, false),
            Field::new("messages", DataType::List(item(DataType::Struct(message_fields()))), false),
        ]
    },
    known_by: &["text"],
    made_by: "harmony-tok --decode",
};

fn message_fields() -> Fields {
    ["role", "channel", "recipient", "content_type", "text"]
        .map(|name| Field::new(name, DataType::Utf8, !matches!(name, "role" | "text")))
        .to_vec()
        .into()
}

/// One message, by the fields of the record.
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
pub struct DecodedBuilder {
    ids: Vec<Option<String>>,
    texts: Vec<String>,
    lengths: Vec<usize>,
    messages: Vec<Message>,
}

impl DecodedBuilder {
    pub fn push(&mut self, id: Option<&str>, text: String, messages: Vec<Message>) {
        self.ids.push(id.map(str::to_string));
        self.texts.push(text);
        self.lengths.push(messages.len());
        self.messages.extend(messages);
    }

    pub fn finish(self) -> Result<RecordBatch, ArrowError> {
        let optional = |of: fn(&Message) -> Option<&str>| -> ArrayRef {
            Arc::new(StringArray::from_iter(self.messages.iter().map(of)))
        };
        let columns = vec![
            optional(|message| Some(&message.role)),
            optional(|message| message.channel.as_deref()),
            optional(|message| message.recipient.as_deref()),
            optional(|message| message.content_type.as_deref()),
            optional(|message| Some(&message.text)),
        ];
        let structs = StructArray::try_new(message_fields(), columns, None)?;
        let messages = ListArray::try_new(
            item(DataType::Struct(message_fields())),
            OffsetBuffer::from_lengths(self.lengths),
            Arc::new(structs),
            None,
        )?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from(self.ids)),
            Arc::new(StringArray::from(self.texts)),
            Arc::new(messages),
        ];
        RecordBatch::try_new(Arc::new(Schema::new((DECODED.fields)())), columns)
    }
}
