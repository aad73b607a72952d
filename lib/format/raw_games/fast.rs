//! The hot path: one line of the shape that the player writes.
//!
//! It takes the known keys in their usual order, where any but `move` and `board` may be
//! missing and one space may follow each comma and colon. Everything else (other keys,
//! another order, escapes, exponents, every defect) is left to `step`, by giving `None`.
//! Whatever it does take it reads as `step` would.

use super::step::{RawStep, ValuationType};
use crate::game2048::{CELLS, Direction};

/// Reads the line that starts at `at`. Gives the step and where the next line starts.
#[inline]
pub(super) fn step(text: &[u8], at: usize) -> Option<(RawStep<'_>, usize)> {
    let mut cursor = Cursor { rest: text.get(at..)? };
    if !cursor.eat(b"{") {
        return None;
    }
    let mut seed = None;
    if cursor.key(b"\"seed\":") {
        seed = Some(cursor.integer()?);
        cursor.comma()?;
    }
    let mut step_index = None;
    if cursor.key(b"\"step_index\":") {
        step_index = Some(cursor.integer()?);
        cursor.comma()?;
    }
    let mut max_rank = None;
    if cursor.key(b"\"max_rank\":") {
        max_rank = Some(cursor.integer()?);
        cursor.comma()?;
    }
    if !cursor.key(b"\"move\":") {
        return None;
    }
    let direction = cursor.direction()?;
    cursor.comma()?;
    let mut valuation_type = ValuationType::Known(0);
    if cursor.key(b"\"valuation_type\":") {
        valuation_type = cursor.valuation_type()?;
        cursor.comma()?;
    }
    let mut valuation = None;
    if cursor.key(b"\"valuation\":") {
        valuation = Some(cursor.decimal()?.to_f64());
        cursor.comma()?;
    }
    if !cursor.key(b"\"board\":") {
        return None;
    }
    let cells = cursor.board()?;
    let (mut branch_evs, mut branch_known) = ([0.0; 4], 0);
    if cursor.eat(b",") {
        cursor.space();
        if !cursor.key(b"\"branch_evs\":") || !cursor.key(b"{\"up\":") {
            return None;
        }
        cursor.branch(Direction::Up, &mut branch_evs, &mut branch_known)?;
        cursor.comma()?;
        if !cursor.key(b"\"left\":") {
            return None;
        }
        cursor.branch(Direction::Left, &mut branch_evs, &mut branch_known)?;
        cursor.comma()?;
        if !cursor.key(b"\"right\":") {
            return None;
        }
        cursor.branch(Direction::Right, &mut branch_evs, &mut branch_known)?;
        cursor.comma()?;
        if !cursor.key(b"\"down\":") {
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
        seed,
        step_index,
        max_rank,
        direction,
        valuation_type,
        valuation,
        cells,
        branch_evs,
        branch_known,
    };
    Some((step, text.len() - cursor.rest.len()))
}

/// What is left of the text.
struct Cursor<'a> {
    rest: &'a [u8],
}

/// A decimal number: `mantissa / 10^decimals`, negative or not. At most 14 digits.
#[derive(Clone, Copy)]
struct Decimal {
    negative: bool,
    mantissa: i64,
    decimals: usize,
}

const POWERS: [i64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];
const POWERS_F64: [f64; 8] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];

impl Decimal {
    /// The double nearest to the number. Mantissa and power are exact doubles, so their
    /// quotient is rounded once (Clinger, "How to Read Floating Point Numbers Accurately").
    #[inline(always)]
    fn to_f64(self) -> f64 {
        let value = self.mantissa as f64 / POWERS_F64[self.decimals & 7];
        f64::from_bits(value.to_bits() | u64::from(self.negative) << 63)
    }

    /// The float nearest to the number, if rounding the double gives it for certain.
    ///
    /// Both roundings are monotone, and the midpoint between two neighbouring normal floats
    /// is itself a double. So a double that is not such a midpoint lies on the same side of
    /// every midpoint as the number itself, and rounds to the same float. A midpoint has
    /// exactly the highest of the 29 bits that a float does not keep. No number here is so
    /// small that it is no normal float, nor so large that it overflows.
    #[inline(always)]
    fn to_f32(self) -> Option<f32> {
        const DROPPED: u64 = (1 << 29) - 1;
        let value = self.to_f64();
        (value.to_bits() & DROPPED != 1 << 28).then_some(value as f32)
    }
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    fn eat<const N: usize>(&mut self, word: &[u8; N]) -> bool {
        match self.rest.split_first_chunk::<N>() {
            Some((head, rest)) if head == word => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    #[inline(always)]
    fn advance(&mut self, count: usize) -> Option<()> {
        self.rest = self.rest.get(count..)?;
        Some(())
    }

    #[inline(always)]
    fn space(&mut self) {
        if let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    #[inline(always)]
    fn key<const N: usize>(&mut self, key: &[u8; N]) -> bool {
        let found = self.eat(key);
        if found {
            self.space();
        }
        found
    }

    #[inline(always)]
    fn comma(&mut self) -> Option<()> {
        let found = self.eat(b",");
        self.space();
        found.then_some(())
    }

    /// The next eight bytes, with digits as 0 to 9, and how many digits they start with.
    #[inline(always)]
    fn digits(&self) -> Option<(u64, usize)> {
        let word = u64::from_le_bytes(*self.rest.first_chunk()?) ^ 0x3030_3030_3030_3030;
        // A byte over 9 gets its high bit here; carries only reach bytes after it.
        let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
        Some((word, others.trailing_zeros() as usize / 8))
    }

    /// One to seven digits without a leading zero.
    #[inline(always)]
    fn short_integer(&mut self) -> Option<u64> {
        let (word, count) = self.digits()?;
        if count == 0 || count == 8 || (count > 1 && word & 0xff == 0) {
            return None;
        }
        self.advance(count)?;
        Some(value_of(word << (64 - 8 * count)))
    }

    /// An unsigned integer of at most 18 digits.
    #[inline(always)]
    fn integer(&mut self) -> Option<u64> {
        let (word, count) = self.digits()?;
        if count < 8 {
            return self.short_integer();
        }
        if word & 0xff == 0 {
            return None;
        }
        let mut value = value_of(word);
        self.advance(8)?;
        for _ in 0..11 {
            let (byte, rest) = self.rest.split_first()?;
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return Some(value);
            }
            value = value * 10 + u64::from(digit);
            self.rest = rest;
        }
        None
    }

    /// A number of at most seven digits before and seven after the point, no exponent.
    #[inline(always)]
    fn decimal(&mut self) -> Option<Decimal> {
        // Signs are hard to predict, so they take no branch.
        let negative = *self.rest.first()? == b'-';
        self.advance(usize::from(negative))?;
        let integer = self.short_integer()? as i64;
        if !self.eat(b".") {
            return Some(Decimal { negative, mantissa: integer, decimals: 0 });
        }
        let (word, count) = self.digits()?;
        if count == 0 || count == 8 {
            return None;
        }
        self.advance(count)?;
        let fraction = value_of(word << (64 - 8 * count)) as i64;
        let mantissa = integer * POWERS[count & 7] + fraction;
        Some(Decimal { negative, mantissa, decimals: count })
    }

    #[inline(always)]
    fn branch(&mut self, to: Direction, evs: &mut [f32; 4], known: &mut u8) -> Option<()> {
        if !self.eat(b"null") {
            evs[to as usize] = self.decimal()?.to_f32()?;
            *known |= to.bit();
        }
        Some(())
    }

    #[inline(always)]
    fn direction(&mut self) -> Option<Direction> {
        if self.eat(b"\"left\"") {
            Some(Direction::Left)
        } else if self.eat(b"\"up\"") {
            Some(Direction::Up)
        } else if self.eat(b"\"right\"") {
            Some(Direction::Right)
        } else if self.eat(b"\"down\"") {
            Some(Direction::Down)
        } else {
            None
        }
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
        let rest = self.rest;
        let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        let length = rest.iter().position(|byte| !plain(byte))?;
        let name = std::str::from_utf8(&rest[..length]).ok()?;
        self.advance(length)?;
        self.eat(b"\"").then(|| ValuationType::named(name))
    }

    /// Sixteen exponents of one or two digits.
    #[inline(always)]
    fn board(&mut self) -> Option<[u8; CELLS]> {
        match self.compact_board() {
            Some(cells) => Some(cells),
            None => self.spaced_board(),
        }
    }

    /// A board without spaces.
    ///
    /// Bit i of a mask is byte i of the text. Once the bytes that are no digits are known, a
    /// cell is found without waiting for the cell before it.
    #[inline(always)]
    fn compact_board(&mut self) -> Option<[u8; CELLS]> {
        let window: &[u8; WINDOW] = self.rest.first_chunk()?;
        let Masks { digits, commas, ones } = Masks::of(window);
        // Byte 0 is the opening bracket; every other byte that is no digit ends a cell.
        let separators = !digits & !1;
        let mut left = separators;
        let mut end = 0;
        let mut pairs = [[0; 2]; CELLS];
        for pair in &mut pairs {
            // At the least 2 where the text is a board. Where it is not, and there are too
            // few separators, this becomes 64 or wraps; the checks below find that.
            end = left.trailing_zeros() as usize;
            *pair = [window[end.wrapping_sub(2) % WINDOW], window[end.wrapping_sub(1) % WINDOW]];
            left &= left.wrapping_sub(1);
        }
        if end >= LONGEST_BOARD || window[0] != b'[' || window[end % WINDOW] != b']' {
            return None;
        }
        let tens = digits & digits >> 1;
        let board = (2 << end) - 1;
        let empty = separators & (separators << 1 | 2);
        let three_digits = tens & tens << 1;
        let not_a_comma = (separators ^ commas) & !(1 << end);
        if (empty | three_digits | not_a_comma | tens & !ones) & board != 0 {
            return None;
        }
        self.advance(end + 1)?;
        // What stands before the last digit of a cell is a ten, a comma or the bracket.
        Some(pairs.map(|[before, units]| {
            units.wrapping_sub(b'0').wrapping_add(if before == b'1' { 10 } else { 0 })
        }))
    }

    /// A board with at most one space after each comma.
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

/// Bytes of the longest board without spaces, with its brackets.
const LONGEST_BOARD: usize = 3 * CELLS + 1;
/// Bytes that are looked at, one for each bit of a mask.
const WINDOW: usize = 64;

/// Which bytes of a window are digits, commas and ones.
struct Masks {
    digits: u64,
    commas: u64,
    ones: u64,
}

impl Masks {
    #[inline(always)]
    fn of(window: &[u8; WINDOW]) -> Masks {
        let mut masks = Masks { digits: 0, commas: 0, ones: 0 };
        let (words, _) = window.as_chunks::<8>();
        for (i, word) in words[..7].iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            // Bytes xor'ed with a digit pattern: digits are then 0..=9.
            masks.digits |= gather(!over(word ^ (0x30 * EACH), 9)) << (8 * i);
            masks.commas |= gather(!over(word ^ (b',' as u64 * EACH), 0)) << (8 * i);
            masks.ones |= gather(!over(word ^ (b'1' as u64 * EACH), 0)) << (8 * i);
        }
        masks
    }
}

const EACH: u64 = 0x0101_0101_0101_0101;

/// The high bit of each byte that is over `limit`; other bits are anything.
#[inline(always)]
fn over(word: u64, limit: u64) -> u64 {
    ((word & (0x7f * EACH)) + (127 - limit) * EACH) | word
}

/// The high bits of the eight bytes, as the lowest eight bits.
#[inline(always)]
fn gather(word: u64) -> u64 {
    // Bit j of the result comes from bit 8 * j of the shifted word; no sums overlap.
    ((word >> 7 & EACH).wrapping_mul(0x0102_0408_1020_4080)) >> 56
}

/// The value of eight decimal digits, one a byte, the first in the lowest byte.
#[inline(always)]
fn value_of(digits: u64) -> u64 {
    const MASK: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & MASK).wrapping_mul(0x000f_4240_0000_0064);
    let low = (pairs >> 16 & MASK).wrapping_mul(0x0000_2710_0000_0001);
    high.wrapping_add(low) >> 32
}
