//! Trajectories in ATIF, the format of Harbor's agents. Source: harbor's RFC 0001 ("Agent Trajectory Interchange
//! Format").
//!
//! | member of a step | becomes |
//! |---|---|
//! | `message` of `system`, `user` | a message of that role |
//! | `message`, `reasoning_content`, `tool_calls` of `agent` | an answer |
//! | a result of its `observation` with `source_call_id` | a message of the tool |
//! | a result without | a message of the user: agents without tools read it so |
//! | a result that refers to another trajectory | refused |
//! | `is_copied_context`, `llm_call_count` of 0 | not trained on; counted |

use super::{Api, call, object, result, set, take, take_list, word};
use crate::chat::left_out::LeftOutCounts;
use crate::chat::normalize::Entries;
use crate::chat::value::Json;

/// The names under which answers are counted that the model of this trajectory did not give.
const COPIED: &str = "training on steps that are copied from another trajectory";
const WITHOUT_MODEL: &str = "training on steps that no model made";

pub const API: Api = Api {
    knows: |record| {
        let steps = record.get("steps").and_then(Json::list).unwrap_or_default();
        let is_step = |step: &Json<'_>| step.get("source").is_some();
        record.get("messages").is_none() && !steps.is_empty() && steps.iter().all(is_step)
    },
    as_messages: |mut entries, left_out| {
        let mut messages = Vec::new();
        for (index, step) in take_list(&mut entries, "steps")?.into_iter().enumerate() {
            let Json::Object(members) = step else { continue };
            let of_step = step_of(members, left_out);
            messages.extend(of_step.map_err(|cause| format!("step {index}: {cause}"))?);
        }
        set(&mut entries, "messages", Json::List(messages));
        if let Some(Json::Object(mut agent)) = take(&mut entries, "agent")
            && let Some(tools) = take(&mut agent, "tool_definitions")
        {
            set(&mut entries, "tools", tools);
        }
        Ok(entries)
    },
};

fn step_of<'a>(
    mut members: Entries<'a>,
    left_out: &mut LeftOutCounts,
) -> Result<Vec<Json<'a>>, String> {
    let source = take(&mut members, "source");
    let role = match source.as_ref().and_then(Json::text) {
        Some("agent") => "assistant",
        Some("system") => "system",
        Some("user") => "user",
        other => {
            return Err(format!("the source '{}' is not known", other.unwrap_or_default()));
        }
    };
    let mut calls = Vec::new();
    for of in take_list(&mut members, "tool_calls")? {
        let Json::Object(mut of) = of else { return Err("a tool call is no object".into()) };
        let mut take = |key: &str| take(&mut of, key);
        calls.push(call(take("tool_call_id"), take("function_name"), take("arguments")));
    }
    let is_copied = take(&mut members, "is_copied_context").is_some_and(|is| is.is_true());
    let count = take(&mut members, "llm_call_count");
    let is_without_model = count.is_some_and(|count| !count.is_true());
    let is_of_other = role == "assistant" && (is_copied || is_without_model);
    left_out.count(if is_copied { COPIED } else { WITHOUT_MODEL }, is_of_other);
    let message = object([
        ("role", word(role)),
        ("content", take(&mut members, "message")),
        ("reasoning_content", take(&mut members, "reasoning_content")),
        ("tool_calls", (!calls.is_empty()).then_some(Json::List(calls))),
        ("train", is_of_other.then_some(Json::Boolean(false))),
    ]);
    let mut all = vec![message];
    if let Some(Json::Object(mut observation)) = take(&mut members, "observation") {
        for of in take_list(&mut observation, "results")? {
            let Json::Object(mut of) = of else { return Err("a result is no object".into()) };
            if take(&mut of, "subagent_trajectory_ref").is_some() {
                return Err("a result that refers to another trajectory; give its text".into());
            }
            let (id, content) = (take(&mut of, "source_call_id"), take(&mut of, "content"));
            all.push(match id {
                Some(id) => result(Some(id), None, content),
                None => object([("role", word("user")), ("content", content.or_else(|| word("")))]),
            });
        }
    }
    Ok(all)
}
