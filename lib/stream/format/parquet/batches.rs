//! The rows of a Parquet file as batches. Rows are decoded a few at a time, with text and bytes as views
//! into the decoded pages, and joined to batches of about the wanted size. The stated size of a chunk is
//! no help: it does not tell how often a dictionary repeats a text, or where the large rows are. The
//! ends of batches do not depend on how the rows are decoded.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

use super::BATCH_BYTES;
use super::ahead::{ReadAhead, size_of};
use super::readable::ReadableFile;
use super::rows::next_of;
use crate::error::{Error, Result};
use crate::panics::caught;

/// The most rows that are decoded at once. This bounds memory if a few rows among many are large.
/// Joining costs little: it copies only views and numbers.
pub(super) const DECODED_ROWS: u64 = 64;

/// Reads the batches of some rows. An error ends it.
pub struct ParquetBatches {
    file: ReadableFile,
    /// `None` at the end.
    decoder: Option<Decoder>,
    schema: SchemaRef,
    text_schema: SchemaRef,
    /// The most rows of a batch.
    rows: usize,
    /// A batch ends after a multiple of this many rows.
    step: usize,
    read: usize,
    /// Rows after the last multiple of `step`.
    rest: Option<RecordBatch>,
}

/// How the rows are decoded.
pub(super) enum Decoder {
    /// Rows are decoded when they are asked for.
    InOrder(ParquetRecordBatchReader),
    /// Row groups are decoded side by side.
    ReadAhead(ReadAhead),
}

impl ParquetBatches {
    /// `rows` is the most rows of a batch, `step` how many are decoded at once.
    pub(super) fn new(
        file: ReadableFile,
        decoder: ParquetRecordBatchReader,
        text_schema: SchemaRef,
        (rows, step): (u64, u64),
    ) -> ParquetBatches {
        let schema = decoder.schema();
        let (rows, step) = (rows as usize, step.max(1) as usize);
        let decoder = Some(Decoder::InOrder(decoder));
        ParquetBatches { file, decoder, schema, text_schema, rows, step, read: 0, rest: None }
    }

    pub(super) fn ahead(self, ahead: Option<ReadAhead>) -> ParquetBatches {
        ParquetBatches { decoder: ahead.map(Decoder::ReadAhead).or(self.decoder), ..self }
    }

    /// Returns the schema of every batch if its bytes are read as text where the file says so.
    pub fn text_schema(&self) -> &SchemaRef {
        &self.text_schema
    }

    /// Returns the next rows, up to a place where a batch may end.
    fn decode(&mut self) -> Result<Option<RecordBatch>, String> {
        let next = match self.rest.take() {
            Some(rest) => Some(rest),
            None => self.next_rows()?,
        };
        let Some(mut batch) = next else { return Ok(None) };
        let room = self.step - self.read % self.step;
        if batch.num_rows() > room {
            self.rest = Some(batch.slice(room, batch.num_rows() - room));
            batch = batch.slice(0, room);
        }
        self.read += batch.num_rows();
        Ok(Some(batch))
    }

    fn next_rows(&mut self) -> Result<Option<RecordBatch>, String> {
        let decoded = match &mut self.decoder {
            None => return Ok(None),
            Some(Decoder::InOrder(decoder)) => next_of(decoder),
            Some(Decoder::ReadAhead(ahead)) => ahead.next(),
        };
        if !matches!(decoded, Ok(Some(_))) {
            self.decoder = None;
        }
        decoded
    }

    fn join(&mut self) -> Result<Option<RecordBatch>, String> {
        let Some(first) = self.decode()? else { return Ok(None) };
        let (mut rows, mut bytes) = (first.num_rows(), size_of(&first));
        let mut parts = vec![first];
        while !self.read.is_multiple_of(self.step) || rows < self.rows && bytes < BATCH_BYTES {
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
    /// Errors have no place: it is not known here.
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let read = self.join().map_err(|cause| match self.file.failure() {
            Some(error) => Error::reading(error),
            None => Error::data(cause),
        });
        read.transpose()
    }
}
