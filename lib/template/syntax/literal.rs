//! Numbers and strings in a template.

use num_bigint::BigInt;

use crate::value::{Value, integer};

/// Reads the number at the start of a text; returns it with its length in bytes.
pub fn number(rest: &str, is_after_dot: bool) -> Result<Option<(Value, usize)>, String> {
    let bytes = rest.as_bytes();
    if !bytes.first().is_some_and(u8::is_ascii_digit) {
        return Ok(None);
    }
    if !is_after_dot && let Some(length) = float_length(bytes) {
        let text = rest[..length].replace('_', "");
        let value: f64 = text.parse().unwrap_or(f64::NAN);
        return Ok(Some((Value::Float(value), length)));
    }
    for (prefix, radix) in [("0b", 2), ("0o", 8), ("0x", 16)] {
        if rest.len() > 2 && rest.is_char_boundary(2) && rest[..2].eq_ignore_ascii_case(prefix) {
            let is_digit = |byte: &u8| char::from(*byte).is_digit(radix);
            let length = digits(&bytes[2..], is_digit, true);
            if length > 0 {
                let text = rest[2..2 + length].replace('_', "");
                let value = BigInt::parse_bytes(text.as_bytes(), radix).unwrap_or_default();
                return Ok(Some((integer(value), 2 + length)));
            }
        }
    }
    let length = match bytes[0] {
        b'0' => 1 + digits(&bytes[1..], |byte| *byte == b'0', true),
        _ => digits(bytes, u8::is_ascii_digit, false),
    };
    let text = rest[..length].replace('_', "");
    match Value::integer_of(&text) {
        Some(value) => Ok(Some((value, length))),
        None => Err("an integer of more than 4300 digits".into()),
    }
}

/// The length of the digits at the start, with single underscores between them.
fn digits(bytes: &[u8], is_digit: impl Fn(&u8) -> bool, may_begin_so: bool) -> usize {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if is_digit(byte) {
            at += 1;
        } else if *byte == b'_'
            && (at > 0 || may_begin_so)
            && bytes.get(at + 1).is_some_and(&is_digit)
        {
            at += 2;
        } else {
            break;
        }
    }
    at
}

fn float_length(bytes: &[u8]) -> Option<usize> {
    let decimal = |at: usize| digits(&bytes[at.min(bytes.len())..], u8::is_ascii_digit, false);
    let mut at = decimal(0);
    let mut is_float = false;
    if bytes.get(at) == Some(&b'.') && decimal(at + 1) > 0 {
        at += 1 + decimal(at + 1);
        is_float = true;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let length = decimal(at + 1 + sign);
        if length > 0 {
            at += 1 + sign + length;
            is_float = true;
        }
    }
    is_float.then_some(at)
}

/// Reads the escapes of a string literal, as Python's `unicode-escape` does.
pub fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(escape) = chars.next() else { return Err("\\ at end of string".into()) };
        let found = match escape {
            '\n' => continue,
            'n' => Ok('\n'),
            't' => Ok('\t'),
            'r' => Ok('\r'),
            'a' => Ok('\x07'),
            'b' => Ok('\x08'),
            'f' => Ok('\x0c'),
            'v' => Ok('\x0b'),
            '\\' | '\'' | '"' => Ok(escape),
            'x' => Err(2),
            'u' => Err(4),
            'U' => Err(8),
            'N' => return Err("names of characters (\\N) are not read".into()),
            '0'..='7' => {
                let mut value = escape.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = chars.clone().next().and_then(|c| c.to_digit(8)) else {
                        break;
                    };
                    chars.next();
                    value = value * 8 + digit;
                }
                char::from_u32(value).ok_or(0)
            }
            // Jinja2 first turns what is not ASCII into escapes.
            other if !other.is_ascii() => {
                let code = u32::from(other);
                out.push('\\');
                out.push_str(&match code {
                    0..=0xff => format!("x{code:02x}"),
                    0x100..=0xffff => format!("u{code:04x}"),
                    _ => format!("U{code:08x}"),
                });
                continue;
            }
            other => {
                out.push('\\');
                out.push(other);
                continue;
            }
        };
        match found {
            Ok(c) => out.push(c),
            Err(count) => {
                let digits: String = chars.clone().take(count).collect();
                let is_hex = digits.len() == count && digits.bytes().all(|b| b.is_ascii_hexdigit());
                let code = u32::from_str_radix(&digits, 16).ok().filter(|_| is_hex && count > 0);
                match code.and_then(char::from_u32) {
                    Some(c) => out.push(c),
                    None => return Err(format!("a bad escape: \\{escape}{digits}")),
                }
                chars.nth(count - 1);
            }
        }
    }
    Ok(out)
}
