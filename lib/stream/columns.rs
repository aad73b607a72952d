//! Columns being built from JSON values, one for each type of field that our records have.

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, ListArray, PrimitiveArray, StringArray, StructArray,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields};

use crate::json::{Kind, Reader, Str, integer_i64, integer_u64};
use crate::record::{JsonForm, ndjson_name};

/// A member of an object and its column.
pub(super) struct NamedColumn {
    /// The name in NDJSON.
    name: String,
    /// A JSON column's own name: under it NDJSON may have the text instead of the value.
    text_name: Option<String>,
    nullable: bool,
    pub(super) column: Column,
}

impl NamedColumn {
    fn is_named(&self, key: &Str<'_>) -> bool {
        key.eq_str(&self.name) || self.text_name.as_ref().is_some_and(|name| key.eq_str(name))
    }
}

/// Why a line is no record of the type.
pub(super) struct Problem(pub(super) String);

impl From<crate::json::Error> for Problem {
    fn from(error: crate::json::Error) -> Problem {
        Problem(format!("invalid JSON: {error}"))
    }
}

fn problem<T>(text: impl Into<String>) -> Result<T, Problem> {
    Err(Problem(text.into()))
}

pub(super) fn named_columns(fields: &Fields) -> Result<Vec<NamedColumn>, ArrowError> {
    let named = |field: &FieldRef| {
        Ok(NamedColumn {
            name: ndjson_name(field).to_string(),
            text_name: JsonForm::of(field).map(|_| field.name().clone()),
            nullable: field.is_nullable(),
            column: Column::new(field)?,
        })
    };
    fields.iter().map(named).collect()
}

/// One object into the columns of a schema or struct, as row `row`.
pub(super) fn read_object(
    reader: &mut Reader<'_>,
    fields: &mut [NamedColumn],
    row: usize,
) -> Result<(), Problem> {
    if reader.peek()? != Kind::Object {
        return problem(format!("{} where an object should be", reader.peek()?));
    }
    // Records usually have their fields in one order: look first where the next should be.
    let mut expected = 0;
    reader.object(|reader, key: Str<'_>| {
        let found = match fields.get(expected) {
            Some(field) if key.eq_str(&field.name) => Some(expected),
            _ => fields.iter().position(|field| field.is_named(&key)),
        };
        let Some(index) = found else { return Ok(reader.skip()?) };
        expected = index + 1;
        let as_text = !key.eq_str(&fields[index].name);
        let NamedColumn { name, nullable, column, .. } = &mut fields[index];
        // A repeated field: the last one counts.
        column.truncate(row);
        if reader.peek()? == Kind::Null {
            reader.null()?;
            if !*nullable {
                return problem(format!("{name} is null"));
            }
            column.push_null();
            return Ok(());
        }
        let read = match column {
            Column::Json(text, ..) if as_text => text.read(reader),
            column => column.read(reader),
        };
        read.map_err(|Problem(text)| Problem(within(name, text)))
    })?;
    for NamedColumn { name, nullable, column, .. } in fields {
        if column.len() == row {
            if !*nullable {
                return problem(format!("{name} is missing"));
            }
            column.push_null();
        }
    }
    Ok(())
}

/// Puts a field's name before what is wrong in it; a syntax error has its own place.
fn within(name: &str, text: String) -> String {
    if text.starts_with("invalid JSON") { text } else { format!("{name}: {text}") }
}

/// A column being built.
pub(super) enum Column {
    Text(Text),
    /// The raw text of any JSON value.
    Json(Text, JsonForm, String),
    Int32(Numbers<Int32Type>),
    UInt8(Numbers<UInt8Type>),
    UInt32(Numbers<UInt32Type>),
    UInt64(Numbers<UInt64Type>),
    Int64(Numbers<Int64Type>),
    Float32(Numbers<Float32Type>),
    Float64(Numbers<Float64Type>),
    Boolean(Vec<bool>, Validity),
    List {
        item: FieldRef,
        ends: Vec<i32>,
        values: Box<Column>,
        validity: Validity,
    },
    Struct {
        fields: Fields,
        columns: Vec<NamedColumn>,
        len: usize,
        validity: Validity,
    },
}

#[derive(Default)]
pub(super) struct Text {
    ends: Vec<i32>,
    bytes: String,
    scratch: String,
    validity: Validity,
}

pub(super) struct Numbers<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    validity: Validity,
}

/// Which rows are there; empty as long as all are.
#[derive(Default)]
pub(super) struct Validity(Vec<bool>);

impl Validity {
    fn push_null(&mut self, rows_before: usize) {
        self.0.resize(rows_before, true);
        self.0.push(false);
    }

    fn push_valid(&mut self) {
        if !self.0.is_empty() {
            self.0.push(true);
        }
    }

    fn truncate(&mut self, rows: usize) {
        self.0.truncate(rows);
    }

    fn finish(&mut self) -> Option<NullBuffer> {
        let rows = std::mem::take(&mut self.0);
        rows.contains(&false).then(|| NullBuffer::from(rows))
    }
}

impl Column {
    fn new(field: &Field) -> Result<Column, ArrowError> {
        if let Some(form) = JsonForm::of(field) {
            return Ok(Column::Json(Text::default(), form, ndjson_name(field).to_string()));
        }
        Ok(match field.data_type() {
            DataType::Utf8 | DataType::Utf8View => Column::Text(Text::default()),
            DataType::Int32 => Column::Int32(Numbers::new()),
            DataType::UInt8 => Column::UInt8(Numbers::new()),
            DataType::UInt32 => Column::UInt32(Numbers::new()),
            DataType::UInt64 => Column::UInt64(Numbers::new()),
            DataType::Int64 => Column::Int64(Numbers::new()),
            DataType::Float32 => Column::Float32(Numbers::new()),
            DataType::Float64 => Column::Float64(Numbers::new()),
            DataType::Boolean => Column::Boolean(Vec::new(), Validity::default()),
            DataType::List(item) => Column::List {
                item: item.clone(),
                ends: Vec::new(),
                values: Box::new(Column::new(item)?),
                validity: Validity::default(),
            },
            DataType::Struct(fields) => Column::Struct {
                fields: fields.clone(),
                columns: named_columns(fields)?,
                len: 0,
                validity: Validity::default(),
            },
            other => {
                return Err(ArrowError::NotYetImplemented(format!("{other} read from NDJSON")));
            }
        })
    }

    fn len(&self) -> usize {
        match self {
            Column::Text(text) | Column::Json(text, ..) => text.ends.len(),
            Column::Int32(numbers) => numbers.values.len(),
            Column::UInt8(numbers) => numbers.values.len(),
            Column::UInt32(numbers) => numbers.values.len(),
            Column::UInt64(numbers) => numbers.values.len(),
            Column::Int64(numbers) => numbers.values.len(),
            Column::Float32(numbers) => numbers.values.len(),
            Column::Float64(numbers) => numbers.values.len(),
            Column::Boolean(values, _) => values.len(),
            Column::List { ends, .. } => ends.len(),
            Column::Struct { len, .. } => *len,
        }
    }

    /// Reads a value that is not null.
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), Problem> {
        match self {
            Column::Text(text) => text.read(reader),
            Column::Json(text, form, name) => text.read_json(reader, *form, name),
            Column::Int32(numbers) => numbers.read_integer(reader, "an int32"),
            Column::UInt8(numbers) => numbers.read_integer(reader, "a uint8"),
            Column::UInt32(numbers) => numbers.read_integer(reader, "a uint32"),
            Column::Int64(numbers) => numbers.read_integer(reader, "an int64"),
            Column::UInt64(numbers) => numbers.read(reader, |text| {
                integer_u64(text).ok_or_else(|| Problem(format!("{text} is not a uint64")))
            }),
            Column::Float32(numbers) => numbers.read(reader, float),
            Column::Float64(numbers) => numbers.read(reader, float),
            Column::Boolean(values, validity) => match reader.peek()? {
                Kind::True | Kind::False => {
                    values.push(reader.boolean()?);
                    validity.push_valid();
                    Ok(())
                }
                kind => problem(format!("{} where a boolean should be", kind)),
            },
            Column::List { item, ends, values, validity } => {
                if reader.peek()? != Kind::Array {
                    let came = reader.peek()?;
                    return problem(format!("{came} where a list should be"));
                }
                reader.array(|reader| {
                    if reader.peek()? == Kind::Null {
                        if !item.is_nullable() {
                            return problem("a null in the list");
                        }
                        reader.null()?;
                        values.push_null();
                        return Ok(());
                    }
                    values.read(reader)
                })?;
                let end = i32::try_from(values.len());
                ends.push(end.map_err(|_| Problem("longer than 2^31 - 1".to_string()))?);
                validity.push_valid();
                Ok(())
            }
            Column::Struct { columns, len, validity, .. } => {
                read_object(reader, columns, *len)?;
                *len += 1;
                validity.push_valid();
                Ok(())
            }
        }
    }

    fn push_null(&mut self) {
        match self {
            Column::Text(text) | Column::Json(text, ..) => {
                text.validity.push_null(text.ends.len());
                text.ends.push(text.bytes.len() as i32);
            }
            Column::Int32(numbers) => numbers.push_null(),
            Column::UInt8(numbers) => numbers.push_null(),
            Column::UInt32(numbers) => numbers.push_null(),
            Column::UInt64(numbers) => numbers.push_null(),
            Column::Int64(numbers) => numbers.push_null(),
            Column::Float32(numbers) => numbers.push_null(),
            Column::Float64(numbers) => numbers.push_null(),
            Column::Boolean(values, validity) => {
                validity.push_null(values.len());
                values.push(false);
            }
            Column::List { ends, values, validity, .. } => {
                validity.push_null(ends.len());
                ends.push(values.len() as i32);
            }
            Column::Struct { columns, len, validity, .. } => {
                validity.push_null(*len);
                columns.iter_mut().for_each(|column| column.column.push_null());
                *len += 1;
            }
        }
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        match self {
            Column::Text(text) | Column::Json(text, ..) => {
                text.ends.truncate(rows);
                text.bytes.truncate(last_end(&text.ends));
                text.validity.truncate(rows);
            }
            Column::Int32(numbers) => numbers.truncate(rows),
            Column::UInt8(numbers) => numbers.truncate(rows),
            Column::UInt32(numbers) => numbers.truncate(rows),
            Column::UInt64(numbers) => numbers.truncate(rows),
            Column::Int64(numbers) => numbers.truncate(rows),
            Column::Float32(numbers) => numbers.truncate(rows),
            Column::Float64(numbers) => numbers.truncate(rows),
            Column::Boolean(values, validity) => {
                values.truncate(rows);
                validity.truncate(rows);
            }
            Column::List { ends, values, validity, .. } => {
                ends.truncate(rows);
                values.truncate(last_end(ends));
                validity.truncate(rows);
            }
            Column::Struct { columns, len, validity, .. } => {
                columns.iter_mut().for_each(|column| column.column.truncate(rows));
                *len = rows.min(*len);
                validity.truncate(rows);
            }
        }
    }

    pub(super) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Column::Text(text) | Column::Json(text, ..) => Arc::new(text.finish()?),
            Column::Int32(numbers) => numbers.finish(),
            Column::UInt8(numbers) => numbers.finish(),
            Column::UInt32(numbers) => numbers.finish(),
            Column::UInt64(numbers) => numbers.finish(),
            Column::Int64(numbers) => numbers.finish(),
            Column::Float32(numbers) => numbers.finish(),
            Column::Float64(numbers) => numbers.finish(),
            Column::Boolean(values, validity) => {
                Arc::new(BooleanArray::new(std::mem::take(values).into(), validity.finish()))
            }
            Column::List { item, ends, values, validity } => Arc::new(ListArray::try_new(
                item.clone(),
                offsets(std::mem::take(ends)),
                values.finish()?,
                validity.finish(),
            )?),
            Column::Struct { fields, columns, len, validity } => {
                *len = 0;
                let columns: Result<Vec<ArrayRef>, ArrowError> =
                    columns.iter_mut().map(|column| column.column.finish()).collect();
                Arc::new(StructArray::try_new(fields.clone(), columns?, validity.finish())?)
            }
        })
    }
}

impl Text {
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), Problem> {
        match reader.peek()? {
            Kind::String => {
                let string = reader.string()?;
                let text = string.decode(&mut self.scratch)?;
                self.bytes.push_str(text);
            }
            // Ids come as integers too; they are their decimal text.
            Kind::Number => {
                let text = reader.number()?;
                let digits = text.strip_prefix('-').unwrap_or(text);
                if !digits.bytes().all(|b| b.is_ascii_digit()) {
                    return problem(format!("{text} where a string should be"));
                }
                self.bytes.push_str(text);
            }
            kind => return problem(format!("{} where a string should be", kind)),
        }
        self.end_row()
    }

    fn read_json(
        &mut self,
        reader: &mut Reader<'_>,
        form: JsonForm,
        name: &str,
    ) -> Result<(), Problem> {
        let raw = reader.raw()?;
        match form {
            JsonForm::Value => self.bytes.push_str(raw),
            JsonForm::Member => {
                self.bytes.push_str("{\"");
                self.bytes.push_str(name);
                self.bytes.push_str("\": ");
                self.bytes.push_str(raw);
                self.bytes.push('}');
            }
        }
        self.end_row()
    }

    fn end_row(&mut self) -> Result<(), Problem> {
        let end = i32::try_from(self.bytes.len());
        self.ends.push(end.map_err(|_| Problem("longer than 2^31 - 1 bytes".to_string()))?);
        self.validity.push_valid();
        Ok(())
    }

    fn finish(&mut self) -> Result<StringArray, ArrowError> {
        let bytes = Buffer::from_vec(std::mem::take(&mut self.bytes).into_bytes());
        let offsets = offsets(std::mem::take(&mut self.ends));
        StringArray::try_new(offsets, bytes, self.validity.finish())
    }
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    fn new() -> Numbers<T> {
        Numbers { values: Vec::new(), validity: Validity::default() }
    }

    fn read_integer(&mut self, reader: &mut Reader<'_>, what: &str) -> Result<(), Problem>
    where
        T::Native: TryFrom<i64>,
    {
        self.read(reader, |text| {
            let value = integer_i64(text).and_then(|value| T::Native::try_from(value).ok());
            value.ok_or_else(|| Problem(format!("{text} is not {what}")))
        })
    }

    fn read(
        &mut self,
        reader: &mut Reader<'_>,
        parse: impl Fn(&str) -> Result<T::Native, Problem>,
    ) -> Result<(), Problem> {
        match reader.peek()? {
            Kind::Number => {
                self.values.push(parse(reader.number()?)?);
                self.validity.push_valid();
                Ok(())
            }
            kind => problem(format!("{} where a number should be", kind)),
        }
    }

    fn push_null(&mut self) {
        self.validity.push_null(self.values.len());
        self.values.push(T::Native::default());
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.validity.truncate(rows);
    }

    fn finish(&mut self) -> ArrayRef {
        let values = ScalarBuffer::from(std::mem::take(&mut self.values));
        Arc::new(PrimitiveArray::<T>::new(values, self.validity.finish()))
    }
}

/// A finite number; one that the type cannot hold is an error.
fn float<F: std::str::FromStr + Into<f64> + Copy>(text: &str) -> Result<F, Problem> {
    match text.parse::<F>() {
        Ok(value) if value.into().is_finite() => Ok(value),
        _ => problem(format!("{text} is no finite number of its type")),
    }
}

fn last_end(ends: &[i32]) -> usize {
    ends.last().map_or(0, |&end| end as usize)
}

/// Arrow's offsets (a leading 0) from the ends of the rows.
fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(std::iter::once(0).chain(ends).collect())
}
