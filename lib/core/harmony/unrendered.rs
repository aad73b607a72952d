//! Fields of chat data that change what is trained on, and that a Harmony message does not have: without
//! them the rest would be another conversation, so they are refused where they hold something.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{RenderError, field};
use crate::json::{self, Reader, Str};
use crate::record::conversation::BESIDE_MESSAGES;

/// Of messages, as OpenAI, transformers, Axolotl and the servers of open models write them: reasoning, calls
/// of tools, what a model said in place of an answer, and whether a message, or what of it, is trained on.
const OF_MESSAGES: [&str; 14] = [
    "thinking",
    "reasoning_content",
    "reasoning",
    "tool_calls",
    "function_call",
    "refusal",
    "weight",
    "train",
    "loss",
    "loss_mask",
    "mask",
    "loss_scale",
    "train_detail",
    "training_detail",
];

/// Values with which a field changes nothing: nothing, also as text, and what is so without it.
const WITHOUT_EFFECT: [&str; 10] =
    ["null", "\"\"", "[]", "{}", "1", "1.0", "true", "\"[]\"", "\"{}\"", "\"null\""];

/// The fields that are left out all the same, as the user says, and how often that was done. (Shared by
/// the renderers of all threads.)
#[derive(Debug, Default)]
pub struct IgnoredFields(Vec<(String, AtomicU64)>);

impl IgnoredFields {
    /// The fields of these names.
    pub fn new(names: &[String]) -> IgnoredFields {
        IgnoredFields(names.iter().map(|name| (name.clone(), AtomicU64::new(0))).collect())
    }

    /// Whether a field is left out.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(ignored, _)| ignored == name)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How often each was left out, in the order of the command line.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), count.load(Ordering::Relaxed)))
    }

    /// Reads a field of a message that is not rendered.
    pub(super) fn of_message(&self, reader: &mut Reader, key: &Str) -> Result<(), Refused> {
        self.look(reader, key, &OF_MESSAGES)
    }

    /// Reads a field beside the messages.
    pub(super) fn of_conversation(&self, reader: &mut Reader, key: &Str) -> Result<(), Refused> {
        self.look(reader, key, &BESIDE_MESSAGES)
    }

    /// Whether a column beside the messages, with this JSON text, may be left out.
    pub fn beside_messages(&self, name: &str, value: &str) -> Result<(), RenderError> {
        if self.refuses(name, value) { Err(refused(name)) } else { Ok(()) }
    }

    fn look(&self, reader: &mut Reader, key: &Str, known: &[&str]) -> Result<(), Refused> {
        let mut scratch = String::new();
        let name = field::name(key, &mut scratch);
        let Some(name) = known.iter().find(|known| **known == name) else {
            return Ok(reader.skip()?);
        };
        if self.refuses(name, reader.raw()?) { Err(Refused::Field(refused(name))) } else { Ok(()) }
    }

    /// Counts what is left out.
    fn refuses(&self, name: &str, value: &str) -> bool {
        if is_without_effect(value) {
            return false;
        }
        let ignored = self.0.iter().find(|(ignored, _)| ignored == name);
        if let Some((_, count)) = ignored {
            count.fetch_add(1, Ordering::Relaxed);
        }
        ignored.is_none()
    }
}

fn refused(name: &str) -> RenderError {
    RenderError::new(format!(
        "has \"{name}\", which harmony-tok does not render; try: chat-harmony before it, or --ignore-field {name}"
    ))
}

/// Why a field was not read.
pub(super) enum Refused {
    Json(json::Error),
    Field(RenderError),
}

impl From<json::Error> for Refused {
    fn from(error: json::Error) -> Refused {
        Refused::Json(error)
    }
}

impl From<Refused> for RenderError {
    fn from(refused: Refused) -> RenderError {
        match refused {
            Refused::Json(error) => error.into(),
            Refused::Field(error) => error,
        }
    }
}

fn is_without_effect(value: &str) -> bool {
    // Whatever is longer than these holds something.
    let is_short = value.len() <= 64;
    let text: String = value.split_ascii_whitespace().take(if is_short { 64 } else { 0 }).collect();
    WITHOUT_EFFECT.contains(&text.as_str())
}
