//! A Parquet file as a source of batches.

use std::collections::VecDeque;
use std::fs::File;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, Schema, SchemaRef};

use super::conform::ColumnPlaces;
use super::conversion::Conversion;
use super::refused_rows::{RefusedRow, Run};
use super::texts::restored;
use super::typed::typed_columns;
use crate::batch::{
    Batch, DroppedRecords, Header, Origin, Pieces, RecordSource, TooLarge, WantedRecords,
};
use crate::cli::Rejection;
use crate::error::{At, Error, Kind, Place, Position, Result};
use crate::format::parquet::{ParquetBatches, ParquetFile, Text};
use crate::record::{JsonForm, RecordType};

pub(super) struct ParquetSource {
    name: Arc<str>,
    file: ParquetFile,
    /// The ascending runs of rows that have not been handed out.
    runs: VecDeque<Range<u64>>,
    /// Made with the first batch, when it is known which columns to read.
    batches: Option<(ParquetBatches, Conversion)>,
    /// Batches that are not handed out yet.
    ready: VecDeque<Batch>,
    /// The batch from which they are made.
    pieces: Option<Pieces>,
    /// The most bytes of a record.
    most: u64,
    /// How many threads decode row groups.
    threads: NonZeroUsize,
}

impl ParquetSource {
    pub(super) fn open(
        name: Arc<str>,
        file: File,
        rows: Option<Range<u64>>,
        most: u64,
    ) -> Result<ParquetSource> {
        let file = open_parquet(&name, file)?;
        let runs = VecDeque::from([rows.unwrap_or(0..file.rows())]);
        Ok(ParquetSource {
            name,
            file,
            runs,
            batches: None,
            ready: VecDeque::new(),
            pieces: None,
            most,
            threads: NonZeroUsize::MIN,
        })
    }

    /// Returns what the file states about its records. The records that were dropped when it was made are not
    /// counted again, since a slice of the file could not tell how many belong to it.
    fn header(&self) -> Result<Header> {
        let header = Header::of(self.file.schema()).at(&self.name)?;
        Ok(Header { dropped: DroppedRecords::default(), ..header })
    }

    /// Begins to read the columns that the schema names and the file has.
    fn read(
        &self,
        wanted: Option<&WantedRecords>,
        schema: &SchemaRef,
    ) -> Result<(ParquetBatches, Conversion)> {
        // A column that the first input does not have is an error, so it is looked for.
        let named =
            wanted.filter(|wanted| wanted.any_types).map_or(schema, |wanted| &wanted.schema);
        let places = ColumnPlaces::of(self.file.schema());
        let there = |field: &FieldRef| {
            let index = places.find(field)?;
            Some(self.file.schema().field(index).name().clone())
        };
        let columns: Vec<String> = if JsonForm::takes_all(named) {
            self.file.schema().fields().iter().map(|field| field.name().clone()).collect()
        } else {
            // A field without a column may be in the column of the rest.
            let others =
                self.file.schema().fields().iter().filter(|field| JsonForm::is_rest(field));
            let others = others.map(|field| field.name().clone());
            named.fields().iter().filter_map(there).chain(others).collect()
        };
        if columns.is_empty() {
            let names: Vec<&str> = named.fields().iter().map(|f| f.name().as_str()).collect();
            let cause = format!("none of the columns {} is there", names.join(", "));
            return Err(Error::data(cause).at(&self.name));
        }
        let runs: Vec<Range<u64>> = self.runs.iter().cloned().collect();
        let batches = self.file.read_on(self.threads, &runs, Some(&columns), Text::Bytes);
        let batches = batches.at(&self.name)?;
        let conversion = Conversion::new(batches.text_schema(), schema, wanted)
            .map_err(|cause| Error::data(cause).at(&self.name))?;
        Ok((batches, conversion))
    }

    fn next_batch(
        &mut self,
        wanted: Option<&WantedRecords>,
        schema: &SchemaRef,
    ) -> Result<Option<Batch>> {
        if self.batches.is_none() {
            self.batches = Some(self.read(wanted, schema)?);
        }
        let Some((decoded, conversion)) = &mut self.batches else { return Ok(None) };
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            if let Some(piece) = self.pieces.as_mut().and_then(Pieces::next) {
                let numbers = take_numbers(&mut self.runs, piece.num_rows() as u64);
                self.ready.extend(batches(&self.name, conversion, &piece, &numbers)?);
                continue;
            }
            let first = self.runs.front().map_or(0, |run| run.start + 1);
            let Some(batch) = decoded.next() else { break };
            if batch.is_err() && self.threads.get() > 1 {
                // The rows are read again in order: the rows before the damage come first, and the
                // error is the same for every number of threads.
                self.threads = NonZeroUsize::MIN;
                self.batches = None;
                return self.next_batch(wanted, schema);
            }
            let batch = batch.map_err(|error| match error.kind() {
                Kind::Data => Error::data(format!("records from {first}: {}", error.cause())),
                _ => error,
            });
            let batch = batch.at(&self.name)?;
            let batch = restored(&batch, decoded.text_schema()).unwrap_or(batch);
            self.pieces = Some(pieces(&self.name, batch, first, self.most)?);
        }
        self.runs.retain(|run| !run.is_empty());
        let (Some(next), Some(last)) = (self.runs.front(), self.runs.back()) else {
            return Ok(None);
        };
        let cause =
            format!("ends at record {} of {}; the file is damaged", next.start + 1, last.end);
        Err(Error::data(cause).at(&self.name))
    }
}

impl RecordSource for ParquetSource {
    fn record(&mut self, default: &'static RecordType) -> Result<Option<&'static RecordType>> {
        let schema = self.file.schema();
        Ok(Some(self.header()?.record_type(schema).unwrap_or(default)))
    }

    fn encoding(&self) -> String {
        "Parquet".to_string()
    }

    fn begin(&mut self, wanted: Option<&WantedRecords>) -> Result<(Header, SchemaRef)> {
        let header = self.header()?;
        if let Some(wanted) = wanted {
            wanted.check_record(&self.name, &header)?;
            wanted.refuse_other_columns(&self.name, self.file.schema())?;
        }
        let schema = match wanted.filter(|wanted| wanted.any_types) {
            Some(wanted) => typed_columns(self.file.schema(), &wanted.schema),
            // The metadata is in the header.
            None => SchemaRef::new(Schema::new(self.file.schema().fields().clone())),
        };
        Ok((header, schema))
    }

    fn next(
        &mut self,
        wanted: Option<&WantedRecords>,
        schema: &SchemaRef,
        _most: u64,
    ) -> Result<Option<Batch>> {
        self.next_batch(wanted, schema)
    }

    /// A file with our header begins the count, as a dataset does.
    fn dropped(&self) -> DroppedRecords {
        let schema = self.file.schema();
        if Header::is_in(schema) {
            DroppedRecords::default()
        } else {
            DroppedRecords::without_header(Header::default().record_type(schema), false)
        }
    }

    fn decode_on(&mut self, threads: NonZeroUsize) {
        self.threads = threads;
    }

    fn read_runs(&mut self, runs: &[Range<u64>]) -> Result<bool> {
        let first = self.runs.front().map_or(0, |run| run.start);
        self.runs = runs.iter().map(|run| first + run.start..first + run.end).collect();
        Ok(true)
    }
}

/// Returns a batch in pieces; `first` is the number of its first record.
pub(super) fn pieces(name: &Arc<str>, batch: RecordBatch, first: u64, most: u64) -> Result<Pieces> {
    Pieces::of(batch, most).map_err(|TooLarge(row)| {
        let position = Position::Record(first + row as u64);
        TooLarge::error(most).at(Place { source: name.clone(), position })
    })
}

/// Removes the numbers of the next rows, from 0, from the runs, and returns them.
fn take_numbers(runs: &mut VecDeque<Range<u64>>, mut count: u64) -> Vec<Range<u64>> {
    let mut taken = Vec::new();
    while let Some(run) = runs.front_mut().filter(|_| count > 0) {
        let end = run.end.min(run.start.saturating_add(count));
        count -= end - run.start;
        taken.push(run.start..end);
        run.start = end;
        if run.is_empty() {
            runs.pop_front();
        }
    }
    taken
}

/// Returns the rows of a piece as batches; `numbers` are the numbers of its records, from 0.
pub(super) fn batches(
    name: &Arc<str>,
    conversion: &Conversion,
    piece: &RecordBatch,
    numbers: &[Range<u64>],
) -> Result<Vec<Batch>> {
    let mut numbers = numbers.iter().cloned().flatten().map(|number| number + 1).peekable();
    let first = numbers.peek().copied().unwrap_or(0);
    let runs = conversion
        .runs(piece)
        .map_err(|cause| Error::data(format!("records from {first}: {cause}")).at(name))?;
    let batch = |Run { records, refused }: Run| {
        let mut origin = Origin::default();
        for (row, number) in (0..records.num_rows()).zip(&mut numbers) {
            origin.goes_on(row, name, number);
        }
        let mut batch = Batch::of_records(records, origin);
        for (RefusedRow { reason, input }, number) in refused.into_iter().zip(&mut numbers) {
            let place = Place { source: name.clone(), position: Position::Record(number) };
            batch.rejected.push(Rejection { place, id: None, reason, input });
        }
        batch
    };
    Ok(runs.into_iter().map(batch).collect())
}

pub(super) fn open_parquet(name: &str, file: File) -> Result<ParquetFile> {
    ParquetFile::open(file).at(name)
}
