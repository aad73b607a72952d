//! A column that is built from JSON values, and the reasons for which a value is refused.

use arrow_array::ArrayRef;
use arrow_schema::ArrowError;

use crate::json::{Kind, Reader};
use crate::record::quick::QuickColumn;

/// Why a line is not a record of the type.
pub(super) struct Problem(pub(super) String);

impl From<crate::json::Error> for Problem {
    fn from(error: crate::json::Error) -> Problem {
        Problem(format!("invalid JSON: {error}"))
    }
}

pub(super) fn problem<T>(text: impl Into<String>) -> Result<T, Problem> {
    Err(Problem(text.into()))
}

/// A column that is being built.
pub(super) trait JsonColumn: Send {
    /// Reads a value that is not null.
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), Problem>;

    /// Reads the value of a JSON column that is given as text.
    fn read_text(&mut self, reader: &mut Reader<'_>) -> Result<(), Problem> {
        self.read(reader)
    }

    /// Reads a list of values. This is compiled for every type of column, so that a long list costs
    /// one call through a pointer, not one for each of its items.
    fn read_items(&mut self, reader: &mut Reader<'_>, nullable: bool) -> Result<(), Problem> {
        reader.array(|reader| {
            if self.read_some_items(reader) {
                return Ok(());
            }
            if reader.peek()? == Kind::Null {
                if !nullable {
                    return problem("a null in the list");
                }
                reader.null()?;
                self.push_null();
                return Ok(());
            }
            self.read(reader)
        })
    }

    /// Reads items of a list in a faster way, if there is one, up to a comma or the end of the
    /// list; returns whether it has read any.
    fn read_some_items(&mut self, _reader: &mut Reader<'_>) -> bool {
        false
    }

    /// Returns the column for a reader that adds many values at once, if it takes them so.
    fn quick_column(&mut self) -> Option<QuickColumn<'_>> {
        None
    }

    fn push_null(&mut self);
    /// Returns the rows so far.
    fn len(&self) -> usize;
    /// Keeps the first rows.
    fn truncate(&mut self, rows: usize);
    /// Takes the column out; the builder is empty again.
    fn finish(&mut self) -> Result<ArrayRef, ArrowError>;
}

/// Fails, with the cause, if a text is not a JSON object.
pub fn object(text: &str) -> Result<(), String> {
    let no_json = |error: crate::json::Error| format!("holds no JSON: {error}");
    let mut reader = Reader::new(text);
    match reader.peek().map_err(no_json)? {
        Kind::Object => reader.skip().and_then(|()| reader.end()).map_err(no_json),
        kind => Err(format!("{kind} where an object should be")),
    }
}
