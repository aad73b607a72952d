//! A map with a quick hash, for vocabularies of hundreds of thousands of tokens that are read once. A file of
//! equal hashes only takes longer to load.

use std::hash::{BuildHasherDefault, Hasher};

pub type Map<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Fold>>;

/// A multiplication for each eight bytes.
#[derive(Default)]
pub struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        for chunk in chunks.iter().chain(std::iter::once(&last)) {
            self.write_u64(u64::from_le_bytes(*chunk));
        }
    }

    fn write_u8(&mut self, number: u8) {
        // The end of a text.
        self.0 = self.0.rotate_left(7) ^ u64::from(number);
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number ^ 0x9e37_79b9_7f4a_7c15) * 0xd134_2543_de82_ef95;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}
