//! The answer that stands in a column: of a question, or beside messages that end before it, as logs of APIs have it.

use std::borrow::Cow;

use super::drafts::list;
use super::left_out::LeftOutCounts;
use super::message::{Draft, text};
use super::normalize::is_message;
use super::responses;
use super::value::Json;
use crate::harmony::Role;
use crate::record::chat::{Meaning, of_messages, of_records};

/// The columns that have the answer to messages.
const COLUMNS: [&str; 9] = [
    "response",
    "answer",
    "answers",
    "completion",
    "choices",
    "output",
    "reply",
    "assistant_response",
    "model_response",
];

/// Reads the answer beside messages that do not end with one; returns its column.
pub fn beside<'r>(
    record: &'r Json<'r>,
    drafts: &mut Vec<Draft<'r>>,
    left_out: &mut LeftOutCounts,
) -> Result<Option<&'static str>, String> {
    if drafts.last().is_none_or(|last| last.role == Role::Assistant) {
        return Ok(None);
    }
    let mut found: Option<(&'static str, Vec<Draft<'r>>)> = None;
    for column in COLUMNS {
        let Some(value) = record.get(column) else { continue };
        let mut own = LeftOutCounts::default();
        let read = read(value, drafts.len(), &mut own);
        let Some(answer) = read.map_err(|cause| format!("{column}: {cause}"))? else { continue };
        match &found {
            Some((first, _)) if record.get(first) != Some(value) => {
                return Err(format!(
                    "has \"{first}\" and \"{column}\", and either may be the answer to the messages; leave one of \
                     them out (--ignore-field {column})"
                ));
            }
            Some(_) => {}
            None => {
                left_out.extend(&own);
                found = Some((column, answer));
            }
        }
    }
    let Some((column, mut answer)) = found else { return Ok(None) };
    if let [only] = answer.as_mut_slice()
        && let Some((name, said)) = reasoning(record)?
    {
        let is_other = only.thinking.as_ref().is_some_and(|own| own.trim() != said.trim());
        if is_other {
            return Err(format!("{column} has a reasoning, and {name} another; give one of them"));
        }
        only.thinking = Some(said);
    }
    drafts.extend(answer);
    Ok(Some(column))
}

/// Reads an answer in any form: a text, a message or several, choices or a response of OpenAI's APIs. `None` for a value
/// that is no answer.
fn read<'r>(
    value: &'r Json<'r>,
    index: usize,
    left_out: &mut LeftOutCounts,
) -> Result<Option<Vec<Draft<'r>>>, String> {
    match value {
        Json::Text(text) if text.is_empty() => Ok(None),
        Json::Text(text) => Ok(Some(vec![Draft::of_text(index, Role::Assistant, text)])),
        Json::List(items) => match items.as_slice() {
            [] => Ok(None),
            [only] => read(only, index, left_out),
            items if items.iter().all(is_message) => list(Some(value), index, left_out).map(Some),
            items => Err(format!("{} answers, but only one can be trained on", items.len())),
        },
        Json::Object(_) if is_message(value) => list(Some(value), index, left_out).map(Some),
        Json::Object(_) => {
            if let Some(items) = value.get("output").and_then(Json::list) {
                let mut drafts = Vec::new();
                responses::items(items, index, &mut drafts, left_out)?;
                return Ok(Some(drafts).filter(|drafts| !drafts.is_empty()));
            }
            let inner = ["choices", "message", "content", "text"];
            let Some(inner) = inner.into_iter().find_map(|key| value.get(key)) else {
                return Ok(None);
            };
            let mut answer = read(inner, index, left_out)?;
            let drafts = answer.iter_mut().flatten();
            drafts.for_each(|draft| draft.ends_as(value, left_out));
            Ok(answer)
        }
        _ => Ok(None),
    }
}

/// Makes the answer to a question from the text of its column, with the reasoning beside it.
pub fn of_text<'r>(record: &'r Json<'r>, index: usize, text: &'r str) -> Result<Draft<'r>, String> {
    let thinking = reasoning(record)?.map(|(_, text)| text);
    Ok(Draft { thinking, ..Draft::of_text(index, Role::Assistant, text) })
}

/// Returns the reasoning of a record, with its column. Several columns may repeat it.
pub fn reasoning<'r>(record: &'r Json<'r>) -> Result<Option<(&'static str, Cow<'r, str>)>, String> {
    let names = of_messages().chain(of_records());
    let names = names.filter(|(_, meaning)| *meaning == Meaning::Reasoning).map(|(name, _)| name);
    let mut found: Option<(&'static str, Cow<'r, str>)> = None;
    for name in names.filter(|name| is_reasoning(record, name)) {
        let Some(value) = record.get(name) else { continue };
        let said = text(value, name)?;
        match &found {
            Some((first, text)) if text.trim() != said.trim() => {
                return Err(format!("{first} and {name} are two reasonings; give one of them"));
            }
            Some(_) => {}
            None => found = Some((name, said)),
        }
    }
    Ok(found)
}

/// Whether a column holds a reasoning: not a setting, which an object is (the effort), or a word.
pub fn is_reasoning(record: &Json<'_>, name: &str) -> bool {
    const SETTINGS: [&str; 14] = [
        "on", "off", "true", "false", "yes", "no", "none", "auto", "minimal", "low", "medium",
        "high", "enabled", "disabled",
    ];
    let mut names = of_messages().chain(of_records());
    let is_known = names.any(|(of, meaning)| of == name && meaning == Meaning::Reasoning);
    record.get(name).filter(|_| is_known).is_some_and(|value| match value {
        Json::Text(text) => {
            !text.trim().is_empty()
                && !SETTINGS.contains(&text.trim().to_ascii_lowercase().as_str())
        }
        Json::List(_) => value.is_true(),
        _ => false,
    })
}
