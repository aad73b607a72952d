//! The merges of a file, by their order, as our engine has them: each token is made by one pair, and the
//! lowest id is merged first.
//!
//! Files that were made out of ranks of tiktoken have every pair of tokens that a token can be cut into. Of
//! these only one ever stands side by side in a text: the merges within the bytes of a token are the same
//! wherever the bytes stand, as long as nothing is merged across their ends. So the others can be left out.

use gristmill_tokenizer::o200k_merge;

use crate::file::Model;
use crate::map::Map;

/// Tokens and merges by their ids.
pub struct Merges {
    /// The two tokens that are merged to each id, if it is made at all.
    pub pairs: Vec<Option<(u32, u32)>>,
    /// Tokens of the vocabulary that no text is merged to.
    pub unreachable: usize,
}

/// The merges of the file as ids, with what each pair makes, in their order.
fn read(model: &Model) -> Result<Vec<(u32, u32, u32)>, String> {
    let mut ids: Map<&str, u32> = Map::default();
    ids.reserve(model.vocabulary.0.len());
    ids.extend(model.vocabulary.0.iter().map(|(token, id)| (&**token, *id)));
    let mut merges = Vec::with_capacity(model.merges.0.len());
    let mut joined = String::new();
    for [left, right] in &model.merges.0 {
        joined.clear();
        joined.extend([&**left, &**right]);
        match (ids.get(&**left), ids.get(&**right), ids.get(&*joined)) {
            (Some(&left), Some(&right), Some(&new)) => merges.push((left, right, new)),
            _ => return Err(format!("the merge ({left:?}, {right:?}) is not of the vocabulary")),
        }
    }
    if !merges.is_sorted_by_key(|&(_, _, new)| new) {
        return Err("merges are not in the order of ids".to_owned());
    }
    Ok(merges)
}

impl Merges {
    /// `tokens` has the bytes of each id. An error says what our engine does not know.
    pub fn new(model: &Model, tokens: &[&[u8]]) -> Result<Self, String> {
        let merges = read(model)?;
        let mut made: Map<(u32, u32), u32> = Map::default();
        made.reserve(merges.len());
        for &(left, right, new) in &merges {
            if made.insert((left, right), new).is_some() {
                return Err("a pair is merged twice".to_owned());
            }
        }
        let mut pairs: Vec<Option<(u32, u32)>> = vec![None; tokens.len()];
        for of_one in merges.chunk_by(|left, right| left.2 == right.2) {
            let new = of_one[0].2;
            let is_made =
                |part: u32| tokens[part as usize].len() == 1 || pairs[part as usize].is_some();
            let mut ones = of_one.iter().filter(|&&(left, right, _)| {
                let are_lower = left < new && right < new;
                are_lower
                    && is_made(left)
                    && is_made(right)
                    && stay_apart(left, right, new, &made, &pairs)
            });
            pairs[new as usize] = ones.next().map(|&(left, right, _)| (left, right));
            let is_later = |&(left, right, _): &(u32, u32, u32)| left >= new || right >= new;
            if pairs[new as usize].is_none() && of_one.iter().any(is_later) {
                return Err("a merge is of later tokens".to_owned());
            }
        }
        let is_unreachable =
            |(token, pair): &(&&[u8], &Option<_>)| token.len() > 1 && pair.is_none();
        let unreachable = tokens.iter().zip(&pairs).filter(is_unreachable).count();
        Ok(Self { pairs, unreachable })
    }
}

/// Whether the bytes of two tokens side by side are merged to these two before anything is merged that makes
/// `new` or a later token: whether no merge across their border comes before. The tokens at the border are
/// gone through backwards, from the last that was made.
fn stay_apart(
    mut left: u32,
    mut right: u32,
    new: u32,
    made: &Map<(u32, u32), u32>,
    pairs: &[Option<(u32, u32)>],
) -> bool {
    let mut limit = new;
    loop {
        if made.get(&(left, right)).is_some_and(|&across| across < limit) {
            return false;
        }
        // A merge to the left of another one with the same result comes first.
        match (pairs[left as usize], pairs[right as usize]) {
            (None, None) => return true,
            (Some((_, last)), None) => (limit, left) = (left, last),
            (None, Some((first, _))) => (limit, right) = (right + 1, first),
            (Some((_, last)), Some(_)) if left > right => (limit, left) = (left, last),
            (_, Some((first, _))) => (limit, right) = (right + 1, first),
        }
    }
}

/// Whether the merges are those of o200k, whose tables are part of the program: all of its pairs, and others
/// only that make the same tokens.
pub fn are_of_o200k(model: &Model) -> bool {
    const PAIRS: usize = 199_742;
    model.merges.0.len() >= PAIRS
        && read(model).is_ok_and(|merges| {
            let is_its =
                |&&(left, right, new): &&(u32, u32, u32)| o200k_merge(left, right) == Some(new);
            merges.iter().filter(is_its).count() == PAIRS
        })
}
