//! Records of a type that is not known here: the values of their columns, by name.

use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use serde::Serialize;

use super::Shown;
use super::page::{Parts, fields_parts};
use super::term::{Artist, Line, fields_lines};
use crate::error::Result;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ShownFields {
    pub fields: Vec<ShownField>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownField {
    pub name: String,
    /// `None` for null.
    pub value: Option<String>,
}

impl ShownFields {
    pub fn of(records: &RecordBatch, row: usize) -> Result<ShownFields> {
        let format = FormatOptions::default().with_null("null");
        let mut fields = Vec::with_capacity(records.num_columns());
        for (field, column) in records.schema_ref().fields().iter().zip(records.columns()) {
            let value = match column.is_null(row) {
                true => None,
                false => {
                    Some(ArrayFormatter::try_new(column, &format)?.value(row).try_to_string()?)
                }
            };
            fields.push(ShownField { name: field.name().clone(), value });
        }
        Ok(ShownFields { fields })
    }
}

impl Shown for ShownFields {
    fn lines(self: Box<Self>, number: &str, artist: &mut Artist) -> Vec<Line> {
        fields_lines(&self, number, &artist.drawing)
    }

    fn parts(&self, bytes: usize) -> Parts {
        fields_parts(self, bytes)
    }
}
