//! What is compared of conversations.

use crate::diff::{Compared, One, PARTS, hash, shown_texts};
use crate::error::Result;
use crate::record::conversation::Conversations;

impl Compared for Conversations<'_> {
    const NAMES: &'static [&'static str] = &["messages"];

    fn hashes(one: &One<'_, Self>) -> Result<[u64; PARTS]> {
        Ok([hash(&one.rows.messages_json(one.row)), 0, 0])
    }

    fn are_equal(a: &One<'_, Self>, b: &One<'_, Self>) -> Result<bool> {
        Ok(a.rows.messages_json(a.row) == b.rows.messages_json(b.row))
    }

    fn shown(_: &str, a: &One<'_, Self>, b: &One<'_, Self>) -> Result<Vec<String>> {
        let text = |one: &One<'_, Self>| one.rows.messages_json(one.row).unwrap_or("null");
        Ok(shown_texts(text(a), text(b)))
    }
}
