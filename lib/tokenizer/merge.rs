//! Byte-pair merging of one pre-token: the pair with the lowest id first, the leftmost of
//! equals. Short words are merged in small arrays; longer ones use a linked list and a heap, so that
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
            merge_short(word, out);
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

/// A merge and its place as one number, so that the lowest is the next to be done.
#[inline(always)]
fn candidate(merged: u32, place: usize) -> u32 {
    merged << 6 | place as u32 | 0u32.wrapping_sub(u32::from(merged == NONE))
}

/// Appends the tokens of 1 to [`SHORT`] bytes. A token stands at the place of its first byte.
fn merge_short(word: &[u8], out: &mut Vec<i32>) {
    let mut ids = [0; SHORT];
    // What a token and the next one merge to.
    let mut candidates = [NONE; SHORT];
    // Bit n is set while a token stands at place n.
    let mut places = u64::MAX >> (64 - word.len());
    for (id, &byte) in ids.iter_mut().zip(word) {
        *id = byte_id(byte);
    }
    for (place, pair) in word.windows(2).enumerate() {
        candidates[place] = candidate(merge_bytes(pair[0], pair[1]), place);
    }
    let room = word.len().next_multiple_of(16);
    loop {
        let mut best = NONE;
        for sixteen in candidates[..room].as_chunks::<16>().0 {
            best = sixteen.iter().fold(best, |best, &next| best.min(next));
        }
        if best == NONE {
            break;
        }
        let (id, place) = (best >> 6, (best & 63) as usize);
        let behind = places & u64::MAX << place << 1;
        let eaten = behind.trailing_zeros() as usize;
        places &= !(1 << eaten);
        candidates[eaten] = NONE;
        ids[place] = id;
        let behind = behind & (behind - 1);
        let before = places & ((1 << place) - 1);
        let mut after = NONE;
        if behind != 0 {
            after = merge(id, ids[behind.trailing_zeros() as usize]);
        }
        if before != 0 {
            let previous = 63 - before.leading_zeros() as usize;
            candidates[previous] = candidate(merge(ids[previous], id), previous);
        }
        candidates[place] = candidate(after, place);
    }
    while places != 0 {
        out.push(ids[places.trailing_zeros() as usize] as i32);
        places &= places - 1;
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
        let mut out = Vec::new();
        merge_short(word, &mut out);
        out
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
