//! What OpenHands logs of each call of its model (`log_completions`): the messages as they were sent, and the answer
//! beside them. Source: `llm.py` of OpenHands, `telemetry.py` of its SDK.
//!
//! Where the model has no tools of its own, the messages tell of them in words: `raw_response` has the answer to these, and
//! `response` the same as calls.

use super::{Api, set, take};

/// The same as calls, and what is about the request, not said in it.
const REPEATED: [&str; 8] = [
    "args",
    "context_window",
    "cost",
    "fncall_messages",
    "fncall_response",
    "latency_sec",
    "timestamp",
    "usage_summary",
];

pub const API: Api = Api {
    knows: |record| {
        let has = |key: &str| record.get(key).is_some();
        has("messages") && has("response") && (has("kwargs") || has("latency_sec"))
    },
    as_messages: |mut entries, _| {
        let arguments = take(&mut entries, "kwargs");
        let tools = take(&mut entries, "tools");
        let tools = tools.or_else(|| arguments?.get("tools").cloned());
        match take(&mut entries, "raw_response") {
            Some(answer) => set(&mut entries, "response", answer),
            None => tools.into_iter().for_each(|tools| set(&mut entries, "tools", tools)),
        }
        entries.retain(|(key, _)| !REPEATED.contains(&&**key));
        Ok(entries)
    },
};
