//! What a record looks like to a person. A terminal and a page draw it in their own ways; what they draw is said by the
//! kind of the record (`lib/chats/kinds`).
//!
//! | file | what |
//! |---|---|
//! | `fields.rs` | records of a type that is not known: names and values |
//! | `verdict.rs` | whether all is well, and the numbers that are asked for first |
//! | `term` | all of it as lines of a terminal |
//! | `page` | all of it on one HTML page |
//!
//! A [`Viewer`] makes them from the batches of a [`Reader`]. Texts are as in the data: code that writes
//! them out must use [`visible`](crate::visible) or escape them.

mod fields;
pub mod page;
pub mod term;
mod verdict;

use std::any::Any;
use std::fmt::Debug;

use crate::batch::{Batch, Header};
use crate::error::Result;
use crate::handed::Handed;
use crate::record::{OtherKind, RecordType};
use crate::said::Said;
use crate::stream::Reader;

use self::page::{ExtraPlots, Parts};
use self::term::{Artist, Line};

pub use fields::{ShownField, ShownFields};
pub use verdict::{Tone, Verdict, VerdictLine, verdict};

/// The kinds of records that are not shown as fields.
pub static KINDS: Handed<&'static dyn ViewKind> = Handed::new();

/// A record as it is shown.
pub trait Shown: Any + Debug + Send {
    /// Returns its lines in a terminal; `number` stands before its title. The artist remembers the records before.
    fn lines(self: Box<Self>, number: &str, artist: &mut Artist) -> Vec<Line>;

    /// Returns what a page has of it, in about this many bytes.
    fn parts(&self, bytes: usize) -> Parts;

    /// Returns the line about the signs in its lines, if it has masks.
    fn legend(&self) -> Option<Line> {
        None
    }

    /// Whether it has steps, of which some can be asked for.
    fn has_steps(&self) -> bool {
        false
    }
}

/// Records that can be shown: implemented by kinds of records.
pub trait ViewKind: Sync {
    /// The name of the record type.
    fn name(&self) -> &'static str;

    /// The default number of records on a page, with which a typical record is shown whole.
    fn sample(&self) -> u64 {
        50
    }

    /// Returns what a dataset of such records is, in words.
    fn dataset(&self, _: &Header) -> Option<String> {
        None
    }

    /// Returns how the records of one input are shown.
    fn look(&self, header: &Header, said: &Said) -> Result<Box<dyn Look>>;

    /// Returns the plots that a page shows beside the numbers of ds-stat.
    fn plots(&self) -> Option<Box<dyn ExtraPlots>> {
        None
    }
}

/// How the records of one input are shown.
pub trait Look: Send {
    /// Returns a record of a batch.
    fn show(&self, batch: &Batch, row: usize) -> Result<Box<dyn Shown>>;

    /// Returns what is said of the records' masks where there are any; it follows what the records are.
    fn masks(&self) -> &'static str {
        ""
    }

    /// Returns what the user is told before the records.
    fn remark(&self) -> Option<&'static str> {
        None
    }
}

/// Records of a type that is not known: their fields are shown.
impl ViewKind for OtherKind {
    fn name(&self) -> &'static str {
        ""
    }

    fn look(&self, _: &Header, _: &Said) -> Result<Box<dyn Look>> {
        Ok(Box::new(OtherKind))
    }
}

impl Look for OtherKind {
    fn show(&self, batch: &Batch, row: usize) -> Result<Box<dyn Shown>> {
        Ok(Box::new(ShownFields::of(&batch.records, row)?))
    }
}

/// Prepares the records of one reader to be shown.
pub struct Viewer {
    record: Option<&'static RecordType>,
    kind: &'static dyn ViewKind,
    look: Box<dyn Look>,
}

impl Viewer {
    /// Makes the viewer of a reader that was asked for records of any type, and selects the columns
    /// that are shown.
    pub fn of(reader: &mut Reader, said: &Said) -> Result<Viewer> {
        let viewer = Viewer::new(reader, said)?;
        viewer.keep_columns(reader);
        Ok(viewer)
    }

    /// Makes the viewer of a reader whose batches begin with the columns of the record type.
    pub fn new(reader: &Reader, said: &Said) -> Result<Viewer> {
        let record = reader.fitting_type();
        let known = KINDS.iter().find(|kind| Some(kind.name()) == record.map(|record| record.name));
        let kind = known.copied().unwrap_or(&OtherKind);
        Ok(Viewer { record, kind, look: kind.look(reader.header(), said)? })
    }

    /// Selects the columns that are shown.
    pub fn keep_columns(&self, reader: &mut Reader) {
        if let Some(record) = self.record {
            reader.keep_whole_columns(record);
        }
    }

    /// Returns the name of the record type; `None` for records of any other type.
    pub fn kind(&self) -> Option<&'static str> {
        self.record.map(|record| record.name)
    }

    /// See [`ViewKind::sample`].
    pub fn sample(&self) -> u64 {
        self.kind.sample()
    }

    /// See [`ViewKind::dataset`].
    pub fn dataset(&self, header: &Header) -> Option<String> {
        self.kind.dataset(header)
    }

    /// See [`ViewKind::plots`].
    pub fn plots(&self) -> Option<Box<dyn ExtraPlots>> {
        self.kind.plots()
    }

    /// See [`Look::masks`].
    pub fn masks(&self) -> &'static str {
        self.look.masks()
    }

    /// See [`Look::remark`].
    pub fn remark(&self) -> Option<&'static str> {
        self.look.remark()
    }

    /// Returns a record of a batch.
    pub fn show(&self, batch: &Batch, row: usize) -> Result<Box<dyn Shown>> {
        self.look.show(batch, row)
    }
}
