//! The records that a page steps through, as JSON for its script. Each has `kind`, `title`, `facts`
//! (names with values) and `notes` (what is wrong with it), and what its kind has:
//!
//! | kind | members |
//! |---|---|
//! | `conversation` | `messages`: `{title, counts, pieces}` |
//! | `game` | columns with a value for each step |
//! | `puzzle` | `sides`: grids of cells, or lines of them |
//! | `fields` | `fields`: `{name, text}` |
//!
//! The file `page.rs` of each kind (`lib/chats/kinds`) makes them. What does not fit the room is cut, and `left` says what.

use serde_json::{Value, json};

use super::escape::{script_json, visible};
use super::room;
use crate::view::{Shown, ShownField, ShownFields};
use crate::wording::grouped;

/// The most characters of a title, a name or a value beside the texts.
const SHORT: usize = 200;

/// A record of the sample, and its place in the data.
#[derive(Debug)]
pub struct SampleRecord {
    /// The index among all records, from 0, if it is known.
    pub number: Option<u64>,
    pub place: String,
    pub shown: Box<dyn Shown>,
}

/// The most bytes of one record, even if it is the only one.
const MOST: usize = 400_000;
/// How often a record is cut again if its text needs more bytes in JSON than was estimated.
const CUTS: usize = 6;

/// Writes the sample in at most `bytes` of JSON: the large records are cut to the same size. A
/// record that cannot be cut any further is left out.
pub fn to_json(sample: &[SampleRecord], bytes: usize) -> Vec<Value> {
    let sizes: Vec<usize> = sample.iter().map(|record| size(&json_of(record, MOST))).collect();
    let limit = room::limit(&sizes, bytes).min(MOST);
    let mut left = bytes;
    let fits = |value: &Value| {
        let size = size(value);
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    sample.iter().map(|record| json_in(record, limit)).take_while(fits).collect()
}

/// Returns the bytes of a value on the page, with the comma after it.
fn size(value: &Value) -> usize {
    script_json(value).len() + 1
}

/// Writes a record in about `limit` bytes.
fn json_in(record: &SampleRecord, limit: usize) -> Value {
    let mut bytes = limit;
    let mut json = json_of(record, bytes);
    for _ in 0..CUTS {
        let size = size(&json);
        if size <= limit {
            break;
        }
        bytes = bytes / 2 * limit / size + bytes / 4;
        json = json_of(record, bytes);
    }
    json
}

fn json_of(SampleRecord { number, place, shown }: &SampleRecord, bytes: usize) -> Value {
    let (title, facts, notes, mut members) = shown.parts(bytes);
    let number = number.map(|number| format!("#{number}"));
    let title = match (&title, &number) {
        (Some(title), Some(number)) => format!("{} · {number}", short(title)),
        (Some(only), None) | (None, Some(only)) => only.clone(),
        (None, None) => place.clone(),
    };
    // Where the number of the record is known, its place is the file alone.
    let place = match number {
        Some(_) => {
            let end = place.rfind("record ").unwrap_or(place.len());
            place[..end].trim_end_matches([':', ' '])
        }
        None => place.as_str(),
    };
    let place = Some(("place", place.to_string())).filter(|(_, place)| !place.is_empty());
    let facts: Vec<[String; 2]> =
        facts.into_iter().chain(place).map(|(name, value)| [short(name), short(&value)]).collect();
    let notes: Vec<String> = notes.iter().take(20).map(|note| short(note)).collect();
    members["title"] = json!(short(&title));
    members["facts"] = json!(facts);
    members["notes"] = json!(notes);
    members
}

/// Title, facts, notes, and the members that only this kind of record has.
pub type Parts = (Option<String>, Vec<(&'static str, String)>, Vec<String>, Value);

/// Cuts a text, and replaces characters that are invisible.
pub fn short(text: &str) -> String {
    match text.char_indices().nth(SHORT) {
        Some((end, _)) => visible(&text[..end]) + "…",
        None => visible(text),
    }
}

/// Returns the beginning of a text, and in words how much is left out.
pub fn beginning(text: &str, bytes: usize) -> (&str, Option<String>) {
    let mut ends = (0..=bytes.min(text.len())).rev();
    let end = ends.find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let rest = &text[end..];
    let left = (!rest.is_empty()).then(|| {
        format!("{} more characters are not on this page", grouped(rest.chars().count() as u64))
    });
    (&text[..end], left)
}

pub fn fields(of: &ShownFields, bytes: usize) -> Parts {
    let sizes: Vec<usize> =
        of.fields.iter().map(|field| field.value.as_ref().map_or(0, String::len)).collect();
    let limit = room::limit(&sizes, bytes);
    let field = |field: &ShownField| {
        let (text, left) = match &field.value {
            Some(text) => {
                let (text, left) = beginning(text, limit);
                (Some(visible(text)), left)
            }
            None => (None, None),
        };
        json!({"name": short(&field.name), "text": text, "left": left})
    };
    let fields: Vec<Value> = of.fields.iter().take(1000).map(field).collect();
    (None, Vec::new(), Vec::new(), json!({"kind": "fields", "fields": fields}))
}
