//! Filters that return texts.

use crate::error::{Result, fault};
use crate::methods::{self, marked};
use crate::run::Run;
use crate::run::arguments::{CallArguments, index, text as text_of};
use crate::text::{byte_of, escaped, length, lines};
use crate::value::Value;

/// `soft_str(value)`: returns a text unchanged, and `str` of other values.
fn soft(run: &mut Run<'_>, value: Value) -> Result<Value> {
    if value.as_text().is_some() { Ok(value) } else { run.str(&value) }
}

fn method(run: &mut Run<'_>, value: Value, name: &str, given: CallArguments) -> Result<Value> {
    let value = soft(run, value)?;
    methods::call(run, &value, name, given)
}

fn alone(run: &mut Run<'_>, value: Value, name: &str, given: CallArguments) -> Result<Value> {
    given.positional::<0>(name, 0)?;
    method(run, value, name, CallArguments::default())
}

pub fn upper(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    alone(run, value, "upper", given)
}

pub fn lower(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    alone(run, value, "lower", given)
}

pub fn capitalize(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    alone(run, value, "capitalize", given)
}

pub fn string(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    given.positional::<0>("string", 0)?;
    soft(run, value)
}

pub fn safe(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    given.positional::<0>("safe", 0)?;
    soft(run, value).map(marked)
}

pub fn escape(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    given.positional::<0>("escape", 0)?;
    if matches!(value, Value::Markup(_)) {
        return Ok(value);
    }
    force_escape(run, value, CallArguments::default())
}

pub fn force_escape(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    given.positional::<0>("forceescape", 0)?;
    let text = run.printed(&value)?;
    run.text(escaped(&text)).map(marked)
}

pub fn trim(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let [chars] = given.bind("trim", ["chars"], 0)?;
    method(
        run,
        value,
        "strip",
        CallArguments { list: chars.into_iter().collect(), ..CallArguments::default() },
    )
}

pub fn center(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let [width] = given.bind("center", ["width"], 0)?;
    let list = vec![width.unwrap_or(Value::Int(80))];
    method(run, value, "center", CallArguments { list, ..CallArguments::default() })
}

pub fn replace(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let [old, new, count] = given.bind("replace", ["old", "new", "count"], 2)?;
    let text = run.printed(&value)?;
    let old = run.printed(&old.unwrap_or_default())?;
    let new = run.printed(&new.unwrap_or_default())?;
    let count = match count {
        None | Some(Value::None) => -1,
        Some(count) => index(&count)?,
    };
    let text = methods::replaced(run, &text, &old, &new, count)?;
    run.text(text)
}

pub fn title(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    given.positional::<0>("title", 0)?;
    let text = soft(run, value)?;
    let is_between = |c: char| crate::text::is_space(c) || "-({[<".contains(c);
    let mut out = String::new();
    for word in text.as_text().unwrap_or_default().split_inclusive(is_between) {
        let mut rest = word.chars();
        out.extend(rest.next().into_iter().flat_map(char::to_uppercase));
        out.push_str(&rest.as_str().to_lowercase());
    }
    run.text(out)
}

pub fn format(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    if !given.list.is_empty() && !given.named.is_empty() {
        return fault("can't handle positional and keyword arguments at the same time");
    }
    let value = soft(run, value)?;
    let arguments = match given.named.is_empty() {
        true => Value::tuple_of(given.list)?,
        false => Value::dict(given.named).map_err(Box::new)?,
    };
    run.binary(crate::value::number::Operator::Modulo, &value, &arguments)
}

pub fn indent(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let [width, first, blank] = given.bind("indent", ["width", "first", "blank"], 0)?;
    let is = |value: Option<Value>| value.is_some_and(|value| value.is_true());
    let (first, blank) = (is(first), is(blank));
    let indention = match width {
        None => "    ".into(),
        Some(width) => match width.as_text() {
            Some(text) => text.to_string(),
            None => {
                let width = usize::try_from(index(&width)?).unwrap_or(0);
                run.charge(width)?;
                " ".repeat(width)
            }
        },
    };
    let Some(text) = value.as_text() else {
        return match &value {
            Value::Undefined(missing) => fault(missing.message()),
            other => fault(format!("can only concatenate str, not {}", other.type_name())),
        };
    };
    let text = format!("{text}\n");
    let lines = lines(&text, false);
    run.charge(lines.len().saturating_mul(indention.len()).saturating_add(text.len()))?;
    let mut out = String::new();
    for (place, line) in lines.iter().enumerate() {
        out.push_str(if place > 0 { "\n" } else { "" });
        let is_indented = if place == 0 { first } else { blank || !line.is_empty() };
        out.push_str(if is_indented { &indention } else { "" });
        out.push_str(line);
    }
    run.text(out).map(|text| if matches!(value, Value::Markup(_)) { marked(text) } else { text })
}

pub fn truncate(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let names = ["length", "killwords", "end", "leeway"];
    let [most, kills, end, leeway] = given.bind("truncate", names, 0)?;
    let most = most.map_or(Ok(255), |most| index(&most))?;
    let leeway = match leeway {
        None | Some(Value::None) => 5,
        Some(leeway) => index(&leeway)?,
    };
    let end = end.unwrap_or_else(|| Value::text("..."));
    let end = text_of(&end)?;
    let room = most.saturating_sub(length(end) as i64);
    if room < 0 {
        return fault(format!("expected length >= {}, got {most}", length(end)));
    }
    if leeway < 0 {
        return fault(format!("expected leeway >= 0, got {leeway}"));
    }
    if value.length()? as i64 <= most.saturating_add(leeway) {
        return Ok(value);
    }
    let text = text_of(&value)?;
    let part = &text[..byte_of(text, room as usize)];
    let part = match kills.is_some_and(|kills| kills.is_true()) {
        true => part,
        false => part.rfind(' ').map_or(part, |at| &part[..at]),
    };
    run.text(format!("{part}{end}"))
}

pub fn word_count(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    given.positional::<0>("wordcount", 0)?;
    let text = soft(run, value)?;
    let text = text.as_text().unwrap_or_default();
    run.look_through(text)?;
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    Ok(Value::from(text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).count()))
}

fn quoted_for_url(text: &str, is_query: bool) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => {
                out.push(char::from(byte));
            }
            b'/' if !is_query => out.push('/'),
            b' ' if is_query => out.push('+'),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

pub fn url_encode(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    given.positional::<0>("urlencode", 0)?;
    let pairs = match &value {
        Value::Dict(dict) => dict.entries().to_vec(),
        other if other.as_text().is_none() && run.iter(other).is_ok() => {
            let mut pairs = Vec::new();
            for pair in run.collect(other)? {
                match <[Value; 2]>::try_from(run.collect(&pair)?) {
                    Ok([key, value]) => pairs.push((key, value)),
                    Err(_) => return fault("a pair is wanted"),
                }
            }
            pairs
        }
        other => {
            let text = run.printed(other)?;
            return run.text(quoted_for_url(&text, false));
        }
    };
    let mut out = String::new();
    for (place, (key, value)) in pairs.iter().enumerate() {
        out.push_str(if place > 0 { "&" } else { "" });
        out.push_str(&quoted_for_url(&run.printed(key)?, true));
        out.push('=');
        out.push_str(&quoted_for_url(&run.printed(value)?, true));
    }
    run.text(out)
}

pub fn xml_attributes(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let [space] = given.bind("xmlattr", ["autospace"], 0)?;
    let Value::Dict(dict) = &value else { return fault("xmlattr wants a mapping") };
    let mut out = String::new();
    for (key, value) in dict.entries() {
        if matches!(value, Value::None | Value::Undefined(_)) {
            continue;
        }
        let key = text_of(key)?;
        if key.contains(|c: char| c.is_ascii_whitespace() || "/>=\x0b".contains(c)) {
            return fault(format!("Invalid character in attribute name: '{key}'"));
        }
        let value = match value {
            Value::Markup(text) => text.to_string(),
            other => escaped(&run.printed(other)?),
        };
        out.push_str(if out.is_empty() { "" } else { " " });
        out.push_str(&format!("{}=\"{value}\"", escaped(key)));
    }
    let has_space = space.is_none_or(|space| space.is_true()) && !out.is_empty();
    run.text(if has_space { format!(" {out}") } else { out })
}
