//! The rows of an ids file, which stands beside a Megatron triple and says which record each sequence is.
//! They exist only in Parquet; no stream carries them.

use super::prelude::*;
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
    }
}

/// Returns the schema of an ids file.
pub fn schema() -> Schema {
    schema_of(IdFields::declared())
}

impl IdBuilder {
    pub fn push(&mut self, identity: Identity<'_>, tokens: i32) {
        self.id.push(identity.id);
        self.input.push(identity.input);
        self.row.push(identity.row);
        self.tokens.push(Some(tokens));
    }

    /// Returns the rows so far as a batch.
    pub fn finish(self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(Arc::new(schema()), self.columns()?)
    }
}

impl<'a> IdColumns<'a> {
    /// Returns the view of a batch in the schema of an ids file.
    pub fn of(batch: &'a RecordBatch) -> Result<IdColumns<'a>, ArrowError> {
        IdColumns::of_columns(batch.columns())
    }

    pub fn identity(&self, row: usize) -> Identity<'a> {
        Identity { id: self.id.get(row), input: self.input.get(row), row: self.row.get(row) }
    }
}
