//! Sessions of OpenAI's Codex: `~/.codex/sessions/**/rollout-*.jsonl`, with items of the Responses API. Source:
//! openai/codex, `codex-rs/protocol/src/protocol.rs` (`RolloutItem`).
//!
//! A compaction begins a new chat: with the items that it states, or else with its summary.

use std::borrow::Cow;

use super::{PROMPT, has, lines, record};
use crate::chat::value::Json;
use crate::stream::LineFault;

pub fn knows(names: &[String]) -> bool {
    has(names, &["timestamp", "type", "payload"])
}

pub fn records(text: &str) -> Result<Vec<String>, LineFault> {
    let all = lines(text)?;
    let (mut id, mut instructions) = (None, None);
    let mut chats: Vec<Vec<Json<'_>>> = vec![Vec::new()];
    for (_, line) in &all {
        let Some(payload) = line.get("payload") else { continue };
        let kind =
            |of: &Json<'_>| of.get("type").and_then(Json::text).unwrap_or_default().to_string();
        match kind(line).as_str() {
            "session_meta" => {
                id = id.or_else(|| payload.get("id").cloned());
                let base = payload.get("base_instructions").and_then(|base| base.get("text"));
                instructions =
                    instructions.or_else(|| base.or(payload.get("instructions")).cloned());
            }
            "compacted" => {
                let history = payload.get("replacement_history").and_then(Json::list);
                let summary = payload.get("message").cloned().map(user);
                chats.push(history.map_or(summary.into_iter().collect(), <[Json<'_>]>::to_vec));
            }
            // (A snapshot is of the user's files.)
            "response_item" if kind(payload) != "ghost_snapshot" => {
                if let Some(chat) = chats.last_mut() {
                    chat.push(payload.clone());
                }
            }
            _ => {}
        }
    }
    chats.retain(|items| items.iter().any(is_answer));
    let (is_one, lacks) = (chats.len() == 1, u64::from(instructions.is_none()));
    let id = id.as_ref().and_then(Json::text);
    let of = |(items, number): (Vec<Json<'_>>, usize)| {
        let id = id.map(|id| if is_one { id.to_string() } else { format!("{id}/{number}") });
        let id = id.map(|id| Json::Text(Cow::Owned(id)));
        let members = [
            ("id", id),
            ("instructions", instructions.clone()),
            ("input", Some(Json::List(items))),
        ];
        record(members, &[(PROMPT, lacks)])
    };
    Ok(chats.into_iter().zip(1..).map(of).collect())
}

fn is_answer(item: &Json<'_>) -> bool {
    let text = |key: &str| item.get(key).and_then(Json::text);
    text("role") == Some("assistant") || text("type") == Some("function_call")
}

fn user(text: Json<'_>) -> Json<'_> {
    let role = Json::Text(Cow::Borrowed("user"));
    Json::Object(vec![("role".into(), role), ("content".into(), text)])
}
