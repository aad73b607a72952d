//! The functions that a chat's model may call.

use std::borrow::Cow;

use super::KWARGS;
use super::value::Json;
use crate::harmony::{why_no_property, why_no_word};
use crate::json::{self, write_string};
use crate::visible;

/// A function as it was declared.
#[derive(Debug)]
pub struct Tool<'r> {
    pub name: &'r str,
    /// The description; it may be absent, or any value.
    pub description: Option<&'r Json<'r>>,
    pub parameters: Option<Cow<'r, Json<'r>>>,
    /// The declaration as it was given.
    pub given: &'r Json<'r>,
}

/// The fields of a record that hold tools; `functions` is the older name, the others are those of data sets.
pub const KEYS: [&str; 5] = ["tools", "functions", "available_tools", "tool_defs", "tools_json"];

/// Returns the record with its tools and the template's parameters as values, each tool of a list, too.
pub fn with_texts_parsed(record: Json<'_>) -> Result<Json<'_>, String> {
    let Json::Object(mut entries) = record else { return Ok(record) };
    for (key, value) in &mut entries {
        let is_of_tools = KEYS.contains(&&**key);
        if !is_of_tools && key != KWARGS {
            continue;
        }
        parse_text(key, value)?;
        if let Json::List(tools) = value
            && is_of_tools
        {
            tools.iter_mut().try_for_each(|tool| parse_text(key, tool))?;
        }
    }
    Ok(Json::Object(entries))
}

/// Parses a value that is the text of JSON.
fn parse_text(key: &str, value: &mut Json<'_>) -> Result<(), String> {
    let Some(text) = value.text() else { return Ok(()) };
    let parsed = match text {
        "" => Json::Null,
        text => match Json::parse(text) {
            Ok(parsed) => parsed.into_owned(),
            Err(error) => return Err(format!("{key}: {}", not_json(text, error))),
        },
    };
    *value = parsed;
    Ok(())
}

/// Reads the functions of a record.
pub fn tools_of<'r>(record: &'r Json<'r>) -> Result<Vec<Tool<'r>>, String> {
    let mut tools: (&str, Vec<Tool<'r>>) = ("", Vec::new());
    for key in KEYS {
        match record.get(key) {
            None => {}
            Some(Json::List(items)) if items.is_empty() => {}
            Some(Json::List(_)) if !tools.1.is_empty() => {
                return Err(format!("has both {} and {key}", tools.0));
            }
            Some(value @ Json::List(items)) => {
                value.refuse_nan(key)?;
                tools = (key, items.iter().map(tool).collect::<Result<_, String>>()?);
            }
            Some(value) => return Err(format!("{key} is a {}, wanted a list", value.type_name())),
        }
    }
    Ok(tools.1)
}

/// Says why a text is not JSON, with Python's message.
pub fn not_json(text: &str, error: json::Error) -> String {
    let cause = match error.message {
        "expected a key" => "Expecting property name enclosed in double quotes",
        "expected a value" => "Expecting value",
        "expected `:`" => "Expecting ':' delimiter",
        "expected `,` or `}`" | "expected `,` or `]`" => "Expecting ',' delimiter",
        "expected the end" => "Extra data",
        other => other,
    };
    let place = text.get(..error.offset).map_or(error.offset, |before| before.chars().count());
    format!("not JSON ({cause} at {place})")
}

fn tool<'r>(given: &'r Json<'r>) -> Result<Tool<'r>, String> {
    let kind = given.get("type").and_then(Json::text).unwrap_or("function");
    if kind != "function" {
        return Err(format!("tool of type '{kind}' is not a function"));
    }
    let function = given.get("function").unwrap_or(given);
    let name = function.get("name").and_then(Json::text).filter(|name| !name.is_empty());
    let name = name.ok_or("a tool without a name")?;
    readable("tool", name)?;
    let schema = SCHEMAS.iter().find_map(|key| function.get(key));
    let parameters = match schema {
        None => None,
        Some(Json::Text(text)) if text.is_empty() => None,
        Some(Json::Text(text)) => {
            let parsed = Json::parse(text);
            let parsed = parsed
                .map_err(|error| format!("parameters of {name}: {}", not_json(text, error)))?;
            Some(Cow::Owned(parsed.into_owned())).filter(|parsed| **parsed != Json::Null)
        }
        Some(value) => Some(Cow::Borrowed(value)),
    };
    if let Some(other) = parameters.as_ref().filter(|parameters| !parameters.is_object()) {
        return Err(format!("parameters of {name}: a {}, wanted an object", other.type_name()));
    }
    let parameters = match given {
        Json::Known(_) => parameters,
        _ => parameters.map(corrected),
    };
    Ok(Tool { name, description: function.get("description"), parameters, given })
}

/// Returns a schema of parameters in its own form, without nulls.
fn corrected<'r>(schema: Cow<'r, Json<'r>>) -> Cow<'r, Json<'r>> {
    let schema = match bare_properties(&schema) {
        Some(schema) => Cow::Owned(schema),
        None => schema,
    };
    if !has_nulls(&schema, Members::Keywords) {
        return schema;
    }
    let mut schema = schema.into_owned();
    remove_nulls(&mut schema, Members::Keywords);
    Cow::Owned(schema)
}

/// Whether a declaration is read as it is, whatever record it is in: `{"type": "function", "function": {..}}`.
pub fn is_read_as_it_is(given: &Json<'_>) -> bool {
    let is_plain = given.entries().len() == 2
        && given.get("type").and_then(Json::text) == Some("function")
        && given.get("function").is_some_and(Json::is_object)
        && given.refuse_nan("").is_ok();
    is_plain
        && tool(given).is_ok_and(|tool| matches!(tool.parameters, None | Some(Cow::Borrowed(_))))
}

/// Returns the schema of parameters that are given without one, as xLAM has them: `{NAME: {type, description}}`, with
/// the names that types have in Python. (`, optional` behind a type says that the parameter may be left out.)
fn bare_properties(given: &Json<'_>) -> Option<Json<'static>> {
    const KEYWORDS: [&str; 6] = ["type", "properties", "$ref", "anyOf", "oneOf", "allOf"];
    let is_property = |(_, value): &(Cow<'_, str>, Json<'_>)| {
        value.get("type").is_some_and(|kind| kind.text().is_some())
    };
    let (is_schema, entries) =
        (KEYWORDS.iter().any(|key| given.get(key).is_some()), given.entries());
    if is_schema || entries.is_empty() || !entries.iter().all(is_property) {
        return None;
    }
    let text = |text: &str| Json::Text(text.to_string().into());
    let (mut properties, mut required) = (Vec::new(), Vec::new());
    for (name, property) in entries {
        let Json::Object(mut members) = property.clone().into_owned() else { continue };
        let mut is_optional = property.get("default").is_some();
        for (key, value) in &mut members {
            let Some(kind) = value.text().filter(|_| key == "type") else { continue };
            let (kind, rest) = kind.split_once(',').unwrap_or((kind, ""));
            is_optional |= rest.trim() == "optional";
            *value =
                text(PYTHON_TYPES.iter().find(|(of, _)| *of == kind).map_or(kind, |(_, of)| of));
        }
        if !is_optional {
            required.push(text(name));
        }
        properties.push((Cow::Owned(name.to_string()), Json::Object(members)));
    }
    Some(Json::Object(vec![
        ("type".into(), text("object")),
        ("properties".into(), Json::Object(properties)),
        ("required".into(), Json::List(required)),
    ]))
}

/// The names of types in Python and in JSON's schemas.
const PYTHON_TYPES: [(&str, &str); 7] = [
    ("str", "string"),
    ("int", "integer"),
    ("float", "number"),
    ("bool", "boolean"),
    ("list", "array"),
    ("dict", "object"),
    ("tuple", "array"),
];

/// Names of a function's schema; Anthropic and MCP have the last two.
const SCHEMAS: [&str; 3] = ["parameters", "input_schema", "inputSchema"];

impl<'r> Tool<'r> {
    /// Returns the declaration in OpenAI's form, `{type, function: {name, description, parameters}}`, with all other
    /// members in their order. Nulls, which tables add, are left out.
    pub fn declaration(&self) -> Json<'r> {
        let function = self.given.get("function");
        let is_given = |(_, value): &&(Cow<'r, str>, Json<'r>)| *value != Json::Null;
        let mut is_schema_written = false;
        let members = function.unwrap_or(self.given).entries().iter().filter(is_given);
        let members = members.filter(|(key, _)| function.is_some() || key != "type");
        let members = members.filter_map(|(key, value)| {
            if !SCHEMAS.contains(&&**key) {
                return Some((key.clone(), value.clone()));
            }
            let schema = self.parameters.as_deref().filter(|_| !is_schema_written)?;
            is_schema_written = true;
            Some((Cow::Borrowed("parameters"), schema.clone()))
        });
        let members = Json::Object(members.collect());
        let kind = (Cow::Borrowed("type"), Json::Text("function".into()));
        if function.is_none() {
            return Json::Object(vec![kind, (Cow::Borrowed("function"), members)]);
        }
        let mut entries: Vec<_> = self.given.entries().iter().filter(is_given).cloned().collect();
        entries.iter_mut().filter(|(key, _)| key == "function").for_each(|(_, value)| {
            *value = members.clone();
        });
        if self.given.get("type").is_none() {
            entries.insert(0, kind);
        }
        Json::Object(entries)
    }
}

/// Refuses a function that Harmony's declarations have no form for.
pub fn can_be_declared(tool: &Tool<'_>) -> Result<(), String> {
    let Some(schema) = &tool.parameters else { return Ok(()) };
    readable_properties(schema).map_err(|cause| format!("parameters of {}: {cause}", tool.name))
}

/// Refuses a function name that could not be read back from the header of a call.
pub fn readable(what: &str, name: &str) -> Result<(), String> {
    match why_no_word(name) {
        Some(cause) => {
            Err(format!("{what} \"{}\" cannot be called: {cause}; rename it", visible::line(name)))
        }
        None => Ok(()),
    }
}

/// Refuses properties that could not be read back from the declaration that is written for a
/// schema.
fn readable_properties(schema: &Json<'_>) -> Result<(), String> {
    for (name, property) in schema.get("properties").map(Json::entries).unwrap_or_default() {
        if let Some(cause) = why_no_property(name).filter(|_| *property != Json::Null) {
            let name = visible::line(name);
            return Err(format!("property \"{name}\" cannot be declared: {cause}; rename it"));
        }
        readable_properties(property)?;
    }
    schema.get("items").map_or(Ok(()), readable_properties)?;
    let variants = schema.get("oneOf").and_then(Json::list).unwrap_or_default();
    variants.iter().try_for_each(readable_properties)
}

/// Members of a schema whose own members are names with schemas.
const OF_NAMES: [&str; 5] =
    ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/// Members of a schema that are values: a null in them is a value.
const OF_VALUES: [&str; 4] = ["default", "const", "enum", "examples"];

/// The kind of an object's members.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Members {
    Keywords,
    Names,
}

impl Members {
    /// Returns the kind of the members of a member's value; `None` if that is a plain value.
    fn within(self, key: &str) -> Option<Members> {
        match self {
            Members::Keywords if OF_VALUES.contains(&key) => None,
            Members::Keywords if OF_NAMES.contains(&key) => Some(Members::Names),
            _ => Some(Members::Keywords),
        }
    }

    fn is_absent(self, key: &str, value: &Json<'_>) -> bool {
        *value == Json::Null && !(self == Members::Keywords && key == "default")
    }
}

/// Whether a schema has a member that is null: a table puts the members of all schemas into each
/// one.
fn has_nulls(schema: &Json<'_>, members: Members) -> bool {
    match schema {
        Json::Object(entries) => entries.iter().any(|(key, value)| {
            members.is_absent(key, value)
                || members.within(key).is_some_and(|members| has_nulls(value, members))
        }),
        Json::List(items) => items.iter().any(|item| has_nulls(item, Members::Keywords)),
        _ => false,
    }
}

fn remove_nulls(schema: &mut Json<'_>, members: Members) {
    match schema {
        Json::Object(entries) => {
            entries.retain(|(key, value)| !members.is_absent(key, value));
            for (key, value) in entries {
                if let Some(members) = members.within(key) {
                    remove_nulls(value, members);
                }
            }
        }
        Json::List(items) => {
            items.iter_mut().for_each(|item| remove_nulls(item, Members::Keywords));
        }
        _ => {}
    }
}

/// Removes, at any depth, members that are null and that the schema does not declare, and returns
/// how many: a table puts the arguments of all functions into each call.
pub fn remove_padding(value: &mut Json<'_>, schema: Option<&Json<'_>>) -> u64 {
    let of_schema = |key: &str| schema.and_then(|schema| schema.get(key));
    match value {
        Json::List(items) => match of_schema("items") {
            Some(schema) => items.iter_mut().map(|item| remove_padding(item, Some(schema))).sum(),
            None => 0,
        },
        Json::Object(entries) => {
            let knows_others = KNOWING_OTHERS
                .iter()
                .any(|key| of_schema(key).is_some_and(|value| *value != Json::Boolean(false)));
            let properties = of_schema("properties");
            let before = entries.len();
            entries.retain(|(name, value)| {
                let is_known = properties.is_some_and(|known| known.get(name).is_some());
                *value != Json::Null || is_known || knows_others
            });
            let mut count = (before - entries.len()) as u64;
            for (name, value) in entries {
                let schema = properties.and_then(|known| known.get(name));
                // (Values without a schema are left as they are.)
                count += schema.map_or(0, |schema| remove_padding(value, Some(schema)));
            }
            count
        }
        _ => 0,
    }
}

/// Members of a schema that may declare more than its properties.
const KNOWING_OTHERS: [&str; 7] =
    ["additionalProperties", "patternProperties", "$ref", "anyOf", "oneOf", "allOf", "if"];

/// Appends the tools of a developer message in the form that openai-harmony reads.
pub fn write_harmony(out: &mut Vec<u8>, tools: &[Tool<'_>]) -> Result<(), String> {
    out.extend_from_slice(br#"{"functions":{"name":"functions","description":null,"tools":["#);
    for (index, Tool { name, description, parameters, .. }) in tools.iter().enumerate() {
        out.extend_from_slice(if index > 0 { br#",{"name":"# } else { br#"{"name":"# });
        write_string(out, name);
        out.extend_from_slice(br#","description":"#);
        match description {
            None => out.extend_from_slice(br#""""#),
            Some(Json::Text(text)) => text.write(out),
            Some(other) => {
                return Err(format!("description of {name}: a {}", other.type_name()));
            }
        }
        out.extend_from_slice(br#","parameters":"#);
        match parameters {
            None => out.extend_from_slice(b"null"),
            Some(parameters) => parameters.write_compact(out),
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"]}}");
    Ok(())
}
