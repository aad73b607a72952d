//! Turns JSON with one array of records, or with records over several lines, into one record a line while
//! it is read. A record that is a list is a chat: its messages. Memory does not grow with the input.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::sync::{Arc, Mutex, PoisonError};

use bstr::ByteSlice;

use super::bytes::{Bytes, cut};
use super::ndjson_reader::member_names;
use crate::error::{Error, Place};

/// How records follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `[{...}, {...}]`: its end mark is the bracket.
    Array,
    /// `{"data": [{...}, {...}]}`: its end mark is the brace.
    Data,
    /// `{...}` and `{...}`, each over any number of lines, as `jq` writes them; also lists of messages. The end mark is
    /// the last bracket.
    Objects,
}

impl Form {
    /// Returns the command that turns it into lines.
    pub fn to_lines(self) -> &'static str {
        match self {
            Form::Array => "jq -c '.[]'",
            Form::Data => "jq -c '.data[]'",
            Form::Objects => "jq -c .",
        }
    }
}

/// Returns the form of a text by its beginning, which must have the whole first line and, if there is
/// more, the first character of the next line. `None`: one record a line, as far as can be seen. (If the
/// first line is broken and the next line does not continue it, it is a bad record among lines.)
pub(super) fn form_of(text: &[u8]) -> Option<Form> {
    let text = text.trim_ascii_start();
    let is_messages = |items: &[u8]| first_names(items).is_some_and(|names| is_message(&names));
    match text.first()? {
        b'[' if is_messages(&text[1..]) => return Some(Form::Objects),
        b'[' => return Some(Form::Array),
        b'{' => {}
        _ => return None,
    }
    if let Some(items) = data_items(text) {
        let is_of_objects = items.trim_ascii_start().first() == Some(&b'{');
        return (is_of_objects && !is_messages(items)).then_some(Form::Data);
    }
    let (line, rest) = text.split_once_str(b"\n")?;
    let OpenBrackets { inside, is_text, .. } = open_at_end(line);
    let container = inside.last().filter(|_| !is_text)?;
    let next = rest.trim_ascii_start().first()?;
    let is_value = matches!(next, b'{' | b'[' | b'"' | b't' | b'f' | b'n' | b'-' | b'0'..=b'9');
    let goes_on = match line.trim_ascii_end().last()? {
        b'{' => matches!(next, b'"' | b'}'),
        b'[' => is_value || *next == b']',
        b':' => is_value,
        b',' if *container == b'}' => *next == b'"',
        b',' => is_value,
        _ => matches!(next, b',' | b':' | b'}' | b']'),
    };
    goes_on.then_some(Form::Objects)
}

/// Returns what follows the bracket of a text that begins with `{"data": [`.
fn data_items(text: &[u8]) -> Option<&[u8]> {
    let pieces = [&b"{"[..], b"\"data\"", b":", b"["];
    pieces.iter().try_fold(text, |rest, piece| rest.trim_ascii_start().strip_prefix(*piece))
}

/// Returns the names of the first object of a list, of which `items` are the items, if all of it is there.
fn first_names(items: &[u8]) -> Option<Vec<String>> {
    let items = items.trim_ascii_start();
    if items.first() != Some(&b'{') {
        return None;
    }
    let mut open = OpenBrackets::default();
    let end = items.iter().position(|&byte| {
        open.take(byte);
        !open.is_open()
    })?;
    member_names(&items[..=end]).ok()
}

fn is_message(names: &[String]) -> bool {
    let has = |name: &str| names.iter().any(|there| there == name);
    has("role") && (has("content") || has("tool_calls")) || has("from") && has("value")
}

/// Whether the beginning of a text shows its form.
pub(super) fn is_form_known(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let items = text.strip_prefix(b"[").or_else(|| data_items(text));
    if let Some(items) =
        items.filter(|items| items.trim_ascii_start().first().is_none_or(|&byte| byte == b'{'))
    {
        return first_names(items).is_some();
    }
    match text.split_once_str(b"\n") {
        _ if text.first().is_some_and(|&first| first != b'{') => true,
        Some((line, rest)) => !open_at_end(line).is_open() || !rest.trim_ascii_start().is_empty(),
        None => false,
    }
}

/// The brackets that are open where a text ends.
#[derive(Default)]
pub(super) struct OpenBrackets {
    /// The closing brackets that are needed, the innermost last.
    inside: Vec<u8>,
    is_text: bool,
    is_escaped: bool,
}

impl OpenBrackets {
    fn take(&mut self, byte: u8) {
        match byte {
            _ if std::mem::take(&mut self.is_escaped) => {}
            b'\\' => self.is_escaped = self.is_text,
            b'"' => self.is_text = !self.is_text,
            _ if self.is_text => {}
            b'{' => self.inside.push(b'}'),
            b'[' => self.inside.push(b']'),
            b'}' | b']' => {
                self.inside.pop();
            }
            _ => {}
        }
    }

    pub fn is_open(&self) -> bool {
        self.is_text || !self.inside.is_empty()
    }
}

pub(super) fn open_at_end(line: &[u8]) -> OpenBrackets {
    let mut open = OpenBrackets::default();
    line.iter().for_each(|&byte| open.take(byte));
    open
}

/// The lines on which records begin (of an array, which may have all in one line, their numbers), for the records that
/// were made and not asked for yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Starts(Arc<Mutex<VecDeque<u64>>>);

impl Starts {
    /// The numbers of so many records.
    pub fn numbers(count: u64) -> Starts {
        Starts(Arc::new(Mutex::new((1..=count).collect())))
    }

    fn push(&self, line: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(line);
    }

    /// Returns the line or number of the next record, without taking it.
    pub fn peek(&self) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).front().copied()
    }

    /// Returns the line or number of the next record.
    pub fn next(&self) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// Returns records as lines, without the white space between their members.
pub(super) struct Values {
    pub form: Form,
    pub starts: Starts,
    /// How many records have begun.
    records: u64,
    bytes: Bytes,
    input: Vec<u8>,
    lines: Vec<u8>,
    /// How many bytes of `lines` were handed out.
    given: usize,
    at: ScanState,
    open: OpenBrackets,
    /// Whether white space came since the last byte of the record.
    is_spaced: bool,
    /// Whether the record is a list, which stands in an object.
    is_list: bool,
    line: u64,
    may_be_empty: bool,
    has_ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanState {
    Begin,
    /// Before a value. If `first`, the closing bracket of an empty array may come too.
    Before {
        first: bool,
    },
    /// In an object, an array or a text.
    Inside,
    /// In another value, which white space ends.
    Word,
    /// After a value.
    After,
    /// After the array.
    Closed,
    /// After the object that has it.
    Over,
}

const READ: usize = 1 << 16;

impl Values {
    pub fn new(form: Form, bytes: Bytes, may_be_empty: bool) -> Values {
        Values {
            form,
            starts: Starts::default(),
            records: 0,
            bytes,
            input: vec![0; READ],
            lines: Vec::new(),
            given: 0,
            at: match form {
                Form::Array | Form::Data => ScanState::Begin,
                Form::Objects => ScanState::Before { first: false },
            },
            open: OpenBrackets::default(),
            is_spaced: false,
            is_list: false,
            line: 1,
            may_be_empty,
            has_ended: false,
        }
    }

    fn bad(&self, cause: impl fmt::Display) -> io::Error {
        Defect { line: self.line, cause: cause.to_string(), kind: DefectKind::Form }.into()
    }

    /// Takes the next bytes.
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while let Some((&byte, behind)) = rest.split_first() {
            if self.open.is_text && !self.open.is_escaped {
                let plain = memchr::memchr3(b'"', b'\\', b'\n', rest).unwrap_or(rest.len());
                if plain > 0 {
                    self.lines.extend_from_slice(&rest[..plain]);
                    rest = &rest[plain..];
                    continue;
                }
            }
            rest = behind;
            self.byte(byte)?;
            self.line += u64::from(byte == b'\n');
        }
        Ok(())
    }

    fn byte(&mut self, byte: u8) -> io::Result<()> {
        if self.open.is_text {
            return self.text(byte);
        }
        let is_space = byte.is_ascii_whitespace();
        match self.at {
            _ if is_space => self.space(byte),
            ScanState::Inside => self.inside(byte)?,
            ScanState::Begin if byte == b'[' => self.at = ScanState::Before { first: true },
            ScanState::Begin => {}
            ScanState::Word if matches!(byte, b',' | b']') && self.form != Form::Objects => {
                self.ends_value();
                self.between(byte)?;
            }
            ScanState::Word => self.lines.push(byte),
            ScanState::After => self.between(byte)?,
            ScanState::Before { first: true } if byte == b']' => {
                self.at = ScanState::Closed;
            }
            ScanState::Before { .. } => self.begins_value(byte)?,
            ScanState::Closed if self.form == Form::Data && byte == b'}' => {
                self.at = ScanState::Over;
            }
            ScanState::Closed | ScanState::Over => {
                return Err(self.bad("there is more behind the `]` of the array"));
            }
        }
        Ok(())
    }

    fn space(&mut self, byte: u8) {
        match self.at {
            ScanState::Inside => self.is_spaced = true,
            ScanState::Word => {
                self.ends_value();
                self.space(byte);
            }
            // The end mark of objects.
            ScanState::After if self.form == Form::Objects && byte == b'\n' => {
                self.lines.push(b'\n');
                self.at = ScanState::Before { first: false };
            }
            _ => {}
        }
    }

    fn text(&mut self, byte: u8) -> io::Result<()> {
        if byte == b'\n' {
            return Err(self.bad("the line ends within a text: control character in a string"));
        }
        self.lines.push(byte);
        if !std::mem::take(&mut self.open.is_escaped) {
            self.open.is_escaped = byte == b'\\';
            if byte == b'"' {
                self.open.is_text = false;
                if self.open.inside.is_empty() {
                    self.ends_value();
                }
            }
        }
        Ok(())
    }

    fn begins_value(&mut self, byte: u8) -> io::Result<()> {
        if matches!(byte, b',' | b']' | b'}' | b':') {
            let found = char::from(byte);
            return Err(self.bad(format_args!("expected a record, got `{found}`")));
        }
        self.records += 1;
        self.starts.push(match self.form {
            Form::Objects => self.line,
            _ => self.records,
        });
        if byte == b'[' {
            self.is_list = true;
            self.lines.extend_from_slice(b"{\"messages\":");
        }
        if matches!(byte, b'{' | b'[' | b'"') {
            self.at = ScanState::Inside;
            return self.inside(byte);
        }
        self.at = ScanState::Word;
        self.lines.push(byte);
        Ok(())
    }

    fn inside(&mut self, byte: u8) -> io::Result<()> {
        // Values that white space separates stay separate: `1 2` is not 12.
        let is_mark = |byte: u8| matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':');
        if std::mem::take(&mut self.is_spaced)
            && !is_mark(byte)
            && self.lines.last().is_none_or(|&last| !is_mark(last))
        {
            self.lines.push(b' ');
        }
        self.lines.push(byte);
        match byte {
            b'"' => self.open.is_text = true,
            b'{' => self.open.inside.push(b'}'),
            b'[' => self.open.inside.push(b']'),
            b'}' | b']' => {
                let wanted = self.open.inside.pop().map(char::from);
                if wanted != Some(char::from(byte)) {
                    let (wanted, found) = (wanted.unwrap_or(' '), char::from(byte));
                    return Err(self.bad(format_args!("expected `{wanted}`, got `{found}`")));
                }
                if self.open.inside.is_empty() {
                    self.ends_value();
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn ends_value(&mut self) {
        self.is_spaced = false;
        self.at = ScanState::After;
        if std::mem::take(&mut self.is_list) {
            self.lines.push(b'}');
        }
        if self.form != Form::Objects {
            self.lines.push(b'\n');
        }
    }

    /// Handles a byte after a value, on the same line.
    fn between(&mut self, byte: u8) -> io::Result<()> {
        match (self.form, byte) {
            (Form::Array | Form::Data, b',') => self.at = ScanState::Before { first: false },
            (Form::Array | Form::Data, b']') => self.at = ScanState::Closed,
            (Form::Array | Form::Data, _) => {
                let cause = "expected `,` or `]` behind a record of the array, got";
                return Err(self.bad(format_args!("{cause} `{}`", [byte].escape_ascii())));
            }
            (Form::Objects, _) => {
                self.lines.push(b'\n');
                return self.begins_value(byte);
            }
        }
        Ok(())
    }

    /// The end of the input.
    fn end(&mut self) -> io::Result<()> {
        self.has_ended = true;
        let (line, cause) = (self.line, String::new());
        let is_closed = match self.form {
            // The reader of lines reports a record that is cut.
            Form::Objects => return Ok(()),
            Form::Array => self.at == ScanState::Closed,
            Form::Data => self.at == ScanState::Over,
        };
        match is_closed {
            true if self.records > 0 || self.may_be_empty => Ok(()),
            true => Err(Defect { line, cause, kind: DefectKind::NoRecords }.into()),
            false => Err(Defect { line, cause, kind: DefectKind::Cut }.into()),
        }
    }
}

impl Read for Values {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.lines.len() && !self.has_ended {
            // The byte before a bracket is needed again.
            let last = self.lines.last().copied();
            self.lines.clear();
            self.lines.extend(last);
            self.given = self.lines.len();
            let read = match self.bytes.read(&mut self.input) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                self.end()?;
                break;
            }
            let input = std::mem::take(&mut self.input);
            let taken = self.take(input.get(..read).unwrap_or_default());
            self.input = input;
            taken?;
        }
        let lines = self.lines.get(self.given..).unwrap_or_default();
        let count = lines.len().min(buffer.len());
        buffer[..count].copy_from_slice(&lines[..count]);
        self.given += count;
        Ok(count)
    }
}

/// Why a text does not continue in its form.
#[derive(Debug)]
pub(super) struct Defect {
    line: u64,
    cause: String,
    kind: DefectKind,
}

#[derive(Debug, Clone, Copy)]
enum DefectKind {
    Form,
    Cut,
    NoRecords,
}

impl Defect {
    /// Returns the defect that is in an error of reading.
    pub fn of(error: &io::Error) -> Option<&Defect> {
        error.get_ref()?.downcast_ref()
    }

    /// Returns its error in an input of this name.
    pub fn error(&self, name: &Arc<str>, is_piped: bool) -> Error {
        let place = Place::line(name.clone(), self.line);
        match self.kind {
            DefectKind::Form => Error::data(&self.cause).at(place),
            DefectKind::Cut => cut(place, is_piped, "the JSON array has no `]` at its end"),
            DefectKind::NoRecords => {
                let cause = "the JSON array has no records";
                let error = if is_piped { Error::unavailable(cause) } else { Error::data(cause) };
                error.at(name).hint("--allow-empty, if there may be no records")
            }
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.cause)
    }
}

impl std::error::Error for Defect {}

impl From<Defect> for io::Error {
    fn from(defect: Defect) -> io::Error {
        io::Error::new(ErrorKind::InvalidData, defect)
    }
}
