//! Checks pages that store each text as the length of the prefix that it shares with the text before, and
//! the rest (DELTA_BYTE_ARRAY). If a prefix is longer than the text before, the crate takes all of that
//! text, and so reads a damaged page as other texts. Therefore the pages are checked before decoding.

use std::sync::Arc;

use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use super::readable::ReadableFile;

/// Checks the pages of a column chunk if its footer names this encoding; other chunks are not read.
pub(super) fn check_prefixes(
    file: &ReadableFile,
    group: &RowGroupMetaData,
    chunk: &ColumnChunkMetaData,
) -> Result<(), ParquetError> {
    let is_bytes = matches!(
        chunk.column_type(),
        PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY
    );
    let is_delta = |encoding| encoding == Encoding::DELTA_BYTE_ARRAY;
    if !is_bytes || !chunk.encodings().any(is_delta) {
        return Ok(());
    }
    let rows = usize::try_from(group.num_rows()).unwrap_or(0);
    let mut pages = SerializedPageReader::new(Arc::new(file.clone()), chunk, rows, None)?;
    while let Some(page) = pages.get_next_page()? {
        if page.is_data_page() && is_delta(page.encoding()) {
            let consistent = |values| are_consistent(values, page.num_values());
            values(&page, chunk).and_then(consistent).ok_or_else(|| {
                let column = chunk.column_path();
                let cause = "texts share more with the text before them than there is";
                ParquetError::General(format!("a damaged page of {column}: {cause}"))
            })?;
        }
    }
    Ok(())
}

/// Returns the values of a page, which follow its levels.
fn values<'a>(page: &'a Page, chunk: &ColumnChunkMetaData) -> Option<&'a [u8]> {
    match page {
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            buf.get(def_levels_byte_len.checked_add(*rep_levels_byte_len)? as usize..)
        }
        Page::DataPage { buf, num_values, def_level_encoding, rep_level_encoding, .. } => {
            let column = chunk.column_descr();
            let levels = [
                (column.max_rep_level(), rep_level_encoding),
                (column.max_def_level(), def_level_encoding),
            ];
            let mut rest: &[u8] = buf;
            for (most, encoding) in levels.into_iter().filter(|(most, _)| *most > 0) {
                let bytes = match encoding {
                    Encoding::RLE => {
                        let (length, levels) = rest.split_first_chunk::<4>()?;
                        rest = levels;
                        u32::from_le_bytes(*length) as usize
                    }
                    // The levels of old writers have as many bits as the largest one needs.
                    _ => {
                        let bits = u64::from(most.unsigned_abs().ilog2() + 1);
                        (u64::from(*num_values) * bits).div_ceil(8) as usize
                    }
                };
                rest = rest.get(bytes..)?;
            }
            Some(rest)
        }
        Page::DictionaryPage { .. } => None,
    }
}

/// `None` if a prefix is longer than the text before it, or if the texts have more bytes than
/// exist. A page has at most `most` texts.
fn are_consistent(values: &[u8], most: u32) -> Option<()> {
    let mut prefixes = Integers::of(values)?;
    let mut suffixes = Integers::of(Integers::of(values)?.behind(most)?)?;
    let bytes = suffixes.clone().behind(most)?;
    if prefixes.left != suffixes.left {
        return None;
    }
    let (mut before, mut left) = (0u64, bytes.len() as u64);
    while prefixes.left > 0 {
        let prefix = u64::try_from(prefixes.next()?).ok()?;
        let suffix = u64::try_from(suffixes.next()?).ok()?;
        left = left.checked_sub(suffix)?;
        before = prefix.checked_add(suffix).filter(|_| prefix <= before)?;
    }
    Some(())
}

/// Integers of 32 bits in DELTA_BINARY_PACKED: blocks that consist of parts with packed
/// differences.
#[derive(Clone)]
struct Integers<'a> {
    rest: &'a [u8],
    /// How many parts a block has, and how many integers a part has.
    parts: usize,
    each: usize,
    /// How many integers are left.
    left: u64,
    last: i32,
    is_first: bool,
    least: i32,
    /// The widths, in bits, of the differences of this block's parts that are left.
    widths: &'a [u8],
    part: &'a [u8],
    width: usize,
    /// How many integers of this part were read.
    read: usize,
}

impl<'a> Integers<'a> {
    fn of(bytes: &'a [u8]) -> Option<Integers<'a>> {
        let mut rest = bytes;
        let block = usize::try_from(unsigned(&mut rest)?).ok()?;
        let parts = usize::try_from(unsigned(&mut rest)?).ok()?;
        let left = unsigned(&mut rest)?;
        let each = block.checked_div(parts).filter(|each| each % 32 == 0 && *each > 0)?;
        let last = signed(&mut rest)? as i32;
        let (widths, part): (&[u8], &[u8]) = (&[], &[]);
        let integers = Integers {
            rest,
            parts,
            each,
            left,
            last,
            is_first: true,
            least: 0,
            widths,
            part,
            width: 0,
            read: each,
        };
        Some(integers)
    }

    /// `None` if the bytes end too early or are invalid.
    fn next(&mut self) -> Option<i32> {
        self.left = self.left.checked_sub(1)?;
        if std::mem::take(&mut self.is_first) {
            return Some(self.last);
        }
        if self.read == self.each {
            if self.widths.is_empty() {
                self.least = signed(&mut self.rest)? as i32;
                (self.widths, self.rest) = self.rest.split_at_checked(self.parts)?;
            }
            let (width, widths) = self.widths.split_first()?;
            (self.widths, self.width, self.read) = (widths, usize::from(*width), 0);
            let bytes = (self.width <= 32).then(|| self.each.checked_mul(self.width))?? / 8;
            (self.part, self.rest) = self.rest.split_at_checked(bytes)?;
        }
        let difference = bits(self.part, self.read * self.width, self.width) as i32;
        self.read += 1;
        self.last = self.last.wrapping_add(self.least).wrapping_add(difference);
        Some(self.last)
    }

    /// Returns the bytes after the integers, if there are at most `most` integers. Parts without
    /// integers have no bytes.
    fn behind(mut self, most: u32) -> Option<&'a [u8]> {
        if self.left > u64::from(most) {
            return None;
        }
        while self.left > 0 {
            self.next()?;
        }
        Some(self.rest)
    }
}

/// Reads a number of `width` bits, at most 32, the lowest first.
fn bits(bytes: &[u8], at: usize, width: usize) -> u32 {
    let rest = bytes.get(at / 8..).unwrap_or_default();
    let word = match rest.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    (word >> (at % 8) & ((1 << width) - 1)) as u32
}

/// Reads a variable-length number: seven bits in each byte.
fn unsigned(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Reads a variable-length number whose lowest bit is its sign.
fn signed(bytes: &mut &[u8]) -> Option<i64> {
    let number = unsigned(bytes)?;
    Some((number >> 1) as i64 ^ -((number & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs integers into one block with one part of 32, each as 8 bits above `least`.
    fn packed(values: &[u8]) -> Vec<u8> {
        let (first, others) = values.split_first().unwrap();
        let mut bytes = vec![32, 1, values.len() as u8, first << 1];
        if !others.is_empty() {
            // The smallest difference is -64, which is written as 127.
            bytes.extend([127, 8]);
            let differences =
                values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]).wrapping_add(64));
            bytes.extend(differences);
            bytes.resize(6 + 32, 0);
        }
        bytes
    }

    fn page(prefixes: &[u8], suffixes: &[u8], bytes: usize) -> Vec<u8> {
        [packed(prefixes), packed(suffixes), vec![b'x'; bytes]].concat()
    }

    #[test]
    fn prefixes_are_within_the_text_before() {
        let of = |prefixes: &[u8], suffixes: &[u8], bytes| {
            are_consistent(&page(prefixes, suffixes, bytes), 4).is_some()
        };
        assert!(of(&[0], &[3], 3));
        assert!(of(&[0, 3, 1, 0], &[3, 2, 0, 4], 9));
        assert!(!of(&[1], &[3], 3));
        assert!(!of(&[0, 4], &[3, 2], 5));
        assert!(!of(&[0, 3, 2, 3], &[3, 2, 0, 4], 9));
        assert!(!of(&[0, 3], &[3, 2], 4));
        assert!(!of(&[0, 3], &[3], 4));
        assert!(!of(&[0, 0, 0, 0, 0], &[0, 0, 0, 0, 0], 0));
        let cut = page(&[0, 3], &[3, 2], 5);
        for length in 0..cut.len() {
            assert_eq!(are_consistent(&cut[..length], 2), None);
        }
        assert_eq!(are_consistent(&[0x80; 40], 9), None);
    }
}
