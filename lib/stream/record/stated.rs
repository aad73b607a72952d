//! Members that the header states for all records, and that only NDJSON, which has no header, has in each record.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{ArrowError, Field, FieldRef, Schema, SchemaRef};

use super::{RECORD_TYPES, is_rare};
use crate::batch::Header;
use crate::error::Result;

/// A member of NDJSON records that the header of other encodings states.
pub struct StatedMember {
    pub name: &'static str,
    /// States in a header the value that the first record has.
    pub state: fn(&mut Header, &str),
    /// How the value gets into records, if streams put it there.
    pub column: Option<StatedColumn>,
}

/// The column of a [`StatedMember`]: every record of a stream has the same value.
pub struct StatedColumn {
    /// Returns the value that a header states; `None` if it needs none.
    pub of: fn(&Header) -> Option<String>,
    /// Whether only the records themselves state the value.
    pub is_by_records: fn(&Header) -> bool,
    /// Fails if two headers state different values.
    pub refuse_two: fn(&Header, &Header) -> Result<()>,
    /// Returns the columns of records with this one in its place; `None` if these are no such records.
    pub schema: fn(&Schema) -> Option<Schema>,
}

/// Returns all columns that headers state, with their names.
pub fn stated_columns() -> impl Iterator<Item = (&'static str, &'static StatedColumn)> {
    let members = RECORD_TYPES.iter().filter_map(|record| record.stated.as_ref());
    members.filter_map(|member| Some((member.name, member.column.as_ref()?)))
}

/// Returns what a field is if it is such a column.
pub fn stated_column(field: &Field) -> Option<(&'static str, &'static StatedColumn)> {
    stated_columns().find(|(name, _)| field.name() == name && is_rare(field))
}

/// Returns the values that records have in such a column, with its name; `None` if there is no such column.
pub fn stated_values(
    batch: &RecordBatch,
) -> Option<(&'static str, &'static StatedColumn, &StringArray)> {
    let mut fields = batch.schema_ref().fields().iter().zip(batch.columns());
    fields.find_map(|(field, column)| {
        let (name, stated) = stated_column(field)?;
        Some((name, stated, column.as_string_opt()?))
    })
}

/// Returns the columns of a stream whose header states these columns.
pub fn without_stated(schema: &Schema) -> SchemaRef {
    let own = schema.fields().iter().filter(|field| stated_column(field).is_none());
    let own: Vec<FieldRef> = own.cloned().collect();
    SchemaRef::new(Schema::new_with_metadata(own, schema.metadata().clone()))
}

/// Returns the same records in a schema of [`StatedColumn::schema`], in which all of them have this value, or of
/// [`without_stated`].
pub fn with_value(
    batch: &RecordBatch,
    (schema, value): (&SchemaRef, &str),
) -> std::result::Result<RecordBatch, ArrowError> {
    let all = std::iter::repeat_n(value, batch.num_rows());
    let own = batch.schema_ref().fields().iter().zip(batch.columns());
    let mut own = own.filter(|(field, _)| stated_column(field).is_none());
    let columns = schema.fields().iter().map(|field| match stated_column(field) {
        Some(_) => Some(Arc::new(StringArray::from_iter_values(all.clone())) as ArrayRef),
        None => own.next().map(|(_, column)| column.clone()),
    });
    let columns = columns.flatten().collect();
    if let Some((field, _)) = own.next() {
        return Err(ArrowError::SchemaError(format!("no column of the stream: {}", field.name())));
    }
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &rows)
}
