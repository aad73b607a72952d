//! How the columns of an input become the wanted columns.

use arrow_schema::{Schema, SchemaRef};

use super::conform::ColumnMapping;
use super::typed::TypedColumns;
use crate::batch::WantedRecords;

#[derive(Debug)]
pub(super) enum Conversion {
    /// To the columns of a record type.
    Records(ColumnMapping),
    /// To the columns of the first input, whatever their types.
    Typed(TypedColumns),
}

impl Conversion {
    /// Fails, with the cause, if the columns cannot become the columns of `target`.
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

    /// Returns the schema of the input.
    pub fn from(&self) -> &SchemaRef {
        match self {
            Conversion::Records(mapping) => mapping.from(),
            Conversion::Typed(columns) => columns.from(),
        }
    }

    /// Returns the schema of the batches that are handed out.
    pub fn target(&self) -> &SchemaRef {
        match self {
            Conversion::Records(mapping) => mapping.target(),
            Conversion::Typed(columns) => columns.target(),
        }
    }
}
