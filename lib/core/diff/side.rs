//! One of the two inputs, record by record.

use arrow_array::RecordBatch;

use super::parts::{Compared, columns_apart};
use crate::error::{Error, Result};
use crate::record::{Rows, each_rows};
use crate::stream::Reader;

pub(super) struct Side {
    reader: Reader,
    pub record: &'static str,
    pub batch: RecordBatch,
    /// See [`One::begins`].
    pub begins: Vec<u8>,
    /// The next row, and its number in the input.
    pub row: usize,
    pub number: u64,
    /// What the batch before ended in; see [`Compared::borders`].
    last: Option<[String; 2]>,
}

impl Side {
    pub fn open(mut reader: Reader) -> Side {
        let record = reader.fitting_type();
        if let Some(record) = record {
            reader.select(record.schema());
        }
        let batch = RecordBatch::new_empty(reader.schema().clone());
        let record = record.map_or("other", |record| record.name);
        Side { reader, record, batch, begins: Vec::new(), row: 0, number: 0, last: None }
    }

    /// Whether there is a next record; reads on if it must.
    pub fn fill(&mut self) -> Result<bool> {
        while self.row >= self.batch.num_rows() {
            let Some(batch) = self.reader.next_batch()? else { return Ok(false) };
            if let Some(rejection) = batch.rejected.first() {
                return Err(rejection.to_error());
            }
            (self.batch, self.row) = (batch.records, 0);
            self.find_borders()?;
        }
        Ok(true)
    }

    pub fn advance(&mut self, rows: usize) {
        self.row += rows;
        self.number += rows as u64;
    }

    /// How many records are equal on both sides, as far as both batches go, if all of them are and such
    /// records are compared by whole columns.
    pub fn equal_columns(&self, other: &Side) -> Option<usize> {
        let apart = columns_apart(self.record)?;
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

    /// What is not equal in the reading of the two, besides the records.
    pub fn encoding(&self) -> String {
        self.reader.encoding().to_string()
    }

    fn find_borders(&mut self) -> Result<()> {
        let rows = Rows::of(self.record, &self.batch).map_err(Error::from)?;
        self.begins = each_rows!(rows, rows => rows.borders(&mut self.last));
        self.begins.resize(self.batch.num_rows(), 0);
        Ok(())
    }
}
