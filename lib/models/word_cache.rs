//! Words with their tokens, so that words which come again are not merged again.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

/// A token of a word, and the end (in bytes of the word) of the character in which the token ends.
pub type Token = (i32, u32);

/// How many words are kept, and of how many bytes at most: about 12 MB.
const WORDS: usize = 1 << 17;
const LONGEST: usize = 64;

/// The words of one encoder, none of which is empty. A word has at most one token for each of its bytes.
pub struct WordCache {
    /// A word is in the first free slot from the place of its hash on; half of the slots stay free.
    slots: Vec<Slot>,
    count: usize,
    texts: Vec<u8>,
    tokens: Vec<Token>,
    /// Bits of the hashes of words that were merged. A word is kept only when it comes again. (Keeping all words,
    /// 15 MB in a hundred languages took 1.16 times as long in the first pass, and 1.5 times in later ones.)
    merged: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// Bits of the word's hash.
    tag: u32,
    /// Where its text and its tokens begin.
    text: u32,
    tokens: u32,
    /// The bytes of its text (0 in a free slot), and its tokens.
    length: u8,
    count: u8,
}

/// The slot in which a word is looked for first.
fn place(hash: u64) -> usize {
    hash as usize % (2 * WORDS)
}

/// A word that is not kept: where it would be.
pub struct Missing {
    hash: u64,
    slot: usize,
}

impl WordCache {
    pub fn new() -> Self {
        Self {
            slots: vec![Slot::default(); 2 * WORDS],
            count: 0,
            texts: Vec::new(),
            tokens: Vec::new(),
            merged: vec![0; 1 << 16],
        }
    }

    /// Returns the tokens of a word, or what [`WordCache::keep`] needs; no place for words that are never kept.
    #[inline]
    pub fn get(&self, word: &[u8]) -> Result<&[Token], Option<Missing>> {
        if word.len() > LONGEST {
            return Err(None);
        }
        let mut hasher = FixedState::default().build_hasher();
        hasher.write(word);
        let hash = hasher.finish();
        let (mut at, tag) = (place(hash), (hash >> 32) as u32);
        loop {
            let slot = self.slots[at];
            if slot.length == 0 {
                return Err(Some(Missing { hash, slot: at }));
            }
            if slot.tag == tag && usize::from(slot.length) == word.len() {
                let text = slot.text as usize;
                if self.texts[text..text + word.len()] == *word {
                    let first = slot.tokens as usize;
                    return Ok(&self.tokens[first..first + usize::from(slot.count)]);
                }
            }
            at = (at + 1) % (2 * WORDS);
        }
    }

    /// Keeps a word that was not found, if it comes for the second time.
    pub fn keep(&mut self, Missing { hash, mut slot }: Missing, word: &[u8], tokens: &[Token]) {
        let seen = &mut self.merged[hash as usize % (1 << 16)];
        let tag = (hash >> 32) as u32;
        if std::mem::replace(seen, tag) != tag {
            return;
        }
        if self.count == WORDS {
            self.slots.fill(Slot::default());
            self.texts.clear();
            self.tokens.clear();
            self.count = 0;
            slot = place(hash);
        }
        self.count += 1;
        self.slots[slot] = Slot {
            tag,
            text: self.texts.len() as u32,
            tokens: self.tokens.len() as u32,
            length: word.len() as u8,
            count: tokens.len() as u8,
        };
        self.texts.extend_from_slice(word);
        self.tokens.extend_from_slice(tokens);
    }
}
