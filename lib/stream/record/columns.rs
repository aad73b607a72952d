//! The types that the fields of a record may have:
//!
//! | type | values |
//! |---|---|
//! | `u8`, `u32`, `u64`, `i32`, `f32`, `f64` | numbers |
//! | `String` | utf8 |
//! | `Json` | utf8 that is JSON, in NDJSON the value itself; the field's name ends with `_json` |
//! | `JsonMember` | the same, but the text is an object whose one member is the value |
//! | `AnyJson` | the same as `Json`; columns of all types become such texts |
//! | `List<T>` | lists |
//! | what `record_fields!` declares | structs |
//! | `bool` | true and false |
//! | `Option<T>` | any of these, or null |
//! | `Rare<T>` | the same; NDJSON leaves a null out |
//! | `BuiltBy<T, B>` | any of these, whose columns the builder `B` builds |

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{
    Float32Type, Float64Type, Int32Type, Int64Type, UInt8Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, ListArray, PrimitiveArray, StringArray,
    cast::AsArray,
};
use arrow_buffer::{ArrowNativeType, NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};

use super::declare::{ColumnBuilder, DeclaredField, FieldType};
use super::nullable::NullableColumn;
use super::{JsonForm, mark_rare};

pub fn wrong_column(name: &str) -> ArrowError {
    ArrowError::SchemaError(format!("no column {name} of its record type"))
}

impl<T: FieldType> FieldType for Option<T> {
    type View<'a> = T::View<'a>;
    type Builder = T::Builder;

    fn field(name: &str) -> Field {
        T::field(name).with_nullable(true)
    }

    fn view(column: &ArrayRef) -> Option<T::View<'_>> {
        T::view(column)
    }

    fn members() -> Vec<DeclaredField> {
        T::members()
    }
}

/// A field of type `T` whose columns its own builder builds.
#[derive(Debug)]
pub struct BuiltBy<T, B>(PhantomData<(T, B)>);

impl<T: FieldType, B: ColumnBuilder + Default> FieldType for BuiltBy<T, B> {
    type View<'a> = T::View<'a>;
    type Builder = B;

    fn field(name: &str) -> Field {
        T::field(name)
    }

    fn view(column: &ArrayRef) -> Option<T::View<'_>> {
        T::view(column)
    }

    fn members() -> Vec<DeclaredField> {
        T::members()
    }
}

/// A number, and its Arrow type.
pub trait Number: ArrowNativeType {
    type Arrow: ArrowPrimitiveType<Native = Self>;
}

macro_rules! numbers {
    ($($number:ty: $arrow:ty),*) => {
        $(impl Number for $number {
            type Arrow = $arrow;
        })*
    };
}

numbers!(u8: UInt8Type, u32: UInt32Type, u64: UInt64Type, i32: Int32Type, i64: Int64Type);
numbers!(f32: Float32Type, f64: Float64Type);

impl<T: Number> FieldType for T {
    type View<'a> = NumberView<'a, T>;
    type Builder = NullableColumn<T>;

    fn field(name: &str) -> Field {
        Field::new(name, T::Arrow::DATA_TYPE, false)
    }

    fn view(column: &ArrayRef) -> Option<NumberView<'_, T>> {
        let array = column.as_primitive_opt::<T::Arrow>()?;
        Some(NumberView { values: array.values(), nulls: array.nulls(), start: 0 })
    }
}

/// A column of numbers or nulls.
#[derive(Debug, Clone, Copy)]
pub struct NumberView<'a, T> {
    values: &'a [T],
    nulls: Option<&'a NullBuffer>,
    /// The index in `nulls` at which this part of the column begins.
    start: usize,
}

impl<'a, T: Copy + Default> NumberView<'a, T> {
    /// Returns the value at `index`; `None` if it is null.
    pub fn get(&self, index: usize) -> Option<T> {
        let null = self.nulls.is_some_and(|nulls| nulls.is_null(self.start + index));
        if null { None } else { self.values.get(index).copied() }
    }

    /// Returns the values; a value at a null has no meaning.
    pub fn values(&self) -> &'a [T] {
        self.values
    }

    pub fn slice(&self, range: Range<usize>) -> NumberView<'a, T> {
        let start = self.start + range.start;
        NumberView { values: &self.values[range], nulls: self.nulls, start }
    }

    pub fn null_count(&self) -> usize {
        let part = self.nulls.map(|nulls| nulls.slice(self.start, self.values.len()));
        part.map_or(0, |part| part.null_count())
    }

    /// Whether all values that are not null pass a test.
    pub fn all(&self, right: impl Fn(T) -> bool) -> bool {
        match self.null_count() {
            0 => self.values.iter().fold(true, |all, &value| all & right(value)),
            _ => (0..self.values.len()).all(|index| self.get(index).is_none_or(&right)),
        }
    }

    pub fn append_to(&self, column: &mut NullableColumn<T>) {
        match self.null_count() {
            0 => column.extend_known(self.values.iter().copied()),
            count if count == self.values.len() => column.extend_null(count),
            _ => (0..self.values.len()).for_each(|index| column.push(self.get(index))),
        }
    }
}

impl<T: Number> ColumnBuilder for NullableColumn<T> {
    fn rows(&self) -> usize {
        self.len()
    }

    fn build(self) -> Result<ArrayRef, ArrowError> {
        let (values, known) = self.into_parts();
        let nulls = null_buffer(known);
        Ok(Arc::new(PrimitiveArray::<T::Arrow>::try_new(values.into(), nulls)?))
    }
}

impl FieldType for bool {
    type View<'a> = BooleanView<'a>;
    type Builder = NullableColumn<bool>;

    fn field(name: &str) -> Field {
        Field::new(name, DataType::Boolean, false)
    }

    fn view(column: &ArrayRef) -> Option<BooleanView<'_>> {
        column.as_boolean_opt().map(BooleanView)
    }
}

/// A column of booleans or nulls.
#[derive(Debug, Clone, Copy)]
pub struct BooleanView<'a>(&'a BooleanArray);

impl BooleanView<'_> {
    /// Whether all values are null.
    pub fn is_null(&self) -> bool {
        self.0.null_count() == self.0.len()
    }

    /// Returns the value at `index`; `None` if it is null.
    pub fn get(&self, index: usize) -> Option<bool> {
        self.0.is_valid(index).then(|| self.0.value(index))
    }
}

impl ColumnBuilder for NullableColumn<bool> {
    fn rows(&self) -> usize {
        self.len()
    }

    fn build(self) -> Result<ArrayRef, ArrowError> {
        let (values, known) = self.into_parts();
        Ok(Arc::new(BooleanArray::new(values.into(), null_buffer(known))))
    }
}

/// A value that few records have; the others have null, which NDJSON leaves out.
#[derive(Debug)]
pub struct Rare<T>(PhantomData<T>);

impl<T: FieldType> FieldType for Rare<T> {
    type View<'a> = T::View<'a>;
    type Builder = T::Builder;

    fn field(name: &str) -> Field {
        mark_rare(T::field(name).with_nullable(true))
    }

    fn view(column: &ArrayRef) -> Option<T::View<'_>> {
        T::view(column)
    }

    fn members() -> Vec<DeclaredField> {
        T::members()
    }
}

/// Returns Arrow's bitmap of the values that are not null; `None` if none is null.
pub fn null_buffer(known: Vec<bool>) -> Option<NullBuffer> {
    known.contains(&false).then(|| NullBuffer::from(known))
}

/// The text of any JSON value; NDJSON has the value itself.
#[derive(Debug)]
pub enum Json {}

/// The text of a JSON object with one member, which is the NDJSON value: `{"messages": [...]}`.
#[derive(Debug)]
pub enum JsonMember {}

/// The text of any JSON value; columns of all types become such texts.
#[derive(Debug)]
pub enum AnyJson {}

macro_rules! texts {
    ($($text:ty: $marked:expr,)*) => {$(
        impl FieldType for $text {
            type View<'a> = TextView<'a>;
            type Builder = TextBuilder;

            fn field(name: &str) -> Field {
                $marked(Field::new(name, DataType::Utf8, false))
            }

            fn view(column: &ArrayRef) -> Option<TextView<'_>> {
                column.as_string_opt().map(TextView)
            }
        }
    )*};
}

texts! {
    String: std::convert::identity,
    Json: |field| JsonForm::Value.mark(field),
    JsonMember: |field| JsonForm::Member.mark(field),
    AnyJson: |field| JsonForm::Any.mark(field),
}

/// A column of texts or nulls.
#[derive(Debug, Clone, Copy)]
pub struct TextView<'a>(pub &'a StringArray);

impl<'a> TextView<'a> {
    /// Returns the text of a row; `None` if it is null.
    pub fn get(&self, row: usize) -> Option<&'a str> {
        self.0.is_valid(row).then(|| self.0.value(row))
    }

    /// Returns the text of a row of a column without nulls.
    pub fn value(&self, row: usize) -> &'a str {
        self.0.value(row)
    }
}

/// Builds a column of texts.
#[derive(Debug, Default)]
pub struct TextBuilder {
    /// The texts of all rows.
    pub bytes: Vec<u8>,
    pub ends: RowEnds,
}

impl TextBuilder {
    pub fn push(&mut self, text: Option<&str>) {
        self.bytes.extend_from_slice(text.unwrap_or_default().as_bytes());
        self.ends.push(self.bytes.len(), text.is_some());
    }
}

impl ColumnBuilder for TextBuilder {
    fn rows(&self) -> usize {
        self.ends.rows()
    }

    fn build(self) -> Result<ArrayRef, ArrowError> {
        let (offsets, nulls) = self.ends.finish()?;
        Ok(Arc::new(StringArray::try_new(offsets, self.bytes.into(), nulls)?))
    }
}

/// The ends of the rows of lists and texts, as numbers of items.
#[derive(Debug, Default)]
pub struct RowEnds {
    /// The ends are not valid if the last row ends past 2^31 items.
    ends: Vec<i32>,
    known: NullableColumn<()>,
    last: usize,
}

impl RowEnds {
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    pub fn reserve(&mut self, rows: usize) {
        self.ends.reserve(rows);
    }

    /// Adds a row that ends before item `end`; it is null unless `known`.
    #[inline]
    pub fn push(&mut self, end: usize, known: bool) {
        self.ends.push(end as i32);
        self.known.push(known.then_some(()));
        self.last = end;
    }

    /// Adds rows that are not null; each ends before the given item.
    pub fn extend_known(&mut self, ends: impl Iterator<Item = usize>) {
        let before = self.ends.len();
        self.ends.extend(ends.inspect(|&end| self.last = end).map(|end| end as i32));
        self.known.extend_known(std::iter::repeat_n((), self.ends.len() - before));
    }

    /// Keeps the first rows; returns where they end.
    pub fn truncate(&mut self, rows: usize) -> usize {
        self.ends.truncate(rows);
        self.known.truncate(rows);
        self.last = self.ends.last().map_or(0, |&end| end as usize);
        self.last
    }

    /// Fails if there are more items than the 2^31 of a column (batches are far smaller).
    pub fn check(&self) -> Result<(), ArrowError> {
        let fits = i32::try_from(self.last).is_ok();
        fits.then_some(()).ok_or(ArrowError::OffsetOverflowError(self.last))
    }

    /// Makes a column of lists from rows of items.
    pub fn list(self, item: &FieldRef, items: ArrayRef) -> Result<ArrayRef, ArrowError> {
        let (offsets, nulls) = self.finish()?;
        Ok(Arc::new(ListArray::try_new(item.clone(), offsets, items, nulls)?))
    }

    /// Returns Arrow's offsets, with a leading 0, and which rows are null.
    pub fn finish(self) -> Result<(OffsetBuffer<i32>, Option<NullBuffer>), ArrowError> {
        self.check()?;
        let offsets = OffsetBuffer::new(std::iter::once(0).chain(self.ends).collect());
        Ok((offsets, null_buffer(self.known.into_parts().1)))
    }
}

/// Lists of values of a type.
#[derive(Debug)]
pub struct List<T>(PhantomData<T>);

impl<T: FieldType> FieldType for List<T> {
    type View<'a> = ListView<'a, T::View<'a>>;
    type Builder = ListBuilder<T>;

    fn field(name: &str) -> Field {
        Field::new(name, DataType::List(Arc::new(T::field("item"))), false)
    }

    fn view(column: &ArrayRef) -> Option<ListView<'_, T::View<'_>>> {
        let array = column.as_list_opt::<i32>()?;
        Some(ListView { array, items: T::view(array.values())? })
    }

    fn members() -> Vec<DeclaredField> {
        T::members()
    }
}

/// A column of lists.
#[derive(Debug, Clone, Copy)]
pub struct ListView<'a, V> {
    pub array: &'a ListArray,
    /// The items of all lists.
    pub items: V,
}

impl<'a, V> ListView<'a, V> {
    /// Returns the range of the items of consecutive rows.
    pub fn range(&self, rows: Range<usize>) -> Range<usize> {
        let offsets = self.array.value_offsets();
        offsets[rows.start] as usize..offsets[rows.end] as usize
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.array.is_null(row)
    }
}

impl<'a, T: Copy> ListView<'a, NumberView<'a, T>> {
    pub fn row(&self, row: usize) -> &'a [T] {
        self.rows(row..row + 1)
    }

    /// Returns the values of consecutive rows, which follow one another.
    pub fn rows(&self, rows: Range<usize>) -> &'a [T] {
        &self.items.values[self.range(rows)]
    }
}

/// Appends integers as a JSON array.
pub fn append_integers(text: &mut String, integers: &[i32]) {
    text.push('[');
    for (index, integer) in integers.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(itoa::Buffer::new().format(*integer));
    }
    text.push(']');
}

/// Builds a column of lists: the items of a row are added, then the row is ended.
#[derive(Debug)]
pub struct ListBuilder<T: FieldType> {
    pub items: T::Builder,
    pub ends: RowEnds,
}

// A derived implementation would need a default `T`.
impl<T: FieldType> Default for ListBuilder<T> {
    fn default() -> ListBuilder<T> {
        ListBuilder { items: T::Builder::default(), ends: RowEnds::default() }
    }
}

impl<T: FieldType> ListBuilder<T> {
    /// Ends a row.
    pub fn end_row(&mut self, known: bool) {
        self.ends.push(self.items.rows(), known);
    }
}

impl<T: FieldType> ColumnBuilder for ListBuilder<T> {
    fn rows(&self) -> usize {
        self.ends.rows()
    }

    fn build(self) -> Result<ArrayRef, ArrowError> {
        self.ends.list(&Arc::new(T::field("item")), self.items.build()?)
    }
}
