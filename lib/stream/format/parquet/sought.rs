//! Finds the row groups that may hold a text, by the bounds and Bloom filters of a column, so that the
//! others are not decoded. A file without bounds and filters is read whole.

use std::ops::Range;

use parquet::bloom_filter::Sbbf;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::Length;

use super::ParquetFile;
use super::readable::ReadableFile;
use crate::panics::caught;

impl ParquetFile {
    /// Returns the rows of the row groups that may hold one of these texts in a top-level column of
    /// text, as ascending runs.
    pub fn may_hold(&self, column: &str, texts: &[&str]) -> Result<Vec<Range<u64>>, ParquetError> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        let mut end = 0u64;
        for group in self.metadata.metadata().row_groups() {
            let rows = end..end.saturating_add(group.num_rows() as u64);
            end = rows.end;
            let may_hold = caught(|| group_may_hold(&self.file, group, column, texts));
            if !self.file.or_system_error(may_hold.map_err(ParquetError::General).flatten())? {
                continue;
            }
            match runs.last_mut().filter(|last| last.end == rows.start) {
                Some(last) => last.end = rows.end,
                None => runs.push(rows),
            }
        }
        Ok(runs)
    }
}

fn group_may_hold(
    file: &ReadableFile,
    group: &RowGroupMetaData,
    column: &str,
    texts: &[&str],
) -> Result<bool, ParquetError> {
    let is_sought = |chunk: &&ColumnChunkMetaData| chunk.column_path().parts() == [column];
    let Some(chunk) = group.columns().iter().find(is_sought) else { return Ok(false) };
    let texts: Vec<&str> =
        texts.iter().copied().filter(|text| is_within_bounds(chunk, text.as_bytes())).collect();
    if texts.is_empty() {
        return Ok(false);
    }
    Ok(bloom_filter(file, chunk)?
        .is_none_or(|filter| texts.iter().any(|text| filter.check(text.as_bytes()))))
}

/// Whether a text is within the chunk's bounds. Bounds may be shortened, but all values still lie within
/// them. The bounds of old writers compare bytes as signed numbers, and are ignored.
fn is_within_bounds(chunk: &ColumnChunkMetaData, text: &[u8]) -> bool {
    let Some(known) = chunk.statistics().filter(|known| !known.is_min_max_deprecated()) else {
        return true;
    };
    known.min_bytes_opt().is_none_or(|least| least <= text)
        && known.max_bytes_opt().is_none_or(|most| text <= most)
}

fn bloom_filter(
    file: &ReadableFile,
    chunk: &ColumnChunkMetaData,
) -> Result<Option<Sbbf>, ParquetError> {
    let Some(offset) = chunk.bloom_filter_offset() else { return Ok(None) };
    // The crate allocates what the footer claims. A filter whose length is not stated is not
    // needed.
    let Some(length) = chunk.bloom_filter_length() else { return Ok(None) };
    let end = u64::try_from(offset).ok().zip(u64::try_from(length).ok());
    let end = end.and_then(|(offset, length)| offset.checked_add(length));
    if end.is_none_or(|end| end > file.len()) {
        let name = chunk.column_path();
        return Err(ParquetError::General(format!("a Bloom filter of {name} is not in the file")));
    }
    Sbbf::read_from_column_chunk(chunk, file)
}
