//! `dataset.json`: every field there, of its kind, within its bounds. Whether the numbers in it are
//! those of the arrays is asked where these are known.

use std::path::Path;

use serde_json::{Map, Value};

use crate::check::{At, Findings, checks, inventory};
use crate::error::Result;
use crate::format::puzzle_dir::{Metadata, SetConstants};

checks! {
    MISSING: Error Structure "puzzle.dataset.missing",
        "a split without dataset.json: the loader cannot open it";
    FORM: Error Structure "puzzle.dataset.form",
        "dataset.json cannot be read, or a field is missing or of the wrong kind";
    PAD: Error Structure "puzzle.dataset.pad_id",
        "pad_id is outside the vocabulary: a padded batch reads beyond the embedding's table";
    BLANK: Error Structure "puzzle.dataset.blank_identifier_id",
        "blank_identifier_id is no identifier: a padded batch reads beyond the table of puzzles";
    IGNORE: Warning Structure "puzzle.dataset.ignore_label_id",
        "no label is ever ignored (ignore_label_id is null, or no token): padding is trained on";
    SEQ_LEN: Error Structure "puzzle.dataset.seq_len",
        "seq_len is not the length of the arrays' rows";
    IDENTIFIERS: Error Structure "puzzle.dataset.num_puzzle_identifiers",
        "num_puzzle_identifiers is not the number of names in identifiers.json";
    GROUPS: Error Structure "puzzle.dataset.total_groups",
        "total_groups is not the number of groups: an epoch has another length than is counted on";
    MEAN: Warning Structure "puzzle.dataset.mean_puzzle_examples",
        "mean_puzzle_examples is not examples / puzzles: the schedule of steps is wrong";
    AGREE: Error Structure "puzzle.dataset.agree",
        "train and test name other constants: a model of the one cannot read the other";
}

/// Reads the `dataset.json` of a split's directory; `None` where it has not got all of its fields.
pub(super) fn read(directory: &Path, findings: &mut Findings<'_>) -> Result<Option<Metadata>> {
    let path = directory.join("dataset.json");
    if !path.is_file() {
        findings.add(&MISSING, directory, "has no dataset.json");
        return Ok(None);
    }
    let text = inventory::read(&path)?;
    let at = At::file(&path);
    let fields: Map<String, Value> = match serde_json::from_slice(&text) {
        Ok(fields) => fields,
        Err(error) => {
            findings.add(&FORM, at, &error);
            return Ok(None);
        }
    };
    let metadata = read_fields(&fields, |cause| findings.add(&FORM, at, cause));
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

/// The fields, each of which is told that is missing or of the wrong kind.
fn read_fields(fields: &Map<String, Value>, mut bad: impl FnMut(String)) -> Option<Metadata> {
    let mut integer = |name: &str, least: i64| -> Option<i64> {
        let value = fields.get(name);
        match value.and_then(Value::as_i64).filter(|value| *value >= least) {
            Some(value) => Some(value),
            None => {
                let found = value.map_or("missing".to_string(), Value::to_string);
                bad(format!("{name} is {found}; an integer from {least} on is wanted"));
                None
            }
        }
    };
    let pad_id = integer("pad_id", i64::MIN);
    let blank_identifier_id = integer("blank_identifier_id", i64::MIN);
    let vocab_size = integer("vocab_size", 1);
    let seq_len = integer("seq_len", 1);
    let num_puzzle_identifiers = integer("num_puzzle_identifiers", 1);
    let total_groups = integer("total_groups", 0);
    let ignore_label_id = match fields.get("ignore_label_id") {
        Some(Value::Null) => Some(None),
        Some(value) if value.is_i64() => Some(value.as_i64()),
        other => {
            let found = other.map_or("missing".to_string(), Value::to_string);
            bad(format!("ignore_label_id is {found}; an integer or null is wanted"));
            None
        }
    };
    let mean = fields.get("mean_puzzle_examples").and_then(Value::as_f64);
    if mean.is_none() {
        bad("mean_puzzle_examples is missing, or no number".to_string());
    }
    let sets = fields.get("sets").and_then(Value::as_array).and_then(|sets| {
        sets.iter().map(|set| set.as_str().map(str::to_string)).collect::<Option<Vec<_>>>()
    });
    if sets.as_ref().is_none_or(Vec::is_empty) {
        bad("sets is missing, empty, or no list of names".to_string());
    }
    Some(Metadata {
        constants: SetConstants {
            pad_id: pad_id?,
            ignore_label_id: ignore_label_id?,
            blank_identifier_id: blank_identifier_id?,
            vocab_size: vocab_size?,
            seq_len: seq_len?,
        },
        num_puzzle_identifiers: num_puzzle_identifiers?,
        total_groups: total_groups?,
        mean_puzzle_examples: mean?,
        sets: sets?,
    })
}

/// What the arrays of all sets of a split add up to.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub examples: u64,
    pub puzzles: u64,
    pub groups: u64,
    /// Whether an array is missing that must be counted.
    pub unknown: bool,
}

/// Compares `dataset.json` with what is there.
pub(super) fn compare(
    directory: &Path,
    metadata: &Metadata,
    sums: &Sums,
    findings: &mut Findings<'_>,
) {
    if sums.unknown {
        return;
    }
    let path = directory.join("dataset.json");
    let at = At::file(&path);
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
        // Some builders round.
        let close = (told - mean).abs() <= 1e-6 * mean;
        if !close {
            findings.add(&MEAN, at, format_args!("is {told}, not {mean}"));
        }
    }
}

pub(super) fn wrong_seq_len(at: At<'_>, told: i64, found: u64, findings: &mut Findings<'_>) {
    findings.add(&SEQ_LEN, at, format_args!("its rows have {found} tokens; seq_len is {told}"));
}

pub(super) fn wrong_identifiers(at: At<'_>, told: i64, found: usize, findings: &mut Findings<'_>) {
    findings.add(&IDENTIFIERS, at, format_args!("is {told}; identifiers.json has {found} names"));
}

/// Both splits are for one model.
pub(super) fn agree(a: (&Path, &Metadata), b: (&Path, &Metadata), findings: &mut Findings<'_>) {
    let (path, other) = (b.0.join("dataset.json"), a.1);
    let both = [
        ("pad_id", other.constants.pad_id, b.1.constants.pad_id),
        ("vocab_size", other.constants.vocab_size, b.1.constants.vocab_size),
        ("seq_len", other.constants.seq_len, b.1.constants.seq_len),
        (
            "blank_identifier_id",
            other.constants.blank_identifier_id,
            b.1.constants.blank_identifier_id,
        ),
        ("num_puzzle_identifiers", other.num_puzzle_identifiers, b.1.num_puzzle_identifiers),
    ];
    for (name, a, b) in both.into_iter().filter(|(_, a, b)| a != b) {
        findings.add(&AGREE, &path, format_args!("{name} is {b}, in the other split {a}"));
    }
    let (a, b) = (other.constants.ignore_label_id, b.1.constants.ignore_label_id);
    if a != b {
        findings.add(&AGREE, &path, format_args!("ignore_label_id is {b:?}, not {a:?}"));
    }
}
