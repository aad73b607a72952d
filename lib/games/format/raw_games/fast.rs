//! The hot path: one line of the shape that the player writes.
//!
//! It accepts the known keys in their usual order (any but `move` and `board` may be missing), with no
//! white space or with one space after each comma and colon. For everything else (other keys, another
//! order, escapes, exponents, every defect, a line close to the end of the text) it returns `None`, and
//! `step` reads the line. Lines that it accepts it reads exactly as `step` does.
//!
//! It is fast because it mostly guesses the end of a value, with a branch that the processor predicts,
//! and then checks the guess. If the end were computed from the text, each value would wait for the one
//! before it.

use std::ops::{Deref, DerefMut};

use super::step::{RawStep, ValuationType};
use crate::game2048::{BOARD_TEXT, CELLS, Direction, read_board};
use crate::json::decimal::{Decimal, POWERS, micros, value_of};
use crate::json::{self, Piece};

/// The most bytes of a line that is read here; the text must have at least so many bytes left.
const LONGEST_LINE: usize = 512;

/// Properties of the last line, which the next line is likely to share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guess<'a> {
    /// The text before the value of `step_index`, and the seed in it.
    head: Piece,
    seed: Option<u64>,
    /// The text between `step_index` and the value of `move`, and the rank in it.
    middle: Piece,
    max_rank: Option<u64>,
    /// The text between `move` and the value of `valuation`, and the name in it.
    tail: Piece,
    valuation_type: ValuationType<'a>,
    /// The number of digits of the step's index.
    index: usize,
    /// The number of bytes of the board before its last bracket.
    board: usize,
}

impl Default for Guess<'_> {
    fn default() -> Self {
        Guess {
            head: Piece::NONE,
            seed: None,
            middle: Piece::NONE,
            max_rank: None,
            tail: Piece::NONE,
            valuation_type: ValuationType::Known(0),
            index: 1,
            board: 0,
        }
    }
}

/// Reads the line that starts at `at`, if it has no white space. Returns the step and where the
/// next line starts.
#[inline(always)]
pub(super) fn compact<'a>(
    text: &'a [u8],
    at: usize,
    guess: &mut Guess<'a>,
) -> Option<(RawStep<'a>, usize)> {
    let (step, length) = line::<false>(text.get(at..)?.first_chunk()?, guess)?;
    Some((step, at + length))
}

/// Reads the line that starts at `at`, if it has a space after each comma and colon. (270,298 such lines:
/// `mx-decode -j 1` takes 0.11 s, and 0.31 s where `step` reads them; processor time, 2026-11-26.)
#[inline(never)]
pub(super) fn spaced<'a>(
    text: &'a [u8],
    at: usize,
    guess: &mut Guess<'a>,
) -> Option<(RawStep<'a>, usize)> {
    let (step, length) = line::<true>(text.get(at..)?.first_chunk()?, guess)?;
    Some((step, at + length))
}

/// Reads one line; `SPACED` says whether commas and colons have a space after them.
#[inline(always)]
fn line<'a, const SPACED: bool>(
    text: &'a [u8; LONGEST_LINE],
    guess: &mut Guess<'a>,
) -> Option<(RawStep<'a>, usize)> {
    let mut cursor = Cursor::<SPACED>(json::Cursor::new(text));
    let mut step_index = None;
    if cursor.again(&guess.head) {
        step_index = Some(cursor.integer(&mut guess.index)?);
    } else {
        let start = cursor.position();
        guess.head = Piece::NONE;
        if !cursor.eat(b"{") {
            return None;
        }
        guess.seed = None;
        if cursor.key(b"\"seed\":", b"\"seed\": ") {
            guess.seed = Some(cursor.integer(&mut 0)?);
            cursor.comma()?;
        }
        if cursor.key(b"\"step_index\":", b"\"step_index\": ") {
            guess.head = cursor.since(start);
            step_index = Some(cursor.integer(&mut guess.index)?);
        }
    }
    if !cursor.again(&guess.middle) {
        let start = cursor.position();
        guess.middle = Piece::NONE;
        if step_index.is_some() {
            cursor.comma()?;
        }
        guess.max_rank = None;
        if cursor.key(b"\"max_rank\":", b"\"max_rank\": ") {
            guess.max_rank = Some(cursor.integer(&mut 0)?);
            cursor.comma()?;
        }
        if !cursor.key(b"\"move\":", b"\"move\": ") {
            return None;
        }
        guess.middle = cursor.since(start);
    }
    let direction = cursor.direction()?;
    let mut valuation = None;
    if cursor.again(&guess.tail) {
        valuation = Some(cursor.decimal()?.to_f64());
        cursor.comma()?;
    } else {
        let start = cursor.position();
        guess.tail = Piece::NONE;
        cursor.comma()?;
        guess.valuation_type = ValuationType::Known(0);
        if cursor.key(b"\"valuation_type\":", b"\"valuation_type\": ") {
            guess.valuation_type = cursor.valuation_type()?;
            cursor.comma()?;
        }
        if cursor.key(b"\"valuation\":", b"\"valuation\": ") {
            guess.tail = cursor.since(start);
            valuation = Some(cursor.decimal()?.to_f64());
            cursor.comma()?;
        }
    }
    if !cursor.key(b"\"board\":", b"\"board\": ") {
        return None;
    }
    let cells =
        if SPACED { cursor.spaced_board()? } else { cursor.compact_board(&mut guess.board)? };
    let (mut branch_evs, mut branch_known) = ([0.0; 4], 0);
    if cursor.key(b",\"branch_evs\":{\"up\":", b", \"branch_evs\": {\"up\": ") {
        cursor.branch(Direction::Up, &mut branch_evs, &mut branch_known)?;
        if !cursor.key(b",\"left\":", b", \"left\": ") {
            return None;
        }
        cursor.branch(Direction::Left, &mut branch_evs, &mut branch_known)?;
        if !cursor.key(b",\"right\":", b", \"right\": ") {
            return None;
        }
        cursor.branch(Direction::Right, &mut branch_evs, &mut branch_known)?;
        if !cursor.key(b",\"down\":", b", \"down\": ") {
            return None;
        }
        cursor.branch(Direction::Down, &mut branch_evs, &mut branch_known)?;
        if !cursor.eat(b"}") {
            return None;
        }
    }
    if !cursor.eat(b"}\n") {
        return None;
    }
    let step = RawStep {
        seed: guess.seed,
        step_index,
        max_rank: guess.max_rank,
        direction,
        valuation_type: guess.valuation_type,
        valuation,
        cells,
        branch_evs,
        branch_known,
    };
    Some((step, cursor.position()))
}

/// A position in a line.
struct Cursor<'a, const SPACED: bool>(json::Cursor<'a, LONGEST_LINE>);

impl<'a, const SPACED: bool> Deref for Cursor<'a, SPACED> {
    type Target = json::Cursor<'a, LONGEST_LINE>;

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<const SPACED: bool> DerefMut for Cursor<'_, SPACED> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl<'a, const SPACED: bool> Cursor<'a, SPACED> {
    /// Reads a key in the style of the line.
    #[inline(always)]
    fn key<const N: usize, const M: usize>(&mut self, compact: &[u8; N], spaced: &[u8; M]) -> bool {
        if SPACED { self.eat(spaced) } else { self.eat(compact) }
    }

    #[inline(always)]
    fn comma(&mut self) -> Option<()> {
        self.key(b",", b", ").then_some(())
    }

    /// Reads a number of at most seven digits before and seven after the point, without an
    /// exponent.
    #[inline(always)]
    fn decimal(&mut self) -> Option<Decimal> {
        let negative = self.eat(b"-");
        let text: &[u8; 12] = self.next()?;
        if let [b'0', b'.', b'0', after, ..] = text
            && !after.is_ascii_digit()
        {
            // The lookup tables give this value for moves that they do not know.
            self.advance(3);
            return Some(Decimal { negative, mantissa: 0, decimals: 1 });
        }
        let mantissa = match text {
            [_, b'.', ..] => micros::<1>(text),
            [_, _, b'.', ..] => micros::<2>(text),
            [_, _, _, b'.', ..] => micros::<3>(text),
            [_, _, _, _, b'.', ..] => micros::<4>(text),
            _ => None,
        };
        if let Some((mantissa, length)) = mantissa {
            self.advance(length);
            return Some(Decimal { negative, mantissa, decimals: 6 });
        }
        self.other_decimal(negative)
    }

    /// Reads a decimal that does not have exactly six digits after its point, or has many before
    /// it.
    #[inline(never)]
    fn other_decimal(&mut self, negative: bool) -> Option<Decimal> {
        let integer = self.short_integer()? as i64;
        if !self.eat(b".") {
            return Some(Decimal { negative, mantissa: integer, decimals: 0 });
        }
        let (word, count) = self.digits()?;
        if count == 0 || count == 8 {
            return None;
        }
        self.advance(count);
        let fraction = value_of(word << (64 - 8 * count)) as i64;
        let mantissa = integer * POWERS[count & 7] + fraction;
        Some(Decimal { negative, mantissa, decimals: count })
    }

    #[inline(always)]
    fn branch(&mut self, to: Direction, evs: &mut [f32; 4], known: &mut u8) -> Option<()> {
        if !self.eat(b"null") {
            evs[to as usize] = self.decimal()?.to_f32();
            *known |= to.bit();
        }
        Some(())
    }

    /// Moves are hard to predict too: the first letter finds the only possible name.
    #[inline(always)]
    fn direction(&mut self) -> Option<Direction> {
        let word = u64::from_le_bytes(*self.next()?);
        let name = &NAMES[(word >> 10) as usize & 7];
        if word & name.mask != name.word {
            return None;
        }
        self.advance(name.length);
        Some(name.direction)
    }

    #[inline(always)]
    fn valuation_type(&mut self) -> Option<ValuationType<'a>> {
        if self.eat(b"\"search\"") {
            Some(ValuationType::Known(0))
        } else if self.eat(b"\"tuple11\"") {
            Some(ValuationType::Known(2))
        } else if self.eat(b"\"tuple10\"") {
            Some(ValuationType::Known(1))
        } else {
            self.other_valuation_type()
        }
    }

    #[cold]
    fn other_valuation_type(&mut self) -> Option<ValuationType<'a>> {
        if !self.eat(b"\"") {
            return None;
        }
        let rest = self.rest();
        let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        let length = rest.iter().position(|byte| !plain(byte))?;
        let name = std::str::from_utf8(&rest[..length]).ok()?;
        self.advance(length);
        self.eat(b"\"").then(|| ValuationType::named(name))
    }

    /// Reads a board without spaces.
    #[inline(always)]
    fn compact_board(&mut self, guess: &mut usize) -> Option<[u8; CELLS]> {
        let text: &[u8; BOARD_TEXT] = self.next()?;
        let (cells, length) = read_board(text, guess)?;
        self.advance(length);
        Some(cells)
    }

    /// Reads a board with a space after each comma.
    #[inline(always)]
    fn spaced_board(&mut self) -> Option<[u8; CELLS]> {
        if !self.eat(b"[") {
            return None;
        }
        let mut cells = [0; CELLS];
        for (n, cell) in cells.iter_mut().enumerate() {
            *cell = u8::try_from(self.short_integer()?).ok()?;
            if n == CELLS - 1 {
                return self.eat(b"]").then_some(cells);
            }
            self.comma()?;
        }
        None
    }
}

/// A move's name in quotes, as the first bytes of a word.
#[derive(Clone, Copy)]
struct Name {
    mask: u64,
    word: u64,
    length: usize,
    direction: Direction,
}

/// The names, indexed by bits 2 to 4 of their first letters, which all differ.
const NAMES: [Name; 8] = {
    // This entry matches nothing.
    let none = Name { mask: 0, word: 1, length: 0, direction: Direction::Up };
    let mut names = [none; 8];
    names[b'u' as usize >> 2 & 7] = name(b"\"up\"\0\0\0\0", 4, Direction::Up);
    names[b'd' as usize >> 2 & 7] = name(b"\"down\"\0\0", 6, Direction::Down);
    names[b'l' as usize >> 2 & 7] = name(b"\"left\"\0\0", 6, Direction::Left);
    names[b'r' as usize >> 2 & 7] = name(b"\"right\"\0", 7, Direction::Right);
    names
};

const fn name(text: &[u8; 8], length: usize, direction: Direction) -> Name {
    let mask = u64::MAX >> (64 - 8 * length);
    Name { mask, word: u64::from_le_bytes(*text), length, direction }
}
