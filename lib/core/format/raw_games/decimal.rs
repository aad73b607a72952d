//! Short decimal numbers: the text of eight digits to their value, and a number to the nearest float.
//! The caller knows where one begins and ends.

/// A decimal number: `mantissa / 10^decimals`, negative or not. At most 14 digits.
#[derive(Clone, Copy)]
pub(super) struct Decimal {
    pub negative: bool,
    pub mantissa: i64,
    pub decimals: usize,
}

pub(super) const POWERS: [i64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];
const POWERS_F64: [f64; 8] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];

impl Decimal {
    /// The double nearest to the number. Mantissa and power are exact doubles, so their
    /// quotient is rounded once (Clinger, "How to Read Floating Point Numbers Accurately").
    #[inline(always)]
    pub(super) fn to_f64(self) -> f64 {
        let value = self.mantissa as f64 / POWERS_F64[self.decimals & 7];
        f64::from_bits(value.to_bits() | u64::from(self.negative) << 63)
    }

    /// The float nearest to the number: rounding the nearest double gives it.
    ///
    /// Rounding twice goes wrong only where the double is a midpoint m of two floats and the
    /// number x is not, but is less than half a unit of doubles from it: 2^(e-53), where x
    /// has the exponent e. Midpoints are multiples of 2^(e-24) and x is one of 10^-7, so x
    /// and m are multiples of 2^(e-24) / 10^7, and if they differ, then by that much at
    /// least; which is more, as 10^7 is less than 2^29. (e is below 24, as x is below 10^7.) No
    /// x here is so small that its float is subnormal, nor too large for one.
    #[inline(always)]
    pub(super) fn to_f32(self) -> f32 {
        self.to_f64() as f32
    }
}

/// A number with its point after `POINT` digits and six digits after that, as millionths,
/// and its length.
#[inline(always)]
pub(super) fn micros<const POINT: usize>(text: &[u8; 12]) -> Option<(i64, usize)> {
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
    // The last digit before the point, the point, which is taken out, and six digits.
    let word = u64::from_le_bytes(*text[POINT - 1..].first_chunk()?) ^ 0x3030_3030_3030_3030;
    let digits = word & !0xffff | (word & 0xff) << 8;
    if (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    Some((high * POWERS[7] + value_of(digits) as i64, POINT + 7))
}

/// The value of eight decimal digits, one a byte, the first in the lowest byte.
#[inline(always)]
pub(super) fn value_of(digits: u64) -> u64 {
    const MASK: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & MASK).wrapping_mul(0x000f_4240_0000_0064);
    let low = (pairs >> 16 & MASK).wrapping_mul(0x0000_2710_0000_0001);
    high.wrapping_add(low) >> 32
}
