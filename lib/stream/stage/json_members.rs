//! Checks the texts of JSON columns that stand for one value (`messages_json`) if they are handed on without
//! being read, since NDJSON has the value in place of the text.

use arrow_array::cast::AsArray;

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::record::{JsonForm, ndjson_name};
use crate::stream::json_member;

/// Returns the batch if each such text is a JSON object that has the value.
pub fn check_json_members(batch: Batch) -> Result<Batch> {
    let schema = batch.records.schema();
    for (field, column) in schema.fields().iter().zip(batch.records.columns()) {
        let texts = column.as_string_opt::<i32>();
        let Some(texts) = texts.filter(|_| JsonForm::of(field) == Some(JsonForm::Member)) else {
            continue;
        };
        for (row, text) in texts.iter().enumerate() {
            let Some(text) = text else { continue };
            if let Err(cause) = json_member(text, ndjson_name(field)) {
                let cause = format!("{}: {cause}", field.name());
                return Err(Error::data(cause).at(batch.origin.place(row)));
            }
        }
    }
    Ok(batch)
}
