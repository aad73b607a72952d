//! The bytes of a Parquet file, for the crate `parquet`. The crate turns system errors into text, so the
//! first one is kept here.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

#[derive(Debug, Clone)]
pub(super) struct ReadableFile(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: File,
    length: u64,
    failure: OnceLock<io::Error>,
}

/// The first and the last bytes of a file. Before the last ones is the length of the footer (u32,
/// little-endian).
pub(super) const MAGIC: &[u8; 4] = b"PAR1";
const TRAILER: u64 = 8;

impl ReadableFile {
    pub fn new(file: File) -> io::Result<ReadableFile> {
        let length = file.metadata()?.len();
        Ok(ReadableFile(Arc::new(Inner { file, length, failure: OnceLock::new() })))
    }

    pub fn file(&self) -> &File {
        &self.0.file
    }

    /// Returns the system's error, if reading the file has failed.
    pub fn failure(&self) -> Option<&io::Error> {
        self.0.failure.get()
    }

    /// Returns the crate's result; if the system caused the error, returns the system's error.
    pub fn or_system_error<T>(&self, outcome: Result<T, ParquetError>) -> Result<T, ParquetError> {
        outcome.map_err(|error| match self.failure().and_then(io::Error::raw_os_error) {
            Some(number) => io::Error::from_raw_os_error(number).into(),
            None => error,
        })
    }

    /// Returns the bytes of the footer; `None` if the file does not end with one.
    pub fn footer(&self) -> io::Result<Option<Vec<u8>>> {
        let Some(end) = self.0.length.checked_sub(TRAILER) else { return Ok(None) };
        let mut trailer = [0; TRAILER as usize];
        self.read_exact_at(&mut trailer, end)?;
        let [a, b, c, d, magic @ ..] = trailer;
        let bytes = u32::from_le_bytes([a, b, c, d]);
        match end.checked_sub(bytes.into()) {
            Some(start) if magic == *MAGIC => {
                let mut footer = vec![0; bytes as usize];
                self.read_exact_at(&mut footer, start)?;
                Ok(Some(footer))
            }
            _ => Ok(None),
        }
    }

    fn read_exact_at(&self, into: &mut [u8], start: u64) -> io::Result<()> {
        self.file().read_exact_at(into, start).map_err(|error| self.keep_error(error))
    }

    /// Keeps an error of the system. The end of the file is an error of its content.
    fn keep_error(&self, error: io::Error) -> io::Error {
        if let Some(number) = error.raw_os_error() {
            let _ = self.0.failure.set(io::Error::from_raw_os_error(number));
        }
        error
    }
}

impl Length for ReadableFile {
    fn len(&self) -> u64 {
        self.0.length
    }
}

impl ChunkReader for ReadableFile {
    type T = BufReader<FileTail>;

    fn get_read(&self, start: u64) -> Result<BufReader<FileTail>, ParquetError> {
        Ok(BufReader::new(FileTail { file: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let mut bytes = vec![0; length];
        self.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// The rest of a file from an offset on.
#[derive(Debug)]
pub(super) struct FileTail {
    file: ReadableFile,
    at: u64,
}

impl Read for FileTail {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.file().read_at(into, self.at);
        let read = read.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => self.file.keep_error(error),
        })?;
        // Only the trailer reaches the end of a file. The crate takes a missing byte for a skipped one,
        // and would look for 2^31 of them.
        if read == 0 && !into.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at += read as u64;
        Ok(read)
    }
}
