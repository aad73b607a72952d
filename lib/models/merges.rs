//! The merges of a file in the form that our engine needs: one pair for each token; the lowest id is merged first.
//!
//! Files made from ranks of tiktoken have, for each token, every pair of tokens into which it can be cut. Only one of
//! these pairs can ever stand side by side in a text, because the merges within a token's bytes are the same wherever
//! the bytes stand, as long as no merge crosses their ends. So the other pairs are left out.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use gristmill_simd as simd;
use gristmill_tokenizer::{HashMap as Map, both, o200k_merge};

use crate::file::Model;

/// For each id the two tokens that are merged to it; none if no merge makes it.
pub type Pairs = Vec<Option<(u32, u32)>>;

/// The place of each pair among the merges.
type MergePlaces = Map<u64, u32>;

/// Returns two ids as the key of a map. (Read as one number, two that were just written would have to leave the
/// processor's buffer first, behind what the map writes: opening Gemma 3 took a fifth longer.)
pub fn pair_key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// The ids of a vocabulary by the texts of its tokens. Texts stand side by side and are prefetched before each lookup.
/// (With a map of texts, lookups took half of all the time.)
struct Ids {
    texts: String,
    slots: Vec<Slot>,
    /// The start and end of each id's text.
    places: Vec<(u32, u32)>,
}

#[derive(Clone, Copy)]
struct Slot {
    /// Bits of the text's hash.
    tag: u32,
    /// The token's id, or [`EMPTY`].
    id: u32,
    start: u32,
    end: u32,
}

const EMPTY: u32 = u32::MAX;

impl Ids {
    /// Makes the table; `count` is larger than all ids.
    fn new(vocabulary: &[(Cow<str>, u32)], count: usize) -> Result<Self, String> {
        let none = Slot { tag: 0, id: EMPTY, start: 0, end: 0 };
        let mut ids = Self {
            texts: String::with_capacity(9 * vocabulary.len()),
            slots: vec![none; (2 * vocabulary.len()).next_power_of_two()],
            places: vec![(0, 0); count],
        };
        for tokens in vocabulary.chunks(ASKED) {
            let mut asked = [(0, 0); ASKED];
            for (asked, (text, _)) in asked.iter_mut().zip(tokens) {
                *asked = ids.place(text);
                simd::prefetch(&ids.slots[asked.0]);
            }
            for ((text, id), place) in tokens.iter().zip(asked) {
                ids.insert(text, *id, place)?;
            }
        }
        Ok(ids)
    }

    /// Inserts a token; the slot and tag are from [`Ids::place`].
    fn insert(&mut self, text: &str, id: u32, (mut at, tag): (usize, u32)) -> Result<(), String> {
        let start = self.texts.len() as u32;
        self.texts.push_str(text);
        let end = self.texts.len() as u32;
        if std::mem::replace(&mut self.places[id as usize], (start, end)) != (0, 0) {
            return Err("two tokens of one id".to_owned());
        }
        while self.slots[at].id != EMPTY {
            if self.slots[at].tag == tag && self.text(self.slots[at].id) == text {
                return Err(format!("token {text:?} has two ids"));
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = Slot { tag, id, start, end };
        Ok(())
    }

    /// Returns the first slot to look at for a text, and the tag of its hash.
    fn place(&self, text: &str) -> (usize, u32) {
        let mut hasher = FixedState::default().build_hasher();
        hasher.write(text.as_bytes());
        let hash = hasher.finish();
        (hash as usize & (self.slots.len() - 1), (hash >> 32) as u32)
    }

    fn text(&self, id: u32) -> &str {
        let place = self.places.get(id as usize);
        place.map_or("", |&(start, end)| &self.texts[start as usize..end as usize])
    }

    /// Returns the id of a text; the slot and tag are from [`Ids::place`].
    fn get(&self, text: &str, (mut at, tag): (usize, u32)) -> Option<u32> {
        loop {
            let slot = self.slots[at];
            if slot.id == EMPTY {
                return None;
            }
            if slot.tag == tag && self.texts[slot.start as usize..slot.end as usize] == *text {
                return Some(slot.id);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Returns the places of both texts of some pairs, and prefetches them.
    fn ask(&self, pairs: &[[Cow<str>; 2]]) -> [[(usize, u32); 2]; ASKED] {
        let mut places = [[(0, 0); 2]; ASKED];
        for (places, pair) in places.iter_mut().zip(pairs) {
            *places = [self.place(&pair[0]), self.place(&pair[1])];
            places.iter().for_each(|&(at, _)| simd::prefetch(&self.slots[at]));
        }
        for &(at, _) in places.as_flattened() {
            if let Some(byte) = self.texts.as_bytes().get(self.slots[at].start as usize) {
                simd::prefetch(byte);
            }
        }
        places
    }
}

/// The number of pairs that are prefetched at once.
const ASKED: usize = 16;

/// A merge as ids: left, right, and what they make.
pub type Merge = (u32, u32, u32);

/// Returns the merges of the file in order; `count` is larger than all ids.
pub fn read(model: &Model, count: usize) -> Result<Vec<Merge>, String> {
    let ids = &Ids::new(&model.vocabulary.0, count)?;
    let all = &model.merges.0[..];
    let (first, second) = all.split_at(all.len() / 2);
    let (first, second) = both(|| read_part(ids, first), || read_part(ids, second));
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

fn read_part(ids: &Ids, part: &[[Cow<str>; 2]]) -> Result<Vec<Merge>, String> {
    let mut merges = Vec::with_capacity(part.len());
    let mut last = 0;
    let asked = part.chunks(ASKED).flat_map(|pairs| pairs.iter().zip(ids.ask(pairs)));
    for ([left, right], [left_place, right_place]) in asked {
        let is_made = |id: &u32| {
            let text = ids.text(*id);
            text.len() == left.len() + right.len()
                && text.starts_with(&**left)
                && text.ends_with(&**right)
        };
        // Mostly this is the token of the merge before, or the next id.
        let new = [last, last + 1].into_iter().find(is_made);
        let new = new.or_else(|| {
            let joined = format!("{left}{right}");
            ids.get(&joined, ids.place(&joined))
        });
        let parts = [ids.get(left, left_place), ids.get(right, right_place)];
        let ([Some(left), Some(right)], Some(new)) = (parts, new) else {
            return Err(format!("the merge ({left:?}, {right:?}) is not of the vocabulary"));
        };
        merges.push((left, right, new));
        last = new;
    }
    Ok(merges)
}

/// Returns the pair of each id; `tokens` has the bytes of each id. An error says what our engine does not support.
pub fn pairs(merges: &[Merge], tokens: &[&[u8]]) -> Result<Pairs, String> {
    let mut made = MergePlaces::default();
    made.reserve(merges.len());
    for (&(left, right, _), place) in merges.iter().zip(0..) {
        if made.insert(pair_key(left, right), place).is_some() {
            return Err("a pair is merged twice".to_owned());
        }
    }
    let mut bytes = [u32::MAX; 256];
    for (token, id) in tokens.iter().zip(0..) {
        if let [byte] = token[..] {
            bytes[usize::from(byte)] = id;
        }
    }
    let mut steps = Steps { merges, made: &made, bytes, parts: Vec::new(), left: 1 << 26 };
    let mut pairs = vec![None; tokens.len()];
    // Whether a token is made of pairs of lower ids alone, as all but some of Llama 3 are.
    let mut is_usual: Vec<bool> = tokens.iter().map(|token| token.len() == 1).collect();
    for of_one in merges.chunk_by(|left, right| left.2 == right.2) {
        let new = of_one[0].2;
        let mut usual = of_one.iter().filter(|&&(left, right, _)| {
            let parts = [left, right];
            parts.iter().all(|&part| part < new && is_usual[part as usize])
                && stay_apart(parts, merges, &made, &pairs)
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
    merges: &'a [Merge],
    made: &'a MergePlaces,
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
        let Self { merges, made, bytes, parts, .. } = self;
        parts.clear();
        parts.extend(token.iter().map(|&byte| bytes[usize::from(byte)]));
        let mut last = None;
        loop {
            let next = parts
                .windows(2)
                .zip(0..)
                .filter_map(|(pair, at)| Some((*made.get(&pair_key(pair[0], pair[1]))?, at)));
            let Some((place, at)) = next.min() else { break };
            let (left, right, merged) = merges[place as usize];
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
    merges: &[Merge],
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
        let across = made.get(&pair_key(left, right)).map(|&place| merges[place as usize].2);
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
