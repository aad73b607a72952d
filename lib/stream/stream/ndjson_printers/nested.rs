//! Printers of values that hold others: lists, structs, unions and maps.

use std::collections::HashSet;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray, UnionArray};
use arrow_buffer::NullBuffer;
use arrow_schema::ArrowError;

use super::{ColumnPrinter, MemberLabels, Nulls, Printer, no_json, write_each, write_members};
use crate::json;
use crate::record::quick::QuickTexts;
use crate::record::quick_items;

pub(super) struct ListPrinter<'a>(pub &'a [i32], pub ColumnPrinter<'a>);

impl Printer for ListPrinter<'_> {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        let ListPrinter(offsets, items) = self;
        let range = offsets[row] as usize..offsets[row + 1] as usize;
        out.push(b'[');
        items.values.write_items(out, range, items.nulls.as_ref())?;
        out.push(b']');
        Ok(())
    }
}

pub(super) fn struct_printer<'a>(
    array: &'a StructArray,
    nulls: Nulls,
) -> Result<Box<dyn Printer + 'a>, ArrowError> {
    let columns = array.fields().iter().zip(array.columns());
    let columns = columns.map(|(field, column)| ColumnPrinter::new(field, column, nulls));
    let members =
        StructPrinter(MemberLabels::of(array.fields()), columns.collect::<Result<_, _>>()?);
    Ok(match quick_items(array.fields()).and_then(|items| items.texts(array)) {
        Some(texts) => Box::new(QuickPrinter(texts, members)),
        None => Box::new(members),
    })
}

struct StructPrinter<'a>(MemberLabels, Vec<ColumnPrinter<'a>>);

impl Printer for StructPrinter<'_> {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        write_members(out, &self.0, &self.1, row)
    }
}

/// Structs with a usual text: these are written many at once, others one by one.
struct QuickPrinter<'a>(Box<dyn QuickTexts + 'a>, StructPrinter<'a>);

impl Printer for QuickPrinter<'_> {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        self.1.write(out, row)
    }

    fn write_items(
        &self,
        out: &mut Vec<u8>,
        range: Range<usize>,
        nulls: Option<&NullBuffer>,
    ) -> Result<(), ArrowError> {
        let QuickPrinter(texts, others) = self;
        let written = if nulls.is_none() { texts.write(out, range.clone()) } else { 0 };
        let rest = range.start + written..range.end;
        if rest.is_empty() {
            // The comma after the last one.
            out.truncate(out.len() - usize::from(!range.is_empty()));
            return Ok(());
        }
        write_each(others, out, rest, nulls)
    }
}

/// Values of several types, each printed with its own type; the types by their ids.
pub(super) struct UnionPrinter<'a>(pub &'a UnionArray, pub Vec<(i8, ColumnPrinter<'a>)>);

impl Printer for UnionPrinter<'_> {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        let UnionPrinter(union, members) = self;
        let id = union.type_id(row);
        match members.iter().find(|(own, _)| *own == id) {
            Some((_, member)) => member.write(out, union.value_offset(row)),
            None => no_json(format!("a union has no type {id}")),
        }
    }
}

/// Maps are printed as objects; their keys are text, or have a text.
pub(super) struct MapPrinter<'a> {
    pub offsets: &'a [i32],
    pub keys: Result<ArrayRef, String>,
    pub values: ColumnPrinter<'a>,
}

impl Printer for MapPrinter<'_> {
    fn write(&self, out: &mut Vec<u8>, row: usize) -> Result<(), ArrowError> {
        let keys = match &self.keys {
            Ok(keys) => keys.as_string::<i32>(),
            Err(cause) => return no_json(format!("a key: {cause}")),
        };
        let entries = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        out.push(b'{');
        let mut written = HashSet::new();
        for (number, entry) in entries.enumerate() {
            if number > 0 {
                out.push(b',');
            }
            let key = keys.value(entry);
            if keys.is_null(entry) {
                return no_json("a key that is null");
            }
            if !written.insert(key) {
                return no_json(format!("the key {key:?} twice"));
            }
            json::write_string(out, key);
            out.push(b':');
            self.values.write(out, entry)?;
        }
        out.push(b'}');
        Ok(())
    }
}
