//! Writing Parquet files.

use std::num::NonZeroUsize;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_cast::cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit};
use arrow_select::concat::concat_batches;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;

use super::{finished, with_types, write_error, writer_properties};
use crate::batch::row_sizes;
use crate::error::{At, Error, Result, shown};
use crate::publish::{PendingFile, publish_file};

/// The memory that a row group may take before it is written, in bytes.
pub const ROW_GROUP_BYTES: usize = 64 << 20;
/// The most rows in a row group.
const ROW_GROUP_ROWS: usize = 1 << 17;

/// How many bytes of rows are given to the encoder at once, if row groups have a fixed number of
/// rows.
const CHUNK_BYTES: u64 = 1 << 20;

/// Writes a Parquet file (zstd), which is published when it is complete.
pub struct ParquetSink {
    writer: ArrowWriter<PendingFile>,
    /// The columns of the file, if some have other types than the columns of the batches.
    stored: Option<SchemaRef>,
    path: String,
    /// `None` if row groups end by their size.
    chunks: Option<Chunks>,
}

/// Rows that wait for the encoder. The end of a page depends on the rows that the encoder gets at once.
/// These chunks depend only on the rows, so the file does not depend on the batches in which they came.
struct Chunks {
    group_rows: usize,
    /// How many rows of the row group are written.
    written: usize,
    waiting: Vec<RecordBatch>,
    rows: usize,
    bytes: u64,
}

impl Chunks {
    /// Takes rows; calls `write` with complete chunks.
    fn take(
        &mut self,
        batch: &RecordBatch,
        mut write: impl FnMut(Vec<RecordBatch>) -> Result<()>,
    ) -> Result<()> {
        let mut start = 0;
        for (row, bytes) in row_sizes(batch).into_iter().enumerate() {
            self.rows += 1;
            self.bytes = self.bytes.saturating_add(bytes);
            let is_group = self.written + self.rows == self.group_rows;
            if is_group || self.bytes >= CHUNK_BYTES {
                self.waiting.push(batch.slice(start, row + 1 - start));
                start = row + 1;
                self.written = if is_group { 0 } else { self.written + self.rows };
                write(self.rest())?;
            }
        }
        if start < batch.num_rows() {
            self.waiting.push(batch.slice(start, batch.num_rows() - start));
        }
        Ok(())
    }

    fn rest(&mut self) -> Vec<RecordBatch> {
        (self.rows, self.bytes) = (0, 0);
        std::mem::take(&mut self.waiting)
    }
}

impl ParquetSink {
    /// With `group_rows` every row group except the last has that many rows, whatever their size.
    pub fn create(
        path: &Path,
        schema: SchemaRef,
        group_rows: Option<NonZeroUsize>,
    ) -> Result<ParquetSink> {
        if let Some(cause) = not_written(schema.fields()) {
            return Err(Error::data(cause).at(path).hint("--to ndjson, or --to arrow"));
        }
        let most = group_rows.map_or(ROW_GROUP_ROWS, NonZeroUsize::get);
        let properties = writer_properties().set_max_row_group_row_count(Some(most)).build();
        let file = PendingFile::create(path)?;
        let path = shown(path);
        let stored = SchemaRef::new(Schema::new_with_metadata(
            schema.fields().iter().map(stored_field).collect::<Fields>(),
            schema.metadata().clone(),
        ));
        let writer = ArrowWriter::try_new(file, stored.clone(), Some(properties));
        let stored = (stored != schema).then_some(stored);
        let writer = writer.map_err(|e| write_error(&path, e))?;
        let of = |rows: NonZeroUsize| Chunks {
            group_rows: rows.get(),
            written: 0,
            waiting: Vec::new(),
            rows: 0,
            bytes: 0,
        };
        Ok(ParquetSink { writer, stored, path, chunks: group_rows.map(of) })
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let ParquetSink { writer, stored, path, chunks } = self;
        let batch = match stored {
            Some(stored) => &converted(batch, stored).at(path.as_str())?,
            None => batch,
        };
        if let Some(chunks) = chunks {
            return chunks.take(batch, |rows| write_together(writer, path, &rows));
        }
        writer.write(batch).map_err(|e| write_error(path, e))?;
        if writer.in_progress_size() >= ROW_GROUP_BYTES {
            writer.flush().map_err(|e| write_error(path, e))?;
        }
        Ok(())
    }

    /// Ends the file, with this key-value metadata in its footer.
    pub fn publish(mut self, overwrite: bool, metadata: Vec<(String, String)>) -> Result<()> {
        let rest = self.chunks.as_mut().map(Chunks::rest).unwrap_or_default();
        write_together(&mut self.writer, &self.path, &rest)?;
        for (key, value) in metadata {
            self.writer.append_key_value_metadata(KeyValue::new(key, value));
        }
        publish_file(finished(self.writer, &self.path)?, overwrite)
    }
}

/// Returns a field with a type that Parquet has: times in seconds become times in milliseconds, and dates
/// in milliseconds become days. (The crate would write them as numbers without a unit.)
fn stored_field(field: &FieldRef) -> FieldRef {
    with_types(field, &|data_type| match data_type {
        DataType::Timestamp(TimeUnit::Second, zone) => {
            Some(DataType::Timestamp(TimeUnit::Millisecond, zone.clone()))
        }
        DataType::Time32(TimeUnit::Second) => Some(DataType::Time32(TimeUnit::Millisecond)),
        DataType::Date64 => Some(DataType::Date32),
        _ => None,
    })
}

/// Returns a batch in the columns of the file. A value that these cannot hold is an error.
fn converted(batch: &RecordBatch, stored: &SchemaRef) -> Result<RecordBatch> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let columns = batch.columns().iter().zip(stored.fields()).map(|(column, field)| {
        let (from, to) = (column.data_type(), field.data_type());
        if from == to {
            return Ok(column.clone());
        }
        let bad = |cause: String| Error::data(format!("column {:?}: {cause}", field.name()));
        let made = cast_with_options(column, to, &options).map_err(|e| bad(e.to_string()))?;
        let back = cast_with_options(&made, from, &options).map_err(|e| bad(e.to_string()))?;
        match back.as_ref() == column.as_ref() {
            true => Ok(made),
            false => Err(bad(format!("{from} has a value that Parquet's {to} cannot have"))),
        }
    });
    Ok(RecordBatch::try_new(stored.clone(), columns.collect::<Result<_>>()?)?)
}

/// Returns why columns cannot be written, if one of them has a type that Parquet lacks.
fn not_written(fields: &Fields) -> Option<String> {
    fields.iter().find_map(|field| {
        let name = field.name();
        match field.data_type() {
            DataType::Union(..) => Some(format!("column {name:?}: Parquet has no unions")),
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                Some(format!("column {name:?}: Parquet has no intervals with nanoseconds"))
            }
            DataType::Struct(members) => not_written(members),
            DataType::RunEndEncoded(_, item)
            | DataType::List(item)
            | DataType::LargeList(item)
            | DataType::ListView(item)
            | DataType::LargeListView(item)
            | DataType::FixedSizeList(item, _)
            | DataType::Map(item, _) => not_written(&Fields::from(vec![item.clone()])),
            DataType::Dictionary(_, values) => {
                not_written(&Fields::from(vec![Field::new(name, values.as_ref().clone(), true)]))
            }
            _ => None,
        }
    })
}

/// Gives rows to the encoder at once.
fn write_together(
    writer: &mut ArrowWriter<PendingFile>,
    path: &str,
    rows: &[RecordBatch],
) -> Result<()> {
    let Some(first) = rows.first() else { return Ok(()) };
    let joined = match rows {
        [only] => only.clone(),
        _ => concat_batches(first.schema_ref(), rows).map_err(|e| Error::data(e).at(path))?,
    };
    writer.write(&joined).map_err(|e| write_error(path, e))
}
