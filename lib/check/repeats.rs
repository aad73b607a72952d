//! Finds equal records among very many, in bounded memory: if the hashes and places are too many,
//! they go to disk in partitions, and each partition is sorted by itself. Equal hashes only make
//! candidates: the caller compares the records themselves, so nothing is reported falsely.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Seek, Write};

use byteorder::{ByteOrder, LittleEndian};

use crate::error::{Error, Result};

/// Entries kept in memory: 32 bytes each.
const IN_MEMORY: usize = 1 << 21;
/// With the 76 million sequences of SYNTH a partition has 300,000 entries, 7 MB.
const PARTITIONS: usize = 256;
/// Bytes gathered for a partition before they are written.
const BUFFER: usize = 1 << 14;
const ENTRY: usize = 24;

/// Where a record is: the number of its set or file (given by the caller), and its number in
/// that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordPlace {
    pub set: usize,
    pub number: u64,
}

/// A place is kept in one number, the set in the upper bits.
const NUMBER_BITS: u32 = 44;

/// Collects the hash and the place of every record.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    entries: Vec<(u128, u64)>,
    partitions: Vec<Partition>,
}

#[derive(Debug)]
struct Partition {
    buffer: Vec<u8>,
    file: File,
}

/// The hash of a record's bytes; the same within a run, and only a hint that two are equal.
pub(crate) fn hash(parts: &[&[u8]]) -> u128 {
    let mut hasher = DefaultHasher::new();
    for part in parts {
        hasher.write_usize(part.len());
        hasher.write(part);
    }
    u128::from(hasher.finish()) << 64
}

impl Repeats {
    pub fn add(&mut self, hash: u128, set: usize, number: u64) -> Result<()> {
        self.insert(hash, (set as u64) << NUMBER_BITS | number).map_err(|e| failed(&e))
    }

    /// The same for records that follow one another.
    pub fn extend(&mut self, hashes: &[u128], set: usize, first: u64) -> Result<()> {
        (first..).zip(hashes).try_for_each(|(number, hash)| self.add(*hash, set, number))
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

    /// Calls `each` with every hash, ascending.
    pub fn each_hash(mut self, mut each: impl FnMut(u128)) -> Result<()> {
        let mut of_entries = |entries: &mut Vec<(u128, u64)>| {
            entries.sort_unstable();
            entries.iter().for_each(|(hash, _)| each(*hash));
        };
        of_entries(&mut self.entries);
        // Partitions are divided by the leading bits.
        for mut partition in self.partitions {
            of_entries(&mut partition.entries().map_err(|e| failed(&e))?);
        }
        Ok(())
    }

    /// Calls `each` with the places, ascending, of all records that share a hash. If all hashes are
    /// in memory or in one partition, the calls are in the order of the first places.
    pub fn candidates(mut self, mut each: impl FnMut(&[RecordPlace]) -> Result<()>) -> Result<()> {
        let place = |&(_, place): &(u128, u64)| RecordPlace {
            set: (place >> NUMBER_BITS) as usize,
            number: place & ((1 << NUMBER_BITS) - 1),
        };
        let mut of_entries = |entries: &mut Vec<(u128, u64)>| -> Result<()> {
            entries.sort_unstable();
            let shared = entries.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1);
            let mut groups: Vec<Vec<RecordPlace>> =
                shared.map(|same| same.iter().map(place).collect()).collect();
            groups.sort_unstable();
            groups.iter().try_for_each(|places| each(places))
        };
        of_entries(&mut self.entries)?;
        for mut partition in self.partitions {
            let mut entries = partition.entries().map_err(|e| failed(&e))?;
            of_entries(&mut entries)?;
        }
        Ok(())
    }

    /// Calls `each` with the places, ascending, of equal records: `read` gives what is compared.
    pub fn equal<R: PartialEq>(
        self,
        mut read: impl FnMut(RecordPlace) -> Result<R>,
        mut each: impl FnMut(&[RecordPlace]),
    ) -> Result<()> {
        self.candidates(|places| {
            let mut left = places.to_vec();
            while let [first, others @ ..] = left.as_slice() {
                let record = read(*first)?;
                let (mut same, mut different) = (vec![*first], Vec::new());
                for &other in others {
                    if read(other)? == record { same.push(other) } else { different.push(other) }
                }
                each(&same);
                left = different;
            }
            Ok(())
        })
    }

    /// Moves to disk.
    fn spill(&mut self) -> io::Result<()> {
        for _ in 0..PARTITIONS {
            // Without a name: it is removed when the process ends, however that happens.
            let file = tempfile::tempfile_in(std::env::temp_dir())?;
            self.partitions.push(Partition { buffer: Vec::new(), file });
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
    fn entries(&mut self) -> io::Result<Vec<(u128, u64)>> {
        let bytes = self.read()?;
        let entry = |entry: &[u8; ENTRY]| {
            let number = |bytes: &[u8]| LittleEndian::read_uint128(bytes, bytes.len());
            (number(&entry[..16]), number(&entry[16..]) as u64)
        };
        Ok(bytes.as_chunks::<ENTRY>().0.iter().map(entry).collect())
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(repeats: Repeats) -> Vec<Vec<u64>> {
        let mut all = Vec::new();
        let done = repeats.candidates(|places| {
            assert!(places.iter().all(|place| place.set == 3));
            all.push(places.iter().map(|place| place.number).collect());
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
            memory.add(hash, 3, place).unwrap();
            disk.add(hash, 3, place).unwrap();
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
