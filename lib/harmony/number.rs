//! Numbers on their way through Python's `json` into serde_json, which renders them.
//!
//! Python reads a float exactly and writes it by `repr`; serde_json, as the official package
//! builds it, reads that by a faster way that can be off by one unit in the last place. So the
//! detour is taken here too.

use serde_json::Number;

/// The number that the official renderer has in hand for a literal of the input; `None` if
/// it refuses it (not finite, or an integer beyond floats).
pub(super) fn rendered(literal: &str) -> Option<Number> {
    if literal == "-0" {
        return Some(Number::from(0));
    }
    let is_integer = literal.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
    if is_integer {
        return serde_json::from_str(literal).ok();
    }
    let value: f64 = literal.parse().ok()?;
    if !value.is_finite() {
        return None;
    }
    serde_json::from_str(&python_repr(value)).ok()
}

/// A finite float as Python's `repr` writes it: the shortest digits that read back, in
/// scientific form from 1e16 on and below 1e-4.
fn python_repr(value: f64) -> String {
    let shortest = format!("{value:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let fixed = format!("{value}");
    if fixed.contains('.') { fixed } else { fixed + ".0" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repr_is_pythons() {
        let cases = [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (5e-324, "5e-324"),
            (123456.789, "123456.789"),
        ];
        for (value, expected) in cases {
            assert_eq!(python_repr(value), expected);
        }
    }

    #[test]
    fn literals() {
        let cases = [
            ("-0", Some("0")),
            ("-0.0", Some("-0.0")),
            ("1E3", Some("1000.0")),
            ("1.10", Some("1.1")),
            ("100000000000000000000000", Some("1e23")),
            ("18446744073709551615", Some("18446744073709551615")),
            ("1e400", None),
            ("NaN", None),
            ("-Infinity", None),
        ];
        for (literal, expected) in cases {
            let found = rendered(literal).map(|number| number.to_string());
            assert_eq!(found.as_deref(), expected, "{literal}");
        }
        assert!(rendered(&"9".repeat(400)).is_none());
    }
}
