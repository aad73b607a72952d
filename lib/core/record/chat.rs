//! Chats as people have them. They are read only, in whatever shape they come ([`crate::chat`]): a record is
//! the text of its JSON.

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::{JsonForm, RecordType};

pub const CHAT: RecordType = RecordType {
    name: "chat",
    singular: "chat",
    plural: "chats",
    version: 1,
    fields: Vec::new,
    known_by: &[
        &["messages"],
        &["conversations"],
        &["conversation"],
        &["prompt"],
        &["instruction"],
        &["input"],
        &["user"],
    ],
    made_by: "a file of chats",
    made_into: &[],
    is_derived: false,
};

/// The schema in which chats are read: one column, the text of each record.
pub fn schema() -> SchemaRef {
    let record = Field::new("record", DataType::Utf8, false);
    SchemaRef::new(Schema::new(vec![JsonForm::Record.mark(record)]))
}
