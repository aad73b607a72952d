//! Numbers as they pass through Python's `json` into the official renderer.
//!
//! Python reads a float exactly and writes it with `repr`. The renderer reads that text with serde_json
//! 1.0.140, which by default can be off by one unit in the last place, and writes it with ryu. All three
//! steps are done here, since newer versions of these crates differ.

use crate::json;

/// Returns the text that the official renderer shows for a literal of the input; `None` if it
/// refuses the literal (not finite, or an integer beyond floats).
pub(super) fn rendered(literal: &str) -> Option<String> {
    let (negative, digits) = match literal.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, literal),
    };
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return integer(negative, digits);
    }
    let value: f64 = literal.parse().ok()?;
    if !value.is_finite() {
        return None;
    }
    let repr = json::python_repr(value.abs());
    let (mantissa, exponent) = repr.split_once('e').unwrap_or((&repr, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // At most 17 digits and a zero: they fit.
    let significand = format!("{whole}{fraction}").parse().ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    let fraction_digits = i32::try_from(fraction.len()).ok()?;
    let read = scale(significand, exponent - fraction_digits)?;
    Some(ryu_text(if value.is_sign_negative() { -read } else { read }))
}

/// Returns an integer unchanged if it fits in u64 or i64. Otherwise it becomes a float: the digits that fit
/// in u64 are read, the others count as zeros.
fn integer(negative: bool, digits: &str) -> Option<String> {
    let mut significand = 0u64;
    let mut used = 0;
    for digit in digits.bytes() {
        let next = significand
            .checked_mul(10)
            .and_then(|shifted| shifted.checked_add(u64::from(digit - b'0')));
        match next {
            Some(next) => significand = next,
            None => break,
        }
        used += 1;
    }
    if used == digits.len() {
        if !negative || significand == 0 {
            return Some(significand.to_string());
        }
        if significand <= i64::MIN.unsigned_abs() {
            return Some(format!("-{significand}"));
        }
    }
    let value = scale(significand, i32::try_from(digits.len() - used).ok()?)?;
    Some(ryu_text(if negative { -value } else { value }))
}

/// Returns `significand * 10^exponent` as serde_json computes it: one rounding for the significand
/// and one for each scaling by a power of ten. `None` if it is too large.
fn scale(significand: u64, mut exponent: i32) -> Option<f64> {
    let mut value = significand as f64;
    while exponent < -308 && value != 0.0 {
        value /= 1e308;
        exponent += 308;
    }
    if value == 0.0 {
        return Some(value);
    }
    if exponent > 308 {
        return None;
    }
    let power: f64 = format!("1e{}", exponent.unsigned_abs()).parse().ok()?;
    value = if exponent < 0 { value / power } else { value * power };
    value.is_finite().then_some(value)
}

/// Returns a finite float in the style of ryu: the shortest digits that read back, in scientific
/// form from 1e16 on and below 1e-5.
fn ryu_text(value: f64) -> String {
    let shortest = format!("{value:e}");
    let exponent = shortest.split_once('e').and_then(|(_, text)| text.parse().ok()).unwrap_or(0);
    if (-5..16).contains(&exponent) { fixed(value) } else { shortest }
}

fn fixed(value: f64) -> String {
    let text = value.to_string();
    if text.contains('.') { text } else { text + ".0" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals() {
        let cases = [
            ("-0", Some("0")),
            ("-0.0", Some("-0.0")),
            ("1E3", Some("1000.0")),
            ("1.10", Some("1.1")),
            ("100000000000000000000000", Some("1e23")),
            ("18446744073709551615", Some("18446744073709551615")),
            ("18446744073709551616", Some("1.8446744073709552e19")),
            ("-9223372036854775808", Some("-9223372036854775808")),
            ("-9223372036854775809", Some("-9.223372036854776e18")),
            ("-1", Some("-1")),
            ("0.00001", Some("0.00001")),
            ("1e-6", Some("1e-6")),
            ("1e16", Some("1e16")),
            ("1e15", Some("1000000000000000.0")),
            ("5e-324", Some("5e-324")),
            ("1e-400", Some("0.0")),
            ("1e400", None),
            ("NaN", None),
            ("-Infinity", None),
        ];
        for (literal, expected) in cases {
            let found = rendered(literal);
            assert_eq!(found.as_deref(), expected, "{literal}");
        }
        assert!(rendered(&"9".repeat(400)).is_none());
    }
}
