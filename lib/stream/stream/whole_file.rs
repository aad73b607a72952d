//! Files whose lines together are records, as sessions of agents are: each is read whole.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;

use super::bytes::{Bytes, read_error};
use crate::batch::TooLarge;
use crate::cli::FileForms;
use crate::error::{Error, Place, Result};

/// Why a line of such a file is bad.
pub struct LineFault {
    /// The number of the line, from 1.
    pub line: u64,
    pub cause: String,
}

/// A form of such files.
pub struct FileForm {
    /// The name of the form, for messages.
    pub name: &'static str,
    /// Whether a file that begins with this line has the form.
    pub knows: fn(&[u8]) -> bool,
    /// Appends the records in all lines of a file, each as a line, and returns their number.
    pub records: fn(&str, &mut Vec<u8>) -> Result<u64, LineFault>,
}

/// What a file holds.
pub(super) enum FileContent {
    /// Lines, each a record.
    Lines(Bytes),
    /// Records, as lines, and their number.
    Records(Bytes, u64),
}

/// Returns the form that a file has, its first line, and the rest.
pub(super) fn form_of(
    forms: FileForms,
    bytes: Bytes,
    most: u64,
) -> io::Result<(Option<&'static FileForm>, Vec<u8>, BufReader<Bytes>)> {
    let mut lines = BufReader::new(bytes);
    let mut first = Vec::new();
    if !forms.0.is_empty() {
        lines.by_ref().take(most).read_until(b'\n', &mut first)?;
    }
    Ok((forms.0.iter().find(|form| (form.knows)(&first)), first, lines))
}

/// Reads a file whole if it has one of the forms.
pub(super) fn read(
    forms: FileForms,
    bytes: Bytes,
    (name, is_piped): (&Arc<str>, bool),
    most: u64,
) -> Result<FileContent> {
    if forms.0.is_empty() {
        return Ok(FileContent::Lines(bytes));
    }
    let failed = |error: io::Error| read_error(name, is_piped, &error);
    let (form, first, lines) = form_of(forms, bytes, most).map_err(failed)?;
    let Some(form) = form else {
        return Ok(FileContent::Lines(Box::new(Cursor::new(first).chain(lines))));
    };
    let mut text = first;
    lines.take(most.saturating_add(1)).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > most {
        return Err(TooLarge::error(most).at(Place::line(name.clone(), 1)));
    }
    let text = String::from_utf8(text).map_err(|_| Error::data("is not UTF-8").at(name))?;
    let mut lines = Vec::new();
    let count = (form.records)(&text, &mut lines)
        .map_err(|fault| Error::data(fault.cause).at(Place::line(name.clone(), fault.line)))?;
    if count == 0 {
        return Err(Error::data(format!("is {} without an answer", form.name)).at(name));
    }
    Ok(FileContent::Records(Box::new(Cursor::new(lines)), count))
}
