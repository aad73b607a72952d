//! Joins the slices of a shard of conversations. The result equals the file that one run over the whole
//! shard writes: the same row groups, and a footer with the counts of all slices together.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use arrow_schema::{Schema, SchemaRef};
use serde_json::Value;

use crate::batch::{Counts, DroppedRecords, Header, file_metadata};
use crate::error::{At, Error, Result};
use crate::format::parquet::{ParquetFile, ParquetSink, Text};
use crate::provenance::forget_slice;
use crate::publish::{PendingFile, publish_file};
use crate::record::statements::CONVERSION;

/// The file of one slice, and which slice it must be; `None` if it is the whole shard.
#[derive(Debug)]
pub struct ConversationPart {
    pub path: PathBuf,
    pub slice: Option<String>,
}

/// The slices of a shard, and where the shard is written.
#[derive(Debug)]
pub struct ConversationJoin<'a> {
    /// The slices in their order.
    pub parts: &'a [ConversationPart],
    pub target: &'a Path,
    /// How many rows each row group has.
    pub group_rows: NonZeroUsize,
}

/// An open part.
struct OpenPart {
    file: ParquetFile,
    header: Header,
    counts: Counts,
}

impl ConversationJoin<'_> {
    /// Writes the shard, in place of an older one.
    pub fn publish(&self) -> Result<()> {
        let (header, counts, schema) = self.describe()?;
        if let [ConversationPart { path, slice: None }] = self.parts {
            return publish_file(PendingFile::adopt(self.target, path)?, true);
        }
        let mut sink = ParquetSink::create(self.target, schema, Some(self.group_rows))?;
        for part in self.parts {
            let file = part.open()?.file;
            let rows = 0..file.rows();
            let batches =
                file.read(std::slice::from_ref(&rows), None, Text::Plain).at(&part.path)?;
            for batch in batches {
                sink.write(&batch.at(&part.path)?)?;
            }
        }
        sink.publish(true, file_metadata(&header.with_counts(&counts), &counts))
    }

    /// Returns the footer of the whole shard; fails if the parts are not of one run of the
    /// pipeline.
    fn describe(&self) -> Result<(Header, Counts, SchemaRef)> {
        let mut all: Option<(Header, Counts, SchemaRef)> = None;
        for part in self.parts {
            let OpenPart { file, header, counts } = part.open()?;
            let header = part.whole(header)?;
            let schema = SchemaRef::new(Schema::new(file.schema().fields().clone()));
            let Some((first, sum, columns)) = &mut all else {
                all = Some((header, counts, schema));
                continue;
            };
            let difference = match () {
                _ if header.parameters != first.parameters => "settings are",
                _ if header.provenance != first.provenance => "provenance is",
                _ if schema != *columns => "columns are",
                _ => {
                    let overflow = || Error::data("has more than 2^64 rows").at(self.target);
                    *sum = sum.plus(&counts).ok_or_else(overflow)?;
                    continue;
                }
            };
            let cause = format!("its {difference} not those of the first part");
            return Err(Error::data(cause).at(part.path.as_path()));
        }
        all.ok_or_else(|| Error::usage("has no parts").at(self.target))
    }
}

impl ConversationPart {
    fn open(&self) -> Result<OpenPart> {
        let file = ParquetFile::of_member(&self.path)?;
        let header = Header::of(file.schema()).at(&self.path)?;
        let counts = Counts::of(file.schema()).at(&self.path)?;
        let none = || Error::data("does not say how it was made").at(&self.path);
        Ok(OpenPart { counts: counts.ok_or_else(none)?, file, header })
    }

    /// Returns the header of a run over the whole shard.
    fn whole(&self, mut header: Header) -> Result<Header> {
        header.dropped = DroppedRecords::default();
        header.provenance.iter_mut().for_each(forget_slice);
        let mut conversion = header.get(&CONVERSION);
        let limits = conversion.as_mut().and_then(|conversion| conversion.get_mut("limits"));
        let slice = limits.and_then(|limits| limits.get_mut("slice")).map(Value::take);
        header.set(&CONVERSION, conversion);
        let own = slice.as_ref().and_then(Value::as_str);
        if slice.is_some() && own == self.slice.as_deref() {
            Ok(header)
        } else {
            Err(Error::data("is another slice").at(self.path.as_path()))
        }
    }
}
