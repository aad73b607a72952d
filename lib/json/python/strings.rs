//! Strings as Python writes them: `json.dumps` (ASCII only) and `repr`.

use gristmill_simd::ascii_specials;

/// The ranges of code points beyond ASCII that `repr` escapes, first and last, little-endian: the
/// categories C and Z of Unicode 16.0 (Python 3.14). Made by `build.rs`.
static UNPRINTABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/unprintable"));

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// How many bytes are looked at together.
const BLOCK: usize = 32;

/// Appends `text` as a JSON string in ASCII, as `json.dumps` does: all characters except U+0020 to U+007E are
/// escaped.
///
/// Blocks are copied whole, and bytes to escape are removed again: 17.0 million instructions for
/// 1,000 rows of SYNTH, where looking at one byte after another in a block with an escape took 30.5
/// (2026-11-22, callgrind).
pub fn write_ascii_string(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text;
    while !rest.is_empty() {
        let plain = match rest.as_bytes().first_chunk::<BLOCK>() {
            Some(block) => {
                let plain = ascii_specials(block).trailing_zeros() as usize;
                out.extend_from_slice(block);
                out.truncate(out.len() - BLOCK + plain);
                plain
            }
            None => {
                let special = rest.bytes().position(|byte| !is_plain(byte));
                let plain = special.unwrap_or(rest.len());
                out.extend_from_slice(&rest.as_bytes()[..plain]);
                plain
            }
        };
        rest = &rest[plain..];
        if plain == BLOCK {
            continue;
        }
        // In text of other scripts, characters to escape come in runs.
        let mut characters = rest.chars();
        while let Some(character) = characters.next() {
            if u8::try_from(character).is_ok_and(is_plain) {
                break;
            }
            write_escaped(out, character);
            rest = characters.as_str();
        }
    }
    out.push(b'"');
}

fn is_plain(byte: u8) -> bool {
    (byte.wrapping_sub(b' ') <= b'~' - b' ') & (byte != b'"') & (byte != b'\\')
}

fn write_escaped(out: &mut Vec<u8>, character: char) {
    let short = match character {
        '"' => b"\\\"",
        '\\' => b"\\\\",
        '\n' => b"\\n",
        '\r' => b"\\r",
        '\t' => b"\\t",
        '\u{8}' => b"\\b",
        '\u{c}' => b"\\f",
        _ => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(&escape(*unit));
            }
            return;
        }
    };
    out.extend_from_slice(short);
}

/// Returns `\uXXXX`.
pub(super) fn escape(unit: u16) -> [u8; 6] {
    let digit = |shift: u16| DIGITS[usize::from(unit >> shift & 15)];
    [b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]
}

/// Appends `repr(text)`: in single quotes, unless the text has single quotes and no double ones;
/// characters that are not printable are escaped.
pub fn write_repr_string(out: &mut Vec<u8>, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote as u8);
    for character in text.chars() {
        match character {
            '\\' => out.extend_from_slice(b"\\\\"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            _ if character == quote => out.extend_from_slice(&[b'\\', quote as u8]),
            _ if is_printable(character) => {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => write_code_point(out, u32::from(character)),
        }
    }
    out.push(quote as u8);
}

/// Writes `\xXX`, `\uXXXX` or `\UXXXXXXXX`.
fn write_code_point(out: &mut Vec<u8>, point: u32) {
    let (letter, digits) = match point {
        0..=0xff => (b'x', 2),
        0x100..=0xffff => (b'u', 4),
        _ => (b'U', 8),
    };
    out.extend_from_slice(&[b'\\', letter]);
    out.extend((0..digits).rev().map(|place| DIGITS[(point >> (4 * place) & 15) as usize]));
}

fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return matches!(character, ' '..='~');
    }
    let (ranges, _) = UNPRINTABLE.as_chunks::<8>();
    let last = |range: &[u8; 8]| u32::from_le_bytes([range[4], range[5], range[6], range[7]]);
    let first = |range: &[u8; 8]| u32::from_le_bytes([range[0], range[1], range[2], range[3]]);
    let point = u32::from(character);
    let found = ranges.partition_point(|range| last(range) < point);
    ranges.get(found).is_none_or(|range| point < first(range))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: fn(&mut Vec<u8>, &str), text: &str) -> String {
        let mut out = Vec::new();
        write(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings_are_those_of_json_dumps() {
        let cases = [
            ("", r#""""#),
            ("plain /", r#""plain /""#),
            ("\"\\\n\r\t\u{8}\u{c}\0\u{1f}\u{7f}", r#""\"\\\n\r\t\b\f\u0000\u001f\u007f""#),
            ("a\u{e9}b\u{2028}\u{1f600}", r#""a\u00e9b\u2028\ud83d\ude00""#),
        ];
        for (text, expected) in cases {
            assert_eq!(written(write_ascii_string, text), expected);
        }
        // Any character at any place of a block.
        for length in 0..80 {
            for special in ["\u{e9}", "\"", "~", "\u{7f}"] {
                let text = format!("{}{special}{}", "x".repeat(length), "y".repeat(40));
                let expected = serde_json::to_string(&text).unwrap();
                let expected = expected.replace('\u{e9}', "\\u00e9").replace('\u{7f}', "\\u007f");
                assert_eq!(written(write_ascii_string, &text), expected);
            }
        }
    }

    #[test]
    fn strings_are_those_of_repr() {
        let cases = [
            ("", "''"),
            ("it's", r#""it's""#),
            (r#"it's "so""#, r#"'it\'s "so"'"#),
            ("\"", r#"'"'"#),
            ("\\\t\n\r\0\u{7f}", r"'\\\t\n\r\x00\x7f'"),
            ("\u{a0}\u{ad}\u{e9}\u{200b}\u{2028}\u{3000}", r"'\xa0\xad\u{e9}\u200b\u2028\u3000'"),
            ("\u{1f600}\u{e000}\u{f0000}\u{10ffff}", "'\u{1f600}\\ue000\\U000f0000\\U0010ffff'"),
        ];
        for (text, expected) in cases {
            let expected = expected.replace(r"\u{e9}", "\u{e9}");
            assert_eq!(written(write_repr_string, text), expected);
        }
    }
}
