//! Reads `source,question,answer,rating` rows, one line each. The crate `csv` is not used: its quotes run
//! over line ends, so that one stray quote takes in the rest of a file (and fills the memory). The two
//! fields that matter here have neither commas nor line ends.

use super::Error;
use super::source::last_part;
use crate::wording::exactly;
use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The first line of every file.
const HEADER: &str = "source,question,answer,rating";

/// The longest line, in bytes (a maze of 2,000 × 2,000 still fits): nothing else bounds the memory.
const LONGEST_LINE: usize = 16 << 20;

/// The lines after the header; empty ones are skipped.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    path: PathBuf,
    line: u64,
    text: Vec<u8>,
}

impl<R: Read> Lines<R> {
    /// Reads and checks the header.
    pub fn new(path: &Path, reader: R) -> Result<Lines<R>, Error> {
        let reader = BufReader::with_capacity(1 << 16, reader);
        let mut lines = Lines { reader, path: path.to_path_buf(), line: 0, text: Vec::new() };
        if !lines.read_line()? {
            return Err(Error::data(path.display(), format_args!("is empty, expected {HEADER}")));
        }
        let header = lines.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&lines.text);
        // (Some programs quote every field.)
        let quoted = format!("\"{}\"", HEADER.replace(',', "\",\""));
        let is_header = [HEADER, &quoted].iter().any(|known| header == known.as_bytes());
        if !is_header {
            let cause = format!("header is {}, expected {HEADER}", excerpt(header));
            return Err(lines.error(&cause));
        }
        Ok(lines)
    }

    /// Returns the next row's line number (from 1) and text, without its line end.
    pub fn next_row(&mut self) -> Result<Option<(u64, &[u8])>, Error> {
        while self.read_line()? {
            if !self.text.is_empty() {
                return Ok(Some((self.line, &self.text)));
            }
        }
        Ok(None)
    }

    fn read_line(&mut self) -> Result<bool, Error> {
        self.text.clear();
        self.line += 1;
        let mut bounded = self.reader.by_ref().take(LONGEST_LINE as u64 + 1);
        let read = bounded.read_until(b'\n', &mut self.text);
        let count = read.map_err(|cause| Error::io(&self.path, &cause))?;
        if self.text.ends_with(b"\n") {
            self.text.pop();
            if self.text.ends_with(b"\r") {
                self.text.pop();
            }
        } else if self.text.len() > LONGEST_LINE {
            return Err(self.error(&format!("the line is longer than {LONGEST_LINE} bytes")));
        }
        Ok(count > 0)
    }

    fn error(&self, cause: &str) -> Error {
        Error::line(&self.path, self.line, cause)
    }
}

/// Returns `file:line`, with the file's name alone.
pub(super) fn short_place(path: &Path, line: u64) -> String {
    format!("{}:{line}", last_part(path))
}

/// Returns the four fields of a row, untrimmed. A field that starts with a quote ends with one, on
/// the same line, and two quotes in it stand for one; elsewhere a quote is an ordinary character.
pub(super) fn fields(row: &[u8]) -> Result<[Cow<'_, [u8]>; 4], String> {
    let mut found: [Cow<'_, [u8]>; 4] = Default::default();
    let mut count = 0;
    let mut rest = Some(row);
    while let Some(text) = rest {
        let (field, after) = if text.first() == Some(&b'"') {
            let (field, after) = quoted(&text[1..])?;
            (Cow::Owned(field), after)
        } else {
            let end = memchr::memchr(b',', text);
            let field = &text[..end.unwrap_or(text.len())];
            (Cow::Borrowed(field), end.map(|end| &text[end + 1..]))
        };
        if let Some(slot) = found.get_mut(count) {
            *slot = field;
        }
        count += 1;
        rest = after;
    }
    if count != found.len() {
        return Err(format!("{}, expected 4: {HEADER}", exactly(count, "field")));
    }
    Ok(found)
}

/// Returns the text between a field's quotes, and the text after the comma that follows.
fn quoted(text: &[u8]) -> Result<(Vec<u8>, Option<&[u8]>), String> {
    let mut field = Vec::new();
    let mut at = 0;
    while let Some(length) = memchr::memchr(b'"', &text[at..]) {
        field.extend_from_slice(&text[at..at + length]);
        at += length + 1;
        match text.get(at) {
            Some(b'"') => {
                field.push(b'"');
                at += 1;
            }
            Some(b',') => return Ok((field, Some(&text[at + 1..]))),
            None => return Ok((field, None)),
            Some(_) => return Err("text after a closing quote".to_string()),
        }
    }
    Err("a quote is not closed on its line".to_string())
}

/// Returns input for a message: quoted, cut after 60 bytes.
pub(super) fn excerpt(text: &[u8]) -> String {
    let shown = String::from_utf8_lossy(&text[..text.len().min(60)]);
    format!("{shown:?}{}", if text.len() > 60 { "..." } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Vec<(u64, String)>, String> {
        let mut lines = Lines::new(Path::new("in/a.csv"), text.as_bytes()).map_err(text_of)?;
        let mut rows = Vec::new();
        while let Some((line, row)) = lines.next_row().map_err(text_of)? {
            rows.push((line, String::from_utf8_lossy(row).into_owned()));
        }
        Ok(rows)
    }

    fn text_of(error: Error) -> String {
        error.to_string()
    }

    fn split(row: &str) -> Result<Vec<String>, String> {
        let found = fields(row.as_bytes())?;
        Ok(found.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect())
    }

    #[test]
    fn lines_end_as_they_like() {
        let expected = vec![(2, "a,b,c,1".to_string()), (4, "d, e ,f,2".to_string())];
        for text in [
            "source,question,answer,rating\na,b,c,1\n\nd, e ,f,2\n",
            "source,question,answer,rating\r\na,b,c,1\r\n\r\nd, e ,f,2\r\n",
            "\u{feff}source,question,answer,rating\na,b,c,1\n\nd, e ,f,2",
        ] {
            assert_eq!(rows(text), Ok(expected.clone()), "{text:?}");
        }
        assert_eq!(rows("source,question,answer,rating"), Ok(vec![]));
    }

    #[test]
    fn the_header_is_demanded() {
        assert_eq!(
            rows("").unwrap_err(),
            "in/a.csv: is empty, expected source,question,answer,rating"
        );
        assert_eq!(
            rows("question,answer\n").unwrap_err(),
            "in/a.csv:1: header is \"question,answer\", expected source,question,answer,rating"
        );
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let text = format!("source,question,answer,rating\n{}", "x".repeat(LONGEST_LINE + 1));
        assert_eq!(rows(&text).unwrap_err(), "in/a.csv:2: the line is longer than 16777216 bytes");
    }

    #[test]
    fn fields_are_never_trimmed() {
        assert_eq!(split("s, q ,\ta,1").unwrap(), ["s", " q ", "\ta", "1"]);
        assert_eq!(split("\"s, \"\"x\"\"\",q,\"a\",").unwrap(), ["s, \"x\"", "q", "a", ""]);
        assert_eq!(split("s\"s,\"\",a,1").unwrap(), ["s\"s", "", "a", "1"]);
    }

    #[test]
    fn bad_rows_say_why() {
        let expected = "expected 4: source,question,answer,rating";
        assert_eq!(split("a,b,c").unwrap_err(), format!("3 fields, {expected}"));
        assert_eq!(split("a,b,c,d,e,f").unwrap_err(), format!("6 fields, {expected}"));
        assert_eq!(split("\"a,b,c,d").unwrap_err(), "a quote is not closed on its line");
        assert_eq!(split("\"a\"b,c,d,e").unwrap_err(), "text after a closing quote");
    }

    #[test]
    fn long_excerpts_are_cut() {
        assert_eq!(excerpt(b"a\"b"), "\"a\\\"b\"");
        assert!(excerpt(&[b'x'; 61]).ends_with("x\"..."));
    }
}
