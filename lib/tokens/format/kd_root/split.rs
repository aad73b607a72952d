//! The deterministic split: a conversation is valid or train by its id alone.

use std::str::FromStr;

use blake2::digest::consts::U8;
use blake2::{Blake2b, Digest};

use crate::record::conversation::chat_of;

/// A fraction between 0 and 1, with the exact value of its decimal digits (0.001 is not the binary
/// float nearest to it).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValidFraction {
    /// floor(fraction × 2^64); 2^64 for 1.
    threshold: u128,
    /// The binary float nearest to the fraction, for the manifest.
    float: f64,
}

impl ValidFraction {
    /// The fraction 0: all is train.
    pub const NONE: ValidFraction = ValidFraction { threshold: 0, float: 0.0 };

    /// Whether the conversation with this id is in the valid split: blake2b-8(id), read as a
    /// big-endian number, is less than floor(fraction × 2^64). Conversations that were made of one chat (`ID#1`, `ID#2`)
    /// are in the split of its id.
    pub fn is_valid(&self, id: &str) -> bool {
        u128::from(blake2b_8(chat_of(id).as_bytes())) < self.threshold
    }

    /// Returns the binary float nearest to the fraction.
    pub fn as_f64(&self) -> f64 {
        self.float
    }
}

/// Returns blake2b with a digest of 8 bytes as a big-endian number. (The digest size is a parameter
/// of the hash: this is not a truncated longer digest.)
fn blake2b_8(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(Blake2b::<U8>::digest(bytes).into())
}

/// Why a text is not a fraction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a decimal number from 0 to 1, as in 0.001")]
pub struct FractionError;

impl FromStr for ValidFraction {
    type Err = FractionError;

    fn from_str(text: &str) -> Result<ValidFraction, FractionError> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                (mantissa, exponent.parse::<i32>().map_err(|_| FractionError)?)
            }
            None => (text, 0),
        };
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: Vec<u8> = whole.bytes().chain(part.bytes()).collect();
        let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        if !plain || exponent.abs() > 400 {
            return Err(FractionError);
        }
        // The value is 0.d1 d2 d3 ... × 10^point.
        let point = whole.len() as i32 + exponent;
        let digits: Vec<u8> = digits.iter().map(|digit| digit - b'0').collect();
        let significant = digits.iter().position(|&d| d != 0).unwrap_or(digits.len());
        let leading = point - significant as i32;
        let digits = &digits[significant..];
        let float: f64 = text.parse().map_err(|_| FractionError)?;
        let threshold = match leading {
            _ if digits.is_empty() => 0,
            1 if digits[0] == 1 && digits[1..].iter().all(|&d| d == 0) => 1 << 64,
            1.. => return Err(FractionError),
            _ => {
                let mut decimals = vec![0u8; leading.unsigned_abs() as usize];
                decimals.extend_from_slice(digits);
                floor_times_2_64(decimals)
            }
        };
        Ok(ValidFraction { threshold, float })
    }
}

/// Returns floor(0.d1 d2 d3 ... × 2^64); doubles the decimal digits 64 times.
fn floor_times_2_64(mut decimals: Vec<u8>) -> u128 {
    let mut result = 0u128;
    for _ in 0..64 {
        let mut carry = 0;
        for digit in decimals.iter_mut().rev() {
            let doubled = *digit * 2 + carry;
            (*digit, carry) = (doubled % 10, doubled / 10);
        }
        result = result << 1 | u128::from(carry);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threshold(text: &str) -> Option<u128> {
        text.parse::<ValidFraction>().ok().map(|fraction| fraction.threshold)
    }

    /// Python: `int(decimal.Decimal(text) * 2**64)` with enough precision.
    #[test]
    fn fractions_are_exact() {
        assert_eq!(threshold("0"), Some(0));
        assert_eq!(threshold("0.0"), Some(0));
        assert_eq!(threshold("1"), Some(1 << 64));
        assert_eq!(threshold("1.000"), Some(1 << 64));
        assert_eq!(threshold("0.5"), Some(1 << 63));
        assert_eq!(threshold(".5"), Some(1 << 63));
        assert_eq!(threshold("5e-1"), Some(1 << 63));
        assert_eq!(threshold("0.001"), Some(18_446_744_073_709_551));
        assert_eq!(threshold("1e-3"), Some(18_446_744_073_709_551));
        assert_eq!(threshold("0.0001e1"), Some(18_446_744_073_709_551));
        assert_eq!(threshold("0.1"), Some(1_844_674_407_370_955_161));
        assert_eq!(threshold("0.99999999999999999999999"), Some((1 << 64) - 1));
        for bad in ["", ".", "1.1", "2", "-0.1", "+0.1", "nan", "inf", "1e1", "0x1", "0.1 ", "e-1"]
        {
            assert_eq!(threshold(bad), None, "{bad:?}");
        }
    }

    /// Python: `hashlib.blake2b(b"", digest_size=8).hexdigest()`.
    #[test]
    fn the_hash_is_python_s() {
        assert_eq!(blake2b_8(b""), 0xe4a6_a057_7479_b2b4);
    }
}
