//! A Parquet file as a source of batches.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use arrow_schema::{DataType, FieldRef, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

use super::conform::{Conform, index_of};
use crate::batch::{Batch, Header, Origin, RecordSource, Wanted};
use crate::error::{Error, Result};
use crate::format::parquet::{ParquetFile, read_error};

pub(super) struct ParquetSource {
    name: Arc<str>,
    file: ParquetFile,
    rows: Range<u64>,
    /// Made with the first batch, when it is known which columns to read.
    batches: Option<(ParquetRecordBatchReader, Conform)>,
    /// Counted from 1.
    next_record: u64,
}

impl ParquetSource {
    pub(super) fn open(
        name: Arc<str>,
        file: File,
        rows: Option<Range<u64>>,
    ) -> Result<ParquetSource> {
        let file = open_parquet(&name, file)?;
        let rows = rows.unwrap_or(0..file.rows());
        let next_record = rows.start + 1;
        Ok(ParquetSource { name, file, rows, batches: None, next_record })
    }

    /// Begins to read the columns that the schema names and the file has.
    fn read(&self, schema: &SchemaRef) -> Result<(ParquetRecordBatchReader, Conform)> {
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
        let is_view = |field: &&FieldRef| *field.data_type() == DataType::Utf8View;
        let views: Vec<String> =
            schema.fields().iter().filter(is_view).map(|field| field.name().clone()).collect();
        let batches = self.file.read(self.rows.clone(), Some(&columns), &views);
        let batches = batches.map_err(|error| read_error(&error).at(&self.name))?;
        let conform = Conform::new(&batches.schema(), schema)
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
        let place = |cause: String| Error::data(cause).at(&self.name);
        let first = self.next_record;
        match batches.next() {
            None if first <= self.rows.end => Err(place(format!(
                "ends at record {first} of {}; the file is damaged",
                self.rows.end
            ))),
            None => Ok(None),
            Some(batch) => {
                let batch = batch.map_err(|error| {
                    self.file.error(format!("records from {first}: {error}")).at(&self.name)
                })?;
                let records = conform.apply(&batch);
                let records =
                    records.map_err(|cause| place(format!("records from {first}: {cause}")))?;
                self.next_record += records.num_rows() as u64;
                let origin = Origin::numbered(self.name.clone(), first);
                Ok(Some(Batch::of_records(records, origin)))
            }
        }
    }
}

pub(super) fn open_parquet(name: &str, file: File) -> Result<ParquetFile> {
    ParquetFile::open(file).map_err(|error| read_error(&error).at(name))
}
