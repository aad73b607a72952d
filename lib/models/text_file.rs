//! A file that is read as text, and its hash. A file that cannot be looked up is never taken for one that is not
//! there.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::str::Utf8Error;

use sha2::{Digest, Sha256};

use crate::error::{Cause, FolderError};

/// Returns the SHA-256 of bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes))
}

/// Returns what a path leads to; `None` if there is nothing, not even a link.
pub fn found(path: &Path) -> Result<Option<Metadata>, FolderError> {
    let is_absent =
        |error: &io::Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found)),
        // A link to nothing is what a broken download leaves.
        Err(error) if is_absent(&error) => match fs::symlink_metadata(path) {
            Ok(_) => Err(irregular(path, "is a link to nothing")),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(FolderError::new(path, Cause::Read(error))),
        },
        Err(error) => Err(FolderError::new(path, Cause::Read(error))),
    }
}

/// Returns the error for something else than what should have this name.
pub fn irregular(path: &Path, cause: &str) -> FolderError {
    FolderError::new(path, Cause::Read(io::Error::new(ErrorKind::InvalidInput, cause)))
}

/// Whether there is a file of this name. Anything else of this name is an error: a pipe would be waited for.
pub fn is_there(path: &Path) -> Result<bool, FolderError> {
    match found(path)? {
        Some(found) if found.is_file() => Ok(true),
        Some(found) if found.is_dir() => {
            Err(FolderError::new(path, Cause::Read(ErrorKind::IsADirectory.into())))
        }
        Some(_) => Err(irregular(path, "is no regular file")),
        None => Ok(false),
    }
}

/// Maximum length of a file, in bytes: reading one takes a multiple of this in memory. Gemma 3 has 33 MB.
const LONGEST_FILE: u64 = 1 << 28;

/// Reads a file as text.
pub fn read_text(path: &Path) -> Result<String, FolderError> {
    String::from_utf8(read_bytes(path)?).map_err(|error| not_text(path, error.utf8_error()))
}

/// Returns the bytes of a file as text.
pub fn text_of<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, FolderError> {
    // (The standard library takes ten times as long where ASCII and other characters alternate, as in vocabularies.)
    let text = simdutf8::basic::from_utf8(bytes);
    text.or_else(|_| str::from_utf8(bytes)).map_err(|error| not_text(path, error))
}

fn not_text(path: &Path, error: Utf8Error) -> FolderError {
    FolderError::new(path, Cause::Encoding(error.valid_up_to()))
}

/// Reads a file.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, FolderError> {
    let read = |error| FolderError::new(path, Cause::Read(error));
    let file = File::open(path).map_err(read)?;
    let length = file.metadata().map_err(read)?.len();
    let mut bytes = Vec::new();
    if length <= LONGEST_FILE {
        bytes.reserve(length as usize);
        file.take(LONGEST_FILE + 1).read_to_end(&mut bytes).map_err(read)?;
    }
    // A pipe says that its length is 0.
    if length.max(bytes.len() as u64) > LONGEST_FILE {
        return Err(FolderError::other(path, format!("longer than {LONGEST_FILE} bytes")));
    }
    Ok(bytes)
}
