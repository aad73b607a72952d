//! Vocabularies that are not part of the program. Their tables are made when they are loaded, and are then used like
//! the tables of o200k.

use std::sync::Arc;

use super::embedded::O200kTables;
use super::encode::Inner;
use super::hash;
use super::lookup::WordRoom;
use super::make::{HashMap, VocabularyTables, make};
use super::pattern::{Cl100k, DeepSeek, O200k, Pattern, Qwen};
use super::tables::{Blocks, Buckets, Cuts, Neighbours, PairSlots, ShortIds, Tables, WordSlots};
use gristmill_simd::SimdLevel;

/// A byte-level vocabulary, shared by encoders: it takes 10 MB.
#[derive(Clone)]
pub struct Vocabulary(Arc<LoadedTables>);

struct LoadedTables {
    blob: Vec<u8>,
    offsets: Vec<u8>,
    blocks: Box<[u8; 16 << hash::ID_BITS]>,
    word_buckets: Box<Buckets>,
    word_slots: Box<WordSlots>,
    words_seed: u64,
    pair_buckets: Box<Buckets>,
    pair_slots: Box<PairSlots>,
    pairs_seed: u64,
    short: Box<ShortIds>,
    cuts: Box<Cuts>,
    neighbours: Box<Neighbours>,
    characters: Vec<u8>,
    character_sets: Vec<u8>,
    whole: Option<WholeWords>,
}

/// Tokens that no merge makes, and that only whole pre-tokens become.
struct WholeWords {
    words: HashMap<[u8; 2], Vec<Box<[u8]>>>,
    /// One bit for the first two bytes of each. (Without it, look-ups take 3 % of a later pass with Llama 3.)
    starts: Box<[u64; 1 << 10]>,
}

impl WholeWords {
    /// Words with the same first two bytes, which are looked at one after another.
    const MOST: usize = 1024;

    /// Makes the table; none if there are too many tokens, or short ones.
    fn new<'a>(words: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut whole = Self { words: HashMap::default(), starts: Box::new([0; 1 << 10]) };
        for word in words {
            let &first = word.first_chunk()?;
            let same: &mut Vec<Box<[u8]>> = whole.words.entry(first).or_default();
            if same.len() == Self::MOST {
                return None;
            }
            same.push(word.into());
            let start = usize::from(u16::from_le_bytes(first));
            whole.starts[start / 64] |= 1 << (start % 64);
        }
        Some(whole)
    }

    /// Returns the words that begin with the first two bytes of the text.
    #[inline(always)]
    fn like(&self, text: &[u8]) -> &[Box<[u8]>] {
        let Some(&first) = text.first_chunk() else { return &[] };
        let start = usize::from(u16::from_le_bytes(first));
        if self.starts[start / 64] >> (start % 64) & 1 == 0 {
            return &[];
        }
        self.words.get(&first).map_or(&[], |words| words)
    }

    /// Whether the text begins with one of the tokens.
    #[inline(always)]
    fn may_start(&self, text: &[u8]) -> bool {
        self.like(text).iter().any(|word| text.starts_with(word))
    }

    #[inline(always)]
    fn contains(&self, word: &[u8]) -> bool {
        self.like(word).iter().any(|known| **known == *word)
    }
}

/// The pattern by which text is cut before it is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternName {
    /// The pattern of gpt-4o and gpt-oss.
    O200k,
    /// The pattern of gpt-4 and Llama 3.
    Cl100k,
    /// The pattern of Qwen 2 and 3.
    Qwen,
    /// The pattern of DeepSeek V3.
    DeepSeek,
}

/// The number of seeds that are tried. They take at most a tenth of the time that a vocabulary may take to load.
const SEEDS: u64 = 8;

impl Vocabulary {
    /// `tokens` has the bytes of each id (none for ids that text is never encoded to), `pairs` the two tokens
    /// that are merged to it (none for single bytes). Merging takes the lowest id first; it must make each
    /// token that has a pair from the token's bytes. With `has_whole`, a whole pre-token with the bytes of one
    /// of the other tokens becomes that token.
    ///
    /// Returns `None` if the tables cannot hold the vocabulary: not every byte is a token, there are more than
    /// 262,143 ids, or nearly as many tokens.
    pub fn new(tokens: &[&[u8]], pairs: &[Option<(u32, u32)>], has_whole: bool) -> Option<Self> {
        let is_token = |id: u32| tokens.get(id as usize).is_some_and(|token| !token.is_empty());
        let is_sound = (0..).zip(pairs).all(|(id, pair)| match *pair {
            Some((left, right)) => id != 0 && is_token(id) && is_token(left) && is_token(right),
            None => true,
        });
        let mut bytes = [false; 256];
        for (token, pair) in tokens.iter().zip(pairs) {
            if let ([byte], None) = (token, pair) {
                bytes[usize::from(*byte)] = true;
            }
        }
        if !is_sound || tokens.len() != pairs.len() || bytes.contains(&false) {
            return None;
        }
        // These are characters of scripts in use, and emoji; others are merged byte by byte.
        let known = |point| point < 0x1_0000 || (0x1_f000..0x1_fc00).contains(&point);
        let mut loaded = LoadedTables::new(make(tokens, pairs, has_whole, SEEDS, known)?)?;
        if has_whole {
            let others =
                tokens.iter().zip(pairs).filter(|(token, pair)| pair.is_none() && token.len() > 1);
            let whole = WholeWords::new(others.map(|(token, _)| *token))?;
            loaded.whole = Some(whole).filter(|whole| !whole.words.is_empty());
        }
        Some(Self(Arc::new(loaded)))
    }

    /// Returns the bytes of an id.
    pub fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        self.bytes_of(id)
    }

    /// Makes an encoder. Each thread has its own.
    pub fn encoder(&self, pattern: PatternName) -> VocabularyEncoder {
        let tables = self.clone();
        VocabularyEncoder(match pattern {
            PatternName::O200k => Kind::O200k(inner(tables, O200k)),
            PatternName::Cl100k => Kind::Cl100k(inner(tables, Cl100k)),
            PatternName::Qwen => Kind::Qwen(inner(tables, Qwen)),
            PatternName::DeepSeek => Kind::DeepSeek(inner(tables, DeepSeek)),
        })
    }
}

fn inner<T: Tables, P: Pattern>(tables: T, pattern: P) -> Box<Inner<T, P>> {
    Box::new(Inner::new(SimdLevel::best(), tables, pattern, WordRoom::Mib46))
}

/// Encodes text with a [`Vocabulary`], or with the tables of o200k that are part of the program. It keeps
/// the words it has seen, at most 46 MiB, which makes it faster and never changes its output.
pub struct VocabularyEncoder(Kind);

enum Kind {
    Embedded(Box<Inner<O200kTables, O200k>>),
    O200k(Box<Inner<Vocabulary, O200k>>),
    Cl100k(Box<Inner<Vocabulary, Cl100k>>),
    Qwen(Box<Inner<Vocabulary, Qwen>>),
    DeepSeek(Box<Inner<Vocabulary, DeepSeek>>),
}

impl VocabularyEncoder {
    /// Makes an encoder of o200k.
    pub fn o200k() -> Self {
        Self(Kind::Embedded(inner(O200kTables, O200k)))
    }

    /// Appends the tokens of `text`, all of it as ordinary text.
    pub fn encode(&mut self, text: &str, out: &mut Vec<i32>) {
        match &mut self.0 {
            Kind::Embedded(inner) => inner.encode(text, out),
            Kind::O200k(inner) => inner.encode(text, out),
            Kind::Cl100k(inner) => inner.encode(text, out),
            Kind::Qwen(inner) => inner.encode(text, out),
            Kind::DeepSeek(inner) => inner.encode(text, out),
        }
    }
}

/// Returns the id of o200k that two of its tokens are merged to.
pub fn o200k_merge(left: u32, right: u32) -> Option<u32> {
    let is_rank = |id: u32| id < super::START_OF_TEXT as u32;
    let merged =
        if is_rank(left) && is_rank(right) { O200kTables.merge(left, right) } else { u32::MAX };
    Some(merged).filter(|&merged| merged != super::tables::NONE)
}

impl LoadedTables {
    fn new(made: VocabularyTables) -> Option<Self> {
        fn sized<const N: usize>(bytes: Vec<u8>) -> Option<Box<[u8; N]>> {
            bytes.into_boxed_slice().try_into().ok()
        }
        Some(Self {
            blob: made.blob,
            offsets: made.offsets,
            blocks: sized(made.blocks)?,
            word_buckets: sized(made.word_buckets)?,
            word_slots: sized(made.word_slots)?,
            words_seed: made.words_seed,
            pair_buckets: sized(made.pair_buckets)?,
            pair_slots: sized(made.pair_slots)?,
            pairs_seed: made.pairs_seed,
            short: sized(made.short)?,
            cuts: sized(made.cuts)?,
            neighbours: sized(made.neighbours)?,
            characters: made.characters,
            character_sets: made.character_sets,
            whole: None,
        })
    }
}

impl Tables for Vocabulary {
    #[inline(always)]
    fn blob(&self) -> &[u8] {
        &self.0.blob
    }

    #[inline(always)]
    fn offsets(&self) -> &[u8] {
        &self.0.offsets
    }

    #[inline(always)]
    fn word_buckets(&self) -> &Buckets {
        &self.0.word_buckets
    }

    #[inline(always)]
    fn word_slots(&self) -> &WordSlots {
        &self.0.word_slots
    }

    #[inline(always)]
    fn pair_buckets(&self) -> &Buckets {
        &self.0.pair_buckets
    }

    #[inline(always)]
    fn pair_slots(&self) -> &PairSlots {
        &self.0.pair_slots
    }

    #[inline(always)]
    fn short_ids(&self) -> &ShortIds {
        &self.0.short
    }

    #[inline(always)]
    fn cuts(&self) -> &Cuts {
        &self.0.cuts
    }

    #[inline(always)]
    fn neighbours(&self) -> &Neighbours {
        &self.0.neighbours
    }

    #[inline(always)]
    fn characters(&self) -> &[u8] {
        &self.0.characters
    }

    #[inline(always)]
    fn character_sets(&self) -> &[u8] {
        &self.0.character_sets
    }

    #[inline(always)]
    fn blocks(&self) -> &Blocks {
        match self.0.blocks.as_chunks::<16>().0.first_chunk() {
            Some(blocks) => blocks,
            None => &[[0; 16]; 1 << hash::ID_BITS],
        }
    }

    #[inline(always)]
    fn words_seed(&self) -> u64 {
        self.0.words_seed
    }

    #[inline(always)]
    fn pairs_seed(&self) -> u64 {
        self.0.pairs_seed
    }

    #[inline(always)]
    fn may_cut(&self, text: &[u8], start: usize, at: usize) -> bool {
        match &self.0.whole {
            None => true,
            Some(whole) => !whole.may_start(&text[at..]) && !whole.contains(&text[start..at]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::tests::Random;
    use crate::{Encoder, token_bytes};

    /// The tables of o200k, made again, give the same tokens as the tables in the program.
    #[test]
    fn a_vocabulary_made_again_gives_the_same_tokens() {
        let tokens: Vec<&[u8]> = (0..199_998).map(|id| token_bytes(id).unwrap()).collect();
        let ids: std::collections::HashMap<&[u8], u32> = tokens.iter().copied().zip(0..).collect();
        let pair = |token: &&[u8]| {
            (1..token.len()).find_map(|at| {
                let [left, right] = [ids.get(&token[..at])?, ids.get(&token[at..])?];
                let merged = o200k_merge(*left, *right);
                (merged == Some(ids[token])).then_some((*left, *right))
            })
        };
        let pairs: Vec<Option<(u32, u32)>> = tokens.iter().map(pair).collect();
        let vocabulary = Vocabulary::new(&tokens, &pairs, false).unwrap();
        let mut loaded = vocabulary.encoder(PatternName::O200k);
        let mut embedded = Encoder::new();
        let mut random = Random(3);
        for _ in 0..3000 {
            let mut bytes = Vec::new();
            for _ in 0..20 {
                bytes.extend_from_slice(tokens[random.below(tokens.len())]);
            }
            let text = String::from_utf8_lossy(&bytes);
            let (mut expected, mut out) = (Vec::new(), Vec::new());
            embedded.encode(&text, &mut expected);
            loaded.encode(&text, &mut out);
            assert_eq!(out, expected, "{text:?}");
        }
    }

    #[test]
    fn what_the_tables_cannot_hold_is_refused() {
        let bytes: Vec<[u8; 1]> = (0..=255).map(|byte| [byte]).collect();
        let mut tokens: Vec<&[u8]> = bytes.iter().map(|byte| &byte[..]).collect();
        let mut pairs = vec![None; 256];
        assert!(Vocabulary::new(&tokens, &pairs, false).is_some());
        assert!(Vocabulary::new(&tokens[1..], &pairs[1..], false).is_none());
        tokens.push(b"ab");
        assert!(Vocabulary::new(&tokens, &pairs, false).is_none());
        pairs.push(Some((97, 257)));
        assert!(Vocabulary::new(&tokens, &pairs, false).is_none());
        pairs[256] = Some((97, 98));
        let mut out = Vec::new();
        let vocabulary = Vocabulary::new(&tokens, &pairs, false).unwrap();
        vocabulary.encoder(PatternName::Qwen).encode("abba\u{1f9ff}", &mut out);
        assert_eq!(out, [256, 98, 97, 0xf0, 0x9f, 0xa7, 0xbf]);
        tokens.resize(1 << 18, b"");
        pairs.resize(1 << 18, None);
        assert!(Vocabulary::new(&tokens, &pairs, false).is_none());
    }
}
