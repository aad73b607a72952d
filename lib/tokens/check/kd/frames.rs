//! Checks the files of a prefix: headers and indices, and that the three of a triple agree.

use std::fmt::Arguments;
use std::path::Path;

use crate::check::{Check, FindingPlace, Findings, checks};
use crate::error::{At, Error, Result};
use crate::files;
use crate::format::kd_root::KdPrefix;
use crate::format::mmidx::{
    Fault, IndexError, MmidxDataset, MmidxDtype, MmidxIndex, PrefixLayout, differences,
    layout_faults, with_suffix,
};
use crate::model::Vocabulary;

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
    let mut found = |dataset: &MmidxDataset, fault, sequence: Option<u64>, cause: Arguments<'_>| {
        let path = if fault == Fault::Bytes { dataset.bin_path() } else { dataset.idx_path() };
        let at = FindingPlace::file(path);
        let at = sequence.map_or(at, |sequence| at.record("sequence", sequence));
        findings.add(check_of(fault), at, cause);
        valid = false;
    };
    for of in &datasets {
        let least = i32::from(prefix.layout == PrefixLayout::Triple);
        let report = &mut |fault, row, cause: Arguments<'_>| found(of, fault, row, cause);
        values.push(layout_faults(of, least, report).at(of.idx_path())?);
    }
    if let [tokens, others @ ..] = datasets.as_slice() {
        for of in others {
            let report = &mut |fault, row, cause: Arguments<'_>| found(of, fault, row, cause);
            differences(&tokens.index, &of.index, report).at(of.idx_path())?;
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

fn check_of(fault: Fault) -> &'static Check {
    match fault {
        Fault::Length => &SEQUENCE_LENGTH,
        Fault::Pointer => &POINTER,
        Fault::Bytes => &BIN_LENGTH,
        Fault::Documents => &DOCUMENTS,
        Fault::OtherCount => &TRIPLE_COUNT,
        Fault::OtherLength => &TRIPLE_LENGTHS,
        Fault::OtherDocuments => &TRIPLE_DOCUMENTS,
    }
}
