//! One schema for inputs that are read as they are: fields that only one input has are null in the others.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use crate::record::{JsonForm, ndjson_name};

/// Joins the schemas of two inputs: the result has the columns, and the members of structs, of both,
/// first those of `first`. Types come from `first`; the reader of `second` checks whether its values fit.
/// Returns `None` if one field has two forms, as values and as JSON.
pub(super) fn joined(first: &Schema, second: &Schema) -> Option<Schema> {
    let is_other_form = |own: &FieldRef, other: &FieldRef| {
        own.name() != other.name() && ndjson_name(own) == ndjson_name(other)
    };
    let mut pairs = first.fields().iter().flat_map(|a| second.fields().iter().map(move |b| (a, b)));
    let has_other_form = pairs.any(|(own, other)| is_other_form(own, other));
    (!has_other_form).then(|| Schema::new(joined_fields(first.fields(), second.fields())))
}

fn joined_fields(first: &Fields, second: &Fields) -> Fields {
    let nullable = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
    let named = |fields: &Fields, name: &str| {
        fields.iter().find(|field| field.name() == name).map(Arc::clone)
    };
    let own = first.iter().map(|field| match named(second, field.name()) {
        Some(other) => Arc::new(joined_field(field, &other)),
        None => nullable(field),
    });
    let others = second.iter().filter(|field| named(first, field.name()).is_none()).map(nullable);
    own.chain(others).collect()
}

fn joined_field(first: &Field, second: &Field) -> Field {
    let field = first.clone().with_nullable(first.is_nullable() || second.is_nullable());
    field.with_data_type(joined_type(first.data_type(), second.data_type()))
}

fn joined_type(first: &DataType, second: &DataType) -> DataType {
    use DataType::*;
    let item = |first: &FieldRef, second: &FieldRef| Arc::new(joined_field(first, second));
    match (first, second) {
        (Null, other) => other.clone(),
        (Struct(own), Struct(other)) => Struct(joined_fields(own, other)),
        (List(own), List(other) | LargeList(other) | FixedSizeList(other, _)) => {
            List(item(own, other))
        }
        (LargeList(own), List(other) | LargeList(other) | FixedSizeList(other, _)) => {
            LargeList(item(own, other))
        }
        _ => first.clone(),
    }
}

/// Returns the path of the first column or member that `of` has and `beyond` lacks, and that would be
/// lost. (A JSON column holds all members from which it was made, a column of the rest all columns.)
pub(super) fn surplus(of: &Schema, beyond: &Schema) -> Option<String> {
    let lost = surplus_field(of.fields(), beyond.fields())?;
    let is_column = of.index_of(&lost).is_ok();
    (!is_column || !JsonForm::takes_all(beyond)).then_some(lost)
}

/// Adds the column of the rest to a schema, if another schema has it.
pub(super) fn with_rest(schema: &SchemaRef, other: &Schema) -> SchemaRef {
    let rest = other.fields().iter().filter(|_| !JsonForm::takes_all(schema));
    let rest = rest.filter(|field| JsonForm::is_rest(field));
    let fields: Vec<FieldRef> = schema.fields().iter().chain(rest).cloned().collect();
    SchemaRef::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn surplus_field(of: &Fields, beyond: &Fields) -> Option<String> {
    of.iter().find_map(|field| {
        let name = field.name();
        let known = beyond.iter().find(|known| known.name() == name || ndjson_name(known) == name);
        let Some(known) = known else { return Some(field.name().clone()) };
        let below = surplus_type(field.data_type(), known.data_type())?;
        Some(format!("{}.{below}", field.name()))
    })
}

fn surplus_type(of: &DataType, beyond: &DataType) -> Option<String> {
    use DataType::*;
    match (of, beyond) {
        (Struct(own), Struct(known)) => surplus_field(own, known),
        (
            List(own) | LargeList(own) | FixedSizeList(own, _) | ListView(own),
            List(known) | LargeList(known) | FixedSizeList(known, _) | ListView(known),
        ) => surplus_type(own.data_type(), known.data_type()),
        _ => None,
    }
}
