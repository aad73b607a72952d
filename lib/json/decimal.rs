//! Reads short decimal numbers for callers that know the form of their text: eight digits to their value, and a number
//! to the nearest float.

const ONES: u64 = 0x0101_0101_0101_0101;
const ZEROS: u64 = ONES * b'0' as u64;

/// A decimal number: `mantissa / 10^decimals`, negative or not. At most 14 digits.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    /// Whether it has a sign; zero may have one.
    pub negative: bool,
    /// Its digits without the point.
    pub mantissa: i64,
    /// How many digits are after the point, at most seven.
    pub decimals: usize,
}

/// Returns the values of eight digits, one a byte, and the eighth bit of every byte that is not a
/// digit.
#[inline(always)]
pub(super) fn others(word: u64) -> (u64, u64) {
    let values = word ^ ZEROS;
    (values, (((values & (0x7f * ONES)) + 0x76 * ONES) | values) & (0x80 * ONES))
}

/// Powers of ten.
pub const POWERS: [i64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];
const POWERS_F64: [f64; 8] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];

impl Decimal {
    /// Returns the double nearest to the number. Mantissa and power are exact doubles, so their
    /// quotient is rounded once (Clinger, "How to Read Floating Point Numbers Accurately").
    #[inline(always)]
    pub fn to_f64(self) -> f64 {
        let value = self.mantissa as f64 / POWERS_F64[self.decimals & 7];
        f64::from_bits(value.to_bits() | u64::from(self.negative) << 63)
    }

    /// Reads a number of at most seven digits with a point among them, in eight bytes (nearly all values of
    /// games have this form), before a comma or a bracket. Returns it with the length of its text; returns
    /// `None` for other numbers, valid or not.
    #[inline(always)]
    pub fn read(text: &[u8; 10]) -> Option<(Decimal, usize)> {
        let negative = text[0] == b'-';
        let start = usize::from(negative);
        let text: &[u8; 9] = text.get(start..start + 9)?.first_chunk()?;
        let (values, others) = others(u64::from_le_bytes(*text.first_chunk()?));
        let point = others.trailing_zeros() as usize / 8;
        // The end of the number: eight if it has all eight bytes.
        let end = (others & others.wrapping_sub(1)).trailing_zeros() as usize / 8;
        let is_right = point > 0
            && end > point + 1
            && text[point] == b'.'
            && (point == 1 || text[0] != b'0')
            && matches!(text[end], b',' | b']');
        if !is_right {
            return None;
        }
        // The point is removed; the bytes after the last digit are shifted out.
        let before = values & ((1 << (8 * point)) - 1);
        let after = values >> 8 >> (8 * point) << (8 * point);
        let mantissa = value_of((before | after) << (72 - 8 * end)) as i64;
        Some((Decimal { negative, mantissa, decimals: end - point - 1 }, start + end))
    }

    /// Returns the float nearest to the number, by rounding the nearest double.
    ///
    /// Rounding twice is wrong only if the double is a midpoint m of two floats and the number x is not m,
    /// but is less than half a unit of doubles away from it: 2^(e-53), where e is the exponent of x. This
    /// cannot happen. Midpoints are multiples of 2^(e-24), and x is a multiple of 10^-7, so both are
    /// multiples of 2^(e-24) / 10^7 and differ by at least that. This is more than 2^(e-53), as 10^7 is less
    /// than 2^29. (e is below 24, as x is below 10^7.) No x here is so small that its float is subnormal, nor
    /// too large for a float.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        self.to_f64() as f32
    }
}

/// Reads a number with `POINT` digits before its point and six digits after it; returns its millionths and its
/// length.
#[inline(always)]
pub fn micros<const POINT: usize>(text: &[u8; 12]) -> Option<(i64, usize)> {
    let mut high = 0;
    for &byte in &text[..POINT - 1] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        high = high * 10 + i64::from(digit);
    }
    let leading_zero = POINT > 1 && text[0] == b'0';
    if leading_zero || text[POINT + 7].is_ascii_digit() {
        return None;
    }
    // The last digit before the point, the point, which is removed, and six digits.
    let word = u64::from_le_bytes(*text[POINT - 1..].first_chunk()?) ^ 0x3030_3030_3030_3030;
    let digits = word & !0xffff | (word & 0xff) << 8;
    if (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    Some((high * POWERS[7] + value_of(digits) as i64, POINT + 7))
}

/// Returns the value of eight decimal digits, one a byte, the first in the lowest byte.
#[inline(always)]
pub fn value_of(digits: u64) -> u64 {
    const MASK: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & MASK).wrapping_mul(0x000f_4240_0000_0064);
    let low = (pairs >> 16 & MASK).wrapping_mul(0x0000_2710_0000_0001);
    high.wrapping_add(low) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a number before a comma; returns the bits of its double and float, and its length.
    fn read(number: &str) -> Option<(u64, u32, usize)> {
        let text: [u8; 10] = format!("{number},          ").as_bytes()[..10].try_into().unwrap();
        let (decimal, length) = Decimal::read(&text)?;
        Some((decimal.to_f64().to_bits(), decimal.to_f32().to_bits(), length))
    }

    #[test]
    fn short_decimals_are_read_as_the_standard_library_reads_them() {
        for sign in ["", "-"] {
            for decimals in 1..7 {
                for digits in (0..10_000_000_u32).step_by(97).chain(0..10_000) {
                    let power = 10_u32.pow(decimals);
                    let (whole, rest) = (digits / power, digits % power);
                    let number = format!("{sign}{whole}.{rest:0width$}", width = decimals as usize);
                    let double: f64 = number.parse().unwrap();
                    let single: f32 = number.parse().unwrap();
                    let expected = (double.to_bits(), single.to_bits(), number.len());
                    assert_eq!(read(&number), Some(expected), "{number}");
                }
            }
        }
    }

    #[test]
    fn other_numbers_are_left_to_others() {
        for number in [
            "",
            "-",
            ".",
            "1",
            "12",
            "1.",
            ".5",
            "-.5",
            "00.5",
            "01.5",
            "1.5e3",
            "1.5.5",
            "1e5",
            "--1.5",
            "1.5 ",
            "1.5}",
            "12345.678",
            "1.2345678",
            "NaN",
            "null",
            "1:5",
            "1.5/",
            "+1.5",
        ] {
            assert_eq!(read(number), None, "{number}");
        }
    }
}
