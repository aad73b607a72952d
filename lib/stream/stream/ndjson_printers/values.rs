//! Printers of single values.

use std::ops::Range;

use arrow_array::{ArrayAccessor, BooleanArray, FixedSizeBinaryArray, StringArray};
use arrow_buffer::NullBuffer;
use arrow_schema::ArrowError;

use super::{Nulls, Printer, json_member, no_json, write_each};
use crate::digest::hex;
use crate::json::{self, FLOAT_TEXT, Float, python_repr};
use crate::record::JsonForm;

/// Texts, of any type of text.
pub(super) struct TextPrinter<T>(pub T);

impl<'a, T: ArrayAccessor<Item = &'a str>> Printer for TextPrinter<T> {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        json::write_string(out, self.0.value(row));
        Ok(())
    }
}

/// Texts that are JSON, and the field's name in NDJSON.
pub(super) struct JsonPrinter<'a>(pub &'a StringArray, pub JsonForm, pub String);

impl Printer for JsonPrinter<'_> {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        let JsonPrinter(texts, form, name) = self;
        let text = texts.value(row);
        let value = match form {
            JsonForm::Value | JsonForm::Any | JsonForm::Record | JsonForm::Rest => Some(text),
            JsonForm::Member => json_member(text, name).ok(),
        };
        match value {
            Some(value) => write_line(out, value),
            // A text that should be an object and is not: it is printed as it is, so that nothing is lost.
            None => json::write_string(out, text),
        }
        Ok(())
    }
}

/// Texts of another program that are JSON.
pub(super) struct JsonTexts<T>(pub T);

impl<'a, T: ArrayAccessor<Item = &'a str>> Printer for JsonTexts<T> {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        let text = self.0.value(row);
        let mut reader = json::Reader::new(text);
        let read = reader.skip().and_then(|()| reader.end());
        read.or_else(|error| no_json(format!("holds no JSON: {error}")))?;
        write_line(out, text);
        Ok(())
    }
}

pub(super) struct IntegerPrinter<'a, T>(pub &'a [T]);

impl<T: itoa::Integer + TryInto<u32> + Copy> Printer for IntegerPrinter<'_, T> {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        out.extend_from_slice(itoa::Buffer::new().format(self.0[row]).as_bytes());
        Ok(())
    }

    fn write_items(
        &self,
        out: &mut Vec<u8>,
        range: Range<usize>,
        nulls: Option<&NullBuffer>,
    ) -> Result<(), ArrowError> {
        if nulls.is_some() {
            return write_each(self, out, range, nulls);
        }
        json::write_integers(out, &self.0[range]);
        Ok(())
    }
}

pub(super) struct FloatPrinter<'a, T>(pub &'a [T], pub Nulls);

impl<T: Float + Into<f64>> Printer for FloatPrinter<'_, T> {
    /// Writes the shortest form that reads back the same. JSON has no numbers that are not finite.
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        let value = self.0[row];
        let number = value.into();
        if !number.is_finite() {
            let name: &[u8] = match self.1 {
                Nulls::Written | Nulls::LeftOut => {
                    return no_json(format!("{} is no number of JSON", python_repr(number)));
                }
                Nulls::Filled => b"NaN",
                Nulls::Verbatim | Nulls::Shown if number.is_nan() => b"NaN",
                Nulls::Verbatim | Nulls::Shown if number > 0.0 => b"Infinity",
                Nulls::Verbatim | Nulls::Shown => b"-Infinity",
            };
            out.extend_from_slice(name);
            return Ok(());
        }
        let mut text = [0; FLOAT_TEXT];
        let length = value.write(&mut text);
        out.extend_from_slice(&text[..length]);
        Ok(())
    }
}

impl Printer for &BooleanArray {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        out.extend_from_slice(if self.value(row) { b"true" } else { b"false" });
        Ok(())
    }
}

/// Integers of 8 bits, printed as booleans: 0 is false, all others are true.
pub(super) struct ByteBooleans<'a>(pub &'a [i8]);

impl Printer for ByteBooleans<'_> {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        out.extend_from_slice(if self.0[row] != 0 { b"true" } else { b"false" });
        Ok(())
    }
}

pub(super) struct NullPrinter;

impl Printer for NullPrinter {
    fn write(&self, out: &mut Vec<u8>, _row: usize) -> Result<(), ArrowError> {
        out.extend_from_slice(b"null");
        Ok(())
    }
}

/// Bytes that are text.
pub(super) struct BytesPrinter<T>(pub T);

impl<'a, T: ArrayAccessor<Item = &'a [u8]>> Printer for BytesPrinter<T> {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        let text = std::str::from_utf8(self.0.value(row)).or_else(|_| no_json("not UTF-8"))?;
        json::write_string(out, text);
        Ok(())
    }
}

/// UUIDs in their usual form: 8, 4, 4, 4 and 12 hexadecimal digits.
pub(super) struct UuidPrinter<'a>(pub &'a FixedSizeBinaryArray);

impl Printer for UuidPrinter<'_> {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        let digits = hex(self.0.value(row));
        let groups = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| &digits[range]);
        json::write_string(out, &groups.join("-"));
        Ok(())
    }
}

/// Exact decimals without an exponent: the integers, and how many of their digits are after the
/// point.
pub(super) struct DecimalPrinter<'a, T>(pub &'a [T], pub i8);

impl<T: std::fmt::Display> Printer for DecimalPrinter<'_, T> {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        let integer = self.0[row].to_string();
        let (sign, digits) = match integer.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", integer.as_str()),
        };
        let behind = usize::try_from(self.1).unwrap_or(0);
        // At least one digit is before the point.
        let digits = format!("{digits:0>width$}", width = behind + 1);
        let (whole, fraction) = digits.split_at(digits.len() - behind);
        let zeros = if whole == "0" { 0 } else { usize::from(self.1.min(0).unsigned_abs()) };
        let point = if behind > 0 { "." } else { "" };
        let number = [sign, whole, &"0".repeat(zeros), point, fraction].concat();
        out.extend_from_slice(number.as_bytes());
        Ok(())
    }
}

/// Writes JSON text without raw newlines (they can only be white space between tokens).
fn write_line(out: &mut Vec<u8>, text: &str) {
    let lines = text.as_bytes().split(|byte| matches!(byte, b'\n' | b'\r'));
    lines.for_each(|line| out.extend_from_slice(line));
}
