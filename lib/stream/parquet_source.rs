//! A Parquet file as a source of batches.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, SchemaRef};

use super::conform::{Conform, index_of};
use crate::batch::{Batch, Header, Origin, Pieces, RecordSource, TooLarge, Wanted};
use crate::error::{Error, Kind, Place, Position, Result};
use crate::format::parquet::{ParquetBatches, ParquetFile, Text, read_error};

pub(super) struct ParquetSource {
    name: Arc<str>,
    file: ParquetFile,
    rows: Range<u64>,
    /// Made with the first batch, when it is known which columns to read.
    batches: Option<(ParquetBatches, Conform)>,
    /// The batch that is handed out.
    pieces: Option<Pieces>,
    /// The most bytes of a record.
    most: u64,
    /// Counted from 1.
    next_record: u64,
}

impl ParquetSource {
    pub(super) fn open(
        name: Arc<str>,
        file: File,
        rows: Option<Range<u64>>,
        most: u64,
    ) -> Result<ParquetSource> {
        let file = open_parquet(&name, file)?;
        let rows = rows.unwrap_or(0..file.rows());
        let next_record = rows.start + 1;
        Ok(ParquetSource { name, file, rows, batches: None, pieces: None, most, next_record })
    }

    /// Begins to read the columns that the schema names and the file has.
    fn read(&self, schema: &SchemaRef) -> Result<(ParquetBatches, Conform)> {
        let names = schema.fields().iter().map(|field| field.name().clone());
        let there = |field: &FieldRef| {
            let index = index_of(self.file.schema(), field)?;
            Some(self.file.schema().field(index).name().clone())
        };
        let columns: Vec<String> = schema.fields().iter().filter_map(there).collect();
        if columns.is_empty() {
            let names: Vec<String> = names.collect();
            let cause = format!("none of the columns {} is there", names.join(", "));
            return Err(Error::data(cause).at(&self.name));
        }
        let batches = self.file.read(self.rows.clone(), Some(&columns), Text::Views);
        let batches = batches.map_err(|error| read_error(&error).at(&self.name))?;
        let conform = Conform::new(batches.schema(), schema)
            .map_err(|cause| Error::data(cause).at(&self.name))?;
        Ok((batches, conform))
    }
}

impl RecordSource for ParquetSource {
    fn begin(&mut self, wanted: Option<&Wanted>) -> Result<(Header, SchemaRef)> {
        if let Some(wanted) = wanted.filter(|wanted| !wanted.parquet) {
            return Err(wanted.instead_of(&self.name, "a Parquet file"));
        }
        Ok((Header::default(), self.file.schema().clone()))
    }

    fn next(
        &mut self,
        _: Option<&Wanted>,
        schema: &SchemaRef,
        _most: u64,
    ) -> Result<Option<Batch>> {
        if self.batches.is_none() {
            self.batches = Some(self.read(schema)?);
        }
        let Some((batches, conform)) = &mut self.batches else { return Ok(None) };
        let first = self.next_record;
        let place = |cause: String| Error::data(cause).at(&self.name);
        let bad = |cause: String| place(format!("records from {first}: {cause}"));
        loop {
            if let Some(piece) = self.pieces.as_mut().and_then(Pieces::next) {
                let records = conform.apply(&piece).map_err(bad)?;
                self.next_record += records.num_rows() as u64;
                let origin = Origin::numbered(self.name.clone(), first);
                return Ok(Some(Batch::of_records(records, origin)));
            }
            let Some(batch) = batches.next() else { break };
            let batch = batch.map_err(|error| match error.kind() {
                Kind::Data => bad(error.cause().to_string()),
                _ => error.at(&self.name),
            })?;
            self.pieces = Some(pieces(&self.name, batch, first, self.most)?);
        }
        if first > self.rows.end {
            return Ok(None);
        }
        let end = self.rows.end;
        Err(place(format!("ends at record {first} of {end}; the file is damaged")))
    }
}

/// A batch in pieces; `first` is the number of its first record.
pub(super) fn pieces(name: &Arc<str>, batch: RecordBatch, first: u64, most: u64) -> Result<Pieces> {
    Pieces::of(batch, most).map_err(|TooLarge(row)| {
        let position = Position::Record(first + row as u64);
        TooLarge::error(most).at(Place { source: name.clone(), position })
    })
}

pub(super) fn open_parquet(name: &str, file: File) -> Result<ParquetFile> {
    ParquetFile::open(file).map_err(|error| read_error(&error).at(name))
}
