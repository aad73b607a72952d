//! Writes columns as NDJSON: one compact object per line, with every field of the schema, nulls too.
//!
//! Integers and decimals are printed exactly (also a u64 seed), floats in the shortest form that reads back
//! the same. Text stays UTF-8. Bytes must be text. Bytes that are not, floats that are not finite, and types
//! that are not known here are errors.

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{ArrowError, FieldRef, SchemaRef};

use super::ndjson_printers::{ColumnPrinter, MemberLabels, Nulls, within, write_members};
use crate::record::{JsonForm, ndjson_name};

/// Appends rows of batches to a buffer as lines.
pub struct NdjsonEncoder {
    schema: SchemaRef,
    names: MemberLabels,
    nulls: Nulls,
}

impl NdjsonEncoder {
    pub fn new(schema: SchemaRef) -> NdjsonEncoder {
        let names = MemberLabels::of(schema.fields());
        NdjsonEncoder { schema, names, nulls: Nulls::Written }
    }

    /// Makes an encoder whose lines show every value to people, also values without JSON.
    pub fn shown(schema: SchemaRef) -> NdjsonEncoder {
        NdjsonEncoder { nulls: Nulls::Shown, ..NdjsonEncoder::new(schema) }
    }

    /// Makes an encoder whose lines show values that are not JSON so that they can be recognised.
    pub fn exact(schema: SchemaRef) -> NdjsonEncoder {
        NdjsonEncoder { nulls: Nulls::Verbatim, ..NdjsonEncoder::new(schema) }
    }

    /// Writes all rows of a batch of the encoder's schema.
    pub fn encode(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        let columns: Result<Vec<ColumnPrinter>, ArrowError> = self
            .schema
            .fields()
            .iter()
            .zip(batch.columns())
            .map(|(field, column)| ColumnPrinter::new(field, column, self.nulls))
            .collect();
        let columns = columns?;
        for row in 0..batch.num_rows() {
            write_members(out, &self.names, &columns, row)?;
            out.push(b'\n');
        }
        Ok(())
    }
}

/// Returns the values of a column of lists or structs as the JSON from which they were made. By `form` the
/// text is the value, or an object that has the value under `name`. Null members are left out, since a
/// table has a column for every member that any of its objects has.
pub fn json_texts(
    field: &FieldRef,
    column: &ArrayRef,
    form: JsonForm,
) -> Result<StringArray, ArrowError> {
    let takes_all = matches!(form, JsonForm::Record | JsonForm::Rest);
    let nulls = if takes_all { Nulls::Filled } else { Nulls::LeftOut };
    let printer = ColumnPrinter::new(field, column, nulls)?;
    let labels = MemberLabels::of([field]);
    let mut texts = StringBuilder::new();
    let mut text = Vec::new();
    for row in 0..column.len() {
        if printer.is_null(row) {
            texts.append_null();
            continue;
        }
        text.clear();
        match form {
            JsonForm::Value | JsonForm::Record | JsonForm::Rest => {
                printer.write(&mut text, row).map_err(|error| within(ndjson_name(field), error))?
            }
            JsonForm::Any => {
                if printer.write(&mut text, row).is_err() {
                    // Whoever looks at it refuses it.
                    text.clear();
                    text.extend_from_slice(b"NaN");
                }
            }
            JsonForm::Member => {
                let member = std::slice::from_ref(&printer);
                write_members(&mut text, &labels, member, row)?;
            }
        }
        let text = std::str::from_utf8(&text).map_err(|e| ArrowError::JsonError(e.to_string()))?;
        texts.append_option(Some(text).filter(|text| form != JsonForm::Rest || *text != "{}"));
    }
    Ok(texts.finish())
}

/// Returns a row as it is written to the rejects: all of it, as in NDJSON.
pub fn row_json(batch: &RecordBatch, row: usize) -> String {
    let mut line = Vec::new();
    let encoder = NdjsonEncoder::new(batch.schema());
    match encoder.encode(&batch.slice(row, 1), &mut line) {
        Ok(()) => String::from_utf8_lossy(line.trim_ascii_end()).into_owned(),
        Err(_) => "null".to_string(),
    }
}
