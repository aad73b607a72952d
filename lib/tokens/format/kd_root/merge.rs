//! Concatenates parts: only if they belong together, are complete, and agree with their manifests.

use std::collections::BTreeSet;
use std::iter::Empty;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{io, thread};

use super::manifest::{union, union_of_known};
use super::part::{
    KdConfig, KdPart, KdSource, KdSplit, are_one_tokenizer, best_known, configs_agree,
    find_manifest, first_difference, manifest_in_root,
};
use super::{ALL, IDS, IdsFile, IdsWriter, PART_SCHEMA, find_ids, ids_beside, sink};
use crate::batch::{Counts, DroppedRecords};
use crate::cli::Slice;
use crate::error::{At, Error, Result, shown};
use crate::file_entry::FileEntry;
use crate::files;
use crate::format::hashed_file::FinishedFile;
use crate::format::mmidx::{
    AppendedDataset, Concatenation, DatasetFiles, FinishedSplit, LayoutMember, MmidxDataset,
    MmidxDtype, PrefixLayout, check_aligned, with_suffix,
};
use crate::format::unchanged::InputSnapshot;
use crate::format::{RecordCounts, checked_sum};
use crate::provenance::{BuildRun, git_sha};
use crate::publish::PendingFile;
use crate::record::tokens::Identity;
use crate::wording::exactly;

/// One prefix of the concatenation.
pub(super) struct MergeInput {
    prefix: PathBuf,
    /// The manifest of the prefix; `None` for a foreign prefix.
    manifest: Option<InputPart>,
}

/// The manifest of a prefix, and which of its splits the prefix is.
pub(super) struct InputPart {
    path: PathBuf,
    part: Arc<KdPart>,
    name: String,
    split: KdSplit,
}

impl InputPart {
    /// Takes one of the splits of the manifest at `path`.
    fn of_split(path: &Path, part: &Arc<KdPart>, name: &str) -> Result<InputPart> {
        let split = part.splits.get(name).cloned();
        let missing = || Error::data(format!("has no split {name:?}")).at(path);
        let split = split.ok_or_else(missing)?;
        Ok(InputPart {
            path: path.to_path_buf(),
            part: part.clone(),
            name: name.to_string(),
            split,
        })
    }
}

impl MergeInput {
    /// Takes a split of a shard in a root of its own.
    pub(super) fn in_root(root: &Path, part: &Arc<KdPart>, split: &str) -> Result<MergeInput> {
        let path = manifest_in_root(root, &part.name);
        let prefix = root.join(split).join(&part.name);
        Ok(MergeInput { prefix, manifest: Some(InputPart::of_split(&path, part, split)?) })
    }

    fn split(&self) -> Option<&KdSplit> {
        self.manifest.as_ref().map(|manifest| &manifest.split)
    }

    fn has_ids(&self) -> Result<bool> {
        let is_named = self.split().is_some_and(|split| split.files.sha256.contains_key(IDS));
        Ok(is_named || find_ids(&self.prefix)?.is_some())
    }

    /// Returns its ids file. An ids file that the manifest names must exist and be the one that was
    /// written.
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
        let found = FileEntry::of(&path)?;
        if named.is_some_and(|named| found.sha256.as_ref() != Some(named)) {
            return Err(Error::data("is not the one of its manifest (sha256)").at(path.as_path()));
        }
        IdsFile::open(&path).map(Some)
    }
}

/// Concatenates prefixes into `out`; returns the files in publishing order, and the part manifest.
/// Nothing is published. `foreign`: prefixes without manifests are accepted; `with_ids`: the ids of
/// the sequences are written too.
pub fn concatenate(
    prefixes: &[PathBuf],
    out: &Path,
    foreign: bool,
    with_ids: bool,
    run: BuildRun,
) -> Result<(Vec<PendingFile>, KdPart)> {
    let unchanged = InputSnapshot::of(prefixes)?;
    let ids = with_ids.then(|| ids_beside(out));
    let joined = || {
        let inputs: Result<Vec<MergeInput>> =
            prefixes.iter().map(|prefix| find(prefix, foreign)).collect();
        let inputs = inputs?;
        let base = out.parent().map(Path::to_path_buf).unwrap_or_default();
        let (files, split) = join(&inputs, out, ids.as_deref(), &base)?;
        let parts: Vec<&InputPart> =
            inputs.iter().filter_map(|input| input.manifest.as_ref()).collect();
        Ok((files, describe(&parts, out, split, run)?))
    };
    let made = unchanged.confirm(joined())?;
    unchanged.check().map(|()| made)
}

/// A split that is joined, and the dtype of its tokens.
pub(super) struct JoinedSplit {
    pub split: KdSplit,
    pub dtype: MmidxDtype,
}

/// Writes the joined datasets of the inputs, and their ids if `ids` names a file. Paths in the
/// description are relative to `base`.
pub(super) fn join(
    inputs: &[MergeInput],
    out: &Path,
    ids: Option<&Path>,
    base: &Path,
) -> Result<(Vec<PendingFile>, JoinedSplit)> {
    let parts: Vec<&InputPart> =
        inputs.iter().filter_map(|input| input.manifest.as_ref()).collect();
    check_together(&parts)?;
    // A part without rows has no files; a foreign prefix always has files.
    let filled: Vec<&MergeInput> =
        inputs.iter().filter(|input| input.split().is_none_or(|split| split.rows > 0)).collect();
    let layout = filled.first().map(|input| PrefixLayout::found(&input.prefix)).transpose()?;
    let layout = layout.flatten().unwrap_or(PrefixLayout::Triple);
    let stated = parts.first().and_then(|input| MmidxDtype::from_name(&input.part.dtype));
    let dtype = check_datasets(&filled, layout)?.or(stated).unwrap_or(MmidxDtype::Int32);
    let (finished, supervised) = write(&filled, layout, out)?;
    let ids = ids.filter(|_| !filled.is_empty());
    let ids = ids.map(|ids| join_ids(&filled, layout, ids)).transpose()?.flatten();
    let mut files = Vec::new();
    let mut split = sink::describe(finished, ids, base, &mut files)?;
    split.supervised_tokens = sink::by_span_id(&supervised);
    split.untrained_messages =
        checked_sum(inputs.iter().filter_map(|input| Some(input.split()?.untrained_messages)))
            .ok_or_else(|| Error::data("more than 2^64 messages").at(out))?;
    Ok((files, JoinedSplit { split, dtype }))
}

/// Writes the datasets side by side, and compares each with the manifests of its parts; counts the
/// supervised tokens by span id.
fn write(
    inputs: &[&MergeInput],
    layout: PrefixLayout,
    out: &Path,
) -> Result<(FinishedSplit, [u64; 256])> {
    let member = |&(suffix, name, _): &'static LayoutMember| {
        let of = |input: &&MergeInput| with_suffix(&input.prefix, suffix);
        let Some(all) = Concatenation::new(inputs.iter().map(of).collect())? else {
            return Ok(None);
        };
        let mut supervised = [0; 256];
        let path = with_suffix(out, &format!("{suffix}.bin"));
        let (bin, appended) = all.write_bin(&path, |bytes| {
            if name == "span" {
                sink::count_spans(bytes, &mut supervised);
            }
        })?;
        check_contents(inputs, name, &appended)?;
        let idx = all.write_idx(&with_suffix(out, &format!("{suffix}.idx")))?;
        let sequences: u64 = appended.iter().map(|part| part.sequences).sum();
        let values = bin.bytes / all.value_bytes();
        Ok(Some((sequences, values, DatasetFiles { name, bin, idx }, supervised)))
    };
    let mut finished = FinishedSplit { sequences: 0, values: 0, datasets: Vec::new() };
    let mut supervised = [0; 256];
    for written in side_by_side(layout.members(), member)? {
        let Some((sequences, values, dataset, counts)) = written else { continue };
        (finished.sequences, finished.values) = (sequences, values);
        supervised.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        finished.datasets.push(dataset);
    }
    Ok((finished, supervised))
}

/// Calls `each` with every item, each on a thread of its own.
fn side_by_side<T: Sync, R: Send>(
    items: &'static [T],
    each: impl Fn(&'static T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let ended = || Error::unavailable("a thread that joins has ended");
    let each = &each;
    thread::scope(|scope| {
        let spawn = |item| thread::Builder::new().spawn_scoped(scope, move || each(item));
        let threads: Vec<_> = items.iter().map(spawn).collect();
        let join = |thread: io::Result<thread::ScopedJoinHandle<'_, Result<R>>>| {
            let thread = thread.at("threads")?;
            thread.join().unwrap_or_else(|_| Err(ended()))
        };
        let done: Vec<Result<R>> = threads.into_iter().map(join).collect();
        done.into_iter().collect()
    })
}

/// Writes the ids of all inputs, if at least one has ids; inputs without ids get nulls.
fn join_ids(
    inputs: &[&MergeInput],
    layout: PrefixLayout,
    out: &Path,
) -> Result<Option<FinishedFile>> {
    let has_ids = |input: &&&MergeInput| input.has_ids();
    if files::find(&inputs.iter().collect::<Vec<_>>(), has_ids)?.is_none() {
        return Ok(None);
    }
    let files = inputs.iter().map(|input| input.ids()).collect::<Result<Vec<_>>>()?;
    let with_segments = files.iter().flatten().any(IdsFile::has_segments);
    let mut ids = IdsWriter::create(out, with_segments)?;
    let suffix = layout.members().first().map_or("", |(suffix, ..)| suffix);
    for (input, file) in inputs.iter().zip(files) {
        let tokens = MmidxDataset::open(&with_suffix(&input.prefix, suffix))?;
        let sequences = tokens.index.sequences;
        let file = file.map(|file| file.of_sequences(sequences)).transpose()?;
        let rows = file.map(|file| file.read(std::slice::from_ref(&(0..sequences))));
        let mut rows = rows.transpose()?;
        for length in tokens.lengths() {
            let length = length?;
            match &mut rows {
                Some(rows) => rows.next_of(length, |columns, row| {
                    ids.push(columns.identity(row), length, columns.segments(row))
                })??,
                None => ids.push(Identity::default(), length, None::<Empty<_>>)?,
            }
        }
    }
    ids.finish().map(Some)
}

fn find(prefix: &Path, foreign: bool) -> Result<MergeInput> {
    let manifest = match find_manifest(prefix)? {
        Some((path, name)) if !foreign => {
            Some(InputPart::of_split(&path, &Arc::new(KdPart::read(&path)?), &name)?)
        }
        None if !foreign => {
            let index = with_suffix(prefix, "_tokens.idx");
            if !files::exists(&index)? && !files::exists(&with_suffix(prefix, ".idx"))? {
                let cause = format!("is no dataset: there is no {}", shown(&index));
                return Err(Error::usage(cause).at(prefix));
            }
            return Err(Error::usage("no part manifest, so it may be unfinished")
                .at(prefix)
                .hint("--foreign for datasets of other programs"));
        }
        _ => None,
    };
    Ok(MergeInput { prefix: prefix.to_path_buf(), manifest })
}

/// Checks that the parts are of one dataset: config, split, policy and tokenizer agree, and the
/// slices are complete and in order.
fn check_together(inputs: &[&InputPart]) -> Result<()> {
    let Some(first) = inputs.first() else { return Ok(()) };
    let best = best_known(inputs.iter().map(|input| &*input.part));
    let first = inputs
        .iter()
        .find(|input| best.is_some_and(|best| std::ptr::eq(best, &*input.part)))
        .unwrap_or(first);
    for InputPart { path, part, name, .. } in inputs {
        let difference = first_difference(&[
            ("config", configs_agree(part, &first.part)),
            ("dtype", part.dtype == first.part.dtype),
            ("split", *name == first.name),
        ]);
        if let Some(what) = part.source.difference(&first.part.source).or(difference) {
            let cause = format!("its {what} is not that of {}", shown(&first.path));
            return Err(Error::data(cause).at(path.as_path()));
        }
    }
    check_slices(inputs)
}

/// Checks that parts that are slices are complete and in order.
fn check_slices(inputs: &[&InputPart]) -> Result<()> {
    let slice_of = |part: &KdPart| part.source.limits.slice.as_deref().map(str::parse::<Slice>);
    if inputs.iter().all(|input| input.part.source.limits.slice.is_none()) {
        return Ok(());
    }
    let (total, mut end) = (inputs.len(), 0);
    for (position, input) in inputs.iter().enumerate() {
        let cause = match slice_of(&input.part) {
            Some(Ok(Slice::Part { index, count }))
                if index == position as u64 && count == total as u64 =>
            {
                continue;
            }
            Some(Ok(slice @ Slice::Part { .. })) => format!(
                "is slice {slice}, in place {position} of {total}: all slices are needed, in order"
            ),
            Some(Ok(slice @ Slice::Range { start, end: next })) => {
                let is_last = position + 1 == total;
                let all = input.part.source.rows().filter(|rows| is_last && *rows > next);
                match all {
                    _ if start != end => format!(
                        "is slice {slice}, after {end}: all slices are needed, in order",
                        end = exactly(end, "row")
                    ),
                    Some(rows) => format!(
                        "is slice {slice}, the last, of {rows}",
                        rows = exactly(rows, "row")
                    ),
                    None => {
                        end = next;
                        continue;
                    }
                }
            }
            Some(Err(cause)) => format!("its slice: {cause}"),
            None => "is not a slice, others are".to_string(),
        };
        return Err(Error::data(cause).at(input.path.as_path()));
    }
    Ok(())
}

/// Checks that the datasets of each input are aligned. Returns the dtype of the tokens.
fn check_datasets(inputs: &[&MergeInput], layout: PrefixLayout) -> Result<Option<MmidxDtype>> {
    let mut dtype = None;
    for input in inputs {
        let datasets = layout.open(&input.prefix)?;
        check_aligned(&datasets)?;
        dtype = dtype.or(datasets.first().map(|tokens| tokens.index.dtype));
    }
    Ok(dtype)
}

/// Checks the bytes that were read against the part manifests.
fn check_contents(inputs: &[&MergeInput], name: &str, appended: &[AppendedDataset]) -> Result<()> {
    for (input, appended) in inputs.iter().zip(appended) {
        let Some(split) = input.split() else { continue };
        let key = format!("{name}_bin");
        let (rows, bytes) = (appended.sequences, appended.bin_bytes);
        let cause = if split.rows != rows {
            format!(
                "has {rows}; its manifest says {}",
                split.rows,
                rows = exactly(rows, "sequence")
            )
        } else if split.files.bytes.get(&key) != Some(&bytes) {
            format!(
                "its {name}.bin has {bytes}; its manifest says otherwise",
                bytes = exactly(bytes, "byte")
            )
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
    JoinedSplit { split, dtype }: JoinedSplit,
    run: BuildRun,
) -> Result<KdPart> {
    let parts = || inputs.iter().map(|input| &*input.part);
    let config = KdConfig::of_all(parts());
    let source = joined_source(parts());
    let provenance = union(parts().map(|part| &part.provenance));
    let rows = split.rows;
    let records = match inputs {
        // What other programs have read is not known.
        [] => Some(RecordCounts::written(rows, Counts::new(rows, DroppedRecords::UNKNOWN))),
        _ => RecordCounts::sum(inputs.iter().map(|input| input.part.records_of(&input.name))),
    };
    let overflow = || Error::data("the records of its parts are more than 2^64").at(out);
    let records = records.ok_or_else(overflow)?;
    Ok(KdPart {
        schema_version: PART_SCHEMA.to_string(),
        name: out.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned()),
        git_sha: git_sha(),
        config_hash: config.as_ref().map(KdConfig::known_sha256).transpose()?.flatten(),
        config,
        dtype: dtype.name().to_string(),
        source,
        tokenizer_files: None,
        records,
        splits: [(ALL.to_string(), split)].into(),
        provenance,
        made: None,
        run,
    })
}

/// Returns the source of all parts together: the values that all parts share, and all inputs.
pub(super) fn joined_source<'a>(parts: impl Iterator<Item = &'a KdPart> + Clone) -> KdSource {
    let Some(KdPart { source: first, .. }) = parts.clone().next() else {
        return KdSource::default();
    };
    let mut source = first.clone();
    // All slices together are not a slice; limits of rows or tokens stay only if all parts share
    // them.
    source.limits.slice = None;
    let shards = parts.clone().filter_map(|part| part.source.limits.shard.as_deref());
    let shards: BTreeSet<&str> = shards.collect();
    let list = shards.into_iter().collect::<Vec<_>>().join(", ");
    source.limits.shard = (!list.is_empty()).then_some(list);
    let limits = |part: &KdPart| (part.source.limits.rows, part.source.limits.tokens);
    if !parts.clone().all(|part| limits(part) == (source.limits.rows, source.limits.tokens)) {
        (source.limits.rows, source.limits.tokens) = (None, None);
    }
    source.inputs = union_of_known(parts.clone().map(|part| &part.source.inputs));
    for KdPart { source: other, .. } in parts {
        source.manifest = source.manifest.filter(|own| other.manifest.as_ref() == Some(own));
        source.policy = source.policy.filter(|own| other.policy.as_ref() == Some(own));
        let is_one = are_one_tokenizer(&source.tokenizer, &other.tokenizer);
        source.tokenizer = source.tokenizer.filter(|_| is_one);
        source.spans = source.spans.filter(|own| other.spans.as_ref() == Some(own));
        source.id_field = source.id_field.filter(|own| other.id_field.as_ref() == Some(own));
    }
    source
}
