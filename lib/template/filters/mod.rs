//! The filters of jinja2, and transformers' `tojson`.

mod lists;
mod numbers;
mod texts;

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Result, unused};
use crate::json;
use crate::run::arguments::CallArguments;
use crate::run::{PrintedText, Run};
use crate::value::Value;

/// Applies a filter to a value.
pub type Filter = fn(&mut Run<'_>, Value, CallArguments) -> Result<Value>;

macro_rules! unused {
    ($name:literal) => {
        |_, _, _| unused(concat!("the filter '", $name, "'"))
    };
}

/// The filter with this name.
pub fn find(name: &str) -> Option<Filter> {
    Some(match name {
        "attr" => lists::attr,
        "capitalize" => texts::capitalize,
        "count" | "length" => lists::length,
        "d" | "default" => default,
        "dictsort" => lists::dictsort,
        "e" | "escape" => texts::escape,
        "first" => lists::first,
        "float" => numbers::float,
        "format" => texts::format,
        "indent" => texts::indent,
        "int" => numbers::int,
        "items" => lists::items,
        "join" => lists::join,
        "last" => lists::last,
        "list" => lists::list,
        "lower" => texts::lower,
        "map" => lists::map,
        "max" => lists::max,
        "min" => lists::min,
        "reject" => |run, value, given| lists::select(run, value, given, false, false),
        "rejectattr" => |run, value, given| lists::select(run, value, given, true, false),
        "replace" => texts::replace,
        "reverse" => lists::reverse,
        "safe" => texts::safe,
        "select" => |run, value, given| lists::select(run, value, given, false, true),
        "selectattr" => |run, value, given| lists::select(run, value, given, true, true),
        "sort" => lists::sort,
        "string" => texts::string,
        "title" => texts::title,
        "tojson" => tojson,
        "trim" => texts::trim,
        "unique" => lists::unique,
        "upper" => texts::upper,
        "abs" => unused!("abs"),
        "batch" => unused!("batch"),
        "center" => unused!("center"),
        "filesizeformat" => unused!("filesizeformat"),
        "forceescape" => unused!("forceescape"),
        "groupby" => unused!("groupby"),
        "pprint" => unused!("pprint"),
        "random" => unused!("random"),
        "round" => unused!("round"),
        "slice" => unused!("slice"),
        "striptags" => unused!("striptags"),
        "sum" => unused!("sum"),
        "truncate" => unused!("truncate"),
        "urlencode" => unused!("urlencode"),
        "urlize" => unused!("urlize"),
        "wordcount" => unused!("wordcount"),
        "wordwrap" => unused!("wordwrap"),
        "xmlattr" => unused!("xmlattr"),
        _ => return None,
    })
}

fn default(_: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let [default, boolean] = given.bind("default", ["default_value", "boolean"], 0)?;
    let is_replaced =
        value.is_undefined() || (boolean.is_some_and(|by| by.is_true()) && !value.is_true());
    Ok(if is_replaced { default.unwrap_or_else(|| Value::text("")) } else { value })
}

/// The texts of the context in a JSON text.
struct QuotedTexts<'q, 'c> {
    run: &'q Run<'c>,
    form: &'q json::Form,
    parts: Vec<PrintedText>,
}

impl json::Notes for QuotedTexts<'_, '_> {
    fn text(&mut self, text: &Arc<str>, at: Range<usize>) {
        let QuotedTexts { run, form, parts } = self;
        run.note_quoted(text, at, |spaces| json::length(spaces, form), parts);
    }

    fn known(&mut self, texts: &json::KnownTexts, from: usize) {
        // (None of them was made while the template ran.)
        let mut found: Vec<_> = self.run.of_context(texts).collect();
        found.sort_by_key(|(_, at)| at.start);
        found.into_iter().for_each(|(text, at)| self.text(text, from + at.start..from + at.end));
    }
}

fn tojson(run: &mut Run<'_>, value: Value, given: CallArguments) -> Result<Value> {
    let names = ["ensure_ascii", "indent", "separators", "sort_keys"];
    let [ascii, indent, separators, sorted] = given.bind("tojson", names, 0)?;
    let form = json::Form::new(ascii, indent, separators, sorted)?;
    let mut out = Vec::new();
    let mut quoted = QuotedTexts { run, form: &form, parts: Vec::new() };
    json::write(&mut out, &value, &form, &mut quoted)?;
    let parts = quoted.parts;
    let text: Arc<str> = String::from_utf8(out).unwrap_or_default().into();
    run.made_of(&text, parts);
    run.text(text)
}
