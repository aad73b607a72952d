//! Byte-pair merging of one pre-token: the pair with the lowest id first, the leftmost of
//! equals. Short words shift a small array; longer ones use a linked list and a heap, so that
//! a run of any length costs n log n.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::tables::{NONE, byte_id, merge, merge_bytes};

/// Words of up to this many bytes are merged in arrays.
const SHORT: usize = 48;

/// Scratch room, reused from word to word.
#[derive(Default)]
pub struct Merger {
    nodes: Vec<Node>,
    heap: BinaryHeap<Reverse<(u32, usize)>>,
}

#[derive(Clone, Copy)]
struct Node {
    previous: usize,
    next: usize,
    /// The token here, or [`NONE`] when it went into the one before it.
    id: u32,
    /// What this token and the next merge to, or [`NONE`].
    merged: u32,
}

const END: usize = usize::MAX;

impl Merger {
    /// Appends the tokens of `word`, which is not empty.
    pub fn merge(&mut self, word: &[u8], out: &mut Vec<i32>) {
        if word.len() <= SHORT {
            let mut ids = [0; SHORT];
            let count = merge_short(word, &mut ids);
            out.extend(ids[..count].iter().map(|&id| id as i32));
        } else {
            self.merge_long(word, out);
        }
    }

    fn merge_long(&mut self, word: &[u8], out: &mut Vec<i32>) {
        let Self { nodes, heap } = self;
        nodes.clear();
        heap.clear();
        nodes.reserve(word.len());
        for (at, &byte) in word.iter().enumerate() {
            let merged = word.get(at + 1).map_or(NONE, |&next| merge_bytes(byte, next));
            let next = if at + 1 < word.len() { at + 1 } else { END };
            nodes.push(Node { previous: at.wrapping_sub(1), next, id: byte_id(byte), merged });
            if merged != NONE {
                heap.push(Reverse((merged, at)));
            }
        }
        while let Some(Reverse((merged, at))) = heap.pop() {
            // An entry is stale when either of its two tokens has gone into another since.
            if nodes[at].merged != merged {
                continue;
            }
            let Node { previous, next: eaten, .. } = nodes[at];
            let next = nodes[eaten].next;
            nodes[eaten].id = NONE;
            nodes[eaten].merged = NONE;
            nodes[at] = Node { previous, next, id: merged, merged: NONE };
            if next != END {
                nodes[next].previous = at;
                let after = merge(merged, nodes[next].id);
                nodes[at].merged = after;
                if after != NONE {
                    heap.push(Reverse((after, at)));
                }
            }
            if previous != END {
                let before = merge(nodes[previous].id, merged);
                nodes[previous].merged = before;
                if before != NONE {
                    heap.push(Reverse((before, previous)));
                }
            }
        }
        out.extend(nodes.iter().filter(|node| node.id != NONE).map(|node| node.id as i32));
        // One huge run must not keep its room for ever.
        if nodes.capacity() > 1 << 16 {
            *self = Self::default();
        }
    }
}

/// Merges up to [`SHORT`] bytes into `ids`; returns how many tokens there are.
fn merge_short(word: &[u8], ids: &mut [u32; SHORT]) -> usize {
    let mut count = word.len().min(SHORT);
    // What the token at a place and the next one merge to.
    let mut merged = [NONE; SHORT];
    for (at, &byte) in word[..count].iter().enumerate() {
        ids[at] = byte_id(byte);
    }
    for at in 1..count {
        merged[at - 1] = merge_bytes(word[at - 1], word[at]);
    }
    loop {
        let mut best = NONE;
        let mut at = 0;
        for (place, &id) in merged[..count - 1].iter().enumerate() {
            if id < best {
                best = id;
                at = place;
            }
        }
        if best == NONE {
            return count;
        }
        ids[at] = best;
        ids.copy_within(at + 2..count, at + 1);
        merged.copy_within(at + 1..count, at);
        count -= 1;
        merged[count - 1] = NONE;
        merged[at] = if at + 1 < count { merge(best, ids[at + 1]) } else { NONE };
        if at > 0 {
            merged[at - 1] = merge(ids[at - 1], best);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(word: &[u8]) -> Vec<i32> {
        let mut out = Vec::new();
        Merger::default().merge_long(word, &mut out);
        out
    }

    fn short(word: &[u8]) -> Vec<i32> {
        let mut ids = [0; SHORT];
        let count = merge_short(word, &mut ids);
        ids[..count].iter().map(|&id| id as i32).collect()
    }

    #[test]
    fn both_ways_of_merging_agree() {
        let mut state = 1u64;
        for round in 0..20_000 {
            let length = 1 + round % SHORT;
            let alphabet: &[u8] = [&b"ab"[..], b"etaoin", b"=-*", b"0123456789abcdef"][round % 4];
            let word: Vec<u8> = (0..length)
                .map(|_| {
                    state =
                        state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    alphabet[(state >> 33) as usize % alphabet.len()]
                })
                .collect();
            assert_eq!(short(&word), long(&word), "{:?}", String::from_utf8_lossy(&word));
        }
    }

    #[test]
    fn a_single_byte_is_its_own_token() {
        assert_eq!(short(b"!"), [0]);
        assert_eq!(long(b"!"), [0]);
    }
}
