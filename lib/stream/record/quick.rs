//! Structs that have one usual text in NDJSON, and are read and written in it many at once. Nearly all bytes of games
//! are steps; a step in any other form, right or wrong, is left to the general reader and writer, with the same results.

use std::any::Any;
use std::ops::Range;

use arrow_array::StructArray;
use arrow_schema::Fields;

use super::columns::RowEnds;

/// A struct with a usual text, as an item of lists.
pub trait QuickItems: Sync {
    /// Returns the fields of the struct.
    fn fields(&self) -> &'static Fields;

    /// Reads the items of a list, up to the first whose text is not the usual one; the first item begins at `start`.
    /// `columns` are in the order of the fields. Returns the offset after the last item; `start` if there is none.
    fn read(&self, text: &str, start: usize, columns: Vec<QuickColumn<'_>>) -> usize;

    /// Returns the items of an array as texts; `None` if their columns have another form.
    fn texts<'a>(&self, array: &'a StructArray) -> Option<Box<dyn QuickTexts + 'a>>;
}

/// The texts of items.
pub trait QuickTexts {
    /// Appends the texts of items, each with a comma after it, up to the first that has no usual text; returns how
    /// many.
    fn write(&self, out: &mut Vec<u8>, range: Range<usize>) -> usize;
}

/// A column of such structs that is being built.
pub struct QuickColumn<'a> {
    /// A [`NullableColumn`](super::nullable::NullableColumn) or a [`TextBuilder`](super::columns::TextBuilder); of a
    /// list the column of its items.
    pub values: &'a mut dyn Any,
    /// The ends of a list.
    pub ends: Option<&'a mut RowEnds>,
}

impl<'a> QuickColumn<'a> {
    /// Returns the column as what it is.
    pub fn of<T: 'static>(self) -> Option<&'a mut T> {
        self.values.downcast_mut()
    }

    /// Returns the items of a list, and its ends.
    pub fn list<T: 'static>(self) -> Option<(&'a mut T, &'a mut RowEnds)> {
        Some((self.values.downcast_mut()?, self.ends?))
    }
}
