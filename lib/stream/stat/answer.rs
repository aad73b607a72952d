//! The whole answer of ds-stat: made from the batches of a reader, written as JSON, merged from parts.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Schema, SchemaRef};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::keys::{KeyCounts, Keys, RecordKeys, RepeatCounts};
use super::kind::{Group, KindStat, OTHER, StatKind, kind_of, rows_of};
use super::named;
use super::written;
use crate::batch::Batch;
use crate::cli::Progress;
use crate::error::{At, Error, Result};
use crate::ordered::{Flow, one, ordered_map};
use crate::record::RecordType;
use crate::stream::Reader;

/// The version of answers in JSON, which is raised when the meaning of a field changes.
const VERSION: u64 = 2;
/// The member of an answer that is replaced by its own members.
const ALL: &str = "all";
/// The most records for which an answer has its keys without being asked for them.
const KEYED: u64 = 1 << 18;
/// Groups that are not columns: each message is in the group of its role or channel.
pub const OF_MESSAGES: [&str; 2] = ["role", "channel"];

/// What is measured.
#[derive(Debug, Clone, Default)]
pub struct StatOptions {
    /// Sequences with more tokens than this are counted.
    pub seq_length: Option<u64>,
    /// The column by whose values records are grouped.
    pub by: Option<String>,
    /// Whether repeated ids and texts are searched for.
    pub repeats: bool,
    /// Whether the answer must have its keys, however many there are.
    pub part: bool,
}

/// The numbers of a dataset or stream.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Answer {
    ds_stat: u64,
    pub kind: String,
    /// The inputs as the caller names them; empty for stdin.
    pub inputs: Vec<String>,
    /// The size of all files of the inputs, if they are read whole. (It is not in JSON: answers of
    /// slices add up, the sizes of their files do not.)
    #[serde(skip)]
    pub size_on_disk: Option<u64>,
    /// The numbers of all records; in JSON their members stand among the members of the answer.
    pub all: Group,
    pub seq_length: Option<u64>,
    /// The rows of a file for trainers, if the file is measured whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub packed: Option<PackedRows>,
    /// Null if repeats were not searched for.
    pub repeated: Option<RepeatCounts>,
    pub by: Option<GroupedStat>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) keyed: Option<KeyCounts>,
    /// The keys; if there are any, they are written too.
    #[serde(skip)]
    keys: Option<Keys>,
}

/// The rows in which the records are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedRows {
    pub rows: u64,
    /// The positions of a row; null if rows are as long as their sequences.
    pub seq_length: Option<u64>,
    /// How many positions are used.
    pub used: u64,
    /// How many of them are padding.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub padding: Option<u64>,
}

impl PackedRows {
    /// Returns the rows of all records of a reader.
    fn of(reader: &Reader, kind: Option<&dyn StatKind>) -> Option<PackedRows> {
        let is_all = reader.is_dataset() && reader.is_whole();
        kind.filter(|_| is_all)?.packed(reader.header())
    }

    /// Adds the rows of two parts, if rows have the same length in both.
    fn and(self, other: PackedRows) -> Option<PackedRows> {
        let is_same = self.seq_length == other.seq_length;
        let (rows, used) = (self.rows.checked_add(other.rows)?, self.used.checked_add(other.used)?);
        let padding = match (self.padding, other.padding) {
            (Some(a), Some(b)) => Some(a.checked_add(b)?),
            (a, b) => a.or(b),
        };
        is_same.then_some(PackedRows { rows, used, padding, ..self })
    }
}

/// The numbers of the records with each value of a column.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct GroupedStat {
    pub column: String,
    pub groups: BTreeMap<String, Group>,
}

impl Answer {
    fn of_type(name: &str, options: &StatOptions) -> Answer {
        let by = options.by.clone().filter(|column| !OF_MESSAGES.contains(&column.as_str()));
        Answer {
            ds_stat: VERSION,
            kind: name.to_string(),
            all: Group::of_type(name),
            seq_length: options.seq_length,
            by: by.map(|column| GroupedStat { column, groups: BTreeMap::new() }),
            ..Answer::default()
        }
    }

    /// Adds the numbers of the next part.
    fn joined(mut self, part: Answer) -> Result<Answer> {
        let mut inputs = std::mem::take(&mut self.inputs);
        for input in &part.inputs {
            if !inputs.contains(input) {
                inputs.push(input.clone());
            }
        }
        let of = |answer: &Answer| {
            let by = answer.by.as_ref().map(|by| by.column.clone());
            (answer.kind.clone(), answer.seq_length, by)
        };
        let whole = match (self.is_nothing(), part.is_nothing()) {
            (_, true) => self,
            (true, false) => Answer { keyed: None, repeated: None, ..part },
            _ if of(&self) == of(&part) => {
                self.add(part)?;
                self
            }
            _ => {
                let cause = "is of other records, or was asked for other numbers";
                return Err(Error::usage(format!("{cause} than the first part")));
            }
        };
        Ok(Answer { inputs, ..whole })
    }

    /// Whether there are no records: their type may then not be known.
    fn is_nothing(&self) -> bool {
        self.all.records == 0 && self.kind == OTHER
    }

    /// Adds the numbers of later records.
    fn add(&mut self, other: Answer) -> Result<()> {
        self.all.merge(other.all)?;
        self.packed = self.packed.zip(other.packed).and_then(|(a, b)| a.and(b));
        if let (Some(own), Some(other)) = (&mut self.by, other.by) {
            for (value, group) in other.groups {
                named(&mut own.groups, &own.column, &value)?.merge(group)?;
            }
        }
        Ok(())
    }

    fn close(&mut self, mut keys: Keys, options: &StatOptions) -> Result<()> {
        let groups = self.by.iter_mut().flat_map(|by| by.groups.values_mut());
        groups.chain([&mut self.all]).for_each(|group| group.numbers.close());
        if options.repeats {
            (self.repeated, self.keyed) = (Some(keys.repeated()?), None);
            if options.part || self.all.records <= KEYED {
                (self.keyed, self.keys) = (Some(keys.keyed()), Some(keys));
            }
        }
        Ok(())
    }

    /// Returns the answer as JSON, without its keys.
    pub fn to_json(&self) -> Result<Value> {
        let Value::Object(members) = serde_json::to_value(self).map_err(Error::data)? else {
            return Ok(Value::Null);
        };
        let mut flat = Map::new();
        for (name, value) in members {
            match value {
                Value::Object(all) if name == ALL => flat.extend(all),
                other => drop(flat.insert(name, other)),
            }
        }
        Ok(Value::Object(flat))
    }

    /// Writes the answer as JSON, with its keys, in pieces: one line.
    pub fn write_json(&mut self, mut out: impl FnMut(&str) -> Result<()>) -> Result<()> {
        let text = self.to_json()?.to_string();
        out(text.strip_suffix('}').unwrap_or(&text))?;
        if let Some(keys) = &mut self.keys {
            keys.write(&mut out)?;
        }
        out("}\n")
    }

    /// Reads an answer; its keys are added to the keys of other parts.
    fn read(path: &Path, keys: Option<&mut Keys>) -> Result<Answer> {
        let mut value = written::read(path, keys)?;
        if value["ds_stat"] != json!(VERSION) {
            let cause = format!("is no answer of ds-stat in version {VERSION}");
            return Err(Error::data(cause).at(path));
        }
        // The members of `all` stand among the other members.
        value[ALL] = value.clone();
        serde_json::from_value(value).map_err(|e| written::bad(&e).at(path))
    }
}

/// Merges the answers of parts, in their order.
pub fn merge(paths: &[impl AsRef<Path>], options: &StatOptions) -> Result<Answer> {
    let mut whole: Option<Answer> = None;
    let mut keys = Keys::default();
    for path in paths.iter().map(AsRef::as_ref) {
        let part = Answer::read(path, options.repeats.then_some(&mut keys))?;
        if options.repeats {
            let Some(keyed) = part.keyed else {
                let cause = "has no keys, so what occurs in it and in another part is not known";
                return Err(Error::usage(cause).at(path).hint("--part where it is made"));
            };
            keys.count(keyed);
        }
        whole = Some(match whole {
            None => Answer { keyed: None, repeated: None, ..part },
            Some(whole) => whole.joined(part).at(path)?,
        });
    }
    let mut whole = whole.ok_or_else(|| Error::usage("--merge: no parts"))?;
    whole.close(keys, options)?;
    Ok(whole)
}

/// Measures all records of a reader on `jobs` threads.
pub fn measure(
    reader: Reader,
    options: &StatOptions,
    jobs: NonZeroUsize,
    progress: &mut Progress,
) -> Result<Answer> {
    measure_seen(reader, options, jobs, progress, |_| Ok(()))
}

/// Measures all records of a reader on `jobs` threads; calls `see` with each batch, in order,
/// before it is measured.
pub fn measure_seen(
    mut reader: Reader,
    options: &StatOptions,
    jobs: NonZeroUsize,
    progress: &mut Progress,
    mut see: impl FnMut(&Batch) -> Result<()> + Send,
) -> Result<Answer> {
    let record = reader.fitting_type();
    let name = record.map_or(OTHER, |record| record.name);
    let column = select(&mut reader, record, options)?;
    let kind = kind_of(name);
    let packed = PackedRows::of(&reader, kind);
    let mut whole = Answer::of_type(name, options);
    let mut keys = Keys::default();
    let make_worker = || one(move |batch: Batch| measured(&batch, name, column, options));
    let (header, mut is_first) = (reader.header().clone(), true);
    let mut see = |batch: &Batch| {
        if std::mem::take(&mut is_first) {
            kind.map_or(Ok(()), |kind| kind.refuse(&header, batch))?;
        }
        see(batch)
    };
    let seen = (&mut reader).map(|batch| batch.and_then(|batch| see(&batch).map(|()| batch)));
    ordered_map(jobs, seen, make_worker, |measured: Result<(Answer, RecordKeys, u64)>| {
        let (part, own, bytes) = measured?;
        progress.add(part.all.records, bytes);
        whole.add(part)?;
        keys.extend(own)?;
        Ok(Flow::Continue)
    })?;
    whole.packed = packed;
    whole.close(keys, options)?;
    Ok(whole)
}

/// Returns the numbers of a batch.
fn measured(
    batch: &Batch,
    name: &str,
    column: Option<usize>,
    options: &StatOptions,
) -> Result<(Answer, RecordKeys, u64)> {
    if let Some(rejection) = batch.rejected.first() {
        return Err(rejection.to_error());
    }
    let mut part = Answer::of_type(name, options);
    let mut keys = RecordKeys::default();
    let rows = rows_of(kind_of(name), &batch.records)?;
    let format = FormatOptions::default().with_null("null");
    let values =
        column.map(|column| ArrayFormatter::try_new(batch.records.column(column), &format));
    let values = values.transpose()?;
    for row in 0..batch.len() {
        let add = |group: &mut Group| group.add(&*rows, row, options).at(batch.origin.place(row));
        add(&mut part.all)?;
        if let (Some(values), Some(by)) = (&values, &mut part.by) {
            let value = values.value(row).try_to_string()?;
            let group = named(&mut by.groups, &by.column, &value)?;
            if group.records == 0 {
                *group = Group::of_type(name);
            }
            add(group)?;
        }
        if options.repeats {
            keys.add(&*rows, row);
        }
    }
    Ok((part, keys, batch.bytes))
}

/// Reads the columns of the record type and the column by which records are grouped; returns the
/// index of that column.
fn select(
    reader: &mut Reader,
    record: Option<&'static RecordType>,
    options: &StatOptions,
) -> Result<Option<usize>> {
    let there = reader.schema().clone();
    if record.is_none() && there.fields().is_empty() {
        // There are no records.
        return Ok(None);
    }
    let mut schema: SchemaRef = record.map_or_else(|| there.clone(), RecordType::schema);
    let by = options.by.as_deref().filter(|name| !OF_MESSAGES.contains(name));
    if let Some(by) = by.filter(|by| schema.column_with_name(by).is_none()) {
        let Ok(field) = there.field_with_name(by) else {
            let names: Vec<&str> = there.fields().iter().map(|f| f.name().as_str()).collect();
            let cause = format!("--by: no column {by:?}; there are: {}", names.join(", "));
            return Err(Error::usage(cause));
        };
        let fields = schema.fields().iter().map(|field| field.as_ref().clone());
        schema = Schema::new(fields.chain([field.clone()]).collect::<Vec<_>>()).into();
    }
    let numbers = KindStat::of_type(record.map_or(OTHER, |record| record.name));
    let has_messages = numbers.numbers().is_some_and(|numbers| numbers.messages().is_some());
    if by.is_none() && options.by.is_some() && !has_messages {
        return Err(Error::usage("--by: these records have no messages"));
    }
    let place = by.and_then(|by| schema.column_with_name(by));
    if let Some((_, field)) = place
        && matches!(field.data_type(), DataType::List(_) | DataType::Struct(_))
    {
        return Err(Error::usage(format!("--by: {} is a list or a struct", field.name())));
    }
    let place = place.map(|(place, _)| place);
    reader.keep_columns(schema);
    Ok(place)
}
