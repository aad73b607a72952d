//! Filters that return numbers or format them.

use num_bigint::BigInt;

use crate::error::{Result, fault};
use crate::run::Run;
use crate::run::arguments::{CallArguments, index};
use crate::value::number::{self, Number, Operator, from_float};
use crate::value::{Value, integer};

pub fn abs(_: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    given.positional::<0>("abs", 0)?;
    match (&value, Number::of(&value)) {
        (Value::Float(value), _) => Ok(Value::Float(value.abs())),
        (_, Some(number)) => {
            let is_negative = number::order(&number, &Number::Int(0)).is_some_and(|o| o.is_lt());
            let operator = if is_negative { Operator::Subtract } else { Operator::Add };
            number::apply(operator, &Number::Int(0), &number)
        }
        _ => fault(format!("bad operand type for abs(): '{}'", value.type_name())),
    }
}

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

pub fn round(_: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let [precision, method] = given.bind("round", ["precision", "method"], 0)?;
    let method = method.unwrap_or_else(|| Value::text("common"));
    let precision = precision.unwrap_or(Value::Int(0));
    match method.as_text() {
        Some("common") => rounded(&value, &precision),
        Some(method @ ("ceil" | "floor")) => {
            let of = |value: &Value| match Number::of(value) {
                Some(_) => Ok(value.clone()),
                None => fault(format!("must be real number, not {}", value.type_name())),
            };
            let (value, precision) = (of(&value)?, of(&precision)?);
            let apply = |operator, a: &Value, b: &Value| match (Number::of(a), Number::of(b)) {
                (Some(a), Some(b)) => number::apply(operator, &a, &b),
                _ => fault("must be real number"),
            };
            let scale = apply(Operator::Power, &Value::Int(10), &precision)?;
            let scaled = match apply(Operator::Multiply, &value, &scale)? {
                Value::Float(value) => {
                    let whole = if method == "ceil" { value.ceil() } else { value.floor() };
                    match from_float(whole) {
                        Some(whole) => integer(whole),
                        None => return fault("cannot convert float to integer"),
                    }
                }
                other => other,
            };
            apply(Operator::Divide, &scaled, &scale)
        }
        _ => fault("method must be common, ceil or floor"),
    }
}

/// `round(value, precision)`, half to even.
fn rounded(value: &Value, precision: &Value) -> Result<Value> {
    let digits = match precision {
        Value::None => None,
        other => Some(index(other)?),
    };
    match (value, digits) {
        (Value::Float(value), None) => match from_float(value.round_ties_even()) {
            Some(whole) => Ok(integer(whole)),
            None => fault("cannot convert float to integer"),
        },
        (Value::Float(value), Some(digits)) => {
            if !value.is_finite() || digits > 323 {
                return Ok(Value::Float(*value));
            }
            if digits < -309 {
                return Ok(Value::Float(0.0f64.copysign(*value)));
            }
            let text = match usize::try_from(digits) {
                // (Rust rounds the exact decimal value, half to even, as CPython does.)
                Ok(digits) => format!("{value:.digits$}"),
                Err(_) => {
                    let scale = 10f64.powi(-digits as i32);
                    let whole = (value / scale).round_ties_even();
                    return Ok(Value::Float(whole * scale));
                }
            };
            Ok(Value::Float(text.parse().unwrap_or(*value)))
        }
        (value, None | Some(0..)) if Number::of(value).is_some() => {
            let number = Number::of(value).unwrap_or(Number::Int(0));
            number::apply(Operator::Add, &number, &Number::Int(0))
        }
        (value, Some(digits)) if Number::of(value).is_some() => {
            let power = BigInt::from(10).pow(digits.unsigned_abs().min(5000) as u32);
            let whole = match Number::of(value) {
                Some(Number::Int(value)) => BigInt::from(value),
                Some(Number::Big(value)) => value.into_owned(),
                _ => BigInt::ZERO,
            };
            let half = &power / 2;
            let mut quotient = &whole / &power;
            let mut rest = &whole % &power;
            if rest < BigInt::ZERO {
                quotient -= 1;
                rest += &power;
            }
            if rest > half || (rest == half && quotient.bit(0)) {
                quotient += 1;
            }
            Ok(integer(quotient * power))
        }
        (Value::Undefined(_), _) => fault("type Undefined doesn't define __round__ method"),
        (other, _) => fault(format!("type {} doesn't define __round__ method", other.type_name())),
    }
}

pub fn file_size(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let [binary] = given.bind("filesizeformat", ["binary"], 0)?;
    let Some(bytes) = float_of(&value)? else { return fault("could not convert to float") };
    let is_binary = binary.is_some_and(|binary| binary.is_true());
    let base: f64 = if is_binary { 1024.0 } else { 1000.0 };
    let text = if bytes == 1.0 {
        "1 Byte".into()
    } else if bytes < base {
        format!("{} Bytes", bytes.trunc())
    } else {
        let prefixes = ["k", "M", "G", "T", "P", "E", "Z", "Y"];
        let power = (1..8).find(|power| bytes < base.powi(power + 1)).unwrap_or(8);
        let prefix = prefixes[power as usize - 1];
        let prefix = if is_binary { format!("{}i", prefix.to_uppercase()) } else { prefix.into() };
        format!("{:.1} {prefix}B", base * bytes / base.powi(power + 1))
    };
    run.text(text)
}
