//! Which records of all inputs are read: the arguments, declared once, and the records that they choose.
//! Records count from 0, as in `--slice` and ds-check.

use std::collections::BinaryHeap;
use std::ops::Range;
use std::str::FromStr;

use clap::Args;

use super::args::LimitArgs;
use crate::error::{Error, Result};

/// Chooses records.
#[derive(Debug, Clone, Default, Args)]
pub struct SelectArgs {
    #[command(flatten)]
    pub limit: LimitArgs,

    /// Leave out the first N records
    #[arg(long, value_name = "N", help_heading = "Input")]
    pub skip: Option<u64>,

    /// Read only the last N records
    #[arg(long, value_name = "N", conflicts_with_all = ["limit", "skip"], help_heading = "Input")]
    pub tail: Option<u64>,

    /// Read only the records with these numbers, as in `17` or `3,500-510`
    ///
    /// Records are counted from 0, over all inputs; both ends of a range are read.
    #[arg(long, value_name = "N,N-N", value_delimiter = ',')]
    #[arg(conflicts_with_all = ["limit", "skip", "tail"])]
    pub nth: Vec<RecordRange>,

    /// Read only N records, drawn with equal chances
    ///
    /// They keep their order. If there are no more than N, all are read.
    #[arg(long, value_name = "N", conflicts_with_all = ["limit", "skip", "tail", "nth"])]
    pub sample: Option<u64>,

    /// Seed of --sample; only it and the number of records decide which are drawn
    #[arg(long, value_name = "S", requires = "sample", default_value_t = 0)]
    #[arg(help_heading = "Input")]
    pub seed: u64,

    /// Read only the record with this id (repeatable)
    ///
    /// A Megatron dataset with ids finds the record without reading the others.
    #[arg(long, value_name = "ID")]
    #[arg(conflicts_with_all = ["limit", "skip", "tail", "nth", "sample"])]
    pub id: Vec<String>,
}

/// Consecutive records in the form of `--nth`: `17`, or `500-510` with both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordRange {
    pub first: u64,
    pub last: u64,
}

impl FromStr for RecordRange {
    type Err = String;

    fn from_str(text: &str) -> Result<RecordRange, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |digits: &str| {
            let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            // The end of a range must be countable too.
            digits.parse().ok().filter(|&number: &u64| is_plain && number < u64::MAX)
        };
        match number(first).zip(number(last)) {
            Some((first, last)) if first <= last => Ok(RecordRange { first, last }),
            Some(_) => Err(format!("{text} ends before it begins")),
            None => Err("expected numbers from 0 and ranges of them, as in 17,500-510".to_string()),
        }
    }
}

/// Which records of a sequence are chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    All,
    /// Ascending runs that do not touch; each of their records must exist.
    Named(Vec<Range<u64>>),
    /// A part of a run, as much of it as exists.
    Within(Range<u64>),
    Last(u64),
    Sample {
        count: u64,
        seed: u64,
    },
}

impl SelectArgs {
    /// Whether the arguments choose records at all.
    pub fn is_given(&self) -> bool {
        !self.id.is_empty() || self.choice() != Choice::All
    }

    /// Returns the numbers of the chosen records among all, from 0, as far as they are known
    /// beforehand.
    pub fn numbers(&self, total: Option<u64>) -> Result<Box<dyn Iterator<Item = u64>>> {
        if !self.id.is_empty() {
            return Ok(Box::new(std::iter::empty()));
        }
        let runs = match (self.choice(), total) {
            (Choice::All, _) => std::iter::once(0..u64::MAX).collect(),
            (Choice::Within(range), _) => vec![range],
            (Choice::Named(runs), _) => runs,
            (choice, Some(total)) => choice.of(total)?,
            (_, None) => Vec::new(),
        };
        Ok(Box::new(runs.into_iter().flatten()))
    }

    /// Returns the choice of the arguments; ids choose among the records of [`Choice::All`].
    pub fn choice(&self) -> Choice {
        if !self.nth.is_empty() {
            return Choice::Named(runs_of(&self.nth));
        }
        if let Some(count) = self.sample {
            return Choice::Sample { count, seed: self.seed };
        }
        if let Some(count) = self.tail {
            return Choice::Last(count);
        }
        match (self.skip, self.limit.limit) {
            (None, None) => Choice::All,
            (skip, limit) => {
                let start = skip.unwrap_or(0);
                Choice::Within(start..start.saturating_add(limit.unwrap_or(u64::MAX)))
            }
        }
    }
}

/// Returns ranges in any order as ascending runs.
fn runs_of(ranges: &[RecordRange]) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = ranges.iter().map(|r| r.first..r.last + 1).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    let mut runs: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match runs.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => runs.push(range),
        }
    }
    runs
}

impl Choice {
    /// Returns the ascending runs that are chosen of `total` records.
    pub fn of(&self, total: u64) -> Result<Vec<Range<u64>>> {
        let within = |range: Range<u64>| {
            let range = range.start.min(total)..range.end.min(total);
            if range.is_empty() { Vec::new() } else { vec![range] }
        };
        Ok(match self {
            Choice::All => within(0..total),
            Choice::Within(range) => within(range.clone()),
            Choice::Last(count) => within(total.saturating_sub(*count)..total),
            Choice::Named(runs) => {
                all_there(runs, total)?;
                runs.clone()
            }
            Choice::Sample { count, seed } => sample(*count, *seed, total),
        })
    }
}

/// Fails if one of the named records is not among the first `total`.
pub fn all_there(named: &[Range<u64>], total: u64) -> Result<()> {
    let Some(last) = named.last().filter(|run| run.end > total) else { return Ok(()) };
    let first_missing = last.start.max(total);
    let cause = format!("--nth: there is no record {first_missing}, there are {total} (from 0)");
    Err(Error::data(cause))
}

/// Returns the place of a record in the order of the draw; the first places are the sample. So the sample is
/// the same whether or not the number of records is known beforehand, and records can be drawn as they
/// come. (This is the finalizer of splitmix64. If two draws are equal, the first record wins, which does
/// not matter.)
pub fn draw(seed: u64, number: u64) -> (u64, u64) {
    let mix = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let step = 0x9e37_79b9_7f4a_7c15;
    (
        mix(mix(seed.wrapping_add(step)).wrapping_add(number.wrapping_add(1).wrapping_mul(step))),
        number,
    )
}

fn sample(count: u64, seed: u64, total: u64) -> Vec<Range<u64>> {
    if count >= total {
        return runs_of(&RecordRange::all_of(total));
    }
    let mut drawn: BinaryHeap<(u64, u64)> = BinaryHeap::new();
    for number in 0..total {
        let place = draw(seed, number);
        if (drawn.len() as u64) < count {
            drawn.push(place);
        } else if drawn.peek().is_some_and(|last| place < *last) {
            drawn.pop();
            drawn.push(place);
        }
    }
    let numbers = drawn.into_iter().map(|(_, first)| RecordRange { first, last: first });
    runs_of(&numbers.collect::<Vec<RecordRange>>())
}

impl RecordRange {
    fn all_of(total: u64) -> Vec<RecordRange> {
        total.checked_sub(1).map(|last| RecordRange { first: 0, last }).into_iter().collect()
    }
}

/// Returns the part of ascending runs that is in a range, counted from its start.
pub fn runs_within(runs: &[Range<u64>], range: &Range<u64>) -> Vec<Range<u64>> {
    let from = runs.partition_point(|run| run.end <= range.start);
    let overlapping = runs.iter().skip(from).take_while(|run| run.start < range.end);
    let cut = |run: &Range<u64>| {
        run.start.max(range.start) - range.start..run.end.min(range.end) - range.start
    };
    overlapping.map(cut).filter(|run| !run.is_empty()).collect()
}

/// Returns how many records are in runs.
pub fn records_in(runs: &[Range<u64>]) -> u64 {
    runs.iter().map(|run| run.end - run.start).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_strictly() {
        assert_eq!("17".parse(), Ok(RecordRange { first: 17, last: 17 }));
        assert_eq!("5-10".parse(), Ok(RecordRange { first: 5, last: 10 }));
        for bad in ["", "-", "5-", "-5", "10-5", "1-2-3", "a", "+1", " 1", "18446744073709551615"] {
            assert!(bad.parse::<RecordRange>().is_err(), "{bad}");
        }
    }

    #[test]
    fn runs_are_ascending_and_apart() {
        let ranges = ["7", "0-3", "2-5", "6", "9"].map(|text| text.parse().unwrap());
        assert_eq!(runs_of(&ranges), [0..8, 9..10]);
        assert_eq!(runs_within(&[0..8, 9..10, 20..30], &(5..25)), [0..3, 4..5, 15..20]);
        assert!(runs_within(&[0..8, 10..12], &(8..10)).is_empty());
    }

    #[test]
    fn a_sample_is_exact_and_fair() {
        for (count, total) in [(0, 10), (1, 1), (3, 10), (10, 10), (20, 10), (0, 0), (999, 1000)] {
            let runs = Choice::Sample { count, seed: 7 }.of(total).unwrap();
            assert_eq!(records_in(&runs), count.min(total));
            assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
        let mut drawn = [0u64; 10];
        for seed in 0..4000 {
            for run in sample(3, seed, 10) {
                run.for_each(|number| drawn[number as usize] += 1);
            }
        }
        // 1200 each, with a standard deviation of 29.
        assert!(drawn.iter().all(|times| (1050..1350).contains(times)), "{drawn:?}");
    }
}
