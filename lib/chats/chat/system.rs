//! What the system message of Harmony says: settings of the user, in place of which a record may state its own.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::left_out::LeftOutCounts;
use super::value::Json;
use super::{BUILTIN, CUTOFF, DATE, EFFORT, IDENTITY, KWARGS, kwargs_of};
use crate::json::PythonFormatter;

/// What the system message says, as far as a chat does not state it itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarmonySettings {
    pub identity: String,
    /// `low`, `medium` or `high`.
    pub effort: String,
    pub date: String,
    pub cutoff: String,
    /// Harmony's own tools: `browser`, `python`.
    pub builtin_tools: Vec<String>,
    /// Whether reasoning before an earlier answer is kept, which the model does not see when it answers.
    pub keeps_reasoning: bool,
}

impl Default for HarmonySettings {
    fn default() -> HarmonySettings {
        HarmonySettings {
            identity: "You are ChatGPT, a large language model trained by OpenAI.".to_string(),
            effort: "medium".to_string(),
            // (Never today's: the same input gives the same bytes.)
            date: "2026-01-01".to_string(),
            cutoff: "2024-06".to_string(),
            builtin_tools: Vec::new(),
            keeps_reasoning: false,
        }
    }
}

const KEEP_REASONING: &str = "keep_reasoning";
const TOOLS: [&str; 2] = ["browser", "python"];

impl HarmonySettings {
    /// Sets a variable by its name; the text of a value may be JSON.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let parsed = serde_json::from_str(value).unwrap_or(Value::Null);
        let text = parsed.as_str().unwrap_or(value).to_string();
        match name {
            IDENTITY => self.identity = text,
            EFFORT => {
                self.effort = text;
                self.harmony_effort()?;
            }
            CUTOFF => self.cutoff = text,
            BUILTIN => {
                let names = parsed.as_array().map(|names| {
                    names.iter().map(|name| name.as_str().unwrap_or_default()).collect()
                });
                let names: Vec<&str> =
                    names.unwrap_or_else(|| text.split(',').map(str::trim).collect());
                if let Some(other) = names.iter().find(|name| !TOOLS.contains(name)) {
                    return Err(format!("{BUILTIN} {other:?}: gpt-oss has {}", TOOLS.join(", ")));
                }
                self.builtin_tools = names.into_iter().map(str::to_string).collect();
            }
            KEEP_REASONING => {
                let is_kept = parsed.as_bool();
                self.keeps_reasoning =
                    is_kept.ok_or_else(|| format!("{KEEP_REASONING} is true or false"))?;
            }
            DATE => return Err(format!("{DATE}: its option is --date")),
            other => {
                let known = [EFFORT, IDENTITY, BUILTIN, CUTOFF, KEEP_REASONING].join(", ");
                return Err(format!("{other}: gpt-oss has no such variable, only {known}"));
            }
        }
        Ok(())
    }

    /// Returns the settings for one record. Settings that the record states win, first those in
    /// `chat_template_kwargs`, then those at its top level.
    pub(super) fn of<'s>(
        &'s self,
        record: &Json<'_>,
        left_out: &mut LeftOutCounts,
    ) -> Result<Cow<'s, HarmonySettings>, String> {
        let mut settings = Cow::Borrowed(self);
        let kwargs = kwargs_of(record)?;
        let said = |key: &str| kwargs.and_then(|kwargs| kwargs.get(key)).or(record.get(key));
        let text = |key: &str, value: &Json<'_>| match value.text() {
            Some(text) => Ok(text.to_string()),
            None => Err(format!("{key} is a {}, wanted a string", value.type_name())),
        };
        let effort = record.get("reasoning").and_then(|reasoning| reasoning.get("effort"));
        if let Some(value) = said(EFFORT).or(effort) {
            settings.to_mut().effort = text(EFFORT, value)?;
        }
        if let Some(value) = said(IDENTITY) {
            settings.to_mut().identity = text(IDENTITY, value)?;
        }
        if let Some(value) = said(DATE) {
            settings.to_mut().date = text(DATE, value)?;
        }
        if let Some(value) = said(CUTOFF) {
            settings.to_mut().cutoff = text(CUTOFF, value)?;
        }
        if let Some(value) = said(BUILTIN) {
            let names =
                value.list().ok_or_else(|| format!("{BUILTIN} is a {}", value.type_name()))?;
            let names = names.iter().map(|name| text(BUILTIN, name));
            let names = names.collect::<Result<Vec<String>, String>>()?;
            for name in &names {
                let is_known = TOOLS.contains(&name.as_str());
                left_out.count(&format!("{BUILTIN}.{name}"), !is_known);
            }
            settings.to_mut().builtin_tools = names;
        }
        for (key, value) in kwargs.map(Json::entries).unwrap_or_default() {
            let is_read = [EFFORT, IDENTITY, DATE, CUTOFF, BUILTIN].contains(&&**key);
            left_out.count(&format!("{KWARGS}.{key}"), !is_read && value.is_true());
        }
        Ok(settings)
    }

    /// Returns the settings as a header states them.
    pub fn to_json(&self) -> Value {
        json!({
            IDENTITY: self.identity,
            EFFORT: self.effort,
            DATE: self.date,
            CUTOFF: self.cutoff,
            BUILTIN: self.builtin_tools,
            KEEP_REASONING: self.keeps_reasoning,
        })
    }

    /// Returns the JSON of the system message.
    pub(super) fn message(&self) -> Result<String, String> {
        let mut content = json!({
            "type": "system_content",
            "model_identity": self.identity,
            "reasoning_effort": self.harmony_effort()?,
            "conversation_start_date": self.date,
            "knowledge_cutoff": self.cutoff,
            "channel_config": {
                "valid_channels": ["analysis", "commentary", "final"],
                "channel_required": true,
            },
        });
        if !self.builtin_tools.is_empty() {
            content["tools"] = builtin_tools(&self.builtin_tools);
        }
        let content = PythonFormatter::SPACED.text(&content).map_err(|error| error.to_string())?;
        Ok(format!("{{\"role\": \"system\", \"content\": [{content}]}}"))
    }

    /// Returns the effort under the name that Harmony has for it.
    fn harmony_effort(&self) -> Result<&'static str, String> {
        match self.effort.to_ascii_lowercase().as_str() {
            "low" => Ok("Low"),
            "medium" => Ok("Medium"),
            "high" => Ok("High"),
            _ => Err(format!("{EFFORT} '{}': Harmony has low, medium and high", self.effort)),
        }
    }
}

/// Returns Harmony's own tools as openai-harmony 0.0.8 has them, by name; it knows no others.
fn builtin_tools(names: &[String]) -> Value {
    let is_wanted = |name: &str| names.iter().any(|wanted| wanted == name);
    let mut tools = Map::new();
    if is_wanted("browser") {
        tools.insert("browser".to_string(), browser());
    }
    if is_wanted("python") {
        let python = json!({"name": "python", "description": PYTHON, "tools": []});
        tools.insert("python".to_string(), python);
    }
    Value::Object(tools)
}

/// Returns `ToolNamespaceConfig.browser()` of openai-harmony 0.0.8.
fn browser() -> Value {
    let number = json!({"type": "number", "default": -1});
    let text = json!({"type": "string"});
    json!({
        "name": "browser",
        "description": BROWSER,
        "tools": [
            {
                "name": "search",
                "description": SEARCH,
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
                "description": OPEN,
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
                "description": FIND,
                "parameters": {
                    "type": "object",
                    "properties": {"pattern": text, "cursor": number},
                    "required": ["pattern"],
                },
            },
        ],
    })
}

const BROWSER: &str = "\
    Tool for browsing.\n\
    The `cursor` appears in brackets before each browsing display: `[{cursor}]`.\n\
    Cite information from the tool using the following format:\n\
    `【{cursor}†L{line_start}(-L{line_end})?】`, for example: `【6†L9-L11】` or `【8†L3】`.\n\
    Do not quote more than 10 words directly from the tool output.\n\
    sources=web (default: web)";

const SEARCH: &str = "\
    Searches for information related to `query` and displays `topn` results.";

const OPEN: &str = "\
    Opens the link `id` from the page indicated by `cursor` starting at line number `loc`, showing `num_lines` \
    lines.\n\
    Valid link ids are displayed with the formatting: `【{id}†.*】`.\n\
    If `cursor` is not provided, the most recent page is implied.\n\
    If `id` is a string, it is treated as a fully qualified URL associated with `source`.\n\
    If `loc` is not provided, the viewport will be positioned at the beginning of the document or centered on \
    the most relevant passage, if available.\n\
    Use this function without `id` to scroll to a new location of an opened page.";

const FIND: &str = "\
    Finds exact matches of `pattern` in the current page, or the page given by `cursor`.";

const PYTHON: &str = "\
    Use this tool to execute Python code in your chain of thought. The code will not be shown to the user. This \
    tool should be used for internal reasoning, but not for code that is intended to be visible to the user \
    (e.g. when creating plots, tables, or files).\n\
    \n\
    When you send a message containing Python code to python, it will be executed in a stateful Jupyter \
    notebook environment. python will respond with the output of the execution or time out after 120.0 seconds. \
    The drive at '/mnt/data' can be used to save and persist user files. Internet access for this session is \
    UNKNOWN. Depends on the cluster.";
