//! Messages of Vercel's AI SDK (`UIMessage`): an answer is a list of parts, with its calls, their results, and the next
//! answers. Source: ai-sdk.dev, "UIMessage"; version 4 has `tool-invocation`.
//!
//! | part | becomes |
//! |---|---|
//! | `text`, `reasoning` | text, reasoning; behind a call, those of the next answer |
//! | `tool-NAME`, `dynamic-tool`, `tool-invocation` | a call, and a message of the tool if there is a result |
//! | `step-start`, `source-*`, `data-*` | nothing: they are for the page |
//! | any other | refused by its type |

use super::{Answer, Api, any_message, call, each_message, kind, result, set, take, take_list};
use crate::chat::left_out::LeftOutCounts;
use crate::chat::normalize::Entries;
use crate::chat::value::Json;

pub const API: Api = Api {
    knows: |record| {
        any_message(record, |message| {
            let parts = message.get("parts").and_then(Json::list).unwrap_or_default();
            message.get("role").is_some() && parts.iter().any(|part| part.get("type").is_some())
        })
    },
    as_messages: |mut entries, left_out| {
        each_message(&mut entries, |members| messages(members, left_out))?;
        Ok(entries)
    },
};

fn messages<'a>(
    mut members: Entries<'a>,
    left_out: &mut LeftOutCounts,
) -> Result<Vec<Json<'a>>, String> {
    let parts = take_list(&mut members, "parts")?;
    if parts.is_empty() {
        return Ok(vec![Json::Object(members)]);
    }
    let content = take(&mut members, "content");
    let role = members.iter().find(|(key, _)| key == "role").and_then(|(_, role)| role.text());
    let is_answer = role == Some("assistant");
    let (mut all, mut answer, mut said) = (Vec::new(), Answer::default(), String::new());
    for part in parts {
        let kind = kind(&part).to_string();
        let text = || part.get("text").and_then(Json::text).unwrap_or_default();
        match kind.as_str() {
            "text" | "reasoning" => {
                if !answer.calls.is_empty() {
                    all.extend(std::mem::take(&mut answer).messages(&members));
                }
                match kind.as_str() {
                    "text" => {
                        said += text();
                        answer.text += text();
                    }
                    _ if !is_answer => {
                        return Err("reasoning of another role than the assistant".into());
                    }
                    _ if answer.text.is_empty() => answer.reasoning += text(),
                    _ => {
                        all.extend(std::mem::take(&mut answer).messages(&members));
                        answer.reasoning += text();
                    }
                }
            }
            "step-start" => {}
            kind if kind.starts_with("source-") || kind.starts_with("data-") => {}
            kind if is_answer && is_call(kind) => tool(part, &mut answer, left_out)?,
            other => return Err(format!("the part of type '{other}' has no place in a message")),
        }
    }
    // (Older versions repeat the text.)
    if content.as_ref().and_then(Json::text).is_some_and(|text| !text.is_empty() && text != said) {
        return Err("content and parts are two texts; give one of them".into());
    }
    if !is_answer {
        set(&mut members, "content", Json::Text(answer.text.into()));
        return Ok(vec![Json::Object(members)]);
    }
    if !answer.is_empty() || all.is_empty() {
        all.extend(answer.messages(&members));
    }
    Ok(all)
}

fn is_call(kind: &str) -> bool {
    kind.starts_with("tool-") || kind == "dynamic-tool"
}

fn tool<'a>(
    part: Json<'a>,
    answer: &mut Answer<'a>,
    left_out: &mut LeftOutCounts,
) -> Result<(), String> {
    let Json::Object(mut of) = part else { return Ok(()) };
    // (Version 4 has the call in a member.)
    if let Some(Json::Object(call)) = take(&mut of, "toolInvocation") {
        of = call;
    }
    let kind = take(&mut of, "type");
    let of_type = kind.as_ref().and_then(Json::text).and_then(|kind| kind.strip_prefix("tool-"));
    let of_type = of_type.map(|name| Json::Text(name.to_string().into()));
    let mut either = |a: &str, b: &str| take(&mut of, a).or_else(|| take(&mut of, b));
    let name = either("toolName", "toolName").or(of_type);
    let (id, arguments) = (either("toolCallId", "toolCallId"), either("input", "args"));
    let output = either("output", "result");
    let error = either("errorText", "errorText");
    left_out.count("errorText", output.is_some() && error.is_some());
    if let Some(output) = output.or(error) {
        answer.results.push(result(id.clone(), name.clone(), Some(output)));
    }
    answer.calls.push(call(id, name, arguments));
    Ok(())
}
