//! The numbers of records of one type, with the same interface for all types.

use std::any::Any;
use std::fmt::Debug;

use arrow_array::RecordBatch;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{Answer, Distribution, Messages, PackedRows, Sections, StatOptions};
use crate::batch::{Batch, Header, row_sizes};
use crate::error::{Error, Result};
use crate::handed::Handed;
use crate::record::{RecordKind, plural_of};

/// The kinds of records that have numbers of their own.
pub static KINDS: Handed<&'static dyn StatKind> = Handed::new();

/// The name of the numbers of all other records.
pub(super) const OTHER: &str = "other";

/// Records that are counted: implemented by kinds of records.
pub trait StatView: RecordKind {
    /// The numbers that are counted.
    type Numbers: Numbers + Debug + Default + Serialize + DeserializeOwned + Send + 'static;

    /// Returns the bytes of a record's values; see [`Group::bytes`].
    fn bytes(rows: &Self::Rows<'_>, row: usize) -> usize;

    /// Adds a record.
    fn count(
        rows: &Self::Rows<'_>,
        row: usize,
        numbers: &mut Self::Numbers,
        options: &StatOptions,
    ) -> Result<()>;

    /// Returns a hash of a record's content without its id, to find repeats (see `keys.rs`).
    fn text_key(_rows: &Self::Rows<'_>, _row: usize) -> Option<u128> {
        None
    }

    /// Returns the rows of a file for trainers in which the records stand, if they do.
    fn packed(_header: &Header) -> Option<PackedRows> {
        None
    }

    /// Fails if the records of a first batch only look like records of this type.
    fn refuse(_header: &Header, _first: &Batch) -> Result<()> {
        Ok(())
    }
}

/// A [`StatView`], for code that does not know which one it is.
pub trait StatKind: Sync {
    /// The name of the record type.
    fn name(&self) -> &'static str;

    /// Makes empty numbers.
    fn empty(&self) -> Box<dyn KindNumbers>;

    /// Reads numbers from an answer.
    fn read(&self, value: Value) -> serde_json::Result<Box<dyn KindNumbers>>;

    /// Returns the rows of a batch.
    fn rows<'a>(&self, batch: &'a RecordBatch) -> Result<Box<dyn CountedRows + 'a>>;

    /// See [`StatView::packed`].
    fn packed(&self, header: &Header) -> Option<PackedRows>;

    /// See [`StatView::refuse`].
    fn refuse(&self, header: &Header, first: &Batch) -> Result<()>;
}

impl<K: StatView> StatKind for K {
    fn name(&self) -> &'static str {
        K::RECORD.name
    }

    fn empty(&self) -> Box<dyn KindNumbers> {
        Box::new(K::Numbers::default())
    }

    fn read(&self, value: Value) -> serde_json::Result<Box<dyn KindNumbers>> {
        Ok(Box::new(serde_json::from_value::<K::Numbers>(value)?))
    }

    fn rows<'a>(&self, batch: &'a RecordBatch) -> Result<Box<dyn CountedRows + 'a>> {
        Ok(Box::new(RowsOf::<K>(K::rows(batch)?)))
    }

    fn packed(&self, header: &Header) -> Option<PackedRows> {
        K::packed(header)
    }

    fn refuse(&self, header: &Header, first: &Batch) -> Result<()> {
        K::refuse(header, first)
    }
}

/// Returns the kind of a record type; `None` if it has no numbers of its own.
pub(super) fn kind_of(name: &str) -> Option<&'static dyn StatKind> {
    KINDS.iter().find(|kind| kind.name() == name).copied()
}

/// The rows of a batch; see [`StatView`].
pub trait CountedRows {
    fn id(&self, row: usize) -> Option<&str>;
    fn bytes(&self, row: usize) -> usize;
    fn count(&self, row: usize, numbers: &mut dyn KindNumbers, options: &StatOptions)
    -> Result<()>;
    fn text_key(&self, row: usize) -> Option<u128>;
}

/// Returns the rows of a batch.
pub(super) fn rows_of<'a>(
    kind: Option<&dyn StatKind>,
    batch: &'a RecordBatch,
) -> Result<Box<dyn CountedRows + 'a>> {
    kind.map_or_else(|| Ok(Box::new(batch) as _), |kind| kind.rows(batch))
}

struct RowsOf<'a, K: RecordKind>(K::Rows<'a>);

impl<K: StatView> CountedRows for RowsOf<'_, K> {
    fn id(&self, row: usize) -> Option<&str> {
        K::id(&self.0, row)
    }

    fn bytes(&self, row: usize) -> usize {
        K::bytes(&self.0, row)
    }

    fn count(
        &self,
        row: usize,
        numbers: &mut dyn KindNumbers,
        options: &StatOptions,
    ) -> Result<()> {
        match (numbers as &mut dyn Any).downcast_mut() {
            Some(numbers) => K::count(&self.0, row, numbers, options),
            None => Err(of_others()),
        }
    }

    fn text_key(&self, row: usize) -> Option<u128> {
        K::text_key(&self.0, row)
    }
}

/// Records of any other type are only counted.
impl CountedRows for &RecordBatch {
    fn id(&self, _: usize) -> Option<&str> {
        None
    }

    fn bytes(&self, row: usize) -> usize {
        row_sizes(&self.slice(row, 1)).first().copied().unwrap_or(0) as usize
    }

    fn count(&self, _: usize, _: &mut dyn KindNumbers, _: &StatOptions) -> Result<()> {
        Ok(())
    }

    fn text_key(&self, _: usize) -> Option<u128> {
        None
    }
}

fn of_others() -> Error {
    Error::data("numbers of records of another type")
}

/// The numbers of records of one type, and how they are reported.
pub trait Numbers {
    /// Adds the numbers of later records.
    fn merge(&mut self, other: Self) -> Result<()>
    where
        Self: Sized;

    /// Computes the values that are not counted.
    fn close(&mut self) {}

    /// Returns the unit of such records' length, and the lengths.
    fn lengths(&self) -> (&'static str, &Distribution);

    /// Returns the three most important numbers; `records` is the number of records.
    fn headline(&self, records: String) -> [(&'static str, String); 3];

    /// Reports all numbers; `answer` is the answer that contains them.
    fn sections<'a>(&'a self, out: &mut Sections<'a>, answer: &Answer);

    /// Returns the messages, and the unit of their lengths.
    fn messages(&self) -> Option<(&Messages, &'static str)> {
        None
    }

    /// Returns how many records have masks and are not trained on at all, if there are masks.
    fn unsupervised(&self) -> Option<u64> {
        None
    }
}

/// The numbers of one type, for code that does not know which one it is.
pub trait KindNumbers: Numbers + Any + Debug + Send {
    /// See [`Numbers::merge`].
    fn add(&mut self, other: Box<dyn KindNumbers>) -> Result<()>;

    fn to_json(&self) -> serde_json::Result<Value>;
}

impl<N: Numbers + Debug + Serialize + Send + 'static> KindNumbers for N {
    fn add(&mut self, other: Box<dyn KindNumbers>) -> Result<()> {
        let other = (other as Box<dyn Any>).downcast::<N>().map_err(|_| of_others())?;
        self.merge(*other)
    }

    fn to_json(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }
}

/// The numbers of some records.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Group {
    pub records: u64,
    /// The bytes of the values themselves: four for a token or cell, one for a mask position, texts
    /// in UTF-8; for a game 48 a step. So the number is the same in every encoding.
    pub bytes: u64,
    pub numbers: KindStat,
}

/// The numbers of records of one type, with its name; of other records there are none, they are only counted.
#[derive(Debug, Default)]
pub struct KindStat(Option<(&'static str, Box<dyn KindNumbers>)>);

impl KindStat {
    /// Makes empty numbers for a record type.
    pub fn of_type(name: &str) -> KindStat {
        KindStat(kind_of(name).map(|kind| (kind.name(), kind.empty())))
    }

    pub fn name(&self) -> &'static str {
        self.0.as_ref().map_or(OTHER, |(name, _)| name)
    }

    /// Returns the numbers of any type.
    pub fn numbers(&self) -> Option<&dyn Numbers> {
        self.0.as_ref().map(|(_, numbers)| &**numbers as &dyn Numbers)
    }

    /// Computes the values that are not counted.
    pub(super) fn close(&mut self) {
        if let Some((_, numbers)) = &mut self.0 {
            numbers.close();
        }
    }

    fn merge(&mut self, other: KindStat) -> Result<()> {
        let names = [self.name(), other.name()];
        match (&mut self.0, other.0) {
            (Some((_, own)), Some((_, other))) if names[0] == names[1] => own.add(other),
            (None, None) => Ok(()),
            _ => {
                let [own, other] = names.map(plural_of);
                Err(Error::usage(format!("{own} and {other} have no numbers together")))
            }
        }
    }
}

/// An object with the name and the numbers, or `other`.
impl Serialize for KindStat {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match &self.0 {
            None => OTHER.serialize(to),
            Some((name, numbers)) => {
                let numbers = numbers.to_json().map_err(serde::ser::Error::custom)?;
                to.collect_map([(name, numbers)])
            }
        }
    }
}

impl<'de> Deserialize<'de> for KindStat {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<KindStat, D::Error> {
        let members = match Value::deserialize(from)? {
            Value::String(name) if name == OTHER => return Ok(KindStat::default()),
            Value::Object(members) if members.len() == 1 => members,
            _ => return Err(D::Error::custom("numbers of no type")),
        };
        let mut numbers = KindStat::default();
        for (name, value) in members {
            let unknown = || D::Error::custom(format!("numbers of the unknown type {name}"));
            let kind = kind_of(&name).ok_or_else(unknown)?;
            numbers = KindStat(Some((kind.name(), kind.read(value).map_err(D::Error::custom)?)));
        }
        Ok(numbers)
    }
}

impl Group {
    pub fn of_type(name: &str) -> Group {
        Group { numbers: KindStat::of_type(name), ..Group::default() }
    }

    pub(super) fn add(
        &mut self,
        rows: &dyn CountedRows,
        row: usize,
        options: &StatOptions,
    ) -> Result<()> {
        self.records += 1;
        self.bytes += rows.bytes(row) as u64;
        match &mut self.numbers.0 {
            Some((_, numbers)) => rows.count(row, &mut **numbers, options),
            None => Ok(()),
        }
    }

    pub fn merge(&mut self, other: Group) -> Result<()> {
        self.records = self.records.saturating_add(other.records);
        self.bytes = self.bytes.saturating_add(other.bytes);
        // The group is new: `other` is its first part.
        if self.records == other.records && self.numbers.0.is_none() {
            self.numbers = other.numbers;
            return Ok(());
        }
        self.numbers.merge(other.numbers)
    }
}
