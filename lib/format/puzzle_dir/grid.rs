//! Puzzle records in their domain's own form: digits, colours, characters, tiles as JSON.

use arrow_array::RecordBatch;

use crate::error::{Error, Result};
use crate::puzzle::{Domain, Side, domain};
use crate::record::puzzle::{Puzzle, Puzzles};

/// A batch of puzzle records with both sides decoded, in `record::puzzle::grid_schema`. `before`
/// records came before this batch: an error names the record by its number from 1.
pub fn grids(batch: &RecordBatch, before: u64) -> Result<RecordBatch> {
    let puzzles = Puzzles::of(batch)?;
    let (mut inputs, mut labels) = (Vec::new(), Vec::new());
    for row in 0..puzzles.len() {
        let puzzle = puzzles.get(row);
        let failed = |cause: String| {
            let (number, name) = (before + row as u64 + 1, puzzle.puzzle);
            Error::data(format!("record {number} ({name}): {cause}"))
        };
        let domain = domain_of(&puzzle).map_err(failed)?;
        for (side, name, tokens, texts) in [
            (Side::Inputs, "inputs", puzzle.inputs, &mut inputs),
            (Side::Labels, "labels", puzzle.labels, &mut labels),
        ] {
            let decoded = domain.decode(side, tokens);
            texts.push(decoded.map_err(|cause| failed(format!("{name}: {cause}")))?.to_string());
        }
    }
    Ok(puzzles.with_sides(inputs, labels)?)
}

fn domain_of(puzzle: &Puzzle<'_>) -> Result<&'static dyn Domain, String> {
    match puzzle.domain {
        Some(name) => domain(name).ok_or_else(|| format!("domain {name:?} is not known")),
        None => Err("its domain is not known".to_string()),
    }
}
