//! Our own engine for the vocabularies of SentencePiece. Merging begins with characters; a space is written `▁`.
//! A character that is no token becomes its bytes (`<0x0A>`), which are never merged. Files that are not exactly
//! one of the cases here go to the reference.
//!
//! The reference merges a whole text at once. Here the text is cut between two characters if no merge has the
//! first character at the end of its left token and the second at the start of its right token. Only such a merge
//! could cross the cut. Merges are taken by their order, then from the left, so the merges on one side do not depend
//! on the other side. Therefore the words have the same tokens as the whole text.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use gristmill_tokenizer::HashMap as Map;
use serde_json::{Value, json};

use crate::decode::{HIGHEST_ID, byte_token};
use crate::fast::check;
use crate::file::TokenizerFile;
use crate::merges::{pair_key, read};
use crate::token_cache::{self, Token, TokenCache};

/// What the space is written as.
const MARK: char = '▁';

/// A vocabulary that our engine encodes with.
pub struct Characters(Arc<Tables>);

struct Tables {
    /// Whether a mark is put in front of each text between added tokens.
    has_mark: bool,
    /// The ids of characters, and of bytes.
    characters: Map<char, u32>,
    bytes: [u32; 256],
    /// For two tokens: the place of their merge among all merges, and the token that it makes.
    merges: Map<u64, Merge>,
    neighbours: Neighbours,
}

type Merge = (u32, u32);

/// The pairs of characters that a merge may join; a space is written `▁`.
struct Neighbours {
    /// For two characters of ASCII; never for other bytes.
    ascii: Box<[[bool; 256]; 256]>,
    /// For other pairs, a bit for the hash of each. With the 33,695 pairs of Gemma 3, one in 16 other pairs is taken
    /// for one of them, too; the text is then not cut there.
    others: Vec<u64>,
}

impl Neighbours {
    const BITS: u64 = 1 << 19;

    fn place(left: char, right: char) -> (usize, u64) {
        let pair = u64::from(u32::from(left)) << 21 | u64::from(u32::from(right));
        let bit = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 45;
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    fn new() -> Self {
        let (ascii, others) = ([[false; 256]; 256], vec![0; (Self::BITS / 64) as usize]);
        Self { ascii: ascii.into(), others }
    }

    /// Adds the two characters at the border of a merge.
    fn add(&mut self, left: char, right: char) {
        let (at, bit) = Self::place(left, right);
        self.others[at] |= bit;
        let [left, right] = [left, right].map(unmarked);
        if left.is_ascii() && right.is_ascii() {
            self.ascii[left as usize][right as usize] = true;
        }
    }

    /// The end of the characters of ASCII that go on with the one before `end`.
    #[inline(always)]
    fn run_end(&self, bytes: &[u8], end: usize) -> usize {
        let mut left = bytes[end - 1];
        for (&right, at) in bytes[end..].iter().zip(end..) {
            if !self.ascii[usize::from(left)][usize::from(right)] {
                return at;
            }
            left = right;
        }
        bytes.len()
    }

    fn are(&self, left: char, right: char) -> bool {
        let (at, bit) = Self::place(marked(left), marked(right));
        self.others[at] & bit != 0
    }
}

impl Characters {
    /// Makes the engine of a file. The error names the part of the file that is not known here.
    pub fn new(file: &TokenizerFile) -> Result<Self, String> {
        let has_mark = normalizer(&file.normalizer)?;
        let split = json!({
            "type": "Split", "pattern": {"String": " "},
            "behavior": "MergedWithPrevious", "invert": false,
        });
        // There are no spaces after the normalizer.
        if !file.pre_tokenizer.is_null() && file.pre_tokenizer != split {
            return Err("pre-tokenizer beside a normalizer of spaces".to_owned());
        }
        check(file)?;
        if let Some(token) = file.added_tokens.iter().find(|token| token.normalized) {
            return Err(format!("added token {:?} of normalized text", token.content));
        }
        let model = &file.model;
        if model.ignore_merges == Some(true) {
            return Err("merges that are ignored".to_owned());
        }
        let vocabulary = &model.vocabulary;
        let highest = vocabulary.iter().map(|(_, id)| *id).max().unwrap_or(0);
        if highest > HIGHEST_ID {
            return Err(format!("id {highest}"));
        }
        let mut characters = Map::default();
        let mut bytes = [None; 256];
        // The first and last character of each id.
        let mut ends = vec![None; highest as usize + 1];
        for (token, id) in vocabulary {
            let mut chars = token.chars();
            if let Some(first) = chars.next() {
                let last = chars.next_back();
                ends[*id as usize] = Some((first, last.unwrap_or(first)));
                if last.is_none() {
                    characters.insert(first, *id);
                }
            }
            if let Some(byte) = byte_of(token) {
                bytes[usize::from(byte)] = Some(*id);
            }
        }
        let bytes: Option<Vec<u32>> = bytes.into_iter().collect();
        let bytes = bytes.filter(|_| model.byte_fallback == Some(true));
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        let bytes: [u32; 256] = bytes.ok_or("bytes that are not all tokens")?;
        let mut is_byte = vec![false; ends.len()];
        bytes.iter().for_each(|&id| is_byte[id as usize] = true);
        let read = read(model, ends.len())?;
        let mut merges = Map::default();
        merges.reserve(read.len());
        let mut neighbours = Neighbours::new();
        for ((left, right, new), place) in read.into_iter().zip(0..) {
            if [left, right, new].iter().any(|&id| is_byte[id as usize]) {
                return Err("a merge of bytes".to_owned());
            }
            if merges.insert(pair_key(left, right), (place, new)).is_some() {
                return Err("a pair is merged twice".to_owned());
            }
            if let (Some((_, left)), Some((right, _))) = (ends[left as usize], ends[right as usize])
            {
                neighbours.add(left, right);
            }
        }
        Ok(Self(Arc::new(Tables { has_mark, characters, bytes, merges, neighbours })))
    }

    pub fn encoder(&self) -> CharacterEncoder {
        CharacterEncoder {
            tables: self.0.clone(),
            words: TokenCache::new(token_cache::WORDS),
            first: String::new(),
            merger: Merger::default(),
        }
    }
}

/// The byte that a token stands for where text is encoded: `<0x0A>`, and not `<0x0a>`.
fn byte_of(token: &str) -> Option<u8> {
    byte_token(token).filter(|byte| *token == format!("<0x{byte:02X}>"))
}

/// Whether the normalizer puts a mark in front of a text and makes spaces marks. All other normalizers are an error.
fn normalizer(normalizer: &Value) -> Result<bool, String> {
    let prepend = json!({"type": "Prepend", "prepend": MARK});
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": MARK});
    let steps = match normalizer["normalizers"].as_array() {
        Some(steps) if normalizer["type"] == "Sequence" => steps,
        _ => std::slice::from_ref(normalizer),
    };
    match steps {
        [one] if *one == replace => Ok(false),
        [first, last] if *first == prepend && *last == replace => Ok(true),
        _ => Err("another normalizer than that of SentencePiece".to_owned()),
    }
}

/// Encodes text between added tokens. It keeps the words it has seen, which makes it faster and never changes
/// its output.
pub struct CharacterEncoder {
    tables: Arc<Tables>,
    words: TokenCache,
    /// The first word, with a mark in front of it.
    first: String,
    merger: Merger,
}

impl CharacterEncoder {
    /// Appends the ids of a text, and their ends in the whole text, in which this text begins at `base`.
    pub fn encode(
        &mut self,
        text: &str,
        base: usize,
        ids: &mut Vec<i32>,
        mut ends: Option<&mut Vec<usize>>,
    ) {
        let mut start = 0;
        if let Some(character) = text.chars().next().filter(|_| self.tables.has_mark) {
            start = self.word_end(text, 0);
            let mut first = std::mem::take(&mut self.first);
            first.clear();
            first.push(MARK);
            first.push_str(&text[..start]);
            // The mark belongs to the first character.
            let least = character.len_utf8();
            let end_of = |end: usize| base + end.saturating_sub(MARK.len_utf8()).max(least);
            self.put(&first, ids, ends.as_deref_mut(), end_of);
            self.first = first;
        }
        while start < text.len() {
            let end = self.word_end(text, start);
            let end_of = |end: usize| base + start + end;
            self.put(&text[start..end], ids, ends.as_deref_mut(), end_of);
            start = end;
        }
    }

    /// Whether what stands before a place between two characters of ASCII, and behind it, may be encoded by itself.
    pub fn may_cut(&self, left: u8, right: u8) -> bool {
        let Tables { has_mark, neighbours, .. } = &*self.tables;
        !has_mark && !neighbours.ascii[usize::from(left)][usize::from(right)]
    }

    /// The end of the word that begins at `start`, which is not the end of the text.
    #[inline(always)]
    fn word_end(&self, text: &str, start: usize) -> usize {
        let neighbours = &self.tables.neighbours;
        let bytes = text.as_bytes();
        let mut end = start + text[start..].chars().next().map_or(1, char::len_utf8);
        loop {
            end = neighbours.run_end(bytes, end);
            if end == bytes.len() || (bytes[end - 1] | bytes[end]).is_ascii() {
                return end;
            }
            let (before, after) = text.split_at(end);
            let left = before.chars().next_back().unwrap_or(MARK);
            let right = after.chars().next().unwrap_or(MARK);
            if !neighbours.are(left, right) {
                return end;
            }
            end += right.len_utf8();
        }
    }

    fn put(
        &mut self,
        word: &str,
        ids: &mut Vec<i32>,
        ends: Option<&mut Vec<usize>>,
        end_of: impl Fn(usize) -> usize,
    ) {
        let Self { tables, words, merger, .. } = self;
        let append = |tokens: &[Token]| {
            ids.extend(tokens.iter().map(|&(id, _)| id));
            if let Some(ends) = ends {
                ends.extend(tokens.iter().map(|&(_, end)| end_of(end as usize)));
            }
        };
        match words.get(word.as_bytes()) {
            Ok(tokens) => append(tokens),
            Err(missing) => {
                let tokens = merger.merge(tables, word);
                append(tokens);
                if let Some(missing) = missing.filter(|missing| words.comes_again(missing)) {
                    words.keep(missing, word.as_bytes(), tokens.iter().copied());
                }
            }
        }
    }
}

fn marked(character: char) -> char {
    if character == ' ' { MARK } else { character }
}

fn unmarked(character: char) -> char {
    if character == MARK { ' ' } else { character }
}

/// Scratch memory for a word that is merged.
#[derive(Default)]
struct Merger {
    nodes: Vec<Node>,
    heap: BinaryHeap<Reverse<(u32, u32)>>,
    tokens: Vec<Token>,
}

struct Node {
    id: u32,
    /// Where its last character ends in the word.
    end: u32,
    previous: u32,
    next: u32,
    /// The merge of this token with the next one, or [`NONE`].
    merge: Merge,
    /// Whether it is part of the token in front of it.
    is_gone: bool,
}

const NONE: Merge = (u32::MAX, 0);
const END: u32 = u32::MAX;

impl Merger {
    fn merge(&mut self, tables: &Tables, word: &str) -> &[Token] {
        let Self { nodes, heap, tokens } = self;
        nodes.clear();
        for (at, character) in word.char_indices() {
            let end = (at + character.len_utf8()) as u32;
            let character = marked(character);
            let mut push = |id| {
                let place = nodes.len() as u32;
                let (previous, next) = (place.wrapping_sub(1), place + 1);
                nodes.push(Node { id, end, previous, next, merge: NONE, is_gone: false });
            };
            match tables.characters.get(&character) {
                Some(&id) => push(id),
                None => {
                    let mut buffer = [0; 4];
                    let bytes = character.encode_utf8(&mut buffer).bytes();
                    bytes.for_each(|byte| push(tables.bytes[usize::from(byte)]));
                }
            }
        }
        if let Some(last) = nodes.last_mut() {
            last.next = END;
        }
        let find = |nodes: &mut [Node], heap: &mut BinaryHeap<_>, at: u32| {
            let node = &nodes[at as usize];
            let merge = match nodes.get(node.next as usize) {
                Some(next) => {
                    tables.merges.get(&pair_key(node.id, next.id)).copied().unwrap_or(NONE)
                }
                None => NONE,
            };
            nodes[at as usize].merge = merge;
            if merge != NONE {
                heap.push(Reverse((merge.0, at)));
            }
        };
        for at in 0..nodes.len() as u32 {
            find(nodes, heap, at);
        }
        while let Some(Reverse((place, at))) = heap.pop() {
            let Node { merge, next, previous, is_gone, .. } = nodes[at as usize];
            // One of the two tokens has been merged since.
            if merge.0 != place || is_gone {
                continue;
            }
            nodes[next as usize].is_gone = true;
            let Node { end, next, .. } = nodes[next as usize];
            let node = &mut nodes[at as usize];
            (node.id, node.end, node.next) = (merge.1, end, next);
            if let Some(next) = nodes.get_mut(next as usize) {
                next.previous = at;
            }
            find(nodes, heap, at);
            if previous != END {
                find(nodes, heap, previous);
            }
        }
        tokens.clear();
        let whole = nodes.iter().filter(|node| !node.is_gone);
        tokens.extend(whole.map(|node| (node.id as i32, node.end)));
        tokens
    }
}
