//! What is compared of conversations.

use crate::diff::{Compared, One, PARTS, hash, plain_json, shown_texts};
use crate::error::Result;
use crate::record::conversation::Conversations;

impl Compared for Conversations<'_> {
    const NAMES: &'static [&'static str] = &["messages"];

    fn hashes(one: &One<'_, Self>) -> Result<[u64; PARTS]> {
        let text = one.rows.messages_json(one.row);
        let messages = match one.is_strict {
            true => hash(&text),
            false => hash(&text.map(plain_json)),
        };
        Ok([messages, 0, 0, 0])
    }

    fn are_equal(a: &One<'_, Self>, b: &One<'_, Self>) -> Result<bool> {
        let texts = (a.rows.messages_json(a.row), b.rows.messages_json(b.row));
        Ok(match texts {
            (Some(x), Some(y)) => x == y || (!a.is_strict && plain_json(x) == plain_json(y)),
            (x, y) => x == y,
        })
    }

    fn are_rewritten(a: &One<'_, Self>, b: &One<'_, Self>) -> bool {
        a.rows.messages_json(a.row) != b.rows.messages_json(b.row)
    }

    fn shown(_: &str, a: &One<'_, Self>, b: &One<'_, Self>) -> Result<Vec<String>> {
        let text = |one: &One<'_, Self>| {
            let text = one.rows.messages_json(one.row).unwrap_or("null");
            match one.is_strict {
                true => text.to_string(),
                false => String::from_utf8_lossy(&plain_json(text)).into_owned(),
            }
        };
        Ok(shown_texts(&text(a), &text(b)))
    }
}
