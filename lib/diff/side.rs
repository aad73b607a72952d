//! One of the two inputs, record by record.

use arrow_array::RecordBatch;

use crate::error::{Error, Result};
use crate::record::Rows;
use crate::stream::{Conform, Reader};

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
