//! The `puzzle` record: one example, with the names of all it belongs to.
//!
//! Indices are the sink's: a group and a puzzle are runs of records with the same name.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Int32Array, ListArray, RecordBatch, StringArray, cast::AsArray,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field};
use serde_json::{Value, json};

use super::tokens::{Lists, ints};
use super::{JsonForm, RecordType, item};

/// Examples of puzzles. Absent or null: `domain` is one that no table knows, `set` is `all`,
/// `identifier` is the blank one. `build` stands on the first record of a source and says what
/// made it.
pub const PUZZLE: RecordType = RecordType {
    name: "puzzle",
    version: 1,
    fields,
    known_by: &["inputs"],
    made_by: "puzzle-encode, or by ds-cat of a puzzle set",
};

fn fields() -> Vec<Field> {
    let mut fields = names();
    for side in ["inputs", "labels"] {
        fields.push(Field::new(side, DataType::List(item(DataType::Int32)), false));
    }
    fields.push(JsonForm::Value.mark(Field::new("build_json", DataType::Utf8, true)));
    fields
}

fn names() -> Vec<Field> {
    [("domain", true), ("split", false), ("set", true), ("group", false), ("puzzle", false)]
        .into_iter()
        .chain([("identifier", true)])
        .map(|(name, nullable)| Field::new(name, DataType::Utf8, nullable))
        .collect()
}

/// How many columns are names: those before the sides.
const NAMES: usize = 6;

/// One example as it travels; see [`PUZZLE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Puzzle<'a> {
    pub domain: Option<&'a str>,
    pub split: &'a str,
    pub set: Option<&'a str>,
    pub group: &'a str,
    pub puzzle: &'a str,
    pub identifier: Option<&'a str>,
    pub inputs: &'a [i32],
    pub labels: &'a [i32],
    /// The text of a JSON object.
    pub build: Option<&'a str>,
}

impl Puzzle<'_> {
    /// The example as it is kept among the rejects.
    pub fn to_json(&self) -> Value {
        json!({
            "domain": self.domain, "split": self.split, "set": self.set, "group": self.group,
            "puzzle": self.puzzle, "identifier": self.identifier, "inputs": self.inputs,
            "labels": self.labels,
        })
    }
}

/// A batch of puzzle records, by column.
#[derive(Debug)]
pub struct Puzzles<'a> {
    names: [&'a StringArray; NAMES],
    inputs: Lists<'a, i32>,
    labels: Lists<'a, i32>,
    build: &'a StringArray,
}

impl<'a> Puzzles<'a> {
    /// The view of a batch in the schema of [`PUZZLE`]. Other schemas are an error (the stream
    /// readers conform every batch first).
    pub fn of(batch: &'a RecordBatch) -> Result<Puzzles<'a>, ArrowError> {
        let wrong = || ArrowError::SchemaError("not a puzzle record".to_string());
        Puzzles::view(batch.columns()).ok_or_else(wrong)
    }

    fn view(columns: &'a [ArrayRef]) -> Option<Puzzles<'a>> {
        let [domain, split, set, group, puzzle, identifier, inputs, labels, build] = columns else {
            return None;
        };
        let text = |column: &'a ArrayRef| column.as_string_opt::<i32>();
        Some(Puzzles {
            names: [
                text(domain)?,
                text(split)?,
                text(set)?,
                text(group)?,
                text(puzzle)?,
                text(identifier)?,
            ],
            inputs: ints(inputs.as_list_opt::<i32>()?)?,
            labels: ints(labels.as_list_opt::<i32>()?)?,
            build: text(build)?,
        })
    }

    pub fn len(&self) -> usize {
        self.build.len()
    }

    pub fn is_empty(&self) -> bool {
        self.build.is_empty()
    }

    pub fn get(&self, row: usize) -> Puzzle<'a> {
        let text = |column: &'a StringArray| column.is_valid(row).then(|| column.value(row));
        let [domain, split, set, group, puzzle, identifier] = self.names;
        Puzzle {
            domain: text(domain),
            split: split.value(row),
            set: text(set),
            group: group.value(row),
            puzzle: puzzle.value(row),
            identifier: text(identifier),
            inputs: self.inputs.row(row),
            labels: self.labels.row(row),
            build: text(self.build),
        }
    }
}

/// Builds batches of puzzle records.
#[derive(Debug, Default)]
pub struct PuzzlesBuilder {
    names: [Vec<Option<String>>; NAMES],
    /// The sides of all rows, and where each row's end.
    sides: [Vec<i32>; 2],
    ends: [Vec<i32>; 2],
    builds: Vec<Option<String>>,
}

impl PuzzlesBuilder {
    /// Fails where a batch would pass 2^31 tokens (batches are far smaller).
    pub fn push(&mut self, puzzle: &Puzzle<'_>) -> Result<(), ArrowError> {
        let Puzzle { domain, split, set, group, puzzle: name, identifier, .. } = *puzzle;
        let names = [domain, Some(split), set, Some(group), Some(name), identifier];
        let sides = [puzzle.inputs, puzzle.labels];
        let mut new_ends = [0; 2];
        for ((values, side), end) in self.sides.iter().zip(sides).zip(&mut new_ends) {
            let length = values.len() + side.len();
            *end = i32::try_from(length).map_err(|_| ArrowError::OffsetOverflowError(length))?;
        }
        for (column, name) in self.names.iter_mut().zip(names) {
            column.push(name.map(str::to_string));
        }
        for (index, side) in sides.into_iter().enumerate() {
            self.sides[index].extend_from_slice(side);
            self.ends[index].push(new_ends[index]);
        }
        self.builds.push(puzzle.build.map(str::to_string));
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.builds.len()
    }

    pub fn is_empty(&self) -> bool {
        self.builds.is_empty()
    }

    /// Tokens of both sides so far.
    pub fn tokens(&self) -> usize {
        self.sides.iter().map(Vec::len).sum()
    }

    /// The batch of the records so far; the builder is empty again.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let PuzzlesBuilder { names, sides, ends, builds } = std::mem::take(self);
        let text = |column: Vec<Option<String>>| Arc::new(StringArray::from(column)) as ArrayRef;
        let mut columns: Vec<ArrayRef> = names.into_iter().map(text).collect();
        for (values, ends) in sides.into_iter().zip(ends) {
            let offsets = OffsetBuffer::new(std::iter::once(0).chain(ends).collect());
            let values = Arc::new(Int32Array::new(ScalarBuffer::from(values), None));
            let list = ListArray::try_new(item(DataType::Int32), offsets, values, None)?;
            columns.push(Arc::new(list));
        }
        columns.push(text(builds));
        RecordBatch::try_new(PUZZLE.schema(), columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_comes_back() -> Result<(), ArrowError> {
        let first = Puzzle {
            domain: Some("sudoku"),
            split: "train",
            set: None,
            group: "g",
            puzzle: "p",
            identifier: None,
            inputs: &[1, 2],
            labels: &[3],
            build: Some("{}"),
        };
        let second = Puzzle { domain: None, set: Some("all"), build: None, inputs: &[], ..first };
        let mut builder = PuzzlesBuilder::default();
        builder.push(&first)?;
        builder.push(&second)?;
        assert_eq!(builder.tokens(), 4);
        let batch = builder.finish()?;
        let view = Puzzles::of(&batch)?;
        assert_eq!((view.get(0), view.get(1), view.len()), (first, second, 2));
        assert!(builder.is_empty() && builder.finish()?.num_rows() == 0);
        Ok(())
    }
}
