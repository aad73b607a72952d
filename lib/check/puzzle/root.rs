//! A puzzle set as a whole: its splits, the names of its puzzles, how it was built, and whether
//! what is tested was trained on.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::arrays::{self, Set};
use super::examples::{self, Rules};
use super::{RULES, dataset};
use crate::check::inventory::{self, Claimed};
use crate::check::repeats::Repeats;
use crate::check::{At, Check, Context, Findings, Outcome, from_json};
use crate::cli::{Error, Result, is_temporary, shown};
use crate::format::puzzle_dir::{Metadata, SPLITS};
use crate::puzzle::{self, BLANK_IDENTIFIER, Domain, Split};

static SPLIT: Check =
    Check::warning("puzzle.split.missing", "one of train and test is not there: loaders want both")
        .structure();
static NO_NAMES: Check = Check::warning(
    "puzzle.identifiers.missing",
    "no identifiers.json: which puzzle an identifier is, nobody knows",
)
.structure();
static NAMES: Check =
    Check::error("puzzle.identifiers.form", "identifiers.json is no list of names").structure();
static BLANK: Check = Check::warning(
    "puzzle.identifiers.blank",
    "the name at blank_identifier_id is not <blank>, or a name stands twice",
)
.structure();
static BUILD: Check = Check::error(
    "puzzle.build.form",
    "a build.json that cannot be read: the set cannot be built again",
)
.structure();
static FOREIGN: Check = Check::warning(
    "puzzle.build.foreign",
    "a build.json of another program: nothing in it is compared",
)
.structure();
static FILE: Check =
    Check::error("puzzle.build.file", "a file that build.json names is not there").structure();
static BYTES: Check =
    Check::error("puzzle.build.bytes", "a file has another size than build.json says").structure();
static SHA256: Check = Check::error(
    "puzzle.build.sha256",
    "a file has another sha256 than build.json says: a byte of it was changed",
);
static BUILD_SURPLUS: Check = Check::error(
    "puzzle.build.surplus",
    "a file of the set that build.json does not name: it is of another build",
)
.structure();
static OVERLAP: Check = Check::warning(
    "puzzle.overlap",
    "the same example in train and test: what is tested was trained on",
);
static TEMPORARY: Check = Check::warning(
    "puzzle.temporary",
    "a temporary file of a writer that is running, or was killed",
)
.structure();

pub(super) static CHECKS: &[&Check] = &[
    &SPLIT,
    &NO_NAMES,
    &NAMES,
    &BLANK,
    &BUILD,
    &FOREIGN,
    &FILE,
    &BYTES,
    &SHA256,
    &BUILD_SURPLUS,
    &OVERLAP,
    &TEMPORARY,
];

/// Where an example is, in one number: its set in the upper bits.
const EXAMPLE_BITS: u32 = 44;

/// `build.json`, as far as it is compared.
#[derive(Deserialize)]
struct Build {
    /// Null where npy-pack was not told it.
    domain: Value,
    files: Vec<Described>,
}

#[derive(Deserialize)]
struct Described {
    name: String,
    bytes: u64,
    sha256: String,
}

/// One set that can be read, of one split.
struct Opened {
    split: Split,
    set: Set,
    metadata: Metadata,
}

pub(super) fn check(path: &Path, context: &mut Context<'_>) -> Result<Outcome> {
    let mut findings = context.findings();
    let mut notes = Vec::new();
    let (root, splits) = splits(path)?;
    if splits.len() == 1 && root == path {
        findings.add(&SPLIT, At::file(path), || format!("there is only {}", splits[0].name()));
    }
    let build = build(&root, &mut findings)?;
    let names = names(&root, &mut findings)?;
    let mut opened: Vec<Opened> = Vec::new();
    let mut metadatas: Vec<(Split, Metadata)> = Vec::new();
    let mut records = 0;
    for &split in &splits {
        let directory = root.join(split.name());
        let Some(metadata) = dataset::read(&directory, &mut findings)? else { continue };
        let mut sums = dataset::Sums::default();
        let mut whole = true;
        for set in &metadata.sets {
            let set = arrays::check(&directory, set, &metadata, &mut sums, &mut findings)?;
            whole &= set.is_some();
            opened.extend(set.map(|set| Opened { split, set, metadata: metadata.clone() }));
        }
        arrays::surplus(&directory, &metadata.sets, &mut findings)?;
        if whole {
            dataset::compare(&directory, &metadata, &sums, &mut findings);
        }
        if let Some(names) = &names {
            if usize::try_from(metadata.num_puzzle_identifiers) != Ok(names.len()) {
                let path = directory.join("dataset.json");
                let told = metadata.num_puzzle_identifiers;
                let at = At::file(&path);
                dataset::wrong_identifiers(at, told, names.len(), &mut findings);
            }
            if metadatas.is_empty() {
                names_of(&root, &metadata, names, &mut findings);
            }
        }
        records += sums.examples;
        metadatas.push((split, metadata));
    }
    if let [(a, first), (b, second)] = metadatas.as_slice() {
        let directories = [a, b].map(|split| root.join(split.name()));
        dataset::agree((&directories[0], first), (&directories[1], second), &mut findings);
    }
    let domain = domain(&metadatas, build.as_ref(), context, &mut notes)?;
    contents(&opened, domain, build.is_some(), context, &mut findings)?;
    if let Some(build) = &build {
        let only = (root != path).then(|| splits[0].name());
        files(&root, only, build, context, &mut findings)?;
    } else {
        notes.push("no build.json: hashes cannot be compared".to_string());
    }
    let bytes = files_below(&root, &splits, &mut findings)?;
    Ok(Outcome {
        path: path.to_path_buf(),
        what: "puzzle set".to_string(),
        records: ("examples", records),
        bytes,
        notes,
        kinds: findings.into_kinds(),
    })
}

/// The root of a set and its splits; a path may name one of these alone.
fn splits(path: &Path) -> Result<(std::path::PathBuf, Vec<Split>)> {
    let there = |root: &Path| -> Vec<Split> {
        SPLITS.into_iter().filter(|split| root.join(split.name()).is_dir()).collect()
    };
    let found = there(path);
    if !found.is_empty() {
        return Ok((path.to_path_buf(), found));
    }
    let whole = fs::canonicalize(path).map_err(|e| Error::io(shown(path), &e))?;
    let name = whole.file_name().unwrap_or_default();
    match (SPLITS.into_iter().find(|split| name == split.name()), whole.parent()) {
        (Some(split), Some(above)) => {
            let above = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(above);
            Ok((above.to_path_buf(), vec![split]))
        }
        _ => Err(Error::usage(format!(
            "{}: a split of a puzzle set is called train or test",
            shown(path)
        ))),
    }
}

fn build(root: &Path, findings: &mut Findings<'_>) -> Result<Option<Build>> {
    let path = root.join("build.json");
    if !path.is_file() {
        return Ok(None);
    }
    let text = fs::read(&path).map_err(|e| Error::io(shown(&path), &e))?;
    match from_json(&text) {
        Ok(build) => Ok(Some(build)),
        Err(error) => {
            let foreign = inventory::is_foreign(&path, &["\"files\"", "\"parameters\""])?;
            findings.add(if foreign { &FOREIGN } else { &BUILD }, At::file(&path), || {
                error.to_string()
            });
            Ok(None)
        }
    }
}

fn names(root: &Path, findings: &mut Findings<'_>) -> Result<Option<Vec<String>>> {
    let path = root.join("identifiers.json");
    if !path.is_file() {
        findings.add(&NO_NAMES, At::file(root), || "has no identifiers.json".to_string());
        return Ok(None);
    }
    let text = fs::read(&path).map_err(|e| Error::io(shown(&path), &e))?;
    match serde_json::from_slice::<Vec<String>>(&text) {
        Ok(names) => Ok(Some(names)),
        Err(error) => {
            findings.add(&NAMES, At::file(&path), || error.to_string());
            Ok(None)
        }
    }
}

fn names_of(root: &Path, metadata: &Metadata, names: &[String], findings: &mut Findings<'_>) {
    let path = root.join("identifiers.json");
    let blank = usize::try_from(metadata.constants.blank_identifier_id).ok();
    let name = blank.and_then(|blank| names.get(blank));
    if let Some(name) = name.filter(|name| *name != BLANK_IDENTIFIER) {
        findings.add(&BLANK, At::file(&path), || format!("it is {name:?}"));
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        findings.add(&BLANK, At::file(&path), || format!("{:?} stands twice", pair[0]));
    }
}

/// The domain of a set: as the user says, as its build says, as its shape suggests.
fn domain(
    metadatas: &[(Split, Metadata)],
    build: Option<&Build>,
    context: &Context<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<&'static dyn Domain>> {
    if let Some(name) = &context.options.domain {
        let names: Vec<&str> = puzzle::DOMAINS.iter().map(|d| d.constants().name).collect();
        return match puzzle::domain(name) {
            Some(domain) => Ok(Some(domain)),
            None => Err(Error::usage(format!(
                "--domain {name}: no domain that is known; try: {}",
                names.join(", ")
            ))),
        };
    }
    if let Some(domain) = build.and_then(|build| puzzle::domain(build.domain.as_str()?)) {
        return Ok(Some(domain));
    }
    let Some((_, Metadata { constants, .. })) = metadatas.first() else { return Ok(None) };
    let shape = || {
        let seq_len = usize::try_from(constants.seq_len).ok()?;
        puzzle::guess(seq_len, usize::try_from(constants.vocab_size).ok()?)
    };
    let guessed = shape();
    let (seq_len, vocab_size) = (constants.seq_len, constants.vocab_size);
    notes.push(match guessed {
        Some(domain) => format!(
            "taken for {}, by seq_len {seq_len} and vocab_size {vocab_size}; else say --domain",
            domain.constants().name
        ),
        None => format!("seq_len {seq_len}, vocab_size {vocab_size}: no domain that is known"),
    });
    Ok(guessed)
}

fn contents(
    opened: &[Opened],
    domain: Option<&'static dyn Domain>,
    ours: bool,
    context: &mut Context<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let rules: Vec<&Check> = RULES.iter().map(|rule| &rule.check).collect();
    let wants_repeats = context.selection.wants(&OVERLAP);
    let selection = context.selection;
    if !(wants_repeats || selection.wants_any(examples::CHECKS) || selection.wants_any(&rules)) {
        return Ok(());
    }
    let mut repeats = Repeats::default();
    for (number, Opened { split, set, metadata }) in opened.iter().enumerate() {
        let rules = Rules { constants: metadata.constants.clone(), domain, split: *split, ours };
        let repeats = wants_repeats.then_some(&mut repeats);
        let place = |example| (number as u64) << EXAMPLE_BITS | example;
        examples::check(set, &rules, repeats, place, context, findings)?;
    }
    overlap(repeats, opened, findings)
}

/// Examples of test that stand in train too; equal hashes are looked at again.
fn overlap(repeats: Repeats, opened: &[Opened], findings: &mut Findings<'_>) -> Result<()> {
    let set_of = |place: u64| &opened[(place >> EXAMPLE_BITS) as usize];
    let number_of = |place: u64| place & ((1 << EXAMPLE_BITS) - 1);
    let read = |place: u64| {
        let mut sides = (Vec::new(), Vec::new());
        set_of(place).set.inputs.read_row(number_of(place), &mut sides.0);
        set_of(place).set.labels.read_row(number_of(place), &mut sides.1);
        sides
    };
    repeats.candidates(|places| {
        let of = |split: Split| places.iter().filter(move |&&place| set_of(place).split == split);
        for &tested in of(Split::Test) {
            let example = read(tested);
            let trained = of(Split::Train).find(|&&place| read(place) == example);
            if let Some(&trained) = trained {
                let at = At::file(&set_of(tested).set.inputs_path);
                findings.add(&OVERLAP, at.record("example", number_of(tested)), || {
                    format!("is example {} of train", number_of(trained))
                });
            }
        }
        Ok(())
    })
}

fn files(
    root: &Path,
    only: Option<&str>,
    build: &Build,
    context: &mut Context<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let claims: Vec<Claimed> = build
        .files
        .iter()
        .filter(|file| only.is_none_or(|split| file.name.starts_with(&format!("{split}/"))))
        .map(|file| Claimed {
            path: root.join(&file.name),
            bytes: file.bytes,
            sha256: file.sha256.clone(),
        })
        .collect();
    let checks = inventory::Checks { missing: &FILE, bytes: &BYTES, sha256: &SHA256 };
    inventory::compare(claims.iter(), &checks, context, findings)?;
    for split in SPLITS.into_iter().filter(|split| only.is_none_or(|only| only == split.name())) {
        let directory = root.join(split.name());
        let Ok(paths) = inventory::paths_in(&directory) else { continue };
        let of_set = |path: &&std::path::PathBuf| {
            let name = inventory::name_of(path);
            !name.starts_with('.') && (name.ends_with(".npy") || name == "dataset.json")
        };
        let unknown = |path: &&std::path::PathBuf| !claims.iter().any(|c| c.path == **path);
        for path in paths.iter().filter(of_set).filter(unknown) {
            findings.add(&BUILD_SURPLUS, At::file(path), || "is not in build.json".to_string());
        }
    }
    Ok(())
}

/// The size of all files; temporaries are told.
fn files_below(root: &Path, splits: &[Split], findings: &mut Findings<'_>) -> Result<u64> {
    let mut sum = 0;
    let below = splits.iter().map(|split| root.join(split.name()));
    for directory in std::iter::once(root.to_path_buf()).chain(below) {
        let paths = inventory::paths_in(&directory)?;
        inventory::temporaries(&paths, &TEMPORARY, findings);
        let files = paths.iter().filter(|path| !is_temporary(&inventory::name_of(path)));
        let sizes = files.filter_map(|path| fs::metadata(path).ok().filter(|m| m.is_file()));
        sum += sizes.map(|metadata| metadata.len()).sum::<u64>();
    }
    Ok(sum)
}
