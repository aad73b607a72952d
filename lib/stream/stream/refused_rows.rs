//! Rows of a batch that are refused: why, and their JSON for the file of rejects.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use super::ndjson_writer::NdjsonEncoder;
use super::texts::lossy;
use crate::batch::row_sizes;
use crate::cli::RejectedContent;
use crate::record::JsonForm;

/// Rows of a batch that follow one another.
pub struct Run {
    /// The first rows, which are records.
    pub records: RecordBatch,
    /// Why the rows after them are not records.
    pub refused: Vec<RefusedRow>,
}

/// Why a row is refused, and its JSON as far as it has one.
pub struct RefusedRow {
    pub reason: String,
    pub input: RejectedContent,
}

/// The most bytes of a row that is kept: its JSON may be far larger.
const MOST_KEPT: u64 = 16 << 20;

/// Returns the JSON of a row, made when it is written. Values that JSON does not have are written
/// as Python names them, so that the row is kept as text, and invalid bytes are replaced.
pub(super) fn input_of(row: &RecordBatch) -> RejectedContent {
    if row_sizes(row).iter().any(|&bytes| bytes > MOST_KEPT) {
        return RejectedContent::Nothing;
    }
    let row = row.clone();
    RejectedContent::json(move || {
        let mut line = Vec::new();
        let encoded =
            lossy(&row).and_then(|row| NdjsonEncoder::shown(plain(&row)).encode(&row, &mut line));
        match encoded {
            Ok(()) => String::from_utf8_lossy(&line).trim_end().to_string(),
            Err(_) => "null".to_string(),
        }
    })
}

/// Without their mark, JSON columns are written as the texts that they are.
pub(super) fn plain(batch: &RecordBatch) -> SchemaRef {
    let plain = |field: &FieldRef| match field.data_type() {
        // (The metadata of bytes says what they are.)
        DataType::FixedSizeBinary(_) => field.as_ref().clone(),
        _ if JsonForm::is_rest(field) => field.as_ref().clone(),
        _ => field.as_ref().clone().with_metadata(HashMap::new()),
    };
    let fields = batch.schema_ref().fields().iter().map(plain);
    SchemaRef::new(Schema::new(fields.collect::<Vec<Field>>()))
}
