//! Files whose lines together are records, as sessions of agents are: each is read whole.

use std::io::{BufRead, BufReader, Cursor, Read};
use std::sync::Arc;

use super::bytes::{Bytes, read_error};
use crate::batch::TooLarge;
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
    /// Returns the records in all lines of a file.
    pub records: fn(&str) -> Result<Vec<String>, LineFault>,
}

/// What a file holds.
pub(super) enum FileContent {
    /// Lines, each a record.
    Lines(Bytes),
    /// Records, as lines, and their number.
    Records(Bytes, u64),
}

/// Reads a file whole if it has one of the forms; `is_part`: only a part of its lines is wanted.
pub(super) fn read(
    forms: &'static [FileForm],
    bytes: Bytes,
    (name, is_piped): (&Arc<str>, bool),
    most: u64,
    is_part: bool,
) -> Result<FileContent> {
    if forms.is_empty() {
        return Ok(FileContent::Lines(bytes));
    }
    let failed = |error: std::io::Error| read_error(name, is_piped, &error);
    let mut lines = BufReader::new(bytes);
    let mut first = Vec::new();
    lines.by_ref().take(most).read_until(b'\n', &mut first).map_err(failed)?;
    let Some(form) = forms.iter().find(|form| (form.knows)(&first)) else {
        return Ok(FileContent::Lines(Box::new(Cursor::new(first).chain(lines))));
    };
    if is_part {
        let cause = format!("is {}, which cannot be divided", form.name);
        return Err(Error::usage(cause)
            .at(name)
            .hint(format!("chat-harmony {name} > chats.jsonl")));
    }
    let mut text = first;
    lines.take(most.saturating_add(1)).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > most {
        return Err(TooLarge::error(most).at(Place::line(name.clone(), 1)));
    }
    let text = String::from_utf8(text).map_err(|_| Error::data("is not UTF-8").at(name))?;
    let records = (form.records)(&text)
        .map_err(|fault| Error::data(fault.cause).at(Place::line(name.clone(), fault.line)))?;
    if records.is_empty() {
        return Err(Error::data(format!("is {} without an answer", form.name)).at(name));
    }
    let (count, mut lines) = (records.len() as u64, records.join("\n"));
    lines.push('\n');
    Ok(FileContent::Records(Box::new(Cursor::new(lines)), count))
}
