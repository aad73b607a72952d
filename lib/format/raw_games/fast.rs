//! The hot path: one line of the shape that the player writes.
//!
//! It takes the known keys in their usual order, where any but `move` and `board` may be
//! missing and one space may follow each comma and colon. Everything else (other keys,
//! another order, escapes, exponents, every defect) is left to `step`, by giving `None`.
//! Whatever it does take it reads as `step` would.

use super::step::{RawStep, ValuationType};
use crate::game2048::{CELLS, Direction, MAX_EXPONENT};

/// Reads the line that starts at `at`. Gives the step and where the next line starts.
#[inline]
pub(super) fn step(text: &[u8], at: usize) -> Option<(RawStep<'_>, usize)> {
    let mut cursor = Cursor { text, at };
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
    Some((step, cursor.at))
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// A decimal number: `mantissa / 10^decimals`, negative or not. At most 14 digits.
#[derive(Clone, Copy)]
struct Decimal {
    negative: bool,
    mantissa: u64,
    decimals: usize,
}

const POWERS: [u64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];
const POWERS_F64: [f64; 8] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];

impl Decimal {
    /// The double nearest to the number. Mantissa and power are exact doubles, so their
    /// quotient is rounded once (Clinger, "How to Read Floating Point Numbers Accurately").
    #[inline]
    fn to_f64(self) -> f64 {
        let value = self.mantissa as f64 / POWERS_F64[self.decimals & 7];
        if self.negative { -value } else { value }
    }

    /// The float nearest to the number, if rounding the double gives it for certain.
    ///
    /// Both roundings are monotone, and the midpoint between two neighbouring normal floats
    /// is itself a double. So a double that is not such a midpoint lies on the same side of
    /// every midpoint as the number itself, and rounds to the same float. A midpoint has
    /// exactly the highest of the 29 bits that a float does not keep. No number here is so
    /// small that it is no normal float, nor so large that it overflows.
    #[inline]
    fn to_f32(self) -> Option<f32> {
        const DROPPED: u64 = (1 << 29) - 1;
        let value = self.to_f64();
        (value.to_bits() & DROPPED != 1 << 28).then_some(value as f32)
    }
}

impl<'a> Cursor<'a> {
    #[inline]
    fn eat<const N: usize>(&mut self, word: &[u8; N]) -> bool {
        let found = self.text.get(self.at..self.at + N) == Some(word);
        if found {
            self.at += N;
        }
        found
    }

    #[inline]
    fn space(&mut self) {
        if self.text.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
    }

    #[inline]
    fn key<const N: usize>(&mut self, key: &[u8; N]) -> bool {
        let found = self.eat(key);
        if found {
            self.space();
        }
        found
    }

    #[inline]
    fn comma(&mut self) -> Option<()> {
        let found = self.eat(b",");
        self.space();
        found.then_some(())
    }

    /// The next eight bytes, with digits as 0 to 9, and how many digits they start with.
    #[inline]
    fn digits(&self) -> Option<(u64, u32)> {
        let bytes = self.text.get(self.at..self.at + 8)?;
        let word = u64::from_le_bytes(bytes.try_into().ok()?) ^ 0x3030_3030_3030_3030;
        // A byte over 9 gets its high bit here; carries only reach bytes after it.
        let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
        Some((word, others.trailing_zeros() / 8))
    }

    /// One to seven digits without a leading zero.
    #[inline]
    fn short_integer(&mut self) -> Option<u64> {
        let (word, count) = self.digits()?;
        if count == 0 || count == 8 || (count > 1 && word & 0xff == 0) {
            return None;
        }
        self.at += count as usize;
        Some(value_of(word << (64 - 8 * count)))
    }

    /// An unsigned integer of at most 18 digits.
    #[inline]
    fn integer(&mut self) -> Option<u64> {
        let (word, count) = self.digits()?;
        if count < 8 {
            return self.short_integer();
        }
        if word & 0xff == 0 {
            return None;
        }
        let mut value = value_of(word);
        self.at += 8;
        for _ in 0..11 {
            let digit = self.text.get(self.at)?.wrapping_sub(b'0');
            if digit > 9 {
                return Some(value);
            }
            value = value * 10 + u64::from(digit);
            self.at += 1;
        }
        None
    }

    /// A number of at most seven digits before and seven after the point, no exponent.
    #[inline]
    fn decimal(&mut self) -> Option<Decimal> {
        let negative = self.eat(b"-");
        let integer = self.short_integer()?;
        if !self.eat(b".") {
            return Some(Decimal { negative, mantissa: integer, decimals: 0 });
        }
        let (word, count) = self.digits()?;
        if count == 0 || count == 8 {
            return None;
        }
        self.at += count as usize;
        let fraction = value_of(word << (64 - 8 * count));
        let decimals = count as usize;
        let mantissa = integer * POWERS[decimals & 7] + fraction;
        Some(Decimal { negative, mantissa, decimals })
    }

    #[inline]
    fn branch(&mut self, to: Direction, evs: &mut [f32; 4], known: &mut u8) -> Option<()> {
        if !self.eat(b"null") {
            evs[to as usize] = self.decimal()?.to_f32()?;
            *known |= to.bit();
        }
        Some(())
    }

    #[inline]
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

    #[inline]
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
        let rest = self.text.get(self.at..)?;
        let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        let length = rest.iter().position(|byte| !plain(byte))?;
        let name = std::str::from_utf8(&rest[..length]).ok()?;
        self.at += length;
        self.eat(b"\"").then(|| ValuationType::named(name))
    }

    /// Sixteen exponents of one or two digits.
    #[inline]
    fn board(&mut self) -> Option<[u8; CELLS]> {
        // `[`, then at most two digits, a comma and a space for each cell.
        const LONGEST: usize = 4 * CELLS;
        if !self.eat(b"[") {
            return None;
        }
        let window: &[u8; LONGEST] = self.text.get(self.at..self.at + LONGEST)?.try_into().ok()?;
        // Every cell takes at most four bytes, so `i` is below 64 at the start of each and
        // the mask never changes an index of a board that is well formed.
        let byte = |i: usize| window[i & (LONGEST - 1)];
        let mut cells = [0; CELLS];
        let (mut i, mut bad) = (0, false);
        for (n, cell) in cells.iter_mut().enumerate() {
            let first = byte(i).wrapping_sub(b'0');
            let second = byte(i + 1).wrapping_sub(b'0');
            bad |= first > 9;
            let mut exponent = first;
            let mut length = 1;
            if second <= 9 {
                bad |= first != 1;
                exponent = 10 + second;
                length = 2;
            }
            bad |= exponent > MAX_EXPONENT;
            let separator = if n == CELLS - 1 { b']' } else { b',' };
            bad |= byte(i + length) != separator;
            i += length + 1;
            if byte(i) == b' ' && n != CELLS - 1 {
                i += 1;
            }
            *cell = exponent;
        }
        if bad {
            return None;
        }
        self.at += i;
        Some(cells)
    }
}

/// The value of eight decimal digits, one a byte, the first in the lowest byte.
#[inline]
fn value_of(digits: u64) -> u64 {
    const MASK: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & MASK).wrapping_mul(0x000f_4240_0000_0064);
    let low = (pairs >> 16 & MASK).wrapping_mul(0x0000_2710_0000_0001);
    high.wrapping_add(low) >> 32
}
