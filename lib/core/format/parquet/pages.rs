//! What a file says of its pages twice. A decoder stops at the values that its rows need, so that it does
//! not see a page that states others.

use std::sync::Arc;

use parquet::column::page::PageReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;

use super::readable::{MAGIC, Readable};

/// The pages of a column chunk have as many values, and as far as they say so rows, as the footer states.
/// Only their headers are read.
pub(super) fn check_counts(
    file: &Readable,
    group: &RowGroupMetaData,
    chunk: &ColumnChunkMetaData,
) -> Result<(), ParquetError> {
    let stated = (count(chunk.num_values()), count(group.num_rows()));
    let (mut values, mut rows) = (0u64, Some(0u64));
    let mut pages =
        SerializedPageReader::new(Arc::new(file.clone()), chunk, stated.1 as usize, None)?;
    while let Some(page) = pages.peek_next_page()? {
        if !page.is_dict {
            values = values.saturating_add(page.num_levels.unwrap_or(0) as u64);
            let own = page.num_rows.map(|rows| rows as u64);
            rows = rows.zip(own).and_then(|(rows, own)| rows.checked_add(own));
        }
        pages.skip_next_page()?;
    }
    let column = chunk.column_path();
    let differs = |what: &str, found: u64, stated: u64| {
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

/// A file begins as it ends.
pub(super) fn check_begin(file: &Readable) -> Result<(), ParquetError> {
    if file.get_bytes(0, MAGIC.len())? == MAGIC[..] {
        Ok(())
    } else {
        Err(ParquetError::General("the file does not begin with PAR1".to_string()))
    }
}

/// One below 0 is none that a file has.
fn count(stated: i64) -> u64 {
    u64::try_from(stated).unwrap_or(u64::MAX)
}
