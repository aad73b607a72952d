//! Rows whose columns have any types. The types of the first input decide, reduced to a few forms, so that
//! a stage need know only these. Later inputs are cast to the first one's types as Hugging Face `datasets`
//! does (integers into text, ...) if no value is lost; otherwise they are refused.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use super::conform::ColumnPlaces;
use super::refused_rows::{RefusedRow, Run, input_of};
use super::typed_cast::{can_cast, cast_column};
use crate::batch::WantedRecords;

/// Returns the columns of a schema that `names` has, in its order, with the types that are handed
/// out.
pub(super) fn typed_columns(schema: &Schema, names: &Schema) -> SchemaRef {
    let places = ColumnPlaces::of(schema);
    let found = names.fields().iter().filter_map(|wanted| {
        let field = schema.field(places.named(wanted.name())?);
        Some(Field::new(wanted.name(), handed_out(field.data_type()), true))
    });
    SchemaRef::new(Schema::new(found.collect::<Vec<Field>>()))
}

/// Returns the columns of the first input, and the columns that are stated to exist.
pub(super) fn with_stated(first: &SchemaRef, wanted: &WantedRecords) -> SchemaRef {
    if wanted.stated.is_empty() {
        return first.clone();
    }
    let columns = wanted.schema.fields().iter().filter_map(|column| {
        let name = column.name();
        let known = first.field_with_name(name).ok();
        let stated = wanted.stated.iter().find(|field| field.name() == name);
        match (known, stated.map(Field::data_type)) {
            (None | Some(_), Some(stated)) if !stated.is_null() => {
                Some(Field::new(name, stated.clone(), true))
            }
            (Some(known), _) => Some(known.clone()),
            (None, stated) => stated.map(|_| Field::new(name, DataType::Utf8View, true)),
        }
    });
    SchemaRef::new(Schema::new(columns.collect::<Vec<Field>>()))
}

/// Returns the type in which values are handed out: integers and floats of 64 bits, text and bytes
/// as views, lists with 32-bit offsets, and structs of these. Other types stay as they are.
pub(super) fn handed_out(data_type: &DataType) -> DataType {
    use DataType::*;
    let item = |item: &FieldRef| {
        let data_type = handed_out(item.data_type());
        FieldRef::new(item.as_ref().clone().with_data_type(data_type).with_nullable(true))
    };
    match data_type {
        Utf8 | LargeUtf8 => Utf8View,
        Binary | LargeBinary => BinaryView,
        Dictionary(_, values) => handed_out(values),
        RunEndEncoded(_, values) => handed_out(values.data_type()),
        Int8 | Int16 | Int32 | UInt8 | UInt16 | UInt32 => Int64,
        Float16 | Float32 => Float64,
        List(own) | LargeList(own) | ListView(own) | LargeListView(own) | FixedSizeList(own, _) => {
            List(item(own))
        }
        Struct(fields) => Struct(fields.iter().map(item).collect()),
        // Neither their entries nor their keys may be null.
        Map(entries, is_sorted) => {
            let as_it_is = |field: &FieldRef, data_type| {
                FieldRef::new(field.as_ref().clone().with_data_type(data_type))
            };
            let members = match entries.data_type() {
                Struct(members) => members.iter(),
                _ => return data_type.clone(),
            };
            let members = members.map(|field| as_it_is(field, handed_out(field.data_type())));
            Map(as_it_is(entries, Struct(members.collect())), *is_sorted)
        }
        other => other.clone(),
    }
}

/// Maps the columns of one input to the columns of the first.
#[derive(Debug)]
pub(super) struct TypedColumns {
    from: SchemaRef,
    /// The schema of the batches. If a column has only nulls in the first input, later inputs keep their type.
    target: SchemaRef,
    /// For each field of the target its column in the input.
    columns: Vec<Option<usize>>,
}

impl TypedColumns {
    /// Fails, with the cause, if a column cannot be cast, or if one of the named columns is not in
    /// the first input, whose schema is `first`.
    pub fn new(from: &Schema, first: &SchemaRef, names: &Schema) -> Result<TypedColumns, String> {
        let (places, known) = (ColumnPlaces::of(from), ColumnPlaces::of(first));
        let is_new = |name: &&str| places.named(name).is_some() && known.named(name).is_none();
        let mut named = names.fields().iter().map(|field| field.name().as_str());
        if let Some(name) = named.find(is_new) {
            return Err(format!(
                "has a column {name:?}, which the first input does not have; try: --columns {name}"
            ));
        }
        let mut fields = Vec::with_capacity(first.fields().len());
        let mut columns = Vec::with_capacity(first.fields().len());
        for field in first.fields() {
            let index = places.named(field.name());
            let source = index.map(|index| from.field(index).data_type());
            let target = match (source, field.data_type()) {
                (Some(source), DataType::Null) => handed_out(source),
                (_, target) => target.clone(),
            };
            if let Some(source) = source.filter(|source| !can_cast(source, &target)) {
                let name = field.name();
                return Err(format!("column {name:?} is {source}; the first input has {target}"));
            }
            fields.push(field.as_ref().clone().with_data_type(target));
            columns.push(index);
        }
        let (from, target) = (from.clone().into(), SchemaRef::new(Schema::new(fields)));
        Ok(TypedColumns { from, target, columns })
    }

    /// Returns the rows of a batch; rows with a value that does not fit its column are refused.
    pub fn runs(&self, batch: &RecordBatch) -> Vec<Run> {
        if let Ok(records) = self.apply(batch) {
            return vec![Run { records, refused: Vec::new() }];
        }
        let run = |row| {
            let single = batch.slice(row, 1);
            match self.apply(&single) {
                Ok(records) => Run { records, refused: Vec::new() },
                Err(reason) => {
                    let refused = vec![RefusedRow { reason, input: input_of(&single) }];
                    Run { records: RecordBatch::new_empty(self.target.clone()), refused }
                }
            }
        };
        (0..batch.num_rows()).map(run).collect()
    }

    pub fn from(&self) -> &SchemaRef {
        &self.from
    }

    pub fn target(&self) -> &SchemaRef {
        &self.target
    }

    fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch, String> {
        let rows = batch.num_rows();
        let column = |(field, index): (&FieldRef, &Option<usize>)| -> Result<ArrayRef, String> {
            let Some(index) = index else { return Ok(new_null_array(field.data_type(), rows)) };
            let cast = cast_column(batch.column(*index), field.data_type());
            cast.map_err(|cause| format!("column {:?}: {cause}", field.name()))
        };
        let columns = self.target.fields().iter().zip(&self.columns).map(column);
        let columns = columns.collect::<Result<Vec<ArrayRef>, String>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.target), columns, &options)
            .map_err(|error| error.to_string())
    }
}
