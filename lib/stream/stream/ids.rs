//! Finds records by their ids if all records must be read for that.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::record::part_id::part_id;
use crate::way_on::shown_word;

/// The columns that may hold an id; the first that is not null counts.
const COLUMNS: [&str; 2] = ["synth_id", "id"];

/// Keeps the records with some ids.
pub(super) struct IdFilter {
    wanted: Vec<String>,
    /// The ids of the first turns of chats with the wanted ids.
    first_turns: Vec<String>,
    found: HashSet<String>,
    /// The columns that hold ids.
    fields: Vec<Field>,
}

impl IdFilter {
    /// Makes the filter for records of a schema.
    pub fn new(ids: &[String], schema: &Schema) -> Result<IdFilter> {
        let fields = COLUMNS.iter().filter_map(|name| schema.field_with_name(name).ok());
        let fields: Vec<Field> = fields.cloned().collect();
        if fields.is_empty() {
            let names = COLUMNS.join(", ");
            return Err(Error::usage(format!("--id: the records have no id ({names})")));
        }
        let first_turns = ids.iter().map(|id| part_id(id, 1)).collect();
        Ok(IdFilter { wanted: ids.to_vec(), first_turns, found: HashSet::new(), fields })
    }

    /// Returns these columns with the columns of ids, which must be read too.
    pub fn with_ids(&self, schema: SchemaRef) -> SchemaRef {
        let is_new = |field: &&Field| schema.column_with_name(field.name()).is_none();
        let more: Vec<Field> = self.fields.iter().filter(is_new).cloned().collect();
        if more.is_empty() {
            return schema;
        }
        let fields = schema.fields().iter().map(|field| field.as_ref().clone()).chain(more);
        Schema::new(fields.collect::<Vec<Field>>()).into()
    }

    /// Drops the records with other ids.
    pub fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let rows = self.matching_rows(&batch.records)?;
        batch.keep_rows(&rows)
    }

    /// Returns the rows with the wanted ids.
    fn matching_rows(&mut self, records: &RecordBatch) -> Result<Vec<usize>> {
        let mut columns: Vec<StringArray> = Vec::new();
        for field in &self.fields {
            if let Some(column) = records.column_by_name(field.name()) {
                columns.push(cast(column, &DataType::Utf8)?.as_string::<i32>().clone());
            }
        }
        let mut rows = Vec::new();
        for row in 0..records.num_rows() {
            let known = columns.iter().find(|column| column.is_valid(row));
            let Some(id) = known.map(|column| column.value(row)) else { continue };
            if self.wanted.iter().any(|wanted| wanted == id) {
                rows.push(row);
            } else if !self.first_turns.iter().any(|turn| turn == id) {
                continue;
            }
            self.found.insert(id.to_string());
        }
        Ok(rows)
    }

    /// Fails if some ids were not found.
    pub fn finish(&self) -> Result<()> {
        all_found(&self.wanted, &self.found)
    }
}

/// Fails if some ids were not found; `found` has ids of first turns too.
pub(super) fn all_found(wanted: &[String], found: &HashSet<String>) -> Result<()> {
    let missing: Vec<&String> = wanted.iter().filter(|id| !found.contains(*id)).collect();
    let names: Vec<String> = missing.iter().map(|id| format!("{id:?}")).collect();
    let error = match names.len() {
        0 => return Ok(()),
        1 => Error::data(format!("no record has the id {}", names[0])),
        _ => Error::data(format!("no record has the ids {}", names.join(", "))),
    };
    match missing.into_iter().map(|id| part_id(id, 1)).find(|turn| found.contains(turn)) {
        Some(turn) => Err(error.hint(format!("--id {}", shown_word(&turn)))),
        None => Err(error),
    }
}
