//! Datasets hand out batches of their own schema; here these become batches of the wanted schema.

use arrow_schema::SchemaRef;

use super::conform::ColumnMapping;
use crate::batch::{Batch, WantedRecords};
use crate::error::{Error, Result};
use crate::record::RecordType;

/// Converts the batches of datasets to the wanted schema.
pub struct BatchFitter {
    /// The name of the first dataset.
    name: String,
    /// The mapping; made with the first batch, when the schema is known.
    mapping: Option<ColumnMapping>,
}

impl BatchFitter {
    pub fn of(name: String) -> BatchFitter {
        BatchFitter { name, mapping: None }
    }

    /// Refuses records of another type.
    pub fn refuse_others(&self, wanted: &WantedRecords, came: &RecordType) -> Result<()> {
        if wanted.record.name == came.name {
            Ok(())
        } else {
            Err(wanted.instead_of(&self.name, came))
        }
    }

    /// Converts the records of a batch.
    pub fn apply(&mut self, batch: &mut Batch, schema: &SchemaRef) -> Result<()> {
        let fail = |cause: String| Error::data(cause).at(&self.name);
        let mapping = match &self.mapping {
            Some(mapping) => mapping,
            None => {
                let made = ColumnMapping::new(&batch.records.schema(), schema).map_err(fail)?;
                self.mapping.insert(made)
            }
        };
        batch.records = mapping.apply(&batch.records).map_err(fail)?;
        Ok(())
    }
}
