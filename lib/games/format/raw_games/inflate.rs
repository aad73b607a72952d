//! Gzip: a small file with one member is inflated at once, any other as a stream.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use libdeflater::Decompressor;

use super::{Defect, Error};
use crate::files::open_member;
use crate::gzip::GzipReader;

/// The largest compressed size of a file that is read whole.
const WHOLE_COMPRESSED: u64 = 16 << 20;
/// The largest inflated size of a file that is inflated whole.
const WHOLE_INFLATED: usize = 64 << 20;
/// Deflate cannot shrink by more than this (258 bytes in two bits, and block headers).
const MAX_RATIO: usize = 1032;
/// The bytes of header and trailer of the smallest member.
const SMALLEST: usize = 18;
/// The first bytes of every member: magic and the only method.
const MEMBER: &[u8] = b"\x1f\x8b\x08";

/// The content of a file.
pub(super) enum Content<'a> {
    /// All inflated bytes, with a verified checksum.
    Whole(&'a [u8]),
    /// A stream of the inflated bytes of any number of members.
    Stream(Box<dyn Read + 'a>),
}

/// Opens gzip files and keeps its buffers from one to the next.
pub(super) struct Inflater {
    decompressor: Decompressor,
    compressed: Vec<u8>,
    inflated: Vec<u8>,
}

impl Inflater {
    pub(super) fn new() -> Self {
        Inflater { decompressor: Decompressor::new(), compressed: Vec::new(), inflated: Vec::new() }
    }

    /// Opens `path`. Reading the stream says how a damaged file is damaged.
    pub(super) fn open(&mut self, path: &Path) -> Result<Content<'_>, Error> {
        let io = |error| Error::io(path, error);
        let file = open_member(path).map_err(io)?;
        if file.metadata().map_err(io)?.len() > WHOLE_COMPRESSED {
            let reader = BufReader::with_capacity(1 << 18, file);
            return Ok(Content::Stream(stream(reader)));
        }
        self.compressed.clear();
        let limit = WHOLE_COMPRESSED + 1;
        (&file).take(limit).read_to_end(&mut self.compressed).map_err(io)?;
        if self.compressed.len() as u64 == limit {
            // The file has grown since its length was read.
            let start = io::Cursor::new(&self.compressed);
            return Ok(Content::Stream(stream(BufReader::new(start.chain(file)))));
        }
        match self.inflate_whole() {
            Some(length) => Ok(Content::Whole(&self.inflated[..length])),
            None => Ok(Content::Stream(stream(&self.compressed[..]))),
        }
    }

    /// Inflates `compressed`, if it is one valid member of moderate size and nothing else.
    ///
    /// libdeflate stops after the first member without saying where. A second member would start
    /// with [`MEMBER`], so a file that has these bytes anywhere else is read as a stream. So is a
    /// file with other bytes at the end: its last four bytes are not the inflated length.
    fn inflate_whole(&mut self) -> Option<usize> {
        let data = &self.compressed[..];
        if data.len() < SMALLEST || memchr::memmem::find(&data[1..], MEMBER).is_some() {
            return None;
        }
        let (_, length) = data.split_last_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        if length > WHOLE_INFLATED || length > data.len() * MAX_RATIO {
            return None;
        }
        if self.inflated.len() < length {
            self.inflated.resize(length, 0);
        }
        let inflated = &mut self.inflated[..length];
        let got = self.decompressor.gzip_decompress(data, inflated).ok()?;
        (got == length).then_some(length)
    }
}

fn stream<'a>(reader: impl BufRead + 'a) -> Box<dyn Read + 'a> {
    Box::new(GzipReader::new(reader))
}

/// Returns the error of a read from a [`Content::Stream`]: a defect of the file, unless reading the
/// file itself failed.
pub(super) fn read_error(path: &Path, line: u64, error: io::Error) -> Error {
    let cause = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file ends inside it".to_owned(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => error.to_string(),
        _ => return Error::io(path, error),
    };
    Error::bad(path, Some(line), Defect::Gzip { cause })
}
