//! `text % values`.

use num_bigint::BigInt;

use super::number;
use crate::error::{Result, fault};
use crate::run::Run;
use crate::text::{byte_of, escaped, length};
use crate::value::number::{Number, from_float};
use crate::value::{Value, print};

#[derive(Default)]
struct Spec {
    is_left: bool,
    is_signed: bool,
    is_spaced: bool,
    is_alternate: bool,
    is_zero: bool,
    width: usize,
    precision: Option<usize>,
}

/// The values to format, and how many are used.
struct Values<'v> {
    value: &'v Value,
    next: usize,
}

impl<'v> Values<'v> {
    fn take(&mut self) -> Result<&'v Value> {
        let value = match self.value {
            Value::Tuple(items) => items.get(self.next),
            other if self.next == 0 => Some(other),
            _ => None,
        };
        self.next += 1;
        value.map_or_else(|| fault("not enough arguments for format string"), Ok)
    }
}

/// Returns `format % value`; with `is_markup`, values that are not markup are escaped.
pub fn percent(run: &mut Run<'_>, format: &str, value: &Value, is_markup: bool) -> Result<Value> {
    let mut out = String::new();
    let mut values = Values { value, next: 0 };
    let mut is_named = false;
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut spec = Spec::default();
        let mut named = None;
        if chars.next_if_eq(&'(').is_some() {
            let mut depth = 1;
            let mut key = String::new();
            for c in chars.by_ref() {
                depth += i32::from(c == '(') - i32::from(c == ')');
                if depth == 0 {
                    break;
                }
                key.push(c);
            }
            if depth > 0 {
                return fault("incomplete format key");
            }
            let Value::Dict(dict) = value else { return fault("format requires a mapping") };
            match dict.get_text(&key) {
                Some(value) => named = Some(value),
                None => return fault(format!("no key '{key}'")),
            }
            is_named = true;
        }
        while let Some(flag) = chars.next_if(|c| "-+ #0".contains(*c)) {
            match flag {
                '-' => spec.is_left = true,
                '+' => spec.is_signed = true,
                ' ' => spec.is_spaced = true,
                '#' => spec.is_alternate = true,
                _ => spec.is_zero = true,
            }
        }
        let mut count = |values: &mut Values<'_>| -> Result<Option<i64>> {
            if chars.next_if_eq(&'*').is_some() {
                return match values.take()? {
                    Value::Int(value) => Ok(Some(*value)),
                    Value::Bool(value) => Ok(Some(i64::from(*value))),
                    _ => fault("* wants int"),
                };
            }
            let mut number: Option<i64> = None;
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                let digit = i64::from(digit.to_digit(10).unwrap_or(0));
                number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(digit));
            }
            Ok(number)
        };
        if let Some(width) = count(&mut values)? {
            spec.is_left |= width < 0;
            spec.width = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX);
        }
        if chars.next_if_eq(&'.').is_some() {
            let mut count = |values: &mut Values<'_>| -> Result<i64> {
                if chars.next_if_eq(&'*').is_some() {
                    return match values.take()? {
                        Value::Int(value) => Ok((*value).max(0)),
                        _ => fault("* wants int"),
                    };
                }
                let mut number = 0i64;
                while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                    let digit = i64::from(digit.to_digit(10).unwrap_or(0));
                    number = number.saturating_mul(10).saturating_add(digit);
                }
                Ok(number)
            };
            spec.precision = usize::try_from(count(&mut values)?).ok();
        }
        chars.next_if(|c| "hlL".contains(*c));
        let Some(form) = chars.next() else { return fault("incomplete format") };
        if form == '%' {
            out.push('%');
            continue;
        }
        let item = match named {
            Some(value) => value,
            None => values.take()?,
        };
        run.charge(spec.width.saturating_add(spec.precision.unwrap_or(0)))?;
        let before = out.len();
        one(run, &mut out, &spec, form, item, is_markup)?;
        run.charge(out.len() - before + 16)?;
    }
    let is_left_over = match value {
        Value::Tuple(items) => values.next < items.len(),
        Value::Dict(_) | Value::List(_) | Value::Undefined(_) | Value::Range(_) => false,
        _ => values.next == 0 && !is_named,
    };
    if is_left_over {
        return fault("not all arguments converted during string formatting");
    }
    run.text(out)
}

fn one(
    run: &mut Run<'_>,
    out: &mut String,
    spec: &Spec,
    form: char,
    value: &Value,
    is_markup: bool,
) -> Result<()> {
    let (sign, prefix, digits) = match form {
        's' | 'r' | 'a' => {
            let text = match (form, value) {
                ('s', Value::Markup(text)) => text.to_string(),
                ('s', value) => run.printed(value)?,
                (_, value) => run.repr(value)?,
            };
            let text = if form == 'a' { ascii(&text) } else { text };
            let is_escaped = is_markup && !matches!((form, value), ('s', Value::Markup(_)));
            let text = if is_escaped { escaped(&text) } else { text };
            let end = byte_of(&text, spec.precision.unwrap_or(usize::MAX));
            pad(out, spec, "", "", &text[..end], false);
            return Ok(());
        }
        'c' => {
            let c = match value {
                Value::Int(code) => u32::try_from(*code).ok().and_then(char::from_u32),
                other => match other.as_text() {
                    Some(text) if length(text) == 1 => text.chars().next(),
                    _ => return fault("%c requires int or char"),
                },
            };
            let Some(c) = c else { return fault("%c arg not in range(0x110000)") };
            pad(out, spec, "", "", c.encode_utf8(&mut [0; 4]), false);
            return Ok(());
        }
        'd' | 'i' | 'u' | 'o' | 'x' | 'X' => {
            let whole = match (form, value, Number::of(value)) {
                (_, _, Some(Number::Int(value))) => BigInt::from(value),
                (_, _, Some(Number::Big(value))) => value.into_owned(),
                ('d' | 'i' | 'u', Value::Float(value), _) => match from_float(value.trunc()) {
                    Some(value) => value,
                    None => return fault("cannot convert float to integer"),
                },
                (_, Value::Undefined(missing), _) => return fault(missing.message()),
                _ => {
                    return fault(format!(
                        "%{form} format: a real number is required, not {}",
                        value.type_name()
                    ));
                }
            };
            let magnitude = whole.magnitude();
            let (prefix, digits) = match form {
                'o' => ("0o", magnitude.to_str_radix(8)),
                'x' => ("0x", magnitude.to_str_radix(16)),
                'X' => ("0X", magnitude.to_str_radix(16).to_uppercase()),
                _ => ("", print::big(&BigInt::from(magnitude.clone()))?),
            };
            let zeros = spec.precision.unwrap_or(0).saturating_sub(digits.len());
            let prefix = if spec.is_alternate { prefix } else { "" };
            (whole.sign() == num_bigint::Sign::Minus, prefix, "0".repeat(zeros) + &digits)
        }
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
            let float = match (value, Number::of(value)) {
                (_, Some(number)) => number.float()?,
                (Value::Undefined(missing), _) => return fault(missing.message()),
                _ => return fault(format!("must be real number, not {}", value.type_name())),
            };
            let digits = number::float(float, form, spec.precision, spec.is_alternate)?;
            (float.is_sign_negative() && !float.is_nan(), "", digits)
        }
        other => return fault(format!("unsupported format character '{other}'")),
    };
    let sign = match sign {
        true => "-",
        false if spec.is_signed => "+",
        false if spec.is_spaced => " ",
        false => "",
    };
    pad(out, spec, sign, prefix, &digits, true);
    Ok(())
}

fn pad(out: &mut String, spec: &Spec, sign: &str, prefix: &str, digits: &str, is_number: bool) {
    let count = sign.len() + prefix.len() + length(digits);
    let missing = spec.width.saturating_sub(count);
    let is_zero = spec.is_zero && is_number && !spec.is_left;
    if !spec.is_left && !is_zero {
        out.push_str(&" ".repeat(missing));
    }
    out.push_str(sign);
    out.push_str(prefix);
    if is_zero {
        out.push_str(&"0".repeat(missing));
    }
    out.push_str(digits);
    if spec.is_left {
        out.push_str(&" ".repeat(missing));
    }
}

/// Escapes what is not ASCII in the result of `repr`, as `ascii` does.
pub fn ascii(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match u32::from(c) {
            0..=0x7f => out.push(c),
            code @ 0x80..=0xff => out.push_str(&format!("\\x{code:02x}")),
            code @ 0x100..=0xffff => out.push_str(&format!("\\u{code:04x}")),
            code => out.push_str(&format!("\\U{code:08x}")),
        }
    }
    out
}
