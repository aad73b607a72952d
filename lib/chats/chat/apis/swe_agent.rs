//! Trajectories of SWE-agent (`.traj`): `history` has the messages, `trajectory` the same once more by steps. Source:
//! SWE-agent's `types.py` (`HistoryItem`).

use super::{Api, each_message, set, take};
use crate::chat::normalize::{Entries, is_message};
use crate::chat::value::Json;

pub const API: Api = Api {
    knows: |record| {
        let history = record.get("history").and_then(Json::list).unwrap_or_default();
        record.get("messages").is_none()
            && record.get("trajectory").is_some()
            && !history.is_empty()
            && history.iter().all(is_message)
    },
    as_messages: |mut entries, left_out| {
        let history = take(&mut entries, "history").unwrap_or(Json::Null);
        take(&mut entries, "trajectory");
        set(&mut entries, "messages", history);
        each_message(&mut entries, |mut members: Entries<'_>| {
            // (They repeat the content and the calls.)
            for key in ["agent", "message_type", "thought", "action", "is_demo", "cache_control"] {
                take(&mut members, key);
            }
            if let Some(Json::List(ids)) = take(&mut members, "tool_call_ids") {
                match <[Json<'_>; 1]>::try_from(ids) {
                    Ok([id]) => set(&mut members, "tool_call_id", id),
                    Err(ids) => left_out.count("tool_call_ids", !ids.is_empty()),
                }
            }
            if let Some(Json::List(blocks)) = take(&mut members, "thinking_blocks") {
                let texts = blocks.iter().filter_map(|block| block.get("thinking")?.text());
                let text = texts.collect::<Vec<_>>().concat();
                left_out.count("thinking without text", text.is_empty() && !blocks.is_empty());
                if !text.is_empty() {
                    set(&mut members, "reasoning", Json::Text(text.into()));
                }
            }
            Ok(vec![Json::Object(members)])
        })?;
        Ok(entries)
    },
};
