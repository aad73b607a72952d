//! Brings a record into the form that the shapes read: lists of messages are lists again, whatever tables made of
//! them; fields have the names that shapes know; fields that the user leaves out are gone.

use std::borrow::Cow;

use super::left_out::LeftOutCounts;
use super::message::text;
use super::tools::{not_json, with_texts_parsed};
use super::value::Json;
use super::{NamedFields, ReadSettings, apis, sessions};
use crate::record::chat::{Meaning, has_media, not_text, of_messages, of_records};

pub type Entries<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// Fields that are lists of messages.
pub const MESSAGES: [&str; 4] = ["messages", "conversations", "conversation", "traj"];

/// Fields that may be lists of messages, or text.
const MESSAGES_OR_TEXT: [&str; 6] =
    ["prompt", "completion", "chosen", "rejected", "chosen_messages", "rejected_messages"];

/// Returns the record in the one form that the shapes read.
pub fn normalize<'a>(
    record: Json<'a>,
    settings: &ReadSettings,
    left_out: &mut LeftOutCounts,
) -> Result<Json<'a>, String> {
    let Json::Object(mut entries) = with_preference_beside(record) else { return Ok(Json::Null) };
    rename(&mut entries, &settings.fields, left_out)?;
    let Json::Object(mut entries) = with_texts_parsed(Json::Object(entries))? else {
        return Ok(Json::Null);
    };
    lists(&mut entries)?;
    sessions::count_lacks(&mut entries, left_out);
    let mut entries = apis::as_messages(entries, left_out)?;
    if !settings.ignored.is_empty() {
        leave_out(&mut entries, &settings.ignored, left_out);
        each_message(&mut entries, |entries| {
            leave_out(entries, &settings.ignored, left_out);
            Ok(())
        })?;
    }
    refuse_media(&entries, of_records())?;
    each_message(&mut entries, |entries| {
        refuse_media(entries, of_messages())?;
        split_parts(entries)
    })?;
    Ok(Json::Object(entries))
}

/// Normalizes the lists of messages of a line whose shape alone is wanted.
pub fn for_recognition(record: Json<'_>) -> Json<'_> {
    let Json::Object(mut entries) = with_preference_beside(record) else { return Json::Null };
    // Errors are reported when the record is read.
    let _: Result<(), String> = lists(&mut entries);
    let entries = match apis::as_messages(entries.clone(), &mut LeftOutCounts::default()) {
        Ok(entries) => entries,
        Err(_) => entries,
    };
    Json::Object(entries)
}

/// Returns a record of OpenAI's preference files, `{input: {messages, tools}, preferred_output, non_preferred_output}`,
/// with the members of its input beside the answers; any other record as it is.
fn with_preference_beside(record: Json<'_>) -> Json<'_> {
    let has_messages = record.get("input").is_some_and(|input| input.get("messages").is_some());
    let Json::Object(entries) = record else { return record };
    if !has_messages {
        return Json::Object(entries);
    }
    let beside = entries.into_iter().flat_map(|(key, value)| match (&*key, value) {
        ("input", Json::Object(members)) => members,
        ("preferred_output", value) => vec![("chosen".into(), value)],
        ("non_preferred_output", value) => vec![("rejected".into(), value)],
        (_, value) => vec![(key, value)],
    });
    Json::Object(beside.collect())
}

/// Renames the fields that the user names to the names that the shapes know, and leaves out fields
/// that would make the record another shape.
fn rename(
    entries: &mut Entries<'_>,
    fields: &NamedFields,
    left_out: &mut LeftOutCounts,
) -> Result<(), String> {
    let named = [
        (&fields.messages, "messages", "--messages-field"),
        (&fields.prompt, "prompt", "--prompt-field"),
        (&fields.completion, "completion", "--completion-field"),
        (&fields.reasoning, "reasoning", "--reasoning-field"),
    ];
    for (name, shape, option) in named {
        let Some(name) = name else { continue };
        let is_there = |(key, value): &(Cow<str>, Json)| key == name && *value != Json::Null;
        if !entries.iter().any(is_there) {
            return Err(format!("{name} is missing or null; try: {option} with another name"));
        }
        entries.retain(|(key, value)| {
            let is_other = key != name && (key == shape || MESSAGES.contains(&&**key));
            left_out.count(key, is_other && value.is_true());
            !is_other
        });
        let mut there = entries.iter_mut().filter(|(key, _)| key == name);
        there.by_ref().for_each(|(key, _)| *key = Cow::Borrowed(shape));
    }
    Ok(())
}

/// Reads lists of messages that are the text of JSON, or a struct of lists.
fn lists(entries: &mut Entries<'_>) -> Result<(), String> {
    // (UltraChat's name for the list.)
    let has_messages = entries.iter().any(|(key, _)| MESSAGES.contains(&&**key));
    let is_chat = |value: &Json| is_alternating(value) || holds_messages(value);
    for (key, _) in entries.iter_mut().filter(|(key, value)| key == "data" && is_chat(value)) {
        if !has_messages {
            *key = Cow::Borrowed("messages");
        }
    }
    for (key, value) in entries {
        let is_messages = MESSAGES.contains(&&**key);
        if !is_messages && !MESSAGES_OR_TEXT.contains(&&**key) && key != "history" {
            continue;
        }
        let text = value.text().filter(|text| text.trim_start().starts_with(['[', '{']));
        let parsed = match text.map(|text| (text, Json::parse(text))) {
            Some((_, Ok(parsed))) => Some(parsed.into_owned()),
            Some((text, Err(error))) if is_messages => {
                return Err(format!("{key}: {}", not_json(text, error)));
            }
            // A prompt may look like JSON.
            _ => None,
        };
        let is_list =
            |parsed: &Json| is_messages || key.as_ref() == "history" || holds_messages(parsed);
        if let Some(parsed) = parsed.filter(is_list) {
            *value = parsed;
        }
        if let Some(list) = transpose(key, value)? {
            *value = list;
        }
        let alternates = is_alternating(value);
        if let Json::List(items) = value
            && is_messages
        {
            let all = std::mem::take(items).into_iter();
            *items = match alternates {
                true => all
                    .zip(ALTERNATING.iter().cycle())
                    .map(|(text, from)| said(from, text))
                    .collect(),
                false => all.flat_map(pair).collect(),
            };
        }
    }
    Ok(())
}

pub fn is_message(value: &Json<'_>) -> bool {
    ["role", "from"].into_iter().any(|key| value.get(key).is_some_and(|role| role.text().is_some()))
}

/// Whether a value is a message, or a list or a struct of lists of messages.
fn holds_messages(value: &Json<'_>) -> bool {
    let is_column = |key| value.get(key).is_some_and(|role| role.list().is_some());
    let is_list = |items: &[Json]| !items.is_empty() && items.iter().all(is_message);
    is_message(value) || value.list().is_some_and(is_list) || is_column("role") || is_column("from")
}

/// Returns the objects of a struct of lists, the form in which `datasets` stores a sequence of
/// objects.
fn transpose<'a>(name: &str, value: &Json<'a>) -> Result<Option<Json<'a>>, String> {
    if value.list().is_some() || is_message(value) || !holds_messages(value) {
        return Ok(None);
    }
    let mut rows: Vec<Entries<'a>> = Vec::new();
    let columns = value.entries().iter().filter(|(_, column)| *column != Json::Null);
    for (number, (key, column)) in columns.enumerate() {
        let Some(items) = column.list() else {
            let found = column.type_name();
            return Err(format!("{name}: {key} is a {found}, wanted a list as the others are"));
        };
        if number == 0 {
            rows.resize(items.len(), Vec::new());
        }
        if items.len() != rows.len() {
            return Err(format!("{name}: its lists have {} and {} items", rows.len(), items.len()));
        }
        for (row, item) in rows.iter_mut().zip(items) {
            row.push((key.clone(), item.clone()));
        }
    }
    Ok(Some(Json::List(rows.into_iter().map(Json::Object).collect())))
}

/// Who says the texts of a list of texts.
const ALTERNATING: [&str; 2] = ["human", "assistant"];

/// Whether a value is a list of texts, those of a user and of the assistant in turn.
fn is_alternating(value: &Json<'_>) -> bool {
    value
        .list()
        .is_some_and(|items| items.len() > 1 && items.iter().all(|item| item.text().is_some()))
}

/// Returns a message in ShareGPT's form.
fn said<'a>(from: &'static str, text: Json<'a>) -> Json<'a> {
    let from = Json::Text(from.into());
    Json::Object(vec![(Cow::Borrowed("from"), from), (Cow::Borrowed("value"), text)])
}

/// Returns the two messages of a question with its answer, which is a form of ms-swift and of Capybara in ShareGPT's
/// lists; or else the value itself.
fn pair(value: Json<'_>) -> Vec<Json<'_>> {
    const PAIRS: [[&str; 2]; 2] = [ALTERNATING, ["input", "output"]];
    let is_of = |names: &[&str; 2]| value.entries().iter().all(|(key, _)| names.contains(&&**key));
    let names = PAIRS.iter().find(|names| is_of(names));
    let Some(names) = names.filter(|_| !is_message(&value) && !value.entries().is_empty()) else {
        return vec![value];
    };
    let both = names.iter().zip(ALTERNATING);
    both.filter_map(|(name, from)| Some(said(from, value.get(name)?.clone()))).collect()
}

/// Calls `change` for each message of a record, alone or in a list.
fn each_message<'a>(
    entries: &mut Entries<'a>,
    mut change: impl FnMut(&mut Entries<'a>) -> Result<(), String>,
) -> Result<(), String> {
    for (_, value) in entries {
        let items = match value {
            Json::List(items) => items.as_mut_slice(),
            value => std::slice::from_mut(value),
        };
        for (index, item) in items.iter_mut().enumerate().filter(|(_, item)| is_message(item)) {
            if let Json::Object(entries) = item {
                change(entries).map_err(|cause| format!("message {index}: {cause}"))?;
            }
        }
    }
    Ok(())
}

fn leave_out(entries: &mut Entries<'_>, names: &[String], left_out: &mut LeftOutCounts) {
    entries.retain(|(key, value)| {
        let is_ignored = names.iter().any(|name| name == key);
        left_out.count(key, is_ignored && value.is_true());
        !is_ignored
    });
}

fn refuse_media(
    entries: &Entries<'_>,
    known: impl Iterator<Item = (&'static str, Meaning)>,
) -> Result<(), String> {
    for (name, _) in known.filter(|(_, meaning)| *meaning == Meaning::Media) {
        let Some((_, value)) = entries.iter().find(|(key, _)| key == name) else { continue };
        let mut text = Vec::new();
        value.write_compact(&mut text);
        if has_media(&String::from_utf8_lossy(&text)) {
            return Err(not_text(name));
        }
    }
    Ok(())
}

/// Moves the parts of a content that are reasoning or calls, as LLaMA-Factory has them, to fields
/// of their own.
fn split_parts(entries: &mut Entries<'_>) -> Result<(), String> {
    let kind = |part: &Json| part.get("type").and_then(Json::text).map(str::to_string);
    let is_apart = |part: &Json| {
        let kind = part.get("type").and_then(Json::text);
        kind.is_some_and(|kind| REASONING.contains(&kind) || kind == CALL)
    };
    let is_answer = |(key, value): &(Cow<str>, Json)| {
        ["role", "from"].contains(&&**key)
            && ["assistant", "gpt"].contains(&value.text().unwrap_or(""))
    };
    if !entries.iter().any(is_answer) {
        return Ok(());
    }
    let content = entries.iter_mut().find_map(|(key, value)| match value {
        Json::List(parts) if ["content", "value"].contains(&&**key) => Some(parts),
        _ => None,
    });
    let Some(content) = content.filter(|parts| parts.iter().any(is_apart)) else { return Ok(()) };
    let (mut texts, mut calls, mut reasoning) = (Vec::new(), Vec::new(), None::<String>);
    for part in std::mem::take(content) {
        let kind = kind(&part).unwrap_or_default();
        let is_late = match kind.as_str() {
            kind if REASONING.contains(&kind) => !texts.is_empty() || !calls.is_empty(),
            CALL => false,
            _ => !calls.is_empty(),
        };
        if is_late {
            return Err(format!(
                "content part of type '{kind}' after text or calls: reasoning comes first, calls last"
            ));
        }
        let said = part.get("value").or_else(|| part.get("text"));
        let no_text = || format!("content part of type '{kind}' is not text");
        match kind.as_str() {
            kind if REASONING.contains(&kind) => {
                // (Anthropic and Mistral name it as its type, Mistral as parts.)
                let said = said.or_else(|| part.get(kind)).ok_or_else(no_text)?;
                *reasoning.get_or_insert_default() +=
                    &text(said, "reasoning").map_err(|_| no_text())?;
            }
            CALL => calls.extend(calls_of(said.ok_or_else(no_text)?)?),
            _ => texts.push(part),
        }
    }
    *content = texts;
    if let Some(text) = reasoning {
        let mut names = of_messages().filter(|(_, meaning)| *meaning == Meaning::Reasoning);
        let is_free =
            |name| !entries.iter().any(|(key, value)| key == name && *value != Json::Null);
        let free = names.find(|(name, _)| is_free(*name));
        let (name, _) = free.ok_or("reasoning in a part of the content, and beside it")?;
        set_field(entries, name, Json::Text(text.into()));
    }
    if !calls.is_empty() {
        let before = entries.iter_mut().find_map(|(key, value)| match value {
            Json::List(before) if key == "tool_calls" => Some(before),
            _ => None,
        });
        match before {
            Some(before) => before.extend(calls),
            None => set_field(entries, "tool_calls", Json::List(calls)),
        }
    }
    // A content without text is no content.
    entries.iter_mut().for_each(|(key, value)| {
        if ["content", "value"].contains(&&**key) && *value == Json::List(Vec::new()) {
            *value = Json::Null;
        }
    });
    Ok(())
}

/// The types of parts that are reasoning.
const REASONING: [&str; 2] = ["reasoning", "thinking"];
const CALL: &str = "tool_call";

/// Returns the calls in a part, which is the text of JSON or JSON itself.
fn calls_of(value: &Json<'_>) -> Result<Vec<Json<'static>>, String> {
    let parsed = match value.text() {
        Some(text) => Json::parse(text)
            .map_err(|error| format!("content part of type '{CALL}': {}", not_json(text, error)))?,
        None => value.clone(),
    };
    Ok(match parsed.into_owned() {
        Json::List(calls) => calls,
        call => vec![call],
    })
}

fn set_field<'a>(entries: &mut Entries<'a>, name: &'static str, value: Json<'a>) {
    entries.retain(|(key, _)| key != name);
    entries.push((Cow::Borrowed(name), value));
}
