//! How the columns of an input become those that are wanted.

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use super::conform::ColumnMapping;
use super::typed::TypedColumns;
use super::validity::{Run, record_runs, runs};
use crate::batch::WantedRecords;

#[derive(Debug)]
pub(super) enum Conversion {
    /// To the columns of a record type.
    Records(ColumnMapping),
    /// To the columns of the first input, whatever their types.
    Typed(TypedColumns),
}

impl Conversion {
    /// Fails, with the cause, if the columns cannot become those of `target`.
    pub fn new(
        from: &Schema,
        target: &SchemaRef,
        wanted: Option<&WantedRecords>,
    ) -> Result<Conversion, String> {
        match wanted.filter(|wanted| wanted.any_types) {
            Some(wanted) => TypedColumns::new(from, target, &wanted.schema).map(Conversion::Typed),
            None => ColumnMapping::new(from, target).map(Conversion::Records),
        }
    }

    /// Returns the rows of a batch, in pieces: a value that does not fit refuses its row.
    pub fn runs(&self, batch: &RecordBatch) -> Result<Vec<Run>, String> {
        runs(self, batch)
    }

    /// Does the same for a batch whose text is all valid.
    pub fn text_runs(&self, batch: &RecordBatch) -> Result<Vec<Run>, String> {
        match self {
            Conversion::Records(conform) => record_runs(conform, batch),
            Conversion::Typed(columns) => Ok(columns.runs(batch)),
        }
    }

    /// Returns the schema of the input.
    pub fn from(&self) -> &SchemaRef {
        match self {
            Conversion::Records(conform) => conform.from(),
            Conversion::Typed(columns) => columns.from(),
        }
    }

    /// Returns the schema of the batches that are handed out.
    pub fn target(&self) -> &SchemaRef {
        match self {
            Conversion::Records(conform) => conform.target(),
            Conversion::Typed(columns) => columns.target(),
        }
    }
}
