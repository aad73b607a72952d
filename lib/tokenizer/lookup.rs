//! Turns words into tokens: looks them up among the words already seen, else in the vocabulary, else merges them.

use std::ops::Range;

use super::cache::WordCache;
use super::hash::{BLOCK_BYTES, NO_TOKEN, TOKEN_BYTES, hash_block, hash_word};
use super::merge::Merger;
use super::parts::MergedWord;
use super::pattern::Pattern;
use super::slot::{SLOT_TOKENS, Tokens, slot_of_ids};
use super::spelled::{Place, SpelledCache};
use super::tables::Tables;
use super::words::{BATCH, Word, WordBatch, Words, block_at};
use gristmill_simd::{Instructions, SimdLevel};

/// The room for the tokens of a batch, unless many of its words have many tokens.
const STAGE: usize = 2 * (SLOT_TOKENS + 1) * BATCH;

/// The memory for words: 64 bytes for each set of one cache and for each line of the other.
#[derive(Clone, Copy)]
pub enum WordRoom {
    /// At most 24 MiB together with the pages of the tables of o200k that a process reads.
    Mib13,
    /// Later passes over 77 MB of real text make 213 MB/s for Llama 3 and 194 for Qwen 3; with half of this room 195
    /// and 160. The first pass is up to a tenth slower.
    Mib46,
}

pub struct Lookup<T> {
    tables: T,
    /// Words met again and again.
    cache: WordCache,
    /// All words, as many as there is room for.
    spelled: SpelledCache,
    merger: Merger,
    many: LongWordTokens,
    /// Tokens before they go to the output: all places of a slot are written for every word, and
    /// the next word overwrites the unused ones.
    stage: [i32; STAGE + SLOT_TOKENS + 1],
}

/// The tokens of the words of a batch that have more than a slot.
#[derive(Default)]
struct LongWordTokens {
    tokens: Vec<i32>,
    /// The end of each word's tokens.
    ends: Vec<usize>,
}

impl LongWordTokens {
    /// The tokens of an ordinary batch; room beyond this, for a very long word, is given back.
    const USUAL: usize = 1 << 16;

    fn clear(&mut self) {
        self.tokens.clear();
        self.tokens.shrink_to(Self::USUAL);
        self.ends.clear();
    }

    /// Takes the tokens that were appended as the tokens of one word.
    fn end_word(&mut self) -> Tokens {
        self.ends.push(self.tokens.len());
        Tokens::elsewhere(self.ends.len() - 1)
    }

    #[inline(always)]
    fn of(&self, word: usize) -> &[i32] {
        let start = if word == 0 { 0 } else { self.ends[word - 1] };
        &self.tokens[start..self.ends[word]]
    }
}

/// Words that are being looked up. Their memory is requested some time before it is used.
pub struct Batch {
    words: WordBatch,
    count: usize,
    /// The tokens of each word.
    found: [Tokens; BATCH],
    /// Which words are not in the cache.
    missing: [u8; BATCH],
    /// First the words that the first cache lacks, which are looked up among all words; then the words that
    /// are nowhere.
    asked: [AskedWord; BATCH],
    asked_count: usize,
}

/// A word, and its index in the batch.
#[derive(Clone, Copy)]
struct AskedWord {
    hash: u64,
    at: usize,
    place: Place,
}

impl AskedWord {
    const NONE: Self = Self { hash: 0, at: 0, place: Place::NONE };
}

impl Batch {
    pub fn new() -> Self {
        Self {
            words: WordBatch::new(),
            count: 0,
            found: [Tokens::NONE; BATCH],
            missing: [0; BATCH],
            asked: [AskedWord::NONE; BATCH],
            asked_count: 0,
        }
    }
}

impl<T: Tables> Lookup<T> {
    pub fn new(level: SimdLevel, tables: T, room: WordRoom) -> Self {
        let (sets, lines) = match room {
            WordRoom::Mib13 => (1 << 16, 9 << 14),
            WordRoom::Mib46 => (1 << 18, 15 << 15),
        };
        Self {
            tables,
            cache: WordCache::new(sets),
            spelled: SpelledCache::new(lines),
            merger: Merger::new(level),
            many: LongWordTokens::default(),
            stage: [0; STAGE + SLOT_TOKENS + 1],
        }
    }

    /// Takes the next words of a text into the batch, and requests the memory that they will need.
    /// Returns false at the end of the text.
    #[inline(always)]
    pub fn take<I: Instructions, P: Pattern>(
        &self,
        source: &mut Words<P>,
        batch: &mut Batch,
    ) -> bool {
        let sets = self.cache.sets();
        let Batch { words, found, missing, asked, .. } = batch;
        let count = source.next_batch::<I, T>(&self.tables, sets, words).min(BATCH);
        let mut missed = 0;
        for (at, (word, found)) in words.words()[..count].iter().zip(&mut *found).enumerate() {
            let slot = sets.get(word.key, word.hash);
            *found = Tokens::new(slot);
            missing[missed % BATCH] = at as u8;
            missed += usize::from(slot == 0);
        }
        let text = source.text();
        for (&at, asked) in missing[..missed].iter().zip(asked) {
            let at = usize::from(at);
            let range = words.range(at);
            let hash = if range.len() <= TOKEN_BYTES {
                words.words()[at].hash
            } else if range.len() <= BLOCK_BYTES {
                hash_block(&block_at(text, range.start), range.len())
            } else {
                hash_word(&text[range])
            };
            self.spelled.prefetch(hash);
            *asked = AskedWord { hash, at, place: Place::NONE };
        }
        (batch.count, batch.asked_count) = (count, missed);
        count > 0
    }

    /// Appends the tokens of a batch.
    #[inline(always)]
    pub fn append<I: Instructions>(&mut self, text: &[u8], batch: &mut Batch, out: &mut Vec<i32>) {
        if batch.asked_count > 0 {
            self.find::<I>(text, batch);
        }
        let Self { many, stage, .. } = self;
        let mut staged = 0;
        for tokens in &batch.found[..batch.count] {
            if let Some(ids) = stage[staged % STAGE..].first_chunk_mut() {
                *ids = tokens.ids();
            }
            staged += tokens.count();
            if tokens.count() == 0 {
                let tokens = many.of(tokens.place());
                if staged + tokens.len() > STAGE - (SLOT_TOKENS + 1) * BATCH {
                    out.extend_from_slice(&stage[..staged]);
                    out.extend_from_slice(tokens);
                    staged = 0;
                    continue;
                }
                // A loop: most words have four or five.
                for &id in tokens {
                    stage[staged] = id;
                    staged += 1;
                }
            }
        }
        out.extend_from_slice(&stage[..staged]);
    }

    /// Finds the words that are not in the cache.
    #[inline(always)]
    fn find<I: Instructions>(&mut self, text: &[u8], batch: &mut Batch) {
        let Self { tables, cache, spelled, many, .. } = self;
        let Batch { words, found, asked, asked_count, .. } = batch;
        many.clear();
        for word in &mut asked[..*asked_count] {
            word.place = spelled.place::<I, T>(tables, word.hash);
        }
        let mut new = 0;
        for index in 0..*asked_count {
            let AskedWord { at, place, .. } = asked[index];
            let Range { start, end } = words.range(at);
            let length = end - start;
            let few = match spelled.few_at(tables, place, text, start, length) {
                Some(few) => few,
                None => {
                    let Some(tokens) = spelled.get_at(tables, place, text, start, length) else {
                        asked[new] = asked[index];
                        new += 1;
                        continue;
                    };
                    let Some(few) = tokens.few() else {
                        tokens.append_to(&mut many.tokens);
                        found[at] = many.end_word();
                        continue;
                    };
                    few
                }
            };
            found[at] = few;
            if length <= TOKEN_BYTES {
                let Word { key, hash, .. } = words.words()[at];
                cache.put(key, hash, few);
            }
        }
        if new > 0 {
            self.make(text, batch, new);
        }
    }

    /// Makes the tokens of `count` new words.
    #[inline(never)]
    fn make(&mut self, text: &[u8], batch: &mut Batch, count: usize) {
        let Self { tables, cache, spelled, merger, many, .. } = self;
        let Batch { words, found, asked, .. } = batch;
        let word = |AskedWord { at, .. }: AskedWord| &text[words.range(at)];
        for new in &asked[..count] {
            tables.prefetch_word(new.hash);
        }
        for new in &asked[..count] {
            tables.prefetch_token(new.hash);
        }
        let mut no_tokens = 0;
        for index in 0..count {
            let new = asked[index];
            let Word { key, hash, .. } = words.words()[new.at];
            let Some(id) = tables.word(word(new), key, new.hash) else {
                asked[no_tokens] = new;
                no_tokens += 1;
                continue;
            };
            // A word that is a token is common: it comes again.
            let slot = slot_of_ids([id, NO_TOKEN, NO_TOKEN], 1);
            found[new.at] = Tokens::new(slot);
            let is_short = words.range(new.at).len() <= TOKEN_BYTES;
            if !(is_short && cache.put_first(key, hash, Tokens::new(slot))) {
                spelled.put_few(tables, new.hash, slot);
            }
        }
        let mut keep = |AskedWord { hash, at, .. }: AskedWord, merged: MergedWord| {
            found[at] = match merged {
                MergedWord::Few(slot) => {
                    spelled.put_few(tables, hash, slot);
                    Tokens::new(slot)
                }
                MergedWord::Many(tokens) => {
                    spelled.put(tables, hash, tokens);
                    many.tokens.extend_from_slice(tokens);
                    many.end_word()
                }
            };
        };
        let made = |at: usize, merged: MergedWord| keep(asked[at], merged);
        merger.merge_words(tables, no_tokens, |at| word(asked[at]), made);
    }
}
