//! The framing of Arrow IPC streams: messages, the end-of-stream marker, and its absence.
//!
//! The crate `arrow-ipc` decodes the messages. The framing is ours because its readers treat an
//! end of file at a batch boundary as a good end, and because a length is checked here before
//! anything is allocated. An Arrow file (Feather) is such a stream between a magic number and a footer. Source: the
//! Arrow columnar format, "IPC Streaming Format" and "IPC File Format".

use std::collections::HashMap;
use std::io::{self, Read};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Endianness, Message, root_as_message};
use arrow_schema::SchemaRef;

use super::buffers::check_buffers;
use super::texts::{bytes_schema, restored};
use crate::failure::Failure;
use crate::panics::caught;
use crate::wording::exactly;

/// The beginning of every message; followed by a length of 0 it ends the stream.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The beginning of an Arrow file, and its end.
pub(super) const FILE_MAGIC: &[u8] = b"ARROW1\0\0";
const FILE_END: &[u8] = b"ARROW1";
/// The most bytes of a message's metadata. It has a few hundred bytes for each column; this is far
/// beyond any schema.
const MOST_METADATA: usize = 64 << 20;
/// The most bytes of a body. Our batches are far smaller; a larger length is treated as garbage.
const MOST_BODY: u64 = 1 << 40;
/// The most bytes of a compressed batch, unless a single record may have more.
const MOST_BATCH: u64 = 1 << 30;

/// Reads one or more Arrow streams, one after another, from one sequence of bytes.
pub struct Frames<R> {
    bytes: R,
    schema: Option<SchemaRef>,
    dictionaries: HashMap<i64, ArrayRef>,
    /// The bytes of the dictionaries so far.
    held: u64,
    /// The most bytes of a compressed batch, or of all dictionaries of a stream.
    most: u64,
    /// Whether the bytes are those of an Arrow file, behind its magic number: one stream and a footer.
    is_file: bool,
}

/// The next part of the bytes.
pub enum Frame {
    /// A stream begins: every batch up to its end has this schema.
    Schema(SchemaRef),
    Batch(RecordBatch),
}

/// Why no frame can be read.
pub enum FrameError {
    /// The bytes end before the end-of-stream marker.
    Cut,
    Io(io::Error),
    /// The stream ends with the failure of the filter that wrote it.
    Failed(Failure),
    /// The bytes do not follow the format.
    Malformed(String),
}

impl FrameError {
    fn malformed(cause: impl std::fmt::Display) -> FrameError {
        FrameError::Malformed(cause.to_string())
    }
}

impl<R: Read> Frames<R> {
    /// A record may have `most` bytes.
    pub fn new(bytes: R, most: u64) -> Frames<R> {
        let most = most.max(MOST_BATCH);
        let (schema, dictionaries, held, is_file) = Default::default();
        Frames { bytes, schema, dictionaries, held, most, is_file }
    }

    /// Reads an Arrow file, whose bytes begin behind [`FILE_MAGIC`].
    pub fn of_file(self) -> Frames<R> {
        Frames { is_file: true, ..self }
    }

    /// Returns the next schema or batch; `None` at the end of the bytes, which must come directly
    /// after an end-of-stream marker.
    pub fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        loop {
            let mut prefix = [0u8; 8];
            match read_up_to(&mut self.bytes, &mut prefix)? {
                8 => {}
                0 if self.schema.is_none() && !self.is_file => return Ok(None),
                _ => return Err(FrameError::Cut),
            }
            let (marker, length) = prefix.split_at(4);
            if marker != CONTINUATION {
                return Err(FrameError::malformed("no Arrow message where one should begin"));
            }
            // A writer that wrote a part of such a beginning, and then how it failed.
            if length[3] == CONTINUATION[0] {
                return Err(FrameError::Cut);
            }
            let length = i32::from_le_bytes([length[0], length[1], length[2], length[3]]);
            let length = usize::try_from(length)
                .ok()
                .filter(|&length| length <= MOST_METADATA)
                .ok_or_else(|| {
                    FrameError::malformed(format!(
                        "metadata of {length}",
                        length = exactly(length, "byte")
                    ))
                })?;
            if length == 0 {
                if self.schema.take().is_none() {
                    return Err(FrameError::malformed("an end-of-stream marker without a stream"));
                }
                self.dictionaries.clear();
                self.held = 0;
                if self.is_file {
                    return self.footer().map(|()| None);
                }
                continue;
            }
            let mut head = Vec::new();
            self.read_exactly(&mut head, length as u64)?;
            let message = root_as_message(&head).map_err(FrameError::malformed)?;
            if let Some(failure) = Failure::of_message(&message) {
                return Err(FrameError::Failed(failure));
            }
            let body_length = u64::try_from(message.bodyLength())
                .ok()
                .filter(|&length| length <= MOST_BODY)
                .ok_or_else(|| FrameError::malformed("a body of impossible length"))?;
            let mut body = Vec::new();
            self.read_exactly(&mut body, body_length)?;
            let frame = match &self.schema {
                None => caught(|| begin(&message)).map_err(FrameError::Malformed)??,
                Some(schema) => {
                    let (schema, body) = (schema.clone(), Buffer::from_vec(body));
                    let decoded = caught(|| self.decode(&message, &body, schema));
                    match decoded.map_err(FrameError::Malformed)?? {
                        Some(batch) => Frame::Batch(batch),
                        None => continue,
                    }
                }
            };
            if let Frame::Schema(schema) = &frame {
                self.schema = Some(schema.clone());
            }
            return Ok(Some(frame));
        }
    }

    /// Reads what follows the stream of an Arrow file: its footer, which only says once more where the batches are.
    fn footer(&mut self) -> Result<(), FrameError> {
        let mut rest = Vec::new();
        let most = MOST_METADATA as u64;
        self.bytes.by_ref().take(most).read_to_end(&mut rest).map_err(FrameError::Io)?;
        let end = rest.strip_suffix(FILE_END).and_then(|rest| rest.split_last_chunk::<4>());
        let length = end.map(|(footer, length)| (footer.len(), i32::from_le_bytes(*length)));
        match length {
            Some((found, stated)) if usize::try_from(stated) == Ok(found) => {
                self.is_file = false;
                Ok(())
            }
            _ => Err(FrameError::Cut),
        }
    }

    /// Decodes a batch; a dictionary is only remembered. If some of its text is not valid, it has
    /// bytes in place of text.
    fn decode(
        &mut self,
        message: &Message,
        body: &Buffer,
        schema: SchemaRef,
    ) -> Result<Option<RecordBatch>, FrameError> {
        let version = message.version();
        // Text that is not valid is looked for later: it is a bad record, not a broken stream.
        let text = schema;
        let schema = bytes_schema(&text);
        if let Some(batch) = message.header_as_record_batch() {
            check_buffers(batch, body, self.most).map_err(FrameError::Malformed)?;
            let dictionaries = &self.dictionaries;
            let decoded = read_record_batch(body, batch, schema, dictionaries, None, &version);
            let batch = decoded.map_err(FrameError::malformed)?;
            return Ok(Some(restored(&batch, &text).unwrap_or(batch)));
        }
        if let Some(dictionary) = message.header_as_dictionary_batch() {
            if let Some(batch) = dictionary.data() {
                let most = self.most.saturating_sub(self.held);
                let bytes = check_buffers(batch, body, most);
                self.held = self.held.saturating_add(bytes.map_err(FrameError::Malformed)?);
            }
            let dictionaries = &mut self.dictionaries;
            return read_dictionary(body, dictionary, &schema, dictionaries, &version)
                .map(|()| None)
                .map_err(FrameError::malformed);
        }
        Err(FrameError::malformed("a second schema before the end-of-stream marker"))
    }

    fn read_exactly(&mut self, into: &mut Vec<u8>, length: u64) -> Result<(), FrameError> {
        // A claimed length is not allocated: the buffer grows with the bytes that are really read.
        into.reserve(length.min(4 << 20) as usize);
        let read = self.bytes.by_ref().take(length).read_to_end(into).map_err(FrameError::Io)?;
        if (read as u64) < length { Err(FrameError::Cut) } else { Ok(()) }
    }
}

fn begin(message: &Message) -> Result<Frame, FrameError> {
    let schema = message
        .header_as_schema()
        .ok_or_else(|| FrameError::malformed("a stream must begin with its schema"))?;
    // The decoder assumes that all values are little-endian.
    if schema.endianness() != Endianness::Little {
        return Err(FrameError::malformed("its values are big-endian"));
    }
    let schema = try_fb_to_schema(schema).map_err(FrameError::malformed)?;
    Ok(Frame::Schema(SchemaRef::new(schema)))
}

/// Fills the buffer as far as there are bytes; returns how many.
fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> Result<usize, FrameError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(FrameError::Io(error)),
        }
    }
    Ok(filled)
}
