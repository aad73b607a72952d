//! Which rows of a batch are valid records. Arrow and Parquet can hold values that NDJSON cannot have, or
//! that do not fit the columns of a record type. All encodings refuse the same records for the same
//! reasons. Most batches are good, and one look at their columns shows that. A bad row is written as a
//! line, and the decoder of NDJSON says why it is refused.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef};

use super::conform::{ColumnMapping, ColumnPlaces};
use super::conversion::Conversion;
use super::json_column::object;
use super::ndjson_reader::NdjsonDecoder;
use super::ndjson_writer::NdjsonEncoder;
use super::refused_rows::{RefusedRow, Run, input_of, plain};
use super::texts::{Part, parts};
use crate::record::{JsonForm, OTHERS};

impl Conversion {
    /// Returns the rows of a batch, in pieces: a value that does not fit refuses its row.
    pub fn runs(&self, batch: &RecordBatch) -> Result<Vec<Run>, String> {
        let is_text = |(a, b): (&FieldRef, &FieldRef)| a.data_type() == b.data_type();
        if batch.schema_ref().fields().iter().zip(self.from().fields()).all(is_text) {
            return self.text_runs(batch);
        }
        let mut runs = Vec::new();
        for part in parts(batch, self.from()).map_err(|error| error.to_string())? {
            match part {
                Part::Text(batch) => runs.extend(self.text_runs(&batch)?),
                Part::NoText(row, reason) => {
                    let refused = RefusedRow { reason, input: input_of(&row) };
                    match runs.last_mut() {
                        Some(Run { refused: before, .. }) => before.push(refused),
                        None => {
                            let records = RecordBatch::new_empty(self.target().clone());
                            runs.push(Run { records, refused: vec![refused] });
                        }
                    }
                }
            }
        }
        Ok(runs)
    }

    /// Returns the rows of a batch whose text is all valid.
    fn text_runs(&self, batch: &RecordBatch) -> Result<Vec<Run>, String> {
        match self {
            Conversion::Records(mapping) => record_runs(mapping, batch),
            Conversion::Typed(columns) => Ok(columns.runs(batch)),
        }
    }
}

/// Returns the rows of a batch, whose text is all valid, in the schema of a record type; rows that
/// do not fit are refused.
fn record_runs(mapping: &ColumnMapping, batch: &RecordBatch) -> Result<Vec<Run>, String> {
    let applied = mapping.apply(batch);
    if let Ok(records) = &applied
        && is_valid(records)
    {
        return Ok(vec![Run { records: records.clone(), refused: Vec::new() }]);
    }
    let mut runs = Vec::new();
    let mut start = 0;
    let mut refused = Vec::new();
    let mut reasons =
        RefusalReasons::new(batch, mapping.target()).map_err(|error| error.to_string())?;
    for row in 0..batch.num_rows() {
        match reasons.of(batch, row).map_err(|error| error.to_string())? {
            Some(reason) => {
                refused.push(RefusedRow { reason, input: input_of(&batch.slice(row, 1)) });
            }
            None if refused.is_empty() => {}
            None => {
                let refused = std::mem::take(&mut refused);
                runs.push(run(mapping, batch, start..row, refused)?);
                start = row;
            }
        }
    }
    if runs.is_empty() && refused.is_empty() {
        return Ok(vec![Run { records: applied?, refused }]);
    }
    runs.push(run(mapping, batch, start..batch.num_rows(), refused)?);
    Ok(runs)
}

fn run(
    mapping: &ColumnMapping,
    batch: &RecordBatch,
    rows: std::ops::Range<usize>,
    refused: Vec<RefusedRow>,
) -> Result<Run, String> {
    let good = batch.slice(rows.start, rows.len() - refused.len());
    Ok(Run { records: mapping.apply(&good)?, refused })
}

/// Finds out why rows are refused.
struct RefusalReasons {
    /// The columns of the batch that the target has.
    columns: Vec<usize>,
    encoder: NdjsonEncoder,
    decoder: NdjsonDecoder,
    line: Vec<u8>,
}

impl RefusalReasons {
    fn new(batch: &RecordBatch, target: &SchemaRef) -> Result<RefusalReasons, ArrowError> {
        // Columns that the target lacks are not looked at, and neither are types that JSON does not
        // have.
        let places = ColumnPlaces::of(batch.schema_ref());
        let fields: Vec<FieldRef> = target.fields().iter().filter_map(readable).collect();
        let columns: Vec<usize> = if JsonForm::is_of_records(target) {
            (0..batch.num_columns()).collect()
        } else {
            let named = fields.iter().filter(|field| !JsonForm::is_rest(field));
            named.filter_map(|field| places.find(field)).chain(places.named(OTHERS)).collect()
        };
        let encoder = NdjsonEncoder::exact(plain(&batch.project(&columns)?));
        let decoder = NdjsonDecoder::new(SchemaRef::new(Schema::new(fields)))?;
        Ok(RefusalReasons { columns, encoder, decoder, line: Vec::new() })
    }

    fn of(&mut self, batch: &RecordBatch, row: usize) -> Result<Option<String>, ArrowError> {
        self.line.clear();
        let single = batch.slice(row, 1).project(&self.columns)?;
        match self.encoder.encode(&single, &mut self.line) {
            Err(ArrowError::JsonError(cause)) => return Ok(Some(cause)),
            encoded => encoded?,
        }
        let reason = self.decoder.line(&self.line).err();
        self.decoder.finish()?;
        Ok(reason)
    }
}

/// Returns a field without the parts that cannot be read from NDJSON.
fn readable(field: &FieldRef) -> Option<FieldRef> {
    use DataType::*;
    if JsonForm::of(field).is_some() {
        return Some(field.clone());
    }
    let data_type = match field.data_type() {
        Dictionary(_, values) => values.as_ref().clone(),
        List(item)
        | LargeList(item)
        | ListView(item)
        | LargeListView(item)
        | FixedSizeList(item, _) => List(readable(item)?),
        Struct(members) => Struct(members.iter().filter_map(readable).collect()),
        other => other.clone(),
    };
    let field = field.as_ref().clone().with_data_type(data_type);
    NdjsonDecoder::new(SchemaRef::new(Schema::new(vec![field.clone()]))).ok()?;
    Some(field.into())
}

/// Whether no row has a value that NDJSON would refuse, beyond what the types show.
fn is_valid(batch: &RecordBatch) -> bool {
    let fields = batch.schema_ref().fields().iter();
    fields.zip(batch.columns()).all(|(field, column)| match JsonForm::of(field) {
        Some(JsonForm::Value) => match column.as_string_opt::<i32>() {
            Some(texts) => texts.iter().flatten().all(|text| object(text).is_ok()),
            None => true,
        },
        Some(JsonForm::Member | JsonForm::Any | JsonForm::Record | JsonForm::Rest) => true,
        None => is_finite(column),
    })
}

/// Whether all numbers of a column are finite, even those beneath its nulls.
fn is_finite(column: &dyn Array) -> bool {
    match column.data_type() {
        DataType::Float32 => {
            let values = column.as_primitive::<Float32Type>().values();
            values.iter().fold(true, |all, value| all & value.is_finite())
        }
        DataType::Float64 => {
            let values = column.as_primitive::<Float64Type>().values();
            values.iter().fold(true, |all, value| all & value.is_finite())
        }
        DataType::Float16 => {
            column.as_primitive::<Float16Type>().iter().flatten().all(|v| v.is_finite())
        }
        DataType::List(_) => is_finite(column.as_list::<i32>().values()),
        DataType::LargeList(_) => is_finite(column.as_list::<i64>().values()),
        DataType::FixedSizeList(..) => is_finite(column.as_fixed_size_list().values()),
        DataType::ListView(_) => is_finite(column.as_list_view::<i32>().values()),
        DataType::LargeListView(_) => is_finite(column.as_list_view::<i64>().values()),
        DataType::Struct(_) => column.as_struct().columns().iter().all(|part| is_finite(part)),
        // Other types with floats are only read by readers that refuse values without JSON.
        _ => true,
    }
}
