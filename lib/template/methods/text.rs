//! The methods of `str`. Methods of markup escape what they add, and return markup.

use std::sync::Arc;

use super::marked;
use crate::error::{Result, fault, unused};
use crate::format;
use crate::run::Run;
use crate::run::arguments::{CallArguments, count, index, text as text_of};
use crate::text::{StripSet, byte_of, capitalized, escaped, is_space, length, lines, title};
use crate::value::Value;

/// Calls a method of a text.
pub fn call(
    run: &mut Run<'_>,
    text: &Arc<str>,
    is_markup: bool,
    name: &str,
    given: CallArguments,
) -> Result<Value> {
    let mark = |value: Value| if is_markup { marked(value) } else { value };
    run.look_through(text)?;
    let made: String = match name {
        "lower" | "upper" | "title" | "capitalize" => {
            given.positional::<0>(name, 0)?;
            match name {
                "lower" => text.to_lowercase(),
                "upper" => text.to_uppercase(),
                "title" => title(text),
                _ => capitalized(text),
            }
        }
        "strip" | "lstrip" | "rstrip" => {
            let [chars] = given.positional(name, 0)?;
            let chars = chars.filter(|chars| *chars != Value::None);
            let stripped = StripSet(chars.as_ref().map(text_of).transpose()?);
            let part = match name {
                "strip" => stripped.both(text),
                "lstrip" => stripped.start(text),
                _ => stripped.end(text),
            };
            if part.len() == text.len() {
                return Ok(mark(Value::Text(text.clone())));
            }
            let made: Arc<str> = part.into();
            run.note_part(&made, text, part.as_ptr().addr() - text.as_ptr().addr());
            return run.text(made).map(mark);
        }
        "startswith" | "endswith" => return starts_or_ends(text, name, given),
        "split" | "rsplit" => {
            let parts = split(text, name, given)?;
            return list_of(run, parts, is_markup);
        }
        "splitlines" => {
            let [keeps] = given.bind(name, ["keepends"], 0)?;
            // A C int until Python 3.11; later ones take values of every type.
            let keeps = keeps.map_or(Ok(0), |keeps| count(&keeps))?;
            if i32::try_from(keeps).is_err() {
                return fault("Python int too large to convert to C int");
            }
            let parts = lines(text, keeps != 0);
            return list_of(run, parts, is_markup);
        }
        "partition" | "rpartition" => {
            let [separator] = given.positional(name, 1)?;
            let separator = separator.unwrap_or_default();
            let separator = text_of(&separator)?;
            if separator.is_empty() {
                return fault("empty separator");
            }
            let found =
                if name == "partition" { text.find(separator) } else { text.rfind(separator) };
            let parts = match found {
                Some(at) => [&text[..at], separator, &text[at + separator.len()..]],
                None if name == "partition" => [text, "", ""],
                None => ["", "", text],
            };
            return Value::tuple_of(parts.iter().map(|part| mark(Value::text(part))).collect());
        }
        "join" => {
            let [items] = given.positional(name, 1)?;
            let mut made = String::new();
            let items = run.collect(&items.unwrap_or_default())?;
            for (place, item) in items.iter().enumerate() {
                run.append_text(&mut made, if place > 0 { text } else { "" })?;
                match item {
                    Value::Text(item) if is_markup => {
                        run.append_text(&mut made, &escaped(item))?;
                    }
                    Value::Text(item) | Value::Markup(item) => run.append_text(&mut made, item)?,
                    other if is_markup => {
                        let item = escaped(&run.printed(other)?);
                        run.append_text(&mut made, &item)?;
                    }
                    other => {
                        return fault(format!(
                            "sequence item {place}: expected str instance, {} found",
                            other.type_name()
                        ));
                    }
                }
            }
            return Ok(mark(Value::from(made)));
        }
        "replace" => {
            let [old, new, most] = given.positional(name, 2)?;
            let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
            let most = most.map_or(Ok(-1), |most| count(&most))?;
            let new = text_of(&new)?;
            let escaped_new = escaped(new);
            let new = if is_markup { &escaped_new } else { new };
            replaced(run, text, text_of(&old)?, new, most)?
        }
        "find" | "rfind" | "index" | "rindex" | "count" => return found(text, name, given),
        "removeprefix" | "removesuffix" => {
            let [part] = given.positional(name, 1)?;
            let part = part.unwrap_or_default();
            let part = text_of(&part)?;
            let rest = match name {
                "removeprefix" => text.strip_prefix(part),
                _ => text.strip_suffix(part),
            };
            rest.unwrap_or(text).into()
        }
        "format" if given.named.is_empty() => format::braces(run, text, &given.list, is_markup)?,
        _ => return unused(&format!("str.{name}")),
    };
    run.text(made).map(mark)
}

fn list_of(run: &mut Run<'_>, parts: Vec<&str>, is_markup: bool) -> Result<Value> {
    let bytes = parts.iter().map(|part| part.len()).sum();
    run.charge(bytes)?;
    let text = |part: &str| if is_markup { marked(Value::text(part)) } else { Value::text(part) };
    let items = parts.into_iter().map(text).collect();
    run.list(items)
}

/// The part of a text between two optional positions, and where it begins, in characters.
pub struct Find<'t> {
    pub part: &'t str,
    pub start: usize,
}

impl<'t> Find<'t> {
    /// Returns none if the positions are beyond the text.
    fn new(text: &'t str, start: Option<Value>, stop: Option<Value>) -> Result<Option<Find<'t>>> {
        let given = |value: &Option<Value>| value.as_ref().is_some_and(|v| *v != Value::None);
        if !given(&start) && !given(&stop) {
            return Ok(Some(Find { part: text, start: 0 }));
        }
        let count = length(text) as i64;
        let bound = |value: Option<Value>, default: i64| -> Result<i64> {
            match value {
                None | Some(Value::None) => Ok(default),
                Some(value) => {
                    let at = index(&value)?;
                    Ok(if at < 0 { at.saturating_add(count).max(0) } else { at })
                }
            }
        };
        let start = bound(start, 0)?;
        let stop = bound(stop, count)?.min(count);
        if start > count || start > stop {
            return Ok(None);
        }
        let part = &text[byte_of(text, start as usize)..byte_of(text, stop as usize)];
        Ok(Some(Find { part, start: start as usize }))
    }
}

fn starts_or_ends(text: &str, name: &str, given: CallArguments) -> Result<Value> {
    let [parts, start, stop] = given.positional(name, 1)?;
    let parts = parts.unwrap_or_default();
    let part = Find::new(text, start, stop)?.map(|find| find.part);
    let has = |other: &Value| match other.as_text() {
        Some(other) if name == "startswith" => Ok(part.is_some_and(|part| part.starts_with(other))),
        Some(other) => Ok(part.is_some_and(|part| part.ends_with(other))),
        None => fault(format!(
            "{name} first arg must be str or a tuple of str, not {}",
            other.type_name()
        )),
    };
    match &parts {
        Value::Tuple(parts) => {
            for part in parts.iter() {
                if has(part)? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        part => has(part).map(Value::Bool),
    }
}

fn found(text: &str, name: &str, given: CallArguments) -> Result<Value> {
    let [part, start, stop] = given.positional(name, 1)?;
    let part = part.unwrap_or_default();
    let part = text_of(&part)?;
    let find = Find::new(text, start, stop)?;
    if name == "count" {
        let count = match find {
            None => 0,
            Some(find) if part.is_empty() => length(find.part) + 1,
            Some(find) => find.part.matches(part).count(),
        };
        return Ok(Value::from(count));
    }
    let at = find.and_then(|find| {
        let at = if name.starts_with('r') { find.part.rfind(part) } else { find.part.find(part) };
        Some(find.start + length(&find.part[..at?]))
    });
    match at {
        Some(at) => Ok(Value::from(at)),
        None if name.ends_with("find") => Ok(Value::Int(-1)),
        None => fault("substring not found"),
    }
}

fn split<'t>(text: &'t str, name: &str, given: CallArguments) -> Result<Vec<&'t str>> {
    let [separator, most] = given.bind(name, ["sep", "maxsplit"], 0)?;
    let most = most.map_or(Ok(-1), |most| count(&most))?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let separator = separator.filter(|separator| *separator != Value::None);
    if let Some(separator) = &separator {
        let separator = text_of(separator)?;
        if separator.is_empty() {
            return fault("empty separator");
        }
        let most_parts = most.saturating_add(1);
        if name == "split" {
            return Ok(text.splitn(most_parts, separator).collect());
        }
        let mut parts: Vec<&str> = text.rsplitn(most_parts, separator).collect();
        parts.reverse();
        return Ok(parts);
    }
    let mut parts = Vec::new();
    if name == "split" {
        let mut rest = text.trim_start_matches(is_space);
        while !rest.is_empty() {
            if parts.len() == most {
                // (The rest keeps its spaces at the end.)
                parts.push(rest);
                break;
            }
            let end = rest.find(is_space).unwrap_or(rest.len());
            parts.push(&rest[..end]);
            rest = rest[end..].trim_start_matches(is_space);
        }
    } else {
        let mut rest = text.trim_end_matches(is_space);
        while !rest.is_empty() {
            if parts.len() == most {
                parts.push(rest);
                break;
            }
            let start = rest
                .char_indices()
                .rev()
                .find(|(_, c)| is_space(*c))
                .map_or(0, |(at, c)| at + c.len_utf8());
            parts.push(&rest[start..]);
            rest = rest[..start].trim_end_matches(is_space);
        }
        parts.reverse();
    }
    Ok(parts)
}

/// `text.replace(old, new, count)`; a count below 0 replaces all.
pub fn replaced(run: &mut Run<'_>, text: &str, old: &str, new: &str, count: i64) -> Result<String> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let places = match old.is_empty() {
        true => length(text) + 1,
        false => text.matches(old).count(),
    };
    run.charge(places.min(count).saturating_mul(new.len()).saturating_add(text.len()))?;
    Ok(match count {
        usize::MAX => text.replace(old, new),
        count => text.replacen(old, new, count),
    })
}
