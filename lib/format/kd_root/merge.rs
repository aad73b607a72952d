//! Concatenates parts: only if they belong together, are complete, and agree with their manifests.

use std::path::{Path, PathBuf};

use super::manifest::add_new;
use super::part::{BuildRun, KdPart, KdSource, KdSplit, find_manifest, first_difference};
use super::{ALL, IDS, IdsFile, IdsWriter, PART_SCHEMA, find_ids, ids_beside, sink};
use crate::cli::{PendingFile, Slice};
use crate::digest::sha256_of;
use crate::error::{Error, Result, shown};
use crate::files;
use crate::format::RecordCounts;
use crate::format::mmidx::{
    Appended, Concatenation, DatasetFiles, FinishedFile, FinishedSplit, MmidxDataset, PrefixLayout,
    check_aligned, with_suffix,
};
use crate::format::unchanged::Unchanged;
use crate::record::tokens::Identity;

/// One prefix of the concatenation.
struct MergeInput {
    prefix: PathBuf,
    /// Its manifest; none for a foreign prefix.
    manifest: Option<InputPart>,
}

/// The manifest of a prefix, and the split that the prefix is.
struct InputPart {
    path: PathBuf,
    part: KdPart,
    name: String,
    split: KdSplit,
}

impl MergeInput {
    fn split(&self) -> Option<&KdSplit> {
        self.manifest.as_ref().map(|manifest| &manifest.split)
    }

    /// Its ids file; one that its manifest names must be there, and be that one.
    fn ids(&self) -> Result<Option<IdsFile>> {
        let named = self.split().and_then(|split| split.files.sha256.get(IDS));
        let path = match (find_ids(&self.prefix)?, named) {
            (Some(path), _) => path,
            (None, None) => return Ok(None),
            (None, Some(_)) => {
                let cause = "its ids file is missing; its manifest names one";
                return Err(Error::data(cause).at(self.prefix.as_path()));
            }
        };
        let content = files::open_member(&path).and_then(sha256_of);
        let (_, sha256) = content.map_err(|e| Error::io(shown(&path), &e))?;
        if named.is_some_and(|named| *named != sha256) {
            return Err(Error::data("is not the one of its manifest (sha256)").at(path.as_path()));
        }
        IdsFile::open(&path).map(Some)
    }
}

/// Concatenates prefixes into `out`: the files in publishing order, and the part manifest. Nothing
/// is published. `foreign`: prefixes without manifests are taken as they are; `with_ids`: the ids
/// of their sequences come along.
pub fn concatenate(
    prefixes: &[PathBuf],
    out: &Path,
    (foreign, with_ids): (bool, bool),
    run: BuildRun,
) -> Result<(Vec<PendingFile>, KdPart)> {
    if prefixes.iter().any(|prefix| same_place(prefix, out)) {
        return Err(Error::usage("is one of the inputs").at(out));
    }
    let unchanged = Unchanged::of(prefixes)?;
    let made = unchanged.confirm(join(prefixes, out, (foreign, with_ids), run))?;
    unchanged.check().map(|()| made)
}

fn join(
    prefixes: &[PathBuf],
    out: &Path,
    (foreign, with_ids): (bool, bool),
    run: BuildRun,
) -> Result<(Vec<PendingFile>, KdPart)> {
    let inputs: Result<Vec<MergeInput>> =
        prefixes.iter().map(|prefix| find(prefix, foreign)).collect();
    let inputs = inputs?;
    let parts: Vec<&InputPart> =
        inputs.iter().filter_map(|input| input.manifest.as_ref()).collect();
    check_together(&parts)?;
    // A part without rows has no files; a foreign prefix always has.
    let filled: Vec<&MergeInput> =
        inputs.iter().filter(|input| input.split().is_none_or(|split| split.rows > 0)).collect();
    let layout = filled.first().map(|input| PrefixLayout::found(&input.prefix)).transpose()?;
    let layout = layout.flatten().unwrap_or(PrefixLayout::Triple);
    let datasets = open(&filled, layout)?;
    let (finished, supervised) = write(&filled, &datasets, layout, out)?;
    let ids = match (with_ids, datasets.first()) {
        (true, Some(tokens)) => join_ids(&filled, tokens, out)?,
        _ => None,
    };
    let dtype =
        datasets.first().and_then(|parts| parts.first()).map(|part| part.index.dtype.name());
    let base = out.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut files = Vec::new();
    let mut split = sink::describe(finished, ids, &base, &mut files)?;
    split.supervised_tokens = sink::by_span_id(&supervised);
    let part = describe(&parts, out, split, dtype.unwrap_or("int32"), run)?;
    Ok((files, part))
}

/// Writes the datasets one after another, each checked against the manifests of its parts; counts
/// the supervised tokens by span id.
fn write(
    inputs: &[&MergeInput],
    datasets: &[Vec<MmidxDataset>],
    layout: PrefixLayout,
    out: &Path,
) -> Result<(FinishedSplit, [u64; 256])> {
    let mut finished = FinishedSplit { sequences: 0, values: 0, datasets: Vec::new() };
    let mut supervised = [0; 256];
    for ((suffix, name, _), parts) in layout.members().iter().zip(datasets) {
        let Some(concatenation) = Concatenation::new(parts)? else { continue };
        let path = with_suffix(out, &format!("{suffix}.bin"));
        let (bin, appended) = concatenation.write_bin(&path, |bytes| {
            if *name == "span" {
                sink::count(bytes, &mut supervised);
            }
        })?;
        check_contents(inputs, name, &appended)?;
        let idx = concatenation.write_idx(&with_suffix(out, &format!("{suffix}.idx")))?;
        finished.sequences = appended.iter().map(|part| part.sequences).sum();
        finished.values = bin.bytes / parts[0].index.dtype.size() as u64;
        finished.datasets.push(DatasetFiles { name, bin, idx });
    }
    Ok((finished, supervised))
}

/// Writes the ids of all inputs, if one has any: nulls for those that have none.
fn join_ids(
    inputs: &[&MergeInput],
    tokens: &[MmidxDataset],
    out: &Path,
) -> Result<Option<FinishedFile>> {
    let found: Result<Vec<Option<IdsFile>>> = inputs.iter().map(|input| input.ids()).collect();
    let found = found?;
    if found.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut ids = IdsWriter::create(&ids_beside(out))?;
    for (file, tokens) in found.into_iter().zip(tokens) {
        let sequences = tokens.index.sequences;
        let file = file.map(|file| file.of_sequences(sequences)).transpose()?;
        let mut rows =
            file.map(|file| file.read(std::slice::from_ref(&(0..sequences)))).transpose()?;
        for length in tokens.lengths() {
            let length = length?;
            match &mut rows {
                Some(rows) => rows.next_of(length, |identity| ids.push(identity, length))??,
                None => ids.push(Identity::default(), length)?,
            }
        }
    }
    ids.finish().map(Some)
}

fn same_place(a: &Path, b: &Path) -> bool {
    let resolved = |path: &Path| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(parent.join(path.file_name()?))
    };
    resolved(a).is_some_and(|a| Some(a) == resolved(b))
}

fn find(prefix: &Path, foreign: bool) -> Result<MergeInput> {
    let manifest = match find_manifest(prefix)? {
        Some((path, name)) if !foreign => {
            let part = KdPart::read(&path)?;
            let split = part.splits.get(&name).cloned();
            let missing = || Error::data(format!("has no split {name:?}")).at(path.as_path());
            let split = split.ok_or_else(missing)?;
            Some(InputPart { path, part, name, split })
        }
        None if !foreign => {
            return Err(Error::usage("no part manifest, so it may be unfinished")
                .at(prefix)
                .hint("--foreign for datasets of other programs"));
        }
        _ => None,
    };
    Ok(MergeInput { prefix: prefix.to_path_buf(), manifest })
}

/// Checks that the parts are of one dataset: config, split, policy, tokenizer agree, and slices are
/// all there, in order.
fn check_together(inputs: &[&InputPart]) -> Result<()> {
    let Some(first) = inputs.first() else { return Ok(()) };
    for InputPart { path, part, name, .. } in inputs {
        let difference = first_difference(&[
            ("config", part.config_hash == first.part.config_hash),
            ("dtype", part.dtype == first.part.dtype),
            ("split", *name == first.name),
            ("policy", part.source.policy == first.part.source.policy),
            ("tokenizer", part.source.tokenizer == first.part.source.tokenizer),
        ]);
        if let Some(what) = difference {
            let cause = format!("its {what} is not that of {}", shown(&first.path));
            return Err(Error::data(cause).at(path.as_path()));
        }
    }
    check_slices(inputs)
}

fn check_slices(inputs: &[&InputPart]) -> Result<()> {
    let slice_of = |part: &KdPart| part.source.limits.slice.as_deref().map(str::parse::<Slice>);
    if inputs.iter().all(|input| input.part.source.limits.slice.is_none()) {
        return Ok(());
    }
    for (position, input) in inputs.iter().enumerate() {
        let total = inputs.len();
        let cause = match slice_of(&input.part) {
            Some(Ok(slice)) if slice.index == position as u64 && slice.count == total as u64 => {
                continue;
            }
            Some(Ok(slice)) => format!(
                "is slice {slice}, in place {position} of {total}: all slices are needed, in order"
            ),
            Some(Err(cause)) => format!("its slice: {cause}"),
            None => "is not a slice, others are".to_string(),
        };
        return Err(Error::data(cause).at(input.path.as_path()));
    }
    Ok(())
}

/// The datasets of each member, each triple aligned.
fn open(inputs: &[&MergeInput], layout: PrefixLayout) -> Result<Vec<Vec<MmidxDataset>>> {
    let mut members: Vec<Vec<MmidxDataset>> = layout.members().iter().map(|_| Vec::new()).collect();
    for input in inputs {
        let datasets = layout.open(&input.prefix)?;
        check_aligned(&datasets)?;
        members.iter_mut().zip(datasets).for_each(|(member, dataset)| member.push(dataset));
    }
    Ok(members)
}

/// Checks that what was read is what the part manifests say was written.
fn check_contents(inputs: &[&MergeInput], name: &str, appended: &[Appended]) -> Result<()> {
    for (input, appended) in inputs.iter().zip(appended) {
        let Some(split) = input.split() else { continue };
        let key = format!("{name}_bin");
        let (rows, bytes) = (appended.sequences, appended.bin_bytes);
        let cause = if split.rows != rows {
            format!("has {rows} sequences; its manifest says {}", split.rows)
        } else if split.files.bytes.get(&key) != Some(&bytes) {
            format!("its {name}.bin has {bytes} bytes; its manifest says otherwise")
        } else if split.files.sha256.get(&key) != Some(&appended.bin_sha256) {
            format!("its {name}.bin is not the one of its manifest (sha256)")
        } else {
            continue;
        };
        return Err(Error::data(cause).at(input.prefix.as_path()));
    }
    Ok(())
}

fn describe(
    inputs: &[&InputPart],
    out: &Path,
    split: KdSplit,
    dtype: &str,
    run: BuildRun,
) -> Result<KdPart> {
    let parts = || inputs.iter().map(|input| &input.part);
    let first = parts().next();
    let mut source = first.map_or(KdSource::default(), |part| part.source.clone());
    // All slices together are not a slice; limits of rows or tokens stay only if all share them.
    source.limits.slice = None;
    let limits = |part: &KdPart| (part.source.limits.rows, part.source.limits.tokens);
    if !parts().all(|part| limits(part) == (source.limits.rows, source.limits.tokens)) {
        (source.limits.rows, source.limits.tokens) = (None, None);
    }
    let mut provenance = Vec::new();
    for part in parts() {
        add_new(&mut source.inputs, &part.source.inputs);
        add_new(&mut provenance, &part.provenance);
    }
    let rows = split.rows;
    let records = match inputs {
        [] => Some(RecordCounts { read: rows, written: rows, rejected: 0 }),
        _ => RecordCounts::sum(inputs.iter().map(|input| input.part.records_of(&input.name))),
    };
    let overflow = || Error::data("the records of its parts are more than 2^64").at(out);
    let records = records.ok_or_else(overflow)?;
    Ok(KdPart {
        schema_version: PART_SCHEMA.to_string(),
        name: out.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned()),
        git_sha: super::git_sha(),
        config: first.and_then(|part| part.config.clone()),
        config_hash: first.and_then(|part| part.config_hash.clone()),
        dtype: dtype.to_string(),
        source,
        records,
        splits: [(ALL.to_string(), split)].into(),
        provenance,
        run,
    })
}
