//! The formats on disk, one file each, with its page beside it.

pub mod kd_root;
pub mod metadata_db;
pub mod mmidx;
pub mod npy;
pub mod pack;
pub mod parquet;
pub mod pools;
pub mod puzzle_dir;
pub mod raw_games;

use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// The sha256 of all that a reader gives, in hexadecimal.
pub fn sha256(reader: &mut impl Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(read) => hash.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Bytes as lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
