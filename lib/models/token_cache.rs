//! Words and longer texts with their tokens, so that what comes again is not merged or encoded again.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

/// A token of a text, and the end (in bytes of the text) of the character in which the token ends.
pub type Token = (i32, u32);

/// How much is kept.
#[derive(Clone, Copy)]
pub struct Limits {
    /// The number of texts, a power of two.
    texts: usize,
    /// The bytes of one, and of all.
    longest: u16,
    bytes: usize,
}

/// About 12 MB.
pub const WORDS: Limits = Limits { texts: 1 << 17, longest: 64, bytes: 1 << 23 };

/// About 3 MB: a token has four bytes or so.
pub const TEXTS: Limits = Limits { texts: 1 << 12, longest: u16::MAX, bytes: 1 << 20 };

/// The texts of one encoder, none of which is empty. A text has at most one token for each of its bytes.
pub struct TokenCache {
    limits: Limits,
    /// A text is in the first free slot from the place of its hash on; half of the slots stay free.
    slots: Vec<Slot>,
    count: usize,
    texts: Vec<u8>,
    tokens: Vec<Token>,
    /// Bits of the hashes of texts that came before. A text is kept only when it comes again. (Keeping all words,
    /// 15 MB in a hundred languages took 1.16 times as long in the first pass, and 1.5 times in later ones.)
    seen: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// Bits of the text's hash.
    tag: u32,
    /// Where its bytes and its tokens begin.
    text: u32,
    tokens: u32,
    /// Its bytes (0 in a free slot), and its tokens.
    length: u16,
    count: u16,
}

/// A text that is not kept: where it would be.
pub struct Missing {
    hash: u64,
    slot: usize,
}

impl TokenCache {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            slots: vec![Slot::default(); 2 * limits.texts],
            count: 0,
            texts: Vec::new(),
            tokens: Vec::new(),
            seen: vec![0; 1 << 16],
        }
    }

    /// The slot in which a text is looked for first.
    fn place(&self, hash: u64) -> usize {
        hash as usize % self.slots.len()
    }

    /// Returns the tokens of a text, or what [`TokenCache::keep`] needs; no place for texts that are never kept.
    #[inline]
    pub fn get(&self, text: &[u8]) -> Result<&[Token], Option<Missing>> {
        if text.len() > usize::from(self.limits.longest) {
            return Err(None);
        }
        let mut hasher = FixedState::default().build_hasher();
        hasher.write(text);
        let hash = hasher.finish();
        let (mut at, tag) = (self.place(hash), (hash >> 32) as u32);
        loop {
            let slot = self.slots[at];
            if slot.length == 0 {
                return Err(Some(Missing { hash, slot: at }));
            }
            if slot.tag == tag && usize::from(slot.length) == text.len() {
                let first = slot.text as usize;
                if self.texts[first..first + text.len()] == *text {
                    let first = slot.tokens as usize;
                    return Ok(&self.tokens[first..first + usize::from(slot.count)]);
                }
            }
            at = (at + 1) % self.slots.len();
        }
    }

    /// Notes a text that is not kept; returns whether it came before.
    #[inline]
    pub fn comes_again(&mut self, missing: &Missing) -> bool {
        let tag = (missing.hash >> 32) as u32;
        std::mem::replace(&mut self.seen[missing.hash as usize % (1 << 16)], tag) == tag
    }

    /// Keeps a text that was not found.
    pub fn keep(
        &mut self,
        Missing { hash, mut slot }: Missing,
        text: &[u8],
        tokens: impl Iterator<Item = Token>,
    ) {
        let Limits { texts, bytes, .. } = self.limits;
        if self.count == texts || self.texts.len() + text.len() > bytes {
            self.slots.fill(Slot::default());
            self.texts.clear();
            self.tokens.clear();
            self.count = 0;
            slot = self.place(hash);
        }
        self.count += 1;
        let first = self.tokens.len();
        self.tokens.extend(tokens);
        self.slots[slot] = Slot {
            tag: (hash >> 32) as u32,
            text: self.texts.len() as u32,
            tokens: first as u32,
            length: text.len() as u16,
            count: (self.tokens.len() - first) as u16,
        };
        self.texts.extend_from_slice(text);
    }
}
