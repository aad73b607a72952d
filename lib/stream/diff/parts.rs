//! The parts of a record that are compared, and how two records are shown if a part differs.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};

use crate::batch::Header;
use crate::error::{Error, Result};
use crate::handed::Handed;
use crate::json::{Reader, write_string};
use crate::record::{OtherKind, RecordKind};

/// The most parts of a record.
pub const PARTS: usize = 4;

/// The kinds of records that are compared in parts of their own.
pub static KINDS: Handed<&'static dyn DiffKind> = Handed::new();

/// Records that are compared in parts: implemented by kinds of records.
pub trait DiffView: RecordKind + Sized {
    /// What is known of all records of a side, and needed to show one.
    type Facts: Default + 'static;

    /// The names of the parts, at most [`PARTS`].
    const NAMES: &'static [&'static str];
    /// The index of the first part that is compared only if both sides state it; its hash is 0 if it is not stated.
    const IF_STATED: usize = PARTS - 1;
    /// The columns that may differ when whole batches are compared, which is much faster than comparing
    /// record by record.
    const APART: Option<&'static [&'static str]> = None;

    /// The columns that readers of datasets on disk derive from others; such datasets do not state
    /// them.
    const DERIVED: &'static [&'static str] = &[];

    /// Returns what the header of a side says of its records.
    fn facts(_: &Header) -> Result<Self::Facts> {
        Ok(Self::Facts::default())
    }

    /// Returns a hash of each part; equal parts have equal hashes within one run.
    fn hashes(one: &RecordOf<'_, '_, Self>) -> Result<[u64; PARTS]>;

    /// Whether all parts are equal.
    fn are_equal(a: &RecordOf<'_, '_, Self>, b: &RecordOf<'_, '_, Self>) -> Result<bool> {
        Ok(Self::hashes(a)? == Self::hashes(b)?)
    }

    /// Whether two equal records were written differently.
    fn are_rewritten(_: &RecordOf<'_, '_, Self>, _: &RecordOf<'_, '_, Self>) -> bool {
        false
    }

    /// Returns lines that show both records where a part differs.
    fn shown(
        part: &str,
        a: &RecordOf<'_, '_, Self>,
        b: &RecordOf<'_, '_, Self>,
    ) -> Result<Vec<String>>;

    /// Returns for each row of a batch whether a group or a puzzle begins with it; see
    /// [`DiffRecord::begins`]. `last` is the end of the batch before.
    fn borders(_rows: &Self::Rows<'_>, _last: &mut Option<[String; 2]>) -> Vec<u8> {
        Vec::new()
    }
}

/// A record of a kind.
type RecordOf<'a, 'b, K> = DiffRecord<'a, <K as RecordKind>::Rows<'b>, <K as DiffView>::Facts>;

/// One record, and where puzzles and groups begin. Groups and puzzles are compared as borders:
/// their names may be numbers, and one example more changes the numbers of all others.
pub struct DiffRecord<'a, R, F = ()> {
    pub rows: &'a R,
    pub row: usize,
    /// 2 if a group begins with the record, 1 if a puzzle does, else 0.
    pub begins: u8,
    /// Whether a different way of writing counts as a difference.
    pub is_strict: bool,
    pub facts: &'a F,
}

/// A [`DiffView`], for code that does not know which one it is.
pub trait DiffKind: Sync {
    /// The name of the record type.
    fn name(&self) -> &'static str;

    /// See [`DiffView::NAMES`].
    fn names(&self) -> &'static [&'static str];

    /// See [`DiffView::IF_STATED`].
    fn if_stated(&self) -> usize;

    /// See [`DiffView::APART`].
    fn apart(&self) -> Option<&'static [&'static str]>;

    /// See [`DiffView::DERIVED`].
    fn derived(&self) -> &'static [&'static str];

    /// See [`DiffView::facts`].
    fn facts(&self, header: &Header) -> Result<Box<dyn Any>>;

    /// See [`DiffView::borders`].
    fn borders(&self, batch: &RecordBatch, last: &mut Option<[String; 2]>) -> Result<Vec<u8>>;

    /// Returns the rows of a batch of each side.
    fn pair<'a>(&self, sides: [SideBatch<'a>; 2]) -> Result<Box<dyn ComparedRows + 'a>>;
}

/// A batch of one side.
#[derive(Clone, Copy)]
pub struct SideBatch<'a> {
    pub batch: &'a RecordBatch,
    /// See [`DiffRecord::begins`], for each row.
    pub begins: &'a [u8],
    pub is_strict: bool,
    /// What [`DiffKind::facts`] has made.
    pub facts: &'a dyn Any,
}

/// The rows of two batches. A record is named by its side and its row, a pair of records by their rows.
pub trait ComparedRows {
    fn id(&self, side: usize, row: usize) -> Option<&str>;

    /// See [`DiffView::hashes`].
    fn hashes(&self, side: usize, row: usize) -> Result<[u64; PARTS]>;

    /// See [`DiffView::are_equal`].
    fn are_equal(&self, rows: [usize; 2]) -> Result<bool>;

    /// See [`DiffView::are_rewritten`].
    fn are_rewritten(&self, rows: [usize; 2]) -> bool;

    /// See [`DiffView::shown`].
    fn shown(&self, part: &str, rows: [usize; 2]) -> Result<Vec<String>>;
}

impl<K: DiffView> DiffKind for K {
    fn name(&self) -> &'static str {
        K::RECORD.name
    }

    fn names(&self) -> &'static [&'static str] {
        K::NAMES
    }

    fn if_stated(&self) -> usize {
        K::IF_STATED
    }

    fn apart(&self) -> Option<&'static [&'static str]> {
        K::APART
    }

    fn derived(&self) -> &'static [&'static str] {
        K::DERIVED
    }

    fn facts(&self, header: &Header) -> Result<Box<dyn Any>> {
        Ok(Box::new(K::facts(header)?))
    }

    fn borders(&self, batch: &RecordBatch, last: &mut Option<[String; 2]>) -> Result<Vec<u8>> {
        Ok(K::borders(&K::rows(batch)?, last))
    }

    fn pair<'a>(&self, sides: [SideBatch<'a>; 2]) -> Result<Box<dyn ComparedRows + 'a>> {
        let [a, b] = sides.map(OneSide::<K>::of);
        Ok(Box::new([a?, b?]))
    }
}

/// Returns how records of a type are compared.
pub(super) fn kind_of(name: &str) -> &'static dyn DiffKind {
    KINDS.iter().find(|kind| kind.name() == name).copied().unwrap_or(&OtherKind)
}

/// The rows of one side.
struct OneSide<'a, K: DiffView> {
    rows: K::Rows<'a>,
    begins: &'a [u8],
    is_strict: bool,
    facts: &'a K::Facts,
}

impl<'a, K: DiffView> OneSide<'a, K> {
    fn of(side: SideBatch<'a>) -> Result<OneSide<'a, K>> {
        let SideBatch { batch, begins, is_strict, facts } = side;
        let facts = facts.downcast_ref().ok_or_else(|| Error::data("facts of another type"))?;
        Ok(OneSide { rows: K::rows(batch)?, begins, is_strict, facts })
    }

    fn one(&self, row: usize) -> RecordOf<'_, 'a, K> {
        let OneSide { rows, begins, is_strict, facts } = self;
        let begins = begins.get(row).copied().unwrap_or(0);
        DiffRecord { rows, row, begins, is_strict: *is_strict, facts }
    }
}

impl<K: DiffView> ComparedRows for [OneSide<'_, K>; 2] {
    fn id(&self, side: usize, row: usize) -> Option<&str> {
        K::id(&self[side].rows, row)
    }

    fn hashes(&self, side: usize, row: usize) -> Result<[u64; PARTS]> {
        K::hashes(&self[side].one(row))
    }

    fn are_equal(&self, [a, b]: [usize; 2]) -> Result<bool> {
        K::are_equal(&self[0].one(a), &self[1].one(b))
    }

    fn are_rewritten(&self, [a, b]: [usize; 2]) -> bool {
        K::are_rewritten(&self[0].one(a), &self[1].one(b))
    }

    fn shown(&self, part: &str, [a, b]: [usize; 2]) -> Result<Vec<String>> {
        K::shown(part, &self[0].one(a), &self[1].one(b))
    }
}

/// Records of any other type, compared as text.
impl DiffView for OtherKind {
    type Facts = ();

    const NAMES: &'static [&'static str] = &["columns"];

    fn hashes(one: &DiffRecord<'_, &RecordBatch>) -> Result<[u64; PARTS]> {
        let format = FormatOptions::default().with_null("\0null");
        let mut hasher = DefaultHasher::new();
        for column in one.rows.columns() {
            let text = ArrayFormatter::try_new(column, &format)?;
            text.value(one.row).try_to_string()?.hash(&mut hasher);
        }
        Ok([hasher.finish(), 0, 0, 0])
    }

    fn shown(
        _: &str,
        _: &DiffRecord<'_, &RecordBatch>,
        _: &DiffRecord<'_, &RecordBatch>,
    ) -> Result<Vec<String>> {
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
