//! Plots of puzzles for a page: sizes of grids, examples of a puzzle. They are gathered in the order of the records, in
//! memory that does not grow.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::puzzle;
use crate::record::puzzle::{Puzzle, Puzzles};
use crate::stat::Distribution;
use crate::view::page::ExtraPlots;
use crate::view::page::plots::{self, Share};

/// The most sizes of grids that are counted.
const SIZES: usize = 1024;

/// The numbers of a set.
#[derive(Debug, Default)]
pub struct PuzzlePlots {
    sizes: BTreeMap<[usize; 2], u64>,
    examples: Distribution,
    /// The puzzle that is not complete yet, and its examples so far.
    puzzle: Option<(String, u64)>,
}

impl ExtraPlots for PuzzlePlots {
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let puzzles = Puzzles::of(batch)?;
        for row in 0..puzzles.len() {
            let puzzle = puzzles.get(row);
            self.add_size(&puzzle);
            let set = puzzle.set.unwrap_or_default();
            let name = [puzzle.split, set, puzzle.group, puzzle.puzzle].join("\0");
            match &mut self.puzzle {
                Some((last, examples)) if *last == name && puzzle.build.is_none() => *examples += 1,
                _ => self.end_puzzle(Some((name, 1))),
            }
        }
        Ok(())
    }

    fn write(&mut self, out: &mut String) {
        self.end_puzzle(None);
        if self.examples.count() > 0 {
            plots::distribution(out, "examples of a puzzle", &self.examples);
        }
        if !self.sizes.is_empty() {
            self.write_sizes(out);
        }
    }
}

impl PuzzlePlots {
    fn end_puzzle(&mut self, next: Option<(String, u64)>) {
        if let Some((_, examples)) = std::mem::replace(&mut self.puzzle, next) {
            self.examples.add(examples);
        }
    }

    fn add_size(&mut self, puzzle: &Puzzle<'_>) {
        let domain = puzzle.domain.and_then(puzzle::domain);
        match domain.and_then(|domain| domain.grid_size(puzzle.inputs)) {
            Some(size) if self.sizes.len() < SIZES || self.sizes.contains_key(&size) => {
                *self.sizes.entry(size).or_default() += 1;
            }
            _ => {}
        }
    }

    fn write_sizes(&self, out: &mut String) {
        let all = self.sizes.values().sum();
        let sizes =
            self.sizes.iter().map(|([rows, columns], n)| (format!("{rows} × {columns}"), *n));
        let mut sizes: Vec<(String, u64)> = sizes.collect();
        sizes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let shares: Vec<Share<'_>> =
            sizes.iter().map(|(name, count)| (name.as_str(), *count, all)).collect();
        let head = "examples by size of the grid (rows × columns)";
        let _ = write!(out, "<section class=\"card\"><h3>{head}</h3>");
        plots::shares(out, head, &shares);
        out.push_str("</section>");
    }
}
