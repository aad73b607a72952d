//! The merges of a file in the form that our engine needs: one pair for each token; the lowest id is merged first.
//!
//! Files made from ranks of tiktoken have, for each token, every pair of tokens into which it can be cut. Only one of
//! these pairs can ever stand side by side in a text, because the merges within a token's bytes are the same wherever
//! the bytes stand, as long as no merge crosses their ends. So the other pairs are left out.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use foldhash::fast::FixedState;
use gristmill_tokenizer::{both, o200k_merge};
use hashbrown::HashTable;

use crate::file::{Merges, Model};

/// For each id the two tokens that are merged to it; none if no merge makes it.
pub type Pairs = Vec<Option<(u32, u32)>>;

/// Returns two ids as the key of a map. (Read as one number, two that were just written would have to leave the
/// processor's buffer first, behind what the map writes: opening Gemma 3 took a fifth longer.)
pub fn pair_key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// The ids of a vocabulary by the texts of its tokens, which stand side by side. (In a map of texts, look-ups took half
/// of all the time to open a model.)
struct Ids {
    texts: String,
    /// The start and end of each id's text.
    places: Vec<(u32, u32)>,
    table: HashTable<u32>,
    hasher: FixedState,
}

impl Ids {
    /// Makes the table; `count` is larger than all ids.
    fn new(vocabulary: &[(Cow<str>, u32)], count: usize) -> Result<Self, String> {
        let mut ids = Self {
            texts: String::with_capacity(9 * vocabulary.len()),
            places: vec![(0, 0); count],
            table: HashTable::with_capacity(vocabulary.len()),
            hasher: FixedState::default(),
        };
        for (text, id) in vocabulary {
            if ids.get(text).is_some() {
                return Err(format!("token {text:?} has two ids"));
            }
            let start = ids.texts.len() as u32;
            ids.texts.push_str(text);
            let end = ids.texts.len() as u32;
            if std::mem::replace(&mut ids.places[*id as usize], (start, end)) != (0, 0) {
                return Err("two tokens of one id".to_owned());
            }
            let Self { texts, places, table, hasher } = &mut ids;
            let hash_of = |id: &u32| hash(hasher, text_at(texts, places[*id as usize]));
            table.insert_unique(hash(hasher, text), *id, hash_of);
        }
        Ok(ids)
    }

    fn text(&self, id: u32) -> &str {
        self.places.get(id as usize).map_or("", |&place| text_at(&self.texts, place))
    }

    fn get(&self, text: &str) -> Option<u32> {
        let is_it = |id: &u32| self.text(*id) == text;
        self.table.find(hash(&self.hasher, text), is_it).copied()
    }
}

fn hash(hasher: &FixedState, text: &str) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write(text.as_bytes());
    hasher.finish()
}

fn text_at(texts: &str, (start, end): (u32, u32)) -> &str {
    &texts[start as usize..end as usize]
}

/// A merge as ids: left, right, and what they make.
pub type Merge = (u32, u32, u32);

/// Returns the merges of the file in order; `count` is larger than all ids.
pub fn read(model: &Model, count: usize) -> Result<Vec<Merge>, String> {
    let ids = &Ids::new(&model.vocabulary, count)?;
    let all = &model.merges;
    let half = all.len() / 2;
    let (first, second) =
        both(|| read_part(ids, all, 0..half), || read_part(ids, all, half..all.len()));
    let mut merges = first?;
    merges.extend(second?);
    Ok(merges)
}

/// Returns the merges of the file in order; fails if the tokens that they make are not in the order of ids.
pub fn read_in_order(model: &Model, count: usize) -> Result<Vec<Merge>, String> {
    let merges = read(model, count)?;
    if !merges.is_sorted_by_key(|&(_, _, new)| new) {
        return Err("merges are not in the order of ids".to_owned());
    }
    Ok(merges)
}

fn read_part(ids: &Ids, all: &Merges, part: Range<usize>) -> Result<Vec<Merge>, String> {
    let mut merges = Vec::with_capacity(part.len());
    let mut last = 0;
    for [left, right] in part.map(|number| all.get(number)) {
        let is_made = |id: &u32| {
            let text = ids.text(*id);
            text.len() == left.len() + right.len()
                && text.starts_with(left)
                && text.ends_with(right)
        };
        // Mostly this is the token of the merge before, or the next id.
        let new = [last, last + 1].into_iter().find(is_made);
        let new = new.or_else(|| ids.get(&format!("{left}{right}")));
        let (Some(left), Some(right), Some(new)) = (ids.get(left), ids.get(right), new) else {
            return Err(format!("the merge ({left:?}, {right:?}) is not of the vocabulary"));
        };
        merges.push((left, right, new));
        last = new;
    }
    Ok(merges)
}

/// The place of each pair among the merges.
struct MergePlaces<'a> {
    merges: &'a [Merge],
    table: HashTable<u32>,
    hasher: FixedState,
}

impl<'a> MergePlaces<'a> {
    fn new(merges: &'a [Merge]) -> Result<Self, String> {
        let table = HashTable::with_capacity(merges.len());
        let mut places = Self { merges, table, hasher: FixedState::default() };
        for (&(left, right, _), place) in merges.iter().zip(0..) {
            if places.get(left, right).is_some() {
                return Err("a pair is merged twice".to_owned());
            }
            let Self { table, hasher, .. } = &mut places;
            let hash_of = |&place: &u32| {
                let (left, right, _) = merges[place as usize];
                hasher.hash_one(pair_key(left, right))
            };
            table.insert_unique(hasher.hash_one(pair_key(left, right)), place, hash_of);
        }
        Ok(places)
    }

    fn get(&self, left: u32, right: u32) -> Option<u32> {
        let is_it = |&place: &u32| {
            let (of_left, of_right, _) = self.merges[place as usize];
            (of_left, of_right) == (left, right)
        };
        self.table.find(self.hasher.hash_one(pair_key(left, right)), is_it).copied()
    }
}

/// Returns the pair of each id; `tokens` has the bytes of each id. An error says what our engine does not support.
pub fn pairs(merges: &[Merge], tokens: &[&[u8]]) -> Result<Pairs, String> {
    let made = MergePlaces::new(merges)?;
    let mut bytes = [u32::MAX; 256];
    for (token, id) in tokens.iter().zip(0..) {
        if let [byte] = token[..] {
            bytes[usize::from(byte)] = id;
        }
    }
    let mut steps = Steps { made: &made, bytes, parts: Vec::new(), left: 1 << 26 };
    let mut pairs = vec![None; tokens.len()];
    // Whether a token is made of pairs of lower ids alone, as all but some of Llama 3 are.
    let mut is_usual: Vec<bool> = tokens.iter().map(|token| token.len() == 1).collect();
    for of_one in merges.chunk_by(|left, right| left.2 == right.2) {
        let new = of_one[0].2;
        let mut usual = of_one.iter().filter(|&&(left, right, _)| {
            let parts = [left, right];
            parts.iter().all(|&part| part < new && is_usual[part as usize])
                && stay_apart(parts, &made, &pairs)
        });
        let pair = usual.next().map(|&(left, right, _)| (left, right));
        is_usual[new as usize] = pair.is_some();
        pairs[new as usize] = match pair {
            Some(pair) => Some(pair),
            None => steps.last_pair(tokens[new as usize], new)?,
        };
    }
    Ok(pairs)
}

/// Merges the bytes of a token step by step, for tokens that are not made only from pairs of lower ids.
struct Steps<'a> {
    made: &'a MergePlaces<'a>,
    bytes: [u32; 256],
    parts: Vec<u32>,
    /// The number of pairs that may still be looked at.
    left: usize,
}

impl Steps<'_> {
    /// Merges the bytes of a token; returns the pair of the last merge, or none if that does not make the token.
    fn last_pair(&mut self, token: &[u8], new: u32) -> Result<Option<(u32, u32)>, String> {
        // The time grows with the square of the bytes. Llama 3 needs a hundredth of the limit.
        let left = self.left.checked_sub(token.len() * token.len());
        self.left = left.ok_or("long tokens that are not made in the usual way")?;
        let Self { made, bytes, parts, .. } = self;
        parts.clear();
        parts.extend(token.iter().map(|&byte| bytes[usize::from(byte)]));
        let mut last = None;
        loop {
            let next = parts
                .windows(2)
                .zip(0..)
                .filter_map(|(pair, at)| Some((made.get(pair[0], pair[1])?, at)));
            let Some((place, at)) = next.min() else { break };
            let (left, right, merged) = made.merges[place as usize];
            last = Some((left, right));
            parts[at] = merged;
            parts.remove(at + 1);
        }
        Ok(last.filter(|_| parts[..] == [new]))
    }
}

/// Whether the bytes of two tokens stay apart until the two are merged, that is whether no merge across their border
/// comes first. Goes back through the tokens at the border, from the last one made.
fn stay_apart(
    [mut left, mut right]: [u32; 2],
    made: &MergePlaces,
    pairs: &[Option<(u32, u32)>],
) -> bool {
    loop {
        // If two merges have the same result, the left one comes first.
        let limit;
        match (pairs[left as usize], pairs[right as usize]) {
            (None, None) => return true,
            (Some((_, last)), None) => (limit, left) = (left, last),
            (None, Some((first, _))) => (limit, right) = (right + 1, first),
            (Some((_, last)), Some(_)) if left > right => (limit, left) = (left, last),
            (_, Some((first, _))) => (limit, right) = (right + 1, first),
        }
        let across = made.get(left, right).map(|place| made.merges[place as usize].2);
        if across.is_some_and(|across| across < limit) {
            return false;
        }
    }
}

/// Whether the merges have all pairs of o200k, whose tables are part of the program. (Other pairs then make the same
/// tokens.)
pub fn are_of_o200k(merges: &[Merge]) -> bool {
    const PAIRS: usize = 199_742;
    let is_its = |&&(left, right, new): &&Merge| o200k_merge(left, right) == Some(new);
    merges.iter().filter(is_its).count() == PAIRS
}
