//! Formats that hold chats and are not read: they are refused by their names.

use super::drafts::has_list;
use super::normalize::{MESSAGES, is_message};
use super::sessions::{claude_code, codex};
use super::value::Json;
use crate::visible;

/// A format that is not read.
struct Format {
    name: &'static str,
    /// What would be read in its place.
    way_on: &'static str,
    knows: fn(&Json<'_>) -> bool,
}

const OF_FILE: &str = "give the file of the session to chat-tok or chat-harmony, as it is";

const FORMATS: [Format; 7] = [
    Format {
        name: "a line of a session of Claude Code",
        way_on: OF_FILE,
        knows: |record| claude_code::knows(&|name| has(record, &[name])),
    },
    Format {
        name: "an item of a session of Codex",
        way_on: OF_FILE,
        knows: |record| codex::knows(&|name| has(record, &[name])),
    },
    Format {
        name: "results of tau2-bench",
        way_on: "give each of its simulations as a record: jq -c '.simulations[]'",
        knows: |record| is_list_with(record.get("simulations"), &["messages"]),
    },
    Format {
        name: "events of OpenHands",
        way_on: "they do not hold what its model was shown; give its log of completions (log_completions), as it is",
        knows: |record| {
            let is_event = |of: &Json<'_>| {
                has(of, &["kind", "source"])
                    || has(of, &["action", "args"])
                    || has(of, &["observation", "extras"])
            };
            let history = record.get("history").and_then(Json::list).unwrap_or_default();
            has(record, &["source", "timestamp"]) && is_event(record)
                || !history.is_empty() && history.iter().all(is_event)
        },
    },
    Format {
        name: "a message of a tree (OpenAssistant)",
        way_on: "give each path of the tree as a list of messages",
        knows: |record| {
            has(record, &["message_tree_id"]) || has(record, &["parent_id", "role", "text"])
        },
    },
    Format {
        name: "a chat in one text (Glaive: USER: .. ASSISTANT: ..)",
        way_on: "give it as a list of messages",
        knows: |record| {
            let text = |key| record.get(key).and_then(Json::text).unwrap_or_default();
            text("chat").contains("USER:") && text("chat").contains("ASSISTANT:")
        },
    },
    Format {
        name: "an answer of OpenAI's API without its question",
        way_on: "give the messages before it beside it, in messages",
        knows: |record| has(record, &["object", "choices"]),
    },
];

/// Returns why a record of no shape is refused, if its format is known.
pub fn refused(record: &Json<'_>) -> Option<String> {
    if let Some(format) = FORMATS.iter().find(|format| (format.knows)(record)) {
        return Some(format!("{}, which is not read; {}", format.name, format.way_on));
    }
    records_within(record)
}

/// Returns why an object is refused that has the records in one of its members.
pub fn records_within(record: &Json<'_>) -> Option<String> {
    let is_record = |item: &Json<'_>| item.is_object() && !is_message(item);
    let are_records = |value: &Json<'_>| {
        value.list().is_some_and(|items| !items.is_empty() && items.iter().all(is_record))
    };
    let has_chats = |value: &Json<'_>| {
        let items = value.list().unwrap_or_default();
        items.iter().all(|item| MESSAGES.iter().any(|key| has_list(item, key)))
    };
    let mut members = record.entries().iter().filter(|(_, value)| are_records(value));
    let (name, _) = members.find(|(name, value)| name == "data" || has_chats(value))?;
    Some(format!(
        "one object that has the records in {}, which is not read; give each as a record: jq -c '.{}[]'",
        visible::line(name),
        visible::line(name)
    ))
}

fn has(record: &Json<'_>, keys: &[&str]) -> bool {
    keys.iter().all(|key| record.member(key).is_some())
}

fn is_list_with(value: Option<&Json<'_>>, keys: &[&str]) -> bool {
    let items = value.and_then(Json::list).unwrap_or_default();
    !items.is_empty() && items.iter().all(|item| has(item, keys))
}
