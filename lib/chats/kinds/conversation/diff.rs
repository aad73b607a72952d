//! What is compared of conversations.

use std::borrow::Cow;

use super::ConversationKind;
use crate::diff::{DiffRecord, DiffView, PARTS, hash, plain_json, shown_texts};
use crate::error::Result;
use crate::record::conversation::{Conversations, RAW_INPUT, RAW_ROW};
use crate::record::statements::POLICY;

const MESSAGES: &str = "messages";
/// Fields that are not compared: only NDJSON has the policy (Arrow has it in its header), only
/// pipes have the place.
const APART: [&str; 3] = [POLICY.name, RAW_INPUT, RAW_ROW];

impl DiffView for ConversationKind {
    type Facts = ();

    const NAMES: &'static [&'static str] = &[MESSAGES, "other fields"];

    fn hashes(one: &DiffRecord<'_, Conversations<'_>>) -> Result<[u64; PARTS]> {
        let (messages, others) = (hash(&messages(one)), hash(&others(one)));
        Ok([messages, others, 0, 0])
    }

    fn are_equal(
        a: &DiffRecord<'_, Conversations<'_>>,
        b: &DiffRecord<'_, Conversations<'_>>,
    ) -> Result<bool> {
        let [x, y] = [a, b].map(|one| one.rows.messages_json(one.row));
        let are_messages = match (x, y) {
            (Some(x), Some(y)) => x == y || (!a.is_strict && plain_json(x) == plain_json(y)),
            (x, y) => x == y,
        };
        // Whole records have nothing else beside the messages.
        let [x, y] = [a, b].map(|one| one.rows.others_json(one.row));
        Ok(are_messages && (x == y || others(a) == others(b)))
    }

    fn are_rewritten(
        a: &DiffRecord<'_, Conversations<'_>>,
        b: &DiffRecord<'_, Conversations<'_>>,
    ) -> bool {
        a.rows.messages_json(a.row) != b.rows.messages_json(b.row)
    }

    fn shown(
        part: &str,
        a: &DiffRecord<'_, Conversations<'_>>,
        b: &DiffRecord<'_, Conversations<'_>>,
    ) -> Result<Vec<String>> {
        let text = |one| match part {
            MESSAGES => messages(one),
            _ => Cow::Owned(others(one)),
        };
        Ok(shown_texts(&text(a), &text(b)))
    }
}

/// Returns the text of the messages, as it is compared. (No JSON text is empty.)
fn messages<'a>(one: &DiffRecord<'a, Conversations<'_>>) -> Cow<'a, str> {
    as_compared(one.rows.messages_json(one.row).unwrap_or_default(), one.is_strict)
}

/// Returns the fields beside the messages, as they are compared.
fn others(one: &DiffRecord<'_, Conversations<'_>>) -> String {
    let mut text = String::new();
    for (name, value) in one.rows.beside(one.row) {
        if !APART.contains(&&*name) {
            let value = as_compared(value, one.is_strict);
            [", ", &name, ": ", &value].into_iter().for_each(|part| text.push_str(part));
        }
    }
    text.split_off(text.len().min(2))
}

fn as_compared(text: &str, is_strict: bool) -> Cow<'_, str> {
    match is_strict {
        true => Cow::Borrowed(text),
        false => Cow::Owned(String::from_utf8_lossy(&plain_json(text)).into_owned()),
    }
}
