//! Which ids and texts occur more than once: each is kept as 128 bits of its SHA-256, which two
//! different ones will not share by chance. Many go to disk (see `check::repeats`).

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::check::repeats::Repeats;
use crate::digest::hex;
use crate::error::{Error, Result};
use crate::record::Rows;

/// The keys of ids and texts of some records.
#[derive(Debug, Default)]
pub(super) struct RecordKeys {
    pub ids: Vec<u128>,
    pub texts: Vec<u128>,
}

/// What is known of repeats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeated {
    /// Records whose id an earlier one has; null if no record has an id.
    pub ids: Option<u64>,
    /// Records whose tokens, messages or example an earlier one has; null where there is none of
    /// these.
    pub texts: Option<u64>,
}

fn key(parts: &[&[u8]]) -> u128 {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().iter().take(16).fold(0, |key, &byte| key << 8 | u128::from(byte))
}

fn little_endian(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

impl RecordKeys {
    pub fn add(&mut self, rows: &Rows<'_>, row: usize) {
        let (id, text) = match rows {
            Rows::Tokens(rows) => (rows.id(row), key(&[&little_endian(rows.tokens(row))])),
            Rows::Conversation(rows) => {
                let text = rows.messages_json(row).unwrap_or_default();
                (rows.id(row), key(&[text.as_bytes()]))
            }
            Rows::Puzzle(rows) => {
                let puzzle = rows.get(row);
                let length = (puzzle.inputs.len() as u64).to_le_bytes();
                let [inputs, labels] = [puzzle.inputs, puzzle.labels].map(little_endian);
                (None, key(&[&length, &inputs, &labels]))
            }
            Rows::Game(_) | Rows::Other(_) => return,
        };
        self.ids.extend(id.map(|id| key(&[id.as_bytes()])));
        self.texts.push(text);
    }
}

/// The keys of all records so far.
#[derive(Debug, Default)]
pub(super) struct Keys {
    ids: KeySet,
    texts: KeySet,
}

#[derive(Debug, Default)]
struct KeySet {
    repeats: Repeats,
    count: u64,
}

impl KeySet {
    fn extend(&mut self, keys: impl IntoIterator<Item = u128>) -> Result<()> {
        for key in keys {
            self.count += 1;
            self.repeats.add(key, 0, 0)?;
        }
        Ok(())
    }

    /// How many keys occurred before, and all keys in hexadecimal, ascending, if they are wanted.
    fn finish(self, written: bool) -> Result<(Option<u64>, String)> {
        let (mut repeated, mut last, mut text) = (0, None, String::new());
        match written {
            true => self.repeats.each_hash(|key| {
                repeated += u64::from(last == Some(key));
                last = Some(key);
                text += &hex(&key.to_be_bytes());
            })?,
            false => self.repeats.candidates(|earlier, places| {
                repeated += places.len() as u64 - u64::from(earlier.is_empty());
                Ok(())
            })?,
        }
        Ok(((self.count > 0).then_some(repeated), text))
    }
}

impl Keys {
    pub fn extend(&mut self, keys: RecordKeys) -> Result<()> {
        self.ids.extend(keys.ids)?;
        self.texts.extend(keys.texts)
    }

    pub fn merge(&mut self, written: &WrittenKeys) -> Result<()> {
        self.ids.extend(parsed(&written.ids)?)?;
        self.texts.extend(parsed(&written.texts)?)
    }

    pub fn finish(self, written: bool) -> Result<(Repeated, Option<WrittenKeys>)> {
        let (ids, id_keys) = self.ids.finish(written)?;
        let (texts, text_keys) = self.texts.finish(written)?;
        let keys = written.then_some(WrittenKeys { ids: id_keys, texts: text_keys });
        Ok((Repeated { ids, texts }, keys))
    }
}

/// All keys of an answer, ascending, each in 32 hexadecimal digits: so parts can be merged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenKeys {
    ids: String,
    texts: String,
}

fn parsed(text: &str) -> Result<Vec<u128>> {
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
