//! Byte-pair merging of one pre-token. The pair with the lowest id is merged first; among equal pairs, the
//! leftmost. Short words are merged in small arrays (`parts`), longer ones with a linked list and a heap, and
//! very long ones window by window, so that the time for each byte does not grow with the word.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::parts::{MergeShort, MergeWords, MergedWord, first_merge, first_token};
use super::tables::{NONE, Tables};
use gristmill_simd::SimdLevel;

/// The bytes of a window, and how many tokens at its end the next window makes again.
const WINDOW: usize = 1 << 12;
const REDONE: usize = 8;

/// Scratch memory, reused from word to word.
pub struct Merger {
    level: SimdLevel,
    nodes: Vec<Node>,
    heap: BinaryHeap<Reverse<(u32, u32)>>,
    made: Vec<i32>,
}

#[derive(Clone, Copy)]
struct Node {
    previous: u32,
    next: u32,
    /// The token here, or [`NONE`] if it was merged into the one before it.
    id: u32,
    /// The token to which this one and the next merge, or [`NONE`].
    merged: u32,
}

const END: u32 = u32::MAX;

impl Merger {
    pub fn new(level: SimdLevel) -> Self {
        Self { level, nodes: Vec::new(), heap: BinaryHeap::new(), made: Vec::new() }
    }

    /// Appends the tokens of `word`, which is not empty.
    pub fn merge<T: Tables>(&mut self, tables: &T, word: &[u8], out: &mut Vec<i32>) {
        if !self.level.run(MergeShort { tables, word, out }) {
            self.merge_long(tables, word, out);
        }
    }

    /// Merges `count` words, which are not empty; calls `made` with the number and the tokens of each.
    pub fn merge_words<'a, T: Tables>(
        &mut self,
        tables: &T,
        count: usize,
        word: impl Fn(usize) -> &'a [u8],
        mut made: impl FnMut(usize, MergedWord),
    ) {
        let mut long = Vec::new();
        self.level.run(MergeWords {
            tables,
            count,
            word: &word,
            made: |at, merged: Option<MergedWord>| match merged {
                Some(merged) => made(at, merged),
                None => long.push(at),
            },
        });
        let mut tokens = Vec::new();
        for at in long {
            tokens.clear();
            self.merge(tables, word(at), &mut tokens);
            made(at, MergedWord::Many(&tokens));
        }
    }

    /// Tokens are correct for their bytes exactly if every pair of neighbours is correct for its bytes. (A
    /// merge across a border would start with the two tokens at the border.) So the word is put together from
    /// windows, and if two windows do not fit, the second begins earlier.
    fn merge_long<T: Tables>(&mut self, tables: &T, word: &[u8], out: &mut Vec<i32>) {
        let base = out.len();
        let mut made = std::mem::take(&mut self.made);
        let (mut start, mut end) = (0, 0);
        while end < word.len() {
            end = word.len().min(start + WINDOW);
            loop {
                made.clear();
                self.merge_window(tables, &word[start..end], &mut made);
                match (out[base..].last(), made.first()) {
                    (Some(&left), Some(&right)) if !self.are_neighbours(tables, left, right) => {
                        out.pop();
                        start -= token_bytes(tables, left).len();
                    }
                    _ => break,
                }
            }
            if end < word.len() {
                made.truncate(made.len().saturating_sub(REDONE).max(1));
            }
            start += made.iter().map(|&id| token_bytes(tables, id).len()).sum::<usize>();
            out.extend_from_slice(&made);
        }
        self.made = made;
    }

    fn are_neighbours<T: Tables>(&mut self, tables: &T, left: i32, right: i32) -> bool {
        let mut made = Vec::new();
        let both = [token_bytes(tables, left), token_bytes(tables, right)].concat();
        self.merge_window(tables, &both, &mut made);
        made == [left, right]
    }

    fn merge_window<T: Tables>(&mut self, tables: &T, word: &[u8], out: &mut Vec<i32>) {
        let Self { nodes, heap, .. } = self;
        nodes.clear();
        heap.clear();
        let (mut at, mut before) = (0, (NONE, 0));
        while at < word.len() {
            let token = first_token(tables, word, at);
            let place = nodes.len() as u32;
            if let Some(node) = nodes.last_mut() {
                node.next = place;
                node.merged = first_merge(tables, word, at, before, token);
                if node.merged != NONE {
                    heap.push(Reverse((node.merged, place - 1)));
                }
            }
            let previous = place.wrapping_sub(1);
            nodes.push(Node { previous, next: END, id: token.0, merged: NONE });
            at += token.1;
            before = token;
        }
        while let Some(Reverse((merged, place))) = heap.pop() {
            let at = place as usize;
            // An entry is stale when either of its two tokens has since been merged.
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
                let after = tables.merge(merged, nodes[next as usize].id);
                nodes[at].merged = after;
                if after != NONE {
                    heap.push(Reverse((after, place)));
                }
            }
            if previous != END {
                let before = tables.merge(nodes[previous as usize].id, merged);
                nodes[previous as usize].merged = before;
                if before != NONE {
                    heap.push(Reverse((before, previous)));
                }
            }
        }
        out.extend(nodes.iter().filter(|node| node.id != NONE).map(|node| node.id as i32));
    }
}

fn token_bytes<T: Tables>(tables: &T, id: i32) -> &[u8] {
    tables.bytes_of(id as u32).unwrap_or_default()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::embedded::{O200kTables, bytes_of};
    use crate::parts::SHORT;
    use crate::slot::slot_of;

    fn windows(word: &[u8]) -> Vec<i32> {
        let mut out = Vec::new();
        Merger::new(SimdLevel::PORTABLE).merge_long(&O200kTables, word, &mut out);
        out
    }

    fn window(word: &[u8]) -> Vec<i32> {
        let mut out = Vec::new();
        Merger::new(SimdLevel::PORTABLE).merge_window(&O200kTables, word, &mut out);
        out
    }

    fn short(word: &[u8]) -> Vec<i32> {
        let mut out = Vec::new();
        for level in [SimdLevel::PORTABLE, SimdLevel::best()] {
            let mut again = Vec::new();
            assert!(level.run(MergeShort { tables: &O200kTables, word, out: &mut again }));
            assert!(out.is_empty() || out == again);
            out = again;
        }
        out
    }

    /// The definition, by bytes.
    pub fn plain(word: &[u8]) -> Vec<i32> {
        let mut ids: Vec<u32> = word.iter().map(|&byte| O200kTables.byte_id(byte)).collect();
        while let Some((id, at)) =
            (1..ids.len()).map(|at| (O200kTables.merge(ids[at - 1], ids[at]), at)).min()
            && id != NONE
        {
            ids[at - 1] = id;
            ids.remove(at);
        }
        ids.into_iter().map(|id| id as i32).collect()
    }

    pub struct Random(pub u64);

    impl Random {
        pub fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as usize % end
        }
    }

    #[test]
    fn all_ways_of_merging_agree() {
        let mut random = Random(1);
        let mut words = Vec::new();
        for round in 0..20_000 {
            let length = 1 + round % SHORT;
            let alphabet: &[u8] = [&b"ab"[..], b"etaoin", b"=-*", b"0123456789abcdef"][round % 4];
            let word: Vec<u8> =
                (0..length).map(|_| alphabet[random.below(alphabet.len())]).collect();
            let expected = plain(&word);
            assert_eq!(short(&word), expected, "{:?}", String::from_utf8_lossy(&word));
            words.push((word.clone(), expected.clone()));
            assert_eq!(window(&word), expected, "{:?}", String::from_utf8_lossy(&word));
        }
        side_by_side(&words);
    }

    fn side_by_side(words: &[(Vec<u8>, Vec<i32>)]) {
        for level in [SimdLevel::PORTABLE, SimdLevel::best()] {
            for some in [0, 1, 3, 7, 8, 9, words.len()] {
                let mut seen = vec![0; some];
                let word = |at: usize| &words[at].0[..];
                Merger::new(level).merge_words(&O200kTables, some, word, |at, merged| {
                    seen[at] += 1;
                    let (word, expected) = &words[at];
                    let is_it = match merged {
                        MergedWord::Few(slot) => slot == slot_of(expected),
                        MergedWord::Many(tokens) => tokens == expected,
                    };
                    assert!(is_it, "{:?}", String::from_utf8_lossy(word));
                });
                assert!(seen.iter().all(|&times| times == 1));
            }
        }
    }

    /// Characters that are a token or not, beside characters that tokens cut.
    #[test]
    fn characters_are_merged_as_their_bytes_would_be() {
        let mut random = Random(2);
        let mut words = Vec::new();
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
            words.push((word.into_bytes(), expected));
        }
        side_by_side(&words);
    }

    /// Every pair of neighbouring characters in the vocabulary, and every character that a token cuts, made whole.
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
