//! One set of one split, from which examples are read in order.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::identifiers::Identifiers;
use super::{Fault, SetArray, SetArrays, SetConstants, SplitDir, SplitMetadata, faults};
use crate::error::{Error, Result, shown};
use crate::npy::Integers;
use crate::puzzle::domain;
use crate::record::puzzle::{Puzzle, PuzzlesBuilder};

/// One set of one split, and what is left to read of it.
pub(super) struct OpenSet {
    pub name: Arc<str>,
    pub domain: Option<String>,
    /// Whether the domain is a guess.
    pub assumed: bool,
    split: &'static str,
    set: String,
    pub constants: SetConstants,
    pub arrays: SetArrays,
    identifiers: Arc<Identifiers>,
    /// The build that the first example carries.
    build: Option<String>,
    /// Whether the identifiers distinguish groups and puzzles.
    named: bool,
    pub examples: Range<u64>,
    /// Runs of examples that are read after `examples`.
    pub runs: VecDeque<Range<u64>>,
    /// How many examples have had their memory released.
    released: u64,
    /// The group and the puzzle of the next example.
    group: u64,
    puzzle: u64,
}

impl OpenSet {
    pub fn open(
        split: &SplitDir,
        set: &str,
        metadata: &SplitMetadata,
        identifiers: Arc<Identifiers>,
        build: Option<&Map<String, Value>>,
        text: &mut Option<String>,
    ) -> Result<OpenSet> {
        let arrays = split.arrays(set)?;
        check_arrays(&arrays, metadata.constants.seq_len, &identifiers).map_err(
            |(array, cause)| Error::data(cause).at(array.path(&split.directory, set).as_path()),
        )?;
        let examples = 0..arrays.inputs.rows();
        let (domain, assumed) = domain_name(&metadata.constants, build);
        let mut part = OpenSet {
            name: shown(&split.directory).into(),
            domain,
            assumed,
            split: split.split.name(),
            set: set.to_string(),
            constants: metadata.constants.clone(),
            arrays,
            identifiers,
            build: if examples.is_empty() { None } else { text.take() },
            named: false,
            examples,
            runs: VecDeque::new(),
            released: 0,
            group: 0,
            puzzle: 0,
        };
        part.named = part.is_named();
        Ok(part)
    }

    pub fn groups(&self) -> u64 {
        self.arrays.group_indices.rows().saturating_sub(1)
    }

    /// Restricts reading to these groups.
    pub fn keep(&mut self, groups: Range<u64>) {
        let index = |array: &Integers, at: u64| {
            array.get(at, 0).and_then(|index| u64::try_from(index).ok()).unwrap_or(0)
        };
        let first = |group: u64| index(&self.arrays.group_indices, group);
        let example = |group: u64| index(&self.arrays.puzzle_indices, first(group));
        self.group = groups.start;
        self.puzzle = first(groups.start);
        self.examples = example(groups.start)..example(groups.end);
        if self.examples.start > 0 || self.examples.is_empty() {
            self.build = None;
        }
    }

    /// Returns the examples that have not been read yet.
    pub fn left(&self) -> u64 {
        let after = self.runs.iter().map(|run| run.end - run.start).sum::<u64>();
        self.examples.end - self.examples.start + after
    }

    /// Moves on to the next run of examples; returns false if there is none.
    pub fn next_run(&mut self) -> bool {
        let Some(run) = self.runs.pop_front() else { return false };
        let holds = |indices: &Integers, at: u64| {
            let at = i64::try_from(at).unwrap_or(i64::MAX);
            partition(indices.rows(), |row| indices.get(row, 0).is_some_and(|first| first <= at))
                .saturating_sub(1)
        };
        if run.start > 0 {
            self.build = None;
        }
        self.puzzle = holds(&self.arrays.puzzle_indices, run.start);
        self.group = holds(&self.arrays.group_indices, self.puzzle);
        self.examples = run;
        true
    }

    /// Releases the memory of the examples read so far.
    pub fn release(&mut self) {
        let read = self.released..self.examples.start;
        if !read.is_empty() {
            self.arrays.inputs.release(read.clone());
            self.arrays.labels.release(read);
            self.released = self.examples.start;
        }
    }

    /// Whether the identifiers alone distinguish puzzles and groups: no puzzle is blank, neighbours
    /// differ, and so do the first puzzles of neighbouring groups.
    pub fn is_named(&self) -> bool {
        let SetArrays { puzzle_identifiers, group_indices, .. } = &self.arrays;
        let differ = |mut identifiers: Box<dyn Iterator<Item = i64> + '_>| {
            let mut before = None;
            identifiers.all(|identifier| {
                identifier != self.identifiers.blank
                    && before.replace(identifier) != Some(identifier)
            })
        };
        let first = |puzzle: i64| puzzle_identifiers.get(u64::try_from(puzzle).ok()?, 0);
        !self.identifiers.repeated
            && differ(Box::new(puzzle_identifiers.values()))
            && differ(Box::new(group_indices.values().filter_map(first)))
    }

    /// Adds the next example to a batch.
    pub fn next_example(
        &mut self,
        inputs: &mut Vec<i32>,
        labels: &mut Vec<i32>,
        builder: &mut PuzzlesBuilder,
    ) -> Result<()> {
        let example = self.examples.start;
        let begins = |indices: &Integers, next: u64, at: u64| {
            indices.get(next, 0).is_some_and(|index| u64::try_from(index) == Ok(at))
        };
        if begins(&self.arrays.puzzle_indices, self.puzzle + 1, example) {
            self.puzzle += 1;
            if begins(&self.arrays.group_indices, self.group + 1, self.puzzle) {
                self.group += 1;
            }
        }
        for (array, side, tokens) in [
            (SetArray::Inputs, &self.arrays.inputs, &mut *inputs),
            (SetArray::Labels, &self.arrays.labels, &mut *labels),
        ] {
            tokens.clear();
            for token in side.row(example) {
                tokens.push(i32::try_from(token).map_err(|_| {
                    let (name, set) = (&self.name, &self.set);
                    let array = array.name();
                    Error::data(format!("{set}__{array}: row {example}: {token}")).at(name)
                })?);
            }
        }
        let identifier = |puzzle: u64| {
            let number = self.arrays.puzzle_identifiers.get(puzzle, 0).unwrap_or(-1);
            self.identifiers.name(number).unwrap_or_default()
        };
        let own = identifier(self.puzzle);
        let (group, puzzle) = if self.named {
            let first = self.arrays.group_indices.get(self.group, 0).unwrap_or(0);
            (identifier(first.try_into().unwrap_or(0)), own.clone())
        } else {
            (self.group.to_string(), self.puzzle.to_string())
        };
        builder.push(&Puzzle {
            domain: self.domain.as_deref(),
            split: self.split,
            set: Some(&self.set),
            group: &group,
            puzzle: &puzzle,
            identifier: Some(&own),
            inputs,
            labels,
            build: self.build.take().as_deref(),
        })?;
        self.examples.start += 1;
        Ok(())
    }
}

/// Returns how many rows pass a test, if all rows before some row pass it and no row after does.
fn partition(rows: u64, passes: impl Fn(u64) -> bool) -> u64 {
    let (mut from, mut to) = (0, rows);
    while from < to {
        let middle = from + (to - from) / 2;
        if passes(middle) { from = middle + 1 } else { to = middle }
    }
    from
}

/// Returns the domain that `build.json` names, if the constants do not contradict it; if it names
/// none, the domain that has these constants. The flag says whether this is such a guess.
fn domain_name(
    constants: &SetConstants,
    build: Option<&Map<String, Value>>,
) -> (Option<String>, bool) {
    let agrees =
        |name: &&str| domain(name).is_none_or(|domain| constants.are_of(&domain.constants()));
    match build.and_then(|build| build.get("domain")) {
        Some(stated) => (stated.as_str().filter(agrees).map(str::to_string), false),
        None => {
            let guessed = constants.domain().map(|domain| domain.constants().name.to_string());
            let is_guessed = guessed.is_some();
            (guessed, is_guessed)
        }
    }
}

/// Checks that arrays fit together as groups of puzzles of examples, with known identifiers;
/// otherwise returns the array that does not fit, and the cause.
fn check_arrays(
    arrays: &SetArrays,
    seq_len: i64,
    identifiers: &Identifiers,
) -> Result<(), (SetArray, String)> {
    let SetArrays { inputs, labels, puzzle_identifiers, puzzle_indices, group_indices } = arrays;
    let all = [inputs, labels, puzzle_identifiers, puzzle_indices, group_indices].map(Some);
    let mut first = Ok(());
    faults(all, seq_len, &mut |fault, array, entry, cause| {
        if fault != Fault::Narrow && first.is_ok() {
            let entry = entry.map_or(String::new(), |entry| format!("entry {entry}: "));
            first = Err((array, format!("{entry}{cause}")));
        }
    });
    first?;
    let is_unknown = |&(identifier, _): &(i64, u64)| {
        identifier < 0 || identifiers.names.is_some() && identifiers.name(identifier).is_none()
    };
    match puzzle_identifiers.values().zip(0u64..).find(is_unknown) {
        Some((identifier, at)) => {
            let cause = format!("entry {at} is {identifier}, which is not in identifiers.json");
            Err((SetArray::PuzzleIdentifiers, cause))
        }
        None => Ok(()),
    }
}
