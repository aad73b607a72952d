//! Damaging files: bytes, JSON values, and the parts of Megatron datasets.

use serde_json::Value;

use crate::common::TempDir;

/// What frames the values in an `.idx`, before lengths, pointers and document indices.
pub const HEADER: usize = 34;

pub const RETURN: i32 = 200_002;
pub const START: i32 = 200_006;
pub const END: i32 = 200_007;
pub const MESSAGE: i32 = 200_008;

/// Changes a file.
pub fn edit(dir: &TempDir, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = dir.read(name);
    change(&mut bytes);
    dir.write(name, bytes);
}

/// Puts bytes in the place of those at `at`.
pub fn patch(dir: &TempDir, name: &str, at: usize, bytes: &[u8]) {
    edit(dir, name, |file| file[at..at + bytes.len()].copy_from_slice(bytes));
}

/// Changes a JSON file.
pub fn edit_json(dir: &TempDir, name: &str, change: impl FnOnce(&mut Value)) {
    let mut value = dir.json(name);
    change(&mut value);
    dir.write(name, value.to_string());
}

/// Changes line `number` (from 0) of an NDJSON file.
pub fn edit_line(dir: &TempDir, name: &str, number: usize, change: impl FnOnce(&mut Value)) {
    let text = dir.text(name);
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let mut value: Value = serde_json::from_str(&lines[number]).unwrap();
    change(&mut value);
    lines[number] = value.to_string();
    dir.write(name, lines.join("\n") + "\n");
}

pub fn number(bytes: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The lengths of the sequences of an index.
pub fn lengths(idx: &[u8]) -> Vec<i32> {
    let count = number(idx, 18) as usize;
    idx[HEADER..HEADER + 4 * count]
        .chunks(4)
        .map(|b| i32::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

/// An index made here: `code` and `size` describe the values' type.
pub fn index((code, size): (u8, i64), lengths: &[i32], documents: &[i64]) -> Vec<u8> {
    let mut idx = b"MMIDIDX\0\0".to_vec();
    idx.extend(1u64.to_le_bytes());
    idx.push(code);
    idx.extend((lengths.len() as u64).to_le_bytes());
    idx.extend((documents.len() as u64).to_le_bytes());
    idx.extend(lengths.iter().flat_map(|length| length.to_le_bytes()));
    let mut pointer = 0;
    for &length in lengths {
        idx.extend(i64::to_le_bytes(pointer));
        pointer += i64::from(length) * size;
    }
    idx.extend(documents.iter().flat_map(|document| document.to_le_bytes()));
    idx
}

pub const INT32: (u8, i64) = (4, 4);
pub const UINT8: (u8, i64) = (1, 1);

/// The values of a triple's sequences, to be changed and written back.
pub struct Triple {
    pub tokens: Vec<Vec<i32>>,
    pub mask: Vec<Vec<u8>>,
    pub span: Vec<Vec<u8>>,
}

impl Triple {
    pub fn read(dir: &TempDir, prefix: &str) -> Triple {
        let lengths = lengths(&dir.read(&format!("{prefix}_tokens.idx")));
        let cut = |bytes: Vec<u8>, size: usize| -> Vec<Vec<u8>> {
            let mut rest = bytes.as_slice();
            let mut next = |length: i32| rest.split_off(..length as usize * size).unwrap().to_vec();
            lengths.iter().map(|&length| next(length)).collect()
        };
        let bin = |name: &str| dir.read(&format!("{prefix}_{name}.bin"));
        let word = |bytes: &[u8]| i32::from_le_bytes(bytes.try_into().unwrap());
        let tokens = cut(bin("tokens"), 4);
        Triple {
            tokens: tokens.iter().map(|bytes| bytes.chunks(4).map(word).collect()).collect(),
            mask: cut(bin("lossmask"), 1),
            span: cut(bin("span"), 1),
        }
    }

    /// Writes it, each sequence a document.
    pub fn write(&self, dir: &TempDir, prefix: &str) {
        let bytes = self.tokens.iter().flatten().flat_map(|token| token.to_le_bytes());
        let members = [
            ("tokens", INT32, bytes.collect::<Vec<u8>>()),
            ("lossmask", UINT8, self.mask.concat()),
            ("span", UINT8, self.span.concat()),
        ];
        let lengths: Vec<i32> = self.tokens.iter().map(|tokens| tokens.len() as i32).collect();
        let documents: Vec<i64> = (0..=lengths.len() as i64).collect();
        for (name, dtype, bin) in members {
            dir.write(&format!("{prefix}_{name}.idx"), index(dtype, &lengths, &documents));
            dir.write(&format!("{prefix}_{name}.bin"), bin);
        }
    }

    pub fn change(dir: &TempDir, prefix: &str, change: impl FnOnce(&mut Triple)) {
        let mut triple = Triple::read(dir, prefix);
        change(&mut triple);
        triple.write(dir, prefix);
    }

    /// Where the content of a message of a sequence begins.
    pub fn content(&self, sequence: usize, message: usize) -> usize {
        let places = self.tokens[sequence].iter().enumerate().filter(|(_, id)| **id == MESSAGE);
        places.map(|(place, _)| place + 1).nth(message).unwrap()
    }
}
