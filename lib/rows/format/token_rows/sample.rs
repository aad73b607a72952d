//! A hash that tells whether a large file is another one or was changed, without reading all of it: the
//! SHA-256 of its size and of some of its blocks. A file of up to 4 MiB is read whole.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use sha2::{Digest, Sha256};

use crate::digest::hex;

/// The largest size of a file that is read whole.
const WHOLE: u64 = 4 << 20;
/// How many blocks of a larger file are read: the first at its start, the last at its end, the
/// others evenly between.
const BLOCKS: u64 = 256;
const BLOCK: u64 = 4096;

/// Returns the hash, in hexadecimal, of the size (u64, little-endian) and then of the file or its
/// blocks.
pub(super) fn sample(file: &File) -> io::Result<String> {
    let bytes = file.metadata()?.len();
    let mut hash = Sha256::new();
    hash.update(bytes.to_le_bytes());
    let (count, block) = if bytes <= WHOLE { (1, bytes) } else { (BLOCKS, BLOCK) };
    let mut buffer = vec![0; block as usize];
    for number in 0..count {
        let start = match number {
            0 => 0,
            number => {
                (u128::from(bytes - block) * u128::from(number) / u128::from(BLOCKS - 1)) as u64
            }
        };
        file.read_exact_at(&mut buffer, start)?;
        hash.update(&buffer);
    }
    Ok(hex(&hash.finalize()))
}
