//! The values of columns as JSON: which printer a type has. `values.rs` and `nested.rs` have the printers.

mod nested;
mod values;

use std::ops::Range;

use arrow_array::timezone::Tz;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, cast::AsArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, FieldRef};

use self::nested::{ListPrinter, MapPrinter, UnionPrinter, struct_printer};
use self::values::{
    ByteBooleans, BytesPrinter, DecimalPrinter, FloatPrinter, IntegerPrinter, JsonPrinter,
    JsonTexts, NullPrinter, TextPrinter, UuidPrinter,
};
use super::json_column::object;
use super::typed_cast::plain_cast;
use crate::json;
use crate::record::{JsonForm, is_json_text, is_rare, ndjson_name};

/// The members of a schema or struct as they are printed: `"name":`.
pub(in crate::stream) struct MemberLabels(Vec<Vec<u8>>);

impl MemberLabels {
    pub(in crate::stream) fn of<'a>(
        fields: impl IntoIterator<Item = &'a FieldRef>,
    ) -> MemberLabels {
        let label = |field: &FieldRef| {
            let mut label = Vec::new();
            json::write_string(&mut label, ndjson_name(field));
            label.push(b':');
            label
        };
        MemberLabels(fields.into_iter().map(label).collect())
    }
}

/// How null members of objects are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::stream) enum Nulls {
    Written,
    LeftOut,
    /// They are left out, except in columns of nulls only, where somebody has written them. A value for which
    /// JSON has no text becomes `NaN`; only a reader that reads this value refuses it.
    Filled,
    /// They are written, and so are numbers that JSON does not have, as Python names them.
    Verbatim,
    /// They are written too; other values that have no JSON are `NaN`.
    Shown,
}

pub(in crate::stream) fn write_members(
    out: &mut Vec<u8>,
    names: &MemberLabels,
    columns: &[ColumnPrinter<'_>],
    row: usize,
) -> Result<(), ArrowError> {
    out.push(b'{');
    let mut is_first = true;
    for (name, column) in names.0.iter().zip(columns) {
        if column.is_left_out && column.is_null(row) {
            continue;
        }
        let before = out.len();
        if !is_first {
            out.push(b',');
        }
        let value = out.len();
        if !column.is_rest {
            out.extend_from_slice(name);
        }
        let in_place = |error| {
            let label = String::from_utf8_lossy(name);
            within(label.trim_matches(['"', ':']), error)
        };
        column.write(out, row).map_err(in_place)?;
        if column.is_rest {
            let object = out.split_off(value);
            let members = inside_of(&object).map_err(in_place)?;
            if members.is_empty() {
                out.truncate(before);
                continue;
            }
            out.extend_from_slice(members);
        }
        is_first = false;
    }
    out.push(b'}');
    Ok(())
}

/// Returns the members of an object, without its braces.
fn inside_of(text: &[u8]) -> Result<&[u8], ArrowError> {
    object(&String::from_utf8_lossy(text)).or_else(no_json)?;
    let inside = text.trim_ascii().strip_prefix(b"{").and_then(|text| text.strip_suffix(b"}"));
    Ok(inside.unwrap_or_default().trim_ascii())
}

/// Returns the error of a value without JSON.
fn no_json<T>(cause: impl Into<String>) -> Result<T, ArrowError> {
    Err(ArrowError::JsonError(cause.into()))
}

/// Puts a member's name before its error.
pub(in crate::stream) fn within(name: &str, error: ArrowError) -> ArrowError {
    match error {
        ArrowError::JsonError(cause) => ArrowError::JsonError(format!("{name}: {cause}")),
        other => other,
    }
}

/// A column whose type is resolved once, not for every row.
pub(in crate::stream) struct ColumnPrinter<'a> {
    nulls: Option<NullBuffer>,
    /// Whether its nulls are left out of objects.
    is_left_out: bool,
    /// Whether its values are members of the object, not one of them.
    is_rest: bool,
    values: Box<dyn Printer + 'a>,
}

/// Prints values; the caller has handled nulls.
trait Printer {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError>;

    /// Writes a list of values. This is compiled for every type of value, so that a long list costs
    /// one call through a pointer, not one for each of its items.
    fn write_items(
        &self,
        out: &mut Vec<u8>,
        range: Range<usize>,
        nulls: Option<&NullBuffer>,
    ) -> Result<(), ArrowError> {
        write_each(self, out, range, nulls)
    }
}

fn write_each(
    values: &(impl Printer + ?Sized),
    out: &mut Vec<u8>,
    range: Range<usize>,
    nulls: Option<&NullBuffer>,
) -> Result<(), ArrowError> {
    for (i, item) in range.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        match nulls.is_some_and(|nulls| nulls.is_null(item)) {
            true => out.extend_from_slice(b"null"),
            false => values.write(out, item)?,
        }
    }
    Ok(())
}

impl<'a> ColumnPrinter<'a> {
    pub(in crate::stream) fn new(
        field: &FieldRef,
        array: &'a ArrayRef,
        nulls: Nulls,
    ) -> Result<ColumnPrinter<'a>, ArrowError> {
        let values: Box<dyn Printer + 'a> = match array.data_type() {
            DataType::Utf8 if is_json_text(field) => Box::new(JsonTexts(array.as_string::<i32>())),
            DataType::LargeUtf8 if is_json_text(field) => {
                Box::new(JsonTexts(array.as_string::<i64>()))
            }
            DataType::Utf8View if is_json_text(field) => {
                Box::new(JsonTexts(array.as_string_view()))
            }
            DataType::Utf8 => {
                let text = array.as_string::<i32>();
                match JsonForm::of(field) {
                    Some(form) => Box::new(JsonPrinter(text, form, ndjson_name(field).to_string())),
                    None => Box::new(TextPrinter(text)),
                }
            }
            DataType::Utf8View if JsonForm::of(field).is_none() => {
                Box::new(TextPrinter(array.as_string_view()))
            }
            DataType::Int8 if field.extension_type_name() == Some("arrow.bool8") => {
                Box::new(ByteBooleans(array.as_primitive::<Int8Type>().values()))
            }
            DataType::Int8 => Box::new(IntegerPrinter(array.as_primitive::<Int8Type>().values())),
            DataType::Int16 => Box::new(IntegerPrinter(array.as_primitive::<Int16Type>().values())),
            DataType::Int32 => Box::new(IntegerPrinter(array.as_primitive::<Int32Type>().values())),
            DataType::Int64 => Box::new(IntegerPrinter(array.as_primitive::<Int64Type>().values())),
            DataType::UInt8 => Box::new(IntegerPrinter(array.as_primitive::<UInt8Type>().values())),
            DataType::UInt16 => {
                Box::new(IntegerPrinter(array.as_primitive::<UInt16Type>().values()))
            }
            DataType::UInt32 => {
                Box::new(IntegerPrinter(array.as_primitive::<UInt32Type>().values()))
            }
            DataType::UInt64 => {
                Box::new(IntegerPrinter(array.as_primitive::<UInt64Type>().values()))
            }
            DataType::Float32 => {
                Box::new(FloatPrinter(array.as_primitive::<Float32Type>().values(), nulls))
            }
            DataType::Float64 => {
                Box::new(FloatPrinter(array.as_primitive::<Float64Type>().values(), nulls))
            }
            DataType::Boolean => Box::new(array.as_boolean()),
            DataType::List(item) => {
                let list = array.as_list::<i32>();
                Box::new(ListPrinter(
                    list.value_offsets(),
                    ColumnPrinter::new(item, list.values(), nulls)?,
                ))
            }
            DataType::Struct(_) => struct_printer(array.as_struct(), nulls)?,
            DataType::Map(entries, _) => {
                let map = array.as_map();
                let field = match entries.data_type() {
                    DataType::Struct(fields) => fields.last().cloned().unwrap_or(entries.clone()),
                    _ => entries.clone(),
                };
                Box::new(MapPrinter {
                    offsets: map.value_offsets(),
                    keys: plain_cast(map.keys(), &DataType::Utf8),
                    values: ColumnPrinter::new(&field, map.values(), nulls)?,
                })
            }
            DataType::Null => Box::new(NullPrinter),
            DataType::Binary => Box::new(BytesPrinter(array.as_binary::<i32>())),
            DataType::LargeBinary => Box::new(BytesPrinter(array.as_binary::<i64>())),
            DataType::BinaryView => Box::new(BytesPrinter(array.as_binary_view())),
            DataType::FixedSizeBinary(16) if is_uuid(field) => {
                Box::new(UuidPrinter(array.as_fixed_size_binary()))
            }
            DataType::FixedSizeBinary(_) => Box::new(BytesPrinter(array.as_fixed_size_binary())),
            DataType::Decimal32(_, scale) => {
                Box::new(DecimalPrinter(array.as_primitive::<Decimal32Type>().values(), *scale))
            }
            DataType::Decimal64(_, scale) => {
                Box::new(DecimalPrinter(array.as_primitive::<Decimal64Type>().values(), *scale))
            }
            DataType::Decimal128(_, scale) => {
                Box::new(DecimalPrinter(array.as_primitive::<Decimal128Type>().values(), *scale))
            }
            DataType::Decimal256(_, scale) => {
                Box::new(DecimalPrinter(array.as_primitive::<Decimal256Type>().values(), *scale))
            }
            DataType::Union(members, _) => {
                let union = array.as_union();
                let printer = |(id, field): (i8, &'a FieldRef)| {
                    Ok((id, ColumnPrinter::new(field, union.child(id), nulls)?))
                };
                let members = members.iter().map(printer).collect::<Result<_, ArrowError>>()?;
                Box::new(UnionPrinter(union, members))
            }
            other => {
                let Some(target) = printable(other) else {
                    return no_json(format!("{}: {other} has no JSON", field.name()));
                };
                let array = with_known_zone(array)?;
                let field = FieldRef::new(field.as_ref().clone().with_data_type(target.clone()));
                match plain_cast(&array, &target) {
                    Ok(array) => Box::new(ConvertedPrinter { field, array, nulls }),
                    Err(_) => Box::new(EachPrinter { field, array, target, nulls }),
                }
            }
        };
        let values = match nulls {
            Nulls::Filled | Nulls::Shown if may_fail(array.data_type()) => Box::new(OrNan(values)),
            _ => values,
        };
        let is_rest = JsonForm::is_rest(field);
        let is_left_out = match nulls {
            _ if is_rest => true,
            Nulls::Written | Nulls::Verbatim | Nulls::Shown => is_rare(field),
            Nulls::LeftOut => true,
            Nulls::Filled => *array.data_type() != DataType::Null,
        };
        Ok(ColumnPrinter { nulls: array.logical_nulls(), is_left_out, is_rest, values })
    }

    pub(in crate::stream) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    pub(in crate::stream) fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        if self.is_null(row) {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        self.values.write(out, row)
    }
}

/// An array that was converted for printing, with its field.
struct ConvertedPrinter {
    field: FieldRef,
    array: ArrayRef,
    nulls: Nulls,
}

impl Printer for ConvertedPrinter {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        ColumnPrinter::new(&self.field, &self.array, self.nulls)?.write(out, row)
    }
}

/// An array that cannot be converted as a whole because of one value.
struct EachPrinter {
    field: FieldRef,
    array: ArrayRef,
    target: DataType,
    nulls: Nulls,
}

impl Printer for EachPrinter {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        let value = plain_cast(&self.array.slice(row, 1), &self.target).or_else(no_json)?;
        ColumnPrinter::new(&self.field, &value, self.nulls)?.write(out, 0)
    }
}

/// Whether 16 bytes are a UUID, according to Parquet's logical type and Arrow's extension.
fn is_uuid(field: &FieldRef) -> bool {
    field.extension_type_name() == Some("arrow.uuid")
}

/// Values that may have no JSON; they are then printed as NaN.
struct OrNan<'a>(Box<dyn Printer + 'a>);

impl Printer for OrNan<'_> {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        let start = out.len();
        if self.0.write(out, row).is_err() {
            out.truncate(start);
            out.extend_from_slice(b"NaN");
        }
        Ok(())
    }
}

/// Whether a column of this type can have a value for which JSON has no text. (Members of lists and
/// structs are handled on their own.)
fn may_fail(data_type: &DataType) -> bool {
    use DataType::*;
    !(data_type.is_numeric()
        || data_type.is_nested() && !matches!(data_type, Map(..) | Union(..))
        || matches!(data_type, Null | Boolean | Utf8View))
}

/// Returns times in a zone that is known by its name only as times in UTC: they are moments.
fn with_known_zone(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Timestamp(unit, Some(zone)) if zone.parse::<Tz>().is_err() => {
            let utc = DataType::Timestamp(*unit, Some("+00:00".into()));
            Ok(make_array(array.to_data().into_builder().data_type(utc).build()?))
        }
        _ => Ok(array.clone()),
    }
}

/// Returns the type to which a column of a special type is converted for printing; `None` if it has
/// no JSON.
fn printable(data_type: &DataType) -> Option<DataType> {
    use DataType::*;
    Some(match data_type {
        Dictionary(_, values) => values.as_ref().clone(),
        RunEndEncoded(_, values) => values.data_type().clone(),
        LargeList(item) | FixedSizeList(item, _) | ListView(item) | LargeListView(item) => {
            List(item.clone())
        }
        Float16 => Float32,
        LargeUtf8 | Utf8View => Utf8,
        Timestamp(..) | Date32 | Date64 | Time32(_) | Time64(_) | Duration(_) | Interval(_) => Utf8,
        _ => return None,
    })
}

/// Returns the raw text of one member of an object; the error says why there is none.
pub fn json_member<'a>(text: &'a str, name: &str) -> Result<&'a str, String> {
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
    read.and_then(|()| reader.end()).map_err(|error| format!("holds no JSON: {error}"))?;
    found.ok_or_else(|| format!("has no {name}"))
}
