//! SHA-256 of a reader's bytes, and bytes as hexadecimal text.

use std::io::{self, Read};

use sha2::block_api::compress256;
use sha2::{Digest, Sha256};

use crate::simd::sha256_two;

/// Returns bytes as lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(bytes)
}

/// Returns the SHA-256 of bytes in memory, in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Reads to the end; returns the number of bytes, and their SHA-256 in hexadecimal.
pub fn sha256_of(mut reader: impl Read) -> io::Result<(u64, String)> {
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut buffer = vec![0; 1 << 18];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((bytes, hex(&hash.finalize()))),
            Ok(read) => {
                bytes += read as u64;
                hash.update(&buffer[..read]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Reads two readers to their ends, side by side; returns the SHA-256 of each in hexadecimal.
pub fn sha256_of_two<R: Read>(readers: [R; 2]) -> [io::Result<String>; 2] {
    let mut chains = readers.map(HashChain::new);
    loop {
        chains.iter_mut().for_each(HashChain::fill);
        let [first, second] = &chains;
        let count = first.blocks().len().min(second.blocks().len());
        if count == 0 {
            return chains.map(HashChain::finish);
        }
        let mut states = [first.state, second.state];
        let blocks = [&first.blocks()[..count], &second.blocks()[..count]];
        if !sha256_two(&mut states, blocks) {
            states.iter_mut().zip(blocks).for_each(|(state, blocks)| compress256(state, blocks));
        }
        for (chain, state) in chains.iter_mut().zip(states) {
            chain.add(state, count);
        }
    }
}

/// The first 32 bits of the fractional parts of the square roots of the first eight primes (FIPS 180-4).
const INITIAL: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];
const BLOCK: usize = 64;
/// Bytes that are read at a time: whole blocks.
const BUFFER: usize = 1 << 18;

/// The SHA-256 of a reader's bytes, block by block.
struct HashChain<R> {
    reader: R,
    state: [u32; 8],
    /// The bytes that are in no block yet, from `start` on.
    buffer: Vec<u8>,
    start: usize,
    /// Bytes so far that were added.
    added: u64,
    failure: Option<io::Error>,
}

impl<R: Read> HashChain<R> {
    fn new(reader: R) -> HashChain<R> {
        let (state, buffer) = (INITIAL, Vec::with_capacity(BUFFER));
        HashChain { reader, state, buffer, start: 0, added: 0, failure: None }
    }

    /// Returns the whole blocks that were read.
    fn blocks(&self) -> &[[u8; BLOCK]] {
        self.buffer[self.start..].as_chunks().0
    }

    /// Reads more if no whole block is left; at the end none is left then.
    fn fill(&mut self) {
        if !self.blocks().is_empty() || self.failure.is_some() {
            return;
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let room = (BUFFER - self.buffer.len()) as u64;
        // (It reads on after an interruption.)
        let read = self.reader.by_ref().take(room).read_to_end(&mut self.buffer);
        self.failure = read.err();
    }

    /// Notes the state after so many blocks.
    fn add(&mut self, state: [u32; 8], count: usize) {
        self.state = state;
        self.start += count * BLOCK;
        self.added += (count * BLOCK) as u64;
    }

    fn finish(mut self) -> io::Result<String> {
        while !self.blocks().is_empty() {
            let mut state = self.state;
            compress256(&mut state, self.blocks());
            self.add(state, self.blocks().len());
            self.fill();
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        // A one, zeros, and the number of bits: whole blocks.
        let mut end = self.buffer.split_off(self.start);
        let bits = (self.added + end.len() as u64) * 8;
        end.push(0x80);
        end.resize((end.len() + 8).next_multiple_of(BLOCK) - 8, 0);
        end.extend(bits.to_be_bytes());
        compress256(&mut self.state, end.as_chunks().0);
        Ok(hex(self.state.map(u32::to_be_bytes).as_flattened()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_readers_have_the_hashes_of_their_bytes() {
        let bytes: Vec<u8> = (0..2 * BUFFER + 200).map(|i| (i ^ i >> 7) as u8).collect();
        let lengths =
            [0, 1, 55, 56, 63, 64, 65, 119, 128, BUFFER - 1, BUFFER, BUFFER + 64, bytes.len()];
        for first in lengths {
            for second in lengths {
                let texts = [&bytes[..first], &bytes[bytes.len() - second..]];
                let found = sha256_of_two(texts).map(Result::unwrap);
                assert_eq!(found, texts.map(sha256_hex), "{first} and {second}");
            }
        }
    }
}
