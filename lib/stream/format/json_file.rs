//! Manifests and other JSON files of datasets: read whole and in one place, written indented.

use std::io::Write;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::error::{At, Error, Result, shown};
use crate::files;
use crate::publish::PendingFile;

/// Reads a member that may be null but must be there: `#[serde(deserialize_with = "stated")]`.
pub fn stated<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    json: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(json)
}

/// Parses JSON as `T`. The text is first read as any JSON, so that members that `T` does not have must
/// be valid, too.
pub fn parse<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice::<Value>(text)?;
    serde_json::from_slice(text)
}

/// Reads a file with [`parse`]. An error in its content is of the kind
/// [`Data`](crate::error::Kind::Data); its cause names the line and column.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    read_with(path, parse)
}

/// Reads a file that may be long; `T` takes every value in it.
pub fn read_all<T: DeserializeOwned>(path: &Path) -> Result<T> {
    read_with(path, |text| serde_json::from_slice(text))
}

fn read_with<T>(path: &Path, parse: fn(&[u8]) -> serde_json::Result<T>) -> Result<T> {
    let text = files::read_member(path).at(path)?;
    parse(&text).map_err(|e| Error::data(e).at(path))
}

/// Returns the result of `read`, or `None` if there is no file.
pub fn if_there<T>(path: &Path, read: fn(&Path) -> Result<T>) -> Result<Option<T>> {
    if !files::is_member(path)? {
        return Ok(None);
    }
    match read(path) {
        // (Another writer has just withdrawn it.)
        Err(_) if !files::is_member(path)? => Ok(None),
        read => read.map(Some),
    }
}

/// Writes a value as indented JSON with a newline at the end, to a file that is not published yet.
pub fn pending(path: &Path, value: &impl Serialize) -> Result<PendingFile> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|e| Error::data(e).at(path))?;
    text.push(b'\n');
    pending_text(path, &text)
}

/// Writes a text to a file that is not published yet.
pub fn pending_text(path: &Path, text: &[u8]) -> Result<PendingFile> {
    let mut file = PendingFile::create(path)?;
    file.write_all(text).map_err(|e| Error::write(shown(path), &e))?;
    Ok(file)
}

/// Returns the cause if the schema is not the known one.
pub fn other_schema(found: &str, known: &str) -> Option<String> {
    (found != known).then(|| format!("is {found:?}, not {known:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct RowUnit {
        rows: u64,
    }

    #[test]
    fn what_is_left_out_must_be_whole_too() {
        assert_eq!(parse::<RowUnit>(br#"{"other": "x", "rows": 3}"#).unwrap().rows, 3);
        for (text, cause) in [
            (&b"{\"rows\": 3, \"other\": \"\xff\"}"[..], "invalid unicode code point"),
            (b"{\"rows\": 3, \"other\": \"\\ud800\"}", "unexpected end of hex escape"),
            (b"{\"rows\": 3, \"rows\": 4}", "duplicate field `rows` at line 1 column 18"),
            (b"{\"other\":\n3}", "missing field `rows` at line 2 column 2"),
            (b"{\"rows\": 3} x", "trailing characters at line 1 column 13"),
        ] {
            let error = parse::<RowUnit>(text).unwrap_err().to_string();
            assert!(error.contains(cause), "{error}");
        }
    }
}
