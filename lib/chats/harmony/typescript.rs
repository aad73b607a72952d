//! JSON schemas as the TypeScript that the official renderer shows to the model.
//!
//! Its irregular rules are kept. For instance: only `type: "string"` uses `enum`; a property's default is
//! in plain quotes, but the default of an `enum` at the top of a `oneOf` is JSON; `anyOf` and `$ref` are
//! ignored.

use std::fmt::Write;

use super::header::why_control;
use super::value::Value;
use super::{RenderError, field};

/// Appends the type that a schema describes. `indent` is written before every line except the
/// first.
pub(super) fn write(schema: &Value, indent: &str, out: &mut String) -> Result<(), RenderError> {
    if let Some(variants) = array(schema, "oneOf") {
        for variant in variants {
            push(out, &["\n", indent, " | "]);
            write_nullable(variant, &format!("{indent}   "), out)?;
            let default = variant.get("default").map(|default| match default {
                Value::String(text) if !has_enum(variant) => format!("\"{text}\""),
                other => other.to_json(),
            });
            write_trailing(string(variant, "description"), default, out);
        }
        return Ok(());
    }
    match schema.get("type") {
        Some(Value::Array(types)) => {
            let types: Vec<&str> = types
                .iter()
                .filter_map(Value::as_str)
                .map(|name| if name == "integer" { "number" } else { name })
                .collect();
            if types.is_empty() {
                out.push_str("any");
            } else {
                out.push_str(&types.join(" | "));
            }
        }
        Some(Value::String(name)) => match name.as_str() {
            "object" => write_object(schema, indent, out)?,
            "string" => write_string_type(schema, out),
            "number" | "integer" => out.push_str("number"),
            "boolean" => out.push_str("boolean"),
            "array" => match schema.get("items") {
                Some(items) => {
                    write(items, indent, out)?;
                    out.push_str("[]");
                }
                None => out.push_str("Array<any>"),
            },
            _ => out.push_str("any"),
        },
        _ => out.push_str("any"),
    }
    Ok(())
}

fn write_string_type(schema: &Value, out: &mut String) {
    let values: Vec<String> = array(schema, "enum")
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|value| format!("\"{value}\""))
        .collect();
    if values.is_empty() {
        out.push_str("string");
    } else {
        out.push_str(&values.join(" | "));
    }
}

fn write_object(schema: &Value, indent: &str, out: &mut String) -> Result<(), RenderError> {
    if let Some(description) = string(schema, "description") {
        push(out, &[indent, "// ", description, "\n"]);
    }
    out.push_str("{\n");
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let required: Vec<&str> =
            array(schema, "required").into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, property) in properties {
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            write_property(name, mark, property, indent, out)?;
        }
    }
    push(out, &[indent, "}"]);
    Ok(())
}

/// Returns why the name of a property cannot be read back from the line that declares it; `None` if it
/// can.
pub fn why_no_property(name: &str) -> Option<&'static str> {
    let is_break = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    if name.contains(is_break) {
        return Some("it has a line feed, or another control character");
    }
    if name.starts_with(char::is_whitespace) || name.ends_with(char::is_whitespace) {
        return Some("it begins or ends with white space");
    }
    let is_of_type = name.contains(": ") || name.ends_with([':', '?']);
    if is_of_type || ["//", "|", "}"].iter().any(|mark| name.starts_with(mark)) {
        return Some("it would be read as something else of the declaration");
    }
    why_control(name)
}

fn write_property(
    name: &str,
    mark: &str,
    property: &Value,
    indent: &str,
    out: &mut String,
) -> Result<(), RenderError> {
    if let Some(cause) = why_no_property(name) {
        let name = field::shown(name);
        let cause = format!("property {name} cannot stand in a declaration: {cause}");
        return Err(RenderError::new(cause));
    }
    if let Some(title) = string(property, "title") {
        push(out, &[indent, "// ", title, "\n", indent, "//\n"]);
    }
    let has_one_of = property.get("oneOf").is_some();
    let description = string(property, "description");
    if let Some(description) = description.filter(|_| !has_one_of) {
        push(out, &[indent, "// ", description, "\n"]);
    }
    let examples = array(property, "examples").filter(|examples| !examples.is_empty());
    if let Some(examples) = examples {
        push(out, &[indent, "// Examples:\n"]);
        for example in examples.iter().filter_map(Value::as_str) {
            push(out, &[indent, "// - \"", example, "\"\n"]);
        }
    }
    if let Some(variants) = array(property, "oneOf") {
        // The description goes above, unless the first variant has the same one. (If they differ,
        // the first variant's is lost.)
        let first = variants.first().and_then(|first| string(first, "description"));
        let above = description.filter(|description| first != Some(description));
        if let Some(description) = above {
            push(out, &[indent, "// ", description, "\n"]);
        }
        if let Some(default) = plain_default(property) {
            push(out, &[indent, "// default: ", &default, "\n"]);
        }
        push(out, &[indent, name, mark, ":\n"]);
        for (index, variant) in variants.iter().enumerate() {
            push(out, &[indent, " | "]);
            write_nullable(variant, &format!("{indent}   "), out)?;
            let comment = string(variant, "description")
                .filter(|comment| Some(*comment) != description)
                .filter(|_| index > 0 || above.is_none());
            write_trailing(comment, plain_default(variant), out);
            out.push('\n');
        }
        push(out, &[indent, ",\n"]);
        return Ok(());
    }
    push(out, &[indent, name, mark, ": "]);
    write_nullable(property, &format!("{indent}    "), out)?;
    out.push(',');
    if let Some(default) = plain_default(property).filter(|_| !has_one_of) {
        push(out, &[" // default: ", &default]);
    }
    out.push('\n');
    Ok(())
}

/// Appends the type, and null if the schema allows it and the type does not say so.
fn write_nullable(schema: &Value, indent: &str, out: &mut String) -> Result<(), RenderError> {
    let start = out.len();
    write(schema, indent, out)?;
    let is_nullable = matches!(schema.get("nullable"), Some(Value::Boolean(true)));
    if is_nullable && !out[start..].contains("null") {
        out.push_str(" | null");
    }
    Ok(())
}

/// Appends the comment after a variant.
fn write_trailing(description: Option<&str>, default: Option<String>, out: &mut String) {
    let default = default.map(|default| format!("default: {default}"));
    let comments: Vec<&str> = description.into_iter().chain(default.as_deref()).collect();
    if !comments.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(out, " // {}", comments.join(" "));
    }
}

/// Returns a default for a comment: strings in plain quotes, enum values without quotes, others as
/// JSON.
fn plain_default(schema: &Value) -> Option<String> {
    Some(match schema.get("default")? {
        Value::String(text) if has_enum(schema) => text.clone(),
        Value::String(text) => format!("\"{text}\""),
        other => other.to_json(),
    })
}

fn has_enum(schema: &Value) -> bool {
    array(schema, "enum").is_some_and(|values| !values.is_empty())
}

fn array<'v>(schema: &'v Value, key: &str) -> Option<&'v [Value]> {
    schema.get(key)?.as_array()
}

fn string<'v>(schema: &'v Value, key: &str) -> Option<&'v str> {
    schema.get(key)?.as_str()
}

fn push(out: &mut String, pieces: &[&str]) {
    for piece in pieces {
        out.push_str(piece);
    }
}
