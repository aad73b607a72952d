//! Rows for trainers, and indices of rows.
//!
//! | file | checks |
//! |---|---|
//! | `values.rs` | every row by itself: its columns, its pieces, labels and masks |
//! | `sequences.rs` | each sequence once; an index against the datasets that it names |

mod sequences;
mod values;

use std::path::Path;

use sequences::Pieces;
use values::RowSums;

use super::{Check, CheckContext, Family, Findings, Outcome, checks, inventory};
use crate::error::{Error, Result, shown};
use crate::files;
use crate::format::parquet::ParquetFile;
use crate::format::token_rows::{self, Contents, OpenedRows, PAD, Padding, RowsManifest, share};
use crate::model::Vocabulary;
use crate::record::statements::TOKENIZER;
use crate::wording::{counted, exactly, of_plural};

checks! {
    FORM: Error Structure "rows.form",
        "no rows of seq-pack: damaged, a manifest that cannot be read, or other columns than its form has";
    COUNTS: Error Content "rows.counts",
        "the numbers of rows, pieces, tokens or labels are not the manifest's: cut, or made otherwise";
    HASH: Error Content "rows.hash",
        "tokens or labels were changed after they were written";
    UNTRAINED: Error Content "rows.untrained",
        "nothing in the file is trained on: training on it teaches nothing",
        hint "no assistant message is in a supervised channel; try: span-mask --span CHANNEL=ID";
}

pub struct RowsFamily;

impl Family for RowsFamily {
    fn checks(&self) -> Vec<&'static Check> {
        [CHECKS, values::CHECKS, sequences::CHECKS].concat()
    }

    fn knows(&self, path: &Path) -> Result<bool> {
        (token_rows::FORMAT.knows)(path)
    }

    fn check(&self, path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome> {
        let mut findings = context.findings();
        let checked = if_rows(path, context, &mut findings)?;
        let checked = checked.ok_or_else(|| Error::usage("is no file of seq-pack").at(path))?;
        Ok(Outcome {
            path: path.to_path_buf(),
            what: checked.what,
            records: ("rows", checked.rows),
            notes: checked.notes,
            groups: findings.into_groups(),
            ..Outcome::default()
        })
    }
}

/// The contents of a file of rows.
pub(super) struct CheckedRows {
    pub what: String,
    pub rows: u64,
    pub notes: Vec<String>,
}

/// Checks a file if it is one of seq-pack.
pub(super) fn if_rows(
    path: &Path,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<Option<CheckedRows>> {
    let Some(opened) = OpenedRows::if_rows(path)? else { return Ok(None) };
    let what_it_is = "rows for trainers".to_string();
    let mut checked = CheckedRows { what: what_it_is, rows: opened.file.rows(), notes: Vec::new() };
    if let Some(manifest) = readable(path, opened.manifest(), findings)? {
        (checked.what, checked.rows) = (what(&manifest), manifest.rows);
        checked.notes = notes(&manifest);
        contradictions(path, &manifest, findings);
        readable(path, opened.check_pages(), findings)?;
        match manifest.contents {
            Contents::Rows => rows_of(&opened, &manifest, context, findings)?,
            Contents::Index => sequences::index(&opened, &manifest, context, findings)?,
        }
    }
    Ok(Some(checked))
}

/// Checks the files of seq-pack in a folder, if the folder exists; returns how many there are.
/// Notes name other Parquet files.
pub fn rows_in(
    folder: &Path,
    context: &mut CheckContext<'_>,
    notes: &mut Vec<String>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let mut count = 0;
    for path in files::paths_if_there(folder)? {
        let is_hidden = inventory::name_of(&path).starts_with('.');
        let is_parquet = path.extension().is_some_and(|e| e == "parquet" || e == "pq");
        if is_hidden || !is_parquet {
            continue;
        }
        if if_rows(&path, context, findings)?.is_some() {
            count += 1;
            continue;
        }
        if readable(&path, ParquetFile::of_member(&path), findings)?.is_some() {
            notes.push(format!("{}: is no file of seq-pack; not checked", shown(&path)));
        }
    }
    if count > 0 {
        let name = inventory::name_of(folder);
        notes.push(format!("{name}/: {} of rows for trainers", counted(count, "file")));
    }
    Ok(())
}

/// Returns what was read. If it cannot be decoded, adds a finding and returns `None`.
fn readable<T>(path: &Path, read: Result<T>, findings: &mut Findings<'_>) -> Result<Option<T>> {
    inventory::readable(read, path, findings, || Ok(&FORM))
}

fn what(manifest: &RowsManifest) -> String {
    let form = manifest.form.name();
    let length =
        manifest.seq_length.map_or(String::new(), |n| format!(", {}", counted(n, "position")));
    match manifest.contents {
        Contents::Rows => format!("rows for trainers ({form}{length})"),
        Contents::Index => format!("index of rows ({form}{length})"),
    }
}

fn notes(manifest: &RowsManifest) -> Vec<String> {
    let mut notes = vec![token_rows::summary(manifest)];
    // Only an index is compared with the datasets that it names.
    if manifest.contents == Contents::Rows {
        let of = match &manifest.inputs {
            None => "records from a pipe",
            Some(_) => "datasets",
        };
        notes.push(format!("made of {of}: the sequences are not compared with their data"));
    }
    notes
}

/// Reports statements of a manifest that cannot be true together.
fn contradictions(path: &Path, manifest: &RowsManifest, findings: &mut Findings<'_>) {
    let RowsManifest { tokens, changed, records, .. } = manifest;
    let of = [tokens.in_rows, tokens.end_of_document, changed.dropped.tokens, changed.cut.tokens];
    let sum = crate::format::checked_sum(of.into_iter());
    if sum != Some(tokens.in_sequences) {
        let message = format_args!(
            "{} went in, and {} are in rows or counted",
            exactly(tokens.in_sequences, "token"),
            sum.map_or("more than 2^64".to_string(), |sum| sum.to_string())
        );
        findings.add(&COUNTS, path, message);
    }
    if let Some(cause) = records.wrong_read() {
        findings.add(&COUNTS, path, cause);
    }
    // (Which token it is of another vocabulary is the model's.)
    let vocabulary = Vocabulary::of(manifest.parameters.value(&TOKENIZER));
    let is_other = |token: i32| match vocabulary.is_o200k() {
        true => token != PAD,
        false => !vocabulary.has(token),
    };
    if let Some(Padding { token, .. }) = manifest.padding.filter(|padding| is_other(padding.token))
    {
        let message = match vocabulary.is_o200k() {
            true => format!("it states padding of the token {token}, not {PAD}"),
            false => format!("it states padding of the token {token}, which is none"),
        };
        findings.add(&values::PADDING, path, message);
    }
    let used = share(manifest.used, manifest.rows, &manifest.packing());
    let is_used = match (manifest.share_used, used) {
        (Some(stated), Some(used)) => (stated - used).abs() < 1e-9,
        (stated, used) => stated == used,
    };
    if !is_used {
        let [stated, used] = [manifest.share_used, used]
            .map(|share| share.map_or("null".to_string(), |share| share.to_string()));
        let message = format_args!("share_used is {stated}, not {used}");
        findings.add(&COUNTS, path, message);
    }
}

/// Reports counts that differ from the manifest's.
fn compare(path: &Path, pairs: &[(&str, u64, u64)], findings: &mut Findings<'_>) {
    for (what, found, stated) in pairs.iter().filter(|(_, found, stated)| found != stated) {
        let what = of_plural(*found, what);
        findings.add(&COUNTS, path, format_args!("{found} {what}; the manifest states {stated}"));
    }
}

fn rows_of(
    opened: &OpenedRows,
    manifest: &RowsManifest,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let path = opened.path.as_path();
    let rows = opened.file.rows();
    if rows != manifest.rows {
        findings.add(
            &FORM,
            path,
            format_args!("{}; the manifest states {}", exactly(rows, "row"), manifest.rows),
        );
    }
    if !context.selection.wants_contents() {
        values::columns(opened, manifest, findings);
        return Ok(());
    }
    let mut pieces = Pieces::default();
    let Some(sums) = values::rows(opened, manifest, context, findings, &mut pieces)? else {
        return Ok(());
    };
    let RowSums { pieces: count, tokens, used, padding, labels, at_seams, hash } = sums;
    let mut pairs = vec![
        ("pieces", count, manifest.pieces),
        ("tokens", tokens, manifest.tokens.in_rows),
        ("positions that are taken", used, manifest.used),
        ("tokens of padding", padding, manifest.padding.map_or(0, |padding| padding.tokens)),
    ];
    if let Some(stated) = &manifest.labels {
        pairs.push(("labels", labels, stated.in_rows));
        if manifest.form.is_token_aligned() {
            pairs.push(("labels at seams", at_seams, stated.at_seams));
        }
    }
    compare(path, &pairs, findings);
    if rows > 0 && labels == 0 {
        findings.add(&UNTRAINED, path, "no position has a label");
    }
    let hash = format!("{hash:016x}");
    if manifest.hash.as_ref() != Some(&hash) {
        findings.add(
            &HASH,
            path,
            format_args!("the rows have the hash {hash}, not that of the manifest"),
        );
    }
    pieces.check(path, manifest, findings);
    Ok(())
}
