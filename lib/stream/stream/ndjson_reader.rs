//! Reads NDJSON into columns: one record per line, directly into the builders of the record type's schema.
//! Integers are exact (1.5 is not an int32, 2^53 + 1 is kept). Unknown fields are skipped; of repeated
//! fields the last one counts; errors name the line.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringViewArray};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef};

use super::columns::{Members, Unknown};
use super::json_column::Problem;
use super::typed_cast::plain_cast;
use crate::json::Reader;

/// Builds batches from lines.
pub struct NdjsonDecoder {
    schema: SchemaRef,
    columns: Members,
    rows: usize,
}

impl NdjsonDecoder {
    pub fn new(schema: SchemaRef) -> Result<NdjsonDecoder, ArrowError> {
        let columns = Members::of(&schema.fields().iter().map(built_as).collect())?;
        Ok(NdjsonDecoder { schema, columns, rows: 0 })
    }

    /// Makes a decoder that requires values of exactly the columns' types, and lines without repeated fields.
    /// A field in `names` that has no column is an error; other fields are skipped.
    pub fn typed(schema: SchemaRef, names: &Schema) -> Result<NdjsonDecoder, ArrowError> {
        let is_absent = |name: &&String| schema.index_of(name).is_err();
        let names = names.fields().iter().map(|field| field.name());
        let unknown = Unknown::Among(names.filter(is_absent).cloned().collect());
        let columns = Members::exact(&schema.fields().iter().map(built_as).collect(), unknown)?;
        Ok(NdjsonDecoder { schema, columns, rows: 0 })
    }

    /// Reads one line. A line with an error leaves no trace.
    pub fn line(&mut self, line: &[u8]) -> Result<(), String> {
        let text = text_of(line)?;
        let mut reader = match self.columns.is_exact() {
            true => Reader::new(text),
            false => Reader::lenient(text),
        };
        let read = self.columns.read(&mut reader, self.rows);
        let result = read.and_then(|()| Ok(reader.end()?));
        match result {
            Ok(()) => {
                self.rows += 1;
                Ok(())
            }
            Err(problem) => {
                self.columns.truncate(self.rows);
                Err(problem.0)
            }
        }
    }

    /// Returns the batch of the lines so far; the decoder is empty again.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let rows = std::mem::take(&mut self.rows);
        let finish = |(column, field): (ArrayRef, &FieldRef)| {
            match (column.as_string_opt::<i32>(), field.data_type()) {
                // The text is not copied.
                (Some(text), DataType::Utf8View) => {
                    Ok(Arc::new(StringViewArray::from(text)) as ArrayRef)
                }
                (_, data_type) if column.data_type() != data_type => {
                    plain_cast(&column, data_type).map_err(ArrowError::CastError)
                }
                _ => Ok(column),
            }
        };
        let columns: Result<Vec<ArrayRef>, ArrowError> =
            self.columns.finish()?.into_iter().zip(self.schema.fields()).map(finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), columns?, &options)
    }
}

/// Returns the field of the column that is built; the column is cast to its own type at the end.
fn built_as(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Utf8View | DataType::LargeUtf8 | DataType::Null => DataType::Utf8,
        DataType::Int8 | DataType::Int16 => DataType::Int32,
        DataType::UInt16 => DataType::UInt32,
        DataType::Float16 => DataType::Float32,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => DataType::List(built_as(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(built_as).collect()),
        other => other.clone(),
    };
    FieldRef::new(field.as_ref().clone().with_data_type(data_type))
}

fn text_of(line: &[u8]) -> Result<&str, String> {
    // (The standard library takes ten times as long for texts with many characters beyond ASCII.)
    let text = simdutf8::basic::from_utf8(line).or_else(|_| std::str::from_utf8(line));
    text.map_err(|e| format!("not UTF-8 at byte {}", e.valid_up_to() + 1))
}

/// Returns the names of an object's members, to find out the type of a record.
pub fn member_names(line: &[u8]) -> Result<Vec<String>, String> {
    let text = text_of(line)?;
    let mut reader = Reader::lenient(text);
    let mut names = Vec::new();
    let mut scratch = String::new();
    let read: Result<(), Problem> = reader.object(|reader, key| {
        names.push(key.decode(&mut scratch)?.to_string());
        Ok(reader.skip()?)
    });
    read.map(|()| names).map_err(|Problem(cause)| cause)
}

/// Returns the schema of a decoder that reads only some columns, each once.
pub fn project(schema: &Schema, names: &[String]) -> Result<Schema, String> {
    let mut seen = HashSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(format!("expected each column once, got {name:?} twice; try: leave one out"));
    }
    let fields: Result<Vec<FieldRef>, String> = names
        .iter()
        .map(|name| {
            schema.fields().iter().find(|f| f.name() == name).cloned().ok_or_else(|| {
                let there: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
                format!("no column {name:?}; there are: {}", there.join(", "))
            })
        })
        .collect();
    Ok(Schema::new_with_metadata(fields?, schema.metadata().clone()))
}
