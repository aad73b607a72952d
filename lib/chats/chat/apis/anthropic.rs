//! Blocks of Anthropic's Messages API: calls and their results stand in the contents. Source:
//! docs.anthropic.com, "Messages" and "Tool use".
//!
//! | block | becomes |
//! |---|---|
//! | `text` | text |
//! | `thinking` | reasoning; without text it is counted |
//! | `redacted_thinking` | counted: nobody can read it |
//! | `tool_use` | a call |
//! | `tool_result` | a message of the tool; `is_error` is counted |
//! | any other | refused by its type |

use super::{
    Api, any_message, call, each_message, kind, list_mut, object, result, set, take, word,
};
use crate::chat::left_out::LeftOutCounts;
use crate::chat::normalize::Entries;
use crate::chat::tools;
use crate::chat::value::Json;

pub const API: Api = Api {
    knows: |record| {
        any_message(record, |message| {
            message.get("content").and_then(Json::list).unwrap_or_default().iter().any(is_own)
        })
    },
    as_messages,
};

/// Whether only this API has such a block.
fn is_own(block: &Json<'_>) -> bool {
    match kind(block) {
        "tool_use" | "tool_result" | "redacted_thinking" => true,
        "thinking" => block.get("signature").is_some(),
        _ => false,
    }
}

fn as_messages<'a>(
    mut entries: Entries<'a>,
    left_out: &mut LeftOutCounts,
) -> Result<Entries<'a>, String> {
    each_message(&mut entries, |members| messages(members, left_out))?;
    let lists = entries.iter_mut().filter(|(key, _)| tools::KEYS.contains(&&**key));
    for tool in lists.filter_map(|(_, value)| list_mut(value)).flatten() {
        // (A tool of one's own may state that it is one.)
        if let Json::Object(members) = tool {
            members.retain(|(key, value)| !(key == "type" && value.text() == Some("custom")));
        }
    }
    Ok(entries)
}

fn messages<'a>(
    mut members: Entries<'a>,
    left_out: &mut LeftOutCounts,
) -> Result<Vec<Json<'a>>, String> {
    let is_list = |(key, value): &(_, Json<'a>)| key == "content" && value.list().is_some();
    if !members.iter().any(is_list) {
        return Ok(vec![Json::Object(members)]);
    }
    let blocks = super::take_list(&mut members, "content")?;
    let is_answer =
        |(key, value): &(_, Json<'a>)| key == "role" && value.text() == Some("assistant");
    match members.iter().any(is_answer) {
        true => answer(members, blocks, left_out).map(|answer| vec![answer]),
        false => Ok(others(&members, blocks, left_out)),
    }
}

fn answer<'a>(
    mut members: Entries<'a>,
    blocks: Vec<Json<'a>>,
    left_out: &mut LeftOutCounts,
) -> Result<Json<'a>, String> {
    let (mut parts, mut calls) = (Vec::new(), Vec::new());
    for block in blocks {
        let has_text = block.get("thinking").is_some_and(Json::is_true);
        match kind(&block) {
            "redacted_thinking" => left_out.count("redacted thinking", true),
            "thinking" if !has_text => left_out.count("thinking without text", true),
            "tool_use" => {
                let Json::Object(mut block) = block else { continue };
                let mut take = |key: &str| take(&mut block, key);
                calls.push(call(take("id"), take("name"), take("input")));
            }
            kind if !calls.is_empty() => {
                return Err(format!(
                    "a block of type '{kind}' behind a call has no place; give it in a message of its own"
                ));
            }
            _ => parts.push(block),
        }
    }
    let content = if parts.is_empty() { Json::Null } else { Json::List(parts) };
    set(&mut members, "content", content);
    if !calls.is_empty() {
        set(&mut members, "tool_calls", Json::List(calls));
    }
    Ok(Json::Object(members))
}

/// Returns the results in a message, each as a message, and the message with its other blocks, in their order.
fn others<'a>(
    members: &Entries<'a>,
    blocks: Vec<Json<'a>>,
    left_out: &mut LeftOutCounts,
) -> Vec<Json<'a>> {
    let mut all: Vec<Json<'a>> = Vec::new();
    let mut parts = Vec::new();
    let end = |parts: &mut Vec<Json<'a>>, all: &mut Vec<Json<'a>>| {
        if !parts.is_empty() {
            let mut members = members.clone();
            set(&mut members, "content", Json::List(std::mem::take(parts)));
            all.push(Json::Object(members));
        }
    };
    for block in blocks {
        let is_result = kind(&block) == "tool_result";
        match block {
            Json::Object(mut block) if is_result => {
                end(&mut parts, &mut all);
                let mut take = |key: &str| take(&mut block, key);
                left_out.count("is_error", take("is_error").is_some_and(|is| is.is_true()));
                all.push(result(take("tool_use_id"), None, take("content")));
            }
            block => parts.push(block),
        }
    }
    end(&mut parts, &mut all);
    if all.is_empty() {
        let role = members.iter().find(|(key, _)| key == "role").map(|(_, role)| role.clone());
        all.push(object([("role", role), ("content", word(""))]));
    }
    all
}
