//! The reader against serde_json on random and mutated documents, and its own cases.

use super::*;
use serde_json::Value;

/// Decoding a string while reading it gives the same value, or the same error, as reading it first.
fn assert_same_at_once(reader: &Reader) {
    let (mut first, mut at_once) = (reader.clone(), reader.clone());
    let (mut value, mut out) = (String::from("→"), String::from("→"));
    let string = first.string();
    let expected = string.clone().map(|string| (string.decode_onto(&mut value), string.raw()));
    if let (Ok(string), Ok((Ok(()), raw))) = (&string, &expected) {
        let mut written = Vec::new();
        write_string(&mut written, &value["→".len()..]);
        let is_written = written[1..written.len() - 1] == *raw.as_bytes();
        assert_eq!(string.as_written(), is_written.then_some(*raw), "{raw}");
    }
    match (at_once.string_onto(&mut out), expected) {
        (Ok((string, Some(place))), Ok((Ok(()), raw))) => {
            assert_eq!((string.raw(), at_once.position()), (raw, first.position()));
            assert_eq!((&out[place], out.as_str()), (&value["→".len()..], value.as_str()));
        }
        // Without escapes, or with a lone surrogate.
        (Ok((string, None)), Ok((decoded, raw))) => {
            assert_eq!((string.raw(), at_once.position()), (raw, first.position()));
            assert!(decoded.is_err() || raw == &value["→".len()..]);
            assert_eq!(out, "→");
        }
        (Err(ours), Err(theirs)) => assert_eq!((ours, out.as_str()), (theirs, "→")),
        (ours, theirs) => panic!("{ours:?} {theirs:?}"),
    }
}

/// xorshift64*: seeded, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 33) as usize % limit
    }
}

fn random_string(r: &mut Random, out: &mut String) {
    const PIECES: &[&str] = &[
        "a",
        "Z",
        " ",
        "plain words of some length here",
        "é",
        "日本",
        "😀",
        "\\n",
        "\\t",
        "\\\"",
        "\\\\",
        "\\/",
        "\\b",
        "\\f",
        "\\r",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\\u0000",
        "\\uD834\\uDD1E",
        "\\ud800",
        "\\udc00",
        "\u{7f}",
        "\u{2028}",
        "{",
        "]",
        ":",
        ",",
    ];
    out.push('"');
    for _ in 0..r.below(8) {
        out.push_str(PIECES[r.below(PIECES.len())]);
    }
    out.push('"');
}

fn random_value(r: &mut Random, depth: usize, out: &mut String) {
    const SPACES: &[&str] = &["", "", "", " ", "\n", "\t\r "];
    const NUMBERS: &[&str] = &[
        "0",
        "-0",
        "1",
        "-17",
        "18446744073709551615",
        "9223372036854775808",
        "0.5",
        "1e3",
        "-2.5E-7",
        "1E+2",
        "123456789012345678901234567890",
    ];
    out.push_str(SPACES[r.below(SPACES.len())]);
    match r.below(if depth > 6 { 5 } else { 8 }) {
        0 => out.push_str(["true", "false", "null"][r.below(3)]),
        1 | 2 => out.push_str(NUMBERS[r.below(NUMBERS.len())]),
        3 | 4 => random_string(r, out),
        5 => {
            out.push('[');
            for i in 0..r.below(5) {
                if i > 0 {
                    out.push(',');
                }
                random_value(r, depth + 1, out);
            }
            out.push(']');
        }
        _ => {
            out.push('{');
            for i in 0..r.below(5) {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(SPACES[r.below(SPACES.len())]);
                random_string(r, out);
                out.push_str(SPACES[r.below(SPACES.len())]);
                out.push(':');
                random_value(r, depth + 1, out);
            }
            out.push('}');
        }
    }
    out.push_str(SPACES[r.below(SPACES.len())]);
}

fn mutate(r: &mut Random, text: &mut String) {
    const INSERTS: &[&str] = &[
        "\"", "\\", ",", ":", "{", "}", "[", "]", "0", "-", ".", "e", "u", "\u{1}", "\n", "é", "t",
        "null", "NaN", "\\ud83d", "\\u12g4", "\u{b}", "\u{a0}", "\u{feff}",
    ];
    for _ in 0..1 + r.below(2) {
        let places: Vec<usize> = text.char_indices().map(|(i, _)| i).collect();
        if places.is_empty() {
            return;
        }
        let at = places[r.below(places.len())];
        match r.below(3) {
            0 => {
                text.remove(at);
            }
            1 => text.insert_str(at, INSERTS[r.below(INSERTS.len())]),
            _ => text.truncate(at),
        }
    }
}

/// The tree that serde_json would build.
fn build(reader: &mut Reader) -> Result<Value, Error> {
    Ok(match reader.peek()? {
        Kind::Null => {
            reader.null()?;
            Value::Null
        }
        Kind::True | Kind::False => Value::Bool(reader.boolean()?),
        Kind::Number => {
            let text = reader.number()?;
            serde_json::from_str(text).map_err(|_| reader.error("number out of range"))?
        }
        Kind::String => {
            let mut scratch = String::new();
            assert_same_at_once(reader);
            let before = reader.clone();
            let string = reader.string()?;
            let text = string.decode(&mut scratch)?.to_owned();
            assert!(string.eq_str(&text));
            assert!(!string.eq_str(&format!("{text}x")));
            if let Some(last) = text.chars().next_back() {
                assert!(!string.eq_str(&text[..text.len() - last.len_utf8()]));
            }
            assert_eq!(string.plain().is_some(), !string.raw().contains('\\'));
            let mut again = before;
            assert_eq!(again.characters()?, text.chars().count() as u64);
            assert_eq!(again.position(), reader.position());
            Value::String(text)
        }
        Kind::Array => {
            let mut items = Vec::new();
            reader.array(|reader| {
                items.push(build(reader)?);
                Ok::<_, Error>(())
            })?;
            Value::Array(items)
        }
        Kind::Object => {
            let mut map = serde_json::Map::new();
            reader.object(|reader, key| {
                let mut scratch = String::new();
                let key = key.decode(&mut scratch)?.to_owned();
                map.insert(key, build(reader)?);
                Ok::<_, Error>(())
            })?;
            Value::Object(map)
        }
    })
}

fn ours(text: &str) -> Result<Value, Error> {
    let mut reader = Reader::new(text);
    let value = build(&mut reader)?;
    reader.end()?;
    Ok(value)
}

#[test]
fn escapes_at_every_place_of_a_block() {
    const PIECES: [&str; 14] = [
        "\\n",
        "\\\"",
        "\\\\",
        "\\/",
        "\\b",
        "\\u0000",
        "\\u00e9",
        "\\u2192",
        "\\ud83d\\ude00",
        "é",
        "→",
        "😀",
        "\\ud83d",
        "\\ude00",
    ];
    let mut r = Random(0xD1B5_4A32_D192_ED03);
    for round in 0..20_000 {
        let mut text = String::from("\"");
        for _ in 0..r.below(6) {
            (0..r.below(40)).for_each(|n| text.push((b'a' + n as u8 % 26) as char));
            // Lone surrogates appear now and then.
            text.push_str(PIECES[r.below(if round % 8 == 0 { 14 } else { 12 })]);
        }
        text.push('"');
        // The string ends where the text does, or far from it.
        text.push_str(&" ".repeat(r.below(2) * 40));
        let theirs = serde_json::from_str::<String>(&text).ok();
        let mut out = String::from("→");
        let string = Reader::new(&text).string().unwrap();
        let done = string.decode_onto(&mut out);
        assert_eq!(done.is_ok(), theirs.is_some(), "{text}");
        assert_same_at_once(&Reader::new(&text));
        let count = theirs.as_ref().map(|theirs| theirs.chars().count() as u64);
        assert_eq!(Reader::new(&text).characters().ok(), count, "{text}");
        assert!(std::str::from_utf8(out.as_bytes()).is_ok(), "{text}");
        if let Some(theirs) = theirs {
            assert_eq!(out.strip_prefix('→'), Some(theirs.as_str()), "{text}");
        }
    }
}

/// Every character behind a backslash, with and without the characters that must follow it, near the end of the text
/// and far from it.
#[test]
fn only_the_escapes_of_json_are_escapes() {
    for letter in (0..=0x7fu8).map(char::from).chain(['é', '→']) {
        for digits in ["0041", "004", "g041", "d83d\\ude00", "d83d\\xde00", "d83d", ""] {
            for (before, after) in [("", ""), ("ab", "cd"), ("", &"e".repeat(70)[..])] {
                let text = format!("\"{before}\\{letter}{digits}{after}\"");
                let theirs = serde_json::from_str::<String>(&text);
                let reader = Reader::new(&text);
                let mut value = String::new();
                let read =
                    reader.clone().string().and_then(|string| string.decode_onto(&mut value));
                assert_eq!(read.is_ok(), theirs.is_ok(), "{text}");
                assert_same_at_once(&reader);
                let count = reader.clone().characters().ok();
                assert_eq!(count, theirs.as_ref().ok().map(|theirs| theirs.chars().count() as u64));
                if let Ok(theirs) = theirs {
                    assert_eq!(value, theirs);
                }
            }
        }
    }
}

#[test]
fn agrees_with_serde_json() {
    let mut r = Random(0x9E37_79B9_7F4A_7C15);
    let (mut good, mut bad) = (0, 0);
    for round in 0..60_000 {
        let mut text = String::new();
        random_value(&mut r, 0, &mut text);
        if round % 2 == 1 {
            mutate(&mut r, &mut text);
        }
        let theirs = serde_json::from_str::<Value>(&text);
        let ours = ours(&text);
        match (&theirs, &ours) {
            (Ok(a), Ok(b)) => {
                assert_eq!(a, b, "{text:?}");
                good += 1;
            }
            (Err(_), Err(_)) => bad += 1,
            _ => panic!("{text:?}: serde_json {theirs:?}, ours {ours:?}"),
        }
        // Skipping accepts what building accepts, except lone surrogates and overflowing numbers.
        let mut reader = Reader::new(&text);
        let skipped = reader.raw().and_then(|span| {
            reader.end()?;
            Ok(span)
        });
        match (&ours, &skipped) {
            (Ok(_), Ok(span)) => assert_eq!(*span, text.trim_matches([' ', '\n', '\t', '\r'])),
            (Err(_), Err(_)) => {}
            (Err(error), Ok(_)) => assert!(
                ["lone surrogate", "number out of range"].contains(&error.message),
                "{text:?}: {error}"
            ),
            (Ok(_), Err(error)) => panic!("{text:?}: {error}"),
        }
    }
    assert!(good > 20_000 && bad > 10_000, "{good} {bad}");
}

#[test]
fn errors_say_what_and_where() {
    let cases = [
        ("{\"a\": 1 \"b\"}", "expected `,` or `}` at byte 8"),
        ("[1,]", "expected a value at byte 3"),
        ("{\"a\":1,}", "expected a key at byte 7"),
        ("[1 2]", "expected `,` or `]` at byte 3"),
        ("\"a\nb\"", "control character in a string at byte 2"),
        ("\"abc", "string without an end at byte 4"),
        ("\"\\u00g0\"", "invalid escape in a string at byte 1"),
        ("\"\\ud800x\"", "lone surrogate at byte 1"),
        ("1.", "expected a number at byte 0"),
        ("01", "expected the end at byte 1"),
        ("nul", "expected a value at byte 0"),
        ("NaN", "expected a value at byte 0"),
        ("", "expected a value at byte 0"),
        ("{} {}", "expected the end at byte 3"),
    ];
    for (text, expected) in cases {
        assert_eq!(ours(text).unwrap_err().to_string(), expected, "{text:?}");
    }
}

#[test]
fn lenient_numbers() {
    for text in ["NaN", "Infinity", "-Infinity"] {
        assert_eq!(Reader::lenient(text).number().unwrap(), text);
        assert_eq!(Reader::lenient(text).peek().unwrap(), Kind::Number);
        assert!(Reader::new(text).number().is_err());
    }
    assert!(Reader::lenient("-NaN").number().is_err());
    let long = "1".repeat(MAX_LENIENT_DIGITS + 1);
    assert!(Reader::lenient(&long).number().is_err());
    assert!(Reader::lenient(&long[1..]).number().is_ok());
    assert!(Reader::lenient(&format!("{long}.5")).number().is_ok());
    assert!(Reader::new(&long).number().is_ok());
}

#[test]
fn depth_is_bounded() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |n: usize| format!("{}1{}", open.repeat(n), close.repeat(n));
        assert!(Reader::new(&nested(MAX_DEPTH)).skip().is_ok());
        let error = Reader::new(&nested(MAX_DEPTH + 1)).skip().unwrap_err();
        assert_eq!(error.message, "nested too deeply");
        assert!(Reader::new(&open.repeat(1_000_000)).skip().is_err());
    }
}

#[test]
fn integers_are_exact() {
    assert_eq!(integer_i64("-9223372036854775808"), Some(i64::MIN));
    assert_eq!(integer_i64("9223372036854775808"), None);
    assert_eq!(integer_u64("18446744073709551615"), Some(u64::MAX));
    assert_eq!(integer_u64("18446744073709551616"), None);
    assert_eq!(integer_u64("-1"), None);
    assert_eq!(integer_u64("-0"), Some(0));
    for text in ["1.0", "1e0", "", "-", "+1", "NaN", "1.5"] {
        assert_eq!(integer_i64(text), None);
        assert_eq!(integer_u64(text), None);
    }
}

#[test]
fn written_strings_read_back() {
    let mut r = Random(7);
    for _ in 0..5_000 {
        let text: String = (0..r.below(60))
            .filter_map(|_| match r.below(4) {
                0 => char::from_u32(r.below(0x30) as u32),
                1 => char::from_u32(r.below(0x11_0000) as u32),
                _ => char::from_u32(0x20 + r.below(0x60) as u32),
            })
            .collect();
        let mut out = Vec::new();
        write_string(&mut out, &text);
        assert_eq!(String::from_utf8(out.clone()).unwrap(), serde_json::to_string(&text).unwrap());
        let out = String::from_utf8(out).unwrap();
        let mut scratch = String::new();
        assert_eq!(Reader::new(&out).string().unwrap().decode(&mut scratch).unwrap(), text);
    }
}
