//! Reads puzzle sets back into puzzle records: train before test, sets in the order of `dataset.json`.
//! Identifiers are given by name. A set does not store the names of groups and puzzles: they are taken
//! from the identifiers if these tell all of them apart; otherwise they are numbers.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use serde_json::{Map, Value};

use super::PuzzleRoot;
use super::identifiers::Identifiers;
use super::manifest::OF_SET;
use super::open_set::OpenSet;
use crate::batch::Parameters;
use crate::batch::{Batch, DroppedRecords, Header, Origin, RecordSource, WantedRecords};
use crate::cli::{Slice, runs_within};
use crate::error::{Result, shown};
use crate::npy::descr;
use crate::puzzle::BLANK_IDENTIFIER;
use crate::record::puzzle::PuzzlesBuilder;
use crate::record::statements::{DOMAIN, DOMAIN_ASSUMED, SEQ_LEN};
use crate::record::{PUZZLE, RecordType};
use crate::wording::exactly;

/// About how many tokens a batch holds (1 MiB of them); it has at least one example.
const BATCH_TOKENS: usize = 1 << 18;

/// Reads the examples of puzzle sets, or a slice of all of them together.
pub struct PuzzleReader {
    parts: Vec<OpenSet>,
    /// The part that is being read.
    current: usize,
    builder: PuzzlesBuilder,
    /// The constants and the domain, as far as all parts have the same.
    parameters: Parameters,
    notes: Vec<String>,
    /// What was dropped when the sets were made, if the sets are read whole.
    dropped: DroppedRecords,
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
        header.parameters = self.parameters.clone();
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

/// Returns what the sets state: their constants, and the name of their domain. The length of examples is
/// left out if only that differs, as between the splits of some domains. Nothing is stated if the sets are
/// of different kinds.
fn parameters(parts: &[OpenSet]) -> Parameters {
    let mut stated = Parameters::default();
    let Some(OpenSet { constants, domain, .. }) = parts.first() else { return stated };
    let are_same = parts.iter().all(|part| {
        part.domain == *domain && part.constants.with_seq_len(constants.seq_len) == *constants
    });
    if let Some(name) = domain.as_ref().filter(|_| are_same) {
        stated.set(&DOMAIN, name.clone());
    }
    if parts.iter().any(|part| part.assumed) {
        stated.set(&DOMAIN_ASSUMED, true);
    }
    let has_length = parts.iter().all(|part| part.constants.seq_len == constants.seq_len);
    for (of, value) in constants.statements().into_iter().filter(|_| are_same) {
        if has_length || of.name != SEQ_LEN.name {
            stated.set(of, value);
        }
    }
    stated
}
