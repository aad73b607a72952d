//! Numbers on the page that ds-stat does not have: values of moves along the steps, sizes of grids, examples
//! of a puzzle. They are gathered in the order of the records, in memory that does not grow.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use arrow_array::RecordBatch;

use super::plots::{self, Point, Share};
use crate::error::Result;
use crate::puzzle;
use crate::record::game::Games;
use crate::record::puzzle::{Puzzle, Puzzles};
use crate::record::{Rows, each_rows};
use crate::stat::Distribution;
use crate::view::RecordView;

/// The most points of a line; if there are as many steps, it has at least half as many points.
const POINTS: usize = 128;
/// The most valuations that have a line of their own.
const NAMES: usize = 64;
/// The most sizes of grids that are counted.
const SIZES: usize = 1024;
/// The name of all names beyond the limit.
const OTHERS: &str = "(others)";

/// Numbers of games and puzzles for the plots of a page.
#[derive(Debug, Default)]
pub struct ExtraPlots {
    values: BTreeMap<String, ValuesBySteps>,
    sizes: BTreeMap<[usize; 2], u64>,
    examples: Distribution,
    /// The puzzle that is not complete yet, and its examples so far.
    puzzle: Option<(String, u64)>,
}

impl ExtraPlots {
    /// Adds the records of a batch; batches come in order.
    pub fn add(&mut self, record: &str, batch: &RecordBatch) -> Result<()> {
        each_rows!(Rows::of(record, batch)?, rows => rows.add_to(self));
        Ok(())
    }

    /// Adds the values of moves.
    pub fn add_values(&mut self, games: &Games<'_>) {
        let steps = &games.steps.items;
        for step in games.steps.range(0..games.len()) {
            let Some(value) = value_of_move(games, step) else { continue };
            let name = steps.valuation_type.get(step).unwrap_or_default();
            let place = steps.step_index.get(step).unwrap_or_default();
            named(&mut self.values, name).add(u64::from(place), value);
        }
    }

    /// Adds the sizes of grids and the examples of each puzzle.
    pub fn add_puzzles(&mut self, puzzles: &Puzzles<'_>) {
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
    }

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

    /// Writes the plots of all that was added.
    pub fn write(&mut self, out: &mut String) {
        self.end_puzzle(None);
        for (name, values) in &self.values {
            let head = match name.as_str() {
                "" => "value of the move (EV) against step".to_string(),
                name => format!("value of the move (EV) against step: {name}"),
            };
            plots::line(out, &head, "step", values.width, &values.points());
        }
        if self.examples.count() > 0 {
            plots::distribution(out, "examples of a puzzle", &self.examples);
        }
        if !self.sizes.is_empty() {
            self.write_sizes(out);
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

/// Returns the numbers of a name. Names beyond the limit share one entry.
fn named<'a, T: Default>(all: &'a mut BTreeMap<String, T>, name: &str) -> &'a mut T {
    let is_known = all.contains_key(name);
    let name = if is_known || all.len() < NAMES { name } else { OTHERS };
    all.entry(name.to_string()).or_default()
}

/// Returns the value of the move's branch, or, if the branches are not known, the value that the
/// step states.
fn value_of_move(games: &Games<'_>, step: usize) -> Option<f64> {
    let steps = &games.steps.items;
    let branches = steps.branch_evs.range(step..step + 1);
    let of_branch = |direction: u8| {
        let branch = branches.start + usize::from(direction);
        let value = steps.branch_evs.items.get(branch).filter(|_| branch < branches.end);
        value.map(f64::from)
    };
    let value = steps.move_dir.get(step).and_then(of_branch).or_else(|| steps.valuation.get(step));
    value.filter(|value| value.is_finite())
}

/// Values by step number, in at most [`POINTS`] bins of equal width.
#[derive(Debug, Default)]
struct ValuesBySteps {
    /// The width of a bin in steps; a power of two.
    width: u64,
    bins: Vec<Bin>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
}

impl Bin {
    fn add(&mut self, other: Bin) {
        if other.count == 0 {
            return;
        }
        *self = match self.count {
            0 => other,
            _ => Bin {
                count: self.count + other.count,
                sum: self.sum + other.sum,
                min: self.min.min(other.min),
                max: self.max.max(other.max),
            },
        };
    }
}

impl ValuesBySteps {
    fn add(&mut self, step: u64, value: f64) {
        self.width = self.width.max(1);
        while step / self.width >= POINTS as u64 {
            self.bins = self
                .bins
                .chunks(2)
                .map(|pair| {
                    let mut both = Bin::default();
                    pair.iter().for_each(|bin| both.add(*bin));
                    both
                })
                .collect();
            self.width *= 2;
        }
        let place = (step / self.width) as usize;
        if self.bins.len() <= place {
            self.bins.resize(place + 1, Bin::default());
        }
        if let Some(bin) = self.bins.get_mut(place) {
            bin.add(Bin { count: 1, sum: value, min: value, max: value });
        }
    }

    fn points(&self) -> Vec<Point> {
        let known = (0..).zip(&self.bins).filter(|(_, bin)| bin.count > 0);
        let point = |(place, bin): (u64, &Bin)| {
            let mean = bin.sum / bin.count as f64;
            Point { x: place * self.width, mean, min: bin.min, max: bin.max }
        };
        known.map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_in_few_bins() {
        let mut values = ValuesBySteps::default();
        (0..1000).for_each(|step| values.add(step, step as f64));
        let points = values.points();
        assert_eq!(values.width, 8);
        assert_eq!(points.len(), 125);
        assert_eq!(points[1], Point { x: 8, mean: 11.5, min: 8.0, max: 15.0 });
        assert_eq!(points.iter().map(|point| point.x).next_back(), Some(992));
    }
}
