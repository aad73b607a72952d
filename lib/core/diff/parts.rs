//! The parts of a record that are compared, and how two records are shown if a part differs.

use std::hash::{DefaultHasher, Hash, Hasher};

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};

use crate::error::Result;
use crate::json::{Reader, write_string};
use crate::record::{Rows, both_rows, each_kind, each_rows};
use crate::view::TokenTexts;

/// The most parts of a record.
pub const PARTS: usize = 4;
/// The index of the part that is compared only if both sides state it; its hash is 0 if it is not stated.
pub const IF_STATED: usize = 3;

/// Records that are compared in parts: implemented by the views of record types.
pub trait DiffView: Sized {
    /// The names of the parts, at most [`PARTS`].
    const NAMES: &'static [&'static str];
    /// The columns that may differ when whole batches are compared, which is much faster than comparing
    /// record by record.
    const APART: Option<&'static [&'static str]> = None;

    /// The columns that readers of datasets on disk derive from others; such datasets do not state
    /// them.
    const DERIVED: &'static [&'static str] = &[];

    /// Returns a hash of each part; equal parts have equal hashes within one run.
    fn hashes(one: &DiffRecord<'_, Self>) -> Result<[u64; PARTS]>;

    /// Whether all parts are equal.
    fn are_equal(a: &DiffRecord<'_, Self>, b: &DiffRecord<'_, Self>) -> Result<bool> {
        Ok(Self::hashes(a)? == Self::hashes(b)?)
    }

    /// Whether two equal records were written differently.
    fn are_rewritten(_: &DiffRecord<'_, Self>, _: &DiffRecord<'_, Self>) -> bool {
        false
    }

    /// Returns lines that show both records where a part differs.
    fn shown(part: &str, a: &DiffRecord<'_, Self>, b: &DiffRecord<'_, Self>)
    -> Result<Vec<String>>;

    /// Returns for each row of a batch whether a group or a puzzle begins with it; see
    /// [`DiffRecord::begins`]. `last` is the end of the batch before.
    fn borders(&self, _last: &mut Option<[String; 2]>) -> Vec<u8> {
        Vec::new()
    }
}

/// One record, and where puzzles and groups begin. Groups and puzzles are compared as borders:
/// their names may be numbers, and one example more changes the numbers of all others.
#[derive(Clone, Copy)]
pub struct DiffRecord<'a, R> {
    pub rows: &'a R,
    pub row: usize,
    /// 2 if a group begins with the record, 1 if a puzzle does, else 0.
    pub begins: u8,
    /// Whether a different way of writing counts as a difference.
    pub is_strict: bool,
    /// The texts of its tokens, if it has any.
    pub texts: &'a TokenTexts,
}

impl<'a, 'b> DiffRecord<'a, Rows<'b>> {
    /// Whether all parts are equal.
    pub(super) fn equals(&self, other: &DiffRecord<'a, Rows<'b>>) -> Result<bool> {
        both_rows!(
            (self.rows, other.rows),
            (a, b) => DiffView::are_equal(&self.of(a), &other.of(b)),
            _ => Ok(false)
        )
    }

    /// See [`DiffView::are_rewritten`].
    pub(super) fn is_rewritten(&self, other: &DiffRecord<'a, Rows<'b>>) -> bool {
        both_rows!(
            (self.rows, other.rows),
            (a, b) => DiffView::are_rewritten(&self.of(a), &other.of(b)),
            _ => false
        )
    }

    /// See [`DiffView::hashes`].
    pub(super) fn hashes(&self) -> Result<[u64; PARTS]> {
        each_rows!(self.rows, rows => DiffView::hashes(&self.of(rows)))
    }

    /// Returns the record in the view of its type.
    fn of<R>(&self, rows: &'a R) -> DiffRecord<'a, R> {
        let DiffRecord { row, begins, is_strict, texts, .. } = *self;
        DiffRecord { rows, row, begins, is_strict, texts }
    }
}

/// See [`DiffView::shown`].
pub(super) fn shown<'a, 'b>(
    part: &str,
    a: &DiffRecord<'a, Rows<'b>>,
    b: &DiffRecord<'a, Rows<'b>>,
) -> Result<Vec<String>> {
    both_rows!(
        (a.rows, b.rows),
        (x, y) => DiffView::shown(part, &a.of(x), &b.of(y)),
        _ => Ok(Vec::new())
    )
}

macro_rules! names {
    ($($kind:ident $type:ident $module:ident $view:ident;)+) => {
        /// Returns the names of the parts of a record type.
        pub(super) fn names(record: &str) -> &'static [&'static str] {
            match record {
                $(name if name == crate::record::$type.name => <crate::record::$module::$view<'_>>::NAMES,)+
                _ => <&RecordBatch>::NAMES,
            }
        }

        /// See [`DiffView::APART`].
        pub(super) fn columns_apart(record: &str) -> Option<&'static [&'static str]> {
            match record {
                $(name if name == crate::record::$type.name => <crate::record::$module::$view<'_>>::APART,)+
                _ => None,
            }
        }

        /// See [`DiffView::DERIVED`].
        pub(super) fn columns_derived(record: &str) -> &'static [&'static str] {
            match record {
                $(name if name == crate::record::$type.name => <crate::record::$module::$view<'_>>::DERIVED,)+
                _ => &[],
            }
        }
    };
}
each_kind!(names);

/// Records of any other type, compared as text.
impl DiffView for &RecordBatch {
    const NAMES: &'static [&'static str] = &["columns"];

    fn hashes(one: &DiffRecord<'_, Self>) -> Result<[u64; PARTS]> {
        let format = FormatOptions::default().with_null("\0null");
        let mut hasher = DefaultHasher::new();
        for column in one.rows.columns() {
            let text = ArrayFormatter::try_new(column, &format)?;
            text.value(one.row).try_to_string()?.hash(&mut hasher);
        }
        Ok([hasher.finish(), 0, 0, 0])
    }

    fn shown(_: &str, _: &DiffRecord<'_, Self>, _: &DiffRecord<'_, Self>) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

/// Returns a hash of a part.
pub fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns a text that is the same for all texts of one JSON value: no spaces between values,
/// escapes only where they are required. Numbers and the order of members stay as they were
/// written; so does a text that is not JSON.
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

/// Returns a line for each side.
pub fn pair(a: &str, b: &str) -> Vec<String> {
    vec![format!("A: {a}"), format!("B: {b}")]
}

/// Returns the index of the first item that differs.
pub fn first_different<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()))
}

/// Returns a text as one line. Quotes stay as they are: nothing is quoted.
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

/// Returns two texts around the first difference.
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
