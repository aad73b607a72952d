//! Checks `dataset.json`: every field exists, has the right type and is within its bounds. Its numbers
//! are compared with the arrays once these are known.

use std::path::Path;

use serde_json::{Map, Value};

use crate::check::{FindingPlace, Findings, Severity, checks, inventory};
use crate::error::Result;
use crate::files;
use crate::format::json_file;
use crate::format::puzzle_dir::{SetConstants, SplitMetadata};
use crate::record::statements;
use crate::wording::exactly;

checks! {
    MISSING: Error Structure "puzzle.dataset.missing",
        "a split without dataset.json: the loader cannot open it";
    FORM: Error Structure "puzzle.dataset.form",
        "dataset.json cannot be read, or a field is missing or of the wrong type";
    PAD: Error Structure "puzzle.dataset.pad_id",
        "pad_id is outside the vocabulary: a padded batch reads beyond the embedding's table";
    BLANK: Error Structure "puzzle.dataset.blank_identifier_id",
        "blank_identifier_id is not an identifier: a padded batch reads beyond the puzzle table";
    IGNORE: Warning Structure "puzzle.dataset.ignore_label_id",
        "no label is ever ignored (ignore_label_id is null, or not a token): training uses padding";
    pub(super) SEQ_LEN: Error Structure "puzzle.dataset.seq_len",
        "seq_len is not the length of the arrays' rows";
    IDENTIFIERS: Error Structure "puzzle.dataset.num_puzzle_identifiers",
        "num_puzzle_identifiers is not the number of names in identifiers.json";
    GROUPS: Error Structure "puzzle.dataset.total_groups",
        "total_groups is not the number of groups: an epoch is longer or shorter than expected";
    MEAN: Warning Structure "puzzle.dataset.mean_puzzle_examples",
        "mean_puzzle_examples is not examples / puzzles: the schedule of steps is wrong",
        hint "0 or less is an error: loaders divide by it";
    AGREE: Error Structure "puzzle.dataset.agree",
        "train and test have different constants: a model of one cannot read the other",
        hint "seq_len alone is a warning: some models read any length";
}

/// Reads the `dataset.json` of a split's directory; `None` if it does not have all fields.
pub(super) fn read(directory: &Path, findings: &mut Findings<'_>) -> Result<Option<SplitMetadata>> {
    let path = directory.join("dataset.json");
    if !files::is_member(&path)? {
        findings.add(&MISSING, directory, "has no dataset.json");
        return Ok(None);
    }
    let fields = json_file::read_all(&path);
    let fields = inventory::readable(fields, &path, findings, || Ok(&FORM))?;
    let Some(fields) = fields else { return Ok(None) };
    let at = FindingPlace::file(&path);
    let metadata = read_fields(fields, |cause| findings.add(&FORM, at, cause));
    let Some(metadata) = metadata else { return Ok(None) };
    let SetConstants { pad_id, ignore_label_id, blank_identifier_id, vocab_size, .. } =
        metadata.constants;
    let is_token = |id: i64| (0..vocab_size).contains(&id);
    if !is_token(pad_id) {
        findings.add(&PAD, at, format_args!("is {pad_id}; vocab_size is {vocab_size}"));
    }
    if !(0..metadata.num_puzzle_identifiers).contains(&blank_identifier_id) {
        let count = metadata.num_puzzle_identifiers;
        findings.add(
            &BLANK,
            at,
            format_args!("is {blank_identifier_id}; num_puzzle_identifiers is {count}"),
        );
    }
    if !ignore_label_id.is_some_and(is_token) {
        let shown = ignore_label_id.map_or("null".to_string(), |id| id.to_string());
        findings.add(&IGNORE, at, format_args!("is {shown}; vocab_size is {vocab_size}"));
    }
    Ok(Some(metadata))
}

/// Reads the fields; `bad` is called for each field that is missing or has the wrong type.
fn read_fields(fields: Map<String, Value>, mut bad: impl FnMut(String)) -> Option<SplitMetadata> {
    let shown = |name: &str| fields.get(name).map_or("missing".to_string(), Value::to_string);
    let mut whole = true;
    for (name, least) in [
        ("pad_id", i64::MIN),
        ("blank_identifier_id", i64::MIN),
        ("vocab_size", 1),
        ("seq_len", 1),
        ("num_puzzle_identifiers", 1),
        ("total_groups", 0),
    ] {
        if fields.get(name).and_then(Value::as_i64).is_none_or(|value| value < least) {
            bad(format!("{name}: expected an integer of at least {least}, got {}", shown(name)));
            whole = false;
        }
    }
    if !fields.get("ignore_label_id").is_some_and(|value| value.is_null() || value.is_i64()) {
        let found = shown("ignore_label_id");
        bad(format!("ignore_label_id: expected an integer or null, got {found}"));
    }
    if !fields.get("mean_puzzle_examples").is_some_and(Value::is_number) {
        bad("mean_puzzle_examples is missing, or not a number".to_string());
    }
    let sets = fields.get("sets").and_then(Value::as_array);
    if sets.is_none_or(|sets| sets.is_empty() || !sets.iter().all(Value::is_string)) {
        bad("sets is missing, empty, or not a list of names".to_string());
    }
    serde_json::from_value(Value::Object(fields)).ok().filter(|_| whole)
}

/// The sums over the arrays of all sets of a split.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub examples: u64,
    pub puzzles: u64,
    pub groups: u64,
    /// Whether an array that must be counted is missing.
    pub unknown: bool,
}

/// Compares `dataset.json` with the arrays.
pub(super) fn compare(
    directory: &Path,
    metadata: &SplitMetadata,
    sums: &Sums,
    findings: &mut Findings<'_>,
) {
    if sums.unknown {
        return;
    }
    let path = directory.join("dataset.json");
    let at = FindingPlace::file(&path);
    if u64::try_from(metadata.total_groups).ok() != Some(sums.groups) {
        findings.add(
            &GROUPS,
            at,
            format_args!("is {}, not {}", metadata.total_groups, sums.groups),
        );
    }
    if sums.puzzles > 0 {
        let (told, mean) =
            (metadata.mean_puzzle_examples, sums.examples as f64 / sums.puzzles as f64);
        // Some builders round this number.
        let close = (told - mean).abs() <= 1e-6 * mean;
        // Loaders divide by it.
        let severity = if told > 0.0 { MEAN.severity } else { Severity::Error };
        if !close {
            findings.add_as(&MEAN, severity, at, format_args!("is {told}, not {mean}"));
        }
    }
}

pub(super) fn wrong_identifiers(
    at: FindingPlace<'_>,
    told: i64,
    found: usize,
    findings: &mut Findings<'_>,
) {
    findings.add(
        &IDENTIFIERS,
        at,
        format_args!("is {told}; identifiers.json has {}", exactly(found, "name")),
    );
}

/// Checks that both splits are for one model.
pub(super) fn compare_splits(
    a: (&Path, &SplitMetadata),
    b: (&Path, &SplitMetadata),
    findings: &mut Findings<'_>,
) {
    let path = b.0.join("dataset.json");
    let fields = |metadata: &SplitMetadata| {
        let names = ("num_puzzle_identifiers", metadata.num_puzzle_identifiers.into());
        let constants =
            metadata.constants.statements().map(|(of, value)| (of.name, Value::from(value)));
        constants.into_iter().chain([names])
    };
    for ((name, a), (_, b)) in fields(a.1).zip(fields(b.1)).filter(|((_, a), (_, b))| a != b) {
        // In some domains they differ on purpose.
        let severity =
            if name == statements::SEQ_LEN.name { Severity::Warning } else { AGREE.severity };
        findings.add_as(
            &AGREE,
            severity,
            &path,
            format_args!("{name} is {b}, in the other split {a}"),
        );
    }
}
