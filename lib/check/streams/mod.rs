//! Records, in streams and files: NDJSON, Arrow, Parquet; and directories of Parquet shards with
//! the manifest of SYNTH. What a record type's records must hold stands in a file of its own:
//!
//! | file | records |
//! |---|---|
//! | `conversations.rs` | conversations: can they be rendered? |
//! | `games.rs` | games: as those of a pool |
//! | `puzzles.rs` | puzzles: the rules of their domain |
//! | `tokens.rs` | tokens: as the sequences of a Megatron dataset, and their segments |
//! | `shards.rs` | a directory of Parquet shards against its manifest |

mod conversations;
mod games;
mod puzzles;
mod shards;
mod tokens;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::repeats::Repeats;
use super::{At, Check, Context, Family, Findings, Outcome};
use crate::batch::{Batch, Header};
use crate::cli::{Flow, InputArgs, Kind, Position, Result, grouped, ordered_map};
use crate::harmony::Policy;
use crate::record::{RECORD_TYPES, RecordType, ndjson_name};
use crate::stream::{Reader, Request};

pub(super) use shards::Shards;

static END: Check = Check::error(
    "stream.end",
    "the stream or file ends too early: what comes behind is lost, and nothing else says so",
)
.structure();
static FORM: Check = Check::error(
    "stream.form",
    "it cannot be read as records: damaged, or of another type than it says",
)
.structure();
static RECORD: Check =
    Check::error("stream.record", "a line is no record of its type: the filters behind refuse it");
static TYPE: Check = Check::warning(
    "stream.type",
    "the records are of no type known here: only their encoding is checked",
)
.structure();
static REJECTED: Check = Check::warning(
    "stream.rejected",
    "records were dropped on the way (--on-error skip): the stream is not the whole input",
)
.structure();
static REPEATED_ID: Check = Check::warning(
    "stream.id.repeated",
    "an id that stood before: it goes to the same split, twice",
);

/// Records that come in no directory: stdin, and files.
pub(super) struct Streams;

impl Family for Streams {
    fn checks(&self) -> Vec<&'static Check> {
        let own: &[&Check] = &[&END, &FORM, &RECORD, &TYPE, &REJECTED, &REPEATED_ID];
        [own, conversations::CHECKS, puzzles::CHECKS, tokens::CHECKS].concat()
    }

    fn knows(&self, path: &Path) -> bool {
        // Pipes count: `ds-check <(zcat a.gz)`.
        path.as_os_str() == "-" || (path.exists() && !path.is_dir())
    }

    fn check(&self, path: &Path, context: &mut Context<'_>) -> Result<Outcome> {
        let mut findings = context.findings();
        let mut summary = Summary::default();
        records(path, &mut summary, context, &mut findings)?;
        summary.repeated_ids(&[path.to_path_buf()], &mut findings)?;
        Ok(Outcome {
            path: path.to_path_buf(),
            what: summary.what.clone().unwrap_or_else(|| "no records".to_string()),
            records: ("records", summary.records),
            bytes: std::fs::metadata(path).map_or(summary.bytes, |metadata| metadata.len()),
            notes: summary.notes(),
            kinds: findings.into_kinds(),
        })
    }
}

/// What is known of the records of all inputs so far.
#[derive(Default)]
struct Summary {
    what: Option<String>,
    records: u64,
    bytes: u64,
    inputs: u64,
    ids: Repeats,
    /// Why conversations are refused, and how often.
    refused: BTreeMap<String, u64>,
}

/// Where a record is, in one number: its input in the upper bits.
const RECORD_BITS: u32 = 44;
/// So many different reasons are told.
const REASONS: usize = 10;

impl Summary {
    fn notes(&self) -> Vec<String> {
        let mut reasons: Vec<(&String, &u64)> = self.refused.iter().collect();
        reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(**count), *reason));
        let more = reasons.len().saturating_sub(REASONS);
        let mut notes: Vec<String> = reasons
            .into_iter()
            .take(REASONS)
            .map(|(reason, count)| format!("refused {} times: {reason}", grouped(*count)))
            .collect();
        if more > 0 {
            notes.push(format!("refused for {more} more reasons"));
        }
        notes
    }

    /// Tells ids that came more than once. Their keys are 128 bits of sha256: two ids that share
    /// one by chance will not be seen.
    fn repeated_ids(&mut self, inputs: &[PathBuf], findings: &mut Findings<'_>) -> Result<()> {
        std::mem::take(&mut self.ids).candidates(|places| {
            let [first, others @ ..] = places else { return Ok(()) };
            let number = |place: u64| place & ((1 << RECORD_BITS) - 1);
            let input = |place: u64| &inputs[(place >> RECORD_BITS) as usize];
            for &place in others {
                let at = At::file(input(place)).record("record", number(place));
                findings.add(&REPEATED_ID, at, || {
                    let name = match input(*first) == input(place) {
                        true => String::new(),
                        false => {
                            let name = input(*first).file_name().unwrap_or_default();
                            format!("{}, ", name.to_string_lossy())
                        }
                    };
                    format!("has the id of {name}record {}", number(*first))
                });
            }
            Ok(())
        })
    }
}

/// What a batch came to.
struct Looked<'s> {
    findings: Findings<'s>,
    records: u64,
    bytes: u64,
    /// A key for the id of each record that has one, with the record's place among those of its
    /// batch.
    ids: Vec<(u64, u128)>,
    refused: Vec<String>,
}

/// Checks the records of one input.
fn records(
    path: &Path,
    summary: &mut Summary,
    context: &mut Context<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let input = summary.inputs;
    summary.inputs += 1;
    let args = InputArgs { files: vec![path.to_path_buf()], slice: None };
    let mut reader = match Reader::open(&args, Request::Any) {
        Ok(reader) => reader,
        Err(error) => return unreadable(path, error, findings),
    };
    let record = record_type(&reader);
    if let (Some(record), Some((name, version))) = (record, &reader.header().record)
        && *version != record.version
    {
        findings.add(&FORM, At::file(path), || {
            format!("{name} records of version {version}; {} is known", record.version)
        });
    }
    match record {
        // Columns beside those of the type are nobody's business.
        Some(record) => reader.select(record.schema()),
        None => {
            let columns = reader.schema().fields().iter().map(|f| f.name().as_str());
            let columns = columns.collect::<Vec<_>>().join(", ");
            findings.add(&TYPE, At::file(path), || match columns.as_str() {
                "" => "it is empty".to_string(),
                columns => format!("its columns are {columns}"),
            });
        }
    }
    let of_type = |record: &RecordType| format!("{} records", record.name);
    summary.what = Some(record.map_or("unknown records".to_string(), of_type));
    let header = reader.header().clone();
    if record.is_some_and(|record| record.name == "tokens") {
        tokens::header(path, &header, findings);
    }
    let (selection, most) = (context.selection, context.max_findings);
    let policy = context.options.policy;
    let progress = &mut *context.progress;
    let mut before = 0;
    let path: Arc<Path> = path.into();
    let outcome = ordered_map(
        context.jobs,
        &mut reader,
        || {
            let mut judge = Judge::new(record, &header, policy);
            let path = path.clone();
            move |batch: Batch| judge.look(&path, &batch, Findings::new(selection, most))
        },
        |looked: Result<Looked<'_>>| {
            let looked = looked?;
            findings.merge(looked.findings);
            for (place, key) in looked.ids {
                summary.ids.add(key, input << RECORD_BITS | (before + place))?;
            }
            for reason in looked.refused {
                *summary.refused.entry(reason).or_default() += 1;
            }
            before += looked.records;
            summary.bytes += looked.bytes;
            progress.add(looked.records, looked.bytes);
            Ok(Flow::Continue)
        },
    );
    summary.records += before;
    if let Err(error) = outcome {
        return unreadable(&path, error, findings);
    }
    if reader.rejected() > 0 {
        findings.add(&REJECTED, At::file(&path), || {
            format!("{} records were dropped before", reader.rejected())
        });
    }
    Ok(())
}

/// Bad bytes are a finding; an I/O error is not about the data.
fn unreadable(path: &Path, error: crate::cli::Error, findings: &mut Findings<'_>) -> Result<()> {
    let check = match error.kind() {
        _ if error.is_truncation() => &END,
        Kind::Data => &FORM,
        _ => return Err(error),
    };
    // The finding has the place: a name, and with NDJSON a line.
    let text = error.to_string();
    let names = ["stdin".to_string(), path.display().to_string()];
    let cause = names.iter().find_map(|name| text.strip_prefix(name)?.strip_prefix(':'));
    let cause = cause.unwrap_or(&text).trim_start();
    let line = cause.split_once(": ").and_then(|(line, rest)| Some((line.parse().ok()?, rest)));
    let at = At::file(path);
    let (at, cause) = match line {
        Some((line, rest)) => (at.record("line", line), rest),
        None => (at, cause),
    };
    findings.add(check, at, || cause.to_string());
    Ok(())
}

/// The type of an input's records: as its header says, else as its columns do.
fn record_type(reader: &Reader) -> Option<&'static RecordType> {
    if let Some((name, _)) = &reader.header().record {
        return RECORD_TYPES.into_iter().find(|record| record.name == name);
    }
    let fields = reader.schema().fields();
    let has = |name: &&str| fields.iter().any(|f| f.name() == name || ndjson_name(f) == *name);
    RECORD_TYPES.into_iter().find(|record| record.known_by.iter().any(&has))
}

/// Checks batches of one type; a thread has one.
enum Judge {
    Conversations(Box<conversations::Judge>),
    Games(Box<games::Judge>),
    Puzzles(Box<puzzles::Judge>),
    Tokens(Box<tokens::Judge>),
    /// Types without rules of their own.
    Others,
}

impl Judge {
    fn new(record: Option<&'static RecordType>, header: &Header, policy: Option<Policy>) -> Judge {
        match record.map(|record| record.name) {
            Some("conversation") => {
                Judge::Conversations(Box::new(conversations::Judge::new(policy)))
            }
            Some("game") => Judge::Games(Box::default()),
            Some("puzzle") => Judge::Puzzles(Box::new(puzzles::Judge::new(header))),
            Some("tokens") => Judge::Tokens(Box::new(tokens::Judge::new(header, policy))),
            _ => Judge::Others,
        }
    }

    fn look<'s>(
        &mut self,
        path: &Path,
        batch: &Batch,
        findings: Findings<'s>,
    ) -> Result<Looked<'s>> {
        let mut looked = Looked {
            findings,
            records: batch.records.num_rows() as u64,
            bytes: batch.bytes,
            ids: Vec::new(),
            refused: Vec::new(),
        };
        for rejection in &batch.rejected {
            let at = position(At::file(path), rejection.place.position);
            looked.findings.add(&RECORD, at, || rejection.reason.clone());
        }
        match self {
            Judge::Conversations(judge) => judge.look(path, batch, &mut looked),
            Judge::Games(judge) => judge.look(path, batch, &mut looked)?,
            Judge::Puzzles(judge) => judge.look(path, batch, &mut looked)?,
            Judge::Tokens(judge) => judge.look(path, batch, &mut looked)?,
            Judge::Others => {}
        }
        Ok(looked)
    }
}

impl Looked<'_> {
    fn id(&mut self, row: usize, id: &str) {
        let digest = Sha256::digest(id.as_bytes());
        let key = digest.iter().take(16).fold(0, |key, &byte| key << 8 | u128::from(byte));
        // Records count from 1.
        self.ids.push((row as u64 + 1, key));
    }
}

/// A place in a stream, as it is found: a line or a record, counted from 1.
fn position(at: At<'_>, position: Position) -> At<'_> {
    match position {
        Position::Line(line) => at.record("line", line),
        Position::Record(number) => at.record("record", number),
        Position::Whole => at,
    }
}
