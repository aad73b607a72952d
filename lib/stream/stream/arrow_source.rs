//! An Arrow stream as a source of batches.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::bytes::{Bytes, cut, read_error};
use super::conversion::Conversion;
use super::frames::{Frame, FrameError, Frames};
use super::links::LinkReader;
use super::parquet_source::{batches, pieces};
use super::typed::typed_columns;
use crate::batch::{Batch, DroppedRecords, Header, Pieces, RecordSource, WantedRecords};
use crate::error::{At, Error, Result};
use crate::failure::Failure;
use crate::record::{RecordType, column_twice};

/// What frames come from.
pub enum FrameSource {
    Bytes(Frames<Bytes>),
    Link(LinkReader),
}

pub(super) struct ArrowSource {
    name: Arc<str>,
    is_piped: bool,
    frames: FrameSource,
    conversion: Option<Conversion>,
    /// The number of the next record, from 1.
    next_record: u64,
    /// The wanted records, from 0.
    rows: Range<u64>,
    /// The first schema, if it was looked at before its stream is read.
    begun: Option<SchemaRef>,
    /// Batches that are not handed out yet.
    ready: VecDeque<Batch>,
    /// The batch from which they are made.
    pieces: Option<Pieces>,
    /// The most bytes of a record.
    most: u64,
    /// The dropped records by the headers so far; the last header comes after the records.
    dropped: DroppedRecords,
    /// Whether one of the headers was ours.
    is_stated: bool,
    is_at_end: bool,
}

impl ArrowSource {
    pub(super) fn open(
        name: Arc<str>,
        is_piped: bool,
        frames: FrameSource,
        rows: Option<Range<u64>>,
        most: u64,
    ) -> ArrowSource {
        ArrowSource {
            name,
            is_piped,
            frames,
            conversion: None,
            next_record: 1,
            rows: rows.unwrap_or(0..u64::MAX),
            begun: None,
            ready: VecDeque::new(),
            pieces: None,
            most,
            dropped: DroppedRecords::default(),
            is_stated: false,
            is_at_end: false,
        }
    }

    /// Returns the first schema, which is returned again.
    fn peek(&mut self) -> Result<SchemaRef> {
        if let Some(schema) = &self.begun {
            return Ok(schema.clone());
        }
        let Some(Frame::Schema(schema)) = self.next_frame()? else {
            return Err(Error::data("an Arrow stream without a schema").at(&self.name));
        };
        self.begun = Some(schema.clone());
        Ok(schema)
    }

    fn next_frame(&mut self) -> Result<Option<Frame>> {
        let frame = match &mut self.frames {
            FrameSource::Bytes(frames) => frames.next(),
            FrameSource::Link(link) => link.next(),
        };
        let frame = frame.map_err(|error| frame_error(&self.name, self.is_piped, error))?;
        if let Some(Frame::Schema(schema)) = &frame
            && let Some(cause) = column_twice(schema.fields())
        {
            return Err(Error::data(cause).at(&self.name));
        }
        Ok(frame)
    }
}

impl RecordSource for ArrowSource {
    fn record(&mut self, default: &'static RecordType) -> Result<Option<&'static RecordType>> {
        let schema = self.peek()?;
        let header = Header::of(&schema).at(&self.name)?;
        Ok(Some(header.record_type(&schema).unwrap_or(default)))
    }

    fn encoding(&self) -> String {
        "Arrow".to_string()
    }

    fn begin(&mut self, wanted: Option<&WantedRecords>) -> Result<(Header, SchemaRef)> {
        let schema = self.peek()?;
        let header = Header::of(&schema).at(&self.name)?;
        if let Some(wanted) = wanted.filter(|wanted| wanted.any_types) {
            wanted.check_record(&self.name, &header)?;
            wanted.refuse_other_columns(&self.name, &schema)?;
            return Ok((header, typed_columns(&schema, &wanted.schema)));
        }
        let mut bare = schema.as_ref().clone();
        bare.metadata.clear();
        Ok((header, SchemaRef::new(bare)))
    }

    fn next(
        &mut self,
        wanted: Option<&WantedRecords>,
        schema: &SchemaRef,
        _most: u64,
    ) -> Result<Option<Batch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            if let Some(piece) = self.pieces.as_mut().and_then(Pieces::next) {
                let Some(conversion) = &self.conversion else { continue };
                let first = self.next_record;
                self.next_record += piece.num_rows() as u64;
                let Some((batch, first)) = overlap(piece, first, &self.rows) else { continue };
                let numbers = first - 1..first - 1 + batch.num_rows() as u64;
                self.ready.extend(batches(&self.name, conversion, &batch, &[numbers])?);
                continue;
            }
            let frame = match self.begun.take() {
                Some(schema) => Some(Frame::Schema(schema)),
                None => self.next_frame()?,
            };
            match frame {
                None => {
                    self.is_at_end = true;
                    return Ok(None);
                }
                Some(Frame::Schema(found)) => {
                    let header = Header::of(&found).at(&self.name)?;
                    let is_ours = Header::is_in(&found);
                    self.is_stated |= is_ours;
                    let dropped = if is_ours {
                        header.dropped.clone()
                    } else {
                        DroppedRecords::without_header(header.record_type(&found), self.is_piped)
                    };
                    self.dropped = self.dropped.and(&dropped);
                    if let Some(wanted) = wanted {
                        wanted.check_record(&self.name, &header)?;
                    }
                    let made = Conversion::new(&found, schema, wanted);
                    self.conversion = Some(made.map_err(|e| Error::data(e).at(&self.name))?);
                }
                Some(Frame::Batch(batch)) => {
                    let pieces = pieces(&self.name, batch, self.next_record, self.most)?;
                    self.pieces = Some(pieces);
                }
            }
        }
    }

    /// Not known for a part of a stream, and not before the end of a whole one.
    fn dropped(&self) -> DroppedRecords {
        let dropped = self.dropped.clone();
        match self.is_stated {
            true if self.rows.is_empty() => DroppedRecords::default(),
            true if !self.is_at_end => DroppedRecords::UNKNOWN,
            true if self.rows.end < u64::MAX => dropped.of_part(),
            _ => dropped,
        }
    }
}

/// Returns how many records a stream holds.
pub(super) fn count_records(name: &str, mut frames: Frames<Bytes>) -> Result<u64> {
    let mut rows = 0;
    loop {
        match frames.next().map_err(|error| frame_error(name, false, error))? {
            None => return Ok(rows),
            Some(Frame::Batch(batch)) => rows += batch.num_rows() as u64,
            Some(Frame::Schema(_)) => {}
        }
    }
}

/// Returns the rows of a batch that are in a range of records (from 0), and the number of the first
/// (from 1).
fn overlap(batch: RecordBatch, first: u64, rows: &Range<u64>) -> Option<(RecordBatch, u64)> {
    let start = first - 1;
    let end = start + batch.num_rows() as u64;
    let (from, to) = (start.max(rows.start), end.min(rows.end));
    if from >= to {
        return None;
    }
    Some((batch.slice((from - start) as usize, (to - from) as usize), from + 1))
}

fn frame_error(name: &str, is_piped: bool, error: FrameError) -> Error {
    match error {
        FrameError::Cut => cut(name, is_piped, "the Arrow stream ends without its end marker"),
        FrameError::Io(error) => read_error(name, is_piped, &error),
        FrameError::Failed(failure) if is_piped => Error::passed_on(failure).at(name),
        FrameError::Failed(Failure { tool, message, .. }) => {
            let cause = format!("not finished, {tool} failed: {message}");
            Error::data(cause).at(name).truncation()
        }
        FrameError::Malformed(cause) => {
            Error::data(format!("broken Arrow stream: {cause}")).at(name)
        }
    }
}
