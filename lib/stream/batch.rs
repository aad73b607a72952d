//! What a reader hands out, and what a filter asks it for.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use serde_json::Value;

use crate::cli::{Error, Place, Position, Rejection};
use crate::record::RecordType;

/// A batch of records and where they come from.
#[derive(Debug)]
pub struct Batch {
    pub records: RecordBatch,
    pub origin: Origin,
    /// Lines that are no records of the type, in their order.
    pub rejected: Vec<Rejection>,
    /// Size of the input that the batch was made of.
    pub bytes: u64,
}

impl Batch {
    /// Records that are numbered from `first` on.
    pub(super) fn numbered(source: Arc<str>, records: RecordBatch, first: u64) -> Batch {
        // What the rows take, not the buffers that they share with others.
        let size = |column: &ArrayRef| match column.as_string_view_opt() {
            Some(views) => views.total_bytes_len(),
            None => column.to_data().get_slice_memory_size().unwrap_or(0),
        };
        let bytes = records.columns().iter().map(size).sum::<usize>() as u64;
        let origin = Origin { source, numbering: Numbering::Records(first) };
        Batch { records, origin, rejected: Vec::new(), bytes }
    }

    /// Refuses one of the records.
    pub fn reject(&mut self, row: usize, id: Option<&str>, reason: String, input: Value) {
        self.rejected.push(Rejection {
            place: self.origin.place(row),
            id: id.map(str::to_string),
            reason,
            input: Some(input),
        });
    }

    /// Keeps the first `most` records, refused ones counted too; says how many there are now.
    pub(super) fn truncate(&mut self, most: u64) -> u64 {
        let came = self.records.num_rows();
        let (mut rows, mut rejected) = (0, 0);
        while ((rows + rejected) as u64) < most {
            let refused = self.rejected.get(rejected).map(|rejection| rejection.place.position);
            match (rows < came).then(|| self.origin.place(rows).position) {
                Some(row) if refused.is_none_or(|refused| row < refused) => rows += 1,
                _ if refused.is_some() => rejected += 1,
                _ => break,
            }
        }
        self.records = self.records.slice(0, rows);
        self.rejected.truncate(rejected);
        (rows + rejected) as u64
    }

    /// Ends a batch without its refused rows behind the row `last`: what was refused there did not
    /// come.
    pub fn end_behind(&mut self, last: usize) {
        let refused: HashSet<Position> =
            self.rejected.iter().map(|rejection| rejection.place.position).collect();
        let kept = (0..).map(|row| self.origin.place(row).position);
        let end = kept.filter(|position| !refused.contains(position)).nth(last);
        self.rejected.retain(|rejection| Some(rejection.place.position) < end);
        self.records = self.records.slice(0, last + 1);
    }
}

/// The places of a batch's records.
#[derive(Debug)]
pub struct Origin {
    source: Arc<str>,
    numbering: Numbering,
}

#[derive(Debug)]
enum Numbering {
    /// The line of each row.
    Lines(Vec<u64>),
    /// The number of the first row.
    Records(u64),
}

impl Origin {
    /// Rows that stand on these lines.
    pub(super) fn lines(source: Arc<str>, lines: Vec<u64>) -> Origin {
        Origin { source, numbering: Numbering::Lines(lines) }
    }

    pub fn place(&self, row: usize) -> Place {
        let position = match &self.numbering {
            Numbering::Lines(lines) => Position::Line(lines.get(row).copied().unwrap_or(0)),
            Numbering::Records(first) => Position::Record(first + row as u64),
        };
        Place { source: self.source.clone(), position }
    }
}

/// What a filter wants to read.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub record: &'static RecordType,
    /// The record type's schema, or a part of it.
    pub schema: SchemaRef,
    /// Whether Parquet files hold such records.
    pub parquet: bool,
}

impl Wanted {
    pub fn records(record: &'static RecordType) -> Wanted {
        Wanted { record, schema: record.schema(), parquet: false }
    }

    /// The error of a wrong pipe: what came, what is wanted, and who makes it.
    pub(super) fn instead_of(&self, name: &str, came: &str) -> Error {
        let RecordType { name: wanted, made_by, .. } = self.record;
        Error::usage(format!(
            "{name}: {came} came, {wanted} records are wanted; they are made by {made_by}"
        ))
    }
}
