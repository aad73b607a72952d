//! The rows of an ids file, which stands beside a Megatron triple and says which record each sequence is.
//! They exist only in Parquet; no stream carries them. And the messages of pieces in rows for trainers.

use super::prelude::*;
use super::segment::{Segment, SegmentFields, row_segments};
use super::tokens::Identity;

record_fields! {
    /// One sequence of a triple, in the order of the sequences.
    IdFields(IdColumns, IdBuilder) {
        /// The conversation's id.
        id: Option<String>,
        /// The name of the file that it came from.
        input: Option<String>,
        /// Its row in that file, from 0; of NDJSON, its line.
        row: Option<u64>,
        /// The length of the sequence.
        tokens: i32,
        /// Its messages, which the tokens of Harmony show, and others do not. Files of o200k have no such column.
        segments: Option<List<SegmentFields>>,
    }
}

/// The name of the column of messages.
pub const SEGMENTS: &str = "segments";

/// Returns the schema of an ids file.
pub fn schema(with_segments: bool) -> Schema {
    let declared = IdFields::declared().into_iter();
    schema_of(declared.filter(|declared| with_segments || declared.field.name() != SEGMENTS))
}

impl IdBuilder {
    /// Adds a row; `segments` are null if they are not known.
    pub fn push<'a>(
        &mut self,
        identity: Identity<'_>,
        tokens: i32,
        segments: Option<impl Iterator<Item = Segment<'a>>>,
    ) {
        self.id.push(identity.id);
        self.input.push(identity.input);
        self.row.push(identity.row);
        self.tokens.push(Some(tokens));
        let is_known = segments.is_some();
        segments.into_iter().flatten().for_each(|segment| self.segments.items.push(&segment));
        self.segments.end_row(is_known);
    }

    /// Returns the rows so far as a batch.
    pub fn finish(self, with_segments: bool) -> Result<RecordBatch, ArrowError> {
        let schema = schema(with_segments);
        let columns = self.columns()?.into_iter().take(schema.fields().len()).collect();
        RecordBatch::try_new(Arc::new(schema), columns)
    }
}

impl<'a> IdColumns<'a> {
    /// Returns the view of a batch in the schema of an ids file with segments.
    pub fn of(batch: &'a RecordBatch) -> Result<IdColumns<'a>, ArrowError> {
        IdColumns::of_columns(batch.columns())
    }

    /// Returns the segments of a row; `None` if they are not known.
    pub fn segments(
        &self,
        row: usize,
    ) -> Option<impl ExactSizeIterator<Item = Segment<'a>> + Clone + use<'a>> {
        row_segments(self.segments, row)
    }

    pub fn identity(&self, row: usize) -> Identity<'a> {
        Identity { id: self.id.get(row), input: self.input.get(row), row: self.row.get(row) }
    }
}

record_fields! {
    /// One piece in a row for trainers.
    PieceFields(PieceColumns, PieceBuilder) {
        /// The messages of which it has a token, counted in the sequence.
        segments: Option<List<SegmentFields>>,
    }
}

/// Returns the schema of the pieces' messages.
pub fn piece_schema() -> Schema {
    schema_of(PieceFields::declared())
}

impl PieceBuilder {
    pub fn push<'a>(&mut self, segments: Option<impl Iterator<Item = Segment<'a>>>) {
        let is_known = segments.is_some();
        segments.into_iter().flatten().for_each(|segment| self.segments.items.push(&segment));
        self.segments.end_row(is_known);
    }

    pub fn finish(self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(Arc::new(piece_schema()), self.columns()?)
    }
}

impl<'a> PieceColumns<'a> {
    /// Returns the view of a batch in [`piece_schema`].
    pub fn of(batch: &'a RecordBatch) -> Result<PieceColumns<'a>, ArrowError> {
        PieceColumns::of_columns(batch.columns())
    }

    /// Returns the segments of a row; `None` if they are not known.
    pub fn segments(
        &self,
        row: usize,
    ) -> Option<impl ExactSizeIterator<Item = Segment<'a>> + Clone + use<'a>> {
        row_segments(self.segments, row)
    }
}
