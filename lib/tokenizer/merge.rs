//! Byte-pair merging of one pre-token: the pair with the lowest id first, the leftmost of
//! equals. Short words are merged in small arrays, longer ones with a linked list and a heap,
//! and those that are longer still window by window, so that the time for each byte does not
//! grow with the word.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::simd::{Level, Processor, Task};
use super::tables::{NONE, byte_id, bytes_of, merge, merge_bytes, merged_character};

/// Words that begin as up to this many tokens are merged in arrays.
const SHORT: usize = 48;
/// Bytes of a window, and tokens at its end that the next one makes anew.
const WINDOW: usize = 1 << 12;
const REDONE: usize = 8;

/// Scratch room, reused from word to word.
pub struct Merger {
    level: Level,
    nodes: Vec<Node>,
    heap: BinaryHeap<Reverse<(u32, u32)>>,
    made: Vec<i32>,
}

#[derive(Clone, Copy)]
struct Node {
    previous: u32,
    next: u32,
    /// The token here, or [`NONE`] when it went into the one before it.
    id: u32,
    /// What this token and the next merge to, or [`NONE`].
    merged: u32,
}

const END: u32 = u32::MAX;

impl Merger {
    pub fn new(level: Level) -> Self {
        Self { level, nodes: Vec::new(), heap: BinaryHeap::new(), made: Vec::new() }
    }

    /// Appends the tokens of `word`, which is not empty.
    pub fn merge(&mut self, word: &[u8], out: &mut Vec<i32>) {
        if !self.level.run(MergeShort { word, out }) {
            self.merge_long(word, out);
        }
    }

    /// Tokens are those of their bytes exactly if each two neighbours are those of theirs (a
    /// merge across a border would start with the two tokens at it). So the word is put
    /// together from windows, and where two do not fit, the second begins earlier.
    fn merge_long(&mut self, word: &[u8], out: &mut Vec<i32>) {
        let base = out.len();
        let mut made = std::mem::take(&mut self.made);
        let (mut start, mut end) = (0, 0);
        while end < word.len() {
            end = word.len().min(start + WINDOW);
            loop {
                made.clear();
                self.merge_window(&word[start..end], &mut made);
                match (out[base..].last(), made.first()) {
                    (Some(&left), Some(&right)) if !self.are_neighbours(left, right) => {
                        out.pop();
                        start -= token_bytes(left).len();
                    }
                    _ => break,
                }
            }
            if end < word.len() {
                made.truncate(made.len().saturating_sub(REDONE).max(1));
            }
            start += made.iter().map(|&id| token_bytes(id).len()).sum::<usize>();
            out.extend_from_slice(&made);
        }
        self.made = made;
    }

    fn are_neighbours(&mut self, left: i32, right: i32) -> bool {
        let mut made = Vec::new();
        self.merge_window(&[token_bytes(left), token_bytes(right)].concat(), &mut made);
        made == [left, right]
    }

    fn merge_window(&mut self, word: &[u8], out: &mut Vec<i32>) {
        let Self { nodes, heap, .. } = self;
        nodes.clear();
        heap.clear();
        let mut at = 0;
        while at < word.len() {
            let (id, length) = first_token(word, at);
            let place = nodes.len() as u32;
            nodes.push(Node { previous: place.wrapping_sub(1), next: place + 1, id, merged: NONE });
            at += length;
        }
        if let Some(last) = nodes.last_mut() {
            last.next = END;
        }
        for place in 1..nodes.len() {
            let merged = merge(nodes[place - 1].id, nodes[place].id);
            nodes[place - 1].merged = merged;
            if merged != NONE {
                heap.push(Reverse((merged, place as u32 - 1)));
            }
        }
        while let Some(Reverse((merged, place))) = heap.pop() {
            let at = place as usize;
            // An entry is stale when either of its two tokens has gone into another since.
            if nodes[at].merged != merged {
                continue;
            }
            let Node { previous, next: eaten, .. } = nodes[at];
            let next = nodes[eaten as usize].next;
            nodes[eaten as usize].id = NONE;
            nodes[eaten as usize].merged = NONE;
            nodes[at] = Node { previous, next, id: merged, merged: NONE };
            if next != END {
                nodes[next as usize].previous = place;
                let after = merge(merged, nodes[next as usize].id);
                nodes[at].merged = after;
                if after != NONE {
                    heap.push(Reverse((after, place)));
                }
            }
            if previous != END {
                let before = merge(nodes[previous as usize].id, merged);
                nodes[previous as usize].merged = before;
                if before != NONE {
                    heap.push(Reverse((before, previous)));
                }
            }
        }
        out.extend(nodes.iter().filter(|node| node.id != NONE).map(|node| node.id as i32));
    }
}

fn token_bytes(id: i32) -> &'static [u8] {
    bytes_of(id as u32).unwrap_or_default()
}

/// The token that merging begins with at this place, and its length: a whole character where
/// nothing else can become of it, else one byte.
#[inline(always)]
fn first_token(word: &[u8], at: usize) -> (u32, usize) {
    merged_character(word, at).unwrap_or((byte_id(word[at]), 1))
}

struct MergeShort<'a> {
    word: &'a [u8],
    out: &'a mut Vec<i32>,
}

impl Task for MergeShort<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<P: Processor>(self) -> bool {
        merge_short(self.word, self.out)
    }
}

/// A merge and its place as one number, so that the lowest is the next to be done.
#[inline(always)]
fn candidate(merged: u32, place: usize) -> u32 {
    merged << 6 | place as u32 | 0u32.wrapping_sub(u32::from(merged == NONE))
}

/// Appends the tokens of a word that begins as at most [`SHORT`] tokens; false if it is longer.
/// A token stands at the place of the first that it is made of.
#[inline(always)]
fn merge_short(word: &[u8], out: &mut Vec<i32>) -> bool {
    let mut ids = [0; SHORT];
    // What a token and the next one merge to.
    let mut candidates = [NONE; SHORT];
    let mut count = 0;
    if word.len() <= SHORT && word.is_ascii() {
        for (id, &byte) in ids.iter_mut().zip(word) {
            *id = byte_id(byte);
        }
        for (place, pair) in word.windows(2).enumerate() {
            candidates[place] = candidate(merge_bytes(pair[0], pair[1]), place);
        }
        count = word.len();
    } else {
        let mut at = 0;
        while at < word.len() {
            if count == SHORT {
                return false;
            }
            let (id, length) = first_token(word, at);
            ids[count] = id;
            count += 1;
            at += length;
        }
        for place in 1..count {
            candidates[place - 1] = candidate(merge(ids[place - 1], ids[place]), place - 1);
        }
    }
    // Bit n is set while a token stands at place n.
    let mut places = u64::MAX >> (64 - count);
    let room = count.next_multiple_of(16);
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
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(word: &[u8]) -> Vec<i32> {
        let mut out = Vec::new();
        Merger::new(Level::PORTABLE).merge_long(word, &mut out);
        out
    }

    fn window(word: &[u8]) -> Vec<i32> {
        let mut out = Vec::new();
        Merger::new(Level::PORTABLE).merge_window(word, &mut out);
        out
    }

    fn short(word: &[u8]) -> Vec<i32> {
        let mut out = Vec::new();
        for level in [Level::PORTABLE, Level::best()] {
            let mut again = Vec::new();
            assert!(level.run(MergeShort { word, out: &mut again }));
            assert!(out.is_empty() || out == again);
            out = again;
        }
        out
    }

    /// The definition, by bytes.
    fn plain(word: &[u8]) -> Vec<i32> {
        let mut ids: Vec<u32> = word.iter().map(|&byte| byte_id(byte)).collect();
        while let Some((id, at)) = (1..ids.len()).map(|at| (merge(ids[at - 1], ids[at]), at)).min()
            && id != NONE
        {
            ids[at - 1] = id;
            ids.remove(at);
        }
        ids.into_iter().map(|id| id as i32).collect()
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as usize % end
        }
    }

    #[test]
    fn all_ways_of_merging_agree() {
        let mut random = Random(1);
        for round in 0..20_000 {
            let length = 1 + round % SHORT;
            let alphabet: &[u8] = [&b"ab"[..], b"etaoin", b"=-*", b"0123456789abcdef"][round % 4];
            let word: Vec<u8> =
                (0..length).map(|_| alphabet[random.below(alphabet.len())]).collect();
            let expected = plain(&word);
            assert_eq!(short(&word), expected, "{:?}", String::from_utf8_lossy(&word));
            assert_eq!(window(&word), expected, "{:?}", String::from_utf8_lossy(&word));
        }
    }

    /// Characters that are a token each, or not, beside those that tokens cut.
    #[test]
    fn characters_are_merged_as_their_bytes_would_be() {
        let mut random = Random(2);
        let scripts = [
            ' '..'~',
            '\u{80}'..'\u{250}',
            'Ͱ'..'\u{530}',
            '\u{530}'..'\u{700}',
            '\u{900}'..'\u{1100}',
            '\u{1100}'..'\u{2100}',
            '\u{2000}'..'\u{2c00}',
            '\u{3000}'..'\u{3400}',
            '\u{4e00}'..'\u{9fff}',
            '\u{ac00}'..'\u{d7a0}',
            '\u{ff00}'..'\u{fff0}',
            '\u{1f300}'..'\u{1f700}',
            '\u{1780}'..'\u{1800}',
        ];
        for _ in 0..60_000 {
            let [first, second] = [0; 2].map(|_| scripts[random.below(scripts.len())].clone());
            let word: String = (0..1 + random.below(12))
                .map(|_| {
                    let script = if random.below(4) == 0 { &second } else { &first };
                    let (start, end) = (script.start as usize, script.end as usize);
                    char::from_u32((start + random.below(end - start)) as u32).unwrap()
                })
                .collect();
            let expected = plain(word.as_bytes());
            assert_eq!(short(word.as_bytes()), expected, "{word:?}");
            assert_eq!(window(word.as_bytes()), expected, "{word:?}");
        }
    }

    /// Every pair of characters beside each other in the vocabulary, and every cut one in whole.
    #[test]
    fn text_of_the_vocabulary_is_merged_as_its_bytes_would_be() {
        let mut before = String::new();
        for id in 0..199_998 {
            let token = String::from_utf8_lossy(bytes_of(id).unwrap());
            if token.is_ascii() || token.len() > 40 {
                continue;
            }
            for word in [token.to_string(), format!("{before}{token}"), format!(" {token}")] {
                assert_eq!(window(word.as_bytes()), plain(word.as_bytes()), "{word:?}");
            }
            before = token.to_string();
        }
    }

    #[test]
    fn windows_fit_together() {
        let mut random = Random(3);
        for alphabet in [
            &["a"][..],
            &["=", "-"],
            &["a", "b"],
            &["A", "C", "G", "T"],
            &["中", "国", "人"],
            &["e", "t", "a", "o", "in", "the", "tion"],
            &[" "],
            &["\n", "\r"],
            &["😀", "\u{301}"],
        ] {
            for length in [WINDOW / 2, WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW, 20_000] {
                let word: String =
                    (0..length).map(|_| alphabet[random.below(alphabet.len())]).collect();
                let made = windows(word.as_bytes());
                assert!(made == window(word.as_bytes()), "{alphabet:?} {length}");
            }
        }
    }

    #[test]
    fn a_single_byte_is_its_own_token() {
        assert_eq!(short(b"!"), [0]);
        assert_eq!(windows(b"!"), [0]);
    }
}
