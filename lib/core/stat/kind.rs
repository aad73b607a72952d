//! The numbers of records of one type, with the same interface for all types.

use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};

use super::{Answer, Distribution, Messages, Sections, StatOptions};
use crate::batch::row_sizes;
use crate::error::{Error, Result};
use crate::record::{Rows, each_kind, each_rows, plural_of};

/// Records that are counted: implemented by the views of record types.
pub trait StatView {
    /// The numbers that are counted.
    type Numbers: Numbers;

    /// Returns the bytes of a record's values; see [`Group::bytes`].
    fn bytes(&self, row: usize) -> usize;

    /// Adds a record.
    fn count(&self, row: usize, numbers: &mut Self::Numbers, options: &StatOptions) -> Result<()>;

    /// Returns a hash of a record's content without its id, to find repeats (see `keys.rs`).
    fn text_key(&self, _row: usize) -> Option<u128> {
        None
    }
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

/// The numbers of some records.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    pub records: u64,
    /// The bytes of the values themselves: four for a token or cell, one for a mask position, texts
    /// in UTF-8; for a game 48 a step. So the number is the same in every encoding.
    pub bytes: u64,
    pub numbers: KindStat,
}

macro_rules! kind_stat {
    ($($kind:ident $type:ident $module:ident $view:ident;)+) => {
        /// The numbers of records of one type.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum KindStat {
            $($kind(Box<<crate::record::$module::$view<'static> as StatView>::Numbers>),)+
            /// Records of any other type: they are only counted.
            #[default]
            Other,
        }

        impl KindStat {
            /// Makes empty numbers for a record type.
            pub fn of_type(name: &str) -> KindStat {
                match name {
                    $(name if name == crate::record::$type.name => KindStat::$kind(Box::default()),)+
                    _ => KindStat::Other,
                }
            }

            pub fn name(&self) -> &'static str {
                match self {
                    $(KindStat::$kind(_) => crate::record::$type.name,)+
                    KindStat::Other => "other",
                }
            }

            /// Returns the numbers of any type.
            pub fn numbers(&self) -> Option<&dyn Numbers> {
                match self {
                    $(KindStat::$kind(stat) => Some(stat.as_ref()),)+
                    KindStat::Other => None,
                }
            }

            /// Computes the values that are not counted.
            pub(super) fn close(&mut self) {
                match self {
                    $(KindStat::$kind(stat) => stat.close(),)+
                    KindStat::Other => {}
                }
            }

            fn count(&mut self, rows: &Rows<'_>, row: usize, options: &StatOptions) -> Result<()> {
                match (self, rows) {
                    $((KindStat::$kind(stat), Rows::$kind(rows)) => rows.count(row, stat, options),)+
                    _ => Ok(()),
                }
            }

            fn merge(&mut self, other: KindStat) -> Result<()> {
                match (self, other) {
                    $((KindStat::$kind(own), KindStat::$kind(other)) => own.merge(*other),)+
                    (KindStat::Other, KindStat::Other) => Ok(()),
                    (own, other) => Err(Error::usage(format!(
                        "{} and {} have no numbers together",
                        plural_of(own.name()),
                        plural_of(other.name())
                    ))),
                }
            }
        }
    };
}
each_kind!(kind_stat);

impl Group {
    pub fn of_type(name: &str) -> Group {
        Group { numbers: KindStat::of_type(name), ..Group::default() }
    }

    pub(super) fn add(&mut self, rows: &Rows<'_>, row: usize, options: &StatOptions) -> Result<()> {
        self.records += 1;
        self.bytes +=
            each_rows!(rows, rows => rows.bytes(row), batch => bytes_of(batch, row)) as u64;
        self.numbers.count(rows, row, options)
    }

    pub fn merge(&mut self, other: Group) -> Result<()> {
        self.records = self.records.saturating_add(other.records);
        self.bytes = self.bytes.saturating_add(other.bytes);
        match (self.records == other.records, &self.numbers) {
            // The group is new: `other` is its first part.
            (true, KindStat::Other) => self.numbers = other.numbers,
            _ => self.numbers.merge(other.numbers)?,
        }
        Ok(())
    }
}

/// Returns the bytes of a record of a type that has no numbers.
fn bytes_of(batch: &RecordBatch, row: usize) -> usize {
    row_sizes(&batch.slice(row, 1)).first().copied().unwrap_or(0) as usize
}
