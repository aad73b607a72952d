//! A file that is read as text, and its hash.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{Cause, FolderError};

/// Returns the SHA-256 of bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes))
}

/// Maximum length of a file, in bytes: reading one takes a multiple of this in memory. Gemma 3 has 33 MB.
const LONGEST_FILE: u64 = 1 << 28;

/// Reads a file as text.
pub fn read_text(path: &Path) -> Result<String, FolderError> {
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
    String::from_utf8(bytes)
        .map_err(|error| FolderError::new(path, Cause::Encoding(error.utf8_error().valid_up_to())))
}
