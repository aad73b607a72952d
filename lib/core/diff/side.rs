//! One of the two inputs, record by record.

use arrow_array::RecordBatch;

use crate::error::{Error, Result};
use crate::record::{GAME, Rows};
use crate::stream::{Conform, Reader};

/// Columns of games that may differ: the number of a run, and where it came from.
const NOT_COMPARED: [&str; 3] = ["run_id", "source", "session_json"];

pub(super) struct Side {
    reader: Reader,
    pub record: &'static str,
    pub batch: RecordBatch,
    /// For each row 2 if a group begins with it, 1 if a puzzle does, else 0.
    pub begins: Vec<u8>,
    /// The next row, and its number in the input.
    pub row: usize,
    pub number: u64,
    /// The group and the puzzle of the last example of the batch before.
    names: Option<[String; 2]>,
}

impl Side {
    pub fn open(mut reader: Reader) -> Side {
        let fits = |name: &&'static crate::record::RecordType| {
            Conform::new(reader.schema(), &name.schema()).is_ok()
        };
        let record = reader.known_type().filter(fits);
        if let Some(record) = record {
            reader.select(record.schema());
        }
        let batch = RecordBatch::new_empty(reader.schema().clone());
        let record = record.map_or("other", |record| record.name);
        Side { reader, record, batch, begins: Vec::new(), row: 0, number: 0, names: None }
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

    /// How many games are equal on both sides, as far as both batches go, if all of them are: their
    /// columns are compared whole, which is much faster than game by game.
    pub fn equal_games(&self, other: &Side) -> Option<usize> {
        let rows = [self, other].map(|side| side.batch.num_rows() - side.row);
        let count = rows[0].min(rows[1]);
        let schema = self.batch.schema_ref();
        if self.record != GAME.name || schema != other.batch.schema_ref() {
            return None;
        }
        let columns = self.batch.columns().iter().zip(other.batch.columns());
        let compared = schema.fields().iter().zip(columns);
        let mut compared =
            compared.filter(|(field, _)| !NOT_COMPARED.contains(&field.name().as_str()));
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
        self.begins.clear();
        self.begins.resize(self.batch.num_rows(), 0);
        let Rows::Puzzle(rows) = Rows::of(self.record, &self.batch).map_err(Error::from)? else {
            return Ok(());
        };
        for row in 0..rows.len() {
            let puzzle = rows.get(row);
            let before = self.names.as_ref().filter(|_| puzzle.build.is_none());
            let is_same =
                |index: usize, name: &str| before.is_some_and(|names| names[index] == name);
            self.begins[row] = match (is_same(0, puzzle.group), is_same(1, puzzle.puzzle)) {
                (true, true) => 0,
                (true, false) => 1,
                (false, _) => 2,
            };
            if self.begins[row] > 0 {
                self.names = Some([puzzle.group.to_string(), puzzle.puzzle.to_string()]);
            }
        }
        Ok(())
    }
}
