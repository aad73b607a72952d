//! Checks a puzzle set as a whole: its splits, the names of its puzzles, how it was built, and examples
//! that are in both splits.

use std::fs;
use std::path::{Path, PathBuf};

use super::arrays::{self, ValidSet};
use super::examples::{self, ExampleRules};
use super::{RULES, dataset};
use crate::check::inventory;
use crate::check::repeats::{RecordPlace, Repeats};
use crate::check::{Check, CheckContext, DomainSaid, FindingPlace, Findings, Outcome, checks};
use crate::error::{At, Error, Result, shown};
use crate::files;
use crate::format::json_file;
use crate::format::puzzle_dir::{self, PuzzleSetManifest, SPLITS, SplitMetadata};
use crate::puzzle::{self, BLANK_IDENTIFIER, Domain, Split};

checks! {
    SPLIT: Warning Structure "puzzle.split.missing",
        "train or test is missing: loaders need both";
    NO_NAMES: Warning Structure "puzzle.identifiers.missing",
        "no identifiers.json: the puzzles have no names";
    NAMES: Error Structure "puzzle.identifiers.form", "identifiers.json is not a list of names";
    BLANK: Warning Structure "puzzle.identifiers.blank",
        "the name at blank_identifier_id is not <blank>, or a name is there twice";
    BUILD: Error Structure "puzzle.build.form",
        "a build.json that cannot be read: the set cannot be built again";
    FOREIGN: Warning Structure "puzzle.build.foreign",
        "a build.json of another program: nothing in it is compared";
    FILE: Error Structure "puzzle.build.file", "a file that build.json names is not there";
    BYTES: Error Structure "puzzle.build.bytes", "a file does not have the size in build.json";
    SHA256: Error Content "puzzle.build.sha256",
        "a file does not have the sha256 in build.json: a byte of it was changed";
    BUILD_SURPLUS: Error Structure "puzzle.build.surplus",
        "a file of the set that build.json does not name: it is from another build";
    COUNTS: Error Structure "puzzle.build.counts",
        "build.json counts other examples than there are, or its counts do not add up";
    OVERLAP: Warning Content "puzzle.overlap",
        "the same example in train and test: the model is tested on what it was trained on";
    REPEATED: Warning Content "puzzle.repeated",
        "an example that is in its split already: it counts double";
    TEMPORARY: Warning Structure "puzzle.temporary",
        "a temporary file of a writer that is running, or was killed";
}

/// A readable set of one split.
struct OpenedSet {
    split: Split,
    set: ValidSet,
    metadata: SplitMetadata,
}

pub(super) fn check(path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome> {
    let mut findings = context.findings();
    let mut notes = Vec::new();
    let (root, splits) = splits(path)?;
    if splits.len() == 1 && root == path {
        findings.add(&SPLIT, path, format_args!("there is only {}", splits[0].name()));
    }
    let build = build(&root, &mut findings)?;
    let names = names(&root, &mut findings)?;
    let mut found = FoundSplits::default();
    for &split in &splits {
        found.read(&root, split, names.as_deref(), &mut findings)?;
    }
    if let [(a, first), (b, second)] = found.metadatas.as_slice() {
        let directories = [a, b].map(|split| root.join(split.name()));
        dataset::compare_splits((&directories[0], first), (&directories[1], second), &mut findings);
    }
    let domain = domain(&found.metadatas, build.as_ref(), context, &mut notes)?;
    contents(&found.sets, domain, build.is_some(), context, &mut findings)?;
    if let Some(build) = &build {
        let only = (root != path).then(|| splits[0].name());
        files(&root, only, build, context, &mut findings)?;
        // (A single split has less than what was built.)
        if splits.len() == SPLITS.len() && found.is_whole() {
            counts(&root, build, found.examples, &mut findings);
        }
    } else {
        notes.push("no build.json: hashes cannot be compared".to_string());
    }
    temporaries(&root, &splits, &mut findings)?;
    Ok(Outcome {
        path: path.to_path_buf(),
        what: "puzzle set".to_string(),
        records: ("examples", found.examples),
        notes,
        groups: findings.into_groups(),
        ..Outcome::default()
    })
}

/// The contents of the splits of a root.
#[derive(Default)]
struct FoundSplits {
    sets: Vec<OpenedSet>,
    metadatas: Vec<(Split, SplitMetadata)>,
    examples: u64,
    /// Whether a part of them could not be read.
    is_less: bool,
}

impl FoundSplits {
    /// Whether `examples` counts all examples.
    fn is_whole(&self) -> bool {
        !self.is_less && !self.metadatas.is_empty()
    }

    fn read(
        &mut self,
        root: &Path,
        split: Split,
        names: Option<&[String]>,
        findings: &mut Findings<'_>,
    ) -> Result<()> {
        let directory = root.join(split.name());
        let Some(metadata) = dataset::read(&directory, findings)? else {
            self.is_less = true;
            return Ok(());
        };
        let mut sums = dataset::Sums::default();
        let mut whole = true;
        for set in &metadata.sets {
            let set = arrays::check(&directory, set, &metadata, &mut sums, findings)?;
            whole &= set.is_some();
            self.sets.extend(set.map(|set| OpenedSet { split, set, metadata: metadata.clone() }));
        }
        arrays::surplus(&directory, &metadata.sets, findings)?;
        self.is_less |= !whole;
        if whole {
            dataset::compare(&directory, &metadata, &sums, findings);
        }
        if let Some(names) = names {
            let stated = metadata.num_puzzle_identifiers;
            if usize::try_from(stated) != Ok(names.len()) {
                let path = directory.join("dataset.json");
                dataset::wrong_identifiers(
                    FindingPlace::file(&path),
                    stated,
                    names.len(),
                    findings,
                );
            }
            if self.metadatas.is_empty() {
                names_of(root, &metadata, names, findings);
            }
        }
        self.examples += sums.examples;
        self.metadatas.push((split, metadata));
        Ok(())
    }
}

/// Returns the root of a set and its splits; a path may name one of these alone.
fn splits(path: &Path) -> Result<(PathBuf, Vec<Split>)> {
    let mut found = Vec::new();
    for split in SPLITS {
        if files::is_directory(&path.join(split.name()))? {
            found.push(split);
        }
    }
    if !found.is_empty() {
        return Ok((path.to_path_buf(), found));
    }
    let whole = fs::canonicalize(path).at(path)?;
    let name = whole.file_name().unwrap_or_default();
    match (SPLITS.into_iter().find(|split| name == split.name()), whole.parent()) {
        (Some(split), Some(above)) => {
            let above = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(above);
            Ok((above.to_path_buf(), vec![split]))
        }
        _ => Err(Error::usage("a split of a puzzle set is called train or test").at(shown(path))),
    }
}

fn build(root: &Path, findings: &mut Findings<'_>) -> Result<Option<PuzzleSetManifest>> {
    let path = root.join(puzzle_dir::BUILD);
    if !files::is_member(&path)? {
        return Ok(None);
    }
    inventory::readable(json_file::read(&path), &path, findings, || {
        let foreign = inventory::is_foreign(&path, &["\"files\"", "\"parameters\""])?;
        Ok(if foreign { &FOREIGN } else { &BUILD })
    })
}

fn names(root: &Path, findings: &mut Findings<'_>) -> Result<Option<Vec<String>>> {
    let path = root.join(puzzle_dir::IDENTIFIERS);
    if !files::is_member(&path)? {
        findings.add(&NO_NAMES, root, "has no identifiers.json");
        return Ok(None);
    }
    inventory::readable(json_file::read_all(&path), &path, findings, || Ok(&NAMES))
}

fn names_of(root: &Path, metadata: &SplitMetadata, names: &[String], findings: &mut Findings<'_>) {
    let path = root.join("identifiers.json");
    let blank = usize::try_from(metadata.constants.blank_identifier_id).ok();
    let name = blank.and_then(|blank| names.get(blank));
    if let Some(name) = name.filter(|name| *name != BLANK_IDENTIFIER) {
        findings.add(&BLANK, &path, format_args!("it is {name:?}"));
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        findings.add(&BLANK, &path, format_args!("{:?} is there twice", pair[0]));
    }
}

/// Returns the domain of a set: the user's, else the build's, else (without a build) a guess from
/// its shape.
fn domain(
    metadatas: &[(Split, SplitMetadata)],
    build: Option<&PuzzleSetManifest>,
    context: &CheckContext<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<&'static dyn Domain>> {
    if let Some(DomainSaid(said)) = context.options.said.get() {
        return Ok(*said);
    }
    // A stated domain wins, whatever the constants are.
    if let Some(build) = build {
        let Some(name) = build.domain.as_deref() else {
            notes.push("build.json states no domain; try: --domain NAME for its rules".to_string());
            return Ok(None);
        };
        let domain = puzzle::domain(name);
        if domain.is_none() {
            notes.push(format!(
                "no rules of {name} are known here; values are not compared with any"
            ));
        }
        return Ok(domain);
    }
    let Some((_, SplitMetadata { constants, .. })) = metadatas.first() else { return Ok(None) };
    let (seq_len, vocab_size) = (constants.seq_len, constants.vocab_size);
    let guessed = match (usize::try_from(seq_len), usize::try_from(vocab_size)) {
        (Ok(seq_len), Ok(vocab_size)) => puzzle::guess(seq_len, vocab_size),
        _ => None,
    };
    notes.push(match guessed {
        Some(domain) => format!(
            "assumed: {}, by seq_len {seq_len} and vocab_size {vocab_size}; else give --domain",
            domain.constants().name
        ),
        None => format!("seq_len {seq_len}, vocab_size {vocab_size}: not those of a known domain"),
    });
    Ok(guessed)
}

fn contents(
    opened: &[OpenedSet],
    domain: Option<&'static dyn Domain>,
    ours: bool,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let rules: Vec<&Check> = RULES.iter().map(|(_, check)| check).collect();
    let mut repeats = context.selection.wants_any(&[&OVERLAP, &REPEATED]).then(Repeats::default);
    let wants = |checks: &[&Check]| context.selection.wants_any(checks);
    if !(repeats.is_some() || wants(examples::CHECKS) || wants(&rules)) {
        return Ok(());
    }
    for (number, OpenedSet { split, set, metadata }) in opened.iter().enumerate() {
        let constants = metadata.constants.clone();
        let rules = ExampleRules { constants, domain, split: *split, ours };
        examples::check(set, number, &rules, repeats.as_mut(), context, findings)?;
    }
    overlap(repeats.unwrap_or_default(), opened, findings)
}

/// Reports examples of test that are in train too, and examples that are twice in their split.
fn overlap(repeats: Repeats, opened: &[OpenedSet], findings: &mut Findings<'_>) -> Result<()> {
    let read = |place: RecordPlace| {
        let (mut inputs, mut labels) = (Vec::new(), Vec::new());
        opened[place.set].set.inputs.read_row(place.number, &mut inputs);
        opened[place.set].set.labels.read_row(place.number, &mut labels);
        Ok((inputs, labels))
    };
    repeats.equal(read, |earlier, same| {
        let split = |place: &RecordPlace| opened[place.set].split;
        let all = || earlier.iter().chain(same);
        let first = |of: Split| all().find(|place| split(place) == of);
        for place in same {
            let at = FindingPlace::file(&opened[place.set].set.inputs_path);
            let at = at.record("example", place.number);
            if let (Split::Test, Some(trained)) = (split(place), first(Split::Train)) {
                let message = format_args!("is example {} of train", trained.number);
                findings.add(&OVERLAP, at, message);
            }
            if let Some(before) = first(split(place)).filter(|first| *first != place) {
                let message =
                    format_args!("is example {} of {}", before.number, split(place).name());
                findings.add(&REPEATED, at, message);
            }
        }
    })
}

fn files(
    root: &Path,
    only: Option<&str>,
    build: &PuzzleSetManifest,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let mut claims = build.stated(root);
    claims.retain(|file| only.is_none_or(|split| file.path.starts_with(root.join(split))));
    let checks = inventory::FileChecks { missing: &FILE, bytes: &BYTES, sha256: &SHA256 };
    inventory::compare(claims.iter(), &checks, context, findings)?;
    for split in SPLITS.into_iter().filter(|split| only.is_none_or(|only| only == split.name())) {
        let directory = root.join(split.name());
        let paths = files::paths_if_there(&directory)?;
        let of_set = |path: &&PathBuf| {
            let name = inventory::name_of(path);
            !name.starts_with('.') && (name.ends_with(".npy") || name == "dataset.json")
        };
        let unknown = |path: &&PathBuf| !claims.iter().any(|c| c.path == **path);
        for path in paths.iter().filter(of_set).filter(unknown) {
            findings.add(&BUILD_SURPLUS, path, "is not in build.json");
        }
    }
    Ok(())
}

/// Compares the counts of records in `build.json` with the set.
fn counts(root: &Path, build: &PuzzleSetManifest, examples: u64, findings: &mut Findings<'_>) {
    let path = root.join(puzzle_dir::BUILD);
    let Some(records) = &build.records else {
        // Sets of version 0.2 have no counts, and no unknown member either.
        if let Some(name) = build.unknown_member() {
            let message = format_args!("has no records, and {name:?}, which is not known");
            findings.add(&COUNTS, &path, message);
        }
        return;
    };
    if records.written != examples {
        let message = format_args!("records.written is {}, not {examples}", records.written);
        findings.add(&COUNTS, &path, message);
    }
    if let Some(cause) = records.wrong_read() {
        findings.add(&COUNTS, &path, cause);
    }
}

/// Reports the temporary files of the set.
fn temporaries(root: &Path, splits: &[Split], findings: &mut Findings<'_>) -> Result<()> {
    let below = splits.iter().map(|split| root.join(split.name()));
    for directory in std::iter::once(root.to_path_buf()).chain(below) {
        inventory::temporaries(&files::paths_in(&directory)?, &TEMPORARY, findings);
    }
    Ok(())
}
