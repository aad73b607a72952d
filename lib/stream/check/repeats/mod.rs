//! Finds equal records among very many, in bounded memory. If there are too many hashes and places, they
//! go to disk in partitions, and each partition is searched by itself. Equal hashes are only candidates:
//! the caller compares the records themselves, so that nothing is reported falsely.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};

use byteorder::{ByteOrder, LittleEndian};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::error::{Error, Result};

mod large;

/// The most entries in memory: 32 bytes each.
const IN_MEMORY: usize = 1 << 21;
/// With the 76 million sequences of SYNTH a partition has 300,000 entries, 7 MB.
const PARTITIONS: usize = 256;
/// How many places of equal hashes are kept while a larger partition is read.
const WAITING: usize = 1 << 18;
/// How many bytes are gathered for a partition before they are written.
const BUFFER: usize = 1 << 14;
const ENTRY: usize = 24;

/// The place of a record: the number of its set or file (assigned by the caller), and its number in that
/// set or file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordPlace {
    pub set: usize,
    pub number: u64,
}

/// A place is kept as one number; the upper bits are the set.
const NUMBER_BITS: u32 = 44;

/// Collects the hash and the place of every record.
#[derive(Debug, Default)]
pub struct Repeats {
    entries: Vec<(u128, u64)>,
    partitions: Vec<Partition>,
}

#[derive(Debug)]
struct Partition {
    buffer: Vec<u8>,
    entries: usize,
    file: File,
}

/// Returns the hash of a record's bytes; equal hashes only suggest that two records are equal.
pub fn hash(parts: &[&[u8]]) -> u128 {
    if let [whole] = parts {
        return xxh3_128(whole);
    }
    let mut hasher = Xxh3::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.digest128()
}

impl Repeats {
    pub fn add(&mut self, hash: u128, set: usize, number: u64) -> Result<()> {
        self.insert(hash, (set as u64) << NUMBER_BITS | number).map_err(|e| disk_error(&e))
    }

    /// Adds the hashes of records that follow one another.
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

    /// Calls `each` with every hash, ascending, once.
    pub fn each_hash(&mut self, mut each: impl FnMut(u128) -> Result<()>) -> Result<()> {
        self.entries.sort_unstable();
        let different = self.entries.chunk_by(|a, b| a.0 == b.0).filter_map(<[_]>::first);
        different.into_iter().try_for_each(|(hash, _)| each(*hash))?;
        // Partitions are divided by the leading bits.
        let mut partitions = self.partitions.iter_mut();
        partitions.try_for_each(|partition| partition.hashes()?.into_iter().try_for_each(&mut each))
    }

    /// Calls `each` with the ascending places of all records that share a hash. If all hashes are in memory
    /// or in one partition, the calls are in the order of the first places. If very many places share a
    /// hash, they come in several calls; the first argument then has some earlier places: the very first
    /// one, and the first of each set.
    pub fn candidates(
        mut self,
        mut each: impl FnMut(&[RecordPlace], &[RecordPlace]) -> Result<()>,
    ) -> Result<()> {
        in_memory(&mut self.entries, &mut each)?;
        for mut partition in self.partitions {
            partition.flush().map_err(|e| disk_error(&e))?;
            if partition.entries > IN_MEMORY {
                large::candidates(&mut partition, WAITING, &mut each)?;
                continue;
            }
            let mut entries = Vec::with_capacity(partition.entries);
            partition.each(|hash, place| {
                entries.push((hash, place));
                Ok(())
            })?;
            in_memory(&mut entries, &mut each)?;
        }
        Ok(())
    }

    /// Calls `each` with the places of records that are equal, not only their hashes: `read`
    /// returns what is compared.
    pub fn equal<R: PartialEq>(
        self,
        mut read: impl FnMut(RecordPlace) -> Result<R>,
        mut each: impl FnMut(&[RecordPlace], &[RecordPlace]),
    ) -> Result<()> {
        self.candidates(|earlier, places| {
            let mut left = [earlier, places].concat();
            let mut earlier = earlier.len();
            while let Some(first) = left.first() {
                let record = read(*first)?;
                let (mut same, mut different) = (Vec::new(), Vec::new());
                let (mut earlier_same, mut earlier_different) = (0, 0);
                for (index, &other) in left.iter().enumerate() {
                    let is_same = index == 0 || read(other)? == record;
                    let (list, count) = if is_same {
                        (&mut same, &mut earlier_same)
                    } else {
                        (&mut different, &mut earlier_different)
                    };
                    list.push(other);
                    *count += usize::from(index < earlier);
                }
                let (before, new) = same.split_at(earlier_same);
                each(before, new);
                (left, earlier) = (different, earlier_different);
            }
            Ok(())
        })
    }

    /// Moves the entries to disk.
    fn spill(&mut self) -> io::Result<()> {
        for _ in 0..PARTITIONS {
            // The file has no name: it is removed when the process ends, however that happens.
            let file = tempfile::tempfile_in(std::env::temp_dir())?;
            self.partitions.push(Partition { buffer: Vec::new(), entries: 0, file });
        }
        for (hash, place) in std::mem::take(&mut self.entries) {
            self.write(hash, place)?;
        }
        Ok(())
    }

    fn write(&mut self, hash: u128, place: u64) -> io::Result<()> {
        let partition = &mut self.partitions[(hash >> 120) as usize % PARTITIONS];
        partition.entries += 1;
        partition.buffer.extend_from_slice(&hash.to_le_bytes());
        partition.buffer.extend_from_slice(&place.to_le_bytes());
        if partition.buffer.len() >= BUFFER { partition.flush() } else { Ok(()) }
    }
}

impl Partition {
    /// Calls `take` with every entry, in the order in which they came.
    fn each(&mut self, mut take: impl FnMut(u128, u64) -> Result<()>) -> Result<()> {
        self.flush().and_then(|()| self.file.rewind()).map_err(|e| disk_error(&e))?;
        let mut reader = BufReader::with_capacity(1 << 16, &self.file);
        for _ in 0..self.entries {
            let mut entry = [0; ENTRY];
            reader.read_exact(&mut entry).map_err(|e| disk_error(&e))?;
            let number = |bytes: &[u8]| LittleEndian::read_uint128(bytes, bytes.len());
            take(number(&entry[..16]), number(&entry[16..]) as u64)?;
        }
        Ok(())
    }

    /// Returns the different hashes, ascending.
    fn hashes(&mut self) -> Result<Vec<u128>> {
        let mut hashes = Vec::new();
        self.each(|hash, _| {
            // Duplicates are removed before more memory is taken.
            if hashes.len() == hashes.capacity() {
                sort_different(&mut hashes);
                hashes.reserve(hashes.len().max(1));
            }
            hashes.push(hash);
            Ok(())
        })?;
        sort_different(&mut hashes);
        Ok(hashes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

fn sort_different(hashes: &mut Vec<u128>) {
    hashes.sort_unstable();
    hashes.dedup();
}

/// Calls `each` with the places of entries that share a hash, in the order of the first places.
fn in_memory(
    entries: &mut [(u128, u64)],
    each: &mut impl FnMut(&[RecordPlace], &[RecordPlace]) -> Result<()>,
) -> Result<()> {
    entries.sort_unstable();
    let shared = entries.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1);
    let mut groups: Vec<Vec<RecordPlace>> =
        shared.map(|same| same.iter().map(|entry| place(entry.1)).collect()).collect();
    groups.sort_unstable();
    groups.iter().try_for_each(|places| each(&[], places))
}

/// The user did not ask for temporary files, so every error with them counts as temporary.
fn disk_error(error: &io::Error) -> Error {
    let cause = format!("a temporary file (TMPDIR): {}", Error::writing(error).cause());
    Error::unavailable(cause).at(std::env::temp_dir().as_path())
}

fn place(packed: u64) -> RecordPlace {
    let set = (packed >> NUMBER_BITS) as usize;
    RecordPlace { set, number: packed & ((1 << NUMBER_BITS) - 1) }
}

/// Returns the first of equal places, and the new places after it.
pub fn first_and_others<'a>(
    earlier: &'a [RecordPlace],
    places: &'a [RecordPlace],
) -> Option<(&'a RecordPlace, &'a [RecordPlace])> {
    match earlier.first() {
        Some(first) => Some((first, places)),
        None => places.split_first(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(repeats: Repeats) -> Vec<Vec<u64>> {
        let mut all = Vec::new();
        let done = repeats.candidates(|earlier, places| {
            assert!(earlier.is_empty() && places.iter().all(|place| place.set == 3));
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
        let hashes = |repeats: &mut Repeats| {
            let mut hashes = Vec::new();
            let mut take = |hash| {
                hashes.push(hash);
                Ok(())
            };
            repeats.each_hash(&mut take).unwrap();
            assert!(hashes.is_sorted_by(|a, b| a < b));
            hashes
        };
        let all = hashes(&mut memory);
        assert_eq!(all.len(), 9000);
        // The second call gives the same.
        assert_eq!([hashes(&mut disk), hashes(&mut disk)], [all.clone(), all]);
        assert_eq!(found(memory), expected);
        assert_eq!(found(disk), expected);
    }

    #[test]
    fn more_than_memory_may_hold_goes_to_disk() {
        let mut repeats = Repeats::default();
        for number in 0..IN_MEMORY as u64 + 10 {
            repeats.add(u128::from(number % 1000) << 118, 0, number).unwrap();
            assert!(repeats.entries.len() <= IN_MEMORY);
        }
        assert_eq!(repeats.entries.capacity(), 0);
        assert_eq!(repeats.partitions.len(), PARTITIONS);
        assert!(repeats.partitions.iter().all(|part| part.buffer.len() < BUFFER));
        let entries: usize = repeats.partitions.iter().map(|part| part.entries).sum();
        assert_eq!(entries, IN_MEMORY + 10);
    }

    #[test]
    fn a_missing_tmpdir_is_named_and_may_pass() {
        let error = disk_error(&io::Error::from_raw_os_error(libc::ENOENT));
        let directory = std::env::temp_dir().display().to_string();
        let line = format!("{directory}: a temporary file (TMPDIR): No such file or directory");
        assert_eq!((error.kind().exit_code(), error.to_string()), (75, line));
    }

    #[test]
    fn the_parts_of_a_record_are_told_apart() {
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
    }
}
