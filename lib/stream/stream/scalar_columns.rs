//! Builds columns of single JSON values: numbers, booleans, texts, and raw JSON.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::ArrowError;

use super::json_column::{JsonColumn, Problem, object, problem};
use crate::json::{Kind, Reader, integer_i64, integer_u64};
use crate::record::JsonForm;
use crate::record::columns::{Number, TextBuilder, null_buffer};
use crate::record::declare::ColumnBuilder;
use crate::record::nullable::NullableColumn;
use crate::record::quick::QuickColumn;

/// A number that JSON can have.
trait JsonNumber: Number + Send {
    /// Parses a number; fails if the type cannot hold it.
    fn parse(text: &str) -> Result<Self, Problem>;

    /// Converts an integer of a few digits, if the type can hold it.
    fn from_plain(integer: u32) -> Option<Self>;
}

macro_rules! json_numbers {
    ($($number:ty: $value:expr, $plain:expr, $what:literal;)*) => {$(
        impl JsonNumber for $number {
            fn parse(text: &str) -> Result<$number, Problem> {
                let value: fn(&str) -> Option<$number> = $value;
                value(text).ok_or_else(|| Problem(format!("{text} is {}", $what)))
            }

            #[inline(always)]
            fn from_plain(integer: u32) -> Option<$number> {
                let value: fn(u32) -> Option<$number> = $plain;
                value(integer)
            }
        }
    )*};
}

json_numbers! {
    i32: |text| integer_i64(text)?.try_into().ok(), |n| n.try_into().ok(), "not an int32";
    u8: |text| integer_i64(text)?.try_into().ok(), |n| n.try_into().ok(), "not a uint8";
    u32: |text| integer_i64(text)?.try_into().ok(), Some, "not a uint32";
    i64: integer_i64, |n| Some(n.into()), "not an int64";
    u64: integer_u64, |n| Some(n.into()), "not a uint64";
    f32: |text| text.parse().ok().filter(|value: &f32| value.is_finite()), |_| None,
        "no finite number of its type";
    f64: |text| text.parse().ok().filter(|value: &f64| value.is_finite()), |_| None,
        "no finite number of its type";
}

impl<T: JsonNumber> JsonColumn for NullableColumn<T> {
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), Problem> {
        match reader.peek()? {
            Kind::Number => {
                self.push(Some(T::parse(reader.number()?)?));
                Ok(())
            }
            kind => problem(format!("{kind} where a number should be")),
        }
    }

    fn read_some_items(&mut self, reader: &mut Reader<'_>) -> bool {
        let is_integer = T::from_plain(0).is_some();
        is_integer
            && reader.plain_integers(|integers| {
                // If the type can hold the largest integer, it can hold all.
                let largest = integers.iter().fold(0, |all, &integer| all.max(integer));
                let fits = T::from_plain(largest).is_some();
                if fits {
                    let value = |&integer| T::from_plain(integer).unwrap_or_default();
                    self.extend_known(integers.iter().map(value));
                }
                fits
            })
    }

    fn quick_column(&mut self) -> Option<QuickColumn<'_>> {
        Some(QuickColumn { values: self, ends: None })
    }

    fn push_null(&mut self) {
        self.push(None);
    }

    fn len(&self) -> usize {
        NullableColumn::len(self)
    }

    fn truncate(&mut self, rows: usize) {
        NullableColumn::truncate(self, rows);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        std::mem::take(self).build()
    }
}

#[derive(Default)]
pub(super) struct BooleanColumn(NullableColumn<bool>);

impl JsonColumn for BooleanColumn {
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), Problem> {
        match reader.peek()? {
            Kind::True | Kind::False => self.0.push(Some(reader.boolean()?)),
            kind => return problem(format!("{kind} where true or false should be")),
        }
        Ok(())
    }

    fn push_null(&mut self) {
        self.0.push(None);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn truncate(&mut self, rows: usize) {
        self.0.truncate(rows);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let (values, known) = std::mem::take(&mut self.0).into_parts();
        Ok(Arc::new(BooleanArray::new(values.into(), null_buffer(known))))
    }
}

#[derive(Default)]
pub(super) struct TextColumn {
    column: TextBuilder,
    /// A buffer for strings with escapes.
    scratch: String,
    /// Whether only strings are texts.
    is_exact: bool,
}

impl TextColumn {
    pub(super) fn new(is_exact: bool) -> TextColumn {
        TextColumn { is_exact, ..TextColumn::default() }
    }

    fn end_row(&mut self) -> Result<(), Problem> {
        let TextBuilder { bytes, ends } = &mut self.column;
        ends.push(bytes.len(), true);
        ends.check().map_err(|_| Problem("longer than 2^31 - 1 bytes".to_string()))
    }
}

impl JsonColumn for TextColumn {
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), Problem> {
        match reader.peek()? {
            Kind::String => {
                let text = reader.string()?.decode(&mut self.scratch)?;
                self.column.bytes.extend_from_slice(text.as_bytes());
            }
            // An id may be an integer; it is read as its decimal text.
            Kind::Number if !self.is_exact => {
                let text = reader.number()?;
                let digits = text.strip_prefix('-').unwrap_or(text);
                if !digits.bytes().all(|b| b.is_ascii_digit()) {
                    return problem(format!("{text} where a string should be"));
                }
                self.column.bytes.extend_from_slice(text.as_bytes());
            }
            kind => return problem(format!("{kind} where a string should be")),
        }
        self.end_row()
    }

    fn quick_column(&mut self) -> Option<QuickColumn<'_>> {
        Some(QuickColumn { values: &mut self.column, ends: None })
    }

    fn push_null(&mut self) {
        self.column.push(None);
    }

    fn len(&self) -> usize {
        self.column.rows()
    }

    fn truncate(&mut self, rows: usize) {
        let end = self.column.ends.truncate(rows);
        self.column.bytes.truncate(end);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        std::mem::take(&mut self.column).build()
    }
}

/// The raw text of any JSON values.
pub(super) struct JsonTextColumn {
    texts: TextColumn,
    form: JsonForm,
    /// The field's name in NDJSON.
    name: String,
}

impl JsonTextColumn {
    pub(super) fn new(form: JsonForm, name: String) -> JsonTextColumn {
        JsonTextColumn { texts: TextColumn::default(), form, name }
    }
}

impl JsonColumn for JsonTextColumn {
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), Problem> {
        let raw = match self.form {
            // (Who takes whole records parses them; until then they are not looked at.)
            JsonForm::Record => reader.rest(),
            _ => reader.raw()?,
        };
        if self.form == JsonForm::Value {
            object(raw).map_err(Problem)?;
        }
        let parts = match self.form {
            JsonForm::Value | JsonForm::Any | JsonForm::Record | JsonForm::Rest => {
                ["", "", "", raw, ""]
            }
            JsonForm::Member => ["{\"", &self.name, "\": ", raw, "}"],
        };
        let bytes = &mut self.texts.column.bytes;
        parts.iter().for_each(|part| bytes.extend_from_slice(part.as_bytes()));
        self.texts.end_row()
    }

    fn read_text(&mut self, reader: &mut Reader<'_>) -> Result<(), Problem> {
        let start = self.texts.column.bytes.len();
        self.texts.read(reader)?;
        let text = self.texts.column.bytes.get(start..).unwrap_or_default();
        match self.form {
            JsonForm::Value => object(&String::from_utf8_lossy(text)).map_err(Problem),
            // The reader of conversations says what is wrong with their messages.
            JsonForm::Member | JsonForm::Any | JsonForm::Record | JsonForm::Rest => Ok(()),
        }
    }

    fn push_null(&mut self) {
        self.texts.push_null();
    }

    fn len(&self) -> usize {
        self.texts.len()
    }

    fn truncate(&mut self, rows: usize) {
        self.texts.truncate(rows);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        self.texts.finish()
    }
}
