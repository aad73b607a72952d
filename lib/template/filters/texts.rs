//! Filters that return texts.

use crate::error::{Result, fault};
use crate::methods::{self, marked};
use crate::run::Run;
use crate::run::arguments::{CallArguments, index};
use crate::text::{escaped, lines};
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
