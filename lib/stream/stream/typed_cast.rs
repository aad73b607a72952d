//! Casts between the types of columns. No cast loses a value.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, BooleanArray, ListArray, MapArray, PrimitiveArray, StringViewArray,
    StructArray, downcast_integer, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, FieldRef, Fields};

use crate::json::python_repr;

/// Whether values of one type can be values of another, as far as the types show it.
pub(super) fn can_cast(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    let is_number = |data_type: &DataType| data_type.is_integer() || data_type.is_floating();
    match (from, to) {
        (from, to) if from == to => true,
        (Null, _) => true,
        (Dictionary(_, values), to) => can_cast(values, to),
        (RunEndEncoded(_, values), to) => can_cast(values.data_type(), to),
        (Utf8 | LargeUtf8 | Utf8View, Utf8View | Int64 | UInt64 | Float64 | Boolean) => true,
        (Boolean, Utf8View | Int64 | UInt64 | Float64) => true,
        (Binary | LargeBinary | BinaryView | Date32, Utf8View) => true,
        (Binary | LargeBinary, BinaryView) => true,
        (from, Boolean) => from.is_integer(),
        (from, Utf8View | Int64 | UInt64 | Float64) => is_number(from),
        (Struct(from), Struct(to)) => from.iter().all(|field| {
            let named = to.iter().find(|wanted| wanted.name() == field.name());
            named.is_some_and(|wanted| can_cast(field.data_type(), wanted.data_type()))
        }),
        (
            List(own) | LargeList(own) | ListView(own) | LargeListView(own) | FixedSizeList(own, _),
            List(item),
        )
        | (Map(own, _), Map(item, _)) => can_cast(own.data_type(), item.data_type()),
        _ => false,
    }
}

/// Returns a column as one of another type ([`can_cast`]); fails, with the cause, if a value does
/// not fit.
pub(super) fn cast_column(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, String> {
    use DataType::*;
    match (column.data_type(), to) {
        (from, to) if from == to => Ok(column.clone()),
        (Null, to) => Ok(new_null_array(to, column.len())),
        (Dictionary(_, values), to) if **values != *to => {
            cast_column(&plain_cast(column, values)?, to)
        }
        (RunEndEncoded(_, values), to) if values.data_type() != to => {
            cast_column(&plain_cast(column, values.data_type())?, to)
        }
        (Struct(_), Struct(fields)) => cast_members(column, fields, cast_column),
        (List(_), List(item)) => cast_items(column, item, cast_column),
        (
            LargeList(own) | ListView(own) | LargeListView(own) | FixedSizeList(own, _),
            List(item),
        ) => cast_items(&plain_cast(column, &List(own.clone()))?, item, cast_column),
        (Map(..), Map(entries, is_sorted)) => {
            let map = column.as_map();
            let members: ArrayRef = Arc::new(map.entries().clone());
            let members = cast_column(&members, entries.data_type())?.as_struct().clone();
            let (ends, nulls) = (map.offsets().clone(), map.nulls().cloned());
            let cast = MapArray::try_new(entries.clone(), ends, members, nulls, *is_sorted);
            Ok(Arc::new(cast.map_err(|error| error.to_string())?))
        }
        (Float16 | Float32, Float64) => plain_cast(column, to),
        (Float32, Utf8View) => texts_of::<Float32Type>(column, |value| format!("{value:e}")),
        (Float16, Utf8View) => cast_column(&plain_cast(column, &Float32)?, to),
        (Float64, Utf8View) => texts_of::<Float64Type>(column, |value| format!("{value:e}")),
        (Float16 | Float32 | Float64, Int64) => integers_of::<Int64Type>(column, i64_of),
        (Float16 | Float32 | Float64, UInt64) => integers_of::<UInt64Type>(column, u64_of),
        (from, Float64) if from.is_integer() => floats_of(column),
        (from, Boolean) if from.is_integer() => booleans_of(column),
        (Utf8 | LargeUtf8 | Utf8View, Int64 | UInt64 | Float64 | Boolean) => {
            parse_texts(column, to)
        }
        _ => plain_cast(column, to),
    }
}

/// A function that casts the members or items of a column.
type Cast = fn(&ArrayRef, &DataType) -> Result<ArrayRef, String>;

/// Uses the crate's cast, where it loses nothing. (Integers of tokens and masks, which are many, are cast
/// here: the crate is not built to be fast.)
pub(super) fn plain_cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, String> {
    let cast = match to {
        DataType::Int32 => integers_as::<Int32Type>(column),
        DataType::UInt8 => integers_as::<UInt8Type>(column),
        _ => None,
    };
    if let Some(cast) = cast {
        return cast;
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, to, &options).map_err(|error| error.to_string())
}

/// Casts a column of integers; returns `None` for one of another type.
fn integers_as<T: ArrowPrimitiveType>(column: &ArrayRef) -> Option<Result<ArrayRef, String>>
where
    T::Native: TryFrom<i8> + TryFrom<i16> + TryFrom<i32> + TryFrom<i64>,
    T::Native: TryFrom<u8> + TryFrom<u16> + TryFrom<u32> + TryFrom<u64>,
{
    macro_rules! cast {
        ($from:ty) => {{
            let cast = column.as_primitive::<$from>().try_unary::<_, T, String>(|value| {
                let no_fit = |_| format!("{value} is not {}", T::DATA_TYPE);
                T::Native::try_from(value).map_err(no_fit)
            });
            Some(cast.map(|cast| Arc::new(cast) as ArrayRef))
        }};
    }
    downcast_integer! {
        column.data_type() => (cast),
        _ => None
    }
}

/// Casts the members of structs, each found by its name. (If some names are missing, the crate's own cast
/// would match members by their places.)
pub(super) fn cast_members(
    column: &ArrayRef,
    fields: &Fields,
    cast: Cast,
) -> Result<ArrayRef, String> {
    let structs = column.as_struct();
    let member = |field: &FieldRef| match structs.column_by_name(field.name()) {
        Some(member) => cast(member, field.data_type()),
        None => Ok(new_null_array(field.data_type(), column.len())),
    };
    let columns = fields.iter().map(member).collect::<Result<_, _>>()?;
    let (nulls, rows) = (column.nulls().cloned(), column.len());
    let cast = StructArray::try_new_with_length(fields.clone(), columns, nulls, rows);
    Ok(Arc::new(cast.map_err(|error| error.to_string())?))
}

/// Casts the items of lists.
pub(super) fn cast_items(
    column: &ArrayRef,
    item: &FieldRef,
    cast: Cast,
) -> Result<ArrayRef, String> {
    // A slice needs only the items of its rows.
    let list = column.as_list::<i32>();
    let ends = list.offsets();
    let (start, end) = (ends.first(), ends.last());
    let items = list.values().slice(start as usize, (end - start) as usize);
    let items = cast(&items, item.data_type())?;
    let ends = OffsetBuffer::new(ends.iter().map(|end| end - start).collect());
    let cast = ListArray::try_new(item.clone(), ends, items, list.nulls().cloned());
    Ok(Arc::new(cast.map_err(|error| error.to_string())?))
}

/// Writes floats as Arrow's own cast does: in the shortest form that reads back, without a `.0`, in
/// scientific form from 1e10 on and below 1e-6.
fn texts_of<T>(column: &ArrayRef, scientific: fn(T::Native) -> String) -> Result<ArrayRef, String>
where
    T: ArrowPrimitiveType,
    T::Native: std::fmt::Display,
{
    let text = |value: T::Native| {
        let shortest = scientific(value);
        let Some((mantissa, exponent)) = shortest.split_once('e') else {
            return shortest.to_lowercase();
        };
        match exponent.parse::<i32>() {
            Ok(exponent @ 10..) => format!("{mantissa}e+{exponent}"),
            Ok(-6..) => value.to_string(),
            _ => shortest,
        }
    };
    let values = column.as_primitive::<T>();
    Ok(Arc::new(values.iter().map(|value| value.map(text)).collect::<StringViewArray>()))
}

fn integers_of<T: ArrowPrimitiveType>(
    column: &ArrayRef,
    integer: fn(f64) -> Option<T::Native>,
) -> Result<ArrayRef, String> {
    let floats = plain_cast(column, &DataType::Float64)?;
    let cast = |value: f64| {
        integer(value).ok_or_else(|| format!("{} is not {}", python_repr(value), T::DATA_TYPE))
    };
    let values =
        floats.as_primitive::<Float64Type>().iter().map(|value| value.map(cast).transpose());
    Ok(Arc::new(values.collect::<Result<PrimitiveArray<T>, String>>()?))
}

fn i64_of(value: f64) -> Option<i64> {
    let fits = value.trunc() == value && (-(2f64.powi(63))..2f64.powi(63)).contains(&value);
    fits.then_some(value as i64)
}

fn u64_of(value: f64) -> Option<u64> {
    let fits = value.trunc() == value && (0.0..2f64.powi(64)).contains(&value);
    fits.then_some(value as u64)
}

/// Returns integers as floats, if they have no more digits than a float holds.
fn floats_of(column: &ArrayRef) -> Result<ArrayRef, String> {
    /// All integers up to this one are floats.
    const EXACT: u64 = 1 << 53;
    let out_of_range = match column.data_type() {
        DataType::UInt64 => {
            let values = column.as_primitive::<UInt64Type>();
            values.iter().flatten().find(|&value| value > EXACT).map(|value| value.to_string())
        }
        _ => {
            let integers = plain_cast(column, &DataType::Int64)?;
            let values = integers.as_primitive::<Int64Type>();
            let large = values.iter().flatten().find(|value| value.unsigned_abs() > EXACT);
            large.map(|value| value.to_string())
        }
    };
    match out_of_range {
        Some(value) => Err(format!("{value} is not a Float64")),
        None => plain_cast(column, &DataType::Float64),
    }
}

/// Returns 0 and 1 as booleans.
fn booleans_of(column: &ArrayRef) -> Result<ArrayRef, String> {
    let integers = plain_cast(column, &DataType::Int64)?;
    let values = integers.as_primitive::<Int64Type>().iter().map(|value| match value {
        None => Ok(None),
        Some(value @ (0 | 1)) => Ok(Some(value == 1)),
        Some(value) => Err(format!("{value} is not a Boolean")),
    });
    Ok(Arc::new(values.collect::<Result<BooleanArray, String>>()?))
}

/// Returns texts as the values that they spell.
fn parse_texts(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, String> {
    let texts = plain_cast(column, &DataType::Utf8View)?;
    let texts = texts.as_string_view();
    Ok(match to {
        DataType::Int64 => Arc::new(numbers::<Int64Type>(texts)?),
        DataType::UInt64 => Arc::new(numbers::<UInt64Type>(texts)?),
        DataType::Float64 => Arc::new(numbers::<Float64Type>(texts)?),
        _ => {
            let value = |text: &str| match text {
                "1" => Ok(true),
                "0" => Ok(false),
                text if text.eq_ignore_ascii_case("true") => Ok(true),
                text if text.eq_ignore_ascii_case("false") => Ok(false),
                _ => Err(format!("{text:?} is not a Boolean")),
            };
            let values = texts.iter().map(|text| text.map(value).transpose());
            Arc::new(values.collect::<Result<BooleanArray, String>>()?)
        }
    })
}

fn numbers<T: ArrowPrimitiveType>(texts: &StringViewArray) -> Result<PrimitiveArray<T>, String>
where
    T::Native: std::str::FromStr,
{
    let value = |text: &str| {
        let number = Some(text).filter(|text| !text.starts_with('+'));
        let number = number.and_then(|text| text.parse().ok());
        number.ok_or_else(|| format!("{text:?} is not {}", T::DATA_TYPE))
    };
    texts.iter().map(|text| text.map(value).transpose()).collect()
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int64Array, UInt64Array};

    use super::*;

    #[test]
    fn integers_of_tokens_and_masks_fit_or_are_named() {
        let cast = |column: ArrayRef, to: &DataType| {
            plain_cast(&column, to).map(|cast| plain_cast(&cast, &DataType::Int64).unwrap())
        };
        let wide = |values: &[Option<i64>]| -> ArrayRef {
            Arc::new(values.iter().copied().collect::<Int64Array>())
        };
        let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
        let known = wide(&[Some(least), None, Some(most)]);
        assert_eq!(&cast(known.clone(), &DataType::Int32).unwrap(), &known);
        for (value, to) in
            [(least - 1, "Int32"), (most + 1, "Int32"), (-1, "UInt8"), (256, "UInt8")]
        {
            let of = if to == "Int32" { DataType::Int32 } else { DataType::UInt8 };
            let cause = cast(wide(&[None, Some(value)]), &of).unwrap_err();
            assert_eq!(cause, format!("{value} is not {to}"));
        }
        let wide: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
        assert_eq!(cast(wide, &DataType::Int32).unwrap_err(), format!("{} is not Int32", u64::MAX));
    }
}
