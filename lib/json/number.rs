//! The grammar of numbers, and their exact integers.

use super::{Error, MAX_LENIENT_DIGITS};

/// Returns the offset after the number that starts at `start`.
pub(super) fn end(text: &str, start: usize, lenient: bool) -> Result<usize, Error> {
    let bytes = text.as_bytes();
    let error = |offset| Error { offset, message: "expected a number" };
    let digits = |mut at: usize| {
        while let Some(b'0'..=b'9') = bytes.get(at) {
            at += 1;
        }
        at
    };
    let mut at = start;
    if lenient {
        for name in ["NaN", "Infinity", "-Infinity"] {
            if bytes[start..].starts_with(name.as_bytes()) {
                return Ok(start + name.len());
            }
        }
    }
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    let first = at;
    at = match bytes.get(at) {
        Some(b'0') => at + 1,
        Some(b'1'..=b'9') => digits(at),
        _ => return Err(error(start)),
    };
    let integer_digits = at - first;
    let mut integer = true;
    if bytes.get(at) == Some(&b'.') {
        integer = false;
        let fraction = at + 1;
        at = digits(fraction);
        if at == fraction {
            return Err(error(start));
        }
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        integer = false;
        let mut exponent = at + 1;
        if let Some(b'+' | b'-') = bytes.get(exponent) {
            exponent += 1;
        }
        at = digits(exponent);
        if at == exponent {
            return Err(error(start));
        }
    }
    if lenient && integer && integer_digits > MAX_LENIENT_DIGITS {
        return Err(Error { offset: start, message: "integer of more than 4300 digits" });
    }
    Ok(at)
}

/// Returns the value of a number's text if it is an integer in integer form (`1`, not `1.0` or
/// `1e3`) and fits; `-0` is 0.
pub fn integer_i64(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// Does the same as [`integer_i64`], for unsigned numbers.
pub fn integer_u64(text: &str) -> Option<u64> {
    if text == "-0" {
        return Some(0);
    }
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}
