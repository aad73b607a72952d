//! Which rows of a file are read, and their decoders: one decoder for all rows, or one for each row group.

use std::collections::HashSet;
use std::ops::Range;

use arrow_array::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::delta::check_prefixes;
use super::readable::ReadableFile;
use crate::cli::{records_in, runs_within};
use crate::panics::caught;

/// Ascending runs of the rows of a file, and some of its columns.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    pub file: ReadableFile,
    /// The footer, with text read in the wanted way.
    pub metadata: ArrowReaderMetadata,
    /// Top-level columns of the schema; `None` means all.
    columns: Option<HashSet<String>>,
    /// The row groups that hold these rows.
    pub groups: Vec<Group>,
}

/// The part of a row group that is read.
#[derive(Debug, Clone)]
pub(super) struct Group {
    index: usize,
    /// The number of all rows in the row group.
    rows: u64,
    /// The decoded bytes of the columns that are read, as the footer states them.
    pub bytes: u64,
    /// The rows that are read, counted from its first.
    runs: Vec<Range<u64>>,
}

impl Rows {
    pub fn of(
        file: ReadableFile,
        metadata: ArrowReaderMetadata,
        runs: &[Range<u64>],
        columns: Option<&[String]>,
    ) -> Rows {
        let columns = columns.map(|names| names.iter().cloned().collect::<HashSet<String>>());
        let mut groups = Vec::new();
        let mut start = 0u64;
        for (index, group) in metadata.metadata().row_groups().iter().enumerate() {
            let rows = group.num_rows() as u64;
            let own = runs_within(runs, &(start..start.saturating_add(rows)));
            start = start.saturating_add(rows);
            if !own.is_empty() {
                groups.push(Group {
                    index,
                    rows,
                    bytes: bytes_of(group, columns.as_ref()),
                    runs: own,
                });
            }
        }
        Rows { file, metadata, columns, groups }
    }

    /// Returns about how many bytes a row has.
    pub fn row_bytes(&self) -> u64 {
        let rows: u64 = self.groups.iter().map(|group| records_in(&group.runs)).sum();
        let bytes = self.groups.iter().map(|group| group.bytes).fold(0, u64::saturating_add);
        (bytes / rows.max(1)).max(1)
    }

    /// Checks what the crate does not check in the columns that are read.
    fn check_prefixes(&self, groups: &[Group]) -> Result<(), ParquetError> {
        for group in groups {
            let group = self.metadata.metadata().row_group(group.index);
            let chunks = group.columns().iter();
            chunks
                .filter(|chunk| is_read(chunk, self.columns.as_ref()))
                .try_for_each(|chunk| check_prefixes(&self.file, group, chunk))?;
        }
        Ok(())
    }

    /// Returns a decoder of the rows of some row groups; it decodes `step` rows at once.
    pub fn decoder(
        &self,
        groups: &[Group],
        step: u64,
    ) -> Result<ParquetRecordBatchReader, ParquetError> {
        self.check_prefixes(groups)?;
        // The runs, counted in the rows of these row groups alone.
        let mut inside: Vec<Range<usize>> = Vec::new();
        let mut rows = 0;
        for group in groups {
            let run = |run: &Range<u64>| (rows + run.start) as usize..(rows + run.end) as usize;
            inside.extend(group.runs.iter().map(run));
            rows += group.rows;
        }
        let (file, metadata) = (self.file.clone(), self.metadata.clone());
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
            .with_batch_size(step as usize)
            .with_row_groups(groups.iter().map(|group| group.index).collect());
        builder = match inside.as_slice() {
            [] => builder.with_limit(0),
            [run] => builder.with_offset(run.start).with_limit(run.len()),
            _ => {
                let chosen =
                    RowSelection::from_consecutive_ranges(inside.into_iter(), rows as usize);
                builder.with_row_selection(chosen)
            }
        };
        if let Some(names) = &self.columns {
            let schema = self.metadata.parquet_schema();
            let roots = schema.root_schema().get_fields().iter().enumerate();
            let roots = roots.filter(|(_, root)| names.contains(root.name()));
            let mask = ProjectionMask::roots(schema, roots.map(|(index, _)| index));
            builder = builder.with_projection(mask);
        }
        builder.build()
    }
}

/// Returns the next rows of a decoder; `None` at its end. The decoder must not be used after an
/// error.
pub(super) fn next_of(
    decoder: &mut ParquetRecordBatchReader,
) -> Result<Option<RecordBatch>, String> {
    let decoded = caught(|| decoder.next().transpose())?;
    decoded.map_err(|error| error.to_string())
}

/// Returns the decoded bytes of some columns of a row group.
fn bytes_of(group: &RowGroupMetaData, columns: Option<&HashSet<String>>) -> u64 {
    let chunks = group.columns().iter().filter(|chunk| is_read(chunk, columns));
    let bytes = chunks.map(|chunk| chunk.uncompressed_size().max(0) as u64);
    bytes.fold(0, u64::saturating_add)
}

/// Whether a chunk belongs to one of these top-level columns.
fn is_read(chunk: &ColumnChunkMetaData, columns: Option<&HashSet<String>>) -> bool {
    let root = chunk.column_path().parts().first();
    columns.is_none_or(|names| root.is_some_and(|root| names.contains(root)))
}
