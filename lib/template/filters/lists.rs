//! Filters for lists and dicts. A filter that is a generator in jinja2 is lazy here, too.

use std::cmp::Ordering;
use std::sync::Arc;

use super::find;
use crate::error::{Result, fault};
use crate::run::Run;
use crate::run::arguments::{CallArguments, index};
use crate::run::iterate::{Source, Stage, attribute_parts, ignore_case};
use crate::run::object::{Generator, Object};
use crate::tests_of;
use crate::value::compare::{order, sorted};
use crate::value::{Value, View};

fn is(value: Option<Value>) -> bool {
    value.is_some_and(|value| value.is_true())
}

/// The argument `reverse` of `sorted`, which must be an integer.
fn is_reverse(value: Option<Value>) -> Result<bool> {
    Ok(value.map_or(Ok(0), |value| index(&value))? != 0)
}

pub fn length(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    given.positional::<0>("length", 0)?;
    run.length(&value).map(Value::from)
}

pub fn attr(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let [name] = given.bind("attr", ["name"], 1)?;
    let Some(Value::Text(name) | Value::Markup(name)) = name else {
        return fault("attribute name must be string");
    };
    if let Value::Undefined(missing) = &value {
        return fault(missing.message());
    }
    match run.own_attribute(&value, &name)? {
        Some(found) => Ok(found),
        None => Ok(Value::Undefined(crate::value::MissingValue {
            of: crate::value::MissingFrom::Type(value.kind()),
            name,
        })),
    }
}

pub fn list(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    given.positional::<0>("list", 0)?;
    let items = run.collect(&value)?;
    run.list(items)
}

pub fn first(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    given.positional::<0>("first", 0)?;
    let mut source = run.iter(&value)?;
    let first = run.next(&mut source)?;
    Ok(first.unwrap_or_else(|| Value::hint("No first item, sequence was empty.")))
}

pub fn last(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    given.positional::<0>("last", 0)?;
    if let Value::List(items) | Value::Tuple(items) = &value {
        let last = items.last().cloned();
        return Ok(last.unwrap_or_else(|| Value::hint("No last item, sequence was empty.")));
    }
    match run.reversed(&value)? {
        Some(items) => Ok(items
            .into_iter()
            .next()
            .unwrap_or_else(|| Value::hint("No last item, sequence was empty."))),
        None => fault(format!("'{}' object is not reversible", value.type_name())),
    }
}

pub fn reverse(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    given.positional::<0>("reverse", 0)?;
    if let Some(text) = value.as_text() {
        let text: String = text.chars().rev().collect();
        return run.text(text);
    }
    match run.reversed(&value)? {
        Some(items) => {
            let items = run.list(items)?;
            run.generator(&items, Stage::Plain)
        }
        None => {
            let mut items = match run.collect(&value) {
                Ok(items) => items,
                Err(_) => return fault("argument must be iterable"),
            };
            items.reverse();
            run.list(items)
        }
    }
}

pub fn items(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    given.positional::<0>("items", 0)?;
    let (source, stage) = match &value {
        Value::Undefined(_) => (Source::Empty, Stage::Plain),
        Value::Dict(dict) => (Source::View(View::Items, dict.clone(), 0), Stage::Plain),
        _ => (one(), Stage::Fault("Can only get item pairs from a mapping.".into())),
    };
    run.object(Object::Generator(Box::new(Generator { source, stage })))
}

/// A source of one item, for a generator that fails at its first item.
fn one() -> Source {
    Source::Range(Arc::new([0, 1, 1]), 0)
}

fn lazy_fault(run: &mut Run<'_>, cause: &str) -> Result<Value> {
    let stage = Stage::Fault(cause.into());
    run.object(Object::Generator(Box::new(Generator { source: one(), stage })))
}

fn empty(run: &mut Run<'_>) -> Result<Value> {
    let generator = Generator { source: Source::Empty, stage: Stage::Plain };
    run.object(Object::Generator(Box::new(generator)))
}

pub fn map(run: &mut Run<'_>, value: Value, mut given: CallArguments) -> Result<Value> {
    if !value.is_true() {
        return empty(run);
    }
    if run.iter(&value).is_err() {
        return lazy_fault(run, "the value is not iterable");
    }
    let place = given.named.iter().position(|(name, _)| **name == *"attribute");
    if let (true, Some(place)) = (given.list.is_empty(), place) {
        let (_, attribute) = given.named.remove(place);
        let default = given.named.iter().position(|(name, _)| **name == *"default");
        let default = default.map(|place| given.named.remove(place).1);
        if let Some((name, _)) = given.named.first() {
            return lazy_fault(run, &format!("Unexpected keyword argument '{name}'"));
        }
        let default = default.filter(|value| *value != Value::None);
        return run.generator(&value, Stage::Attribute(attribute_parts(&attribute), default));
    }
    if given.list.is_empty() {
        return lazy_fault(run, "map requires a filter argument");
    }
    let name = given.list.remove(0);
    match name.as_text().and_then(find) {
        Some(filter) => run.generator(&value, Stage::Filter(filter, given)),
        None => {
            let name = run.printed(&name)?;
            run.generator(&value, Stage::Fault(format!("No filter named '{name}'.")))
        }
    }
}

pub fn select(
    run: &mut Run<'_>,
    value: Value,
    mut given: CallArguments,
    of_attribute: bool,
    wanted: bool,
) -> Result<Value> {
    if !value.is_true() {
        return empty(run);
    }
    if run.iter(&value).is_err() {
        return lazy_fault(run, "the value is not iterable");
    }
    let attribute = match of_attribute {
        true if given.list.is_empty() => {
            return lazy_fault(run, "Missing parameter for attribute name");
        }
        true => Some(attribute_parts(&given.list.remove(0))),
        false => None,
    };
    let test = match given.list.is_empty() {
        true => None,
        false => {
            let name = given.list.remove(0);
            match name.as_text().and_then(tests_of::find) {
                Some(test) => Some((test, given)),
                None => {
                    let name = run.printed(&name)?;
                    return run.generator(&value, Stage::Fault(format!("No test named '{name}'.")));
                }
            }
        }
    };
    run.generator(&value, Stage::Select { attribute, test, wanted })
}

pub fn unique(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let [case, attribute] = given.bind("unique", ["case_sensitive", "attribute"], 0)?;
    let attribute = attribute_parts(&attribute.unwrap_or_default());
    if run.iter(&value).is_err() {
        return lazy_fault(run, "the value is not iterable");
    }
    let stage = Stage::Unique { attribute, is_case_sensitive: is(case), seen: Vec::new() };
    run.generator(&value, stage)
}

pub fn join(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let [between, attribute] = given.bind("join", ["d", "attribute"], 0)?;
    let between = run.printed(&between.unwrap_or_else(|| Value::text("")))?;
    let parts = attribute.filter(|attribute| *attribute != Value::None);
    let parts = parts.map(|attribute| attribute_parts(&attribute)).unwrap_or_default();
    let mut source = run.iter(&value)?;
    let mut text = String::new();
    let mut is_first = true;
    while let Some(item) = run.next(&mut source)? {
        let item = run.attribute_path(item, &parts, None)?;
        run.append_text(&mut text, if is_first { "" } else { &between })?;
        is_first = false;
        run.append(&mut text, &item)?;
        run.step(1)?;
    }
    Ok(Value::from(text))
}

/// The keys by which items are compared: the attribute, or the item itself.
fn keys(
    run: &mut Run<'_>,
    items: &[Value],
    attribute: Option<Value>,
    is_case_sensitive: bool,
    default: Option<Value>,
) -> Result<Vec<Value>> {
    let parts = attribute_parts(&attribute.unwrap_or_default());
    let mut keys = Vec::with_capacity(items.len());
    for item in items {
        let key = run.attribute_path(item.clone(), &parts, default.as_ref())?;
        run.step((key.weight() / 16) as usize)?;
        keys.push(if is_case_sensitive { key } else { ignore_case(key) });
    }
    Ok(keys)
}

pub fn sort(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let names = ["reverse", "case_sensitive", "attribute"];
    let [reverse, case, attribute] = given.bind("sort", names, 0)?;
    let items = run.collect(&value)?;
    let attributes: Vec<Option<Value>> = match attribute {
        Some(Value::Text(names)) => names.split(',').map(|name| Some(Value::text(name))).collect(),
        other => vec![other],
    };
    let case = is(case);
    let mut columns = Vec::new();
    for attribute in attributes {
        columns.push(keys(run, &items, attribute, case, None)?);
    }
    let row = |place: usize| columns.iter().map(|column| column[place].clone()).collect();
    let keys: Vec<Value> =
        (0..items.len()).map(|place| Value::list_of(row(place))).collect::<Result<_>>()?;
    run.step(items.len() * 20)?;
    let places = sorted(&keys, is_reverse(reverse)?)?;
    run.list(places.into_iter().map(|place| items[place].clone()).collect())
}

pub fn dictsort(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let [case, by, reverse] = given.bind("dictsort", ["case_sensitive", "by", "reverse"], 0)?;
    let by = match by.as_ref().map(|by| by.as_text()) {
        None | Some(Some("key")) => 0,
        Some(Some("value")) => 1,
        _ => return fault("You can only sort by either \"key\" or \"value\""),
    };
    let Value::Dict(dict) = &value else {
        return match &value {
            Value::Undefined(missing) => fault(missing.message()),
            other => fault(format!("'{}' object has no attribute 'items'", other.type_name())),
        };
    };
    let case = is(case);
    let key = |(key, value): &(Value, Value)| {
        let of = if by == 0 { key } else { value }.clone();
        if case { of } else { ignore_case(of) }
    };
    let keys: Vec<Value> = dict.entries().iter().map(key).collect();
    run.step((dict.weight() / 16) as usize)?;
    let places = sorted(&keys, is_reverse(reverse)?)?;
    let pair = |place: usize| {
        let (key, value) = dict.entries()[place].clone();
        Value::tuple_of(vec![key, value])
    };
    let pairs = places.into_iter().map(pair).collect::<Result<_>>()?;
    run.list(pairs)
}

fn extreme(
    run: &mut Run<'_>,
    value: Value,
    given: CallArguments,
    wanted: Ordering,
) -> Result<Value> {
    let [case, attribute] = given.bind("min", ["case_sensitive", "attribute"], 0)?;
    let items = run.collect(&value)?;
    let keys = keys(run, &items, attribute, is(case), None)?;
    let mut best = 0;
    for place in 1..items.len() {
        let sign = if wanted == Ordering::Less { "<" } else { ">" };
        if order(&keys[place], &keys[best], sign)? == Some(wanted) {
            best = place;
        }
    }
    let found = items.get(best).cloned();
    Ok(found.unwrap_or_else(|| Value::hint("No aggregated item, sequence was empty.")))
}

pub fn min(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    extreme(run, value, given, Ordering::Less)
}

pub fn max(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    extreme(run, value, given, Ordering::Greater)
}
