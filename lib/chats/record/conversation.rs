//! The `conversation` record: an id and the messages as the text of `{"messages": [...]}`.

use std::borrow::Cow;

use arrow_array::{StringArray, StringViewArray, UInt64Array};
use arrow_schema::SchemaRef;

use super::chat::{CHAT, of_records};
use super::prelude::*;
use super::stated::StatedMember;
use super::statements::POLICY;
use super::{JsonForm, LookAlike, OTHERS};

pub use super::part_id::{part_id as turn_id, whole_of as chat_of};

use crate::json::{self, Reader, write_string};

/// Conversations: a Parquet shard of the schema `synth_harmony_v1`, or any stream with these
/// fields. The reader chooses the fields from which the id is taken, see [`id_fields`].
pub const CONVERSATION: RecordType = RecordType {
    name: "conversation",
    singular: "conversation",
    plural: "conversations",
    has_others: true,
    fields: ConversationFields::declared,
    marking_fields: &[&["messages"], &["messages_json"]],
    made_by: "chat-harmony, or Parquet or NDJSON with an id and messages",
    made_into: &[("tokens", "harmony-tok | span-mask")],
    stated: Some(StatedMember {
        name: POLICY.name,
        state: |header, policy| header.set(&POLICY, policy.to_string()),
        column: None,
    }),
    look_alike: Some(LookAlike {
        record: &CHAT,
        column: MESSAGES,
        statement: &POLICY,
        filter_of: crate::chat::filter_of,
    }),
    ..RecordType::PLAIN
};

record_fields! {
    /// A conversation before it is rendered.
    ConversationFields(ConversationColumns, ConversationBuilder) {
        /// The id.
        synth_id: Option<String>,
        /// The id, if `synth_id` is null or absent.
        id: Option<String>,
        /// The text of `{"messages": [...]}`, a list of Harmony messages.
        messages_json: Option<JsonMember>,
    }
}

/// Returns the fields from which an id is taken, the first that is not null: `synth_id`, then `id`,
/// or only `named`.
pub fn id_fields(named: Option<&str>) -> Vec<String> {
    match named {
        Some(name) => vec![name.to_string()],
        None => vec!["synth_id".to_string(), "id".to_string()],
    }
}

/// The column of the messages.
pub const MESSAGES: &str = "messages_json";

/// The raw row from which a conversation was made: the name of its file, and its row there, from 0
/// (for NDJSON its line). A pipe of Arrow has these fields, so that a sequence leads back to the
/// raw row.
pub const RAW_INPUT: &str = "gristmill_input";
pub const RAW_ROW: &str = "gristmill_row";

/// Fields beside the messages: tokens that were made from the messages before, and their masks. They are
/// made again.
const TOKENS: &str = "tokens";
const MASKS: [&str; 2] = ["loss_mask", "mask"];

/// Returns the fields beside the messages that change what is trained on: each is the text of a
/// value of any kind.
fn beside_messages() -> impl Iterator<Item = Field> {
    let names = of_records().map(|(name, _)| name).chain([TOKENS]);
    names.map(|name| JsonForm::Any.mark(Field::new(name, DataType::Utf8, true)))
}

/// Returns the fields [`RAW_INPUT`] and [`RAW_ROW`].
pub fn raw_place() -> [Field; 2] {
    [Option::<String>::field(RAW_INPUT), Option::<u64>::field(RAW_ROW)]
}

/// Returns the schema in which conversations are read whose id is in one of `ids`. The messages are
/// text views in it, so that they are not copied out of a decoded Parquet page.
pub fn schema(ids: &[String]) -> SchemaRef {
    let beside = beside_messages().filter(|field| !ids.contains(field.name()));
    let ids = ids.iter().map(|name| Option::<String>::field(name));
    let messages = Option::<JsonMember>::field(MESSAGES).with_data_type(DataType::Utf8View);
    let fields = ids.chain([messages]).chain(raw_place()).chain(beside);
    SchemaRef::new(Schema::new(fields.collect::<Vec<Field>>()))
}

/// A batch of conversations, by column.
#[derive(Debug)]
pub struct Conversations<'a> {
    /// The names of the columns in `ids`.
    id_names: Vec<&'a str>,
    ids: Vec<&'a StringArray>,
    messages: Option<Texts<'a>>,
    raw_input: Option<&'a StringArray>,
    raw_row: Option<&'a UInt64Array>,
    /// The columns beside the messages that are not empty.
    beside: Vec<(&'a str, &'a StringArray)>,
    /// Texts of objects with the fields that have no column of their own.
    others: Option<&'a StringArray>,
    rows: usize,
}

/// A column of text in either form.
#[derive(Debug)]
enum Texts<'a> {
    Plain(&'a StringArray),
    Views(&'a StringViewArray),
}

impl<'a> Conversations<'a> {
    /// Returns the view of a batch in the schema of [`CONVERSATION`] or [`schema`]. Missing columns
    /// are null.
    pub fn of(batch: &'a RecordBatch) -> Result<Conversations<'a>, ArrowError> {
        let (mut id_names, mut ids, mut messages) = (Vec::new(), Vec::new(), None);
        let (mut raw_input, mut raw_row, mut beside, mut others) = (None, None, Vec::new(), None);
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let plain = column.as_string_opt::<i32>();
            let filled = plain.filter(|column| column.null_count() < column.len());
            match field.name().as_str() {
                MESSAGES => {
                    let views = || column.as_string_view_opt().map(Texts::Views);
                    messages = plain.map(Texts::Plain).or_else(views);
                }
                RAW_INPUT => raw_input = plain,
                RAW_ROW => raw_row = column.as_primitive_opt(),
                OTHERS => others = filled,
                name if JsonForm::of(field) == Some(JsonForm::Any) => {
                    beside.extend(filled.map(|column| (name, column)));
                }
                name => {
                    id_names.extend(plain.map(|_| name));
                    ids.extend(plain);
                }
            }
        }
        let rows = batch.num_rows();
        Ok(Conversations { id_names, ids, messages, raw_input, raw_row, beside, others, rows })
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the columns from which an id is taken.
    pub fn id_names(&self) -> &[&'a str] {
        &self.id_names
    }

    /// Returns the id of a row; `None` if it is missing or null.
    pub fn id(&self, row: usize) -> Option<&'a str> {
        let column = self.ids.iter().find(|column| column.is_valid(row))?;
        Some(column.value(row))
    }

    /// Returns the file and the row from which it was made, if these came with it.
    pub fn raw_place(&self, row: usize) -> Option<(&'a str, u64)> {
        let (input, number) = (self.raw_input?, self.raw_row?);
        let is_known = input.is_valid(row) && number.is_valid(row);
        is_known.then(|| (input.value(row), number.value(row)))
    }

    /// Returns names and JSON texts of the fields beside the messages of a row, in the order of
    /// their names: fields that change training (see [`of_records`]); for whole records all fields.
    /// Nulls are left out.
    pub fn beside(&self, row: usize) -> Vec<(Cow<'a, str>, &'a str)> {
        let there = self.beside.iter().filter(|(_, column)| column.is_valid(row));
        let mut all: Vec<(Cow<str>, &str)> =
            there.map(|(name, column)| (Cow::Borrowed(*name), column.value(row))).collect();
        if let Some(others) = self.others_json(row) {
            add_members(others, &mut all);
        }
        let has_tokens = all.iter().any(|(name, _)| name == TOKENS);
        all.retain(|(name, value)| {
            let is_of_tokens = name == TOKENS || (has_tokens && MASKS.contains(&&**name));
            !is_of_tokens && *value != "null"
        });
        all.sort();
        all
    }

    /// Returns the text of the object with the fields that have no column of their own; `None` if
    /// there are none.
    pub fn others_json(&self, row: usize) -> Option<&'a str> {
        let others = self.others.filter(|others| others.is_valid(row))?;
        Some(others.value(row))
    }

    /// Returns the text of `{"messages": [...]}`; `None` if it is missing or null.
    pub fn messages_json(&self, row: usize) -> Option<&'a str> {
        match self.messages.as_ref()? {
            Texts::Plain(column) => column.is_valid(row).then(|| column.value(row)),
            Texts::Views(column) => column.is_valid(row).then(|| column.value(row)),
        }
    }
}

/// Adds the members of an object, if the text is one.
fn add_members<'a>(object: &'a str, all: &mut Vec<(Cow<'a, str>, &'a str)>) {
    let mut scratch = String::new();
    let read = Reader::lenient(object).object(|reader, key| {
        let name = match key.plain() {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(key.decode(&mut scratch)?.to_string()),
        };
        all.push((name, reader.raw()?));
        Ok::<(), json::Error>(())
    });
    // A broken text is refused where it is read.
    let _: Result<(), json::Error> = read;
}

/// Returns a row as it is written to the rejects.
pub fn to_json(batch: &RecordBatch, row: usize) -> String {
    let Ok(conversations) = Conversations::of(batch) else { return "null".to_string() };
    let text = |text: Option<&str>| {
        let mut quoted = Vec::new();
        match text {
            Some(text) => write_string(&mut quoted, text),
            None => quoted.extend_from_slice(b"null"),
        }
        String::from_utf8_lossy(&quoted).into_owned()
    };
    let (id, messages) = (conversations.id(row), conversations.messages_json(row));
    let mut json = format!("{{\"id\":{},\"messages_json\":{}", text(id), text(messages));
    for (name, value) in conversations.beside(row) {
        json += &format!(",{}:{value}", text(Some(&name)));
    }
    json + "}"
}
