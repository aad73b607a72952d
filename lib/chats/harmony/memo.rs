//! Tokens of system and developer messages that were seen before. The rows of a dataset share a few of
//! them.

use super::Role;
use crate::json::Reader;

/// How many messages are kept; a new one replaces the oldest.
const MAX_ENTRIES: usize = 8;
/// The longest JSON text of a message that is kept, in bytes.
const MAX_BYTES: usize = 8192;

/// A bounded store of rendered messages, keyed by the exact bytes of their JSON text.
#[derive(Default)]
pub(super) struct Memo {
    entries: Vec<MemoEntry>,
    oldest: usize,
}

/// A message that has no channel and was rendered in a conversation without function tools.
pub(super) struct MemoEntry {
    source: String,
    pub role: Role,
    pub is_trained: bool,
    pub tokens: Vec<i32>,
}

impl Memo {
    /// Steps over the next value if it is in the memo, and returns its place.
    pub(super) fn accept(&self, reader: &mut Reader) -> Option<usize> {
        self.entries.iter().position(|known| reader.accept(&known.source))
    }

    pub(super) fn get(&self, place: usize) -> Option<&MemoEntry> {
        self.entries.get(place)
    }

    /// Remembers a message by its JSON text, unless that is long.
    pub(super) fn insert(
        &mut self,
        source: &str,
        (role, is_trained): (Role, bool),
        tokens: &[i32],
    ) {
        if source.len() > MAX_BYTES {
            return;
        }
        if self.entries.len() < MAX_ENTRIES {
            let (source, tokens) = (source.to_owned(), tokens.to_owned());
            self.entries.push(MemoEntry { source, role, is_trained, tokens });
        } else if let Some(known) = self.entries.get_mut(self.oldest) {
            self.oldest = (self.oldest + 1) % MAX_ENTRIES;
            known.source.clear();
            known.source.push_str(source);
            known.role = role;
            known.is_trained = is_trained;
            known.tokens.clear();
            known.tokens.extend_from_slice(tokens);
        }
    }
}
