//! Checks the files of a prefix: headers and indices, and that the three of a triple agree.

use std::fmt;
use std::io;
use std::path::Path;

use crate::check::{FindingPlace, Findings, checks};
use crate::error::{Error, Result};
use crate::files;
use crate::format::kd_root::KdPrefix;
use crate::format::mmidx::{
    Difference, IndexError, MmidxDataset, MmidxDtype, MmidxIndex, PrefixLayout, differences,
    with_suffix,
};
use crate::model::Vocabulary;
use crate::wording::exactly;

checks! {
    MISSING: Error Structure "kd.triple.missing",
        "a file of the dataset is missing: training ends when it is opened",
        hint "write the shard again; a shard counts once its part manifest exists";
    MAGIC: Error Structure "kd.idx.magic", "the .idx is not a Megatron index (MMIDIDX)";
    VERSION: Error Structure "kd.idx.version", "the .idx has a version that trainers refuse";
    DTYPE: Error Structure "kd.idx.dtype", "the .idx names a value type that does not exist";
    LENGTH: Error Structure "kd.idx.length",
        "the .idx is shorter or longer than its counts say: cut off, or counted wrongly";
    EMPTY: Error Structure "kd.idx.empty",
        "a dataset without sequences: trainers fail when they open it, or draw from nothing",
        hint "a shard without rows has no files; remove them, and leave the prefix out";
    MODES: Warning Structure "kd.idx.modes",
        "the .idx carries modes of multimodal sequences, which text trainers ignore";
    SEQUENCE_LENGTH: Error Structure "kd.idx.sequence_length",
        "the length of a sequence is not positive: reading it fails, or gives wrong data";
    POINTER: Error Structure "kd.idx.pointer",
        "a sequence does not begin where the one before it ends: training uses another text";
    DOCUMENTS: Error Structure "kd.idx.documents",
        "document indices do not run from 0 to the number of sequences: epochs miss documents";
    BIN_LENGTH: Error Structure "kd.bin.length",
        "the .bin does not have the bytes that the lengths add up to: cut off, or of another type";
    TRIPLE_DTYPE: Error Structure "kd.triple.dtype",
        "tokens are not int32 (or uint16 of a small vocabulary), or masks and spans not uint8: the trainer needs these types";
    TRIPLE_COUNT: Error Structure "kd.triple.count",
        "the three datasets differ in their number of sequences: masks belong to other texts";
    TRIPLE_LENGTHS: Error Structure "kd.triple.lengths",
        "a sequence has another length in the mask or span than in the tokens";
    TRIPLE_DOCUMENTS: Error Structure "kd.triple.documents",
        "the three datasets differ in their documents: samples do not match";
}

/// How many entries of an index are read at a time.
const BLOCK: usize = 1 << 16;

/// A prefix whose files can be read by their indices.
#[derive(Debug)]
pub(super) struct ValidPrefix {
    pub datasets: Vec<MmidxDataset>,
    pub sequences: u64,
    pub values: u64,
}

/// Checks the files of a prefix. Returns `None` if something is wrong with them: then it is not known
/// where the sequences begin, so their contents cannot be checked.
pub(super) fn check(
    prefix: &KdPrefix,
    vocabulary: Vocabulary,
    findings: &mut Findings<'_>,
) -> Result<Option<ValidPrefix>> {
    let mut datasets = Vec::new();
    let mut valid = true;
    for (suffix, _, dtypes) in prefix.layout.members() {
        // (Ids of o200k do not fit two bytes.)
        let dtypes = if vocabulary.is_o200k() { &dtypes[..dtypes.len().min(1)] } else { dtypes };
        let opened = open(&with_suffix(&prefix.path, suffix), dtypes, findings)?;
        valid &= opened.as_ref().is_some_and(|(_, fits)| *fits);
        datasets.extend(opened.map(|(dataset, _)| dataset));
    }
    let mut values = Vec::new();
    for dataset in &datasets {
        let in_triple = prefix.layout == PrefixLayout::Triple;
        let mut frames = FrameChecker { dataset, in_triple, valid: true };
        values.push(frames.check(findings).map_err(|e| dataset.index_error(e))?);
        valid &= frames.valid;
    }
    if let [first, others @ ..] = datasets.as_slice() {
        for other in others {
            let aligned = is_aligned(first, other, findings);
            valid &= aligned.map_err(|e| other.index_error(e))?;
        }
    }
    let sequences = datasets.first().map_or(0, |dataset| dataset.index.sequences);
    if let Some(tokens) = datasets.first().filter(|_| sequences == 0) {
        findings.add(&EMPTY, tokens.idx_path(), "has no sequences");
    }
    let values = values.first().copied().unwrap_or(0);
    Ok(valid.then_some(ValidPrefix { datasets, sequences, values }))
}

/// Opens one dataset; the flag says whether its values have the right type. `None` if it cannot be
/// opened.
fn open(
    prefix: &Path,
    dtypes: &[MmidxDtype],
    findings: &mut Findings<'_>,
) -> Result<Option<(MmidxDataset, bool)>> {
    let idx = with_suffix(prefix, ".idx");
    let bin = with_suffix(prefix, ".bin");
    let there = (files::is_member(&idx)?, files::is_member(&bin)?);
    for (path, _) in [(&idx, there.0), (&bin, there.1)].into_iter().filter(|(_, there)| !there) {
        findings.add(&MISSING, path, "is not there");
    }
    if !there.0 {
        return Ok(None);
    }
    let index = match MmidxIndex::open(&idx) {
        Ok(index) => index,
        Err(error @ IndexError::Io(_)) => return Err(Error::from(error).at(idx.as_path())),
        Err(error) => {
            let check = match error {
                IndexError::Magic => &MAGIC,
                IndexError::Version(_) => &VERSION,
                IndexError::Dtype(_) => &DTYPE,
                IndexError::Length { .. } | IndexError::Counts => &LENGTH,
                IndexError::Io(_) | IndexError::Cut => &LENGTH,
            };
            findings.add(check, &idx, error);
            return Ok(None);
        }
    };
    if index.has_modes {
        findings.add(&MODES, &idx, "has modes after its documents");
    }
    let fits = dtypes.is_empty() || dtypes.contains(&index.dtype);
    if let Some(dtype) = dtypes.first().filter(|_| !fits) {
        let (found, wanted) = (index.dtype.name(), dtype.name());
        findings.add(&TRIPLE_DTYPE, &idx, format_args!("holds {found}, not {wanted}"));
    }
    if there.1 { Ok(Some((MmidxDataset::open(prefix)?, fits))) } else { Ok(None) }
}

/// Checks the index of one dataset, alone and against its `.bin`.
struct FrameChecker<'a> {
    dataset: &'a MmidxDataset,
    in_triple: bool,
    valid: bool,
}

impl FrameChecker<'_> {
    /// Checks the index; returns the sum of all lengths.
    fn check(&mut self, findings: &mut Findings<'_>) -> io::Result<u64> {
        let index = &self.dataset.index;
        let size = index.dtype.size() as i64;
        let least = i32::from(self.in_triple);
        let (mut lengths, mut offsets) = (Vec::new(), Vec::new());
        let mut sum = 0u64;
        // The offset at which the next sequence must begin: the end of the one before it.
        let mut next = 0i64;
        for first in (0..index.sequences).step_by(BLOCK) {
            index.read_lengths(first, BLOCK, &mut lengths)?;
            index.read_offsets(first, BLOCK, &mut offsets)?;
            for ((sequence, &length), &offset) in (first..).zip(&lengths).zip(&offsets) {
                let at = FindingPlace::file(self.dataset.idx_path()).record("sequence", sequence);
                if length < least {
                    self.valid = false;
                    findings.add(&SEQUENCE_LENGTH, at, format_args!("its length is {length}"));
                }
                if offset != next {
                    self.valid = false;
                    let message = format_args!("begins at byte {offset}, not {next}");
                    findings.add(&POINTER, at, message);
                }
                next = offset.saturating_add(i64::from(length) * size);
                sum = sum.saturating_add(u64::try_from(length).unwrap_or(0));
            }
        }
        let expected = u128::from(sum) * size as u128;
        let found = self.dataset.bin_bytes();
        if u128::from(found) != expected {
            self.valid = false;
            let bytes = exactly(found, "byte");
            let message = format_args!("has {bytes}; its lengths need {expected}");
            findings.add(&BIN_LENGTH, self.dataset.bin_path(), message);
        }
        self.documents(findings)?;
        Ok(sum)
    }

    fn documents(&mut self, findings: &mut Findings<'_>) -> io::Result<()> {
        let index = &self.dataset.index;
        let mut bad = |cause: fmt::Arguments<'_>| {
            self.valid = false;
            findings.add(&DOCUMENTS, self.dataset.idx_path(), cause);
        };
        if index.document_indices == 0 {
            bad(format_args!("has none; the first is 0 and the last the number of sequences"));
            return Ok(());
        }
        let mut documents = Vec::new();
        let mut before = 0i64;
        for first in (0..index.document_indices).step_by(BLOCK) {
            index.read_documents(first, BLOCK, &mut documents)?;
            for (number, &document) in (first..).zip(&documents) {
                if number == 0 && document != 0 {
                    bad(format_args!("the first is {document}, not 0"));
                } else if document < before {
                    bad(format_args!("number {number} is {document}, after {before}"));
                }
                before = document;
            }
        }
        let sequences = index.sequences;
        if u64::try_from(before).ok() != Some(sequences) {
            bad(format_args!("the last is {before}, not the number of sequences {sequences}"));
        }
        Ok(())
    }
}

/// Whether a mask or span has the same sequences and documents as the tokens.
fn is_aligned(
    tokens: &MmidxDataset,
    other: &MmidxDataset,
    findings: &mut Findings<'_>,
) -> io::Result<bool> {
    let mut same = true;
    differences(&tokens.index, &other.index, &mut |difference, sequence, cause| {
        let check = match difference {
            Difference::Count => &TRIPLE_COUNT,
            Difference::Length => &TRIPLE_LENGTHS,
            Difference::Documents => &TRIPLE_DOCUMENTS,
        };
        let at = FindingPlace::file(other.idx_path());
        findings.add(check, sequence.map_or(at, |sequence| at.record("sequence", sequence)), cause);
        same = false;
    })?;
    Ok(same)
}
