//! Rows of the dataset PleIAs/SYNTH, from which conversations are made. They are only read, never written.
//! Their columns may have any types, so no fields are declared.

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::RecordType;

pub const RAW_SYNTH: RecordType = RecordType {
    name: "raw SYNTH",
    singular: "raw SYNTH row",
    plural: "raw SYNTH rows",
    marking_fields: &[&[QUERY], &[REASONING], &[ANSWER]],
    made_by: "rows of PleIAs/SYNTH, or chat-harmony for other chats",
    made_into: &[("conversation", "synth-harmony")],
    is_of_people: true,
    ..RecordType::PLAIN
};

pub const QUERY: &str = "query";
pub const REASONING: &str = "synthetic_reasoning";
pub const ANSWER: &str = "synthetic_answer";
/// The text to which a query refers.
pub const REFERENCE: &str = "query_seed_text";
/// The id of a row.
pub const ID: &str = "synth_id";

/// The fields that are kept beside the messages by default.
pub const METADATA_FIELDS: [&str; 7] =
    [ID, "language", "exercise", "model", "constraints", "seed_license", "query_seed_url"];

/// Returns names of columns as a schema.
pub fn columns<'a>(names: impl IntoIterator<Item = &'a str>) -> SchemaRef {
    let mut fields: Vec<Field> = Vec::new();
    for name in names {
        if !fields.iter().any(|field| field.name() == name) {
            fields.push(Field::new(name, DataType::Null, true));
        }
    }
    SchemaRef::new(Schema::new(fields))
}
