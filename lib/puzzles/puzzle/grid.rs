//! Puzzle records in their domain's own form: digits, colours, characters, tiles as JSON.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use super::{Side, domain};
use crate::error::{Error, Result};
use crate::record::puzzle::{Puzzle, Puzzles};
use crate::record::{JsonForm, PUZZLE};

/// Returns the schema of `ds-cat --grid`: puzzles whose sides are JSON instead of tokens.
pub fn grid_schema() -> SchemaRef {
    let side = |name| Arc::new(JsonForm::Value.mark(Field::new(name, DataType::Utf8, false)));
    let sides = ["inputs_json", "labels_json"].map(side);
    Arc::new(Schema::new(name_fields().into_iter().chain(sides).collect::<Vec<_>>()))
}

/// Returns the columns before the sides.
fn name_fields() -> Vec<FieldRef> {
    let schema = PUZZLE.schema();
    schema.fields().iter().take_while(|field| field.name() != "inputs").cloned().collect()
}

/// Decodes both sides of a batch of puzzle records into [`grid_schema`]. `before` records came
/// before this batch: an error names the record by its number from 1.
pub fn grids(batch: &RecordBatch, before: u64) -> Result<RecordBatch> {
    let puzzles = Puzzles::of(batch)?;
    let (mut inputs, mut labels) = (Vec::new(), Vec::new());
    for row in 0..puzzles.len() {
        let puzzle = puzzles.get(row);
        let failed = |cause: String| {
            let number = before + row as u64 + 1;
            Error::data(cause).at(format!("record {number}")).id(Some(puzzle.puzzle))
        };
        inputs.push(decode_side(&puzzle, Side::Inputs).map_err(failed)?);
        labels.push(decode_side(&puzzle, Side::Labels).map_err(failed)?);
    }
    let sides = [inputs, labels].map(|side| Arc::new(StringArray::from(side)) as ArrayRef);
    let names = batch.columns().iter().take(name_fields().len()).cloned();
    Ok(RecordBatch::try_new(grid_schema(), names.chain(sides).collect())?)
}

fn decode_side(puzzle: &Puzzle<'_>, side: Side) -> Result<String, String> {
    let Some(name) = puzzle.domain else { return Err("its domain is not known".to_string()) };
    let domain = domain(name).ok_or_else(|| format!("domain {name:?} is not known"))?;
    let (name, tokens) = match side {
        Side::Inputs => ("inputs", puzzle.inputs),
        Side::Labels => ("labels", puzzle.labels),
    };
    let decoded = domain.decode(side, tokens).map_err(|cause| format!("{name}: {cause}"))?;
    Ok(decoded.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::puzzle::PuzzlesBuilder;
    use arrow_array::cast::AsArray;

    #[test]
    fn sides_become_json() -> Result<()> {
        let puzzle = Puzzle {
            domain: Some("maze"),
            split: "train",
            set: None,
            group: "g",
            puzzle: "p",
            identifier: None,
            inputs: &[3, 4, 1, 2],
            labels: &[0; 4],
            build: None,
        };
        let mut builder = PuzzlesBuilder::default();
        builder.push(&puzzle)?;
        builder.push(&Puzzle { domain: Some("chess"), ..puzzle })?;
        builder.push(&Puzzle { domain: None, ..puzzle })?;
        builder.push(&Puzzle { labels: &[7], ..puzzle })?;
        let batch = builder.finish()?;
        let grid = grids(&batch.slice(0, 1), 0)?;
        assert_eq!((grid.num_rows(), grid.num_columns()), (1, 8));
        let side = |index: usize| grid.column(index).as_string::<i32>().value(0);
        assert_eq!([side(6), side(7)], [r##"["SG","# "]"##, r#"["__","__"]"#]);
        for (row, cause) in [
            (1, "record 7 (p): domain \"chess\" is not known"),
            (2, "record 8 (p): its domain is not known"),
            (3, "record 9 (p): labels: token 7 is not a cell value"),
        ] {
            let error = grids(&batch.slice(row, 1), 5 + row as u64).unwrap_err();
            assert_eq!(error.to_string(), cause);
        }
        Ok(())
    }
}
