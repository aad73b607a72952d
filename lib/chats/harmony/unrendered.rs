//! Fields of chat data that change what is trained on and that a Harmony message does not have. Without them
//! the conversation would be another one, so they are refused unless they are empty.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{RenderError, field};
use crate::json::{self, Reader, Str};
use crate::record::chat::{Meaning, has_media, not_text, number, of_messages, of_records};

/// Values with which a field has no effect: empty values, also as text, and default values.
const WITHOUT_EFFECT: [&str; 10] =
    ["null", "\"\"", "[]", "{}", "1", "1.0", "true", "\"[]\"", "\"{}\"", "\"null\""];

/// The fields that the user wants left out although they have a meaning, and how often each was left out.
/// (The renderers of all threads share this.)
#[derive(Debug, Default)]
pub struct IgnoredFields(Vec<(String, AtomicU64)>);

impl IgnoredFields {
    /// Makes the list of the fields with these names.
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

    /// Returns how often each was left out, in the order of the command line.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), count.load(Ordering::Relaxed)))
    }

    /// Reads a field of a message that is not rendered.
    pub(super) fn of_message(&self, reader: &mut Reader, key: &Str) -> Result<(), RefusalCause> {
        self.look(reader, key, of_messages(), says_of_message)
    }

    /// Reads a field beside the messages.
    pub(super) fn of_conversation(
        &self,
        reader: &mut Reader,
        key: &Str,
    ) -> Result<(), RefusalCause> {
        self.look(reader, key, of_records(), says_of_record)
    }

    /// Fails if a column beside the messages, with this JSON text, may not be left out.
    pub fn beside_messages(&self, name: &str, value: &str) -> Result<(), RenderError> {
        let is_said =
            |(known, meaning): &(&str, Meaning)| *known == name && says_of_record(*meaning, value);
        match of_records().find(is_said) {
            Some((_, meaning)) if self.refuses(name) => Err(refusal(name, meaning)),
            _ => Ok(()),
        }
    }

    fn look(
        &self,
        reader: &mut Reader,
        key: &Str,
        mut known: impl Iterator<Item = (&'static str, Meaning)>,
        says: fn(Meaning, &str) -> bool,
    ) -> Result<(), RefusalCause> {
        let mut scratch = String::new();
        let name = field::name(key, &mut scratch);
        let Some((name, meaning)) = known.find(|(known, _)| *known == name) else {
            return Ok(reader.skip()?);
        };
        match says(meaning, reader.raw()?) && self.refuses(name) {
            true => Err(RefusalCause::Field(refusal(name, meaning))),
            false => Ok(()),
        }
    }

    /// Returns whether a field is refused; counts it if it is left out.
    fn refuses(&self, name: &str) -> bool {
        let ignored = self.0.iter().find(|(ignored, _)| ignored == name);
        if let Some((_, count)) = ignored {
            count.fetch_add(1, Ordering::Relaxed);
        }
        ignored.is_none()
    }
}

/// Whether a field of a message, with this JSON text, has an effect.
fn says_of_message(meaning: Meaning, value: &str) -> bool {
    if meaning == Meaning::Media {
        return has_media(value);
    }
    let is_all = match meaning {
        Meaning::Weight | Meaning::Trained | Meaning::TrainedPart => {
            number(unquoted(value)) == Some(1.0)
        }
        _ => false,
    };
    !is_all && !is_without_effect(value)
}

/// Whether a field beside the messages has an effect, by the rules of chat-harmony. (A column of such a name
/// may hold something else: a loss, the name of a split.)
fn says_of_record(meaning: Meaning, value: &str) -> bool {
    let value = value.trim();
    match meaning {
        Meaning::Weight => {
            value == "false" || number(unquoted(value)).is_some_and(|weight| weight != 1.0)
        }
        Meaning::Trained | Meaning::Wanted => value == "false",
        Meaning::Effort => value.starts_with('{') && !is_without_effect(value),
        _ => says_of_message(meaning, value),
    }
}

/// Returns the text without its quotes: a number in it is read too.
fn unquoted(value: &str) -> &str {
    value.trim().trim_matches('"')
}

fn refusal(name: &str, meaning: Meaning) -> RenderError {
    RenderError::new(match meaning {
        Meaning::Media => not_text(name),
        _ => format!(
            "has \"{name}\", which harmony-tok does not render; try: chat-harmony before it, or --ignore-field {name}"
        ),
    })
}

/// Why a field was not read.
pub(super) enum RefusalCause {
    Json(json::Error),
    Field(RenderError),
}

impl From<json::Error> for RefusalCause {
    fn from(error: json::Error) -> RefusalCause {
        RefusalCause::Json(error)
    }
}

impl From<RefusalCause> for RenderError {
    fn from(refused: RefusalCause) -> RenderError {
        match refused {
            RefusalCause::Json(error) => error.into(),
            RefusalCause::Field(error) => error,
        }
    }
}

fn is_without_effect(value: &str) -> bool {
    // A value that is longer than these has an effect.
    let is_short = value.len() <= 64;
    let text: String = value.split_ascii_whitespace().take(if is_short { 64 } else { 0 }).collect();
    WITHOUT_EFFECT.contains(&text.as_str())
}
