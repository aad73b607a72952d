//! Text of other programs is decoded as bytes and checked here. Text that is not UTF-8 makes its record
//! bad, as in NDJSON; the decoders would refuse the whole batch or file.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, LargeStringArray, ListArray, RecordBatch, RecordBatchOptions, StringArray,
    StructArray, UInt32Array, make_array,
};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_select::take::take_record_batch;

/// Returns a schema that has bytes in place of text; both have the same layout.
pub fn bytes_schema(schema: &Schema) -> SchemaRef {
    let fields: Vec<FieldRef> = schema.fields().iter().map(bytes_field).collect();
    SchemaRef::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn bytes_field(field: &FieldRef) -> FieldRef {
    let data_type = bytes_type(field.data_type());
    FieldRef::new(field.as_ref().clone().with_data_type(data_type))
}

fn bytes_type(data_type: &DataType) -> DataType {
    use DataType::*;
    match data_type {
        Utf8 => Binary,
        LargeUtf8 => LargeBinary,
        Utf8View => BinaryView,
        List(item) => List(bytes_field(item)),
        LargeList(item) => LargeList(bytes_field(item)),
        ListView(item) => ListView(bytes_field(item)),
        LargeListView(item) => LargeListView(bytes_field(item)),
        FixedSizeList(item, length) => FixedSizeList(bytes_field(item), *length),
        Map(entries, sorted) => Map(bytes_field(entries), *sorted),
        Struct(fields) => Struct(fields.iter().map(bytes_field).collect()),
        Dictionary(keys, values) => Dictionary(keys.clone(), Box::new(bytes_type(values))),
        // Text inside other types is decoded as it is.
        other => other.clone(),
    }
}

/// Returns a batch of bytes in the schema with text, if all of them are text.
pub fn restored(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| restore(column, field.data_type()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns.collect::<Result<_, _>>()?, &options)
}

fn restore(column: &ArrayRef, target: &DataType) -> Result<ArrayRef, ArrowError> {
    use DataType::*;
    Ok(match (column.data_type(), target) {
        (source, target) if source == target => column.clone(),
        (Binary, Utf8) => Arc::new(StringArray::try_from_binary(column.as_binary().clone())?),
        (LargeBinary, LargeUtf8) => {
            Arc::new(LargeStringArray::try_from_binary(column.as_binary().clone())?)
        }
        (BinaryView, Utf8View) => Arc::new(column.as_binary_view().clone().to_string_view()?),
        (Struct(_), Struct(fields)) => {
            let members = column.as_struct().columns().iter().zip(fields);
            let members = members.map(|(member, field)| restore(member, field.data_type()));
            let members = members.collect::<Result<Vec<_>, _>>()?;
            let (length, nulls) = (column.len(), column.nulls().cloned());
            Arc::new(StructArray::try_new_with_length(fields.clone(), members, nulls, length)?)
        }
        (List(_), List(item)) => {
            let list = column.as_list::<i32>();
            let items = restore(list.values(), item.data_type())?;
            let (ends, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Arc::new(ListArray::try_new(item.clone(), ends, items, nulls)?)
        }
        (Dictionary(..), Dictionary(_, values)) => {
            let dictionary = column.as_any_dictionary();
            dictionary.with_values(restore(dictionary.values(), values)?)
        }
        (
            _,
            LargeList(item)
            | ListView(item)
            | LargeListView(item)
            | FixedSizeList(item, _)
            | Map(item, _),
        ) => {
            let data = column.to_data();
            let items = data.child_data().iter();
            let items = items.map(|items| restore(&make_array(items.clone()), item.data_type()));
            let items = items.map(|items| items.map(|items| items.to_data()));
            let items = items.collect::<Result<Vec<_>, _>>()?;
            make_array(data.into_builder().data_type(target.clone()).child_data(items).build()?)
        }
        (source, target) => {
            return Err(ArrowError::CastError(format!("{source} instead of {target}")));
        }
    })
}

/// A part of a batch of bytes.
pub enum Part {
    /// Rows that follow one another, and whose bytes are text.
    Text(RecordBatch),
    /// A row, and why it is not a record.
    NoText(RecordBatch, String),
}

/// Returns the parts of a batch, in their order, if some of its bytes are not the text that the
/// schema requires.
pub fn parts(batch: &RecordBatch, schema: &SchemaRef) -> Result<Vec<Part>, ArrowError> {
    let coded = schema;
    let (batch, schema) = without_dictionaries(batch, schema)?;
    let text = |range| as_schema(&restored(&rows(&batch, range)?, &schema)?, coded);
    let mut parts = Vec::new();
    let mut start = 0;
    for row in 0..batch.num_rows() {
        let single = rows(&batch, row..row + 1)?;
        let Some(cause) = no_text(&single, &schema) else { continue };
        if start < row {
            parts.push(Part::Text(text(start..row)?));
        }
        parts.push(Part::NoText(single, cause));
        start = row + 1;
    }
    if start < batch.num_rows() {
        parts.push(Part::Text(text(start..batch.num_rows())?));
    }
    Ok(parts)
}

/// Returns why a batch is not all text.
fn no_text(batch: &RecordBatch, schema: &Schema) -> Option<String> {
    let mut columns = schema.fields().iter().zip(batch.columns());
    columns.find_map(|(field, column)| {
        let is_text = restore(column, field.data_type()).is_ok();
        (!is_text).then(|| format!("{}: not UTF-8", field.name()))
    })
}

/// Returns the batch and its schema with the values in place of dictionaries: a value that is not
/// text belongs to the rows that refer to it.
fn without_dictionaries(
    batch: &RecordBatch,
    schema: &Schema,
) -> Result<(RecordBatch, SchemaRef), ArrowError> {
    let plain = |field: &FieldRef| match field.data_type() {
        DataType::Dictionary(_, values) => {
            field.as_ref().clone().with_data_type(values.as_ref().clone())
        }
        _ => field.as_ref().clone(),
    };
    let schema =
        SchemaRef::new(Schema::new(schema.fields().iter().map(plain).collect::<Vec<Field>>()));
    Ok((as_schema(batch, &bytes_schema(&schema))?, schema))
}

/// Returns a batch with the columns of a schema, except for dictionaries.
fn as_schema(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns.collect::<Result<_, _>>()?, &options)
}

/// Returns a batch of bytes as text, with U+FFFD for invalid bytes.
pub fn lossy(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().map(replace_invalid).collect::<Vec<ArrayRef>>();
    let fields = batch.schema_ref().fields().iter().zip(&columns);
    let fields = fields
        .map(|(field, column)| field.as_ref().clone().with_data_type(column.data_type().clone()));
    let schema = SchemaRef::new(Schema::new(fields.collect::<Vec<Field>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema, columns, &options)
}

fn replace_invalid(column: &ArrayRef) -> ArrayRef {
    let text =
        |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    match column.data_type() {
        DataType::Binary => {
            Arc::new(StringArray::from_iter(column.as_binary::<i32>().iter().map(text)))
        }
        DataType::LargeBinary => {
            Arc::new(StringArray::from_iter(column.as_binary::<i64>().iter().map(text)))
        }
        DataType::BinaryView => {
            Arc::new(StringArray::from_iter(column.as_binary_view().iter().map(text)))
        }
        _ => column.clone(),
    }
}

/// Returns rows that share no memory with others.
fn rows(batch: &RecordBatch, range: Range<usize>) -> Result<RecordBatch, ArrowError> {
    let indices = UInt32Array::from_iter_values(range.map(|row| row as u32));
    take_record_batch(batch, &indices)
}
