//! Checks records in streams and files (NDJSON, Arrow, Parquet). The checks of each record type are handed down
//! ([`KINDS`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::inventory::name_of;
use super::repeats::{RecordPlace, Repeats, first_and_others, hash};
use super::{Check, CheckContext, CheckedChunk, Family, FindingPlace, Findings, Outcome, checks};
use crate::batch::{Batch, Header};
use crate::cli::InputArgs;
use crate::error::{Error, Kind, Position, Result};
use crate::files;
use crate::format::saved;
use crate::handed::Handed;
use crate::record::RecordType;
use crate::said::Said;
use crate::stream::{Reader, Request};
use crate::wording::counted;

/// The kinds of records that have rules of their own.
pub static KINDS: Handed<&'static dyn CheckKind> = Handed::new();

checks! {
    END: Error Structure "stream.end",
        "the stream or file ends too early: the rest is lost, and nothing else reports it";
    FORM: Error Structure "stream.form",
        "it cannot be read as records: damaged, or not of the type that it states";
    pub RECORD: Error Content "stream.record",
        "a line is not a record of its type: the next filters refuse it";
    TYPE: Warning Structure "stream.type",
        "the type of the records is not known: only their encoding is checked";
    REJECTED: Warning Structure "stream.rejected",
        "records were dropped on the way (--on-error skip): the stream is not the whole input";
    REPEATED_ID: Warning Content "stream.id.repeated",
        "an id that occurred before: it goes to the same split, twice";
    REPEATED_CONTENT: Warning Content "stream.content.repeated",
        "a row of another tool with the tokens of an earlier row: it counts double";
}

/// Records from stdin, from files, and from folders of `datasets`.
pub struct StreamFamily;

impl Family for StreamFamily {
    fn checks(&self) -> Vec<&'static Check> {
        let mut kinds = KINDS.to_vec();
        kinds.sort_by_key(|kind| kind.name());
        let of_types = kinds.into_iter().flat_map(|kind| kind.checks());
        CHECKS.iter().copied().chain(of_types).collect()
    }

    fn knows(&self, path: &Path) -> Result<bool> {
        // Pipes count: `ds-check <(zcat a.gz)`.
        let is_input = files::metadata(path)?.is_some_and(|found| !found.is_dir());
        Ok(path.as_os_str() == "-" || is_input || saved::knows(path)?)
    }

    fn check(&self, path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome> {
        let mut findings = context.findings();
        let mut summary = StreamSummary::default();
        let inputs = match path.as_os_str() != "-" && saved::knows(path)? {
            true => saved::files_in(path),
            false => Ok(vec![path.to_path_buf()]),
        };
        match inputs {
            Ok(inputs) => {
                for input in &inputs {
                    records(input, &mut summary, context, &mut findings)?;
                }
                summary.repeated(&inputs, &mut findings)?;
            }
            Err(error) => unreadable(path, error, &mut findings)?,
        }
        summary.outcome(path, findings)
    }
}

/// The facts of the records of all inputs so far.
#[derive(Default)]
pub struct StreamSummary {
    what: Option<String>,
    pub records: u64,
    bytes: u64,
    inputs: usize,
    ids: Repeats,
    /// Why conversations are refused, and how often.
    refused: BTreeMap<String, u64>,
    /// How many are refused for reasons that are not in `refused`.
    refused_else: u64,
    /// The contents of records of which equal ones are reported.
    contents: Repeats,
    /// What is to be said about the inputs, each once.
    remarks: Vec<String>,
}

/// How many different reasons are reported.
const REASONS: usize = 10;
/// How many reasons are counted separately: hostile records have a reason each.
const COUNTED_REASONS: usize = 1000;

impl StreamSummary {
    /// Adds an input that is not a stream of records.
    pub fn add(&mut self, what: &str, records: u64) {
        self.what = Some(what.to_string());
        self.inputs += 1;
        self.records += records;
    }

    pub fn note(&mut self, remark: &str) {
        if !self.remarks.iter().any(|known| known == remark) {
            self.remarks.push(remark.to_string());
        }
    }

    /// Returns what was found in one input.
    pub fn outcome(&self, path: &Path, findings: Findings<'_>) -> Result<Outcome> {
        Ok(Outcome {
            path: path.to_path_buf(),
            what: self.what.clone().unwrap_or_else(|| "no records".to_string()),
            records: ("records", self.records),
            bytes: files::metadata(path)?.map_or(self.bytes, |metadata| metadata.len()),
            notes: self.notes(),
            groups: findings.into_groups(),
        })
    }

    pub fn notes(&self) -> Vec<String> {
        let mut reasons: Vec<(&String, &u64)> = self.refused.iter().collect();
        reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(**count), *reason));
        let more = reasons.len().saturating_sub(REASONS);
        let mut notes: Vec<String> = reasons
            .into_iter()
            .take(REASONS)
            .map(|(reason, count)| format!("refused {}: {reason}", counted(*count, "time")))
            .collect();
        if more > 0 {
            notes.push(format!("refused for {}", counted(more, "more reason")));
        }
        notes.extend(self.remarks.iter().cloned());
        if self.refused_else > 0 {
            let times = counted(self.refused_else, "time");
            notes.push(format!("refused {times} for reasons that are not counted"));
        }
        notes
    }

    fn refused(&mut self, reason: String) {
        if let Some(count) = self.refused.get_mut(&reason) {
            *count += 1;
        } else if self.refused.len() < COUNTED_REASONS {
            self.refused.insert(reason, 1);
        } else {
            self.refused_else += 1;
        }
    }

    /// Reports ids that came more than once, and contents. The keys of ids are 128 bits of sha256: two ids do not share
    /// one by chance.
    pub fn repeated(&mut self, inputs: &[PathBuf], findings: &mut Findings<'_>) -> Result<()> {
        let of = [
            (std::mem::take(&mut self.ids), &REPEATED_ID, "id"),
            (std::mem::take(&mut self.contents), &REPEATED_CONTENT, "tokens"),
        ];
        for (repeats, check, what) in of {
            repeats.candidates(|earlier, places| {
                let Some((first, others)) = first_and_others(earlier, places) else {
                    return Ok(());
                };
                let input = |place: &RecordPlace| &inputs[place.set];
                for place in others {
                    let name = if input(first) == input(place) {
                        String::new()
                    } else {
                        format!("{}, ", name_of(input(first)))
                    };
                    let at = FindingPlace::file(input(place)).record("record", place.number);
                    let message = format_args!("has the {what} of {name}record {}", first.number);
                    findings.add(check, at, message);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Checks the records of one input.
pub fn records(
    path: &Path,
    summary: &mut StreamSummary,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let input = summary.inputs;
    summary.inputs += 1;
    let args = InputArgs { files: vec![path.to_path_buf()], ..InputArgs::default() };
    let mut reader = match Reader::open(&args, Request::Any) {
        Ok(reader) => reader,
        Err(error) => return unreadable(path, error, findings),
    };
    let record = header(path, &mut reader, findings);
    summary.what =
        Some(record.map_or("records of an unknown kind", |record| record.plural).to_string());
    let header = reader.header().clone();
    let said = &context.options.said;
    let kind = record.and_then(kind_of);
    let rules = kind.map(|kind| kind.rules(&header, said)).transpose()?;
    let first = match reader.next_batch() {
        Ok(first) => first,
        Err(error) => return unreadable(path, error, findings),
    };
    let misread = first.as_ref().zip(kind);
    let misread = misread.and_then(|(first, kind)| kind.misread(path, &header, first, said));
    if let Some(Misread { what, message }) = misread {
        findings.add(&FORM, path, message);
        summary.what = Some(what.to_string());
        return Ok(());
    }
    if let Some(remark) = rules.as_ref().and_then(|rules| rules.remark()) {
        summary.note(remark);
    }
    let make_worker = || {
        let mut checker = rules.as_ref().map(|rules| rules.checker());
        move |batch: Batch, findings: &mut Findings<'_>| {
            let mut check = BatchCheck { path, batch: &batch, findings, summary: <_>::default() };
            check.rejected();
            if let Some(checker) = &mut checker {
                checker.check(&mut check)?;
            }
            let (records, summary) = (batch.records.num_rows() as u64, check.summary);
            Ok(CheckedChunk { records, bytes: batch.bytes, summary })
        }
    };
    let mut before = 0;
    let batches = first.map(Ok).into_iter().chain(&mut reader);
    let outcome = context.check_chunks(batches, make_worker, findings, |chunk, _| {
        let BatchSummary { ids, contents, refused } = chunk.summary;
        for (number, key) in ids {
            summary.ids.add(key, input, before + number)?;
        }
        for (number, key) in contents {
            summary.contents.add(key, input, before + number)?;
        }
        refused.into_iter().for_each(|reason| summary.refused(reason));
        before += chunk.records;
        summary.bytes += chunk.bytes;
        Ok(())
    });
    summary.records += before;
    if let Err(error) = outcome {
        return unreadable(path, error, findings);
    }
    if let Some(rules) = &rules {
        rules.finish(path, findings);
    }
    let rejected = reader.dropped().rejected.unwrap_or(0);
    if rejected > 0 {
        let message = format_args!("{} dropped upstream", counted(rejected, "record"));
        findings.add(&REJECTED, path, message);
    }
    Ok(())
}

/// Checks what an input states about its records before the first one; returns their type.
fn header(
    path: &Path,
    reader: &mut Reader,
    findings: &mut Findings<'_>,
) -> Option<&'static RecordType> {
    let Some(record) = reader.known_type() else {
        let columns = reader.schema().fields().iter().map(|f| f.name().as_str());
        let message = match columns.collect::<Vec<_>>().join(", ").as_str() {
            "" => "it is empty".to_string(),
            columns => format!("its columns are {columns}"),
        };
        findings.add(&TYPE, path, message);
        return None;
    };
    if let Some((name, version)) = &reader.header().record
        && *version != record.version
    {
        let known = record.version;
        let message = format_args!("{name} records of version {version}; only {known} is known");
        findings.add(&FORM, path, message);
    }
    // Columns that the type does not have are checked, too, if they stand beside messages.
    reader.keep_whole_columns(record);
    if let Some(kind) = kind_of(record) {
        kind.header(path, reader.header(), findings);
    }
    Some(record)
}

/// Turns an error into a finding if bytes are bad; an I/O error is not about the data.
pub fn unreadable(path: &Path, error: Error, findings: &mut Findings<'_>) -> Result<()> {
    let check = match error.kind() {
        _ if error.failure().is_some() => return Err(error),
        _ if error.is_truncation() => &END,
        Kind::Data => &FORM,
        _ => return Err(error),
    };
    let position = error.place().map_or(Position::Whole, |place| place.position);
    findings.add(check, FindingPlace::file(path).position(position), error.without_place());
    Ok(())
}

/// The facts of the records of a batch, besides findings.
#[derive(Default)]
pub struct BatchSummary {
    /// A key for the id of each record that has one, with the record's number in its batch.
    ids: Vec<(u64, u128)>,
    /// The same of the contents of records of which equal ones are reported.
    contents: Vec<(u64, u128)>,
    /// Why conversations are refused.
    pub refused: Vec<String>,
}

/// A batch that is being checked, and its results.
pub struct BatchCheck<'a, 's> {
    path: &'a Path,
    pub batch: &'a Batch,
    pub findings: &'a mut Findings<'s>,
    pub summary: BatchSummary,
}

impl<'a> BatchCheck<'a, '_> {
    /// Returns the place of a row.
    pub fn at(&self, row: usize) -> FindingPlace<'a> {
        FindingPlace::file(self.path).position(self.batch.origin.place(row).position)
    }

    /// Notes the id of a row, to find repeated ids.
    pub fn id(&mut self, row: usize, id: &str) {
        let digest = Sha256::digest(id.as_bytes());
        let key = digest.iter().take(16).fold(0, |key, &byte| key << 8 | u128::from(byte));
        // Records are counted from 1.
        self.summary.ids.push((row as u64 + 1, key));
    }

    /// Notes the contents of a row, to find equal rows.
    pub fn content(&mut self, row: usize, parts: &[&[u8]]) {
        self.summary.contents.push((row as u64 + 1, hash(parts)));
    }

    /// Reports input that is not a record.
    fn rejected(&mut self) {
        for rejection in &self.batch.rejected {
            let at = FindingPlace::file(self.path).position(rejection.place.position);
            self.findings.add(&RECORD, at, &rejection.reason);
        }
    }
}

/// Records that have rules of their own: implemented by kinds of records.
pub trait CheckKind: Sync {
    /// The name of the record type.
    fn name(&self) -> &'static str;

    /// Returns the checks of their checker.
    fn checks(&self) -> Vec<&'static Check> {
        Vec::new()
    }

    /// Checks what a stream states about all its records.
    fn header(&self, _path: &Path, _header: &Header, _findings: &mut Findings<'_>) {}

    /// Returns what the records of a first batch are, if they only look like records of this type.
    fn misread(&self, _: &Path, _: &Header, _first: &Batch, _: &Said) -> Option<Misread> {
        None
    }

    /// Returns the rules of the records of one stream.
    fn rules(&self, header: &Header, said: &Said) -> Result<Box<dyn RecordRules>>;
}

/// Records that are not what they look like.
pub struct Misread {
    pub what: &'static str,
    pub message: String,
}

/// The rules of the records of one stream.
pub trait RecordRules: Sync {
    /// Makes a checker; each thread has one.
    fn checker(&self) -> Box<dyn RecordChecker>;

    /// Returns what is to be said about them, such as what is not checked.
    fn remark(&self) -> Option<&str> {
        None
    }

    /// Adds what is found of all records of a stream together.
    fn finish(&self, _path: &Path, _findings: &mut Findings<'_>) {}
}

/// Checks the records of one type; each thread has one.
pub trait RecordChecker: Send {
    fn check(&mut self, batch: &mut BatchCheck<'_, '_>) -> Result<()>;
}

/// Returns the kind of a record type; `None` if it has no rules of its own.
fn kind_of(record: &RecordType) -> Option<&'static dyn CheckKind> {
    KINDS.iter().find(|kind| kind.name() == record.name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_reasons_as_records_are_not_all_kept() {
        let mut summary = StreamSummary::default();
        for number in 0..5000 {
            summary.refused(format!("reason {number}"));
            summary.refused("reason 7".to_string());
        }
        assert_eq!(summary.refused.len(), COUNTED_REASONS);
        let notes = summary.notes();
        assert_eq!(notes.len(), REASONS + 2);
        assert_eq!(notes[0], "refused 5,001 times: reason 7");
        assert_eq!(notes[REASONS], "refused for 990 more reasons");
        assert_eq!(notes[REASONS + 1], "refused 4,000 times for reasons that are not counted");
    }
}
