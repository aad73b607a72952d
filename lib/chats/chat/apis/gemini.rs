//! Contents of Gemini's API, as in tuning data of Vertex AI. Source: ai.google.dev, "Content", "FunctionDeclaration".
//!
//! | part | becomes |
//! |---|---|
//! | `text` | text; with `thought` reasoning |
//! | `functionCall` | a call |
//! | `functionResponse` | a message of the tool |
//! | any other | refused by its name |
//!
//! Names may be written with underscores. Types of a schema (`STRING`) are written as JSON's schemas have them.

use super::{Answer, Api, call, list_mut, object, result, set, take, take_list, word};
use crate::chat::left_out::LeftOutCounts;
use crate::chat::normalize::Entries;
use crate::chat::value::Json;

pub const API: Api = Api {
    knows: |record| {
        let contents = record.get("contents").and_then(Json::list).unwrap_or_default();
        let has_parts = |content: &Json<'_>| content.get("parts").is_some();
        record.get("messages").is_none() && !contents.is_empty() && contents.iter().all(has_parts)
    },
    as_messages,
};

fn as_messages<'a>(mut entries: Entries<'a>, _: &mut LeftOutCounts) -> Result<Entries<'a>, String> {
    let mut messages = Vec::new();
    for (index, content) in take_list(&mut entries, "contents")?.into_iter().enumerate() {
        let Json::Object(members) = content else { continue };
        let of_content = content_of(members);
        messages.extend(of_content.map_err(|cause| format!("content {index}: {cause}"))?);
    }
    set(&mut entries, "messages", Json::List(messages));
    for key in ["systemInstruction", "system_instruction"] {
        let parts = match take(&mut entries, key) {
            None => continue,
            Some(Json::Object(mut members)) => take_list(&mut members, "parts")?,
            Some(text) => vec![object([("text", Some(text))])],
        };
        set(&mut entries, "system", Json::List(parts));
    }
    for (_, value) in entries.iter_mut().filter(|(key, _)| key == "tools") {
        let Some(tools) = list_mut(value) else { continue };
        *tools = std::mem::take(tools).into_iter().flat_map(functions).collect();
    }
    Ok(entries)
}

fn content_of<'a>(mut members: Entries<'a>) -> Result<Vec<Json<'a>>, String> {
    let parts = take_list(&mut members, "parts")?;
    let role = take(&mut members, "role");
    if role.as_ref().and_then(Json::text) == Some("model") {
        return answer(&members, parts);
    }
    let (mut texts, mut results) = (Vec::new(), Vec::new());
    for part in parts {
        let (name, value) = said(part)?;
        match (name, value) {
            ("text", text) => texts.push(object([("type", word("text")), ("text", Some(text))])),
            ("functionResponse", Json::Object(mut of)) => {
                let mut take = |key: &str| take(&mut of, key);
                results.push(result(take("id"), take("name"), take("response")));
            }
            (other, _) => return Err(format!("the part '{other}' has no place in a question")),
        }
    }
    if !texts.is_empty() {
        let mut members = members;
        set(&mut members, "role", Json::Text("user".into()));
        set(&mut members, "content", Json::List(texts));
        results.push(Json::Object(members));
    }
    Ok(results)
}

fn answer<'a>(others: &Entries<'a>, parts: Vec<Json<'a>>) -> Result<Vec<Json<'a>>, String> {
    let mut answer = Answer::default();
    for part in parts {
        let is_thought = part.get("thought").is_some_and(Json::is_true);
        match said(part)? {
            ("functionCall", Json::Object(mut of)) => {
                let mut take = |key: &str| take(&mut of, key);
                let arguments = |args: Option<Json<'a>>| args.unwrap_or(Json::Object(Vec::new()));
                let (id, name) = (take("id"), take("name"));
                answer.calls.push(call(id, name, Some(arguments(take("args")))));
            }
            ("text", text) if answer.calls.is_empty() => {
                let text = text.text().unwrap_or_default();
                match is_thought {
                    false => answer.text += text,
                    true if answer.text.is_empty() => answer.reasoning += text,
                    true => {
                        return Err("a thought behind the text of its answer has no place".into());
                    }
                }
            }
            ("text", _) => {
                return Err(
                    "text behind a call has no place; give it in a content of its own".into()
                );
            }
            (other, _) => return Err(format!("the part '{other}' has no place in an answer")),
        }
    }
    Ok(answer.messages(others))
}

/// The parts that are read, with their names of the older API.
const PARTS: [[&str; 2]; 3] = [
    ["text", "text"],
    ["functionCall", "function_call"],
    ["functionResponse", "function_response"],
];

/// Returns the name of a part and its value.
fn said(part: Json<'_>) -> Result<(&'static str, Json<'_>), String> {
    /// What stands beside the value of a part, and says nothing of it.
    const BESIDE: [&str; 3] = ["thought", "thoughtSignature", "thought_signature"];
    let Json::Object(mut members) = part else {
        return Err(format!("a part is a {}, wanted an object", part.type_name()));
    };
    for names in PARTS {
        if let Some(value) = names.iter().find_map(|name| take(&mut members, name)) {
            return Ok((names[0], value));
        }
    }
    let other =
        members.iter().find(|(key, value)| !BESIDE.contains(&&**key) && *value != Json::Null);
    match other {
        Some((name, _)) => Err(format!("the part '{name}' is not text")),
        // (A signature stands in a part without text.)
        None => Ok(("text", Json::Text("".into()))),
    }
}

/// Returns the functions of a tool, or the tool itself.
fn functions<'a>(tool: Json<'a>) -> Vec<Json<'a>> {
    let Json::Object(mut members) = tool else { return vec![tool] };
    let names = ["functionDeclarations", "function_declarations"];
    match names.iter().find_map(|name| take(&mut members, name)) {
        Some(Json::List(functions)) => functions.into_iter().map(with_types_of_json).collect(),
        _ => vec![Json::Object(members)],
    }
}

fn with_types_of_json(value: Json<'_>) -> Json<'_> {
    const TYPES: [&str; 7] = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];
    match value {
        Json::Object(members) => Json::Object(
            members
                .into_iter()
                .map(|(key, value)| match value.text() {
                    Some(kind) if key == "type" && TYPES.contains(&kind) => {
                        let lower = kind.to_ascii_lowercase();
                        (key, Json::Text(lower.into()))
                    }
                    _ => (key, with_types_of_json(value)),
                })
                .collect(),
        ),
        Json::List(items) => Json::List(items.into_iter().map(with_types_of_json).collect()),
        other => other,
    }
}
