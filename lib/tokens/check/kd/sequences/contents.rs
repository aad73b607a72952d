//! Contents of messages that need not be encoded or decoded once more.

use crate::tokenizer::token_bytes;

/// Tokens of contents that were encoded again and found right. The sequences of a dataset share a few
/// system and developer messages, which are a quarter of their tokens.
#[derive(Default)]
pub(super) struct KnownContents {
    list: Vec<Vec<i32>>,
    oldest: usize,
}

impl KnownContents {
    /// How many contents are kept; a new one replaces the oldest.
    const MOST: usize = 8;
    /// The most tokens of a content that is kept.
    const LONGEST: usize = 2048;

    pub fn contains(&self, content: &[i32]) -> bool {
        self.list.iter().any(|known| known == content)
    }

    pub fn add(&mut self, content: &[i32]) {
        if content.len() > Self::LONGEST {
            return;
        }
        if self.list.len() < Self::MOST {
            self.list.push(content.to_vec());
        } else if let Some(known) = self.list.get_mut(self.oldest) {
            self.oldest = (self.oldest + 1) % Self::MOST;
            content.clone_into(known);
        }
    }
}

/// Which tokens are UTF-8 by themselves, so that only the tokens between these must be decoded. The state
/// of each token is found once. (0.5 ns a token; 12 if all are decoded, which is twice the time of
/// everything else in mmidx-write: rustc -O, 2026-11-26.)
#[derive(Default)]
pub(super) struct Utf8Tokens {
    /// The state by id, with room for every id of 18 bits, so that no id has to be compared with a
    /// length; `None` until the first use.
    states: Option<Box<[Utf8State; Utf8Tokens::IDS]>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Utf8State {
    Unknown,
    Yes,
    No,
}

impl Utf8Tokens {
    const IDS: usize = 1 << 18;

    /// Whether these tokens, all in the vocabulary, are UTF-8; `bytes` is a buffer.
    pub fn is_text(&mut self, tokens: &[i32], bytes: &mut Vec<u8>) -> bool {
        const BLOCK: usize = 8;
        bytes.clear();
        let states = self.states.get_or_insert_with(|| Box::new([Utf8State::Unknown; Self::IDS]));
        let (blocks, rest) = tokens.as_chunks::<BLOCK>();
        for block in blocks {
            // Nearly all tokens are looked up without a branch for each.
            let state = |&id: &i32| states[id as usize % Self::IDS] == Utf8State::Yes;
            let all_whole = block.iter().fold(true, |all, id| all & state(id));
            if !(all_whole && bytes.is_empty() || is_block_text(states, block, bytes)) {
                return false;
            }
        }
        is_block_text(states, rest, bytes) && str::from_utf8(bytes).is_ok()
    }
}

/// Whether some tokens are UTF-8 when they follow the incomplete character in `bytes`. Leaves the next
/// incomplete character in `bytes`.
fn is_block_text(
    states: &mut [Utf8State; Utf8Tokens::IDS],
    tokens: &[i32],
    bytes: &mut Vec<u8>,
) -> bool {
    for &id in tokens {
        let state = &mut states[id as usize % Utf8Tokens::IDS];
        if *state != Utf8State::Yes {
            let Some(token) = token_bytes(id) else { return false };
            if *state == Utf8State::Unknown {
                *state = if str::from_utf8(token).is_ok() { Utf8State::Yes } else { Utf8State::No };
            }
            if *state == Utf8State::No {
                bytes.extend_from_slice(token);
                continue;
            }
        }
        if !bytes.is_empty() {
            if str::from_utf8(bytes).is_err() {
                return false;
            }
            bytes.clear();
        }
    }
    true
}
