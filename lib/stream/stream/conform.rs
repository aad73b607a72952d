//! Converts a batch of another program to a record type's schema. Columns are found by name, and only
//! types with the same meaning are converted (any utf8, any list, any integer that fits, booleans as 0 and 1).

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray, new_null_array};
use arrow_cast::cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};

use super::ndjson_reader::NdjsonDecoder;
use super::ndjson_writer::json_texts;
use super::typed_cast::{cast_items, cast_members, plain_cast};
use crate::record::{JsonForm, is_json_text, ndjson_name};

/// Maps the columns of one input to the columns of the record type; made once per schema.
#[derive(Debug)]
pub struct ColumnMapping {
    from: SchemaRef,
    target: SchemaRef,
    /// For each field of the target its column in the input.
    columns: Vec<Option<usize>>,
    identical: bool,
    /// The columns of the input that go into the target's column of the rest.
    rest: Vec<usize>,
    /// The input's column of the rest, and the fields of the target that are looked for in it.
    within: Option<(usize, SchemaRef)>,
}

impl ColumnMapping {
    /// Fails, with the cause, if a field is missing or of another kind.
    pub fn new(from: &Schema, target: &SchemaRef) -> Result<ColumnMapping, String> {
        let mut columns = Vec::with_capacity(target.fields().len());
        if JsonForm::is_of_records(target) {
            let (from, target) = (SchemaRef::new(from.clone()), target.clone());
            let (rest, within) = (Vec::new(), None);
            return Ok(ColumnMapping { from, target, columns, identical: false, rest, within });
        }
        let places = ColumnPlaces::of(from);
        for field in target.fields() {
            let index = places.find(field);
            match index {
                Some(index) if is_json_value(from.field(index), field) => {}
                Some(index) => {
                    let source = from.field(index).data_type();
                    if !means_the_same(source, field.data_type()) {
                        let cause = difference(source, field.data_type());
                        return Err(format!("column {:?}: {cause}", field.name()));
                    }
                }
                None if !field.is_nullable() => {
                    let names: Vec<&str> =
                        from.fields().iter().map(|f| f.name().as_str()).collect();
                    return Err(format!(
                        "no column {:?}; there are: {}",
                        field.name(),
                        names.join(", ")
                    ));
                }
                None => {}
            }
            columns.push(index);
        }
        let identical = columns.len() == from.fields().len()
            && columns.iter().enumerate().all(|(i, &column)| column == Some(i))
            && from.fields().iter().zip(target.fields()).all(|(a, b)| same_type(a, b));
        let mut goes_on = vec![true; from.fields().len()];
        columns.iter().flatten().for_each(|column| goes_on[*column] = false);
        let is_rest = |column: &usize| JsonForm::is_rest(from.field(*column));
        let mut all = 0..from.fields().len();
        let rest = all.clone().filter(|column| goes_on[*column] || is_rest(column)).collect();
        let missing = target.fields().iter().zip(&columns).filter(|(_, column)| column.is_none());
        let missing: Vec<FieldRef> = missing.map(|(field, _)| field.clone()).collect();
        let within = all.find(is_rest).filter(|_| !missing.is_empty());
        let within = within.map(|column| (column, SchemaRef::new(Schema::new(missing))));
        let from = SchemaRef::new(from.clone());
        Ok(ColumnMapping { from, target: target.clone(), columns, identical, rest, within })
    }

    pub(super) fn from(&self) -> &SchemaRef {
        &self.from
    }

    pub(super) fn target(&self) -> &SchemaRef {
        &self.target
    }

    /// Returns the batch in the target's schema; columns that fit already are not copied.
    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch, String> {
        let rows = batch.num_rows();
        if JsonForm::is_of_records(&self.target) {
            return self.whole_records(batch).map_err(|error| error.to_string());
        }
        let within = self.found_within(batch)?;
        let found = |field: &Field| within.as_ref()?.column_by_name(field.name()).cloned();
        let mut columns = Vec::with_capacity(self.columns.len());
        for (field, index) in self.target.fields().iter().zip(&self.columns) {
            let column = match index {
                Some(index) if self.identical => batch.column(*index).clone(),
                _ if JsonForm::is_rest(field) => {
                    self.rest(batch).map_err(|error| error.to_string())?
                }
                Some(index) => convert(self.from.field(*index), batch.column(*index), field)?,
                None => found(field).unwrap_or_else(|| new_null_array(field.data_type(), rows)),
            };
            if !field.is_nullable() && column.null_count() > 0 {
                return Err(format!("a null in column {:?}", field.name()));
            }
            columns.push(column);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.target.clone(), columns, &options)
            .map_err(|e| e.to_string())
    }
}

impl ColumnMapping {
    /// Returns the text of each row as JSON.
    fn whole_records(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let texts = objects(&self.from, batch, JsonForm::Record)?;
        RecordBatch::try_new(self.target.clone(), vec![texts])
    }

    /// Returns the columns for which the target has no other field, as texts of objects.
    fn rest(&self, batch: &RecordBatch) -> Result<ArrayRef, ArrowError> {
        objects(&self.from.project(&self.rest)?, &batch.project(&self.rest)?, JsonForm::Rest)
    }

    /// Returns the fields of the target that the input has in its column of the rest.
    fn found_within(&self, batch: &RecordBatch) -> Result<Option<RecordBatch>, String> {
        let Some((column, fields)) = &self.within else { return Ok(None) };
        let texts = batch.column(*column);
        if texts.null_count() == texts.len() {
            return Ok(None);
        }
        let texts = plain_cast(texts, &DataType::Utf8)?;
        let texts = texts.as_string::<i32>();
        let mut decoder = NdjsonDecoder::new(fields.clone()).map_err(|error| error.to_string())?;
        texts.iter().try_for_each(|text| decoder.line(text.unwrap_or("{}").as_bytes()))?;
        decoder.finish().map(Some).map_err(|error| error.to_string())
    }
}

/// Returns the rows of a batch as texts of JSON objects.
fn objects(from: &Schema, batch: &RecordBatch, form: JsonForm) -> Result<ArrayRef, ArrowError> {
    let (fields, rows) = (from.fields().clone(), batch.num_rows());
    let structs = StructArray::try_new_with_length(fields, batch.columns().to_vec(), None, rows)?;
    let structs: ArrayRef = Arc::new(structs);
    let field = Field::new("record", structs.data_type().clone(), false);
    Ok(Arc::new(json_texts(&field.into(), &structs, form)?))
}

/// Finds the columns of a schema by name, also if there are very many.
pub struct ColumnPlaces<'a> {
    from: &'a Schema,
    by_name: HashMap<&'a str, usize>,
}

impl<'a> ColumnPlaces<'a> {
    pub fn of(from: &'a Schema) -> ColumnPlaces<'a> {
        let mut by_name = HashMap::with_capacity(from.fields().len());
        for (index, field) in from.fields().iter().enumerate() {
            by_name.entry(field.name().as_str()).or_insert(index);
        }
        ColumnPlaces { from, by_name }
    }

    /// Returns the column with this name, the first if there are several.
    pub fn named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns the column that becomes a field: the one with its name, or, for a JSON field, the
    /// one with its name in NDJSON if that holds lists, structs or JSON (`messages`, as datasets of
    /// Hugging Face have it).
    pub fn find(&self, field: &Field) -> Option<usize> {
        self.named(field.name()).or_else(|| {
            let index = self.named(ndjson_name(field))?;
            is_json_value(self.from.field(index), field).then_some(index)
        })
    }
}

/// Whether a column holds the values from which the texts of a JSON field are made.
fn is_json_value(column: &Field, field: &Field) -> bool {
    use DataType::*;
    let is_list = matches!(column.data_type(), List(_) | LargeList(_) | ListView(_));
    match JsonForm::of(field) {
        Some(JsonForm::Member) => is_list || is_json_text(column),
        Some(JsonForm::Value) => matches!(column.data_type(), Struct(_)) || is_json_text(column),
        Some(JsonForm::Any | JsonForm::Record) => true,
        Some(JsonForm::Rest) | None => false,
    }
}

/// Casts if the types differ; a value that does not fit is an error, never a null or a wrap.
fn convert(from: &Field, column: &ArrayRef, field: &Field) -> Result<ArrayRef, String> {
    // A column with the field's own name has its texts.
    let is_value = column.data_type().is_nested() || from.name() != field.name();
    let form = JsonForm::of(field);
    if let Some(form) = form.filter(|form| is_value || *form == JsonForm::Any) {
        let named = from.clone().with_name(ndjson_name(field)).with_nullable(true);
        let texts = json_texts(&named.into(), column, form).map_err(|e| e.to_string())?;
        return cast(&texts, field.data_type()).map_err(|e| e.to_string());
    }
    if column.data_type() == field.data_type() {
        return Ok(Arc::clone(column));
    }
    let cast = convert_column(column, field.data_type());
    let cast = cast.map_err(|e| format!("column {:?}: {e}", field.name()))?;
    if cast.null_count() > column.logical_null_count() {
        return Err(format!("column {:?}: a value that does not fit", field.name()));
    }
    Ok(cast)
}

/// Returns a column as one of another type.
fn convert_column(column: &ArrayRef, target: &DataType) -> Result<ArrayRef, String> {
    use DataType::*;
    match (column.data_type(), target) {
        (source, target) if source == target => Ok(column.clone()),
        (Struct(_), Struct(fields)) => cast_members(column, fields, convert_column),
        (List(_), List(item)) => cast_items(column, item, convert_column),
        (LargeList(own) | FixedSizeList(own, _) | ListView(own), List(_)) => {
            convert_column(&plain_cast(column, &List(own.clone()))?, target)
        }
        _ => plain_cast(column, target),
    }
}

/// Whether a value of one type is a value of the other (for ids, an integer is also its decimal
/// text).
fn means_the_same(source: &DataType, target: &DataType) -> bool {
    use DataType::*;
    match (source, target) {
        (source, target) if source == target => true,
        (Null, _) => true,
        (Dictionary(_, values), _) => means_the_same(values, target),
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View) => true,
        (BinaryView, Binary | LargeBinary) => true,
        (source, Utf8 | Utf8View) => source.is_integer(),
        (
            List(source) | LargeList(source) | FixedSizeList(source, _) | ListView(source),
            List(target),
        )
        | (LargeList(source), LargeList(target))
        | (Map(source, _), Map(target, _)) => {
            means_the_same(source.data_type(), target.data_type())
        }
        (FixedSizeList(source, length), FixedSizeList(target, wanted)) => {
            length == wanted && means_the_same(source.data_type(), target.data_type())
        }
        (Struct(source), Struct(target)) => target.iter().all(|wanted| {
            match source.iter().find(|field| field.name() == wanted.name()) {
                Some(field) => means_the_same(field.data_type(), wanted.data_type()),
                None => wanted.is_nullable(),
            }
        }),
        (Float16 | Float32 | Float64, target) if target.is_floating() => true,
        // (Masks of other programs: 1 for true.)
        (Boolean, target) => target.is_integer(),
        (source, target) => source.is_integer() && target.is_integer(),
    }
}

/// Returns how two types differ: which member, if they are structs or lists of structs.
fn difference(source: &DataType, target: &DataType) -> String {
    use DataType::*;
    let item = |data_type: &DataType| match data_type {
        List(item) | LargeList(item) | ListView(item) | FixedSizeList(item, _) => {
            Some(item.data_type().clone()).filter(DataType::is_nested)
        }
        _ => None,
    };
    if let (Some(source), Some(target)) = (item(source), item(target)) {
        return difference(&source, &target);
    }
    if let (Struct(source), Struct(target)) = (source, target) {
        for wanted in target {
            let name = wanted.name();
            match source.iter().find(|field| field.name() == name) {
                Some(field) if !means_the_same(field.data_type(), wanted.data_type()) => {
                    let cause = difference(field.data_type(), wanted.data_type());
                    return format!("member {name:?}: {cause}");
                }
                None if !wanted.is_nullable() => return format!("no member {name:?}"),
                _ => {}
            }
        }
    }
    format!("expected {}, got {}", shown(target), shown(source))
}

fn same_type(a: &Field, b: &Field) -> bool {
    a.name() == b.name() && a.data_type() == b.data_type()
}

/// Returns a type as people write it.
fn shown(data_type: &DataType) -> String {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) => {
            format!("a list of {}", shown(item.data_type()))
        }
        DataType::Struct(_) => "a struct".to_string(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "utf8".to_string(),
        other => other.to_string().to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_member_that_does_not_fit_is_named() {
        let members = [("board", DataType::UInt64), ("board_eval", DataType::Int32)];
        let members = members.map(|(name, of)| Field::new(name, of, false));
        let item = Field::new("item", DataType::Struct(members.to_vec().into()), false);
        let steps = Field::new("steps", DataType::List(Arc::new(item)), false);
        let game = SchemaRef::new(Schema::new(vec![steps]));
        let changed = |change: fn(&Field) -> Option<Field>| {
            let steps = game.field_with_name("steps").unwrap();
            let DataType::List(item) = steps.data_type() else { unreachable!() };
            let DataType::Struct(members) = item.data_type() else { unreachable!() };
            let members: Vec<Field> = members.iter().filter_map(|field| change(field)).collect();
            let item = item.as_ref().clone().with_data_type(DataType::Struct(members.into()));
            let steps = steps.clone().with_data_type(DataType::LargeList(Arc::new(item)));
            ColumnMapping::new(&Schema::new(vec![steps]), &game).unwrap_err()
        };
        let cause = changed(|field| {
            let is = field.name() == "board_eval";
            let of = if is { DataType::Utf8 } else { field.data_type().clone() };
            Some(field.clone().with_data_type(of))
        });
        assert_eq!(cause, "column \"steps\": member \"board_eval\": expected int32, got utf8");
        let cause = changed(|field| (field.name() != "board").then(|| field.clone()));
        assert_eq!(cause, "column \"steps\": no member \"board\"");
    }
}
