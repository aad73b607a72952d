//! Reads the fields of an object. A later duplicate replaces an earlier field.
//!
//! An invalid value is an error only if no later duplicate replaces it, so its error is kept
//! ([`Slot`]) until the object has ended.

use super::RenderError;
use crate::json::{self, Kind, Reader, Str};

/// The last value of a field, or its error; `None` if the field is missing.
pub(super) type Slot<T> = Option<Result<T, RenderError>>;

/// Reads a value with `f`. If `f` refuses the value, skips it and returns the error inside the result; only
/// invalid JSON fails at once.
pub(super) fn attempt<'a, T>(
    reader: &mut Reader<'a>,
    f: impl FnOnce(&mut Reader<'a>) -> Result<T, RenderError>,
) -> Result<Result<T, RenderError>, json::Error> {
    let start = reader.clone();
    let result = f(reader);
    if result.is_err() {
        *reader = start;
        reader.skip()?;
    }
    Ok(result)
}

/// Requires that a value of this kind comes next.
pub(super) fn expect(reader: &mut Reader, kind: Kind) -> Result<(), RenderError> {
    let found = reader.peek()?;
    if found == kind { Ok(()) } else { Err(RenderError::new(format!("{found} instead of {kind}"))) }
}

/// Reads a string.
pub(super) fn string<'a>(reader: &mut Reader<'a>) -> Result<Str<'a>, RenderError> {
    expect(reader, Kind::String)?;
    Ok(reader.string()?)
}

/// Reads true or false.
pub(super) fn boolean(reader: &mut Reader<'_>) -> Result<bool, RenderError> {
    match reader.peek()? {
        Kind::True | Kind::False => Ok(reader.boolean()?),
        found => Err(RenderError::new(format!("{found} instead of true or false"))),
    }
}

/// Reads a value with `f`, or null as `None`.
pub(super) fn nullable<'a, T>(
    reader: &mut Reader<'a>,
    f: impl FnOnce(&mut Reader<'a>) -> Result<T, RenderError>,
) -> Result<Option<T>, RenderError> {
    if reader.peek()? == Kind::Null {
        reader.null()?;
        Ok(None)
    } else {
        f(reader).map(Some)
    }
}

/// Returns the name of a field; `scratch` holds it if it has escapes. For a name that is not valid text,
/// returns an empty name, which no field has.
pub(super) fn name<'b, 'a: 'b>(key: &Str<'a>, scratch: &'b mut String) -> &'b str {
    key.decode(scratch).unwrap_or_default()
}

/// Returns the value of a required field.
pub(super) fn required<T>(slot: Slot<T>, field: &str) -> Result<T, RenderError> {
    match slot {
        None => Err(RenderError::new(format!("{field} is missing"))),
        Some(result) => result.map_err(|error| error.within(field)),
    }
}

/// Returns the value of a field; null and a missing field are the same.
pub(super) fn optional<T>(slot: Slot<Option<T>>, field: &str) -> Result<Option<T>, RenderError> {
    or_default(slot, field, || None)
}

/// Returns the value of a field, or its default if it is missing; null is not accepted.
pub(super) fn or_default<T>(
    slot: Slot<Option<T>>,
    field: &str,
    default: impl FnOnce() -> Option<T>,
) -> Result<Option<T>, RenderError> {
    match slot {
        None => Ok(default()),
        Some(result) => result.map_err(|error| error.within(field)),
    }
}

/// Returns a string of the input for an error message: as it was written, on one line, shortened.
pub(super) fn quoted(text: &Str) -> String {
    shown(text.raw())
}

/// Returns a text for an error message, on one line, shortened.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut out = String::from("\"");
    for (index, character) in text.chars().enumerate() {
        if index == LONGEST {
            out.push_str("...");
            break;
        }
        if character.is_control() {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out.push('"');
    out
}
