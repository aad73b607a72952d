//! The ids files of a dataset: checks that they belong to its sequences and that the split follows from
//! the ids, and finds ids that occur more than once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::slice;

use super::frames::ValidPrefix;
use crate::check::inventory::{self, name_of};
use crate::check::repeats::{Repeats, first_and_others, hash};
use crate::check::{FindingPlace, Findings, checks};
use crate::error::Result;
use crate::files;
use crate::format::kd_root::{IDS, IdsFile, KdListing, KdPrefix, SPLITS, ValidFraction, find_ids};
use crate::wording::exactly;

checks! {
    FORM: Error Structure "kd.ids.form",
        "an ids file that cannot be read: it is not known which records its sequences are",
        hint "write the shard again";
    ROWS: Error Structure "kd.ids.rows",
        "the rows of an ids file do not belong to the sequences: ids stand beside other texts";
    SPLIT: Error Content "kd.ids.split",
        "an id that its hash puts into the other split: the model is validated on what it learns",
        hint "both splits come from the ids and one valid_fraction; write the shards again";
    REPEATED: Warning Content "kd.ids.repeated",
        "an id that is there already: a record counts double, or two have one id";
    SURPLUS: Warning Structure "kd.ids.surplus",
        "an ids file without its triple: of a shard that was removed, or is not finished";
}

/// Checks the ids files of a dataset.
pub(super) struct IdChecker {
    fraction: Option<ValidFraction>,
    repeats: Option<Repeats>,
    /// The ids file of each prefix, by the prefix's number.
    files: Vec<PathBuf>,
    /// The number of prefixes with ids, and of all prefixes.
    counts: (usize, usize),
}

impl IdChecker {
    /// `fraction` is the share of valid that the manifests state.
    pub fn new(fraction: Option<f64>, findings: &Findings<'_>) -> IdChecker {
        // The shortest decimal number of the float is the fraction that the user gave.
        let fraction = fraction.and_then(|fraction| fraction.to_string().parse().ok());
        let repeats = findings.wants(&REPEATED).then(Repeats::default);
        IdChecker { fraction, repeats, files: Vec::new(), counts: (0, 0) }
    }

    /// Checks the ids of a prefix, if it has any.
    pub fn check(
        &mut self,
        prefix: &KdPrefix,
        valid: &ValidPrefix,
        findings: &mut Findings<'_>,
    ) -> Result<()> {
        self.counts.1 += 1;
        let Some(path) = find_ids(&prefix.path)? else { return Ok(()) };
        self.counts.0 += 1;
        self.files.push(path.clone());
        let outcome =
            IdsFile::open(&path).and_then(|file| self.rows(&file, prefix, valid, findings));
        inventory::readable(outcome, &path, findings, || Ok(&FORM)).map(|_| ())
    }

    fn rows(
        &mut self,
        file: &IdsFile,
        prefix: &KdPrefix,
        valid: &ValidPrefix,
        findings: &mut Findings<'_>,
    ) -> Result<()> {
        let (rows, sequences) = (file.rows(), valid.sequences);
        if rows != sequences {
            let rows = exactly(rows, "row");
            let message = format_args!("has {rows}; the sequences are {sequences}");
            findings.add(&ROWS, file.path(), message);
            return Ok(());
        }
        file.check_pages()?;
        let Some(tokens) = valid.datasets.first() else { return Ok(()) };
        let set = self.files.len() - 1;
        let mut rows = file.read(slice::from_ref(&(0..sequences)))?;
        for (number, length) in (0..).zip(tokens.lengths()) {
            let length = length?;
            rows.next(|columns, row| -> Result<()> {
                let (identity, tokens) = (columns.identity(row), columns.tokens.values()[row]);
                let at = FindingPlace::file(file.path()).record("row", number).id(identity.id);
                if tokens != length {
                    let message = format_args!(
                        "is of {}, its sequence has {length}",
                        exactly(tokens, "token")
                    );
                    findings.add(&ROWS, at, message);
                }
                let Some(id) = identity.id else { return Ok(()) };
                self.split(id, at, prefix, findings);
                match &mut self.repeats {
                    Some(repeats) => repeats.add(hash(&[id.as_bytes()]), set, number),
                    None => Ok(()),
                }
            })??;
        }
        Ok(())
    }

    fn split(
        &self,
        id: &str,
        at: FindingPlace<'_>,
        prefix: &KdPrefix,
        findings: &mut Findings<'_>,
    ) {
        let (Some(split), Some(fraction)) = (prefix.split, &self.fraction) else { return };
        let [train, valid] = SPLITS;
        let by_hash = if fraction.is_valid(id) { valid } else { train };
        if split != by_hash {
            let fraction = fraction.as_f64();
            let message = format_args!("is in {split}; with {fraction} it belongs to {by_hash}");
            findings.add(&SPLIT, at, message);
        }
    }

    /// Reports what can be seen only from all prefixes together: repeated ids, and ids without a triple.
    pub fn finish(
        self,
        set: &KdListing,
        notes: &mut Vec<String>,
        findings: &mut Findings<'_>,
    ) -> Result<()> {
        if let (with @ 1.., all) = self.counts
            && with < all
        {
            notes.push(format!("{with} of {all} prefixes have ids"));
        }
        let files = &self.files;
        self.repeats.unwrap_or_default().candidates(|earlier, places| {
            let Some((first, others)) = first_and_others(earlier, places) else { return Ok(()) };
            for place in others {
                let name = if first.set == place.set {
                    String::new()
                } else {
                    format!("{}, ", files[first.set].display())
                };
                let at = FindingPlace::file(&files[place.set]).record("row", place.number);
                findings.add(
                    &REPEATED,
                    at,
                    format_args!("has the id of {name}row {}", first.number),
                );
            }
            Ok(())
        })?;
        surplus(set, files, findings)
    }
}

/// Returns the ids file of a prefix, if it has a row with the segments of each sequence. (Other faults of it are found
/// elsewhere.)
pub(super) fn with_segments(prefix: &KdPrefix, valid: &ValidPrefix) -> Result<Option<IdsFile>> {
    let Some(path) = find_ids(&prefix.path)? else { return Ok(None) };
    match IdsFile::open(&path) {
        Ok(file) => Ok(Some(file).filter(|f| f.has_segments() && f.rows() == valid.sequences)),
        Err(error) if error.failure().is_some() => Err(error),
        Err(_) => Ok(None),
    }
}

/// Reports ids files in the root that belong to no prefix.
fn surplus(set: &KdListing, known: &[PathBuf], findings: &mut Findings<'_>) -> Result<()> {
    let known: BTreeSet<&Path> = known.iter().map(PathBuf::as_path).collect();
    for split in SPLITS.into_iter().filter(|_| set.is_root) {
        let directory = set.base.join(IDS).join(split);
        for path in files::paths_if_there(&directory)? {
            let name = name_of(&path);
            if name.ends_with(".parquet") && !name.starts_with('.') && !known.contains(&*path) {
                findings.add(&SURPLUS, &path, "has no triple beside it");
            }
        }
    }
    Ok(())
}
