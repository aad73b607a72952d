//! Fields that few records have. An Arrow stream has columns for them only if its header says so
//! ([`WEIGHTS`]), so that all other streams look the same as before to every reader. What the
//! header itself states, only NDJSON has in each record.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, StructArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};

use crate::batch::{Header, WEIGHTS};
use crate::record::is_rare;
use crate::record::stated::stated_column;

/// The member of a message.
const TRAIN: &str = "train";

/// The columns of a stream: the columns of its records, except rare columns that the stream does not have.
pub struct PresentFields {
    schema: SchemaRef,
    /// Whether the records have more columns.
    drops: bool,
    has_weights: bool,
}

impl PresentFields {
    pub fn of(schema: &Schema, header: &Header) -> PresentFields {
        let has_weights = header.get(&WEIGHTS) == Some(true);
        let own = schema.fields().iter().filter(|field| stated_column(field).is_none());
        let fields: Vec<FieldRef> = match has_weights {
            true => own.cloned().collect(),
            false => own.map(without_rare).collect(),
        };
        let kept = Schema::new_with_metadata(fields, schema.metadata().clone());
        PresentFields { drops: kept != *schema, has_weights, schema: SchemaRef::new(kept) }
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns a batch in these columns. A value of a column that the stream does not have is an
    /// error.
    pub fn of_batch(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        if !self.drops {
            return batch.clone().with_schema(self.schema.clone());
        }
        let columns = batch.schema_ref().fields().iter().zip(batch.columns());
        let columns = columns
            .filter(|(field, _)| stated_column(field).is_none())
            .map(|(_, column)| if self.has_weights { Ok(column.clone()) } else { kept(column) });
        let columns = columns.collect::<Result<Vec<ArrayRef>, _>>()?;
        RecordBatch::try_new(self.schema.clone(), columns)
    }
}

/// Sets in a header that messages may have weights, if the columns of another program have them.
pub fn announce(header: &mut Header, schema: &Schema) {
    if schema.fields().iter().any(|field| has_train(field)) {
        header.set(&WEIGHTS, true);
    }
}

fn has_train(field: &Field) -> bool {
    match field.data_type() {
        DataType::List(item) | DataType::LargeList(item) | DataType::ListView(item) => {
            has_train(item)
        }
        DataType::Struct(members) => {
            members.iter().any(|member| member.name() == TRAIN || has_train(member))
        }
        _ => false,
    }
}

/// Sets in the header of lines of NDJSON that messages have weights, if the first lines show it.
pub fn announce_in_lines(header: &mut Header, lines: &[u8]) {
    if memchr::memmem::find(lines, b"\"train\"").is_some() {
        header.set(&WEIGHTS, true);
    }
}

fn without_rare(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::List(item) => DataType::List(without_rare(item)),
        DataType::Struct(fields) => DataType::Struct(
            fields.iter().filter(|field| !is_rare(field)).map(without_rare).collect(),
        ),
        other => other.clone(),
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}

fn kept(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(match column.data_type() {
        DataType::List(item) if without_rare(item) != *item => {
            let list = column.as_list::<i32>();
            let (ends, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Arc::new(ListArray::try_new(without_rare(item), ends, kept(list.values())?, nulls)?)
        }
        DataType::Struct(fields) => {
            let structs = column.as_struct();
            let mut members = Vec::new();
            let mut names = Vec::new();
            for (field, member) in fields.iter().zip(structs.columns()) {
                match is_rare(field) {
                    false => {
                        names.push(without_rare(field));
                        members.push(kept(member)?);
                    }
                    true if member.null_count() == member.len() => {}
                    true => {
                        let name = field.name();
                        return Err(ArrowError::InvalidArgumentError(format!(
                            "a message has {name:?}, and none of the first ones; try: --to ndjson, or \
                             chat-harmony --to arrow, whose header announces it"
                        )));
                    }
                }
            }
            let nulls = structs.nulls().cloned();
            Arc::new(StructArray::try_new_with_length(names.into(), members, nulls, column.len())?)
        }
        _ => column.clone(),
    })
}
