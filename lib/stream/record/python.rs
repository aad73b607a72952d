//! Values of columns of any type as Python prints them (`json.dumps(value)`, `str(value)`), and whether
//! Python takes them as true.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, BooleanArray, Float64Array, Int64Array, ListArray, StringArray, StringViewArray,
    StructArray, UInt64Array,
};
use arrow_schema::DataType;

use crate::json::{python_repr, write_ascii_string, write_repr_string};

/// A column of Python values.
#[derive(Debug)]
pub enum PythonValues<'a> {
    /// A column of nulls only.
    None,
    Boolean(&'a BooleanArray),
    Integer(&'a Int64Array),
    Unsigned(&'a UInt64Array),
    Float(&'a Float64Array),
    Text(&'a StringViewArray),
    PlainText(&'a StringArray),
    List(&'a ListArray, Box<PythonValues<'a>>),
    Struct(&'a StructArray, Vec<(&'a str, PythonValues<'a>)>),
    /// Values of a type that JSON does not have: timestamps, bytes, decimals.
    Other(&'a dyn Array),
}

/// The function that prints values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Repr,
}

impl<'a> PythonValues<'a> {
    pub fn of(column: &'a dyn Array) -> PythonValues<'a> {
        match column.data_type() {
            DataType::Null => PythonValues::None,
            DataType::Boolean => PythonValues::Boolean(column.as_boolean()),
            DataType::Int64 => PythonValues::Integer(column.as_primitive::<Int64Type>()),
            DataType::UInt64 => PythonValues::Unsigned(column.as_primitive::<UInt64Type>()),
            DataType::Float64 => PythonValues::Float(column.as_primitive::<Float64Type>()),
            DataType::Utf8View => PythonValues::Text(column.as_string_view()),
            DataType::Utf8 => PythonValues::PlainText(column.as_string()),
            DataType::List(_) => {
                let list = column.as_list::<i32>();
                PythonValues::List(list, Box::new(PythonValues::of(list.values())))
            }
            DataType::Struct(fields) => {
                let structs = column.as_struct();
                let members = fields.iter().zip(structs.columns());
                let members = members
                    .map(|(field, column)| (field.name().as_str(), PythonValues::of(column)));
                PythonValues::Struct(structs, members.collect())
            }
            _ => PythonValues::Other(column),
        }
    }

    pub fn is_none(&self, row: usize) -> bool {
        match self {
            PythonValues::None => true,
            PythonValues::Boolean(column) => column.is_null(row),
            PythonValues::Integer(column) => column.is_null(row),
            PythonValues::Unsigned(column) => column.is_null(row),
            PythonValues::Float(column) => column.is_null(row),
            PythonValues::Text(column) => column.is_null(row),
            PythonValues::PlainText(column) => column.is_null(row),
            PythonValues::List(column, _) => column.is_null(row),
            PythonValues::Struct(column, _) => column.is_null(row),
            PythonValues::Other(column) => column.is_null(row),
        }
    }

    /// Returns `bool(value)`.
    pub fn is_true(&self, row: usize) -> bool {
        !self.is_none(row)
            && match self {
                PythonValues::None => false,
                PythonValues::Boolean(column) => column.value(row),
                PythonValues::Integer(column) => column.value(row) != 0,
                PythonValues::Unsigned(column) => column.value(row) != 0,
                PythonValues::Float(column) => column.value(row) != 0.0,
                PythonValues::Text(column) => !column.value(row).is_empty(),
                PythonValues::PlainText(column) => !column.value(row).is_empty(),
                PythonValues::List(column, _) => column.value_length(row) != 0,
                PythonValues::Struct(_, members) => !members.is_empty(),
                PythonValues::Other(_) => true,
            }
    }

    /// Returns the value of a row if it is text.
    pub fn text(&self, row: usize) -> Option<&'a str> {
        match self {
            PythonValues::Text(column) => column.is_valid(row).then(|| column.value(row)),
            PythonValues::PlainText(column) => column.is_valid(row).then(|| column.value(row)),
            _ => None,
        }
    }

    /// Appends `json.dumps(value)`. The error says why the value has no JSON.
    pub fn write_json(&self, out: &mut Vec<u8>, row: usize) -> Result<(), String> {
        self.write(out, row, Form::Json)
    }

    /// Appends `str(value)`.
    pub fn write_str(&self, out: &mut Vec<u8>, row: usize) -> Result<(), String> {
        match self.text(row) {
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                Ok(())
            }
            None => self.write(out, row, Form::Repr),
        }
    }

    fn write(&self, out: &mut Vec<u8>, row: usize, form: Form) -> Result<(), String> {
        let is_json = form == Form::Json;
        if self.is_none(row) {
            out.extend_from_slice(if is_json { b"null" } else { b"None" });
            return Ok(());
        }
        match self {
            PythonValues::None => {}
            PythonValues::Boolean(column) => {
                out.extend_from_slice(match (column.value(row), form) {
                    (true, Form::Json) => b"true",
                    (false, Form::Json) => b"false",
                    (true, Form::Repr) => b"True",
                    (false, Form::Repr) => b"False",
                })
            }
            PythonValues::Integer(column) => write_integer(out, column.value(row)),
            PythonValues::Unsigned(column) => write_integer(out, column.value(row)),
            PythonValues::Float(column) => write_float(out, column.value(row), form),
            PythonValues::Text(column) => write_text(out, column.value(row), form),
            PythonValues::PlainText(column) => write_text(out, column.value(row), form),
            PythonValues::List(list, items) => {
                let ends = list.value_offsets();
                out.push(b'[');
                for (number, item) in (ends[row]..ends[row + 1]).enumerate() {
                    separate(out, number);
                    items.write(out, item as usize, form)?;
                }
                out.push(b']');
            }
            PythonValues::Struct(_, members) => {
                out.push(b'{');
                for (number, (name, values)) in members.iter().enumerate() {
                    separate(out, number);
                    write_text(out, name, form);
                    out.extend_from_slice(b": ");
                    values.write(out, row, form)?;
                }
                out.push(b'}');
            }
            PythonValues::Other(column) => {
                return Err(format!("{} has no JSON", column.data_type()));
            }
        }
        Ok(())
    }
}

fn separate(out: &mut Vec<u8>, number: usize) {
    if number > 0 {
        out.extend_from_slice(b", ");
    }
}

fn write_integer(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn write_float(out: &mut Vec<u8>, value: f64, form: Form) {
    let text: &[u8] = match (value, form) {
        (value, _) if value.is_finite() => {
            out.extend_from_slice(python_repr(value).as_bytes());
            return;
        }
        (f64::INFINITY, Form::Json) => b"Infinity",
        (f64::NEG_INFINITY, Form::Json) => b"-Infinity",
        (_, Form::Json) => b"NaN",
        (f64::INFINITY, Form::Repr) => b"inf",
        (f64::NEG_INFINITY, Form::Repr) => b"-inf",
        (_, Form::Repr) => b"nan",
    };
    out.extend_from_slice(text);
}

fn write_text(out: &mut Vec<u8>, text: &str, form: Form) {
    match form {
        Form::Json => write_ascii_string(out, text),
        Form::Repr => write_repr_string(out, text),
    }
}
