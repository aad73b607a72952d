//! JSON as Python's `json.dumps` writes it: ASCII only, floats as `repr` writes them.

mod strings;

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

pub use strings::{write_ascii_string, write_repr_string};

/// The separators between the items of an array or object, and after a key.
#[derive(Clone, Copy, Debug)]
pub struct PythonFormatter {
    item: &'static [u8],
    key: &'static [u8],
}

impl PythonFormatter {
    /// The separators of `json.dumps` by default.
    pub const SPACED: PythonFormatter = PythonFormatter { item: b", ", key: b": " };
    /// The separators of `separators=(",", ":")`.
    pub const COMPACT: PythonFormatter = PythonFormatter { item: b",", key: b":" };

    /// Returns the text of a value. Members of a struct are in the order of its declaration.
    pub fn text(self, value: &impl Serialize) -> serde_json::Result<String> {
        let mut text = Vec::new();
        value.serialize(&mut Serializer::with_formatter(&mut text, self))?;
        Ok(String::from_utf8(text).unwrap_or_default())
    }

    fn begin_item<W: Write + ?Sized>(&self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(self.item) }
    }
}

impl Formatter for PythonFormatter {
    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.begin_item(out, first)
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.begin_item(out, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(self.key)
    }

    fn write_f64<W: Write + ?Sized>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        out.write_all(repr(value).as_bytes())
    }

    /// Writes a part of a string in which only characters beyond ASCII are escaped.
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut written = 0;
        for (at, c) in fragment.char_indices().filter(|(_, c)| !matches!(c, ' '..='~')) {
            out.write_all(&fragment.as_bytes()[written..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.write_all(&strings::escape(*unit))?;
            }
            written = at + c.len_utf8();
        }
        out.write_all(&fragment.as_bytes()[written..])
    }
}

/// Returns a finite float as Python's `repr` writes it: the shortest digits that read back, in
/// scientific form from 1e16 on and below 1e-4.
pub fn repr(value: f64) -> String {
    let shortest = nearest(value, format!("{value:e}"));
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let fixed = fixed(mantissa, exponent);
    if fixed.contains('.') { fixed } else { fixed + ".0" }
}

/// Returns the text with the fewest digits that is nearest to the value; the even one if two are equally near. (Rust
/// does not choose the even one.)
fn nearest(value: f64, shortest: String) -> String {
    let mantissa = shortest.split('e').next().unwrap_or_default();
    let decimals = mantissa.split('.').nth(1).map_or(0, str::len);
    let rounded = format!("{value:.decimals$e}");
    if rounded.parse() == Ok(value) { rounded } else { shortest }
}

/// Returns a number in scientific form with an exponent from -4 to 15 as digits, with a point if one is needed.
fn fixed(mantissa: &str, exponent: i32) -> String {
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(|digit| *digit != '.').collect();
    match usize::try_from(exponent) {
        Err(_) => format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1)),
        Ok(exponent) if digits.len() <= exponent + 1 => {
            format!("{sign}{digits}{}", "0".repeat(exponent + 1 - digits.len()))
        }
        Ok(exponent) => {
            let (whole, rest) = digits.split_at(exponent + 1);
            format!("{sign}{whole}.{rest}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repr_is_pythons() {
        let cases = [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00012, "0.00012"),
            (0.00001, "1e-05"),
            (0.000012, "1.2e-05"),
            (1e-100, "1e-100"),
            (5e-324, "5e-324"),
            (123456.789, "123456.789"),
            (100.0, "100.0"),
            (-20.5, "-20.5"),
            (-0.00123, "-0.00123"),
            // Two texts of 16 digits are equally near.
            (2.503_395_080_566_406_3e-6, "2.5033950805664062e-06"),
            (514.188_781_738_281_3, "514.1887817382812"),
            (-514.188_781_738_281_3, "-514.1887817382812"),
        ];
        for (value, expected) in cases {
            assert_eq!(repr(value), expected);
        }
    }

    /// Python: `json.dumps(["é😀\"\\\n\x1f\x7f", {"a": 1e-05, "b": None}])`.
    #[test]
    fn texts_are_those_of_json_dumps() {
        let value = serde_json::json!(["é😀\"\\\n\u{1f}\u{7f}", {"a": 1e-5, "b": null}]);
        let spaced = r#"["\u00e9\ud83d\ude00\"\\\n\u001f\u007f", {"a": 1e-05, "b": null}]"#;
        assert_eq!(PythonFormatter::SPACED.text(&value).unwrap(), spaced);
        let compact = spaced.replace(", ", ",").replace(": ", ":");
        assert_eq!(PythonFormatter::COMPACT.text(&value).unwrap(), compact);
    }
}
