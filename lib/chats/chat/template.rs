//! The text of the official chat template (`chat_template.jinja` of openai/gpt-oss-20b, sha256
//! a4c9919c...), where it differs from what openai-harmony renders: the system and the developer message.
//!
//! It is followed to the letter, including its odd blanks. If it raises an error, the chat is refused.

use serde_json::{Map, Value, json};

use super::Settings;
use super::tools::Tool;
use super::value::Json;

/// An array's item type that is longer than this is written as `any`.
const LONGEST_ITEM: usize = 50;

/// Harmony's own tools.
pub const BUILTIN_TOOLS: [&str; 2] = ["browser", "python"];

/// Returns the text of the system message.
pub fn system(settings: &Settings, has_tools: bool) -> String {
    let Settings { identity, cutoff, date, effort, builtin_tools, .. } = settings;
    let mut text = format!(
        "{identity}\nKnowledge cutoff: {cutoff}\nCurrent date: {date}\n\nReasoning: {effort}\n\n"
    );
    if !builtin_tools.is_empty() {
        text += "# Tools\n\n";
        for (name, section) in [("browser", BROWSER), ("python", PYTHON)] {
            if builtin_tools.iter().any(|tool| tool == name) {
                text += section;
            }
        }
    }
    text += "# Valid channels: analysis, commentary, final. Channel must be included for every message.";
    if has_tools {
        text += "\nCalls to these tools must go to the commentary channel: 'functions'.";
    }
    text
}

/// Returns the developer message. Without instructions and tools it is empty, and is then left out.
pub fn developer(instructions: &str, tools: &[Tool<'_>]) -> Result<String, String> {
    let mut text = String::new();
    if !instructions.is_empty() {
        text += "# Instructions\n\n";
        text += instructions;
        text += "\n\n";
    }
    if !tools.is_empty() {
        text += "# Tools\n\n## functions\n\nnamespace functions {\n\n";
        for tool in tools {
            let refused =
                |cause| format!("tool {}: {cause}, which the template cannot print", tool.name);
            function(&mut text, tool).map_err(refused)?;
        }
        text += "} // namespace functions";
    }
    Ok(text)
}

fn function(out: &mut String, tool: &Tool<'_>) -> Result<(), String> {
    let description = tool.description.ok_or("no description")?;
    *out += &format!("// {}\ntype {} = ", text(description, "description")?, tool.name);
    let parameters = tool.parameters.as_deref();
    let properties = parameters.and_then(|parameters| parameters.get("properties"));
    let Some(properties) = properties.filter(|properties| properties.is_true()) else {
        *out += "() => any;\n\n";
        return Ok(());
    };
    if !properties.is_object() {
        return Err(format!("properties that are a {}", properties.type_name()));
    }
    *out += "(_: {\n";
    for (name, spec) in properties.entries().iter().filter(|(_, spec)| *spec != Json::Null) {
        if let Some(description) = spec.get("description").filter(|value| value.is_true()) {
            *out += &format!("// {}\n", text(description, "description")?);
        }
        *out += name;
        *out += if is_required(parameters, name) { ": " } else { "?: " };
        *out += &type_of(spec)?;
        if let Some(default) = spec.member("default") {
            let is_true = |key| spec.get(key).is_some_and(Json::is_true);
            *out += &match () {
                _ if is_true("enum") => {
                    format!(", // default: {}", text(default, "default of an enum")?)
                }
                _ if is_true("oneOf") => {
                    format!("// default: {}", text(default, "default of a oneOf")?)
                }
                _ => format!(", // default: {}", default.python_json()),
            };
        }
        *out += ",\n";
    }
    *out += "}) => any;\n\n";
    Ok(())
}

fn text<'a>(value: &'a Json<'_>, what: &str) -> Result<&'a str, String> {
    value.text().ok_or_else(|| format!("a {what} that is a {}", value.type_name()))
}

fn is_required(spec: Option<&Json<'_>>, name: &str) -> bool {
    let required = spec.and_then(|spec| spec.get("required")).and_then(Json::list);
    required.is_some_and(|names| names.iter().any(|required| required.text() == Some(name)))
}

/// Writes the macro `render_typescript_type`.
fn type_of(spec: &Json<'_>) -> Result<String, String> {
    let is_nullable = spec.get("nullable").is_some_and(Json::is_true);
    let or_null = if is_nullable { " | null" } else { "" };
    let variants = spec.get("oneOf").filter(|variants| variants.is_true());
    Ok(match spec.get("type") {
        Some(Json::Text(name)) if name == "array" => format!("{}{or_null}", array(spec)?),
        Some(Json::List(types)) if !types.is_empty() => {
            types.iter().map(python_str).collect::<Vec<String>>().join(" | ")
        }
        _ if variants.is_some() => {
            let variants = variants.and_then(Json::list).ok_or("a oneOf that is no list")?;
            let variants = variants.iter().map(variant).collect::<Result<Vec<String>, String>>()?;
            variants.join(" | \n")
        }
        Some(Json::Text(name)) => match &**name {
            "string" => match spec.get("enum").filter(|values| values.is_true()) {
                Some(values) => {
                    let values = values.list().ok_or("an enum that is no list")?;
                    let values: Vec<String> = values.iter().map(python_str).collect();
                    format!("\"{}\"", values.join("\" | \""))
                }
                None => format!("string{or_null}"),
            },
            "number" | "integer" => "number".to_string(),
            "boolean" => "boolean".to_string(),
            "object" => object(spec)?,
            _ => "any".to_string(),
        },
        _ => "any".to_string(),
    })
}

fn array(spec: &Json<'_>) -> Result<String, String> {
    let Some(items) = spec.get("items").filter(|items| items.is_true()) else {
        return Ok("any[]".to_string());
    };
    Ok(match items.get("type").and_then(Json::text) {
        Some(name @ ("string" | "boolean")) => format!("{name}[]"),
        Some("number" | "integer") => "number[]".to_string(),
        _ => {
            let inner = type_of(items)?;
            if inner == "object | object" || inner.chars().count() > LONGEST_ITEM {
                "any[]".to_string()
            } else {
                inner + "[]"
            }
        }
    })
}

fn object(spec: &Json<'_>) -> Result<String, String> {
    let Some(properties) = spec.get("properties").filter(|properties| properties.is_true()) else {
        return Ok("object".to_string());
    };
    let mut members = Vec::new();
    for (name, member) in properties.entries().iter().filter(|(_, spec)| *spec != Json::Null) {
        let optional = if is_required(Some(spec), name) { "" } else { "?" };
        members.push(format!("{name}{optional}: \n                {}", type_of(member)?));
    }
    Ok(format!("{{\n{}}}", members.join(", ")))
}

fn variant(spec: &Json<'_>) -> Result<String, String> {
    let mut out = type_of(spec)?;
    if let Some(description) = spec.get("description").filter(|value| value.is_true()) {
        out += &format!("// {}", text(description, "description")?);
    }
    if let Some(default) = spec.member("default") {
        out += &format!("                    // default: {}", default.python_json());
    }
    Ok(out)
}

/// Returns `str(value)` of Python, for the values of enums and of lists of types.
fn python_str(value: &Json<'_>) -> String {
    match value {
        Json::Null => "None".to_string(),
        Json::Boolean(true) => "True".to_string(),
        Json::Boolean(false) => "False".to_string(),
        Json::Text(text) => text.to_string(),
        other => other.python_json(),
    }
}

const BROWSER: &str = "\
## browser

// Tool for browsing.
// The `cursor` appears in brackets before each browsing display: `[{cursor}]`.
// Cite information from the tool using the following format:
// `【{cursor}†L{line_start}(-L{line_end})?】`, for example: `【6†L9-L11】` or `【8†L3】`.
// Do not quote more than 10 words directly from the tool output.
// sources=web (default: web)
namespace browser {

// Searches for information related to `query` and displays `topn` results.
type search = (_: {
query: string,
topn?: number, // default: 10
source?: string,
}) => any;

// Opens the link `id` from the page indicated by `cursor` starting at line number `loc`, showing `num_lines` lines.
// Valid link ids are displayed with the formatting: `【{id}†.*】`.
// If `cursor` is not provided, the most recent page is implied.
// If `id` is a string, it is treated as a fully qualified URL associated with `source`.
// If `loc` is not provided, the viewport will be positioned at the beginning of the document or centered on the most relevant passage, if available.
// Use this function without `id` to scroll to a new location of an opened page.
type open = (_: {
id?: number | string, // default: -1
cursor?: number, // default: -1
loc?: number, // default: -1
num_lines?: number, // default: -1
view_source?: boolean, // default: false
source?: string,
}) => any;

// Finds exact matches of `pattern` in the current page, or the page given by `cursor`.
type find = (_: {
pattern: string,
cursor?: number, // default: -1
}) => any;

} // namespace browser

";

const PYTHON: &str = "\
## python

Use this tool to execute Python code in your chain of thought. The code will not be shown to the user. This tool should be used for internal reasoning, but not for code that is intended to be visible to the user (e.g. when creating plots, tables, or files).

When you send a message containing Python code to python, it will be executed in a stateful Jupyter notebook environment. python will respond with the output of the execution or time out after 120.0 seconds. The drive at '/mnt/data' can be used to save and persist user files. Internet access for this session is UNKNOWN. Depends on the cluster.

";

/// Returns the same tools as openai-harmony has them, by name; it knows no others.
pub fn builtin_tools(names: &[String]) -> Value {
    let mut tools = Map::new();
    for (name, make) in [("browser", browser as fn() -> Value), ("python", python)] {
        if names.iter().any(|wanted| wanted == name) {
            tools.insert(name.to_string(), make());
        }
    }
    Value::Object(tools)
}

fn python() -> Value {
    let description = PYTHON.trim_start_matches("## python\n\n").trim_end();
    json!({"name": "python", "description": description, "tools": []})
}

/// Returns `ToolNamespaceConfig.browser()` of openai-harmony 0.0.8.
fn browser() -> Value {
    let said = |from: &str, to: &str| {
        let (_, rest) = BROWSER.split_once(from).unwrap_or_default();
        let (lines, _) = rest.split_once(to).unwrap_or_default();
        lines.replace("\n// ", "\n")
    };
    let number = json!({"type": "number", "default": -1});
    let text = json!({"type": "string"});
    json!({
        "name": "browser",
        "description": said("## browser\n\n// ", "\nnamespace"),
        "tools": [
            {
                "name": "search",
                "description": said("namespace browser {\n\n// ", "\ntype search"),
                "parameters": {
                    "type": "object",
                    "properties": {
                        "query": text, "topn": {"type": "number", "default": 10}, "source": text,
                    },
                    "required": ["query"],
                },
            },
            {
                "name": "open",
                "description": said("source?: string,\n}) => any;\n\n// ", "\ntype open"),
                "parameters": {
                    "type": "object",
                    "properties": {
                        "id": {"type": ["number", "string"], "default": -1},
                        "cursor": number, "loc": number, "num_lines": number,
                        "view_source": {"type": "boolean", "default": false},
                        "source": text,
                    },
                },
            },
            {
                "name": "find",
                "description": said("view_source?: boolean, // default: false\nsource?: string,\n}) => any;\n\n// ", "\ntype find"),
                "parameters": {
                    "type": "object",
                    "properties": {"pattern": text, "cursor": number},
                    "required": ["pattern"],
                },
            },
        ],
    })
}
