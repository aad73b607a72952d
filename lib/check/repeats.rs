//! Which of very many records are equal, in bounded memory: hashes with their places go to disk in
//! partitions where they are too many, and each partition is sorted by itself. Equal hashes only
//! make candidates: whoever asks compares the records themselves, so nothing is reported falsely.

use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Seek, Write};

use byteorder::{ByteOrder, LittleEndian};

use crate::cli::{Error, Result};

/// Entries kept in memory: 32 bytes each.
const IN_MEMORY: usize = 1 << 21;
/// With the 76 million sequences of SYNTH a partition has 300,000 entries, 7 MB.
const PARTITIONS: usize = 256;
/// Bytes gathered for a partition before they are written.
const BUFFER: usize = 1 << 14;
const ENTRY: usize = 24;

/// Collects the hash and the place of every record.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    entries: Vec<(u128, u64)>,
    partitions: Vec<Partition>,
}

#[derive(Debug)]
struct Partition {
    buffer: Vec<u8>,
    file: File,
}

/// The hash of a record's bytes; the same within a run, and no more than a hint that two are equal.
pub(super) fn hash(parts: &[&[u8]]) -> u128 {
    let mut hasher = DefaultHasher::new();
    for part in parts {
        hasher.write_usize(part.len());
        hasher.write(part);
    }
    u128::from(hasher.finish()) << 64
}

impl Repeats {
    pub fn add(&mut self, hash: u128, place: u64) -> Result<()> {
        self.insert(hash, place).map_err(|e| failed(&e))
    }

    fn insert(&mut self, hash: u128, place: u64) -> io::Result<()> {
        if self.partitions.is_empty() {
            if self.entries.len() < IN_MEMORY {
                self.entries.push((hash, place));
                return Ok(());
            }
            self.spill()?;
        }
        self.write(hash, place)
    }

    /// Calls `each` with the places, ascending, of all records that share a hash; in the order of
    /// the first of them where all hashes are in memory, or in one partition.
    pub fn candidates(mut self, mut each: impl FnMut(&[u64]) -> Result<()>) -> Result<()> {
        let mut of_entries = |entries: &mut Vec<(u128, u64)>| -> Result<()> {
            entries.sort_unstable();
            let shared = entries.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1);
            let mut groups: Vec<Vec<u64>> =
                shared.map(|same| same.iter().map(|(_, place)| *place).collect()).collect();
            groups.sort_unstable();
            groups.iter().try_for_each(|places| each(places))
        };
        of_entries(&mut self.entries)?;
        for mut partition in self.partitions {
            let bytes = partition.read().map_err(|e| failed(&e))?;
            let entry = |entry: &[u8; ENTRY]| {
                let number = |bytes: &[u8]| LittleEndian::read_uint128(bytes, bytes.len());
                (number(&entry[..16]), number(&entry[16..]) as u64)
            };
            let mut entries: Vec<(u128, u64)> =
                bytes.as_chunks::<ENTRY>().0.iter().map(entry).collect();
            drop(bytes);
            of_entries(&mut entries)?;
        }
        Ok(())
    }

    /// Moves to disk.
    fn spill(&mut self) -> io::Result<()> {
        for number in 0..PARTITIONS {
            self.partitions.push(Partition { buffer: Vec::new(), file: unnamed_file(number)? });
        }
        for (hash, place) in std::mem::take(&mut self.entries) {
            self.write(hash, place)?;
        }
        Ok(())
    }

    fn write(&mut self, hash: u128, place: u64) -> io::Result<()> {
        let partition = &mut self.partitions[(hash >> 120) as usize % PARTITIONS];
        partition.buffer.extend_from_slice(&hash.to_le_bytes());
        partition.buffer.extend_from_slice(&place.to_le_bytes());
        if partition.buffer.len() >= BUFFER { partition.flush() } else { Ok(()) }
    }
}

impl Partition {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        self.flush()?;
        self.file.rewind()?;
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

fn failed(error: &io::Error) -> Error {
    Error::write("temporary file (TMPDIR)", error)
}

/// A file in the directory for temporaries (`TMPDIR`) that has no name any more: it goes with the
/// process, however that ends.
fn unnamed_file(number: usize) -> io::Result<File> {
    let name = format!(".gristmill-repeats-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(repeats: Repeats) -> Vec<Vec<u64>> {
        let mut all = Vec::new();
        let done = repeats.candidates(|places| {
            all.push(places.to_vec());
            Ok(())
        });
        done.unwrap();
        all.sort();
        all
    }

    #[test]
    fn memory_and_disk_find_the_same() {
        let mut memory = Repeats::default();
        let mut disk = Repeats::default();
        disk.spill().unwrap();
        for place in 0..10_000u64 {
            // 9,000 different records, the first 1,000 of them twice.
            let hash = hash(&[&(place % 9000).to_le_bytes()]);
            memory.add(hash, place).unwrap();
            disk.add(hash, place).unwrap();
        }
        let expected: Vec<Vec<u64>> = (0..1000).map(|place| vec![place, place + 9000]).collect();
        assert_eq!(found(memory), expected);
        assert_eq!(found(disk), expected);
    }

    #[test]
    fn the_parts_of_a_record_are_told_apart() {
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
    }
}
