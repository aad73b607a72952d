//! The tools of a system or developer message, and the section of text that shows them.

use std::collections::BTreeMap;

use super::RenderError;
use super::field::{self, attempt, expect, nullable, optional, required};
use super::header::why_no_word;
use super::typescript;
use super::value::{self, Value};
use crate::json::{Kind, Reader};

/// Namespaces in the order of their keys; a key may differ from the name.
pub(super) type Tools = BTreeMap<String, Namespace>;

pub(super) struct Namespace {
    name: String,
    description: Option<String>,
    tools: Vec<Tool>,
}

struct Tool {
    name: String,
    description: String,
    /// A JSON schema, an object.
    parameters: Option<Value>,
}

/// Whether the tools make the official renderer add a line to the system message.
pub(super) fn has_functions(tools: &Tools) -> bool {
    tools.get("functions").is_some_and(|namespace| !namespace.tools.is_empty())
}

/// Reads `{key: namespace, ...}`.
pub(super) fn read(reader: &mut Reader) -> Result<Tools, RenderError> {
    expect(reader, Kind::Object)?;
    let mut slots = BTreeMap::new();
    reader.object(|reader, key| {
        let mut name = String::new();
        key.decode_onto(&mut name)?;
        slots.insert(name, attempt(reader, namespace)?);
        Ok::<_, RenderError>(())
    })?;
    slots.into_iter().map(|(key, slot)| Ok((key, slot?))).collect()
}

fn namespace(reader: &mut Reader) -> Result<Namespace, RenderError> {
    expect(reader, Kind::Object)?;
    let (mut name, mut description, mut tools) = (None, None, None);
    let mut scratch = String::new();
    reader.object(|reader, key| {
        match field::name(&key, &mut scratch) {
            "name" => name = Some(attempt(reader, word)?),
            "description" => description = Some(attempt(reader, |reader| nullable(reader, text))?),
            "tools" => tools = Some(attempt(reader, list)?),
            _ => reader.skip()?,
        }
        Ok::<_, RenderError>(())
    })?;
    Ok(Namespace {
        name: required(name, "name")?,
        description: optional(description, "description")?,
        tools: required(tools, "tools")?,
    })
}

fn list(reader: &mut Reader) -> Result<Vec<Tool>, RenderError> {
    expect(reader, Kind::Array)?;
    let mut tools = Vec::new();
    reader.array(|reader| {
        tools.push(tool(reader)?);
        Ok::<_, RenderError>(())
    })?;
    Ok(tools)
}

fn tool(reader: &mut Reader) -> Result<Tool, RenderError> {
    expect(reader, Kind::Object)?;
    let (mut name, mut description, mut parameters) = (None, None, None);
    let mut scratch = String::new();
    reader.object(|reader, key| {
        match field::name(&key, &mut scratch) {
            "name" => name = Some(attempt(reader, word)?),
            "description" => description = Some(attempt(reader, text)?),
            "parameters" => {
                parameters = Some(attempt(reader, |reader| nullable(reader, value::object))?);
            }
            _ => reader.skip()?,
        }
        Ok::<_, RenderError>(())
    })?;
    Ok(Tool {
        name: required(name, "name")?,
        description: required(description, "description")?,
        parameters: optional(parameters, "parameters")?,
    })
}

fn text(reader: &mut Reader) -> Result<String, RenderError> {
    let mut text = String::new();
    field::string(reader)?.decode_onto(&mut text)?;
    Ok(text)
}

/// Reads a name. It must be possible to read it back from its declaration and from a call.
fn word(reader: &mut Reader) -> Result<String, RenderError> {
    let name = field::string(reader)?;
    let mut text = String::new();
    name.decode_onto(&mut text)?;
    match why_no_word(&text) {
        None => Ok(text),
        Some(cause) => {
            let name = field::quoted(&name);
            Err(RenderError::new(format!("{name} cannot stand in a declaration: {cause}")))
        }
    }
}

/// Appends the section `# Tools`.
pub(super) fn write(tools: &Tools, out: &mut String) -> Result<(), RenderError> {
    out.push_str("# Tools");
    for namespace in tools.values() {
        out.push_str("\n\n");
        write_namespace(namespace, out)?;
    }
    Ok(())
}

/// Lines are joined by line feeds; some already end with one.
fn write_namespace(namespace: &Namespace, out: &mut String) -> Result<(), RenderError> {
    out.push_str("## ");
    out.push_str(&namespace.name);
    out.push('\n');
    let comment = if namespace.tools.is_empty() { "" } else { "// " };
    for line in namespace.description.iter().flat_map(|text| text.lines()) {
        write_line(out, &[comment, line]);
    }
    if namespace.tools.is_empty() {
        return Ok(());
    }
    write_line(out, &["namespace ", &namespace.name, " {\n"]);
    for tool in &namespace.tools {
        for line in tool.description.lines() {
            write_line(out, &["// ", line]);
        }
        match &tool.parameters {
            Some(schema) => {
                write_line(out, &["type ", &tool.name, " = (_: "]);
                typescript::write(schema, "", out)
                    .map_err(|error| error.within(format_args!("parameters of {}", tool.name)))?;
                out.push_str(") => any;\n");
            }
            None => write_line(out, &["type ", &tool.name, " = () => any;\n"]),
        }
    }
    write_line(out, &["} // namespace ", &namespace.name]);
    Ok(())
}

fn write_line(out: &mut String, pieces: &[&str]) {
    out.push('\n');
    for piece in pieces {
        out.push_str(piece);
    }
}
