//! Streams between the filters of a chain: their frames are never bytes.

use std::sync::mpsc::{Receiver, SyncSender};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::frames::{Frame, FrameError};
use crate::chain::{CLOSED, Part};
use crate::error::{Error, Result};
use crate::failure::Failure;

/// Reads what the filter before this one writes.
pub struct LinkReader {
    parts: Receiver<Part>,
    /// Whether a stream has ended, and no other has begun.
    is_between: bool,
}

impl LinkReader {
    pub fn new(parts: Receiver<Part>) -> LinkReader {
        LinkReader { parts, is_between: false }
    }

    /// See [`super::frames::Frames::next`].
    pub fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        loop {
            match self.parts.recv() {
                Ok(Part::Schema(schema)) => {
                    self.is_between = false;
                    return Ok(Some(Frame::Schema(schema)));
                }
                Ok(Part::Batch(batch)) => return Ok(Some(Frame::Batch(batch))),
                Ok(Part::End) => self.is_between = true,
                Ok(Part::Failed(failure)) => return Err(FrameError::Failed(failure)),
                Err(_) if self.is_between => return Ok(None),
                Err(_) => return Err(FrameError::Cut),
            }
        }
    }
}

/// Writes what the next filter reads.
pub struct LinkWriter(SyncSender<Part>);

impl LinkWriter {
    pub fn begin(parts: SyncSender<Part>, schema: &SchemaRef) -> Result<LinkWriter> {
        let writer = LinkWriter(parts);
        writer.send(Part::Schema(schema.clone()))?;
        Ok(writer)
    }

    pub fn write(&self, batch: RecordBatch) -> Result<()> {
        self.send(Part::Batch(batch))
    }

    /// Ends the stream. If a schema is given, an empty stream of it follows.
    pub fn finish(self, after: Option<SchemaRef>) -> Result<()> {
        self.send(Part::End)?;
        if let Some(schema) = after {
            self.send(Part::Schema(schema))?;
            self.send(Part::End)?;
        }
        Ok(())
    }

    /// Fails without a message if nobody reads any more, as if SIGPIPE had ended this filter.
    fn send(&self, part: Part) -> Result<()> {
        self.0.send(part).map_err(|_| {
            let (tool, message) = ("the next filter".to_string(), "it reads no more".to_string());
            Error::passed_on(Failure { tool, exit_code: CLOSED, message })
        })
    }
}
