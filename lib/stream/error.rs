//! The one error that leaves the library. Its parts are separate: what it means for the user who runs the command
//! ([`Kind`]), where it is ([`Place`], id), why (cause), what to do (hint).
//!
//! Modules that do not know files have their own error types, each with one conversion into this type. The
//! place is added where it is known.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::failure::Failure;
use crate::wording::exactly;

/// The meaning of an error for the user who runs the command; it decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The data is bad: trying again is pointless.
    Data,
    /// The command line is wrong, or an input is missing.
    Usage,
    /// The job could not be done now (I/O error, disk full, the producer died): a scheduler
    /// may try again.
    Unavailable,
}

impl Kind {
    /// Returns the exit code: the one table for all filters.
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Data => 1,
            Kind::Usage => 2,
            Kind::Unavailable => 75,
        }
    }
}

/// The severity of a broken rule or a failed check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Warning,
    Error,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A place in an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The path as the user gave it, or `stdin`.
    pub source: Arc<str>,
    pub position: Position,
}

/// Numbers count from 1, as editors and `awk` do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Position {
    Line(u64),
    Record(u64),
    /// The source as a whole.
    Whole,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Position::Line(line) => write!(f, "{}:{line}", self.source),
            Position::Record(number) => write!(f, "{}: record {number}", self.source),
            Position::Whole => f.write_str(&self.source),
        }
    }
}

impl Place {
    pub fn line(source: impl Into<Arc<str>>, line: u64) -> Place {
        Place { source: source.into(), position: Position::Line(line) }
    }
}

/// Makes the place of a source as a whole.
macro_rules! place_of_source {
    ($($source:ty),*) => {$(
        impl From<$source> for Place {
            fn from(source: $source) -> Place {
                let source = Arc::from(AsRef::<str>::as_ref(&source));
                Place { source, position: Position::Whole }
            }
        }
    )*};
}

place_of_source!(&str, String, &String, &&str, &Arc<str>, std::borrow::Cow<'_, str>);

impl From<Arc<str>> for Place {
    fn from(source: Arc<str>) -> Place {
        Place { source, position: Position::Whole }
    }
}

impl From<&Path> for Place {
    fn from(path: &Path) -> Place {
        Place::from(shown(path))
    }
}

impl From<&PathBuf> for Place {
    fn from(path: &PathBuf) -> Place {
        Place::from(shown(path))
    }
}

impl From<&Place> for Place {
    fn from(place: &Place) -> Place {
        place.clone()
    }
}

/// One line for the user: the place, then the cause, then what to try. The tool's name is put
/// before it by [`crate::cli::main`].
#[derive(Debug, Clone, thiserror::Error)]
pub struct Error(Box<Details>);

#[derive(Debug, Clone)]
struct Details {
    kind: Kind,
    place: Option<Place>,
    id: Option<String>,
    cause: String,
    hint: Option<String>,
    is_truncation: bool,
    failure: Option<Failure>,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    fn new(kind: Kind, cause: String) -> Error {
        let cause = match shortened(&cause) {
            Cow::Owned(short) => short,
            Cow::Borrowed(_) => cause,
        };
        Error(Box::new(Details {
            kind,
            place: None,
            id: None,
            cause,
            hint: None,
            is_truncation: false,
            failure: None,
        }))
    }

    pub fn data(cause: impl fmt::Display) -> Error {
        let cause = cause.to_string();
        let kind = if is_of_memory(&cause) { Kind::Unavailable } else { Kind::Data };
        Error::new(kind, cause)
    }

    pub fn usage(cause: impl fmt::Display) -> Error {
        Error::new(Kind::Usage, cause.to_string())
    }

    pub fn unavailable(cause: impl fmt::Display) -> Error {
        Error::new(Kind::Unavailable, cause.to_string())
    }

    /// Passes on the failure of an earlier filter in the pipe: this filter fails with the same exit code and
    /// adds no line.
    pub fn passed_on(failure: Failure) -> Error {
        let kind = match failure.exit_code {
            1 => Kind::Data,
            2 => Kind::Usage,
            _ => Kind::Unavailable,
        };
        let mut error = Error::new(kind, format!("{} failed: {}", failure.tool, failure.message));
        error.0.failure = Some(failure);
        error
    }

    /// Makes the error of an I/O error at a place. A file that is missing or may not be opened is a usage error; a
    /// decoder's complaint about the bytes is bad data; after any other error another try may help.
    pub fn io(place: impl Into<Place>, error: &io::Error) -> Error {
        Error::reading(error).at(place)
    }

    /// Makes the error of a failed read, whose place is added later; see [`Error::io`].
    pub fn reading(error: &io::Error) -> Error {
        Error::new(Kind::of_reading(error), os_cause(error))
    }

    /// Makes the error of a failed write of an output; the data are not at fault.
    pub fn write(place: impl Into<Place>, error: &io::Error) -> Error {
        Error::writing(error).at(place)
    }

    /// Makes the error of a failed write, whose place is added later; see [`Error::write`].
    pub fn writing(error: &io::Error) -> Error {
        let kind = match error.kind() {
            // The directory of an output cannot be made because a file has its name.
            io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::NotADirectory => Kind::Usage,
            _ => Kind::Unavailable,
        };
        Error::new(kind, os_cause(error))
    }

    /// Adds the place. If the error has a place already, the new place contains the old one.
    pub fn at(mut self, place: impl Into<Place>) -> Error {
        let outer = place.into();
        self.0.place = Some(match self.0.place.take() {
            Some(Place { source, position }) => {
                Place { source: format!("{outer}: {source}").into(), position }
            }
            None => outer,
        });
        self
    }

    /// Removes the place and the id, for callers that show these themselves.
    pub fn without_place(mut self) -> Error {
        (self.0.place, self.0.id) = (None, None);
        self
    }

    /// Adds the id of the record.
    pub fn id(mut self, id: Option<&str>) -> Error {
        self.0.id = id.map(str::to_string);
        self
    }

    /// Adds what the user may try: it is printed after `try: `.
    pub fn hint(mut self, hint: impl fmt::Display) -> Error {
        self.0.hint = Some(hint.to_string());
        self
    }

    /// Marks the error as the error of an input that ends too early.
    pub fn truncation(mut self) -> Error {
        self.0.is_truncation = true;
        self
    }

    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    pub fn cause(&self) -> &str {
        &self.0.cause
    }

    /// Returns the failure of an earlier filter, if that is the cause.
    pub fn failure(&self) -> Option<&Failure> {
        self.0.failure.as_ref()
    }

    /// Returns the exit code of the run that ends with this error.
    pub fn exit_code(&self) -> u8 {
        self.failure().map_or(self.kind().exit_code(), |failure| failure.exit_code)
    }

    /// Whether an input ended too early.
    pub fn is_truncation(&self) -> bool {
        self.0.is_truncation
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { place, id, cause, hint, .. } = &*self.0;
        let id = id.as_deref().map(shortened);
        match (place, &id) {
            (Some(place @ Place { position: Position::Line(_), .. }), Some(id)) => {
                write!(f, "{place}: ({id}) ")?;
            }
            (Some(place), Some(id)) => write!(f, "{place} ({id}): ")?,
            (Some(place), None) => write!(f, "{place}: ")?,
            (None, Some(id)) => write!(f, "({id}) ")?,
            (None, None) => {}
        }
        f.write_str(&one_line(cause))?;
        hint.as_ref().map_or(Ok(()), |hint| write!(f, "; try: {}", shortened(hint)))
    }
}

/// Adds the place to an error.
pub trait At<T> {
    /// Does what [`Error::at`] does, and for the error of a read [`Error::io`].
    fn at(self, place: impl Into<Place>) -> Result<T>;
}

impl<T> At<T> for Result<T> {
    fn at(self, place: impl Into<Place>) -> Result<T> {
        self.map_err(|error| error.at(place))
    }
}

impl<T> At<T> for io::Result<T> {
    fn at(self, place: impl Into<Place>) -> Result<T> {
        self.map_err(|error| Error::io(place, &error))
    }
}

/// Arrow refuses data that does not fit together: columns of different lengths, batches past 2^31.
impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Error {
        Error::data(error)
    }
}

impl Kind {
    /// Returns the kind of an I/O error while reading.
    pub fn of_reading(error: &io::Error) -> Kind {
        match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidFilename => Kind::Usage,
            io::ErrorKind::InvalidData
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::UnexpectedEof => Kind::Data,
            io::ErrorKind::Other if error.raw_os_error().is_none() => {
                if is_of_memory(&error.to_string()) { Kind::Unavailable } else { Kind::Data }
            }
            _ => Kind::Unavailable,
        }
    }
}

/// Whether zstd says that it got no memory, which is not the data's fault.
fn is_of_memory(cause: &str) -> bool {
    ["Allocation error : not enough memory", "zstd returned null pointer"]
        .iter()
        .any(|text| cause.contains(text))
}

/// Returns the system's message, without Rust's "(os error 28)".
fn os_cause(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}

/// Returns a message as one line, whatever a library put into its text.
pub fn one_line(message: &str) -> String {
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<&str>>().join(" ")
}

/// The most bytes of a cause, an id or a hint: names and roles in data may have millions.
const LONGEST: usize = 4000;

/// Returns a text without its middle if it is too long for a message.
pub fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST {
        return Cow::Borrowed(text);
    }
    let boundary = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let begin = &text[..boundary(LONGEST / 4)];
    let end = &text[boundary(text.len() - LONGEST / 4)..];
    let left_out = exactly(text.len() - begin.len() - end.len(), "byte");
    Cow::Owned(format!("{begin} ... ({left_out} left out) ... {end}"))
}

/// Returns a path as messages show it.
pub fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line() {
        let error = Error::data("first\n  second").at("a.ndjson").hint("--skip");
        assert_eq!(error.to_string(), "a.ndjson: first second; try: --skip");
        let place = Place::line("a.ndjson", 3);
        let error = Error::data("bad").at(place.clone()).id(Some("x"));
        assert_eq!(error.to_string(), "a.ndjson:3: (x) bad");
        assert_eq!(error.place(), Some(&place));
        let nested = Error::data("bad").at(place).at("root");
        assert_eq!(nested.to_string(), "root: a.ndjson:3: bad");
        let record = Place { source: "b".into(), position: Position::Record(7) };
        assert_eq!(Error::data("bad").at(record).id(Some("y")).to_string(), "b: record 7 (y): bad");
    }
}
