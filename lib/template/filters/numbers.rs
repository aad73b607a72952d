//! Filters that return numbers or format them.

use num_bigint::BigInt;

use crate::error::{Result, fault};
use crate::run::Run;
use crate::run::arguments::{CallArguments, index};
use crate::value::number::{Number, from_float};
use crate::value::{Value, integer};

/// `float(value)`; none if the value is no number.
fn float_of(value: &Value) -> Result<Option<f64>> {
    match value {
        Value::Undefined(missing) => fault(missing.message()),
        Value::Text(text) | Value::Markup(text) => Ok(parsed_float(text)),
        other => Number::of(other).map(|number| number.float()).transpose(),
    }
}

fn parsed_float(text: &str) -> Option<f64> {
    let text = crate::text::StripSet(None).both(text);
    let bytes = text.as_bytes();
    let is_between_digits = |at: usize| {
        at > 0
            && bytes[at - 1].is_ascii_digit()
            && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
    };
    if !bytes.iter().enumerate().all(|(at, byte)| *byte != b'_' || is_between_digits(at)) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// `int(text, base)`.
fn parsed_integer(text: &str, base: u32) -> Result<Option<Value>> {
    let text = crate::text::StripSet(None).both(text);
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => ("-", &text[1..]),
        Some(b'+') => ("", &text[1..]),
        _ => ("", text),
    };
    let prefix = digits.get(..2).map(str::to_ascii_lowercase);
    let prefixed = match prefix.as_deref() {
        Some("0x") => Some(16),
        Some("0o") => Some(8),
        Some("0b") => Some(2),
        _ => None,
    };
    let (base, digits, is_prefixed) = match (base, prefixed) {
        (0, Some(found)) => (found, &digits[2..], true),
        (base, Some(found)) if base == found => (base, &digits[2..], true),
        (0, None) => {
            let is_octal =
                digits.starts_with('0') && digits.bytes().any(|b| (b'1'..=b'9').contains(&b));
            if is_octal {
                return Ok(None);
            }
            (10, digits, false)
        }
        (base, _) => (base, digits, false),
    };
    if !(2..=36).contains(&base) {
        return Ok(None);
    }
    let digits = if is_prefixed { digits.strip_prefix('_').unwrap_or(digits) } else { digits };
    let bytes = digits.as_bytes();
    let is_digit = |byte: Option<&u8>| byte.is_some_and(|byte| char::from(*byte).is_digit(base));
    for (at, byte) in bytes.iter().enumerate() {
        let is_separator =
            *byte == b'_' && at > 0 && is_digit(bytes.get(at - 1)) && is_digit(bytes.get(at + 1));
        if !is_separator && !is_digit(Some(byte)) {
            return Ok(None);
        }
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    let plain = format!("{sign}{}", digits.replace('_', ""));
    if plain.len() > 4301 {
        return Ok(None);
    }
    Ok(BigInt::parse_bytes(plain.as_bytes(), base).map(integer))
}

pub fn int(_: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let [default, base] = given.bind("int", ["default", "base"], 0)?;
    let default = default.unwrap_or(Value::Int(0));
    // (A bad base has the same result as a bad number.)
    let base = base.map_or(Ok(10), |base| index(&base)).unwrap_or(99);
    let found = match &value {
        Value::Text(text) | Value::Markup(text) => {
            parsed_integer(text, u32::try_from(base).unwrap_or(99))?
        }
        Value::Bool(value) => Some(Value::Int(i64::from(*value))),
        Value::Int(_) | Value::Big(_) => Some(value.clone()),
        Value::Float(value) if value.is_infinite() => {
            return fault("cannot convert float infinity to integer");
        }
        Value::Float(value) => from_float(value.trunc()).map(integer),
        Value::Undefined(missing) => return fault(missing.message()),
        _ => None,
    };
    if let Some(found) = found {
        return Ok(found);
    }
    let float = float_of(&value)?.filter(|value| value.is_finite());
    Ok(float.and_then(|value| from_float(value.trunc())).map_or(default, integer))
}

pub fn float(_: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let [default] = given.bind("float", ["default"], 0)?;
    Ok(match float_of(&value)? {
        Some(value) => Value::Float(value),
        None => default.unwrap_or(Value::Float(0.0)),
    })
}
