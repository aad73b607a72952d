//! Merging in small arrays: one word, or several side by side.

use super::hash::NO_TOKEN;
use super::slot::{SLOT_TOKENS, slot_of_ids};
use super::tables::{NONE, Pair, Tables};
use gristmill_simd::{Instructions, SimdTask};

/// The most tokens that a word may have before merging so that it is merged in arrays.
pub const SHORT: usize = 48;

/// Returns the token with which merging starts at this place, and its length: a whole character if
/// merging always makes it, else one byte.
#[inline(always)]
pub fn first_token<T: Tables>(tables: &T, word: &[u8], at: usize) -> (u32, usize) {
    tables.merged_character(word, at).unwrap_or((tables.byte_id(word[at]), 1))
}

/// Returns a lower bound of the number of tokens with which a word starts.
fn characters(word: &[u8]) -> usize {
    word.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

/// The room for each word that is merged side by side with others.
const ROOM: usize = 32;
/// How many words are merged side by side. Each word waits for memory at every step; meanwhile the others go on.
const LANES: usize = 8;

/// Returns the merge of two neighbours with which merging starts; the second is at `at`.
#[inline(always)]
pub fn first_merge<T: Tables>(
    tables: &T,
    word: &[u8],
    at: usize,
    left: (u32, usize),
    right: (u32, usize),
) -> u32 {
    if (left.1, right.1) == (1, 1) {
        tables.merge_bytes(word[at - 1], word[at])
    } else {
        tables.merge(left.0, right.0)
    }
}

/// Appends the tokens of a word, or returns false if it has more than [`SHORT`] tokens before merging.
pub struct MergeShort<'a, T> {
    pub tables: &'a T,
    pub word: &'a [u8],
    pub out: &'a mut Vec<i32>,
}

impl<T: Tables> SimdTask for MergeShort<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Instructions>(self) -> bool {
        let mut parts = Parts::<64>::new();
        if !parts.start(self.tables, self.word) {
            return false;
        }
        loop {
            let best = parts.best();
            if best == NONE {
                break;
            }
            parts.step(self.tables, best);
        }
        let mut tokens = [0; 64];
        let count = parts.finish(&mut tokens);
        self.out.extend_from_slice(&tokens[..count]);
        true
    }
}

/// The tokens of a merged word.
pub enum MergedWord<'a> {
    /// A slot of up to three tokens.
    Few(u64),
    /// All tokens.
    Many(&'a [i32]),
}

/// Merges many words. `made` gets the number of each word and its tokens, or `None` if the word has more tokens before
/// merging than there is room for.
pub struct MergeWords<'a, T, W, F> {
    pub tables: &'a T,
    pub count: usize,
    /// Returns a word by its number.
    pub word: W,
    pub made: F,
}

impl<'a, T, W, F> SimdTask for MergeWords<'_, T, W, F>
where
    T: Tables,
    W: Fn(usize) -> &'a [u8],
    F: FnMut(usize, Option<MergedWord>),
{
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { tables, count, word, mut made } = self;
        let mut lanes: [Parts<ROOM>; LANES] = std::array::from_fn(|_| Parts::new());
        // The word of each lane, and which lanes have a word.
        let mut words = [0; LANES];
        let mut order: [usize; LANES] = std::array::from_fn(|at| at);
        let mut busy = 0;
        let mut next = 0;
        while next < count && busy < LANES {
            if lanes[busy].start(tables, word(next)) {
                words[busy] = next;
                busy += 1;
            } else {
                made(next, None);
            }
            next += 1;
        }
        let mut steps = [const { Step::NONE }; LANES];
        while busy > 0 {
            let mut at = 0;
            while at < busy {
                let number = order[at] % LANES;
                let lane = &mut lanes[number];
                let best = lane.best();
                if best != NONE {
                    steps[at] = lane.begin(tables, best);
                    at += 1;
                    continue;
                }
                match lane.few() {
                    Some(slot) => made(words[number], Some(MergedWord::Few(slot))),
                    None => {
                        let mut tokens = [0; ROOM];
                        let count = lane.finish(&mut tokens);
                        made(words[number], Some(MergedWord::Many(&tokens[..count])));
                    }
                }
                loop {
                    if next == count {
                        busy -= 1;
                        order.swap(at, busy);
                        break;
                    }
                    words[number] = next;
                    next += 1;
                    if lane.start(tables, word(words[number])) {
                        break;
                    }
                    made(words[number], None);
                }
            }
            for (&number, step) in order[..busy].iter().zip(&steps) {
                lanes[number % LANES].end(tables, step);
            }
        }
    }
}

/// The tokens of a word while it is merged. The first is at place 1, and on both sides is a token
/// that merges with none, so that every token has two neighbours.
struct Parts<const ROOM: usize> {
    ids: [u32; 64],
    /// For each place one number: the id to which its token and the next one merge, then the place, so that the lowest
    /// number is merged next. [`NONE`] if there is no token or the two do not merge.
    candidates: [u32; ROOM],
    /// Bit n is set while a token is at place n: the place of the first token merged into it.
    places: u64,
}

/// An id of no token: it merges with none.
const NOBODY: u32 = NO_TOKEN;

#[inline(always)]
fn candidate(merged: u32, place: usize) -> u32 {
    merged << 6 | place as u32 | 0u32.wrapping_sub(u32::from(merged == NONE))
}

/// A merge after which only the merges of the new neighbours have to be found.
struct Step {
    place: usize,
    previous: usize,
    after: Pair,
    before: Pair,
}

impl Step {
    const NONE: Self = Self { place: 0, previous: 0, after: Pair::NONE, before: Pair::NONE };
}

impl<const ROOM: usize> Parts<ROOM> {
    #[inline(always)]
    fn new() -> Self {
        Self { ids: [NOBODY; 64], candidates: [NONE; ROOM], places: 0 }
    }

    /// Returns false if the word starts with more tokens than there is room for, or than [`SHORT`].
    /// All candidates must be [`NONE`], as they are at the end.
    #[inline(always)]
    fn start<T: Tables>(&mut self, tables: &T, word: &[u8]) -> bool {
        let most = SHORT.min(ROOM - 1);
        if word.len() > most && characters(word) > most {
            return false;
        }
        let mut count = 0;
        if word.len() <= most && word.is_ascii() {
            count = word.len();
            for (id, &byte) in self.ids[1..].iter_mut().zip(word) {
                *id = tables.byte_id(byte);
            }
            for (place, pair) in word.windows(2).enumerate() {
                let merged = tables.merge_bytes(pair[0], pair[1]);
                self.candidates[place + 1] = candidate(merged, place + 1);
            }
        } else {
            let mut at = 0;
            let mut before = (NOBODY, 0);
            while at < word.len() {
                if count == most {
                    self.candidates.fill(NONE);
                    return false;
                }
                let token = first_token(tables, word, at);
                if count > 0 {
                    let merged = first_merge(tables, word, at, before, token);
                    self.candidates[count] = candidate(merged, count);
                }
                count += 1;
                self.ids[count] = token.0;
                at += token.1;
                before = token;
            }
        }
        self.ids[count + 1] = NOBODY;
        self.places = (4 << count) - 1;
        true
    }

    #[inline(always)]
    fn best(&self) -> u32 {
        let room = if ROOM <= 32 { ROOM } else { self.used() };
        let mut best = NONE;
        for sixteen in self.candidates[..room].as_chunks::<16>().0 {
            best = sixteen.iter().fold(best, |best, &next| best.min(next));
        }
        best
    }

    /// Returns how many places may have a candidate, a multiple of sixteen.
    #[inline(always)]
    fn used(&self) -> usize {
        (63 - self.places.leading_zeros() as usize).next_multiple_of(16)
    }

    /// Merges the best candidate with its neighbour.
    #[inline(always)]
    fn step<T: Tables>(&mut self, tables: &T, best: u32) {
        let step = self.begin(tables, best);
        self.end(tables, &step);
    }

    /// Merges the best candidate with its neighbour, but does not update the candidates. It has no branch, since the
    /// processor could predict none.
    #[inline(always)]
    fn begin<T: Tables>(&mut self, tables: &T, best: u32) -> Step {
        let Self { ids, candidates, places } = self;
        let (id, place) = (best >> 6, (best & 63) as usize);
        let behind = *places & u64::MAX << place << 1;
        let eaten = behind.trailing_zeros() as usize;
        let behind = behind & behind.wrapping_sub(1);
        let before = *places & ((1 << place) - 1);
        let next = behind.trailing_zeros() as usize;
        let previous = 63 - (before | 1).leading_zeros() as usize;
        *places &= !(1 << (eaten % 64));
        ids[place] = id;
        candidates[eaten % ROOM] = NONE;
        Step {
            place,
            previous,
            after: tables.pair(id, ids[next % 64]),
            before: tables.pair(ids[previous], id),
        }
    }

    #[inline(always)]
    fn end<T: Tables>(&mut self, tables: &T, step: &Step) {
        let &Step { place, previous, ref after, ref before } = step;
        self.candidates[place % ROOM] = candidate(tables.merged(after), place);
        self.candidates[previous % ROOM] = candidate(tables.merged(before), previous);
    }

    /// Returns the slot of the tokens if they are few enough. It has no branch for their number.
    #[inline(always)]
    fn few(&self) -> Option<u64> {
        // After the last token and in the first place is [`NOBODY`], which is not in a slot either.
        let mut places = self.places & self.places.wrapping_sub(1);
        let count = self.places.count_ones() as usize - 2;
        let ids: [u32; SLOT_TOKENS] = std::array::from_fn(|_| {
            let id = self.ids[places.trailing_zeros() as usize % 64];
            places &= places.wrapping_sub(1);
            id
        });
        (count <= SLOT_TOKENS).then(|| slot_of_ids(ids, count))
    }

    /// Writes the tokens, and returns their number.
    #[inline(always)]
    fn finish(&self, out: &mut [i32; ROOM]) -> usize {
        // Without the first and the last place.
        let mut places = self.places & self.places.wrapping_sub(1);
        let mut count = 0;
        while places & places.wrapping_sub(1) != 0 {
            out[count % ROOM] = self.ids[places.trailing_zeros() as usize % 64] as i32;
            count += 1;
            places &= places - 1;
        }
        count
    }
}
