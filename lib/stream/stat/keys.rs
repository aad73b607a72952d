//! Finds ids and texts that occur more than once. Each is kept as its XXH3 of 128 bits; two different ones
//! will not share that by chance. If there are many, they go to disk (see `check::repeats`).

use arrow_buffer::ToByteSlice;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::CountedRows;
use crate::check::repeats::Repeats;
use crate::digest::hex;
use crate::error::{Error, Result};

/// The keys of ids and texts of some records.
#[derive(Debug, Default)]
pub(super) struct RecordKeys {
    pub ids: Vec<u128>,
    pub texts: Vec<u128>,
}

/// The numbers of repeated ids and texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatCounts {
    /// Records whose id an earlier record has; null if no record has an id.
    pub ids: Option<u64>,
    /// Records whose tokens, messages or example an earlier record has; null if no record has any
    /// of these.
    pub texts: Option<u64>,
}

/// Returns the key of numbers: of the values of an example, or of tokens.
pub fn key(values: &[i32]) -> u128 {
    #[cfg(target_endian = "little")]
    return xxh3_128(values.to_byte_slice());
    #[cfg(target_endian = "big")]
    xxh3_128(values.iter().map(|value| value.to_le()).collect::<Vec<i32>>().to_byte_slice())
}

impl RecordKeys {
    pub fn add(&mut self, rows: &dyn CountedRows, row: usize) {
        let Some(text) = rows.text_key(row) else { return };
        let id = rows.id(row);
        self.ids.extend(id.map(|id| xxh3_128(id.as_bytes())));
        self.texts.push(text);
    }
}

/// The keys of all records so far. At most two million keys of ids and two of texts are in memory,
/// 32 bytes each; if there are more, they are on disk.
#[derive(Debug, Default)]
pub(super) struct Keys {
    ids: KeySet,
    texts: KeySet,
}

#[derive(Debug, Default)]
struct KeySet {
    repeats: Repeats,
    /// The number of keys, and of different keys.
    count: u64,
    different: u64,
}

/// How many records have an id, and how many have a text: these records have keys in an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeyCounts {
    ids: u64,
    texts: u64,
}

/// The members of an answer that hold keys: each key once, ascending, in an array of texts with 32
/// hexadecimal digits for each key. So parts can be merged, and read piece by piece.
pub(super) const MEMBERS: [&str; 2] = ["id_keys", "text_keys"];
/// How many keys one text has.
const PIECE: usize = 1024;

impl KeySet {
    fn extend(&mut self, keys: impl IntoIterator<Item = u128>) -> Result<()> {
        for key in keys {
            self.count += 1;
            self.repeats.add(key, 0, 0)?;
        }
        Ok(())
    }

    /// Returns how many keys occurred before.
    fn repeated(&mut self) -> Result<Option<u64>> {
        let mut different = 0;
        self.repeats.each_hash(|_| {
            different += 1;
            Ok(())
        })?;
        self.different = different;
        Ok((self.count > 0).then_some(self.count.saturating_sub(different)))
    }

    /// Writes the keys as the content of an array.
    fn write(&mut self, out: &mut impl FnMut(&str) -> Result<()>) -> Result<()> {
        let (mut piece, mut left) = (String::new(), self.different);
        let mut keys = 0;
        self.repeats.each_hash(|key| {
            piece += if keys == 0 { "\"" } else { "" };
            piece += &hex(&key.to_be_bytes());
            (keys, left) = (keys + 1, left.saturating_sub(1));
            if keys == PIECE || left == 0 {
                piece += if left == 0 { "\"" } else { "\"," };
                out(&piece)?;
                piece.clear();
                keys = 0;
            }
            Ok(())
        })
    }
}

impl Keys {
    pub fn extend(&mut self, keys: RecordKeys) -> Result<()> {
        self.ids.extend(keys.ids)?;
        self.texts.extend(keys.texts)
    }

    /// Adds keys from a member of an answer.
    pub fn add_written(&mut self, member: &str, text: &str) -> Result<()> {
        let keys = parse_keys(text)?;
        let [ids, _] = MEMBERS;
        let set = if member == ids { &mut self.ids } else { &mut self.texts };
        keys.into_iter().try_for_each(|key| set.repeats.add(key, 0, 0))
    }

    /// Adds the number of records to which the keys belong that [`Keys::add_written`] has added.
    pub fn count(&mut self, keyed: KeyCounts) {
        self.ids.count = self.ids.count.saturating_add(keyed.ids);
        self.texts.count = self.texts.count.saturating_add(keyed.texts);
    }

    pub fn keyed(&self) -> KeyCounts {
        KeyCounts { ids: self.ids.count, texts: self.texts.count }
    }

    pub fn repeated(&mut self) -> Result<RepeatCounts> {
        Ok(RepeatCounts { ids: self.ids.repeated()?, texts: self.texts.repeated()? })
    }

    /// Writes the members after others. The repeats must have been counted before.
    pub fn write(&mut self, out: &mut impl FnMut(&str) -> Result<()>) -> Result<()> {
        for (member, set) in MEMBERS.into_iter().zip([&mut self.ids, &mut self.texts]) {
            out(&format!(",\"{member}\":["))?;
            set.write(out)?;
            out("]")?;
        }
        Ok(())
    }
}

fn parse_keys(text: &str) -> Result<Vec<u128>> {
    let bad = || Error::data("keys that are not hexadecimal digits");
    let (keys, rest) = text.as_bytes().as_chunks::<32>();
    if !rest.is_empty() {
        return Err(bad());
    }
    let key = |digits: &[u8; 32]| {
        let digits = str::from_utf8(digits).map_err(|_| bad())?;
        u128::from_str_radix(digits, 16).map_err(|_| bad())
    };
    keys.iter().map(key).collect()
}
