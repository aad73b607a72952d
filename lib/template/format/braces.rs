//! `text.format(...)`, in which jinja2's sandbox looks up attributes.

use std::sync::Arc;

use num_bigint::BigInt;

use super::number;
use super::percent::ascii;
use crate::error::{Result, fault};
use crate::run::Run;
use crate::text::{byte_of, escaped, length};
use crate::value::number::Number;
use crate::value::{Value, print};

struct Formatter {
    list: Vec<Value>,
    named: Vec<(Arc<str>, Value)>,
    /// The number of the next field without a number; none after a field with a number.
    next: Option<usize>,
    is_markup: bool,
}

/// Returns `format.format(*list, **named)`.
pub fn braces(
    run: &mut Run<'_>,
    format: &str,
    list: Vec<Value>,
    named: Vec<(Arc<str>, Value)>,
    is_markup: bool,
) -> Result<String> {
    Formatter { list, named, next: Some(0), is_markup }.format(run, format, 2)
}

impl Formatter {
    fn format(&mut self, run: &mut Run<'_>, format: &str, depth: usize) -> Result<String> {
        if depth == 0 {
            return fault("Max string recursion exceeded");
        }
        let mut out = String::new();
        let mut rest = format;
        while let Some(at) = rest.find(['{', '}']) {
            out.push_str(&rest[..at]);
            let brace = &rest[at..at + 1];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                out.push_str(brace);
                rest = after;
                continue;
            }
            if brace == "}" {
                return fault("Single '}' encountered in format string");
            }
            let mut level = 1;
            let end = rest.char_indices().find(|(_, c)| {
                level += i32::from(*c == '{') - i32::from(*c == '}');
                level == 0
            });
            let Some((end, _)) = end else {
                return fault("expected '}' before end of string");
            };
            let field = self.field(run, &rest[..end], depth)?;
            out.push_str(&field);
            run.charge(field.len() + 16)?;
            rest = &rest[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }

    fn field(&mut self, run: &mut Run<'_>, field: &str, depth: usize) -> Result<String> {
        // Within brackets, `!` and `:` do not end the name.
        let mut is_inside = false;
        let end = field.char_indices().find(|(_, c)| {
            is_inside = (is_inside || *c == '[') && *c != ']';
            !is_inside && matches!(c, '!' | ':')
        });
        let (name, after) = field.split_at(end.map_or(field.len(), |(at, _)| at));
        let (conversion, spec) = match after.strip_prefix('!') {
            Some(after) => {
                let mut chars = after.chars();
                let conversion = chars.next();
                match (conversion, chars.as_str().strip_prefix(':')) {
                    (None, _) => {
                        return fault("end of string while looking for conversion specifier");
                    }
                    (_, Some(spec)) => (conversion, spec),
                    (_, None) if chars.as_str().is_empty() => (conversion, ""),
                    _ => return fault("expected ':' after conversion specifier"),
                }
            }
            None => (None, after.strip_prefix(':').unwrap_or_default()),
        };
        let value = self.lookup(run, name)?;
        let value = match conversion {
            None => value,
            Some('s') => run.str(&value)?,
            Some('r') => Value::from(run.repr(&value)?),
            Some('a') => Value::from(ascii(&run.repr(&value)?)),
            Some(other) => return fault(format!("Unknown conversion specifier {other}")),
        };
        let spec = self.format(run, spec, depth - 1 + usize::from(spec.is_empty()))?;
        let is_safe = matches!(value, Value::Markup(_));
        let text = formatted(run, &value, &spec)?;
        Ok(if self.is_markup && !is_safe { escaped(&text) } else { text })
    }

    fn lookup(&mut self, run: &mut Run<'_>, name: &str) -> Result<Value> {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (first, mut rest) = name.split_at(end);
        let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
        let mut value = if first.is_empty() || is_number {
            let place = match (is_number, self.next) {
                (true, Some(0) | None) => {
                    self.next = None;
                    first.parse().unwrap_or(usize::MAX)
                }
                (false, Some(next)) => {
                    self.next = Some(next + 1);
                    next
                }
                _ => {
                    return fault(
                        "cannot switch between manual field specification and automatic field numbering",
                    );
                }
            };
            match self.list.get(place) {
                Some(value) => value.clone(),
                None => return fault("Replacement index out of range for positional args tuple"),
            }
        } else {
            match self.named.iter().find(|(other, _)| **other == *first) {
                Some((_, value)) => value.clone(),
                None => return fault(format!("no argument '{first}'")),
            }
        };
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                if end == 0 {
                    return fault("Empty attribute in format string");
                }
                value = run.attribute(&value, &after[..end].into())?;
                rest = &after[end..];
            } else if let Some(after) = rest.strip_prefix('[') {
                let Some(end) = after.find(']') else {
                    return fault("Missing ']' in format string");
                };
                let key = &after[..end];
                if key.is_empty() {
                    return fault("Empty attribute in format string");
                }
                let is_number = key.bytes().all(|byte| byte.is_ascii_digit());
                let key = match is_number {
                    true => Value::integer_of(key).unwrap_or_default(),
                    false => Value::text(key),
                };
                value = run.item(&value, &key)?;
                rest = &after[end + 1..];
            } else {
                return fault("Only '.' or '[' may follow ']' in format field specifier");
            }
        }
        Ok(value)
    }
}

#[derive(Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    is_alternate: bool,
    width: usize,
    group: Option<char>,
    precision: Option<usize>,
    form: Option<char>,
}

/// Takes a number from the start; none if there is no digit.
fn number_of(chars: &mut std::iter::Peekable<impl Iterator<Item = char>>) -> Option<usize> {
    let mut number: Option<usize> = None;
    while let Some(digit) = chars.next_if(char::is_ascii_digit) {
        let digit = digit.to_digit(10).unwrap_or(0) as usize;
        number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(digit));
    }
    number
}

fn spec_of(text: &str) -> Result<Spec> {
    let mut spec = Spec::default();
    let all: Vec<char> = text.chars().collect();
    let is_align = |c: Option<&char>| c.is_some_and(|c| "<>=^".contains(*c));
    let mut at = 0;
    if is_align(all.get(1)) {
        (spec.fill, spec.align, at) = (Some(all[0]), Some(all[1]), 2);
    } else if is_align(all.first()) {
        (spec.align, at) = (Some(all[0]), 1);
    }
    let mut chars = all[at..].iter().copied().peekable();
    spec.sign = chars.next_if(|c| "+- ".contains(*c));
    spec.is_alternate = chars.next_if_eq(&'#').is_some();
    if chars.next_if_eq(&'0').is_some() && spec.fill.is_none() {
        spec.fill = Some('0');
        spec.align = spec.align.or(Some('='));
    }
    spec.width = number_of(&mut chars).unwrap_or(0);
    spec.group = chars.next_if(|c| ",_".contains(*c));
    if chars.next_if_eq(&'.').is_some() {
        match number_of(&mut chars) {
            Some(precision) => spec.precision = Some(precision),
            None => return fault("Format specifier missing precision"),
        }
    }
    spec.form = chars.next();
    match chars.next() {
        Some(_) => fault("Invalid format specifier"),
        None => Ok(spec),
    }
}

/// `format(value, spec)`.
fn formatted(run: &mut Run<'_>, value: &Value, spec: &str) -> Result<String> {
    if spec.is_empty() {
        return run.printed(value);
    }
    let spec = spec_of(spec)?;
    run.charge(spec.width.saturating_add(spec.precision.unwrap_or(0).min(1000)).saturating_mul(4))?;
    match (value, Number::of(value)) {
        (Value::Text(text) | Value::Markup(text), _) => {
            if !matches!(spec.form, None | Some('s')) || spec.sign.is_some() || spec.group.is_some()
            {
                return fault("Unknown format code for object of type 'str'");
            }
            if spec.align == Some('=') && spec.fill != Some('0') || spec.is_alternate {
                return fault("'=' alignment not allowed in string format specifier");
            }
            let end = byte_of(text, spec.precision.unwrap_or(usize::MAX));
            let align = spec.align.filter(|align| *align != '=').unwrap_or('<');
            Ok(padded(&spec, align, "", &text[..end]))
        }
        (Value::Float(value), _) => float(&spec, *value),
        (_, Some(number)) => integer(&spec, &number),
        (other, _) => {
            fault(format!("unsupported format string passed to {}.__format__", other.type_name()))
        }
    }
}

fn float(spec: &Spec, value: f64) -> Result<String> {
    let is_negative = value.is_sign_negative() && !value.is_nan();
    let mut digits = match spec.form {
        None => number::plain(value, spec.precision),
        Some('n') => number::float(value, 'g', spec.precision, spec.is_alternate)?,
        Some(form @ ('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%')) => {
            number::float(value, form, spec.precision, spec.is_alternate)?
        }
        Some(form) => {
            return fault(format!("Unknown format code '{form}' for object of type 'float'"));
        }
    };
    if let Some(mark) = spec.group {
        let whole = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits = number::grouped(&digits[..whole], mark, 3) + &digits[whole..];
    }
    Ok(signed(spec, is_negative, "", &digits))
}

fn integer(spec: &Spec, value: &Number<'_>) -> Result<String> {
    if let Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') = spec.form {
        return float(spec, value.float()?);
    }
    if spec.precision.is_some() {
        return fault("Precision not allowed in integer format specifier");
    }
    let whole = match value {
        Number::Int(value) => BigInt::from(*value),
        Number::Big(value) => value.clone().into_owned(),
        Number::Float(_) => BigInt::ZERO,
    };
    let magnitude = whole.magnitude();
    let (prefix, digits, size) = match spec.form {
        None | Some('d' | 'n') => ("", print::big(&BigInt::from(magnitude.clone()))?, 3),
        Some('b') => ("0b", magnitude.to_str_radix(2), 4),
        Some('o') => ("0o", magnitude.to_str_radix(8), 4),
        Some('x') => ("0x", magnitude.to_str_radix(16), 4),
        Some('X') => ("0X", magnitude.to_str_radix(16).to_uppercase(), 4),
        Some('c') => match u32::try_from(&whole).ok().and_then(char::from_u32) {
            Some(c) => return Ok(padded(spec, spec.align.unwrap_or('<'), "", &c.to_string())),
            None => return fault("%c arg not in range(0x110000)"),
        },
        Some(form) => {
            return fault(format!("Unknown format code '{form}' for object of type 'int'"));
        }
    };
    let digits = spec.group.map_or(digits.clone(), |mark| number::grouped(&digits, mark, size));
    let prefix = if spec.is_alternate { prefix } else { "" };
    Ok(signed(spec, whole.sign() == num_bigint::Sign::Minus, prefix, &digits))
}

fn signed(spec: &Spec, is_negative: bool, prefix: &str, digits: &str) -> String {
    let sign = match (is_negative, spec.sign) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        _ => "",
    };
    padded(spec, spec.align.unwrap_or('>'), &format!("{sign}{prefix}"), digits)
}

fn padded(spec: &Spec, align: char, sign: &str, digits: &str) -> String {
    let missing = spec.width.saturating_sub(sign.len() + length(digits));
    let fill = |count: usize| String::from(spec.fill.unwrap_or(' ')).repeat(count);
    match align {
        '<' => format!("{sign}{digits}{}", fill(missing)),
        '^' => format!("{}{sign}{digits}{}", fill(missing / 2), fill(missing - missing / 2)),
        '=' => format!("{sign}{}{digits}", fill(missing)),
        _ => format!("{}{sign}{digits}", fill(missing)),
    }
}
