//! Puzzle records into a puzzle set: everything appears at the end or not at all, `build.json`
//! last. Groups, puzzles and examples are written as they come.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::metadata::list_text;
use super::names::Names;
use super::part_writer::{PartWriter, file_entry};
use super::{Array, Asserted, BUILD, DATASET, IDENTIFIERS, Metadata, SPLITS, SetConstants};
use crate::batch::{Batch, Counts, Sink};
use crate::cli::{Flow, PendingFile, Rejects, publish, refuse_existing, remove_if_there};
use crate::error::{Error, Result, shown};
use crate::puzzle::{BLANK_IDENTIFIER, SET, Split};
use crate::record::puzzle::{Puzzle, Puzzles};

/// The most sets of a split: each keeps five files open.
const MAX_SETS: usize = 32;

/// Writes one puzzle set. Dropped before it is finished, it leaves nothing.
pub struct PuzzleWriter {
    root: PathBuf,
    asserted: Asserted,
    /// Told by the first record.
    shape: Option<Shape>,
    /// The sets of train and of test, in the order of their first examples.
    parts: [Vec<PartWriter>; 2],
    /// What made the records, one object for each source.
    builds: Vec<Map<String, Value>>,
}

impl Sink for PuzzleWriter {
    fn write(&mut self, mut batch: Batch, rejects: &mut Rejects) -> Result<Flow> {
        let records = batch.records.clone();
        let view = Puzzles::of(&records)?;
        for row in 0..view.len() {
            let example = view.get(row);
            let pushed = self.push(&example).map_err(|e| e.at(batch.origin.place(row)))?;
            if let Err(reason) = pushed {
                batch.reject(row, Some(example.puzzle), reason, example.to_json());
            }
        }
        rejects.take(batch.rejected)?;
        Ok(Flow::Continue)
    }

    fn finish(self, _: Counts) -> Result<Vec<String>> {
        let warnings = self.warnings();
        self.publish()?;
        Ok(warnings)
    }
}

/// What all records have in common.
struct Shape {
    domain: Option<String>,
    constants: SetConstants,
    names: Names,
}

impl PuzzleWriter {
    /// Begins a set in `root`. What stands there is refused unless it may be overwritten.
    pub fn create(root: &Path, asserted: Asserted, overwrite: bool) -> Result<PuzzleWriter> {
        present(root)?.iter().try_for_each(|path| refuse_existing(path, overwrite))?;
        let parts = [Vec::new(), Vec::new()];
        Ok(PuzzleWriter { root: root.to_path_buf(), asserted, shape: None, parts, builds: vec![] })
    }

    /// Writes an example; the cause where it cannot belong to the set. The outer error is of the
    /// set as a whole.
    pub fn push(&mut self, example: &Puzzle<'_>) -> Result<Result<(), String>> {
        if let Some(build) = example.build {
            self.begin_source(build)?;
        }
        let shape = match &mut self.shape {
            Some(shape) => shape,
            None => {
                let shape = Shape::new(&self.asserted, example)?;
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
        let parts = &mut self.parts[split as usize];
        let identifier = example.identifier.unwrap_or(BLANK_IDENTIFIER);
        let index = match parts.iter().position(|part| part.set == set) {
            Some(index) => index,
            None if parts.len() == MAX_SETS => {
                return Err(Error::data(format!("set {set:?} is one more than {MAX_SETS}")));
            }
            None => {
                let directory = self.root.join(split.name());
                let seq_len = shape.constants.seq_len.unsigned_abs();
                parts.push(PartWriter::create(&directory, set, seq_len)?);
                parts.len() - 1
            }
        };
        let part = &mut parts[index];
        if let Some(own) = part.identifier_of(example)
            && shape.names.find(identifier) != Some(own)
        {
            return Ok(Err(format!(
                "identifier {identifier:?} is not that of the examples of puzzle {:?} before it",
                example.puzzle
            )));
        }
        let place = shape.names.place(identifier)?;
        part.push(example, place)?;
        Ok(Ok(()))
    }

    /// A record with a build is the first of its source: it begins a new group, whatever the
    /// names of the source before.
    fn begin_source(&mut self, text: &str) -> Result<()> {
        let mut build: Map<String, Value> = serde_json::from_str(text)
            .map_err(|error| Error::data(format!("build is no object: {error}")))?;
        self.parts.iter_mut().flatten().for_each(PartWriter::end_source);
        // A set of several sources comes back with all of them.
        let Some(sources) = build.shift_remove("builds") else {
            self.builds.push(build);
            return Ok(());
        };
        let sources: Vec<Map<String, Value>> = serde_json::from_value(sources)
            .map_err(|error| Error::data(format!("builds is no list of objects: {error}")))?;
        self.builds.extend(sources);
        Ok(())
    }

    /// What the user should know of what came.
    fn warnings(&self) -> Vec<String> {
        let missing = SPLITS.into_iter().filter(|&split| self.parts[split as usize].is_empty());
        missing
            .map(|split| {
                let (name, root) = (split.name(), shown(&self.root));
                format!("no {name} example came: {root} has no {name} split, which loaders want")
            })
            .collect()
    }

    /// Publishes everything, `build.json` last. What an earlier set has left goes before. Fails
    /// where no example came: a loader cannot open an empty set.
    fn publish(self) -> Result<()> {
        let PuzzleWriter { root, shape, parts, builds, .. } = self;
        let Some(mut shape) = shape.filter(|_| parts.iter().any(|sets| !sets.is_empty())) else {
            return Err(Error::data(format!(
                "{}: no example came, nothing is written",
                shown(&root)
            )));
        };
        let num_puzzle_identifiers = shape.names.len() as i64;
        let (mut files, mut entries, mut datasets) = (Vec::new(), Vec::new(), Vec::new());
        for (split, sets) in SPLITS.into_iter().zip(parts) {
            if sets.is_empty() {
                continue;
            }
            let total = |count: fn(&PartWriter) -> i32| -> i64 {
                sets.iter().map(|part| i64::from(count(part))).sum()
            };
            let metadata = Metadata {
                constants: shape.constants.clone(),
                num_puzzle_identifiers,
                total_groups: total(|part| part.groups),
                mean_puzzle_examples: total(|part| part.examples) as f64
                    / total(|part| part.puzzles) as f64,
                sets: sets.iter().map(|part| part.set.clone()).collect(),
            };
            let name = format!("{}/{DATASET}", split.name());
            datasets.push(text_file(&root, &name, &metadata.to_text(), &mut entries)?);
            for part in sets {
                let number = |place| shape.names.number(place);
                part.finish(split.name(), number, &mut files, &mut entries)?;
            }
        }
        files.append(&mut datasets);
        let identifiers = list_text(&shape.names.by_number()?);
        files.push(text_file(&root, IDENTIFIERS, &identifiers, &mut entries)?);
        let build = build_json(shape.domain, builds, entries);
        files.push(text_file(&root, BUILD, &format!("{build:#}\n"), &mut Vec::new())?);
        // What makes it a set goes first and comes back last.
        let mut gone = present(&root)?;
        gone.sort_by_key(|path| path.extension().is_none_or(|extension| extension != "json"));
        gone.iter().try_for_each(|path| remove_if_there(path))?;
        publish(files)?;
        for split in SPLITS {
            // Only one that is empty goes: the old set had this split, the new one has not.
            let _ = fs::remove_dir(root.join(split.name()));
        }
        Ok(())
    }
}

impl Shape {
    fn new(asserted: &Asserted, first: &Puzzle<'_>) -> Result<Shape> {
        let constants = asserted.resolve(first.domain, first.inputs.len())?;
        let blank = i32::try_from(constants.blank_identifier_id).unwrap_or_default();
        let domain = first.domain.map(str::to_string);
        Ok(Shape { domain, constants, names: Names::new(blank) })
    }

    /// Where an example belongs, or why it belongs nowhere.
    fn check<'a>(&self, example: &Puzzle<'a>) -> Result<(Split, &'a str), String> {
        let split = SPLITS.into_iter().find(|split| split.name() == example.split);
        let split = split.ok_or_else(|| {
            format!("split {:?} is neither \"train\" nor \"test\"", example.split)
        })?;
        let set = example.set.unwrap_or(SET);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if set.is_empty() || set.starts_with('.') || !set.chars().all(plain) || set.len() > 100 {
            return Err(format!("set {set:?} cannot be part of a file's name"));
        }
        let SetConstants { seq_len, vocab_size, .. } = self.constants;
        for (side, tokens) in [("inputs", example.inputs), ("labels", example.labels)] {
            if i64::try_from(tokens.len()) != Ok(seq_len) {
                return Err(format!("{side} has {} tokens, seq_len is {seq_len}", tokens.len()));
            }
            let is_token = |token: i32| (0..vocab_size).contains(&token.into());
            if let Some(at) = tokens.iter().position(|&token| !is_token(token)) {
                return Err(format!("{side}[{at}] is {}, vocab_size is {vocab_size}", tokens[at]));
            }
        }
        Ok((split, set))
    }
}

/// What `build.json` says: the domain, what made the records, and the files. A single source's
/// fields stand in the object itself, several sources in a list.
fn build_json(
    domain: Option<String>,
    mut builds: Vec<Map<String, Value>>,
    files: Vec<Value>,
) -> Value {
    let mut build = Map::new();
    build.insert("domain".to_string(), domain.into());
    if builds.len() == 1 {
        for (key, value) in builds.remove(0) {
            if key != "domain" && key != "files" {
                build.insert(key, value);
            }
        }
    } else if !builds.is_empty() {
        build.insert("builds".to_string(), json!(builds));
    }
    build.insert("files".to_string(), files.into());
    Value::Object(build)
}

/// A text file of the set, still pending, and its entry.
fn text_file(root: &Path, name: &str, text: &str, entries: &mut Vec<Value>) -> Result<PendingFile> {
    let path = root.join(name);
    let failed = |error: std::io::Error| Error::write(shown(&path), &error);
    let mut file = PendingFile::create(&path)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    entries.push(file_entry(name, &mut file).map_err(failed)?);
    Ok(file)
}

/// The files of a set that stand in a directory, sorted.
fn present(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = [BUILD, IDENTIFIERS].map(|name| root.join(name)).to_vec();
    found.retain(|path| path.exists());
    for split in SPLITS {
        let directory = root.join(split.name());
        let failed = |error: std::io::Error| Error::write(shown(&directory), &error);
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(error)),
        };
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_array = |array: Array| name.ends_with(&format!("__{}.npy", array.name()));
            let hidden = name.starts_with('.');
            if name == DATASET || !hidden && Array::ALL.into_iter().any(is_array) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
