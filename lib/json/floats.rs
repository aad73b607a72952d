//! Writes floats in the shortest form that reads back the same. Most values of games have few decimals: these are
//! written with a table of integers of three digits. All others are written by serde_json. The bytes are the same.

use super::integers::{LARGE, POINTS, three, with_end};

/// How many bytes must be there to write a float.
pub const FLOAT_TEXT: usize = 32;

/// A float that can be written.
pub trait Float: Copy {
    /// Writes a finite number at the beginning of a text and returns its length; bytes after it are
    /// overwritten, too. (For other numbers the text is `null`.)
    fn write(self, text: &mut [u8; FLOAT_TEXT]) -> usize;
}

impl Float for f64 {
    #[inline]
    fn write(self, text: &mut [u8; FLOAT_TEXT]) -> usize {
        let (millionths, rounded) = round(self.abs() * 1e6);
        // The number is rounded once. At most fifteen digits are the shortest form of a double if
        // they read back as that double.
        let is_exact = rounded < 1e15 && rounded / 1e6 == self.abs();
        let (whole, fraction) = (millionths / 1_000_000, (millionths % 1_000_000) as u32);
        // Smaller numbers have an exponent, and larger ones are not in the tables.
        let is_usual = whole < u64::from(LARGE) && !(1..100).contains(&millionths);
        if !is_exact || !is_usual {
            return write_any(text, self);
        }
        write_parts(text, self.is_sign_negative(), whole as u32, fraction / 1000, fraction % 1000)
    }
}

impl Float for f32 {
    /// A decimal reads back as this float if it is nearer than half the distance of two floats. It is the
    /// shortest form if decimals of this length are further apart than floats, because then no other decimal
    /// of this length, and none with fewer digits, reads back as this float.
    #[inline]
    fn write(self, text: &mut [u8; FLOAT_TEXT]) -> usize {
        let value = f64::from(self.abs());
        // Floats below 16 are 2^-20 apart at most, and below 16384 2^-10. The products are exact.
        let is_small = value < 16.0;
        let power = if is_small { 1e6 } else { 1e3 };
        let scaled = value * power;
        let (decimals, rounded) = round(scaled);
        let decimals = decimals as u32;
        let half = f64::from_bits(value.to_bits() & f64::INFINITY.to_bits()) * (power / HALVES);
        let distance = (scaled - rounded).abs();
        // Below a power of two floats are nearer together.
        let is_power = self.to_bits() << 9 == 0;
        let is_nearest = distance == 0.0 || (distance < half && !is_power);
        if value >= 16384.0 || !is_nearest || (is_small && (1..100).contains(&decimals)) {
            return write_any(text, self);
        }
        let (whole, high, low) = match is_small {
            true => (decimals / 1_000_000, decimals / 1000 % 1000, decimals % 1000),
            false => (decimals / 1000, decimals % 1000, 0),
        };
        write_parts(text, self.is_sign_negative(), whole, high, low)
    }
}

/// 2^24: a float's power of two divided by it is half of the distance to the next float.
const HALVES: f64 = (1 << 24) as f64;

/// Returns the nearest integer of a number below 2^51. (For other numbers the result is not valid.)
#[inline(always)]
fn round(value: f64) -> (u64, f64) {
    const SHIFT: f64 = (1_u64 << 52) as f64;
    let shifted = value + SHIFT;
    (shifted.to_bits() & ((1 << 52) - 1), shifted - SHIFT)
}

/// Writes a number below [`LARGE`] from its thousandths and millionths, without the zeros at its
/// end; returns its length.
#[inline(always)]
fn write_parts(
    text: &mut [u8; FLOAT_TEXT],
    negative: bool,
    whole: u32,
    high: u32,
    low: u32,
) -> usize {
    let mut put = |at: usize, word: u64| {
        if let Some(room) = text.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *room = word.to_le_bytes();
        }
    };
    put(0, u64::from(b'-'));
    let mut at = usize::from(negative);
    let (word, length) = with_end(whole, &POINTS);
    put(at, word);
    at += length;
    let (mut word, mut length) = fraction_of(high);
    if low > 0 {
        let (last, more) = fraction_of(low);
        (word, length) = (u64::from(three(high)) | last << 24, 3 + more);
    }
    put(at, word);
    at + length
}

/// Returns the text of a number of thousandths after a point, the first digit in the lowest byte,
/// and its length.
#[inline(always)]
fn fraction_of(thousandths: u32) -> (u64, usize) {
    let entry = FRACTIONS.get(thousandths as usize).copied().unwrap_or_default();
    (u64::from(entry & 0xff_ffff), (entry >> 24) as usize)
}

/// Three digits without the zeros at their end, the first in the lowest byte; the highest byte is
/// the number of digits.
static FRACTIONS: [u32; 1000] = {
    let mut fractions = [0; 1000];
    let mut value = 0;
    while value < 1000 {
        let digits = match (value % 10, value % 100) {
            (_, 0) => 1,
            (0, _) => 2,
            _ => 3,
        };
        fractions[value as usize] = three(value) & (u32::MAX >> (32 - 8 * digits)) | digits << 24;
        value += 1;
    }
    fractions
};

#[cold]
#[inline(never)]
fn write_any(text: &mut [u8; FLOAT_TEXT], value: impl serde::Serialize) -> usize {
    let mut rest = text.as_mut_slice();
    // The longest text of a double has 24 bytes.
    let _ = serde_json::to_writer(&mut rest, &value);
    let left = rest.len();
    FLOAT_TEXT - left
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the text of a number is what serde_json writes.
    fn check<T: Float + serde::Serialize + std::fmt::Debug>(value: T) {
        let mut text = [b'x'; FLOAT_TEXT];
        let length = value.write(&mut text);
        let expected = serde_json::to_string(&value).unwrap();
        assert_eq!(String::from_utf8_lossy(&text[..length]), expected, "{value:?}");
    }

    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }
    }

    #[test]
    fn floats_are_written_as_serde_json_writes_them() {
        let mut random = Random(0x1234_5678_9abc_def1);
        for _ in 0..400_000 {
            let bits = random.next();
            check(f64::from_bits(bits));
            check(f32::from_bits(bits as u32));
            // Numbers of the usual sizes: any, decimals, and their neighbours.
            let decimals = 10_f64.powi((bits % 8) as i32);
            let decimal = ((bits >> 20) % 100_000_000) as f64 / decimals;
            let decimal = if bits >> 63 == 1 { -decimal } else { decimal };
            for value in [decimal, decimal.next_up(), decimal.next_down()] {
                check(value);
            }
            let decimal = decimal as f32;
            for value in [decimal, decimal.next_up(), decimal.next_down()] {
                check(value);
            }
            check(f32::from_bits(0x3000_0000 + (bits as u32) % 0x1800_0000));
        }
    }

    #[test]
    fn floats_at_every_limit_are_written_as_serde_json_writes_them() {
        for exponent in -160..150 {
            let power = 2_f64.powi(exponent);
            for value in [power, -power, power.next_up(), power.next_down(), power * 3.0] {
                check(value);
                check(value as f32);
                check((value as f32).next_up());
                check((value as f32).next_down());
            }
        }
        for exponent in -44..40 {
            let power: f64 = format!("1e{exponent}").parse().unwrap();
            for value in [power, -power, power.next_up(), power.next_down(), power * 9.0] {
                check(value);
                check(value as f32);
                check((value as f32).next_up());
                check((value as f32).next_down());
            }
        }
        for value in [0.0, -0.0, f64::NAN, f64::INFINITY, f64::MIN, f64::MAX, f64::EPSILON] {
            check(value);
            check(value as f32);
        }
        for thousandths in 0..20_000_000 {
            let value = f64::from(thousandths) / 1e3;
            let is_some = thousandths % 7 == 0 || thousandths < 100_000;
            if is_some {
                check(value as f32);
            }
        }
    }
}
