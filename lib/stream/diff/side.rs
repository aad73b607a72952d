//! One of the two inputs, record by record.

use std::any::Any;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::FieldRef;

use super::parts::{ComparedRows, DiffKind, SideBatch, kind_of};
use crate::error::Result;
use crate::record::{OtherKind, RecordKind};
use crate::stream::Reader;

pub(super) struct Side {
    reader: Reader,
    pub kind: &'static dyn DiffKind,
    /// The name of the record type.
    pub record: &'static str,
    pub batch: RecordBatch,
    /// See [`DiffRecord::begins`](super::DiffRecord::begins).
    pub begins: Vec<u8>,
    /// The next row of the batch, and its number in the input.
    pub row: usize,
    pub number: u64,
    /// The end of the batch before; see [`DiffView::borders`](super::DiffView::borders).
    last: Option<[String; 2]>,
    /// Whether columns that readers of datasets derive are compared.
    pub is_stated: bool,
    /// See [`DiffView::facts`](super::DiffView::facts).
    pub facts: Box<dyn Any>,
}

impl Side {
    pub fn open(mut reader: Reader) -> Result<Side> {
        let record = reader.fitting_type();
        if let Some(record) = record {
            reader.keep_whole_columns(record);
        }
        let batch = RecordBatch::new_empty(reader.schema().clone());
        let record = record.unwrap_or(OtherKind::RECORD).name;
        let kind = kind_of(record);
        let facts = kind.facts(reader.header())?;
        Ok(Side {
            reader,
            kind,
            record,
            batch,
            begins: Vec::new(),
            row: 0,
            number: 0,
            last: None,
            is_stated: true,
            facts,
        })
    }

    /// Whether there is a next record; reads another batch if needed.
    pub fn fill(&mut self) -> Result<bool> {
        while self.row >= self.batch.num_rows() {
            let Some(batch) = self.reader.next_batch()? else { return Ok(false) };
            if let Some(rejection) = batch.rejected.first() {
                return Err(rejection.to_error());
            }
            (self.batch, self.row) = (batch.records, 0);
            if !self.is_stated {
                self.batch = without(&self.batch, self.kind.derived())?;
            }
            self.find_borders()?;
        }
        Ok(true)
    }

    /// Returns the rows of its batch and of another side's.
    pub fn pair<'a>(
        &'a self,
        other: &'a Side,
        is_strict: bool,
    ) -> Result<Box<dyn ComparedRows + 'a>> {
        let of = |side: &'a Side| side.rows_in(&side.batch, &side.begins, is_strict);
        self.kind.pair([of(self), of(other)])
    }

    /// Returns records of this side, in a batch of their own.
    pub fn rows_in<'a>(
        &'a self,
        batch: &'a RecordBatch,
        begins: &'a [u8],
        is_strict: bool,
    ) -> SideBatch<'a> {
        SideBatch { batch, begins, is_strict, facts: &*self.facts }
    }

    /// Whether its reader derives columns that the dataset does not state.
    pub fn derives(&self) -> bool {
        self.reader.is_dataset()
    }

    pub fn advance(&mut self, rows: usize) {
        self.row += rows;
        self.number += rows as u64;
    }

    /// Returns how many records are equal on both sides, as far as both batches go. `None` if some
    /// differ, or if records of this type are not compared by whole columns.
    pub fn equal_columns(&self, other: &Side) -> Option<usize> {
        let apart = self.kind.apart()?;
        let rows = [self, other].map(|side| side.batch.num_rows() - side.row);
        let count = rows[0].min(rows[1]);
        let schema = self.batch.schema_ref();
        if schema != other.batch.schema_ref() {
            return None;
        }
        let columns = self.batch.columns().iter().zip(other.batch.columns());
        let compared = schema.fields().iter().zip(columns);
        let mut compared = compared.filter(|(field, _)| !apart.contains(&field.name().as_str()));
        let is_equal = compared.all(|(_, (own, others))| {
            own.slice(self.row, count).as_ref() == others.slice(other.row, count).as_ref()
        });
        (is_equal && count > 0).then_some(count)
    }

    /// Returns what differs between the encodings, besides the records.
    pub fn encoding(&self) -> String {
        self.reader.encoding().to_string()
    }

    fn find_borders(&mut self) -> Result<()> {
        self.begins = self.kind.borders(&self.batch, &mut self.last)?;
        self.begins.resize(self.batch.num_rows(), 0);
        Ok(())
    }
}

/// Returns the batch with nulls in these columns.
fn without(batch: &RecordBatch, columns: &[&str]) -> Result<RecordBatch> {
    let schema = batch.schema();
    let column =
        |(field, column): (&FieldRef, &ArrayRef)| match columns.contains(&field.name().as_str()) {
            true => new_null_array(field.data_type(), batch.num_rows()),
            false => column.clone(),
        };
    let all = schema.fields().iter().zip(batch.columns()).map(column).collect();
    Ok(RecordBatch::try_new(schema.clone(), all)?)
}
