//! Sessions of OpenAI's Codex: `~/.codex/sessions/**/rollout-*.jsonl`, with items of the Responses API. Source:
//! openai/codex, `codex-rs/protocol/src/protocol.rs` (`RolloutItem`).
//!
//! A compaction begins a new chat: with the items that it states, or else with its summary.

use super::{PROMPT, id_of, lines, write_record};
use crate::chat::apis::{kind, user};
use crate::chat::value::Json;
use crate::stream::LineFault;

/// Whether a line with these members is one of such a file.
pub fn knows(has: &dyn Fn(&str) -> bool) -> bool {
    ["timestamp", "type", "payload"].into_iter().all(has)
}

pub fn records(text: &str, out: &mut Vec<u8>) -> Result<u64, LineFault> {
    let all = lines(text)?;
    let (mut id, mut instructions) = (None, None);
    let mut chats: Vec<Vec<Json<'_>>> = vec![Vec::new()];
    for (_, line) in &all {
        let Some(payload) = line.get("payload") else { continue };
        match kind(line) {
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
    let (count, lacks) = (chats.len(), u64::from(instructions.is_none()));
    let id = id.as_ref().and_then(Json::text);
    for (items, number) in chats.into_iter().zip(1..) {
        let members = [
            ("id", id_of(id, number, count)),
            ("instructions", instructions.clone()),
            ("input", Some(Json::List(items))),
        ];
        write_record(out, members, &[(PROMPT, lacks)]);
    }
    Ok(count as u64)
}

fn is_answer(item: &Json<'_>) -> bool {
    let role = item.get("role").and_then(Json::text);
    role == Some("assistant") || kind(item) == "function_call"
}
