//! The `puzzle` record: one example, with the names of its split, set, group and puzzle.
//!
//! The sink makes the indices: a group and a puzzle are runs of records with the same name.

use serde_json::{Value, json};

use super::Grids;
use super::prelude::*;
use crate::puzzle::{grid_schema, grids};

/// Examples of puzzles: the fields of [`NameFields`] and [`ExampleFields`].
pub const PUZZLE: RecordType = RecordType {
    name: "puzzle",
    singular: "example",
    plural: "puzzles",
    fields: || [NameFields::declared(), ExampleFields::declared()].concat(),
    marking_fields: &[&["inputs", "labels"]],
    made_by: "puzzle-encode, or ds-cat of a puzzle set",
    made_into: &[],
    is_derived: true,
    grids: Some(Grids { schema: grid_schema, of: grids }),
    ..RecordType::PLAIN
};

record_fields! {
    /// The names of an example. Groups and puzzles are runs of records of the same name in
    /// their split and set.
    NameFields(NameColumns, NameBuilder) {
        /// The name of its domain; null if it is not known.
        domain: Option<String>,
        /// `train` or `test`.
        split: String,
        /// The name of its set; null for `all`.
        set: Option<String>,
        /// The name of its group.
        group: String,
        /// The name of its puzzle.
        puzzle: String,
        /// The name of its identifier; null for `<blank>`.
        identifier: Option<String>,
    }
}

record_fields! {
    /// The example itself.
    ExampleFields(ExampleColumns, ExampleBuilder) {
        /// The tokens of the question.
        inputs: List<i32>,
        /// The tokens of the answer.
        labels: List<i32>,
        /// The origin of the records (domain, seed, parameters, hashes of the inputs), an object,
        /// on the first record of a source. Groups and puzzles start again there.
        build_json: Option<Json>,
    }
}

/// How many columns are names: the columns before the sides.
const NAMES: usize = 6;

/// One example; see [`PUZZLE`].
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

/// Returns an example as it is written to the rejects.
pub fn to_json(batch: &RecordBatch, row: usize) -> String {
    let Ok(puzzles) = Puzzles::of(batch) else { return Value::Null.to_string() };
    let example = puzzles.get(row);
    let names = json!({
        "domain": example.domain, "split": example.split, "set": example.set,
        "group": example.group, "puzzle": example.puzzle, "identifier": example.identifier,
    });
    let mut text = names.to_string();
    text.truncate(text.len() - 1);
    for (name, side) in [("inputs", example.inputs), ("labels", example.labels)] {
        text += &format!(",\"{name}\":");
        append_integers(&mut text, side);
    }
    text + "}"
}

/// A batch of puzzle records, by column.
#[derive(Debug)]
pub struct Puzzles<'a> {
    batch: &'a RecordBatch,
    names: NameColumns<'a>,
    examples: ExampleColumns<'a>,
}

impl<'a> Puzzles<'a> {
    /// Returns the view of a batch in the schema of [`PUZZLE`]. Other schemas are an error (the
    /// stream readers conform every batch first).
    pub fn of(batch: &'a RecordBatch) -> Result<Puzzles<'a>, ArrowError> {
        let names = NameColumns::of_columns(batch.columns())?;
        let examples =
            ExampleColumns::of_columns(batch.columns().get(NAMES..).unwrap_or_default())?;
        Ok(Puzzles { batch, names, examples })
    }

    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Examples have no ids.
    pub fn id(&self, _row: usize) -> Option<&'a str> {
        None
    }

    pub fn get(&self, row: usize) -> Puzzle<'a> {
        Puzzle {
            domain: self.names.domain.get(row),
            split: self.names.split.value(row),
            set: self.names.set.get(row),
            group: self.names.group.value(row),
            puzzle: self.names.puzzle.value(row),
            identifier: self.names.identifier.get(row),
            inputs: self.examples.inputs.row(row),
            labels: self.examples.labels.row(row),
            build: self.examples.build_json.get(row),
        }
    }
}

/// Builds batches of puzzle records.
#[derive(Debug, Default)]
pub struct PuzzlesBuilder {
    names: NameBuilder,
    examples: ExampleBuilder,
}

impl PuzzlesBuilder {
    /// Fails if a batch would pass 2^31 tokens (batches are far smaller).
    pub fn push(&mut self, puzzle: &Puzzle<'_>) -> Result<(), ArrowError> {
        let PuzzlesBuilder { names, examples } = self;
        names.domain.push(puzzle.domain);
        names.split.push(Some(puzzle.split));
        names.set.push(puzzle.set);
        names.group.push(Some(puzzle.group));
        names.puzzle.push(Some(puzzle.puzzle));
        names.identifier.push(puzzle.identifier);
        for (side, tokens) in
            [(&mut examples.inputs, puzzle.inputs), (&mut examples.labels, puzzle.labels)]
        {
            side.items.extend_known(tokens.iter().copied());
            side.end_row(true);
            side.ends.check()?;
        }
        examples.build_json.push(puzzle.build);
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.names.rows()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the tokens of both sides so far.
    pub fn tokens(&self) -> usize {
        self.examples.inputs.items.rows() + self.examples.labels.items.rows()
    }

    /// Returns the batch of the records so far; the builder is empty again.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let PuzzlesBuilder { names, examples } = std::mem::take(self);
        let columns = [names.columns()?, examples.columns()?].concat();
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
