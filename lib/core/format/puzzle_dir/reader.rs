//! Reads puzzle sets back into puzzle records: train before test, sets in the order of `dataset.json`.
//! Identifiers are given by name. A set does not store the names of groups and puzzles: they are taken
//! from the identifiers if these tell all of them apart; otherwise they are numbers.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use serde_json::{Map, Value};

use super::identifiers::Identifiers;
use super::manifest::OF_SET;
use super::{
    DOMAIN_ASSUMED, PuzzleRoot, SetArray, SetArrays, SetConstants, SplitDir, SplitMetadata,
};
use crate::batch::{Batch, DroppedRecords, Header, Origin, RecordSource, WantedRecords};
use crate::cli::{Slice, runs_within};
use crate::error::{Error, Result, shown};
use crate::format::npy::{Integers, descr};
use crate::puzzle::{BLANK_IDENTIFIER, domain};
use crate::record::puzzle::{Puzzle, PuzzlesBuilder};
use crate::record::{PUZZLE, RecordType};
use crate::wording::{exactly, of_plural};

/// About how many tokens a batch holds (1 MiB of them); it has at least one example.
const BATCH_TOKENS: usize = 1 << 18;

/// Reads the examples of puzzle sets, or a slice of all of them together.
pub struct PuzzleReader {
    parts: Vec<OpenSet>,
    /// The part that is being read.
    current: usize,
    builder: PuzzlesBuilder,
    /// The constants by name, and the domain, as far as all parts have the same.
    parameters: Vec<(&'static str, Value)>,
    notes: Vec<String>,
    /// What was dropped when the sets were made, if the sets are read whole.
    dropped: DroppedRecords,
}

/// One set of one split, and what is left to read of it.
struct OpenSet {
    name: Arc<str>,
    domain: Option<String>,
    /// Whether the domain is a guess.
    assumed: bool,
    split: &'static str,
    set: String,
    constants: SetConstants,
    arrays: SetArrays,
    identifiers: Arc<Identifiers>,
    /// The build that the first example carries.
    build: Option<String>,
    /// Whether the identifiers distinguish groups and puzzles.
    named: bool,
    examples: Range<u64>,
    /// Runs of examples that are read after `examples`.
    runs: VecDeque<Range<u64>>,
    /// How many examples have had their memory released.
    released: u64,
    /// The group and the puzzle of the next example.
    group: u64,
    puzzle: u64,
}

impl PuzzleReader {
    pub fn open(paths: &[PathBuf], slice: Option<Slice>) -> Result<PuzzleReader> {
        let (mut parts, mut notes) = (Vec::new(), Vec::new());
        let mut dropped = DroppedRecords::default();
        let roots = paths.iter().map(|path| PuzzleRoot::open(path)).collect::<Result<Vec<_>>>()?;
        // (Several splits may belong to one root.)
        let place = |root: &PuzzleRoot| roots.iter().position(|first| first.path == root.path);
        let are_several = roots.iter().any(|root| place(root) != Some(0));
        for root in &roots {
            let own = place(root).filter(|_| are_several);
            open_root(root, own, &mut parts, &mut notes)?;
            dropped = dropped.and(&root.dropped()?);
        }
        // Parts are cut between groups; a range of examples is exact.
        if let Some(slice @ Slice::Part { .. }) = slice {
            dropped = dropped.of_part();
            let total = parts.iter().map(OpenSet::groups).sum();
            let (wanted, mut start) = (slice.of(total), 0);
            for part in &mut parts {
                let groups = part.groups();
                let clamped = |at: u64| at.clamp(start, start + groups) - start;
                part.keep(clamped(wanted.start)..clamped(wanted.end));
                start += groups;
            }
        }
        let parameters = parameters(&parts);
        let builder = PuzzlesBuilder::default();
        let mut reader = PuzzleReader { parts, current: 0, builder, parameters, notes, dropped };
        if let Some(range @ Slice::Range { .. }) = slice {
            let total = reader.parts.iter().map(OpenSet::left).sum();
            reader.read_runs(&[range.of(total)])?;
        }
        Ok(reader)
    }
}

impl RecordSource for PuzzleReader {
    fn record(&mut self, _: &'static RecordType) -> Result<Option<&'static RecordType>> {
        Ok(Some(&PUZZLE))
    }

    fn begin(&mut self, _: Option<&WantedRecords>) -> Result<(Header, SchemaRef)> {
        let mut header = Header::of_record(&PUZZLE);
        self.parameters.iter().for_each(|(name, value)| header.set(name, value.clone()));
        Ok((header, PUZZLE.schema()))
    }

    /// Returns the examples that have not been read yet.
    fn records(&self) -> Option<u64> {
        Some(self.parts.iter().map(OpenSet::left).sum())
    }

    /// Returns the types of the inputs and labels of all sets.
    fn encoding(&self) -> String {
        let sides = |part: &OpenSet| {
            [&part.arrays.inputs, &part.arrays.labels].map(|side| descr(&side.header().dtype))
        };
        let mut all: Vec<String> = self.parts.iter().flat_map(sides).collect();
        all.sort();
        all.dedup();
        all.join(" and ")
    }

    fn dropped(&self) -> DroppedRecords {
        self.dropped.clone()
    }

    fn read_runs(&mut self, runs: &[Range<u64>]) -> Result<bool> {
        self.dropped = std::mem::take(&mut self.dropped).of_part();
        let mut start = 0;
        for part in &mut self.parts {
            let (first, end) = (part.examples.start, start + part.left());
            let own = runs_within(runs, &(start..end));
            part.runs = own.iter().map(|run| first + run.start..first + run.end).collect();
            part.examples = first..first;
            part.next_run();
            start = end;
        }
        Ok(true)
    }

    fn next(
        &mut self,
        _wanted: Option<&WantedRecords>,
        _schema: &SchemaRef,
        most: u64,
    ) -> Result<Option<Batch>> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let (mut inputs, mut labels) = (Vec::new(), Vec::new());
        let mut origin = Origin::default();
        while self.builder.len() < most && self.builder.tokens() < BATCH_TOKENS {
            let Some(part) = self.parts.get_mut(self.current) else { break };
            if part.examples.is_empty() && !part.next_run() {
                self.current += 1;
                continue;
            }
            origin.goes_on(self.builder.len(), &part.name, part.examples.start + 1);
            part.next_example(&mut inputs, &mut labels, &mut self.builder)?;
        }
        for part in self.parts.iter_mut().take(self.current + 1) {
            part.release();
        }
        if self.builder.is_empty() {
            Ok(None)
        } else {
            Ok(Some(Batch::of_records(self.builder.finish()?, origin)))
        }
    }

    /// Returns what the sets have and records do not.
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

/// Opens all sets of a root; `own` is its index among several.
fn open_root(
    root: &PuzzleRoot,
    own: Option<usize>,
    parts: &mut Vec<OpenSet>,
    notes: &mut Vec<String>,
) -> Result<()> {
    let build = root.build()?;
    let names = root.identifiers()?;
    let mut named_blank = None;
    // An unknown source is an empty object: it marks where a set begins.
    let mut text = Some(build_text(build.as_ref()));
    let mut identifiers: Option<Arc<Identifiers>> = None;
    for split in &root.splits {
        let metadata = split.metadata()?;
        let shared = match &identifiers {
            Some(shared) if shared.blank == metadata.constants.blank_identifier_id => {
                Arc::clone(shared)
            }
            _ => {
                let made = Identifiers::new(names.clone(), own, &metadata);
                if identifiers.is_none() && made.renamed > 0 {
                    let renamed = exactly(made.renamed, "name");
                    notes.push(format!(
                        "{}: identifiers.json repeats {renamed}; told apart by their places (NAME#3)",
                        shown(&root.path)
                    ));
                }
                named_blank = named_blank.or_else(|| made.foreign_blank());
                Arc::clone(identifiers.insert(Arc::new(made)))
            }
        };
        for set in &metadata.sets {
            let part = OpenSet::open(
                split,
                set,
                &metadata,
                Arc::clone(&shared),
                build.as_ref(),
                &mut text,
            )?;
            parts.push(part);
        }
    }
    if let Some(name) = named_blank {
        notes.push(format!(
            "{}: identifiers.json calls the blank identifier {name:?}; it comes as \
             {BLANK_IDENTIFIER}",
            shown(&root.path)
        ));
    }
    Ok(())
}

/// Returns what `build.json` states of the sources, without its fields about the files and about
/// how they were made.
fn build_text(build: Option<&Map<String, Value>>) -> String {
    let mut build = build.cloned().unwrap_or_default();
    build.retain(|key, _| !OF_SET.contains(&key.as_str()));
    Value::Object(build).to_string()
}

impl OpenSet {
    fn open(
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

    fn groups(&self) -> u64 {
        self.arrays.group_indices.rows().saturating_sub(1)
    }

    /// Restricts reading to these groups.
    fn keep(&mut self, groups: Range<u64>) {
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
    fn left(&self) -> u64 {
        let after = self.runs.iter().map(|run| run.end - run.start).sum::<u64>();
        self.examples.end - self.examples.start + after
    }

    /// Moves on to the next run of examples; returns false if there is none.
    fn next_run(&mut self) -> bool {
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
    fn release(&mut self) {
        let read = self.released..self.examples.start;
        if !read.is_empty() {
            self.arrays.inputs.release(read.clone());
            self.arrays.labels.release(read);
            self.released = self.examples.start;
        }
    }

    /// Whether the identifiers alone distinguish puzzles and groups: no puzzle is blank, neighbours
    /// differ, and so do the first puzzles of neighbouring groups.
    fn is_named(&self) -> bool {
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
    fn next_example(
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

/// Returns the constants of the sets by name, and the name of their domain. The length of examples is
/// left out if only that differs, as between the splits of some domains. Returns nothing if the sets are
/// of different kinds.
fn parameters(parts: &[OpenSet]) -> Vec<(&'static str, Value)> {
    let Some(OpenSet { constants, domain, .. }) = parts.first() else { return Vec::new() };
    let assumed = parts.iter().any(|part| part.assumed).then(|| (DOMAIN_ASSUMED, true.into()));
    let assumed = assumed.into_iter();
    let is_same = |part: &OpenSet| {
        part.domain == *domain && part.constants.with_seq_len(constants.seq_len) == *constants
    };
    if !parts.iter().all(is_same) {
        return assumed.collect();
    }
    let has_length = parts.iter().all(|part| part.constants.seq_len == constants.seq_len);
    let domain = domain.clone().map(|name| ("domain", name.into()));
    let constants = constants.parameters().into_iter();
    let constants = constants.filter(|(name, _)| has_length || *name != "seq_len");
    domain.into_iter().chain(assumed).chain(constants).collect()
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
    let shape = [inputs.rows(), seq_len.try_into().unwrap_or(0)];
    for (array, side) in [(SetArray::Inputs, inputs), (SetArray::Labels, labels)] {
        if side.shape() != shape {
            return Err((array, format!("shape {:?}, not {shape:?}", side.shape())));
        }
    }
    let puzzles = puzzle_identifiers.rows();
    for (array, values) in [
        (SetArray::PuzzleIdentifiers, puzzle_identifiers),
        (SetArray::PuzzleIndices, puzzle_indices),
        (SetArray::GroupIndices, group_indices),
    ] {
        if values.shape().len() != 1 {
            return Err((array, format!("shape {:?} does not have one axis", values.shape())));
        }
    }
    check_indices(puzzle_indices, puzzles, inputs.rows(), "examples")
        .map_err(|cause| (SetArray::PuzzleIndices, cause))?;
    let groups = group_indices.rows().saturating_sub(1);
    check_indices(group_indices, groups, puzzles, "puzzles")
        .map_err(|cause| (SetArray::GroupIndices, cause))?;
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

/// Checks the indices of `count` runs over `total` items: they start at 0, rise, and end at the
/// end.
fn check_indices(indices: &Integers, count: u64, total: u64, what: &str) -> Result<(), String> {
    let expected = count + 1;
    if indices.rows() != expected {
        return Err(format!("{}, not {expected}", exactly(indices.rows(), "index")));
    }
    let mut before = -1;
    for (index, at) in indices.values().zip(0u64..) {
        if index <= before || (at == 0 && index != 0) {
            let after = if at == 0 { "first".to_string() } else { format!("after {before}") };
            return Err(format!("entry {at} is {index}, {after}: they must rise from 0"));
        }
        before = index;
    }
    if u64::try_from(before) == Ok(total) {
        Ok(())
    } else {
        Err(format!("the last entry is {before}, of {total} {}", of_plural(total, what)))
    }
}
