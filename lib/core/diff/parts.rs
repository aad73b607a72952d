//! The parts of a record that are compared, and what stands in two records where a part differs.

use std::hash::{DefaultHasher, Hash, Hasher};

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};

use crate::error::Result;
use crate::json::{Reader, write_string};
use crate::record::{Rows, both_rows, each_kind, each_rows};

/// The most parts that a record has.
pub const PARTS: usize = 4;
/// The part, if a record has so many, that is compared only where both sides state it: its hash is 0 where it
/// is not stated.
pub const IF_STATED: usize = 3;

/// Records that are compared in parts: implemented by the views of record types.
pub trait Compared: Sized {
    /// The names of the parts, at most [`PARTS`].
    const NAMES: &'static [&'static str];
    /// Where batches are compared whole, which is much faster than record by record: the columns that may
    /// differ all the same.
    const APART: Option<&'static [&'static str]> = None;

    /// The columns that readers of datasets on disk make of the others: they are not stated there.
    const DERIVED: &'static [&'static str] = &[];

    /// A hash of each part: the same in this run for equal parts.
    fn hashes(one: &One<'_, Self>) -> Result<[u64; PARTS]>;

    /// Whether all parts are equal.
    fn are_equal(a: &One<'_, Self>, b: &One<'_, Self>) -> Result<bool> {
        Ok(Self::hashes(a)? == Self::hashes(b)?)
    }

    /// Whether two records that are equal were written differently.
    fn are_rewritten(_: &One<'_, Self>, _: &One<'_, Self>) -> bool {
        false
    }

    /// Lines that show what stands in two records where a part differs.
    fn shown(part: &str, a: &One<'_, Self>, b: &One<'_, Self>) -> Result<Vec<String>>;

    /// Where something begins that goes over several records, for each row of a batch: see [`One::begins`].
    /// `last` is what the batch before ended in.
    fn borders(&self, _last: &mut Option<[String; 2]>) -> Vec<u8> {
        Vec::new()
    }
}

/// One record, and where puzzles and groups begin: their names may be numbers, which one example
/// more changes for all others, so names of groups and puzzles are compared as borders.
#[derive(Debug, Clone, Copy)]
pub struct One<'a, R> {
    pub rows: &'a R,
    pub row: usize,
    /// 2 if a group begins with it, 1 if a puzzle does, else 0.
    pub begins: u8,
    /// Whether what is written differently differs.
    pub is_strict: bool,
}

impl<'a, 'b> One<'a, Rows<'b>> {
    /// Whether all parts are equal.
    pub(super) fn equals(&self, other: &One<'a, Rows<'b>>) -> Result<bool> {
        both_rows!(
            (self.rows, other.rows),
            (a, b) => Compared::are_equal(&self.of(a), &other.of(b)),
            _ => Ok(false)
        )
    }

    /// See [`Compared::are_rewritten`].
    pub(super) fn is_rewritten(&self, other: &One<'a, Rows<'b>>) -> bool {
        both_rows!(
            (self.rows, other.rows),
            (a, b) => Compared::are_rewritten(&self.of(a), &other.of(b)),
            _ => false
        )
    }

    /// See [`Compared::hashes`].
    pub(super) fn hashes(&self) -> Result<[u64; PARTS]> {
        each_rows!(self.rows, rows => Compared::hashes(&self.of(rows)))
    }

    /// The record in the view of its type.
    fn of<R>(&self, rows: &'a R) -> One<'a, R> {
        One { rows, row: self.row, begins: self.begins, is_strict: self.is_strict }
    }
}

/// See [`Compared::shown`].
pub(super) fn shown<'a, 'b>(
    part: &str,
    a: &One<'a, Rows<'b>>,
    b: &One<'a, Rows<'b>>,
) -> Result<Vec<String>> {
    both_rows!(
        (a.rows, b.rows),
        (x, y) => Compared::shown(part, &a.of(x), &b.of(y)),
        _ => Ok(Vec::new())
    )
}

macro_rules! names {
    ($($kind:ident $type:ident $module:ident $view:ident;)+) => {
        /// The names of the parts of records of a type.
        pub(super) fn names(record: &str) -> &'static [&'static str] {
            match record {
                $(name if name == crate::record::$type.name => <crate::record::$module::$view<'_>>::NAMES,)+
                _ => <&RecordBatch>::NAMES,
            }
        }

        /// See [`Compared::APART`].
        pub(super) fn columns_apart(record: &str) -> Option<&'static [&'static str]> {
            match record {
                $(name if name == crate::record::$type.name => <crate::record::$module::$view<'_>>::APART,)+
                _ => None,
            }
        }

        /// See [`Compared::DERIVED`].
        pub(super) fn columns_derived(record: &str) -> &'static [&'static str] {
            match record {
                $(name if name == crate::record::$type.name => <crate::record::$module::$view<'_>>::DERIVED,)+
                _ => &[],
            }
        }
    };
}
each_kind!(names);

/// Records of any other type, as text.
impl Compared for &RecordBatch {
    const NAMES: &'static [&'static str] = &["columns"];

    fn hashes(one: &One<'_, Self>) -> Result<[u64; PARTS]> {
        let format = FormatOptions::default().with_null("\0null");
        let mut hasher = DefaultHasher::new();
        for column in one.rows.columns() {
            let text = ArrayFormatter::try_new(column, &format)?;
            text.value(one.row).try_to_string()?.hash(&mut hasher);
        }
        Ok([hasher.finish(), 0, 0, 0])
    }

    fn shown(_: &str, _: &One<'_, Self>, _: &One<'_, Self>) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

/// A hash of a part.
pub fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What is the same for texts of the same JSON: without spaces between values, with escapes where they must be.
/// Numbers and the order of members stay as they were written; so does what is no JSON.
pub fn plain_json(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut decoded = String::new();
    let mut rest = text;
    while let Some(quote) = memchr::memchr(b'"', rest.as_bytes()) {
        let (between, string) = rest.split_at(quote);
        without_spaces(between, &mut out);
        let mut reader = Reader::lenient(string);
        let Ok(found) = reader.string() else {
            out.extend_from_slice(string.as_bytes());
            return out;
        };
        let (whole, after) = string.split_at(reader.position());
        decoded.clear();
        match found.decode_onto(&mut decoded) {
            Ok(()) => write_string(&mut out, &decoded),
            Err(_) => out.extend_from_slice(whole.as_bytes()),
        }
        rest = after;
    }
    without_spaces(rest, &mut out);
    out
}

fn without_spaces(text: &str, out: &mut Vec<u8>) {
    out.extend(text.bytes().filter(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')));
}

/// A line for each side.
pub fn pair(a: &str, b: &str) -> Vec<String> {
    vec![format!("A: {a}"), format!("B: {b}")]
}

/// The index of the first item that differs.
pub fn first_different<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()))
}

/// Text in one line. Quotes stay as they are: nothing is quoted.
pub fn in_a_line(text: &str) -> String {
    let quotes = ['"', '\''];
    let mut out = String::new();
    for piece in text.split_inclusive(quotes) {
        let plain = piece.trim_end_matches(quotes);
        out.extend(plain.escape_debug());
        out += &piece[plain.len()..];
    }
    out
}

/// Two texts where they differ.
pub fn shown_texts(a: &str, b: &str) -> Vec<String> {
    const AROUND: usize = 30;
    let at = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| {
        let part: String = text.chars().skip(at.saturating_sub(AROUND)).take(2 * AROUND).collect();
        in_a_line(&part)
    };
    let mut lines = vec![format!("at character {at}")];
    lines.extend(pair(&part(a), &part(b)));
    lines
}
