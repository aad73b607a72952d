//! Checks records in streams and files (NDJSON, Arrow, Parquet), and directories of Parquet shards with the
//! manifest of SYNTH (`shards.rs`). The checks of each record type are in `lib/core/kinds`.

mod shards;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::inventory::name_of;
use super::repeats::{RecordPlace, Repeats, first_and_others};
use super::{
    AssertedRules, Check, CheckContext, CheckedChunk, Family, FindingPlace, Findings, Outcome,
    checks,
};
use crate::batch::{Batch, Header};
use crate::cli::InputArgs;
use crate::error::{Error, Kind, Position, Result, shown};
use crate::files;
use crate::format::kd_root::IdsFile;
use crate::model::{NOT_CHECKED, Vocabulary, open_of_header, state_model};
use crate::record::{CHAT, RecordType, TOKENS, each_kind};
use crate::stream::{Reader, Request, holds_chats};
use crate::way_on;
use crate::wording::counted;

pub use shards::ParquetShardsFamily;

checks! {
    END: Error Structure "stream.end",
        "the stream or file ends too early: the rest is lost, and nothing else reports it";
    FORM: Error Structure "stream.form",
        "it cannot be read as records: damaged, or not of the type that it states";
    pub(crate) RECORD: Error Content "stream.record",
        "a line is not a record of its type: the next filters refuse it";
    TYPE: Warning Structure "stream.type",
        "the type of the records is not known: only their encoding is checked";
    REJECTED: Warning Structure "stream.rejected",
        "records were dropped on the way (--on-error skip): the stream is not the whole input";
    REPEATED_ID: Warning Content "stream.id.repeated",
        "an id that occurred before: it goes to the same split, twice";
}

/// Records from stdin and from files.
pub struct StreamFamily;

impl Family for StreamFamily {
    fn checks(&self) -> Vec<&'static Check> {
        let mut types: Vec<&TypeChecks> = TYPES.iter().collect();
        types.sort_by_key(|known| known.name);
        let of_types = types.into_iter().flat_map(|known| (known.checks)());
        CHECKS.iter().copied().chain(of_types).collect()
    }

    fn knows(&self, path: &Path) -> Result<bool> {
        // Pipes count: `ds-check <(zcat a.gz)`.
        Ok(path.as_os_str() == "-" || files::metadata(path)?.is_some_and(|found| !found.is_dir()))
    }

    fn check(&self, path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome> {
        let mut findings = context.findings();
        let mut summary = StreamSummary::default();
        records(path, &mut summary, context, &mut findings)?;
        summary.repeated_ids(&[path.to_path_buf()], &mut findings)?;
        Ok(Outcome {
            path: path.to_path_buf(),
            what: summary.what.clone().unwrap_or_else(|| "no records".to_string()),
            records: ("records", summary.records),
            bytes: files::metadata(path)?.map_or(summary.bytes, |metadata| metadata.len()),
            notes: summary.notes(),
            groups: findings.into_groups(),
        })
    }
}

/// The facts of the records of all inputs so far.
#[derive(Default)]
struct StreamSummary {
    what: Option<String>,
    records: u64,
    bytes: u64,
    inputs: usize,
    ids: Repeats,
    /// Why conversations are refused, and how often.
    refused: BTreeMap<String, u64>,
    /// How many are refused for reasons that are not in `refused`.
    refused_else: u64,
    /// How many inputs are ids files.
    ids_files: usize,
    /// Whether there are tokens of another tokenizer than o200k.
    is_of_others: bool,
}

/// How many different reasons are reported.
const REASONS: usize = 10;
/// How many reasons are counted separately: hostile records have a reason each.
const COUNTED_REASONS: usize = 1000;

impl StreamSummary {
    fn notes(&self) -> Vec<String> {
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
        if self.ids_files > 0 {
            notes.push("ids of sequences: ds-check of their root compares them with these".into());
        }
        if self.is_of_others {
            notes.push(NOT_CHECKED.to_string());
        }
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

    /// Reports ids that came more than once. Their keys are 128 bits of sha256: two ids do not
    /// share one by chance.
    fn repeated_ids(&mut self, inputs: &[PathBuf], findings: &mut Findings<'_>) -> Result<()> {
        std::mem::take(&mut self.ids).candidates(|earlier, places| {
            let Some((first, others)) = first_and_others(earlier, places) else { return Ok(()) };
            let input = |place: &RecordPlace| &inputs[place.set];
            for place in others {
                let name = if input(first) == input(place) {
                    String::new()
                } else {
                    format!("{}, ", name_of(input(first)))
                };
                let at = FindingPlace::file(input(place)).record("record", place.number);
                let message = format_args!("has the id of {name}record {}", first.number);
                findings.add(&REPEATED_ID, at, message);
            }
            Ok(())
        })
    }
}

/// Checks the records of one input.
fn records(
    path: &Path,
    summary: &mut StreamSummary,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    if let Some(ids) = IdsFile::if_ids(path)? {
        return ids_file(&ids, summary, context, findings);
    }
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
    let mut header = reader.header().clone();
    let are_tokens = record.is_some_and(|record| record.name == TOKENS.name);
    let mut said = context.options.said()?;
    if are_tokens {
        let model = state_model(&mut header, context.options.model.as_deref())?;
        let model = model.map_or_else(|| open_of_header(&header, None), |model| Ok(Some(model)))?;
        said.tokenizer = model.map(|model| model.tokenizer().clone());
    }
    let first = match reader.next_batch() {
        Ok(first) => first,
        Err(error) => return unreadable(path, error, findings),
    };
    let are_conversations = said.policy.is_some();
    if !are_conversations && first.as_ref().is_some_and(|first| holds_chats(&header, first)) {
        let way = way_on::through("chat-harmony", &shown(path));
        let message = format_args!(
            "these are chats, which chat-harmony turns into conversations; try: {way}"
        );
        findings.add(&FORM, path, message);
        summary.what = Some(CHAT.plural.to_string());
        return Ok(());
    }
    let is_of_others = !Vocabulary::of(header.parameters.get("tokenizer")).is_o200k();
    summary.is_of_others |= is_of_others && are_tokens && said.tokenizer.is_none();
    let make_worker = || {
        let known = record.and_then(TypeChecks::of);
        let mut checker = known.map(|known| (known.checker)(&header, said.clone()));
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
        let BatchSummary { ids, refused } = chunk.summary;
        for (number, key) in ids {
            summary.ids.add(key, input, before + number)?;
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
    let rejected = reader.dropped().rejected.unwrap_or(0);
    if rejected > 0 {
        let message = format_args!("{} dropped upstream", counted(rejected, "record"));
        findings.add(&REJECTED, path, message);
    }
    Ok(())
}

/// Reads all pages of an ids file, which is not a stream of records.
fn ids_file(
    ids: &IdsFile,
    summary: &mut StreamSummary,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    summary.what = Some("ids of token sequences".to_string());
    summary.inputs += 1;
    summary.ids_files += 1;
    summary.records += ids.rows();
    let read = || -> Result<()> {
        ids.check_pages()?;
        if !context.selection.wants_contents() {
            return Ok(());
        }
        let mut rows = ids.read(std::slice::from_ref(&(0..ids.rows())))?;
        (0..ids.rows()).try_for_each(|_| rows.next(|_, _| ()))
    };
    read().or_else(|error| unreadable(ids.path(), error, findings))
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
    reader.select_whole(record);
    if let Some(known) = TypeChecks::of(record) {
        (known.header)(path, reader.header(), findings);
    }
    Some(record)
}

/// Turns an error into a finding if bytes are bad; an I/O error is not about the data.
fn unreadable(path: &Path, error: Error, findings: &mut Findings<'_>) -> Result<()> {
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

    /// Reports input that is not a record.
    fn rejected(&mut self) {
        for rejection in &self.batch.rejected {
            let at = FindingPlace::file(self.path).position(rejection.place.position);
            self.findings.add(&RECORD, at, &rejection.reason);
        }
    }
}

/// Records that are checked: implemented by the views of record types.
pub trait CheckView {
    /// Returns the checks of their checker.
    fn checks() -> Vec<&'static Check> {
        Vec::new()
    }

    /// Checks what a stream states about all its records.
    fn header(_path: &Path, _header: &Header, _findings: &mut Findings<'_>) {}

    /// Makes a checker of their records.
    fn checker(header: &Header, said: AssertedRules) -> Box<dyn RecordChecker>;
}

/// Checks the records of one type; each thread has one.
pub trait RecordChecker: Send {
    fn check(&mut self, batch: &mut BatchCheck<'_, '_>) -> Result<()>;
}

/// The functions that check records of one type.
struct TypeChecks {
    name: &'static str,
    checks: fn() -> Vec<&'static Check>,
    header: fn(&Path, &Header, &mut Findings<'_>),
    checker: fn(&Header, AssertedRules) -> Box<dyn RecordChecker>,
}

macro_rules! type_checks {
    ($($kind:ident $type:ident $module:ident $view:ident;)+) => {
        /// The types that have rules of their own.
        const TYPES: &[TypeChecks] = &[$(TypeChecks {
            name: crate::record::$type.name,
            checks: <crate::record::$module::$view<'_>>::checks,
            header: <crate::record::$module::$view<'_>>::header,
            checker: <crate::record::$module::$view<'_>>::checker,
        }),+];
    };
}
each_kind!(type_checks);

impl TypeChecks {
    /// `None` if a type has no rules of its own.
    fn of(record: &RecordType) -> Option<&'static TypeChecks> {
        TYPES.iter().find(|known| known.name == record.name)
    }
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
