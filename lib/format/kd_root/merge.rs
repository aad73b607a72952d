//! Concatenating parts: only what belongs together, whole, and as its manifest says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::part::{Part, Records, Run, Source, Split, find_manifest};
use super::{ALL, PART_SCHEMA, sink};
use crate::cli::{Error, PendingFile, Result, Slice, shown};
use crate::format::mmidx::{
    Appended, Concatenation, Dataset, DatasetFiles, FinishedSplit, Layout, with_suffix,
};

/// One prefix of the concatenation.
struct Input {
    prefix: PathBuf,
    /// Its manifest and the split that it is; none for a foreign prefix.
    manifest: Option<(PathBuf, Part, String)>,
}

impl Input {
    fn split(&self) -> Option<&Split> {
        self.manifest.as_ref().and_then(|(_, part, split)| part.splits.get(split))
    }
}

/// Concatenates prefixes into `out`: the files in publishing order, and the part manifest. Nothing
/// is published. `foreign`: prefixes without manifests are taken as they are.
pub fn concatenate(
    prefixes: &[PathBuf],
    out: &Path,
    foreign: bool,
    run: Run,
) -> Result<(Vec<PendingFile>, Part)> {
    if prefixes.iter().any(|prefix| same_place(prefix, out)) {
        return Err(Error::usage(format!("{}: is one of the inputs", shown(out))));
    }
    let inputs: Result<Vec<Input>> = prefixes.iter().map(|prefix| find(prefix, foreign)).collect();
    let inputs = inputs?;
    check_together(&inputs)?;
    // A part without rows has no files; a foreign prefix always has.
    let filled: Vec<&Input> =
        inputs.iter().filter(|input| input.split().is_none_or(|split| split.rows > 0)).collect();
    let layout = filled.first().and_then(|input| Layout::found(&input.prefix));
    let layout = layout.unwrap_or(Layout::Triple);
    let datasets = open(&filled, layout)?;
    let mut finished = FinishedSplit { sequences: 0, values: 0, datasets: Vec::new() };
    for ((suffix, name, _), parts) in layout.members().iter().zip(&datasets) {
        let Some(concatenation) = Concatenation::new(parts)? else { continue };
        let (bin, appended) =
            concatenation.write_bin(&with_suffix(out, &format!("{suffix}.bin")))?;
        check_contents(&filled, name, &appended)?;
        let idx = concatenation.write_idx(&with_suffix(out, &format!("{suffix}.idx")))?;
        finished.sequences = appended.iter().map(|part| part.sequences).sum();
        finished.values = bin.bytes / parts[0].index.dtype.size() as u64;
        finished.datasets.push(DatasetFiles { name, bin, idx });
    }
    let dtype =
        datasets.first().and_then(|parts| parts.first()).map(|part| part.index.dtype.name());
    let base = out.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut files = Vec::new();
    let mut split = sink::describe(finished, &base, &mut files)?;
    for (span, count) in inputs.iter().filter_map(Input::split).flat_map(|s| &s.supervised_tokens) {
        *split.supervised_tokens.entry(span.clone()).or_default() += count;
    }
    let part = describe(&inputs, out, split, dtype.unwrap_or("int32"), run);
    Ok((files, part))
}

fn same_place(a: &Path, b: &Path) -> bool {
    let resolved = |path: &Path| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(parent.join(path.file_name()?))
    };
    resolved(a).is_some_and(|a| Some(a) == resolved(b))
}

fn find(prefix: &Path, foreign: bool) -> Result<Input> {
    let manifest = match find_manifest(prefix) {
        Some((path, split)) if !foreign => {
            let part = Part::read(&path)?;
            if !part.splits.contains_key(&split) {
                return Err(Error::data(format!("{}: has no split {split:?}", shown(&path))));
            }
            Some((path, part, split))
        }
        None if !foreign => {
            return Err(Error::usage(format!(
                "{}: no part manifest, so it may be unfinished; try: --foreign for datasets of \
                 other programs",
                shown(prefix)
            )));
        }
        _ => None,
    };
    Ok(Input { prefix: prefix.to_path_buf(), manifest })
}

/// Parts of one dataset: config, split, policy, tokenizer agree, and of slices all are there, in
/// order.
fn check_together(inputs: &[Input]) -> Result<()> {
    let described: Vec<(&Path, &Part, &String)> = inputs
        .iter()
        .filter_map(|input| input.manifest.as_ref())
        .map(|(path, part, split)| (path.as_path(), part, split))
        .collect();
    let Some((first_path, first, first_split)) = described.first() else { return Ok(()) };
    for (path, part, split) in &described {
        let same = [
            ("config", part.config_hash == first.config_hash),
            ("dtype", part.dtype == first.dtype),
            ("split", split == first_split),
            ("policy", part.source.policy == first.source.policy),
            ("tokenizer", part.source.tokenizer == first.source.tokenizer),
        ];
        if let Some((what, _)) = same.iter().find(|(_, same)| !same) {
            let (path, first) = (shown(path), shown(first_path));
            return Err(Error::data(format!("{path}: its {what} is not that of {first}")));
        }
    }
    check_slices(&described)
}

fn check_slices(described: &[(&Path, &Part, &String)]) -> Result<()> {
    let slice_of = |part: &Part| part.source.limits.slice.as_deref().map(str::parse::<Slice>);
    if described.iter().all(|(_, part, _)| part.source.limits.slice.is_none()) {
        return Ok(());
    }
    for (position, (path, part, _)) in described.iter().enumerate() {
        let bad = |cause: String| Err(Error::data(format!("{}: {cause}", shown(path))));
        let total = described.len();
        match slice_of(part) {
            Some(Ok(slice)) if slice.index == position as u64 && slice.count == total as u64 => {}
            Some(Ok(slice)) => {
                return bad(format!(
                    "is slice {slice}, in place {position} of {total}: all slices are wanted, in order"
                ));
            }
            Some(Err(cause)) => return bad(format!("its slice: {cause}")),
            None => return bad("is no slice, others are".to_string()),
        }
    }
    Ok(())
}

/// The datasets of each member, each triple aligned.
fn open(inputs: &[&Input], layout: Layout) -> Result<Vec<Vec<Dataset>>> {
    let mut members: Vec<Vec<Dataset>> = layout.members().iter().map(|_| Vec::new()).collect();
    for input in inputs {
        for ((suffix, _, dtype), member) in layout.members().iter().zip(&mut members) {
            let dataset = Dataset::open(&with_suffix(&input.prefix, suffix))?;
            if let Some(dtype) = dtype.filter(|dtype| *dtype != dataset.index.dtype) {
                return Err(Error::data(format!(
                    "{}: is {}, not {}",
                    shown(dataset.idx_path()),
                    dataset.index.dtype.name(),
                    dtype.name()
                )));
            }
            member.push(dataset);
        }
        let opened: Vec<&Dataset> = members.iter().filter_map(|member| member.last()).collect();
        if let [first, others @ ..] = opened.as_slice() {
            others.iter().try_for_each(|other| check_aligned(first, other))?;
        }
    }
    Ok(members)
}

/// Every length and document index of two datasets agree.
pub fn check_aligned(a: &Dataset, b: &Dataset) -> Result<()> {
    let differ = |what: String| {
        Err(Error::data(format!(
            "{}: {what} not that of {}",
            shown(b.idx_path()),
            shown(a.idx_path())
        )))
    };
    if a.index.sequences != b.index.sequences {
        return differ(format!("number of sequences, {}, is", b.index.sequences));
    }
    if a.index.document_indices != b.index.document_indices {
        return differ(format!("number of documents, {}, is", b.index.document_indices));
    }
    for (number, (x, y)) in a.index.lengths().zip(b.index.lengths()).enumerate() {
        let (x, y) = (x.map_err(|e| a.index_error(e))?, y.map_err(|e| b.index_error(e))?);
        if x != y {
            return differ(format!("the length of sequence {number}, {y}, is"));
        }
    }
    for (number, (x, y)) in a.index.documents().zip(b.index.documents()).enumerate() {
        let (x, y) = (x.map_err(|e| a.index_error(e))?, y.map_err(|e| b.index_error(e))?);
        if x != y {
            return differ(format!("document index {number}, {y}, is"));
        }
    }
    Ok(())
}

/// What was read is what the part manifests say was written.
fn check_contents(inputs: &[&Input], name: &str, appended: &[Appended]) -> Result<()> {
    for (input, appended) in inputs.iter().zip(appended) {
        let Some(split) = input.split() else { continue };
        let key = format!("{name}_bin");
        let bad = |cause: String| Err(Error::data(format!("{}: {cause}", shown(&input.prefix))));
        if split.rows != appended.sequences {
            let rows = appended.sequences;
            return bad(format!("has {rows} sequences; its manifest says {}", split.rows));
        }
        if split.bytes.get(&key) != Some(&appended.bin_bytes) {
            return bad(format!(
                "its {name}.bin has {} bytes; its manifest says otherwise",
                appended.bin_bytes
            ));
        }
        if split.sha256.get(&key) != Some(&appended.bin_sha256) {
            return bad(format!("its {name}.bin is not the one of its manifest (sha256)"));
        }
    }
    Ok(())
}

fn describe(inputs: &[Input], out: &Path, split: Split, dtype: &str, run: Run) -> Part {
    let parts: Vec<&Part> = inputs
        .iter()
        .filter_map(|input| input.manifest.as_ref())
        .map(|(_, part, _)| part)
        .collect();
    let mut source = parts.first().map(|part| part.source.clone()).unwrap_or_default();
    // All slices together are no slice; limits of rows or tokens stay only where all share them.
    source.limits.slice = None;
    let limits = |part: &&Part| (part.source.limits.rows, part.source.limits.tokens);
    if !parts.iter().all(|part| limits(part) == (source.limits.rows, source.limits.tokens)) {
        (source.limits.rows, source.limits.tokens) = (None, None);
    }
    let mut provenance = Vec::new();
    for part in &parts {
        for input in &part.source.inputs {
            if !source.inputs.contains(input) {
                source.inputs.push(input.clone());
            }
        }
        for entry in &part.provenance {
            if !provenance.contains(entry) {
                provenance.push(entry.clone());
            }
        }
    }
    let sum = |of: fn(&Records) -> u64| parts.iter().map(|part| of(&part.records)).sum::<u64>();
    let rows = split.rows;
    let records = match parts.is_empty() {
        true => Records { read: rows, written: rows, rejected: 0 },
        // What a part read and rejected is told for all of its splits together.
        false => Records { read: sum(|r| r.read), written: rows, rejected: sum(|r| r.rejected) },
    };
    Part {
        schema_version: PART_SCHEMA.to_string(),
        name: out.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned()),
        git_sha: super::git_sha(),
        config: parts.first().and_then(|part| part.config.clone()),
        config_hash: parts.first().and_then(|part| part.config_hash.clone()),
        dtype: dtype.to_string(),
        source: Source { ..source },
        records,
        splits: BTreeMap::from([(ALL.to_string(), split)]),
        provenance,
        run,
    }
}
