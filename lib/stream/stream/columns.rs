//! Builds columns from JSON values, one builder for each type of field that our records have.

use std::sync::Arc;

use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema};

use super::json_column::{JsonColumn, Problem, problem};
use super::scalar_columns::{BooleanColumn, JsonTextColumn, TextColumn};
use crate::json::{Kind, Reader, Str};
use crate::record::columns::{RowEnds, null_buffer};
use crate::record::nullable::NullableColumn;
use crate::record::quick::{QuickColumn, QuickItems};
use crate::record::{JsonForm, ndjson_name, quick_items};

/// A member of an object and its column.
struct MemberColumn {
    /// The name in NDJSON.
    name: String,
    /// A JSON column's own name: NDJSON may have the text under it instead of the value.
    text_name: Option<String>,
    nullable: bool,
    /// Whether the column takes all members that have no column of their own, and none with the column's
    /// own name.
    is_rest: bool,
    column: Box<dyn JsonColumn>,
}

impl MemberColumn {
    fn has_name(&self, key: &Str<'_>) -> bool {
        !self.is_rest && key.eq_str(&self.name)
    }

    fn is_named(&self, key: &Str<'_>) -> bool {
        self.has_name(key) || self.text_name.as_ref().is_some_and(|name| key.eq_str(name))
    }
}

/// The members of objects, and their columns.
pub(super) struct Members {
    columns: Vec<MemberColumn>,
    unknown: Unknown,
    is_exact: bool,
    /// Whether the only column has the texts of whole records.
    is_of_records: bool,
    /// The text of the members without a column, if one column has them all.
    rest: Option<String>,
}

/// How members without a column are treated.
pub(super) enum Unknown {
    Skipped,
    /// Members with these names are errors.
    Among(Vec<String>),
    Refused,
}

impl Unknown {
    fn check(&self, key: &Str<'_>) -> Result<(), Problem> {
        // The known names come from the whole first input, if it is a file; else from its first
        // 10 MiB.
        let name = key.raw();
        match self {
            Unknown::Skipped => Ok(()),
            Unknown::Among(names) if !names.iter().any(|name| key.eq_str(name)) => Ok(()),
            Unknown::Among(_) => problem(format!(
                "the first input (of a pipe its first 10 MiB), which says what columns there are, \
                 has no {name}; try: --columns {name}"
            )),
            Unknown::Refused => problem(format!(
                "the first input (of a pipe its first 10 MiB), which says what members there are, \
                 has no {name}; try: a file in place of the pipe, or a line with {name} in front"
            )),
        }
    }
}

impl Members {
    /// Makes the columns of a record type: unknown members are skipped, and of repeated members the last
    /// one counts.
    pub fn of(fields: &Fields) -> Result<Members, ArrowError> {
        Members::made(fields, Unknown::Skipped, false)
    }

    /// Makes columns of any types: no value is taken for one of another type, and no member may be
    /// repeated.
    pub fn exact(fields: &Fields, unknown: Unknown) -> Result<Members, ArrowError> {
        Members::made(fields, unknown, true)
    }

    fn made(fields: &Fields, unknown: Unknown, is_exact: bool) -> Result<Members, ArrowError> {
        let named = |field: &FieldRef| {
            let is_rest = JsonForm::is_rest(field);
            let form = JsonForm::of(field).filter(|_| !is_rest);
            Ok(MemberColumn {
                name: ndjson_name(field).to_string(),
                text_name: form.map(|_| field.name().clone()),
                nullable: field.is_nullable(),
                is_rest,
                column: column_of(field, is_exact)?,
            })
        };
        let columns = fields.iter().map(named).collect::<Result<Vec<_>, ArrowError>>()?;
        let is_of_records = JsonForm::is_of_records(&Schema::new(fields.clone()));
        let rest = columns.iter().any(|member| member.is_rest).then(String::new);
        Ok(Members { columns, unknown, is_exact, is_of_records, rest })
    }

    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Keeps the first rows.
    pub fn truncate(&mut self, rows: usize) {
        self.columns.iter_mut().for_each(|member| member.column.truncate(rows));
    }

    /// Takes the columns out; the builders are empty again.
    pub fn finish(&mut self) -> Result<Vec<ArrayRef>, ArrowError> {
        self.columns.iter_mut().map(|member| member.column.finish()).collect()
    }

    fn push_null(&mut self) {
        self.columns.iter_mut().for_each(|member| member.column.push_null());
    }

    /// Returns the columns for a reader of items in their usual text.
    fn quick_columns(&mut self) -> Option<Vec<QuickColumn<'_>>> {
        self.columns.iter_mut().map(|member| member.column.quick_column()).collect()
    }

    /// Reads one object as row `row`.
    pub fn read(&mut self, reader: &mut Reader<'_>, row: usize) -> Result<(), Problem> {
        match &mut self.columns[..] {
            [record] if self.is_of_records && reader.peek()? == Kind::Object => {
                record.column.read(reader)
            }
            _ => read_object(reader, self, row),
        }
    }
}

/// Reads one object into the columns of a schema or struct, as row `row`.
fn read_object(
    reader: &mut Reader<'_>,
    Members { columns: fields, unknown, is_exact, rest, .. }: &mut Members,
    row: usize,
) -> Result<(), Problem> {
    if reader.peek()? != Kind::Object {
        return problem(format!("{} where an object should be", reader.peek()?));
    }
    if let Some(rest) = rest {
        rest.clear();
    }
    // Records usually have their fields in one order: the next expected field is tried first.
    let mut expected = 0;
    reader.object(|reader, key: Str<'_>| {
        let found = match fields.get(expected) {
            Some(field) if field.has_name(&key) => Some(expected),
            _ => fields.iter().position(|field| field.is_named(&key)),
        };
        let Some(index) = found else {
            unknown.check(&key)?;
            match rest {
                Some(rest) => add_member(rest, &key, reader.raw()?),
                None => reader.skip()?,
            }
            return Ok(());
        };
        expected = index + 1;
        let as_text = !key.eq_str(&fields[index].name);
        let MemberColumn { name, nullable, column, .. } = &mut fields[index];
        if *is_exact && column.len() > row {
            return problem(format!("{name} is there twice"));
        }
        // In a repeated field the last value counts.
        column.truncate(row);
        if reader.peek()? == Kind::Null {
            reader.null()?;
            if !*nullable {
                return problem(format!("{name} is null"));
            }
            column.push_null();
            return Ok(());
        }
        let read = if as_text { column.read_text(reader) } else { column.read(reader) };
        read.map_err(|Problem(text)| Problem(within(name, text)))
    })?;
    for MemberColumn { name, nullable, is_rest, column, .. } in fields {
        if let Some(rest) = rest.as_mut().filter(|rest| *is_rest && !rest.is_empty()) {
            rest.push('}');
            column.read(&mut Reader::lenient(rest))?;
        }
        if column.len() == row {
            if !*nullable {
                return problem(format!("{name} is missing"));
            }
            column.push_null();
        }
    }
    Ok(())
}

/// Adds a member to the text of an object that has no end yet.
fn add_member(object: &mut String, key: &Str<'_>, value: &str) {
    let before = if object.is_empty() { "{\"" } else { ",\"" };
    [before, key.raw(), "\":", value].into_iter().for_each(|part| object.push_str(part));
}

/// Puts a field's name before its error; a syntax error has its own place.
fn within(name: &str, text: String) -> String {
    if text.starts_with("invalid JSON") { text } else { format!("{name}: {text}") }
}

/// Makes an empty column for a field.
fn column_of(field: &Field, is_exact: bool) -> Result<Box<dyn JsonColumn>, ArrowError> {
    if let Some(form) = JsonForm::of(field) {
        let name = ndjson_name(field).to_string();
        return Ok(Box::new(JsonTextColumn::new(form, name)));
    }
    Ok(match field.data_type() {
        DataType::Utf8 | DataType::Utf8View => Box::new(TextColumn::new(is_exact)),
        DataType::Boolean => Box::new(BooleanColumn::default()),
        DataType::Int64 => Box::new(NullableColumn::<i64>::default()),
        DataType::Int32 => Box::new(NullableColumn::<i32>::default()),
        DataType::UInt8 => Box::new(NullableColumn::<u8>::default()),
        DataType::UInt32 => Box::new(NullableColumn::<u32>::default()),
        DataType::UInt64 => Box::new(NullableColumn::<u64>::default()),
        DataType::Float32 => Box::new(NullableColumn::<f32>::default()),
        DataType::Float64 => Box::new(NullableColumn::<f64>::default()),
        DataType::List(item) => Box::new(ListColumn {
            item: item.clone(),
            items: column_of(item, is_exact)?,
            ends: RowEnds::default(),
        }),
        DataType::Struct(fields) => Box::new(StructColumn {
            fields: fields.clone(),
            columns: if is_exact {
                Members::exact(fields, Unknown::Refused)?
            } else {
                Members::of(fields)?
            },
            known: NullableColumn::default(),
            quick: quick_items(fields),
        }),
        other => {
            let cause = format!("column {}: {other} read from NDJSON", field.name());
            return Err(ArrowError::NotYetImplemented(cause));
        }
    })
}

struct ListColumn {
    item: FieldRef,
    items: Box<dyn JsonColumn>,
    ends: RowEnds,
}

impl JsonColumn for ListColumn {
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), Problem> {
        let came = reader.peek()?;
        if came != Kind::Array {
            return problem(format!("{came} where a list should be"));
        }
        self.items.read_items(reader, self.item.is_nullable())?;
        self.ends.push(self.items.len(), true);
        self.ends.check().map_err(|_| Problem("longer than 2^31 - 1".to_string()))
    }

    fn push_null(&mut self) {
        self.ends.push(self.items.len(), false);
    }

    fn len(&self) -> usize {
        self.ends.rows()
    }

    fn truncate(&mut self, rows: usize) {
        self.items.truncate(self.ends.truncate(rows));
    }

    fn quick_column(&mut self) -> Option<QuickColumn<'_>> {
        let QuickColumn { values, .. } = self.items.quick_column()?;
        Some(QuickColumn { values, ends: Some(&mut self.ends) })
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        std::mem::take(&mut self.ends).list(&self.item, self.items.finish()?)
    }
}

struct StructColumn {
    fields: Fields,
    columns: Members,
    known: NullableColumn<()>,
    /// Reads them many at once, if they have a usual text.
    quick: Option<&'static dyn QuickItems>,
}

impl JsonColumn for StructColumn {
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), Problem> {
        self.columns.read(reader, self.known.len())?;
        self.known.push(Some(()));
        Ok(())
    }

    fn read_some_items(&mut self, reader: &mut Reader<'_>) -> bool {
        let Some(quick) = self.quick else { return false };
        let Some(columns) = self.columns.quick_columns() else { return false };
        reader.go_on(|text, at| quick.read(text, at, columns));
        let rows = self.columns.columns.first().map_or(0, |member| member.column.len());
        let count = rows - self.known.len();
        self.known.extend_known(std::iter::repeat_n((), count));
        count > 0
    }

    fn push_null(&mut self) {
        self.columns.push_null();
        self.known.push(None);
    }

    fn len(&self) -> usize {
        self.known.len()
    }

    fn truncate(&mut self, rows: usize) {
        self.columns.truncate(rows);
        self.known.truncate(rows);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let (columns, rows) = (self.columns.finish()?, self.len());
        let nulls = null_buffer(std::mem::take(&mut self.known).into_parts().1);
        let structs = StructArray::try_new_with_length(self.fields.clone(), columns, nulls, rows)?;
        Ok(Arc::new(structs))
    }
}
