//! The rows of a Parquet file as batches. Rows are decoded a few at a time, text and bytes as views
//! into the decoded pages, and joined to batches of about the size that is wanted: what a chunk
//! says of its size says nothing of the text that a dictionary repeats, or of where its large
//! rows are.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

use super::BATCH_BYTES;
use super::readable::Readable;
use crate::batch::row_sizes;
use crate::error::{Error, Result};
use crate::panics::caught;

/// The most rows that are decoded at once. It bounds memory where a few rows are large among many
/// that are not; joining costs views and numbers only.
pub(super) const DECODED_ROWS: u64 = 64;

/// Reads the batches of some rows. After an error it is at its end.
pub struct ParquetBatches {
    file: Readable,
    /// `None` at the end.
    decoder: Option<ParquetRecordBatchReader>,
    schema: SchemaRef,
    text_schema: SchemaRef,
    /// A batch has no more rows.
    rows: usize,
}

impl ParquetBatches {
    pub(super) fn new(
        file: Readable,
        decoder: ParquetRecordBatchReader,
        text_schema: SchemaRef,
        rows: u64,
    ) -> ParquetBatches {
        let (schema, rows) = (decoder.schema(), rows as usize);
        ParquetBatches { file, decoder: Some(decoder), schema, text_schema, rows }
    }

    /// The schema of every batch, if its bytes are text where the file says so.
    pub fn text_schema(&self) -> &SchemaRef {
        &self.text_schema
    }

    fn decode(&mut self) -> Result<Option<RecordBatch>, String> {
        let Some(decoder) = &mut self.decoder else { return Ok(None) };
        let decoded = caught(|| decoder.next().transpose());
        let decoded = decoded.and_then(|decoded| decoded.map_err(|error| error.to_string()));
        if !matches!(decoded, Ok(Some(_))) {
            self.decoder = None;
        }
        decoded
    }

    fn join(&mut self) -> Result<Option<RecordBatch>, String> {
        let Some(first) = self.decode()? else { return Ok(None) };
        let (mut rows, mut bytes) = (first.num_rows(), size_of(&first));
        let mut parts = vec![first];
        while rows < self.rows && bytes < BATCH_BYTES {
            let Some(part) = self.decode()? else { break };
            rows += part.num_rows();
            bytes += size_of(&part);
            parts.push(part);
        }
        if parts.len() == 1 {
            return Ok(parts.pop());
        }
        let joined = caught(|| concat_batches(&self.schema, &parts))?;
        joined.map(Some).map_err(|error| error.to_string())
    }
}

impl Iterator for ParquetBatches {
    /// The place of an error is not known here.
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let read = self.join().map_err(|cause| match self.file.failure() {
            Some(error) => Error::reading(error),
            None => Error::data(cause),
        });
        read.transpose()
    }
}

fn size_of(batch: &RecordBatch) -> u64 {
    row_sizes(batch).into_iter().fold(0, u64::saturating_add)
}
