//! Checks what a file states about its pages, some of it in two places. A decoder stops after the values that its
//! rows need, so it does not notice a page with another number of values; nor does it look at the types in a header.

use std::sync::Arc;

use parquet::basic::Type;
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;

use super::footer;
use super::readable::{MAGIC, ReadableFile};
use crate::wording::{exactly, of_plural};

/// How many bytes are read for the header of a page. A header may be longer if it has bounds of texts:
/// then the number is doubled until the header fits.
const HEADER_BYTES: u64 = 256;

/// Checks that the pages of a column chunk have headers whose fields have the right types, and that
/// they fill the chunk.
pub(super) fn check_headers(
    file: &ReadableFile,
    chunk: &ColumnChunkMetaData,
) -> Result<(), ParquetError> {
    let (mut at, bytes) = chunk.byte_range();
    let end = at.saturating_add(bytes);
    let bad = |cause: &str| ParquetError::General(format!("{}: {cause}", chunk.column_path()));
    while at < end {
        let mut bytes = HEADER_BYTES;
        let (header, page) = loop {
            let read = file.get_bytes(at, bytes.min(end - at) as usize)?;
            match footer::page(&read).map_err(bad)? {
                Some(found) => break found,
                None if bytes < end - at => bytes *= 2,
                None => return Err(bad("the header of a page is cut")),
            }
        };
        at = at.saturating_add(header).saturating_add(page);
    }
    match at == end {
        true => Ok(()),
        false => Err(bad("a page is longer than its column chunk")),
    }
}

/// Checks that the pages of a column chunk have as many values as the footer states, and as many rows
/// if they state rows. Only the headers and the dictionaries are read; a dictionary must have as many
/// values as it states.
pub(super) fn check_counts(
    file: &ReadableFile,
    group: &RowGroupMetaData,
    chunk: &ColumnChunkMetaData,
) -> Result<(), ParquetError> {
    let stated = (count(chunk.num_values()), count(group.num_rows()));
    let (mut values, mut rows) = (0u64, Some(0u64));
    let mut pages =
        SerializedPageReader::new(Arc::new(file.clone()), chunk, stated.1 as usize, None)?;
    while let Some(page) = pages.peek_next_page()? {
        if page.is_dict {
            pages.get_next_page()?.map_or(Ok(()), |page| check_dictionary(chunk, &page))?;
            continue;
        }
        values = values.saturating_add(page.num_levels.unwrap_or(0) as u64);
        let own = page.num_rows.map(|rows| rows as u64);
        rows = rows.zip(own).and_then(|(rows, own)| rows.checked_add(own));
        pages.skip_next_page()?;
    }
    let column = chunk.column_path();
    let differs = |what: &str, found: u64, stated: u64| {
        let what = of_plural(found, what);
        let cause =
            format!("the pages of {column} have {found} {what}, the footer states {stated}");
        Err(ParquetError::General(cause))
    };
    match (values, rows) {
        (values, _) if values != stated.0 => differs("values", values, stated.0),
        (_, Some(rows)) if rows != stated.1 => differs("rows", rows, stated.1),
        _ => Ok(()),
    }
}

/// Checks that a dictionary has as many values as it states. (The decoder silently accepts fewer.)
fn check_dictionary(chunk: &ColumnChunkMetaData, page: &Page) -> Result<(), ParquetError> {
    let (bytes, stated) = (page.buffer(), page.num_values() as usize);
    let found = match chunk.column_type() {
        Type::BOOLEAN => return Ok(()),
        Type::INT32 | Type::FLOAT => bytes.len() / 4,
        Type::INT64 | Type::DOUBLE => bytes.len() / 8,
        Type::INT96 => bytes.len() / 12,
        Type::FIXED_LEN_BYTE_ARRAY => {
            let width = usize::try_from(chunk.column_descr().type_length()).unwrap_or(0);
            bytes.len().checked_div(width).unwrap_or(stated)
        }
        Type::BYTE_ARRAY => {
            let (mut found, mut rest) = (0, bytes.as_ref());
            while let Some((length, after)) = rest.split_first_chunk::<4>() {
                let Some(after) = after.get(u32::from_le_bytes(*length) as usize..) else { break };
                (found, rest) = (found + 1, after);
            }
            found
        }
    };
    if found < stated {
        let column = chunk.column_path();
        let found = exactly(found, "value");
        let cause = format!("the dictionary of {column} has {found}, it states {stated}");
        return Err(ParquetError::General(cause));
    }
    Ok(())
}

/// Checks that a file begins as it ends.
pub(super) fn check_begin(file: &ReadableFile) -> Result<(), ParquetError> {
    if file.get_bytes(0, MAGIC.len())? == MAGIC[..] {
        Ok(())
    } else {
        Err(ParquetError::General("the file does not begin with PAR1".to_string()))
    }
}

/// Returns a stated count; a negative one becomes a number that no file has.
fn count(stated: i64) -> u64 {
    u64::try_from(stated).unwrap_or(u64::MAX)
}
