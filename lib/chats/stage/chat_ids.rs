//! The ids of chats.

use blake2::{Blake2b512, Digest};

use crate::chat::{Json, integer};
use crate::digest::hex;

/// The fields from which an id is taken, the first that exists.
const IDS: [&str; 5] = ["id", "synth_id", "conversation_id", "prompt_id", "uuid"];

/// Where an id may be if no field has it: in the record's description, an object or its text.
const METADATA: [&str; 2] = ["metadata_json", "metadata"];
const ID_IN_METADATA: &str = "synth_id";

/// Where the ids of chats are.
pub struct ChatIds {
    field: Option<String>,
}

impl ChatIds {
    /// `field` is the only field that has them, if there is one.
    pub fn new(field: Option<String>) -> ChatIds {
        ChatIds { field }
    }

    /// Returns the columns that may have ids.
    pub fn columns(&self) -> Vec<String> {
        match &self.field {
            Some(name) => vec![name.clone()],
            None => IDS.map(str::to_string).to_vec(),
        }
    }

    /// Returns the id of a record: its own, or a hash of its content.
    pub fn of(&self, record: &Json<'_>) -> Result<String, String> {
        match &self.field {
            Some(name) => match record.get(name) {
                Some(value) => id_of(name, value),
                None => {
                    Err(format!("{name} is missing or null; try: --id-field with another name"))
                }
            },
            None => match IDS.iter().find_map(|name| Some((*name, record.get(name)?))) {
                Some((name, value)) => id_of(name, value),
                None => match id_in_metadata(record) {
                    Some(id) => id,
                    None => Ok(hex(&Blake2b512::digest(record.canonical())[..8])),
                },
            },
        }
    }
}

/// Returns the id in a field.
fn id_of(name: &str, value: &Json<'_>) -> Result<String, String> {
    match (value, integer(value)) {
        (Json::Text(text), _) => Ok(text.to_string()),
        (_, Some(number)) => Ok(number.into_owned()),
        _ => Err(format!("{name} is a {}, wanted a string or an integer", value.type_name())),
    }
}

/// Returns the id in a record's description, if it has one.
fn id_in_metadata(record: &Json<'_>) -> Option<Result<String, String>> {
    METADATA.iter().find_map(|field| {
        let value = record.get(field)?;
        // (A text may be anything.)
        let parsed = value.text().and_then(|text| Json::parse(text).ok());
        let id = parsed.as_ref().unwrap_or(value).get(ID_IN_METADATA)?;
        Some(id_of(&format!("{field}.{ID_IN_METADATA}"), id))
    })
}
