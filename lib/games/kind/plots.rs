//! Plots of games for a page: values of moves along the steps, in memory that does not grow.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::record::game::Games;
use crate::view::page::ExtraPlots;
use crate::view::page::plots::{self, Point};

/// The most points of a line; if there are as many steps, it has at least half as many points.
const POINTS: usize = 128;
/// The most valuations that have a line of their own.
const NAMES: usize = 64;
/// The name of all names beyond the limit.
const OTHERS: &str = "(others)";

/// The values of moves, by valuation.
#[derive(Debug, Default)]
pub struct GamePlots {
    values: BTreeMap<String, ValuesBySteps>,
}

impl ExtraPlots for GamePlots {
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let games = Games::of(batch)?;
        let steps = &games.steps.items;
        for step in games.steps.range(0..games.len()) {
            let Some(value) = value_of_move(&games, step) else { continue };
            let name = steps.valuation_type.get(step).unwrap_or_default();
            let place = steps.step_index.get(step).unwrap_or_default();
            named(&mut self.values, name).add(u64::from(place), value);
        }
        Ok(())
    }

    fn write(&mut self, out: &mut String) {
        for (name, values) in &self.values {
            let head = match name.as_str() {
                "" => "value of the move (EV) against step".to_string(),
                name => format!("value of the move (EV) against step: {name}"),
            };
            plots::line(out, &head, "step", values.width, &values.points());
        }
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
        let value = (branch < branches.end).then(|| steps.branch_evs.items.get(branch));
        value.flatten().map(f64::from)
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
