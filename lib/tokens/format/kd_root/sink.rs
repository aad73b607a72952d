//! Writing masked sequences: checks each row, sends it to its split, and publishes everything
//! together, the part manifest last.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_buffer::ToByteSlice;
use byteorder::{ByteOrder, LittleEndian};

use super::caches::caches_of;
use super::manifest::is_root_manifest;
use super::{
    ALL, FORMAT, IDS, IdsWriter, KdSplit, MANIFEST, ValidFraction, ids_beside, ids_in_root,
};
use crate::error::{Error, Result};
use crate::format::hashed_file::FinishedFile;
use crate::format::mmidx::{FinishedSplit, MmidxDtype, PrefixLayout, SplitWriter};
use crate::format::refuse_other_formats;
use crate::harmony::is_unsupervised;
use crate::model::Vocabulary;
use crate::publish::{PendingFile, StandingFiles, Target, directory_of, is_there};
use crate::record::tokens::Tokens;
use crate::wording::exactly;

/// Why a sequence without masks is refused: span-mask makes them.
pub const NO_MASKS: &str = "no masks";

/// The dataset to which sequences are written.
#[derive(Debug, Clone)]
pub enum KdTarget {
    /// `ROOT/{train,valid}/NAME_...`: the hash of the id decides the split.
    Root { root: PathBuf, name: String, valid_fraction: ValidFraction },
    /// `PREFIX_...`: all sequences.
    Prefix(PathBuf),
}

impl KdTarget {
    /// Returns the name and the prefix of each split.
    fn splits(&self) -> Vec<(&'static str, PathBuf)> {
        match self {
            KdTarget::Root { root, name, .. } => super::SPLITS
                .into_iter()
                .map(|split| (split, root.join(split).join(name)))
                .collect(),
            KdTarget::Prefix(prefix) => vec![(ALL, prefix.clone())],
        }
    }

    /// Returns the root to which paths in the part manifest are relative, if there is one.
    pub fn root(&self) -> &Path {
        match self {
            KdTarget::Root { root, .. } => root,
            KdTarget::Prefix(_) => Path::new(""),
        }
    }

    /// Returns the path of the part manifest.
    pub fn manifest(&self) -> PathBuf {
        match self {
            KdTarget::Root { root, name, .. } => super::manifest_in_root(root, name),
            KdTarget::Prefix(prefix) => super::manifest_beside(prefix),
        }
    }

    /// Returns the name of the part.
    pub fn name(&self) -> String {
        match self {
            KdTarget::Root { name, .. } => name.clone(),
            KdTarget::Prefix(prefix) => {
                prefix.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
            }
        }
    }

    pub fn valid_fraction(&self) -> Option<&ValidFraction> {
        match self {
            KdTarget::Root { valid_fraction, .. } => Some(valid_fraction),
            KdTarget::Prefix(_) => None,
        }
    }

    /// Returns the path of the ids of a split.
    pub(super) fn ids(&self, split: &str) -> PathBuf {
        match self {
            KdTarget::Root { root, name, .. } => ids_in_root(root, split, name),
            KdTarget::Prefix(prefix) => ids_beside(prefix),
        }
    }

    /// Returns every file that a run may write, in the order in which they are published.
    fn files(&self) -> Vec<PathBuf> {
        let of_split = |(split, prefix): &(&str, PathBuf)| {
            let layouts = [PrefixLayout::Triple, PrefixLayout::Single];
            let mut files = layouts.map(|layout| layout.files(prefix)).concat();
            files.push(self.ids(split));
            files
        };
        let mut files: Vec<PathBuf> = self.splits().iter().flat_map(of_split).collect();
        files.push(self.manifest());
        files
    }

    /// Returns the root whose manifest describes the output.
    pub(super) fn above(&self) -> Option<PathBuf> {
        match self {
            KdTarget::Root { root, .. } => Some(root.clone()),
            KdTarget::Prefix(prefix) => {
                let directory = directory_of(prefix);
                let name = directory.file_name()?;
                super::SPLITS.iter().any(|split| name == *split).then(|| directory_of(&directory))
            }
        }
    }
}

impl Target for KdTarget {
    /// Returns the root; its manifest is made under the same lock.
    fn directory(&self) -> PathBuf {
        match self {
            KdTarget::Root { root, .. } => root.clone(),
            KdTarget::Prefix(prefix) => self.above().unwrap_or_else(|| directory_of(prefix)),
        }
    }

    fn manifest(&self) -> PathBuf {
        KdTarget::manifest(self)
    }

    fn standing(&self) -> Result<StandingFiles> {
        let directories = match self {
            KdTarget::Root { root, .. } => {
                ["", "train", "valid"].map(|place| root.join(place)).to_vec()
            }
            KdTarget::Prefix(prefix) => vec![directory_of(prefix)],
        };
        for directory in &directories {
            refuse_other_formats(directory, FORMAT.name)?;
        }
        let mut standing = StandingFiles::default();
        for path in self.files() {
            if is_there(&path)? {
                standing.files.push(path);
            }
        }
        let root = self.above().map(|root| root.join(MANIFEST));
        if let Some(manifest) = root
            && is_there(&manifest)?
            && (matches!(self, KdTarget::Root { .. }) || is_root_manifest(&manifest)?)
        {
            standing.dependents.push(manifest);
        }
        for (_, prefix) in self.splits() {
            standing.dependents.extend(caches_of(&prefix)?);
        }
        Ok(standing)
    }

    fn is_index(&self, path: &Path) -> bool {
        path.extension().is_some_and(|ending| ending == "idx")
    }
}

/// Writes the sequences of one part.
pub struct KdSink {
    layout: PrefixLayout,
    dtype: MmidxDtype,
    valid_fraction: Option<ValidFraction>,
    outputs: Vec<SplitOutput>,
    /// How many of the written sequences have masks in which nothing is supervised.
    unsupervised: u64,
    /// What the tokens are of.
    vocabulary: Vocabulary,
    bytes: Vec<u8>,
}

/// What a row must satisfy beyond what the format requires; returns the cause if it does not.
pub type RowRule = Box<dyn FnMut(&Tokens<'_>, usize) -> Result<(), String>>;

struct SplitOutput {
    split: &'static str,
    writer: SplitWriter,
    /// The path of the ids; `None` if they are left out.
    ids_path: Option<PathBuf>,
    /// Created with the first sequence.
    ids: Option<IdsWriter>,
    /// Whether the messages stand beside the ids: only the tokens of o200k show them.
    with_segments: bool,
    /// Supervised tokens by span id.
    supervised: [u64; 256],
    /// Messages that are not trained on because of their weights.
    untrained: u64,
}

impl KdSink {
    /// `dtype` is the type of the tokens (int32 or uint16). `ids`: whether the ids are
    /// written too.
    pub fn new(
        target: &KdTarget,
        layout: PrefixLayout,
        dtype: MmidxDtype,
        ids: bool,
        vocabulary: Vocabulary,
    ) -> KdSink {
        let output = |(split, prefix): (&'static str, PathBuf)| SplitOutput {
            split,
            writer: SplitWriter::new(&prefix, layout, dtype),
            ids_path: ids.then(|| target.ids(split)),
            ids: None,
            with_segments: !vocabulary.is_o200k(),
            supervised: [0; 256],
            untrained: 0,
        };
        KdSink {
            layout,
            dtype,
            vocabulary,
            valid_fraction: target.valid_fraction().copied(),
            outputs: target.splits().into_iter().map(output).collect(),
            unsupervised: 0,
            bytes: Vec::new(),
        }
    }

    /// Returns how many sequences with masks so far have nothing supervised.
    pub fn unsupervised(&self) -> u64 {
        self.unsupervised
    }

    /// Writes the valid rows of a batch; calls `refuse` with the cause for each other row. Returns
    /// the number of rows written.
    pub fn write(
        &mut self,
        view: &Tokens<'_>,
        rule: &mut Option<RowRule>,
        mut refuse: impl FnMut(usize, String),
    ) -> Result<u64> {
        let mut written = 0;
        // Consecutive rows of one split are written at once.
        let mut run = RowRun { output: 0, rows: 0..0 };
        for row in 0..view.len() {
            let is_as_ruled = |()| rule.as_mut().map_or(Ok(()), |rule| rule(view, row));
            if let Err(cause) = self.check(view, row).and_then(is_as_ruled) {
                refuse(row, cause);
                continue;
            }
            written += 1;
            let mask = view.loss_mask(row).filter(|_| self.layout == PrefixLayout::Triple);
            self.unsupervised += u64::from(mask.is_some_and(is_unsupervised));
            let output = usize::from(match (&self.valid_fraction, view.id(row)) {
                (Some(fraction), Some(id)) => fraction.is_valid(id),
                _ => false,
            });
            if run.rows.end != row || run.output != output {
                self.push(view, &run)?;
                run = RowRun { output, rows: row..row };
            }
            run.rows.end = row + 1;
        }
        self.push(view, &run)?;
        Ok(written)
    }

    /// Checks whether a row may be written; the error is the cause.
    fn check(&self, view: &Tokens<'_>, row: usize) -> Result<(), String> {
        let tokens = view.tokens(row);
        if tokens.is_empty() {
            return Err("no tokens".to_string());
        }
        if self.valid_fraction.is_some() && view.id(row).is_none() {
            return Err("the id is missing or null; the split needs it".to_string());
        }
        let of_vocabulary = self.vocabulary.size().unwrap_or(i32::MAX);
        let limit = match self.dtype {
            MmidxDtype::UInt16 if self.vocabulary.is_o200k() => 1 << 16,
            MmidxDtype::UInt16 => of_vocabulary.min(1 << 16),
            _ => of_vocabulary,
        };
        // As unsigned numbers, negative ids are over every limit.
        let beyond = |token: &i32| *token as u32 >= limit as u32;
        if any(tokens, beyond)
            && let Some(at) = tokens.iter().position(beyond)
        {
            return Err(format!("token {} at {at} is not in [0, {limit})", tokens[at]));
        }
        if self.layout == PrefixLayout::Single {
            return Ok(());
        }
        let (Some(mask), Some(span)) = (view.loss_mask(row), view.span_id(row)) else {
            return Err(NO_MASKS.to_string());
        };
        if mask.len() != tokens.len() || span.len() != tokens.len() {
            return Err(format!(
                "{}, but {} in loss_mask and {} in span_id",
                exactly(tokens.len(), "token"),
                mask.len(),
                span.len()
            ));
        }
        let differs = |at: &usize| mask[*at] != u8::from(span[*at] > 0);
        let differing = mask.iter().zip(span).fold(0, |all, (&m, &s)| all | (m ^ u8::from(s > 0)));
        if differing != 0
            && let Some(at) = (0..mask.len()).find(differs)
        {
            let (mask, span) = (mask[at], span[at]);
            return Err(format!("loss_mask is {mask} at {at}, where span_id is {span}"));
        }
        check_alignment(view, row, span)
    }

    /// Writes rows that [`KdSink::check`] has passed.
    fn push(&mut self, view: &Tokens<'_>, run: &RowRun) -> Result<()> {
        let Some(output) = self.outputs.get_mut(run.output).filter(|_| !run.rows.is_empty()) else {
            return Ok(());
        };
        let tokens = view.tokens_of(run.rows.clone());
        let tokens = if self.dtype == MmidxDtype::UInt16 {
            self.bytes.clear();
            self.bytes.extend(tokens.iter().flat_map(|&token| (token as u16).to_le_bytes()));
            &self.bytes
        } else if cfg!(target_endian = "little") {
            tokens.to_byte_slice()
        } else {
            self.bytes.resize(tokens.len() * 4, 0);
            LittleEndian::write_i32_into(tokens, &mut self.bytes);
            &self.bytes
        };
        let lengths = run.rows.clone().map(|row| view.tokens(row).len());
        output.push_ids(view, run.rows.clone())?;
        output.untrained += view.untrained(run.rows.clone());
        match view.masks_of(run.rows.clone()) {
            Some([mask, span]) if self.layout == PrefixLayout::Triple => {
                count_spans(span, &mut output.supervised);
                output.writer.push(lengths, &[tokens, mask, span])
            }
            _ => output.writer.push(lengths, &[tokens]),
        }
    }

    /// Completes the files; they are not published. The files are in publishing order.
    pub fn finish(
        self,
        target: &KdTarget,
    ) -> Result<(Vec<PendingFile>, BTreeMap<String, KdSplit>)> {
        let base = match target {
            KdTarget::Root { root, .. } => root.clone(),
            KdTarget::Prefix(prefix) => prefix.parent().map(Path::to_path_buf).unwrap_or_default(),
        };
        let mut files = Vec::new();
        let mut splits = BTreeMap::new();
        for SplitOutput { split, writer, ids, supervised, untrained, .. } in self.outputs {
            let finished = writer.finish()?;
            let ids = ids.map(IdsWriter::finish).transpose()?;
            let mut described = describe(finished, ids, &base, &mut files)?;
            described.supervised_tokens = by_span_id(&supervised);
            described.untrained_messages = untrained;
            splits.insert(split.to_string(), described);
        }
        Ok((files, splits))
    }
}

impl SplitOutput {
    fn push_ids(&mut self, view: &Tokens<'_>, rows: Range<usize>) -> Result<()> {
        let Some(path) = &self.ids_path else { return Ok(()) };
        let ids = match &mut self.ids {
            Some(ids) => ids,
            None => self.ids.insert(IdsWriter::create(path, self.with_segments)?),
        };
        for row in rows {
            // A longer sequence is refused when its tokens are written.
            let tokens = i32::try_from(view.tokens(row).len()).unwrap_or(i32::MAX);
            ids.push(view.identity(row), tokens, view.segments(row))?;
        }
        Ok(())
    }
}

/// Consecutive rows of one output.
struct RowRun {
    output: usize,
    rows: Range<usize>,
}

/// Whether `is_so` holds for one of the values. It looks at all values, which is fast if it holds for
/// none: 0.1 ns a token; 0.5 with an early return (rustc -O, 2026-11-26). All of mmidx-write takes
/// about 6.
fn any<T>(values: &[T], is_so: impl Fn(&T) -> bool) -> bool {
    values.iter().fold(false, |found, value| found | is_so(value))
}

/// Returns the counts of span ids that supervise something, as manifests state them.
pub(super) fn by_span_id(counts: &[u64; 256]) -> BTreeMap<String, u64> {
    let supervised = counts.iter().enumerate().skip(1).filter(|(_, count)| **count > 0);
    supervised.map(|(span, count)| (span.to_string(), *count)).collect()
}

/// Adds up how often each span id is in `span`.
pub fn count_spans(span: &[u8], counts: &mut [u64; 256]) {
    // Nearly all sequences have only the contract's ids; these are counted fast.
    const USUAL: [u8; 3] = [0, 1, 2];
    let usual = USUAL.map(|id| memchr::memchr_iter(id, span).count());
    if usual.iter().sum::<usize>() == span.len() {
        USUAL.iter().zip(usual).for_each(|(&id, n)| counts[usize::from(id)] += n as u64);
    } else {
        span.iter().for_each(|&id| counts[usize::from(id)] += 1);
    }
}

/// Refuses token-aligned masks: they end one position too late, and their last supervised position
/// is the last of a message, not the one before it.
fn check_alignment(view: &Tokens<'_>, row: usize, span: &[u8]) -> Result<(), String> {
    let Some(last) = span.iter().rposition(|&id| id > 0) else { return Ok(()) };
    let shifted = last + 1 < span.len();
    // (The label of a message of one token is at the last position of the message before it.)
    let is_label = |start: i32, end: i32| [start as usize, end as usize] == [last + 1, last + 2];
    let segments = || view.segments(row).into_iter().flatten();
    let at_end = segments().any(|segment| segment.end as usize == last + 1)
        && !segments().any(|segment| is_label(segment.start, segment.end));
    if at_end || !shifted {
        return Err("the masks are token-aligned; try: span-mask --align label".to_string());
    }
    Ok(())
}

/// Returns the description of a finished split; appends its files in publishing order.
pub(super) fn describe(
    finished: FinishedSplit,
    ids: Option<FinishedFile>,
    base: &Path,
    files: &mut Vec<PendingFile>,
) -> Result<KdSplit> {
    let mut split =
        KdSplit { rows: finished.sequences, tokens: finished.values, ..KdSplit::default() };
    let mut add = |key: String, finished: FinishedFile| -> Result<()> {
        let path = finished.file.path();
        let relative = path.strip_prefix(base).unwrap_or(path);
        let not_utf8 = || Error::usage("a name that is not UTF-8").at(relative);
        let relative = relative.to_str().ok_or_else(not_utf8)?;
        split.files.paths.insert(key.clone(), relative.to_string());
        split.files.bytes.insert(key.clone(), finished.bytes);
        split.files.sha256.insert(key, finished.sha256);
        files.push(finished.file);
        Ok(())
    };
    let mut indexes = Vec::new();
    for dataset in finished.datasets {
        add(format!("{}_bin", dataset.name), dataset.bin)?;
        indexes.push((format!("{}_idx", dataset.name), dataset.idx));
    }
    let ids = ids.map(|ids| (IDS.to_string(), ids));
    indexes.into_iter().chain(ids).try_for_each(|(key, file)| add(key, file))?;
    Ok(split)
}
