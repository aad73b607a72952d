//! The sidecar of a game: the fields that are known by name, and the text of the others.

use std::collections::HashSet;

use super::Defect;
use super::defect::excerpt;
use crate::json::{self, Reader, Str};

/// The content of a sidecar.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Meta {
    pub seed: u64,
    pub num_moves: u64,
    pub score: u64,
    pub max_tile: u64,
    pub depth: Option<u32>,
    pub max_rank: Option<u8>,
    pub seconds: Option<f64>,
    /// The other fields as a JSON object on one line, in their order; empty if there are none. An
    /// optional field whose value has another type stays here.
    pub rest: String,
}

/// A defect and its byte offset.
struct PlacedDefect(usize, Defect);

impl From<json::Error> for PlacedDefect {
    fn from(error: json::Error) -> Self {
        PlacedDefect(error.offset, Defect::Json(error))
    }
}

/// Reads a sidecar's text. A defect comes with its line, from 1.
pub(super) fn parse(bytes: &[u8]) -> Result<Meta, (u64, Defect)> {
    let found = match std::str::from_utf8(bytes) {
        Ok(text) => match parse_text(text) {
            Ok(meta) => return Ok(meta),
            Err(found) => found,
        },
        Err(error) => PlacedDefect(error.valid_up_to(), Defect::Utf8),
    };
    let before = &bytes[..found.0.min(bytes.len())];
    Err((1 + memchr::memchr_iter(b'\n', before).count() as u64, found.1))
}

fn parse_text(text: &str) -> Result<Meta, PlacedDefect> {
    let (mut seed, mut num_moves, mut score, mut max_tile) = (None, None, None, None);
    let mut meta = Meta::default();
    let mut seen = HashSet::new();
    let mut reader = Reader::new(text);
    reader.object(|reader, key: Str<'_>| -> Result<(), PlacedDefect> {
        let mut name = String::new();
        key.decode_onto(&mut name)?;
        reader.peek()?;
        let at = reader.position();
        let value = reader.raw()?;
        let integer = |key| {
            json::integer_u64(value).map(Some).ok_or_else(|| {
                let expected = "an unsigned integer";
                PlacedDefect(at, Defect::Kind { key, expected, found: excerpt(value) })
            })
        };
        let mut kept = true;
        match name.as_str() {
            "seed" => seed = integer("seed")?,
            "num_moves" => num_moves = integer("num_moves")?,
            "score" => score = integer("score")?,
            "max_tile" => max_tile = integer("max_tile")?,
            "depth" => {
                meta.depth = json::integer_u64(value).and_then(|n| n.try_into().ok());
                kept = meta.depth.is_some();
            }
            "max_rank" => {
                meta.max_rank = json::integer_u64(value).and_then(|n| n.try_into().ok());
                kept = meta.max_rank.is_some();
            }
            "seconds" => {
                meta.seconds = finite(value);
                kept = meta.seconds.is_some();
            }
            _ => kept = false,
        }
        if !kept {
            meta.rest.push(if meta.rest.is_empty() { '{' } else { ',' });
            meta.rest.extend(["\"", key.raw(), "\":"]);
            push_compact(&mut meta.rest, value);
        }
        if seen.contains(&name) {
            return Err(PlacedDefect(key.offset(), Defect::Duplicate { key: excerpt(&name) }));
        }
        seen.insert(name);
        Ok(())
    })?;
    reader.end()?;
    if !meta.rest.is_empty() {
        meta.rest.push('}');
    }
    let missing = |key| PlacedDefect(text.trim_end().len(), Defect::MissingKey { key });
    meta.seed = seed.ok_or_else(|| missing("seed"))?;
    meta.num_moves = num_moves.ok_or_else(|| missing("num_moves"))?;
    meta.score = score.ok_or_else(|| missing("score"))?;
    meta.max_tile = max_tile.ok_or_else(|| missing("max_tile"))?;
    Ok(meta)
}

/// Returns the value of a JSON number, if it is one and finite.
fn finite(value: &str) -> Option<f64> {
    // Of the JSON values, Rust parses only numbers as numbers.
    value.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Appends a JSON value without the white space between its tokens: it must fit one line.
fn push_compact(out: &mut String, value: &str) {
    let (mut inside, mut escaped) = (false, false);
    for character in value.chars() {
        if inside {
            inside = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else if character.is_ascii_whitespace() {
            continue;
        } else {
            inside = character == '"';
        }
        out.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"{"seed":7,"num_moves":2,"score":8,"max_tile":4}"#;

    fn text(json: &str) -> String {
        let (line, defect) = parse(json.as_bytes()).unwrap_err();
        format!("{line}: {defect}")
    }

    #[test]
    fn all_known_fields_are_taken_and_the_rest_is_kept_as_written() {
        let meta = parse(
            "{\n \"steps_file\": \"a \\\" b\\\\\", \"seed\": 18446744073709551615,\n\
             \"depth\": 6, \"game_index\": 0, \"num_moves\": 27885, \"score\": 795564,\n\
             \"max_tile\": 32768, \"max_rank\": 15, \"sum_tile\": 6.1434e4,\n\
             \"extra\": { \"a b\" : [ 1, \"c \\\" d\" ] }, \"seconds\": 50.247026 }\n"
                .as_bytes(),
        )
        .unwrap();
        let rest = r#"{"steps_file":"a \" b\\","game_index":0,"sum_tile":6.1434e4,"extra":{"a b":[1,"c \" d"]}}"#;
        assert_eq!(
            meta,
            Meta {
                seed: u64::MAX,
                num_moves: 27885,
                score: 795_564,
                max_tile: 32768,
                depth: Some(6),
                max_rank: Some(15),
                seconds: Some(50.247026),
                rest: rest.to_owned(),
            }
        );
        serde_json::from_str::<serde_json::Value>(rest).unwrap();
    }

    #[test]
    fn optional_fields_of_another_type_stay_in_the_rest() {
        let json = PLAIN.replace('}', r#","depth":"six","max_rank":300,"seconds":null}"#);
        let meta = parse(json.as_bytes()).unwrap();
        assert_eq!((meta.depth, meta.max_rank, meta.seconds), (None, None, None));
        assert_eq!(meta.rest, r#"{"depth":"six","max_rank":300,"seconds":null}"#);
        assert_eq!(parse(PLAIN.as_bytes()).unwrap().rest, "");
    }

    #[test]
    fn keys_may_have_escapes() {
        let json = PLAIN.replace("seed", r"s\u0065ed");
        assert_eq!(parse(json.as_bytes()).unwrap().seed, 7);
    }

    #[test]
    fn defects_are_named_with_their_line() {
        for key in ["seed", "num_moves", "score", "max_tile"] {
            let json = PLAIN.replace(key, "other");
            assert_eq!(text(&json), format!("1: `{key}` is missing"));
            let json = PLAIN.replacen(&format!("\"{key}\":"), &format!("\n\"{key}\":-"), 1);
            assert!(
                text(&json).starts_with(&format!("2: `{key}` is not an unsigned integer: -")),
                "{}",
                text(&json)
            );
        }
        let json = PLAIN.replace('7', "18446744073709551616");
        assert_eq!(text(&json), "1: `seed` is not an unsigned integer: 18446744073709551616");
        let json = PLAIN.replace('}', ",\n\"seed\":7}");
        assert_eq!(text(&json), "2: `seed` stands twice");
        assert_eq!(text(""), "1: broken JSON: expected an object at byte 0");
        assert_eq!(text("[]"), "1: broken JSON: expected an object at byte 0");
        assert_eq!(text(&format!("{PLAIN}\n\nx")), "3: broken JSON: expected the end at byte 49");
        let (line, defect) = parse(b"{\n\"\xff\":1}").unwrap_err();
        assert_eq!((line, defect.to_string()), (2, "broken JSON: the text is not UTF-8".into()));
    }
}
