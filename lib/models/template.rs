//! Finds the chat templates of a folder, with the precedence of transformers.
//!
//! Source: `tokenization_utils_base.py` of transformers 5.24. If there is a file `chat_template.jinja` or one in
//! `additional_chat_templates`, `chat_template` of `tokenizer_config.json` is ignored. Without any of these, `chat_template.json` of
//! older processors has it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{Cause, FolderError};
use crate::text_file::{found, irregular, is_there, read_text, sha256};

/// A chat template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its name; `default` if it has none.
    pub name: String,
    /// Its text. Line ends of template files are `\n`, as Python reads them.
    pub text: String,
    /// SHA-256 of the text, in hexadecimal.
    pub sha256: String,
    /// The file that has it.
    pub path: PathBuf,
}

impl Template {
    /// Makes a template of a text; `path` is the file that has it.
    pub fn new(name: &str, text: String, path: &Path) -> Self {
        let sha256 = sha256(text.as_bytes());
        Self { name: name.to_owned(), text, sha256, path: path.to_owned() }
    }

    /// Reads a template file, as transformers does.
    pub fn read(name: &str, path: &Path) -> Result<Self, FolderError> {
        let text = read_text(path)?;
        if path.extension().is_some_and(|ending| ending == "json") {
            let text =
                "has its template as JSON; try: jq -j .chat_template FILE > chat_template.jinja";
            return Err(FolderError::other(path, text));
        }
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        Ok(Self::new(name, text, path))
    }
}

/// Returns all templates of a folder: the default first, then by name.
pub fn templates_of(
    folder: &Path,
    config: Option<(&Path, &Value)>,
) -> Result<Vec<Template>, FolderError> {
    let mut templates: Vec<Template> = Vec::new();
    let files = template_files(folder)?.into_iter().filter(|(file, _)| file != OF_PROCESSOR);
    for (file, path) in files {
        let name =
            if file == FILE { DEFAULT } else { &file[MORE.len() + 1..file.len() - ENDING.len()] };
        templates.retain(|template| template.name != name);
        templates.push(Template::read(name, &path)?);
    }
    if let Some((path, config)) = config.filter(|_| templates.is_empty()) {
        templates = of_config(path, config)?;
    }
    let of_processor = folder.join(OF_PROCESSOR);
    if templates.is_empty() && is_there(&of_processor)? {
        let text = read_text(&of_processor)?;
        let value = serde_json::from_str(&text);
        let value = value.map_err(|error| FolderError::new(&of_processor, Cause::Json(error)))?;
        templates = of_config(&of_processor, &value)?;
    }
    templates.sort_by(|left, right| key(left).cmp(&key(right)));
    Ok(templates)
}

/// The file of the default template, the folder of others, and the ending of their names.
pub const FILE: &str = "chat_template.jinja";
/// The file in which older processors have their template.
const OF_PROCESSOR: &str = "chat_template.json";
const MORE: &str = "additional_chat_templates";
const ENDING: &str = ".jinja";

/// Returns the files of templates that are there, the default's first: the name below the folder, and the path.
pub fn template_files(folder: &Path) -> Result<Vec<(String, PathBuf)>, FolderError> {
    let mut files = Vec::new();
    let file = folder.join(FILE);
    if is_there(&file)? {
        files.push((FILE.to_owned(), file));
    }
    let file = folder.join(OF_PROCESSOR);
    if is_there(&file)? {
        files.push((OF_PROCESSOR.to_owned(), file));
    }
    let more = folder.join(MORE);
    if let Some(found) = found(&more)? {
        if !found.is_dir() {
            return Err(irregular(&more, "is no folder"));
        }
        let read = |error| FolderError::new(&more, Cause::Read(error));
        let first = files.len();
        for entry in fs::read_dir(&more).map_err(read)? {
            let path = entry.map_err(read)?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            if let Some(name) = name.filter(|name| name.ends_with(ENDING))
                && is_there(&path)?
            {
                files.push((format!("{MORE}/{name}"), path.clone()));
            }
        }
        files[first..].sort();
    }
    Ok(files)
}

fn key(template: &Template) -> (bool, &str) {
    (template.name != DEFAULT, &template.name)
}

/// The name of a template without a name.
pub const DEFAULT: &str = "default";
/// The name of the template for chats with tools, if there are several templates.
const TOOL_USE: &str = "tool_use";

fn of_config(path: &Path, config: &Value) -> Result<Vec<Template>, FolderError> {
    let bad = || {
        let text = "chat_template is neither a text nor a list of objects with name and template";
        FolderError::other(path, text)
    };
    let list = match &config["chat_template"] {
        Value::Object(named) => {
            let named = named.iter().map(|(name, text)| Some((name, text.as_str()?)));
            let named = named.collect::<Option<Vec<_>>>().ok_or_else(bad)?;
            let template = |(name, text): (&String, &str)| Template::new(name, text.into(), path);
            return Ok(named.into_iter().map(template).collect());
        }
        Value::Null => return Ok(Vec::new()),
        Value::String(text) => return Ok(vec![Template::new(DEFAULT, text.clone(), path)]),
        Value::Array(list) => list,
        _ => return Err(bad()),
    };
    let mut templates: Vec<Template> = Vec::new();
    for entry in list {
        let (Some(name), Some(text)) = (entry["name"].as_str(), entry["template"].as_str()) else {
            return Err(bad());
        };
        // The last of several templates with one name counts, as in a dict of Python.
        templates.retain(|template| template.name != name);
        templates.push(Template::new(name, text.to_owned(), path));
    }
    Ok(templates)
}

/// Returns the template with this name; without a name, the one that transformers takes.
pub fn choose<'a>(
    folder: &Path,
    templates: &'a [Template],
    name: Option<&str>,
    has_tools: bool,
) -> Result<&'a Template, FolderError> {
    let error = |cause| Err(FolderError::new(folder, cause));
    let named = |name: &str| templates.iter().find(|template| template.name == name);
    let names = || templates.iter().map(|template| template.name.clone()).collect();
    if templates.is_empty() {
        return error(Cause::NoTemplate);
    }
    if let Some(wanted) = name {
        let unknown = || Cause::UnknownTemplate { wanted: wanted.to_owned(), names: names() };
        return named(wanted).ok_or_else(|| FolderError::new(folder, unknown()));
    }
    if has_tools && let Some(template) = named(TOOL_USE) {
        return Ok(template);
    }
    match named(DEFAULT) {
        Some(template) => Ok(template),
        None => error(Cause::SeveralTemplates { names: names() }),
    }
}
