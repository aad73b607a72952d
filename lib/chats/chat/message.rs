//! Reads one message of a chat, from the keys of any common format.

use std::borrow::Cow;

use super::left_out::LeftOutCounts;
use super::text::Text;
use super::tools::{not_json, readable};
use super::value::Json;
use crate::harmony::Role;
use crate::json::{Error, Kind, Reader};
use crate::record::chat::{MEANINGFUL, Meaning, number, of_messages};

/// A message before its place in the chat is checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft<'r> {
    /// Its index in the list that it came from, from 0.
    pub index: usize,
    pub role: Role,
    pub content: Option<Content<'r>>,
    /// The reasoning before the content.
    pub thinking: Option<Cow<'r, str>>,
    /// The field that the reasoning is in; none if it stands in the content.
    pub thinking_field: Option<&'static str>,
    pub calls: Vec<Call<'r>>,
    /// The id of the call that a tool's result answers.
    pub call_id: Option<&'r str>,
    pub name: Option<&'r str>,
    /// Whether it may be trained on.
    pub is_trained: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content<'r> {
    Text(Cow<'r, str>),
    /// A tool's result as it was given.
    Given(&'r Text<'r>),
    /// A tool's result that is not text.
    Json(&'r Json<'r>),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call<'r> {
    pub id: Option<Cow<'r, str>>,
    /// The name without `functions.`.
    pub name: Cow<'r, str>,
    /// The text of a JSON object.
    pub arguments: Cow<'r, str>,
    /// Whether the arguments were given as an object: a table adds nulls to it.
    pub is_object: bool,
}

impl Call<'_> {
    pub fn into_owned(self) -> Call<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        let Call { id, name, arguments, is_object } = self;
        let (id, arguments) = (id.map(owned), owned(arguments));
        Call { id, name: owned(name), arguments, is_object }
    }
}

/// The keys under which a format's messages have role and content.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    pub role: &'static str,
    pub content: &'static str,
    /// Whether roles may be in capitals, and calls may be turns of their own.
    pub is_sharegpt: bool,
}

/// The keys of OpenAI's format.
pub const OPENAI: Keys = Keys { role: "role", content: "content", is_sharegpt: false };
/// The keys of ShareGPT's format.
pub const SHAREGPT: Keys = Keys { role: "from", content: "value", is_sharegpt: true };

/// The keys of a message that are read besides the keys of [`of_messages`]. All others are left
/// out and counted.
const KNOWN: [&str; 6] = ["role", "content", "from", "value", "type", "id"];

/// Keys of Harmony's own messages.
const HARMONY: [&str; 3] = ["channel", "recipient", "content_type"];

impl<'r> Draft<'r> {
    pub fn new(index: usize, role: Role) -> Draft<'r> {
        Draft {
            index,
            role,
            content: None,
            thinking: None,
            thinking_field: None,
            calls: Vec::new(),
            call_id: None,
            name: None,
            is_trained: true,
        }
    }

    /// Makes a message that is text only.
    pub fn of_text(index: usize, role: Role, text: &'r str) -> Draft<'r> {
        Draft { content: Some(Content::Text(text.into())), ..Draft::new(index, role) }
    }

    /// Does not train on an answer of which an object states that it was cut.
    pub fn ends_as(&mut self, object: &Json<'_>, left_out: &mut LeftOutCounts) {
        if let Some((key, value)) = cut(object).filter(|_| self.role == Role::Assistant) {
            self.is_trained = false;
            left_out.cut_answer(key, value);
        }
    }

    /// Returns the content, if it is text.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Some(Content::Text(text)) => Some(text),
            Some(Content::Given(text)) => Some(text),
            _ => None,
        }
    }

    /// Whether it says nothing and calls nothing.
    pub fn is_without_text(&self) -> bool {
        self.calls.is_empty() && self.text().is_none_or(|text| text.trim().is_empty())
    }
}

/// Reads an object as a message.
pub fn read<'r>(
    object: &'r Json<'r>,
    index: usize,
    keys: Keys,
    left_out: &mut LeftOutCounts,
) -> Result<Draft<'r>, String> {
    let within = |cause: String| format!("message {index}: {cause}");
    if !object.is_object() {
        return Err(within(format!("a {}, wanted an object", object.type_name())));
    }
    object.entries().iter().try_for_each(|(key, value)| value.refuse_nan(key)).map_err(within)?;
    let role = object.get(keys.role).ok_or_else(|| within("no role".to_string()))?;
    let role = role.text().ok_or_else(|| within(format!("role is a {}", role.type_name())))?;
    let is_call = |name: &&str| role.replace('-', "_").eq_ignore_ascii_case(name);
    if ["function_call", "tool_call"].iter().any(is_call) {
        return read_call_turn(object, index, keys, left_out).map_err(within);
    }
    let role = role_of(role, keys).ok_or_else(|| within(format!("unknown role '{role}'")))?;
    let draft = read_fields(Draft::new(index, role), object, left_out).map_err(within)?;
    let content = read_content(object, keys, role, left_out).map_err(within)?;
    Ok(Draft { content, ..draft })
}

fn role_of(name: &str, keys: Keys) -> Option<Role> {
    let lower = name.to_ascii_lowercase().replace('-', "_");
    Some(match if keys.is_sharegpt { lower.as_str() } else { name } {
        "human" => Role::User,
        "gpt" | "bot" | "model" | "chatgpt" => Role::Assistant,
        "function" | "observation" | "ipython" | "tool_response" | "function_response"
        | "tool_result" | "environment" => Role::Tool,
        other => return Role::from_name(other),
    })
}

/// Reads a turn of ShareGPT whose content is one call or several, as JSON.
fn read_call_turn<'r>(
    object: &'r Json<'r>,
    index: usize,
    keys: Keys,
    left_out: &mut LeftOutCounts,
) -> Result<Draft<'r>, String> {
    let calls = match object.get(keys.content).ok_or("function_call without a value")? {
        Json::Text(text) => calls_in(text, "function_call")?,
        value => {
            let list = value.list().unwrap_or(std::slice::from_ref(value));
            list.iter().map(read_call).collect::<Result<Vec<_>, String>>()?
        }
    };
    Ok(Draft { calls, ..read_fields(Draft::new(index, Role::Assistant), object, left_out)? })
}

/// Reads calls that are the text of JSON, one or a list. Their arguments are as the model wrote them.
pub fn calls_in(text: &str, what: &str) -> Result<Vec<Call<'static>>, String> {
    let parsed = Json::parse(text).map_err(|error| format!("{what}: {}", not_json(text, error)))?;
    let list = parsed.list().unwrap_or(std::slice::from_ref(&parsed)).iter();
    let call = |call| Ok(Call { is_object: false, ..read_call(call)?.into_owned() });
    list.filter(|call| **call != Json::Null).map(call).collect()
}

/// Reads all of a message except its content.
fn read_fields<'r>(
    mut draft: Draft<'r>,
    object: &'r Json<'r>,
    left_out: &mut LeftOutCounts,
) -> Result<Draft<'r>, String> {
    // (Most messages have no other field: looking for each takes a twentieth of the time of a chat.)
    if object.entries().iter().all(|(key, _)| KNOWN.contains(&&**key)) {
        return Ok(draft);
    }
    if let Some(key) = HARMONY.iter().find(|key| object.get(key).is_some()) {
        return Err(format!("has \"{key}\": this is a Harmony message; try: harmony-tok"));
    }
    draft.is_trained = is_trained(object)?;
    let is_assistant = draft.role == Role::Assistant;
    if let Some((field, text)) = read_reasoning(object, is_assistant, left_out)? {
        (draft.thinking, draft.thinking_field) = (Some(text), Some(field));
    }
    refuse_misplaced(object, draft.thinking.is_some())?;
    if is_assistant {
        draft.calls = read_calls(object)?;
    }
    draft.ends_as(object, left_out);
    if draft.role == Role::Tool {
        draft.call_id = id_of(object, "tool_call_id")?.or(id_of(object, "call_id")?);
        draft.name = object.get("name").and_then(Json::text).filter(|name| !name.is_empty());
    }
    for (key, value) in object.entries() {
        let meaning = of_messages().find(|(known, _)| *known == key).map(|(_, meaning)| meaning);
        let is_read = match &**key {
            "name" | "tool_call_id" | "call_id" => draft.role == Role::Tool,
            key => KNOWN.contains(&key),
        };
        match meaning {
            // In a message of another role such a value has no place.
            Some(Meaning::Said) => left_out.count(key, !is_assistant && value.is_true()),
            Some(Meaning::Misplaced(_)) => left_out.count(key, value.is_true()),
            // All other known fields are counted above, or read.
            Some(_) => {}
            None if key == "tool_call_id" => left_out.count(key, !is_read && value.is_true()),
            None if !is_read && value.says() => left_out.unread_field(key),
            None => {}
        }
    }
    Ok(draft)
}

/// Reads the reasoning of a message and its field; several fields may repeat it. Reasoning of another role than the
/// assistant is left out and counted.
fn read_reasoning<'r>(
    object: &'r Json<'r>,
    is_assistant: bool,
    left_out: &mut LeftOutCounts,
) -> Result<Option<(&'static str, Cow<'r, str>)>, String> {
    let mut reasoning: Option<(&'static str, Cow<'r, str>)> = None;
    for (key, _) in of_messages().filter(|(_, meaning)| *meaning == Meaning::Reasoning) {
        let Some(value) = object.get(key) else { continue };
        let text = text_of(value).map_err(|cause| format!("{key} {cause}"))?;
        match &reasoning {
            _ if !is_assistant => left_out.count(key, !text.is_empty()),
            _ if text.is_empty() => {}
            Some((first, said)) if said.trim() != text.trim() => {
                return Err(format!("{first} and {key} are two reasonings; give one of them"));
            }
            Some(_) => {}
            None => reasoning = Some((key, text)),
        }
    }
    Ok(reasoning)
}

/// Fails if a field has a value that would be lost. (Details of a reasoning that is read as text may be lost.)
fn refuse_misplaced(object: &Json<'_>, has_reasoning: bool) -> Result<(), String> {
    for (key, meaning) in of_messages() {
        let Meaning::Misplaced(hint) = meaning else { continue };
        let is_said = key == "reasoning_details" && has_reasoning;
        if !is_said && object.get(key).is_some_and(Json::is_true) {
            return Err(format!("has \"{key}\", which is not read here; {hint}"));
        }
    }
    Ok(())
}

/// Whether a message may be trained on: all fields that state it must agree. (By default messages
/// of an assistant may.)
fn is_trained(object: &Json<'_>) -> Result<bool, String> {
    let mut is_trained = true;
    for (key, meaning) in of_messages() {
        let Some(value) = object.get(key) else { continue };
        is_trained &= match meaning {
            Meaning::TrainedPart => refuse_trained_part(key, value)?,
            Meaning::Weight => {
                let said = flag(value).filter(|_| !matches!(value, Json::Boolean(_)));
                said.ok_or_else(|| format!("{key} must be 0 or 1"))?
            }
            Meaning::Trained => {
                flag(value).ok_or_else(|| format!("{key} must be true or false"))?
            }
            _ => true,
        };
    }
    Ok(is_trained)
}

/// Fails if only a part of the message is to be trained on.
pub fn refuse_trained_part(key: &str, value: &Json<'_>) -> Result<bool, String> {
    match flag(value).unwrap_or(!value.is_true()) {
        true => Ok(true),
        false => Err(format!("has \"{key}\", which is not read; give train: false, or weight: 0")),
    }
}

/// Returns what states that the answer of a record or message was cut: the key and its value.
fn cut<'r>(object: &'r Json<'_>) -> Option<(&'static str, &'r str)> {
    const CUT: [&str; 5] =
        ["length", "max_tokens", "max_output_tokens", "incomplete", "content_filter"];
    let mut stated = MEANINGFUL.iter().filter(|field| field.of_message == Some(Meaning::Finish));
    stated.find_map(|field| {
        let value = object.get(field.name).and_then(Json::text)?;
        CUT.contains(&value.to_ascii_lowercase().as_str()).then_some((field.name, value))
    })
}

/// Reads true or false, 1 or 0, also as text.
pub fn flag(value: &Json<'_>) -> Option<bool> {
    let of_number = |text: &str| match number(text) {
        Some(0.0) => Some(false),
        Some(1.0) => Some(true),
        _ => None,
    };
    match value {
        Json::Boolean(is) => Some(*is),
        Json::Text(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Json::Text(text) if text.eq_ignore_ascii_case("false") => Some(false),
        Json::Number(text) => of_number(text),
        Json::Text(text) => of_number(text),
        _ => None,
    }
}

fn read_content<'r>(
    object: &'r Json<'r>,
    keys: Keys,
    role: Role,
    left_out: &mut LeftOutCounts,
) -> Result<Option<Content<'r>>, String> {
    let refusal = object.get("refusal").filter(|_| role == Role::Assistant).and_then(Json::text);
    let refusal = refusal.filter(|text| !text.is_empty());
    let is_empty = |value: &&Json<'_>| refusal.is_some() && value.text() == Some("");
    let Some(value) = object.get(keys.content).filter(|value| !is_empty(value)) else {
        return Ok(refusal.map(|text| Content::Text(text.into())));
    };
    left_out.count("refusal", refusal.is_some());
    if role == Role::Tool {
        return tool_result(value).map(Some);
    }
    text_of(value).map(|text| Some(Content::Text(text))).map_err(|cause| match cause {
        Cause::Type(name) => {
            format!("content is a {name}, wanted a string, null or a list of text parts")
        }
        Cause::Part(cause) => format!("content {cause}"),
    })
}

/// Reads the result of a tool: text, parts of text, or any JSON.
pub fn tool_result<'r>(value: &'r Json<'r>) -> Result<Content<'r>, String> {
    let is_part = |part: &Json| part.get("type").is_some_and(|kind| kind.text().is_some());
    match value {
        Json::Text(text) => Ok(Content::Given(text)),
        Json::List(parts) if !parts.is_empty() && parts.iter().all(is_part) => {
            let text = match &parts[..] {
                [part] => part_text(part).map(Content::Given),
                _ => text_of(value).map(Content::Text),
            };
            text.map_err(|cause| format!("content {cause}"))
        }
        other => Ok(Content::Json(other)),
    }
}

/// Why a value is not text.
enum Cause {
    Type(&'static str),
    Part(String),
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cause::Type(name) => write!(f, "is a {name}, wanted a string"),
            Cause::Part(cause) => f.write_str(cause),
        }
    }
}

/// Returns a text, or the texts of parts, joined without a separator.
fn text_of<'r>(value: &'r Json<'r>) -> Result<Cow<'r, str>, Cause> {
    let parts = match value {
        Json::Text(text) => return Ok(Cow::Borrowed(text)),
        Json::List(parts) => parts,
        other => return Err(Cause::Type(other.type_name())),
    };
    let text = |part| part_text(part).map(|text| &**text);
    let texts = parts.iter().map(text).collect::<Result<Vec<&'r str>, Cause>>()?;
    Ok(match texts.as_slice() {
        [only] => Cow::Borrowed(only),
        texts => Cow::Owned(texts.concat()),
    })
}

fn part_text<'r>(part: &'r Json<'r>) -> Result<&'r Text<'r>, Cause> {
    let kind = part.get("type").and_then(Json::text);
    let member = |key| match part.get(key) {
        Some(Json::Text(text)) => Some(text),
        _ => None,
    };
    // (The parts of LLaMA-Factory have a value.)
    let text = if part.get("text").is_some() { member("text") } else { member("value") };
    match (kind, text) {
        (None | Some("text" | "input_text" | "output_text"), Some(text)) => Ok(text),
        (Some("summary_text" | "reasoning_text"), Some(text)) => Ok(text),
        (Some("refusal"), None) => match member("refusal") {
            Some(text) => Ok(text),
            None => Err(Cause::Part("part of type 'refusal' is not text".to_string())),
        },
        (Some(kind), _) if BLOCKS.contains(&kind) => Err(Cause::Part(format!(
            "part of type '{kind}' is a block of Anthropic's API, which is not read; give tool_calls, and messages of \
             the role tool"
        ))),
        (Some(kind), _) => Err(Cause::Part(format!("part of type '{kind}' is not text"))),
        (None, _) => Err(Cause::Part(format!("part is a {}, not text", part.type_name()))),
    }
}

/// Parts of a content as Anthropic's API has them that are calls and results.
const BLOCKS: [&str; 5] =
    ["tool_use", "tool_result", "server_tool_use", "web_search_tool_result", "redacted_thinking"];

/// Returns the text of a value that may be parts; `what` names the value in errors.
pub fn text<'r>(value: &'r Json<'r>, what: &str) -> Result<Cow<'r, str>, String> {
    text_of(value).map_err(|cause| format!("{what} {cause}"))
}

fn read_calls<'r>(object: &'r Json<'r>) -> Result<Vec<Call<'r>>, String> {
    let mut calls = Vec::new();
    match object.get("tool_calls") {
        None => {}
        Some(Json::Text(text)) if text.trim().is_empty() => {}
        Some(Json::Text(text)) => calls = calls_in(text, "tool_calls")?,
        Some(Json::List(list)) => {
            for value in list.iter().filter(|value| **value != Json::Null) {
                match value.text() {
                    Some(text) => calls.extend(calls_in(text, "tool_calls")?),
                    None => calls.push(read_call(value)?),
                }
            }
        }
        Some(value) => return Err(format!("tool_calls is a {}", value.type_name())),
    }
    if let Some(value) = object.get("function_call") {
        calls.push(read_call(value)?);
    }
    Ok(calls)
}

/// Reads a call: `{id, function: {name, arguments}}`, or without `function`.
pub fn read_call<'r>(object: &'r Json<'r>) -> Result<Call<'r>, String> {
    let function = object.get("function").unwrap_or(object);
    let name = function.get("name").and_then(Json::text).map(without_namespace);
    let name = name.filter(|name| !name.is_empty()).ok_or("a tool call without a name")?;
    readable("function", name)?;
    // (Items of the Responses API have both; results name the latter.)
    let id = id_of(object, "call_id")?.or(id_of(object, "id")?).map(Cow::Borrowed);
    // (Llama's calls name their arguments "parameters".)
    let value = ["arguments", "parameters"].into_iter().find_map(|key| function.get(key));
    let unread = ["args", "input", "kwargs"].into_iter().find(|key| function.get(key).is_some());
    let arguments = match value {
        None if let Some(key) = unread => {
            return Err(format!("the call of {name} has \"{key}\"; give arguments"));
        }
        None => Cow::Borrowed("{}"),
        // Servers write a call without arguments in this way.
        Some(Json::Text(text)) if text.trim().is_empty() => Cow::Borrowed("{}"),
        Some(Json::Text(text)) => Cow::Borrowed(&**text),
        Some(value @ Json::Object(_)) => Cow::Owned(value.python_json()),
        Some(_) => return Err(format!("arguments of {name} are not a JSON object")),
    };
    let is_object = matches!(value, Some(Json::Object(_)));
    match kind_of(&arguments) {
        Ok(Kind::Object) => {}
        Ok(_) => return Err(format!("arguments of {name} are not a JSON object")),
        Err(e) => return Err(format!("arguments of {name}: {}", not_json(&arguments, e))),
    }
    Ok(Call { id, name: Cow::Borrowed(name), arguments, is_object })
}

/// Returns the kind of a JSON value; NaN and infinity are errors.
fn kind_of(text: &str) -> Result<Kind, Error> {
    let mut reader = Reader::new(text);
    let kind = reader.peek()?;
    reader.skip()?;
    reader.end()?;
    Ok(kind)
}

/// Returns the id of a call under `key`; an empty id is `None`.
pub fn id_of<'r>(object: &'r Json<'r>, key: &str) -> Result<Option<&'r str>, String> {
    match object.get(key) {
        None => Ok(None),
        Some(Json::Text(id)) => Ok(Some(&**id).filter(|id| !id.is_empty())),
        Some(other) => Err(format!("{key} is a {}, wanted a string", other.type_name())),
    }
}

/// Removes the namespace from the name of a function.
pub fn without_namespace(name: &str) -> &str {
    name.strip_prefix("functions.").unwrap_or(name)
}
