//! An index of rows: Parquet with a row for each piece, in the order of rows and pieces; no token.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Int32Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::EnabledStatistics;

use super::manifest::KEY;
use crate::error::{At, Error, Result, shown};
use crate::format::parquet::{ParquetFile, Text, finished, write_error, writer_properties};
use crate::packing::{Piece, Rows};
use crate::publish::PendingFile;

/// How many pieces are encoded together, as a row group.
const GROUP: usize = 1 << 20;
const NAMES: [&str; 4] = ["row", "sequence", "start", "length"];

fn schema() -> SchemaRef {
    let types = [DataType::Int64, DataType::Int64, DataType::Int32, DataType::Int32];
    let fields = NAMES.iter().zip(types).map(|(name, of)| Field::new(*name, of, false));
    SchemaRef::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// An index that is being written.
pub(super) struct IndexFile {
    writer: ArrowWriter<PendingFile>,
    path: String,
    rows: u64,
}

impl IndexFile {
    pub fn create(path: &Path) -> Result<IndexFile> {
        // Numbers are stored as differences: rows ascend, and most pieces start at 0.
        let properties = writer_properties()
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::DELTA_BINARY_PACKED)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_max_row_group_row_count(Some(GROUP))
            .build();
        let file = PendingFile::create(path)?;
        let path = shown(path);
        let writer = ArrowWriter::try_new(file, schema(), Some(properties));
        let writer = writer.map_err(|e| write_error(&path, e))?;
        Ok(IndexFile { writer, path, rows: 0 })
    }

    pub fn write(&mut self, rows: &Rows) -> Result<()> {
        let mut row = 0;
        let pieces = rows.pieces();
        for start in (0..pieces.len()).step_by(GROUP) {
            let block = &pieces[start..pieces.len().min(start + GROUP)];
            let mut numbers = Vec::with_capacity(block.len());
            for at in start..start + block.len() {
                while rows.end(row) <= at {
                    row += 1;
                }
                numbers.push((self.rows + row as u64) as i64);
            }
            let numbers = Int64Array::from(numbers);
            let sequences = block.iter().map(|piece| piece.sequence as i64);
            let int32 = |of: fn(&Piece) -> u32| {
                Arc::new(Int32Array::from_iter_values(block.iter().map(|piece| of(piece) as i32)))
            };
            let batch = RecordBatch::try_new(
                schema(),
                vec![
                    Arc::new(numbers),
                    Arc::new(Int64Array::from_iter_values(sequences)),
                    int32(|piece| piece.start),
                    int32(|piece| piece.length),
                ],
            )?;
            self.writer.write(&batch).map_err(|e| write_error(&self.path, e))?;
        }
        self.rows += rows.len() as u64;
        Ok(())
    }

    /// Ends the file with its manifest; it does not have its final name yet.
    pub fn finish(mut self, manifest: String) -> Result<PendingFile> {
        self.writer.append_key_value_metadata(KeyValue::new(KEY.to_string(), manifest));
        finished(self.writer, &self.path)
    }
}

/// A row of an index.
#[derive(Debug, Clone, Copy)]
pub struct IndexedPiece {
    pub row: i64,
    pub sequence: i64,
    pub start: i32,
    pub length: i32,
}

/// Calls `each` with the pieces of an index in their order, and with the number of bytes of each
/// batch.
pub fn read_index(
    path: &Path,
    file: &ParquetFile,
    mut each: impl FnMut(&[IndexedPiece], u64) -> Result<()>,
) -> Result<()> {
    let wanted = schema();
    let there = file.schema();
    for field in wanted.fields() {
        let found = there.field_with_name(field.name()).map(|field| field.data_type());
        if found.ok() != Some(field.data_type()) {
            let cause = format!("has no column {} of {}", field.name(), field.data_type());
            return Err(Error::data(cause).at(path));
        }
    }
    let names = NAMES.map(str::to_string);
    let all = std::iter::once(0..file.rows()).collect::<Vec<_>>();
    let batches = file.read(&all, Some(&names), Text::Plain);
    let mut pieces = Vec::new();
    for batch in batches.at(path)? {
        let batch = batch.at(path)?;
        let columns: Vec<_> = NAMES.iter().filter_map(|name| batch.column_by_name(name)).collect();
        let [row, sequence, start, length] = columns.as_slice() else { continue };
        if columns.iter().any(|column| column.null_count() > 0) {
            return Err(Error::data("has nulls").at(path));
        }
        let (row, sequence) =
            (row.as_primitive::<Int64Type>(), sequence.as_primitive::<Int64Type>());
        let (start, length) =
            (start.as_primitive::<Int32Type>(), length.as_primitive::<Int32Type>());
        pieces.clear();
        pieces.extend((0..batch.num_rows()).map(|at| IndexedPiece {
            row: row.value(at),
            sequence: sequence.value(at),
            start: start.value(at),
            length: length.value(at),
        }));
        each(&pieces, 24 * pieces.len() as u64)?;
    }
    Ok(())
}
