//! Messages of a simulation of tau2-bench: a result names its call by its own id. Source: sierra-research/tau2-bench,
//! `data_model/message.py`.

use super::{Api, any_message, each_message, set, take};
use crate::chat::normalize::Entries;
use crate::chat::value::Json;

pub const API: Api = Api {
    knows: |record| {
        any_message(record, |message| {
            let calls = message.get("tool_calls").and_then(Json::list).unwrap_or_default();
            let is_tool = message.get("role").and_then(Json::text) == Some("tool");
            (is_tool && message.get("requestor").is_some())
                || message.get("tool_messages").is_some()
                || calls.iter().any(|call| call.get("requestor").is_some())
        })
    },
    as_messages: |mut entries, _| {
        each_message(&mut entries, messages)?;
        Ok(entries)
    },
};

fn messages<'a>(mut members: Entries<'a>) -> Result<Vec<Json<'a>>, String> {
    // (Results of parallel calls are in one message.)
    if let Some(Json::List(results)) = take(&mut members, "tool_messages") {
        let of = |result| match result {
            Json::Object(members) => messages(members),
            other => Ok(vec![other]),
        };
        return Ok(results.into_iter().map(of).collect::<Result<Vec<_>, _>>()?.concat());
    }
    let is = |key: &str, wanted: &str| {
        members.iter().any(|(name, value)| name == key && value.text() == Some(wanted))
    };
    let is_of_user = |call: &Json<'_>| call.get("requestor").and_then(Json::text) == Some("user");
    let calls = members.iter().find(|(key, _)| key == "tool_calls");
    let calls = calls.and_then(|(_, calls)| calls.list()).unwrap_or_default();
    if is("requestor", "user") || calls.iter().any(is_of_user) {
        return Err("a call of the user, whose tools no template has".into());
    }
    if is("role", "tool") {
        let id = take(&mut members, "id");
        if let Some(id) = id {
            set(&mut members, "tool_call_id", id);
        }
    }
    take(&mut members, "requestor");
    Ok(vec![Json::Object(members)])
}
