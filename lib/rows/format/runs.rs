//! Which records of files that follow one another are read.

use std::collections::VecDeque;
use std::ops::Range;

use crate::cli::runs_within;

/// Ascending runs of records, counted from the first file on.
pub struct WantedRuns {
    /// Those that are left.
    runs: VecDeque<Range<u64>>,
    /// The number of the next record.
    next: u64,
}

impl WantedRuns {
    pub fn new(run: Range<u64>) -> WantedRuns {
        WantedRuns { runs: [run].into(), next: 0 }
    }

    /// Returns the end of the last run; none if all are passed.
    pub fn end(&self) -> Option<u64> {
        self.runs.back().map(|run| run.end)
    }

    /// Returns the number of the next record.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns how many records are in the runs that are left.
    pub fn count(&self) -> u64 {
        self.runs.iter().map(|run| run.end - run.start).sum()
    }

    /// Passes the next records; returns the places of those that are read.
    pub fn pass(&mut self, records: usize) -> Vec<usize> {
        let all = self.next..self.next + records as u64;
        self.next = all.end;
        let kept = runs_within(self.runs.make_contiguous(), &all);
        while self.runs.front().is_some_and(|run| run.end <= all.end) {
            self.runs.pop_front();
        }
        kept.into_iter().flatten().map(|place| place as usize).collect()
    }

    /// Takes of the runs only these, which are counted from the first run's start.
    pub fn take(&mut self, runs: &[Range<u64>]) {
        let start = self.runs.front().map_or(0, |run| run.start);
        let end = self.end().unwrap_or(0);
        let moved = |run: &Range<u64>| start + run.start..(start + run.end).min(end);
        self.runs = runs.iter().map(moved).collect();
    }
}
