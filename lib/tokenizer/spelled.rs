//! A cache of encoded words that keeps only their tokens: an entry is right for a word if its tokens spell
//! the word. So a word of three tokens takes eight bytes, however long it is. Like the word cache it grows to
//! a fixed size, and new words replace others. This changes the speed of the encoder, never its output.

use super::hash::{TOKEN_BYTES, hash_word};
use super::pages::{Line, Room};
use super::slot::{SLOT_BITS, SLOT_TOKENS, Tokens, slot_count, slot_ids, slot_of};
use super::tables::{Blocks, Tables};
use gristmill_simd::{self as simd, Instructions};

/// The number of lines at first, and the number after twice as many words as lines were put. After twice as many words
/// again, the number is the largest. A line holds about five words.
const SIZES: [usize; 2] = [1 << 10, 1 << 14];
/// If a line is full, one word in this many still goes into it. So in a later pass over 77 MB of real text, 221,000 of
/// 17,270,000 words have to be merged instead of 373,000; in the first pass 0.9 % more.
const REPLACING: u32 = 4;
/// The word continues in the next slot.
const GOES_ON: u64 = 1 << SLOT_BITS;
/// Above this are bits of the word's hash: not all 0 in its first slot, 0 in the others.
const TAG_SHIFT: i32 = SLOT_BITS as i32 + 1;
const SLOTS: usize = size_of::<Line>() / 8;
/// The most tokens of a word: a whole line.
const MOST_TOKENS: usize = SLOT_TOKENS * SLOTS;

pub struct SpelledCache {
    /// The words, each in the line of its hash, the newest first.
    room: Room,
    /// The number of lines that it grows to.
    most: usize,
    /// How many more words this room takes before it grows.
    left: usize,
    /// How many words found no free place.
    waiting: u32,
}

/// A line; a mask of the slots that may be the first of a word; and the first of these slots.
#[derive(Clone, Copy)]
pub struct Place {
    slot: u64,
    line: u32,
    same: u8,
}

impl Place {
    pub const NONE: Self = Self { slot: 0, line: 0, same: 0 };
}

/// The slots of a word.
#[derive(Clone, Copy)]
pub struct SpelledWord<'a>(&'a [u64]);

impl SpelledWord<'_> {
    /// Returns the tokens if they are few.
    #[inline(always)]
    pub fn few(self) -> Option<Tokens> {
        match self.0 {
            &[slot] => Some(Tokens::of_slot(slot)),
            _ => None,
        }
    }

    #[inline(always)]
    pub fn append_to(self, out: &mut Vec<i32>) {
        for &slot in self.0 {
            out.extend_from_slice(&slot_ids(slot).map(|id| id as i32)[..slot_count(slot)]);
        }
    }

    fn tokens(self) -> impl Iterator<Item = u32> {
        let tokens = |&slot: &u64| slot_ids(slot).into_iter().take(slot_count(slot));
        self.0.iter().flat_map(tokens)
    }

    /// Whether they spell the word of `length` bytes at `start` of the text.
    fn is_at<T: Tables>(self, tables: &T, text: &[u8], start: usize, length: usize) -> bool {
        let mut at = start;
        for &slot in self.0 {
            let view = text.get(at..).and_then(|rest| rest.first_chunk());
            match view.map_or(0, |view| spelled_at(tables.blocks(), slot, view)) {
                0 => return self.is_word(tables, &text[start..start + length]),
                count => at += count,
            }
        }
        at == start + length
    }

    #[cold]
    fn is_word<T: Tables>(self, tables: &T, mut word: &[u8]) -> bool {
        for id in self.tokens() {
            let Some(rest) = tables.bytes_of(id).and_then(|token| word.strip_prefix(token)) else {
                return false;
            };
            word = rest;
        }
        word.is_empty()
    }
}

/// How many bytes of a text the tokens of a slot are compared with.
const VIEW: usize = 64;

/// Returns how many bytes of the text the tokens of a slot spell; 0 if they spell something else,
/// or if one of them is a long token.
#[inline(always)]
fn spelled_at(blocks: &Blocks, slot: u64, view: &[u8; VIEW]) -> usize {
    let mut at = 0;
    let mut differ = false;
    for id in slot_ids(slot) {
        let block = &blocks[id as usize];
        let count = usize::from(block[TOKEN_BYTES]);
        let here = view[at % 32..].first_chunk().unwrap_or(&[0; 16]);
        differ |= simd::differ(block, here, count);
        at += count;
    }
    if differ || at > SLOT_TOKENS * TOKEN_BYTES { 0 } else { at }
}

fn tag(hash: u64) -> u64 {
    (hash >> TAG_SHIFT).max(1)
}

impl SpelledCache {
    /// `most` is above all [`SIZES`].
    pub fn new(most: usize) -> Self {
        Self { room: Room::zeroed(SIZES[0]), most, left: 2 * SIZES[0], waiting: 0 }
    }

    #[inline(always)]
    fn line(&self, hash: u64) -> usize {
        ((u64::from(hash as u32) * self.room.lines().len() as u64) >> 32) as usize
    }

    /// Requests the memory that a word with this hash will need.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        simd::prefetch(&self.room.lines()[self.line(hash)]);
    }

    /// Returns where a word with this hash may be; requests the memory that
    /// [`SpelledCache::get_at`] will need.
    #[inline(always)]
    pub fn place<I: Instructions, T: Tables>(&self, tables: &T, hash: u64) -> Place {
        let line = self.line(hash);
        let slots = &self.room.lines()[line];
        let same = I::equal_tops::<TAG_SHIFT>(slots, tag(hash));
        let slot = slots[same.trailing_zeros() as usize % SLOTS];
        for id in slot_ids(slot) {
            simd::prefetch(&tables.blocks()[id as usize]);
        }
        Place { slot, line: line as u32, same: same as u8 }
    }

    /// Returns the word of `length` bytes (not 0) at `start` of the text, if it is here, has few tokens and
    /// none of them is long. Nearly all words are so.
    #[inline(always)]
    pub fn few_at<T: Tables>(
        &self,
        tables: &T,
        place: Place,
        text: &[u8],
        start: usize,
        length: usize,
    ) -> Option<Tokens> {
        let Place { slot, same, .. } = place;
        let view = text.get(start..).and_then(|rest| rest.first_chunk())?;
        let is_it =
            same != 0 && slot & GOES_ON == 0 && spelled_at(tables.blocks(), slot, view) == length;
        is_it.then(|| Tokens::of_slot(slot))
    }

    /// Returns the word of `length` bytes at `start` of the text, if it is here.
    #[inline(never)]
    pub fn get_at<T: Tables>(
        &self,
        tables: &T,
        Place { line, mut same, .. }: Place,
        text: &[u8],
        start: usize,
        length: usize,
    ) -> Option<SpelledWord<'_>> {
        let line = &self.room.lines()[line as usize];
        while same != 0 {
            let first = same.trailing_zeros() as usize % SLOTS;
            same &= same - 1;
            let spelled = SpelledWord(word_at(line, first));
            if spelled.is_at(tables, text, start, length) {
                return Some(spelled);
            }
        }
        None
    }

    /// Keeps a word of few tokens, by their slot.
    pub fn put_few<T: Tables>(&mut self, tables: &T, hash: u64, slot: u64) {
        let at = self.line_for_one_more(tables, hash);
        self.push(at, &[slot | tag(hash) << TAG_SHIFT]);
    }

    /// Keeps a word, if it has not too many tokens.
    pub fn put<T: Tables>(&mut self, tables: &T, hash: u64, tokens: &[i32]) {
        if tokens.len() > MOST_TOKENS {
            return;
        }
        let mut slots = [0; SLOTS];
        let mut count = 0;
        for few in tokens.chunks(SLOT_TOKENS) {
            slots[count] = slot_of(few) | GOES_ON;
            count += 1;
        }
        slots[count - 1] &= !GOES_ON;
        slots[0] |= tag(hash) << TAG_SHIFT;
        let at = self.line_for_one_more(tables, hash);
        self.push(at, &slots[..count]);
    }

    fn line_for_one_more<T: Tables>(&mut self, tables: &T, hash: u64) -> usize {
        if self.left == 0 {
            self.grow(tables);
        }
        self.left -= 1;
        self.line(hash)
    }

    #[inline(always)]
    fn push(&mut self, line: usize, slots: &[u64]) {
        let line = &mut self.room.lines_mut()[line];
        // All slots are looked at: the place of the same one cannot be predicted.
        if line.iter().fold(false, |found, slot| found | (*slot == slots[0])) {
            return;
        }
        if line[SLOTS - 1] != 0 {
            self.waiting = self.waiting.wrapping_add(1);
            if !self.waiting.is_multiple_of(REPLACING) {
                return;
            }
        }
        for &slot in slots.iter().rev() {
            line.copy_within(..SLOTS - 1, 1);
            line[0] = slot;
        }
        // A word whose end was pushed out is removed as a whole.
        let mut last = SLOTS - 1;
        if line[last] & GOES_ON != 0 {
            while line[last] >> TAG_SHIFT == 0 {
                last -= 1;
            }
            line[last..].fill(0);
        }
    }

    #[cold]
    fn grow<T: Tables>(&mut self, tables: &T) {
        let now = self.room.lines().len();
        if now == self.most {
            self.left = usize::MAX;
            return;
        }
        let size = SIZES.into_iter().find(|&size| size > now).unwrap_or(self.most);
        let few = std::mem::replace(&mut self.room, Room::zeroed(size));
        self.left = 2 * size;
        let mut word = Vec::new();
        for line in few.lines() {
            // The oldest comes first.
            for first in (0..line.len()).rev().filter(|&at| line[at] >> TAG_SHIFT != 0) {
                let slots = word_at(line, first);
                word.clear();
                for id in SpelledWord(slots).tokens() {
                    word.extend_from_slice(tables.bytes_of(id).unwrap_or_default());
                }
                self.push(self.line(hash_word(&word)), slots);
            }
        }
    }
}

/// Returns the slots of the word whose first slot is at `first`.
#[inline(always)]
fn word_at(line: &Line, first: usize) -> &[u64] {
    let mut last = first;
    while line[last] & GOES_ON != 0 && last + 1 < line.len() {
        last += 1;
    }
    &line[first..=last]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::O200kTables;
    use crate::encoded;
    use gristmill_simd::Portable;

    /// Looks a word up, with this hash, in all ways.
    fn found(cache: &SpelledCache, word: &str, hash: u64) -> Option<Vec<i32>> {
        let place = cache.place::<Portable, _>(&O200kTables, hash);
        let get = |text: &[u8]| {
            let mut tokens = Vec::new();
            cache.get_at(&O200kTables, place, text, 0, word.len())?.append_to(&mut tokens);
            Some(tokens)
        };
        let found = get(word.as_bytes());
        let text = [word.as_bytes(), &[b'a'; VIEW]].concat();
        assert_eq!(get(&text), found, "{word}");
        if !word.is_empty()
            && let Some(few) = cache.few_at(&O200kTables, place, &text, 0, word.len())
        {
            assert_eq!(found.as_deref(), Some(&few.ids()[..few.count()]), "{word}");
        }
        found
    }

    /// Puts a word with hash 3 until it is there, also in a full line.
    fn put(cache: &mut SpelledCache, tokens: &[i32]) {
        (0..REPLACING).for_each(|_| cache.put(&O200kTables, 3, tokens));
    }

    /// Returns the words with one, two and three tokens; a long token is compared elsewhere.
    #[test]
    fn few_tokens_are_found_at_once() {
        let spaces = " ".repeat(20);
        for (word, is_at_once) in
            [(" indeed", true), (" indeedindeed", true), (" Donau", true), (&spaces, false)]
        {
            let tokens = encoded(word);
            assert!(tokens.len() <= SLOT_TOKENS, "{word}");
            let mut cache = SpelledCache::new(9 << 14);
            cache.put_few(&O200kTables, 7, slot_of(&tokens));
            assert_eq!(found(&cache, word, 7).as_ref(), Some(&tokens));
            let text = [word.as_bytes(), &[b'a'; VIEW]].concat();
            let place = cache.place::<Portable, _>(&O200kTables, 7);
            assert_eq!(
                cache.few_at(&O200kTables, place, &text, 0, word.len()).is_some(),
                is_at_once,
                "{word}"
            );
            for other in [word.len() - 1, word.len() + 1] {
                assert!(cache.few_at(&O200kTables, place, &text, 0, other).is_none(), "{word}");
            }
        }
    }

    #[test]
    fn words_come_back_whole_or_not_at_all() {
        let mut cache = SpelledCache::new(9 << 14);
        let long = "-=".repeat(40);
        let words =
            ["a", "\0", " indeed", "Donaudampfschiff", "ภาษาไทยสวยมาก", "zqxjkvwpyg", &long];
        for word in words {
            let tokens = encoded(word);
            // All have the same hash, and so the same line and tag.
            assert_eq!(found(&cache, word, 3), None, "{word}");
            put(&mut cache, &tokens);
            assert_eq!(found(&cache, word, 3), Some(tokens), "{word}");
            for other in
                [&word[..word.len() - word.chars().last().unwrap().len_utf8()], &format!("{word}a")]
            {
                assert_eq!(found(&cache, other, 3), None, "{other}");
            }
            assert_eq!(found(&cache, word, 3 | 1 << 63), None, "{word}");
        }
        assert_eq!(found(&cache, "", 3), None);
    }

    /// A part of a text, up to its very end and before more text.
    #[test]
    fn a_word_ends_where_it_ends() {
        let mut cache = SpelledCache::new(9 << 14);
        let text = " indeedindeed and more of the text".as_bytes();
        let tokens = encoded(" indeedindeed");
        cache.put(&O200kTables, 3, &tokens);
        for end in [13, 14, text.len()] {
            for length in 0..=end {
                let place = cache.place::<Portable, _>(&O200kTables, 3);
                let is_found = cache.get_at(&O200kTables, place, &text[..end], 0, length).is_some();
                assert_eq!(is_found, length == 13, "{length} of {end}");
            }
        }
    }

    #[test]
    fn a_full_line_forgets_whole_words() {
        let mut cache = SpelledCache::new(9 << 14);
        // They differ in their first tokens: all have the same hash.
        let words: Vec<(String, Vec<i32>)> = (0..2000)
            .map(|number: usize| {
                number.to_string() + &["x9", "Qj", "=-"][number % 3].repeat(number * 7 % 11)
            })
            .map(|word| (word.clone(), encoded(&word)))
            .filter(|(_, tokens)| tokens.len() <= MOST_TOKENS)
            .collect();
        for (last, (word, tokens)) in words.iter().enumerate() {
            put(&mut cache, tokens);
            assert_eq!(found(&cache, word, 3).as_ref(), Some(tokens));
            for (word, tokens) in &words[last.saturating_sub(9)..last] {
                assert!(found(&cache, word, 3).is_none_or(|found| found == *tokens), "{word}");
            }
        }
        let kept = words.iter().filter(|(word, _)| found(&cache, word, 3).is_some()).count();
        assert!((1..=SLOTS).contains(&kept), "{kept}");
        // One with more tokens than a line is not kept.
        cache.put(&O200kTables, 3, &[5; MOST_TOKENS + 1]);
        assert!(found(&cache, &words[words.len() - 1].0, 3).is_some());
    }

    #[test]
    fn most_of_what_is_kept_is_there_after_it_grows() {
        let mut cache = SpelledCache::new(9 << 14);
        let mut words = 0;
        let word = |number: usize| format!("w{number}");
        while cache.room.lines().len() < cache.most {
            words += 1;
            let word = word(words);
            cache.put(&O200kTables, hash_word(word.as_bytes()), &encoded(&word));
        }
        let is_found = |&number: &usize| {
            let word = word(number);
            found(&cache, &word, hash_word(word.as_bytes()))
                .inspect(|found| assert_eq!(*found, encoded(&word)))
                .is_some()
        };
        let kept = (1..=words).filter(is_found).count();
        assert!(kept > words * 9 / 10, "{kept} of {words}");
    }
}
