//! Writes puzzle records as a puzzle set: everything appears at the end or not at all, `build.json`
//! last. Groups, puzzles and examples are written as they come.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;
use serde_json::{Map, Value};

use super::names::Names;
use super::part_writer::SetWriter;
use super::{
    AssertedConstants, BUILD, DATASET, IDENTIFIERS, PuzzleSetFile, PuzzleSetManifest, SPLITS,
    SetArray, SetConstants, SplitMetadata,
};
use crate::batch::Header;
use crate::batch::{Batch, Counts, Sink, SinkSummary};
use crate::cli::Rejects;
use crate::error::{Error, Result, shown};
use crate::format::refuse_other_formats;
use crate::format::{RecordCounts, json_file, standing_in};
use crate::json::PythonFormatter;
use crate::ordered::Flow;
use crate::provenance::BuildRun;
use crate::publish::{PendingFile, StandingFiles, Target, is_there, publish, refuse_existing};
use crate::puzzle::{BLANK_IDENTIFIER, SET, Split};
use crate::record::puzzle::{self, Puzzle, Puzzles};
use crate::record::statements::DOMAIN_ASSUMED;
use crate::wording::{counted, exactly};

/// The most sets of a split: each keeps five files open.
const MAX_SETS: usize = 32;

/// What an example of a stated domain must satisfy beyond what the format requires; returns the
/// cause if it does not.
pub type ExampleRule = Box<dyn FnMut(&Puzzle<'_>) -> Result<(), String>>;

/// Writes one puzzle set. If it is dropped before it is finished, it leaves nothing.
pub struct PuzzleWriter {
    root: PathBuf,
    overwrite: bool,
    asserted: AssertedConstants,
    /// Whether the domain of the records is a guess, which must not be stated.
    is_assumed: bool,
    rule: Option<ExampleRule>,
    /// The shape, which the first record decides.
    shape: Option<SetShape>,
    /// The sets of train and of test, in the order of their first examples.
    parts: [Vec<SetWriter>; 2],
    /// The sources of the records, one object for each.
    builds: Vec<Map<String, Value>>,
    /// The number of examples written.
    written: u64,
    start: Instant,
}

impl Sink for PuzzleWriter {
    fn write(&mut self, mut batch: Batch, rejects: &mut Rejects) -> Result<Flow> {
        let records = batch.records.clone();
        let view = Puzzles::of(&records)?;
        for row in 0..view.len() {
            let example = view.get(row);
            // An error with a place is about the output, not about the record.
            let pushed = self.push(&example).map_err(|error| match error.place() {
                Some(_) => error,
                None => error.at(batch.origin.place(row)),
            })?;
            if let Err(reason) = pushed {
                let name = Some(example.puzzle);
                batch.reject_row((&records, row), name, reason, puzzle::to_json);
            }
        }
        rejects.take(batch.rejected)?;
        Ok(Flow::Continue)
    }

    fn finish(self, counts: Counts) -> Result<SinkSummary> {
        let (warnings, root) = (self.warnings(), self.root.clone());
        let written = self.publish(counts)?;
        let made = format!("{}: {}", shown(&root), counted(written, "example"));
        Ok(SinkSummary { made: Some(made), warnings, left: None })
    }
}

/// The properties that all records share.
struct SetShape {
    domain: Option<String>,
    /// The constants, without the length of examples.
    constants: SetConstants,
    /// The tokens of each side of an example, in train and in test, once one has come.
    seq_lens: [Option<i64>; 2],
    names: Names,
}

impl PuzzleWriter {
    /// Begins a set in `root`. An existing set is refused unless it may be overwritten.
    pub fn create(
        root: &Path,
        asserted: AssertedConstants,
        overwrite: bool,
    ) -> Result<PuzzleWriter> {
        refuse_existing(&PuzzleTarget(root), overwrite)?;
        let (root, parts) = (root.to_path_buf(), [Vec::new(), Vec::new()]);
        let start = Instant::now();
        let (builds, written) = (Vec::new(), 0);
        Ok(PuzzleWriter {
            root,
            overwrite,
            asserted,
            is_assumed: false,
            rule: None,
            shape: None,
            parts,
            builds,
            written,
            start,
        })
    }

    /// Refuses examples of a stated domain that break this rule.
    pub fn rule(self, rule: ExampleRule) -> PuzzleWriter {
        PuzzleWriter { rule: Some(rule), ..self }
    }

    /// Takes the domain of the records from a header.
    pub fn header(self, header: &Header) -> PuzzleWriter {
        PuzzleWriter { is_assumed: header.get(&DOMAIN_ASSUMED) == Some(true), ..self }
    }

    /// Writes an example; the inner error is the cause if it cannot belong to the set. The outer
    /// error is about the set as a whole.
    pub fn push(&mut self, example: &Puzzle<'_>) -> Result<Result<(), String>> {
        if let Some(build) = example.build {
            self.begin_source(build)?;
        }
        let shape = match &mut self.shape {
            Some(shape) => shape,
            None => {
                let shape = SetShape::new(&self.asserted, example)?;
                self.shape.insert(shape)
            }
        };
        if shape.domain.as_deref() != example.domain {
            let name = |domain: Option<&str>| domain.unwrap_or("no domain").to_string();
            return Err(Error::data(format!(
                "examples of {} and of {} cannot be one set",
                name(shape.domain.as_deref()),
                name(example.domain)
            )));
        }
        let (split, set) = match shape.check(example) {
            Ok(part) => part,
            Err(cause) => return Ok(Err(cause)),
        };
        if let Some(rule) = self.rule.as_mut().filter(|_| !self.is_assumed)
            && let Err(cause) = rule(example)
        {
            return Ok(Err(cause));
        }
        let parts = &mut self.parts[split as usize];
        let identifier = example.identifier.unwrap_or(BLANK_IDENTIFIER);
        let index = match parts.iter().position(|part| part.set == set) {
            Some(index) => index,
            None if parts.len() == MAX_SETS => {
                return Err(Error::data(format!("set {set:?} is over the limit of {MAX_SETS}")));
            }
            None => {
                let directory = self.root.join(split.name());
                let seq_len = example.inputs.len() as u64;
                parts.push(SetWriter::create(&directory, set, seq_len)?);
                parts.len() - 1
            }
        };
        let part = &mut parts[index];
        if let Some(own) = part.identifier_of(example)
            && shape.names.find(identifier) != Some(own)
        {
            return Ok(Err(format!(
                "identifier {identifier:?} differs from the earlier examples of puzzle {:?}",
                example.puzzle
            )));
        }
        let place = shape.names.place(identifier)?;
        part.push(example, place)?;
        self.written += 1;
        Ok(Ok(()))
    }

    /// Notes that a record has a build: it is the first of its source and begins a new group, even
    /// if its names are the same as before.
    fn begin_source(&mut self, text: &str) -> Result<()> {
        let mut build: Map<String, Value> = serde_json::from_str(text)
            .map_err(|error| Error::data(format!("build is not an object: {error}")))?;
        self.parts.iter_mut().flatten().for_each(SetWriter::end_source);
        // A set that was built from several sources names them all.
        let Some(sources) = build.shift_remove("builds") else {
            self.builds.push(build);
            return Ok(());
        };
        let sources: Vec<Map<String, Value>> = serde_json::from_value(sources)
            .map_err(|error| Error::data(format!("builds is not a list of objects: {error}")))?;
        self.builds.extend(sources);
        Ok(())
    }

    /// Returns notes for the user about the input.
    fn warnings(&self) -> Vec<String> {
        let missing = SPLITS.into_iter().filter(|&split| self.parts[split as usize].is_empty());
        missing
            .map(|split| {
                let (name, root) = (split.name(), shown(&self.root));
                format!("no {name} example came: {root} has no {name} split, which loaders want")
            })
            .collect()
    }

    /// Publishes everything, `build.json` last, in place of an earlier set; returns the number of
    /// examples. Fails without examples: a loader cannot open an empty set.
    fn publish(self, counts: Counts) -> Result<u64> {
        let PuzzleWriter { root, overwrite, is_assumed, shape, parts, builds, .. } = self;
        let (written, start) = (self.written, self.start);
        let Some(mut shape) = shape.filter(|_| parts.iter().any(|sets| !sets.is_empty())) else {
            return Err(Error::data("got no example, nothing is written").at(root.as_path()));
        };
        let (mut files, mut entries, mut datasets) = (Vec::new(), Vec::new(), Vec::new());
        for (split, sets) in SPLITS.into_iter().zip(parts).filter(|(_, sets)| !sets.is_empty()) {
            let name = format!("{}/{DATASET}", split.name());
            datasets.push(python_file(&root, name, &shape.metadata(split, &sets), &mut entries)?);
            for part in sets {
                let number = |place| shape.names.number(place);
                part.finish(split.name(), number, &mut files, &mut entries)?;
            }
        }
        files.append(&mut datasets);
        let names = shape.names.by_number()?;
        files.push(python_file(&root, IDENTIFIERS.to_string(), &names, &mut entries)?);
        let (records, run) = (RecordCounts::written(written, counts), BuildRun::since(start));
        let domain = shape.domain.filter(|_| !is_assumed);
        let manifest = PuzzleSetManifest::new(domain, builds, records, entries, &run);
        files.push(json_file::pending(&root.join(BUILD), &manifest)?);
        publish(&PuzzleTarget(&root), files, overwrite)?;
        for split in SPLITS {
            // Only an empty one is removed: the old set had this split, the new one does not.
            let _ = fs::remove_dir(root.join(split.name()));
        }
        Ok(written)
    }
}

impl SetShape {
    fn new(asserted: &AssertedConstants, first: &Puzzle<'_>) -> Result<SetShape> {
        let constants = asserted.resolve(first.domain, first.inputs.len())?;
        let blank = i32::try_from(constants.blank_identifier_id).unwrap_or_default();
        let domain = first.domain.map(str::to_string);
        // Splits of another domain may differ in their length, unless it is given.
        let is_fixed = asserted.seq_len.is_some() || domain.as_deref().is_some_and(is_known);
        let seq_lens = [is_fixed.then_some(constants.seq_len); 2];
        Ok(SetShape { domain, constants, seq_lens, names: Names::new(blank) })
    }

    /// Returns the `dataset.json` of a split with these sets.
    fn metadata(&self, split: Split, sets: &[SetWriter]) -> SplitMetadata {
        let total = |count: fn(&SetWriter) -> i32| -> i64 {
            sets.iter().map(|part| i64::from(count(part))).sum()
        };
        SplitMetadata {
            constants: self
                .constants
                .with_seq_len(self.seq_lens[split as usize].unwrap_or(self.constants.seq_len)),
            num_puzzle_identifiers: self.names.len() as i64,
            total_groups: total(|part| part.groups),
            mean_puzzle_examples: total(|part| part.examples) as f64
                / total(|part| part.puzzles) as f64,
            sets: sets.iter().map(|part| part.set.clone()).collect(),
        }
    }

    /// Returns the split and the set of an example, or why it belongs to none.
    fn check<'a>(&mut self, example: &Puzzle<'a>) -> Result<(Split, &'a str), String> {
        let split = SPLITS.into_iter().find(|split| split.name() == example.split);
        let split = split.ok_or_else(|| {
            format!("split {:?} is neither \"train\" nor \"test\"", example.split)
        })?;
        let set = example.set.unwrap_or(SET);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if set.is_empty() || set.starts_with('.') || !set.chars().all(plain) || set.len() > 100 {
            return Err(format!("set {set:?} cannot be part of a file's name"));
        }
        let vocab_size = self.constants.vocab_size;
        let length = i64::try_from(example.inputs.len()).unwrap_or(i64::MAX);
        let seq_len = *self.seq_lens[split as usize].get_or_insert(length);
        for (side, tokens) in [("inputs", example.inputs), ("labels", example.labels)] {
            if i64::try_from(tokens.len()) != Ok(seq_len) {
                let found = exactly(tokens.len(), "token");
                return Err(format!("{side} has {found}, seq_len is {seq_len}"));
            }
            let is_token = |token: i32| (0..vocab_size).contains(&token.into());
            if tokens.is_empty() {
                return Err(format!("{side} has no tokens: no reader takes a seq_len of 0"));
            }
            if let Some(at) = tokens.iter().position(|&token| !is_token(token)) {
                return Err(format!("{side}[{at}] is {}, vocab_size is {vocab_size}", tokens[at]));
            }
        }
        Ok((split, set))
    }
}

fn is_known(domain: &str) -> bool {
    crate::puzzle::domain(domain).is_some()
}

/// Writes a file of the set as Python's `json.dump` does; returns it unpublished, and adds its
/// entry.
fn python_file(
    root: &Path,
    name: String,
    value: &impl Serialize,
    entries: &mut Vec<PuzzleSetFile>,
) -> Result<PendingFile> {
    let path = root.join(&name);
    let text =
        PythonFormatter::SPACED.text(value).map_err(|e| Error::data(e).at(path.as_path()))?;
    let mut file = json_file::pending_text(&path, text.as_bytes())?;
    entries.push(PuzzleSetFile::describe(name, &mut file)?);
    Ok(file)
}

/// The directory of a set.
pub(super) struct PuzzleTarget<'a>(pub(super) &'a Path);

impl Target for PuzzleTarget<'_> {
    fn directory(&self) -> PathBuf {
        self.0.to_path_buf()
    }

    fn manifest(&self) -> PathBuf {
        self.0.join(BUILD)
    }

    fn standing(&self) -> Result<StandingFiles> {
        for place in ["", "train", "test"] {
            refuse_other_formats(&self.0.join(place), super::FORMAT.name)?;
        }
        Ok(StandingFiles { files: present(self.0)?, dependents: Vec::new() })
    }

    /// Loaders open a set by these files.
    fn is_index(&self, path: &Path) -> bool {
        path.extension().is_some_and(|ending| ending == "json")
    }
}

/// Returns the files of a set that are in a directory, sorted.
fn present(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in [BUILD, IDENTIFIERS].map(|name| root.join(name)) {
        if is_there(&path)? {
            found.push(path);
        }
    }
    for split in SPLITS {
        let paths = standing_in(&root.join(split.name()))?;
        found.extend(paths.into_iter().filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_array = SetArray::ALL.into_iter().any(|array| array.set_of(&name).is_some());
            name == DATASET || is_array && !name.starts_with('.')
        }));
    }
    found.sort();
    Ok(found)
}
