//! Chats of all common shapes. They are only read, never written; a record is the text of its JSON, and
//! [`crate::chat`] finds its shape.

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::{JsonForm, RecordType};
use crate::json::{Error, Kind, Reader};

pub const CHAT: RecordType = RecordType {
    name: "chat",
    singular: "chat",
    plural: "chats",
    marking_fields: &[
        &["messages"],
        &["conversations"],
        &["conversation"],
        &["traj"],
        &["prompt"],
        &["instruction"],
        &["query"],
        &["input"],
        &["user"],
        &["chosen"],
        &["chosen_messages"],
        &["inputs", "targets"],
        &["contents"],
        &["steps", "agent"],
        &["history", "trajectory"],
    ],
    made_by: "a file of chats",
    made_into: &[("conversation", "chat-harmony")],
    is_of_people: true,
    ..RecordType::PLAIN
};

/// Returns the schema in which chats are read: one column, the text of each record.
pub fn schema() -> SchemaRef {
    let record = Field::new("record", DataType::Utf8, false);
    SchemaRef::new(Schema::new(vec![JsonForm::Record.mark(record)]))
}

/// The meaning of a field of chats for training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The reasoning before the content of a message.
    Reasoning,
    /// How long the model reasons: an object with `effort`. (A text is reasoning.)
    Effort,
    /// Text of a message in place of its content, or after it.
    Said,
    /// Whether all of the message or record is trained on, as 0 or 1.
    Weight,
    /// Whether all of the message or record is trained on.
    Trained,
    /// Which part is trained on, in forms that are not read.
    TrainedPart,
    /// How the answer ended: one that was cut is not trained on.
    Finish,
    /// What an answer is about, beside its question: a part of the prompt.
    Context,
    /// Whether the answer is wanted.
    Wanted,
    /// Text before the first message, or a setting of how all messages are rendered.
    Setting,
    /// Content of a chat that is not text, or a reference to it.
    Media,
    /// The field is not read here; the hint says what to do.
    Misplaced(&'static str),
}

/// A field of chats that changes what is trained on, under its name in OpenAI, transformers, Axolotl or
/// the servers of open models. It is rendered, or refused, or left out and counted.
#[derive(Debug)]
pub struct MeaningfulField {
    pub name: &'static str,
    /// Its meaning in a message.
    pub of_message: Option<Meaning>,
    /// Its meaning beside the messages: in a column, or as a member beside them in their text.
    pub of_record: Option<Meaning>,
}

/// All such fields. If several fields have one meaning, the first that is not empty is read.
pub const MEANINGFUL: &[MeaningfulField] = &[
    of_message("thinking", Meaning::Reasoning),
    of_message("reasoning_content", Meaning::Reasoning),
    of_either("reasoning", Meaning::Reasoning, Meaning::Effort),
    of_record("cot", Meaning::Reasoning),
    of_record("Complex_CoT", Meaning::Reasoning),
    of_record("chain_of_thought", Meaning::Reasoning),
    of_message("reasoning_details", Meaning::Misplaced("give reasoning, as text")),
    of_message("tool_calls", Meaning::Said),
    of_message("function_call", Meaning::Said),
    of_message("function_calls", Meaning::Misplaced("give tool_calls")),
    of_message(
        "parts",
        Meaning::Misplaced("it is of the AI SDK or of Gemini; give content and tool_calls"),
    ),
    of_message("refusal", Meaning::Said),
    of_either("weight", Meaning::Weight, Meaning::Weight),
    of_either("loss_weight", Meaning::Weight, Meaning::Weight),
    of_either("train", Meaning::Trained, Meaning::Trained),
    of_either("trainable", Meaning::Trained, Meaning::Trained),
    of_either("loss", Meaning::Trained, Meaning::Trained),
    of_either("finish_reason", Meaning::Finish, Meaning::Finish),
    of_either("stop_reason", Meaning::Finish, Meaning::Finish),
    of_either("status", Meaning::Finish, Meaning::Finish),
    of_either("loss_mask", Meaning::TrainedPart, Meaning::TrainedPart),
    of_either("mask", Meaning::TrainedPart, Meaning::TrainedPart),
    of_either("loss_scale", Meaning::TrainedPart, Meaning::TrainedPart),
    of_either("train_detail", Meaning::TrainedPart, Meaning::TrainedPart),
    of_either("training_detail", Meaning::TrainedPart, Meaning::TrainedPart),
    of_record("context", Meaning::Context),
    of_record("label", Meaning::Wanted),
    of_record("kto_tag", Meaning::Wanted),
    of_either("images", Meaning::Media, Meaning::Media),
    of_either("image", Meaning::Media, Meaning::Media),
    of_either("videos", Meaning::Media, Meaning::Media),
    of_either("video", Meaning::Media, Meaning::Media),
    of_either("audios", Meaning::Media, Meaning::Media),
    of_either("audio", Meaning::Media, Meaning::Media),
    of_either("files", Meaning::Media, Meaning::Media),
    of_either("objects", Meaning::Media, Meaning::Media),
    of_either("tools", BESIDE, Meaning::Setting),
    of_either("functions", BESIDE, Meaning::Setting),
    of_record("available_tools", Meaning::Setting),
    of_record("tool_defs", Meaning::Setting),
    of_record("chat_template_kwargs", Meaning::Setting),
    of_record("builtin_tools", Meaning::Setting),
    of_record("reasoning_effort", Meaning::Setting),
    of_record("model_identity", Meaning::Setting),
    of_record("conversation_start_date", Meaning::Setting),
    of_record("knowledge_cutoff", Meaning::Setting),
];

const BESIDE: Meaning = Meaning::Misplaced("give them beside the messages");

const fn of_either(name: &'static str, message: Meaning, record: Meaning) -> MeaningfulField {
    MeaningfulField { name, of_message: Some(message), of_record: Some(record) }
}

const fn of_message(name: &'static str, meaning: Meaning) -> MeaningfulField {
    MeaningfulField { name, of_message: Some(meaning), of_record: None }
}

const fn of_record(name: &'static str, meaning: Meaning) -> MeaningfulField {
    MeaningfulField { name, of_message: None, of_record: Some(meaning) }
}

/// Returns the fields that have a meaning in a message.
pub fn of_messages() -> impl Iterator<Item = (&'static str, Meaning)> {
    MEANINGFUL.iter().filter_map(|field| Some((field.name, field.of_message?)))
}

/// Returns the fields that have a meaning beside the messages.
pub fn of_records() -> impl Iterator<Item = (&'static str, Meaning)> {
    MEANINGFUL.iter().filter_map(|field| Some((field.name, field.of_record?)))
}

/// Returns the number in JSON text, or in a text inside it, if there is one: weights are written in
/// both ways.
pub fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// Returns why a field of media is refused.
pub fn not_text(name: &str) -> String {
    format!("has \"{name}\", which is not text; try: --ignore-field {name}")
}

/// Whether a field of media, with this JSON text, is not empty. Tables fill structs and lists with nulls, so
/// the field counts as empty if all values in it are null, false, 0 or empty. (A text that is not JSON is not empty.)
pub fn has_media(text: &str) -> bool {
    let mut reader = Reader::lenient(text);
    any_value(&mut reader, 0).unwrap_or(true)
}

fn any_value(reader: &mut Reader<'_>, depth: usize) -> Result<bool, Error> {
    /// The deepest nesting: values are read by recursion.
    const DEEPEST: usize = 64;
    if depth > DEEPEST {
        return Ok(true);
    }
    Ok(match reader.peek()? {
        Kind::Null => {
            reader.null()?;
            false
        }
        Kind::True | Kind::False => reader.boolean()?,
        Kind::Number => number(reader.number()?) != Some(0.0),
        // (A column of lists may hold their texts.)
        Kind::String => !["", "[]", "{}", "null"].contains(&reader.string()?.raw().trim()),
        Kind::Array => {
            let mut any = false;
            reader.array(|reader| {
                any |= any_value(reader, depth + 1)?;
                Ok::<(), Error>(())
            })?;
            any
        }
        Kind::Object => {
            let mut any = false;
            reader.object(|reader, _| {
                any |= any_value(reader, depth + 1)?;
                Ok::<(), Error>(())
            })?;
            any
        }
    })
}
