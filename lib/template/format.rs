//! `text % values` with `%s`, and `text.format(...)` with `{}`: no chat template that we know uses more (`used.txt`).

use crate::error::{Result, fault, unused};
use crate::run::Run;
use crate::text::escaped;
use crate::value::Value;

/// Returns `format % value`; with `is_markup`, values that are not markup are escaped.
pub fn percent(run: &mut Run<'_>, format: &str, value: &Value, is_markup: bool) -> Result<Value> {
    let (mut out, mut rest, mut used) = (String::new(), format, 0);
    while let Some((before, after)) = rest.split_once('%') {
        run.append_text(&mut out, before)?;
        match after.chars().next() {
            Some('%') => out.push('%'),
            Some('s') => {
                let item = match value {
                    Value::Tuple(items) => items.get(used),
                    single => Some(single).filter(|_| used == 0),
                };
                let Some(item) = item else {
                    return fault("not enough arguments for format string");
                };
                append(run, &mut out, item, is_markup)?;
                used += 1;
            }
            Some(_) => return unused("a format with % but %s"),
            None => return fault("incomplete format"),
        }
        rest = &after[1..];
    }
    run.append_text(&mut out, rest)?;
    let is_left_over = match value {
        Value::Tuple(items) => used < items.len(),
        Value::Dict(_) | Value::List(_) | Value::Undefined(_) | Value::Range(_) => false,
        _ => used == 0,
    };
    if is_left_over {
        return fault("not all arguments converted during string formatting");
    }
    run.text(out)
}

/// Returns `format.format(*list)`; with `is_markup`, values that are not markup are escaped.
pub fn braces(run: &mut Run<'_>, format: &str, list: &[Value], is_markup: bool) -> Result<String> {
    let (mut out, mut rest, mut values) = (String::new(), format, list.iter());
    while let Some(at) = rest.find(['{', '}']) {
        run.append_text(&mut out, &rest[..at])?;
        let (brace, after) = rest[at..].split_at(1);
        if after.starts_with(brace) {
            out.push_str(brace);
        } else if brace == "}" {
            return fault("Single '}' encountered in format string");
        } else if after.starts_with('}') {
            let Some(value) = values.next() else {
                return fault("Replacement index out of range for positional args tuple");
            };
            append(run, &mut out, value, is_markup)?;
        } else {
            return unused("a field of str.format but {}");
        }
        rest = &after[1..];
    }
    run.append_text(&mut out, rest)?;
    Ok(out)
}

fn append(run: &mut Run<'_>, out: &mut String, value: &Value, is_markup: bool) -> Result<()> {
    let text = run.printed(value)?;
    match is_markup && !matches!(value, Value::Markup(_)) {
        true => run.append_text(out, &escaped(&text)),
        false => run.append_text(out, &text),
    }
}
