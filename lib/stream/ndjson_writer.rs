//! Columns into NDJSON: one compact object a line, every field of the schema, nulls written out.
//!
//! Integers are printed as they are (a u64 seed too), floats in the shortest form that reads back
//! the same, non-finite floats as null. Text keeps its UTF-8.

use std::io::Write;

use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch, StructArray, cast::AsArray};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, FieldRef, SchemaRef};

use crate::json;
use crate::record::{JsonForm, ndjson_name};

/// Appends rows of batches to a buffer as lines.
pub struct Encoder {
    schema: SchemaRef,
    names: Names,
}

/// The members of a schema or struct as they are printed: `"name":`.
struct Names(Vec<Vec<u8>>);

impl Names {
    fn of<'a>(fields: impl IntoIterator<Item = &'a FieldRef>) -> Names {
        let label = |field: &FieldRef| {
            let mut label = Vec::new();
            json::write_string(&mut label, ndjson_name(field));
            label.push(b':');
            label
        };
        Names(fields.into_iter().map(label).collect())
    }
}

impl Encoder {
    pub fn new(schema: SchemaRef) -> Encoder {
        let names = Names::of(schema.fields());
        Encoder { schema, names }
    }

    /// All rows of a batch of the encoder's schema.
    pub fn encode(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        let columns: Result<Vec<Column>, ArrowError> = self
            .schema
            .fields()
            .iter()
            .zip(batch.columns())
            .map(|(field, column)| Column::new(field, column))
            .collect();
        let columns = columns?;
        for row in 0..batch.num_rows() {
            write_members(out, &self.names, &columns, row)?;
            out.push(b'\n');
        }
        Ok(())
    }
}

fn write_members(
    out: &mut Vec<u8>,
    names: &Names,
    columns: &[Column<'_>],
    row: usize,
) -> Result<(), ArrowError> {
    out.push(b'{');
    for (i, (name, column)) in names.0.iter().zip(columns).enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(name);
        column.write(out, row)?;
    }
    out.push(b'}');
    Ok(())
}

/// A column with its type resolved once, not for every row.
struct Column<'a> {
    array: &'a dyn Array,
    values: Values<'a>,
}

enum Values<'a> {
    Text(&'a arrow_array::StringArray),
    Json(&'a arrow_array::StringArray, JsonForm, String),
    Int32(&'a [i32]),
    UInt8(&'a [u8]),
    Signed(Box<dyn Fn(usize) -> i64 + 'a>),
    Unsigned(Box<dyn Fn(usize) -> u64 + 'a>),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    Boolean(&'a arrow_array::BooleanArray),
    List(&'a [i32], Box<Column<'a>>),
    Struct(Names, Vec<Column<'a>>),
    /// Anything else is converted to one of the above first.
    Converted(OwnedColumn),
    Null,
}

/// An array that was made for printing, with the field that says how.
struct OwnedColumn {
    field: FieldRef,
    array: ArrayRef,
}

impl<'a> Column<'a> {
    fn new(field: &FieldRef, array: &'a ArrayRef) -> Result<Column<'a>, ArrowError> {
        let values = match array.data_type() {
            DataType::Utf8 => {
                let text = array.as_string::<i32>();
                match JsonForm::of(field) {
                    Some(form) => Values::Json(text, form, ndjson_name(field).to_string()),
                    None => Values::Text(text),
                }
            }
            DataType::Int32 => Values::Int32(array.as_primitive::<Int32Type>().values()),
            DataType::UInt8 => Values::UInt8(array.as_primitive::<UInt8Type>().values()),
            DataType::Int8 => signed::<Int8Type>(array),
            DataType::Int16 => signed::<Int16Type>(array),
            DataType::Int64 => signed::<Int64Type>(array),
            DataType::UInt16 => unsigned::<UInt16Type>(array),
            DataType::UInt32 => unsigned::<UInt32Type>(array),
            DataType::UInt64 => unsigned::<UInt64Type>(array),
            DataType::Float32 => Values::Float32(array.as_primitive::<Float32Type>().values()),
            DataType::Float64 => Values::Float64(array.as_primitive::<Float64Type>().values()),
            DataType::Boolean => Values::Boolean(array.as_boolean()),
            DataType::List(item) => {
                let list = array.as_list::<i32>();
                let items = Column::new(item, list.values())?;
                Values::List(list.value_offsets(), Box::new(items))
            }
            DataType::Struct(fields) => {
                let columns: Result<Vec<Column>, ArrowError> = fields
                    .iter()
                    .zip(struct_columns(array.as_struct()))
                    .map(|(field, column)| Column::new(field, column))
                    .collect();
                Values::Struct(Names::of(fields), columns?)
            }
            DataType::Null => Values::Null,
            other => {
                let target = printable(other);
                let array = cast(array, &target)?;
                let field = FieldRef::new(field.as_ref().clone().with_data_type(target));
                Values::Converted(OwnedColumn { field, array })
            }
        };
        Ok(Column { array: array.as_ref(), values })
    }

    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        if self.array.is_null(row) {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        match &self.values {
            Values::Text(text) => json::write_string(out, text.value(row)),
            Values::Json(text, form, name) => {
                let text = text.value(row);
                let raw = match form {
                    JsonForm::Value => one_line(text),
                    JsonForm::Member => member(text, name).map(one_line).unwrap_or_else(|| {
                        // Not the object that it should be: the text itself loses nothing.
                        let mut quoted = Vec::new();
                        json::write_string(&mut quoted, text);
                        quoted
                    }),
                };
                out.extend_from_slice(&raw);
            }
            Values::Int32(values) => write_integer(out, values[row].into()),
            Values::UInt8(values) => write_integer(out, values[row].into()),
            Values::Signed(value) => write_integer(out, value(row)),
            Values::Unsigned(value) => write!(out, "{}", value(row))?,
            Values::Float32(values) => write_float(out, values[row])?,
            Values::Float64(values) => write_float(out, values[row])?,
            Values::Boolean(values) => {
                out.extend_from_slice(if values.value(row) { b"true" } else { b"false" });
            }
            Values::List(offsets, items) => {
                out.push(b'[');
                let range = offsets[row] as usize..offsets[row + 1] as usize;
                for (i, item) in range.enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    items.write(out, item)?;
                }
                out.push(b']');
            }
            Values::Struct(names, columns) => write_members(out, names, columns, row)?,
            Values::Converted(owned) => {
                Column::new(&owned.field, &owned.array)?.write(out, row)?;
            }
            Values::Null => out.extend_from_slice(b"null"),
        }
        Ok(())
    }
}

fn struct_columns(array: &StructArray) -> &[ArrayRef] {
    array.columns()
}

fn signed<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef) -> Values<'_> {
    let values = array.as_primitive::<T>().values();
    Values::Signed(Box::new(move |row| values[row].into()))
}

fn unsigned<T: ArrowPrimitiveType<Native: Into<u64>>>(array: &ArrayRef) -> Values<'_> {
    let values = array.as_primitive::<T>().values();
    Values::Unsigned(Box::new(move |row| values[row].into()))
}

/// The type that a column of a type of its own is printed as.
fn printable(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        DataType::LargeList(item) | DataType::FixedSizeList(item, _) | DataType::ListView(item) => {
            DataType::List(item.clone())
        }
        DataType::Float16 => DataType::Float32,
        _ => DataType::Utf8,
    }
}

/// The raw text of one member of an object.
fn member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut found = None;
    let mut reader = json::Reader::lenient(text);
    let read: Result<(), json::Error> = reader.object(|reader, key| {
        if key.eq_str(name) {
            found = Some(reader.raw()?);
            Ok(())
        } else {
            reader.skip()
        }
    });
    read.ok().and(found)
}

/// JSON text without raw newlines (they can only be white space between tokens).
fn one_line(text: &str) -> Vec<u8> {
    let breaks = |byte: &u8| matches!(byte, b'\n' | b'\r');
    text.bytes().filter(|byte| !breaks(byte)).collect()
}

fn write_integer(out: &mut Vec<u8>, value: i64) {
    // Token ids: a few digits each, by far the most common value in our streams.
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        start -= 1;
        digits[start] = b'-';
    }
    out.extend_from_slice(&digits[start..]);
}

/// The shortest form that reads back the same; JSON has no other for what is not finite than null.
fn write_float<F: Into<f64> + Copy + serde::Serialize>(
    out: &mut Vec<u8>,
    value: F,
) -> Result<(), ArrowError> {
    if !value.into().is_finite() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    serde_json::to_writer(out, &value).map_err(|e| ArrowError::JsonError(e.to_string()))
}
