//! Chats as other APIs and agents keep them: each is brought into the form of OpenAI's messages, before a shape reads
//! it. What has no place there is refused by its name, or counted.

mod ai_sdk;
mod anthropic;
mod atif;
mod gemini;
mod openhands;
mod swe_agent;
mod tau2;

use std::borrow::Cow;

use super::left_out::LeftOutCounts;
use super::normalize::{Entries, MESSAGES};
use super::value::Json;

/// A form of chats.
struct Api {
    knows: fn(&Json<'_>) -> bool,
    /// Returns the record with OpenAI's messages.
    as_messages: for<'a> fn(Entries<'a>, &mut LeftOutCounts) -> Result<Entries<'a>, String>,
}

const APIS: [Api; 7] = [
    openhands::API,
    anthropic::API,
    gemini::API,
    ai_sdk::API,
    tau2::API,
    atif::API,
    swe_agent::API,
];

/// Returns a record with OpenAI's messages, if it is a chat of an API; any other record as it is.
pub fn as_messages<'a>(
    entries: Entries<'a>,
    left_out: &mut LeftOutCounts,
) -> Result<Entries<'a>, String> {
    let record = Json::Object(entries);
    let api = APIS.iter().find(|api| (api.knows)(&record));
    let Json::Object(entries) = record else { return Ok(Entries::new()) };
    match api {
        Some(api) => (api.as_messages)(entries, left_out),
        None => Ok(entries),
    }
}

/// Replaces each message by those that are made of it.
fn each_message<'a>(
    entries: &mut Entries<'a>,
    mut change: impl FnMut(Entries<'a>) -> Result<Vec<Json<'a>>, String>,
) -> Result<(), String> {
    let lists = entries.iter_mut().filter(|(key, _)| MESSAGES.contains(&&**key));
    for items in lists.filter_map(|(_, value)| list_mut(value)) {
        let mut all = Vec::with_capacity(items.len());
        for (index, item) in std::mem::take(items).into_iter().enumerate() {
            match item {
                Json::Object(members) => all
                    .extend(change(members).map_err(|cause| format!("message {index}: {cause}"))?),
                other => all.push(other),
            }
        }
        *items = all;
    }
    Ok(())
}

/// Whether one of a record's messages is so.
fn any_message(record: &Json<'_>, is: impl Fn(&Json<'_>) -> bool) -> bool {
    let lists = MESSAGES.iter().filter_map(|key| record.get(key).and_then(Json::list));
    lists.flatten().any(is)
}

fn list_mut<'v, 'a>(value: &'v mut Json<'a>) -> Option<&'v mut Vec<Json<'a>>> {
    match value {
        Json::List(items) => Some(items),
        _ => None,
    }
}

/// Removes a member, and returns its value if it is not null.
fn take<'a>(entries: &mut Entries<'a>, key: &str) -> Option<Json<'a>> {
    let at = entries.iter().position(|(name, _)| name == key)?;
    Some(entries.remove(at).1).filter(|value| *value != Json::Null)
}

/// Removes a list; no list is empty.
fn take_list<'a>(entries: &mut Entries<'a>, key: &str) -> Result<Vec<Json<'a>>, String> {
    match take(entries, key) {
        None => Ok(Vec::new()),
        Some(Json::List(items)) => Ok(items),
        Some(other) => Err(format!("{key} is a {}, wanted a list", other.type_name())),
    }
}

fn set<'a>(entries: &mut Entries<'a>, key: &'static str, value: Json<'a>) {
    entries.retain(|(name, _)| name != key);
    entries.push((Cow::Borrowed(key), value));
}

/// Returns an object; members without a value are left out.
pub(super) fn object<'a>(
    members: impl IntoIterator<Item = (&'static str, Option<Json<'a>>)>,
) -> Json<'a> {
    let given = members.into_iter().filter_map(|(key, value)| Some((Cow::Borrowed(key), value?)));
    Json::Object(given.collect())
}

/// Returns the type of a block, a part or an item.
pub(super) fn kind<'j>(of: &'j Json<'_>) -> &'j str {
    of.get("type").and_then(Json::text).unwrap_or_default()
}

/// Returns a message of the user.
pub(super) fn user<'a>(content: Json<'a>) -> Json<'a> {
    object([("role", word("user")), ("content", Some(content))])
}

fn word(text: &'static str) -> Option<Json<'static>> {
    Some(Json::Text(text.into()))
}

/// Returns a call as OpenAI has it.
fn call<'a>(id: Option<Json<'a>>, name: Option<Json<'a>>, arguments: Option<Json<'a>>) -> Json<'a> {
    let function = object([("name", name), ("arguments", arguments)]);
    object([("id", id), ("type", word("function")), ("function", Some(function))])
}

/// Returns the result of a call as OpenAI has it.
fn result<'a>(id: Option<Json<'a>>, name: Option<Json<'a>>, content: Option<Json<'a>>) -> Json<'a> {
    let content = content.or_else(|| word(""));
    object([("role", word("tool")), ("tool_call_id", id), ("name", name), ("content", content)])
}

/// An answer that is put together from parts.
#[derive(Default)]
struct Answer<'a> {
    reasoning: String,
    text: String,
    calls: Vec<Json<'a>>,
    /// The results of its calls, which stand beside them.
    results: Vec<Json<'a>>,
}

impl<'a> Answer<'a> {
    fn is_empty(&self) -> bool {
        self.reasoning.is_empty() && self.text.is_empty() && self.calls.is_empty()
    }

    /// Returns the message, then the results; `others` are the other members of the message.
    fn messages(self, others: &Entries<'a>) -> Vec<Json<'a>> {
        let Answer { reasoning, text, calls, results } = self;
        let mut members = others.clone();
        let given = |text: String| (!text.is_empty()).then_some(Json::Text(text.into()));
        set(&mut members, "role", Json::Text("assistant".into()));
        set(&mut members, "content", given(text).unwrap_or(Json::Null));
        if let Some(reasoning) = given(reasoning) {
            set(&mut members, "reasoning", reasoning);
        }
        if !calls.is_empty() {
            set(&mut members, "tool_calls", Json::List(calls));
        }
        std::iter::once(Json::Object(members)).chain(results).collect()
    }
}
