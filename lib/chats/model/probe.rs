//! What a template does with parts of messages, seen by rendering small chats.

use gristmill_template::{Chat, Template, Value};

/// A text that no template contains.
const SAID: &str = "zqSaidqz";

const QUESTION: &str = r#"{"role": "user", "content": "zqAskedqz"}"#;
const PARTS: &str = r#"{"role": "user", "content": [{"type": "text", "text": "zqAskedqz"}]}"#;

/// The forms of the arguments of a call that a template writes right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgumentForms {
    /// An object: it comes out as JSON, or in words of the template, but not in Python's.
    pub object: bool,
    /// The text of JSON: it comes out as one object of JSON.
    pub text: bool,
}

/// The keys under which templates read reasoning, the usual one first.
const KEYS: [&str; 2] = ["reasoning_content", "reasoning"];

/// Returns the key under which a template reads the reasoning of a message; none if it reads none.
pub fn reasoning_key(template: &Template) -> Option<&'static str> {
    let with = |key: &str, message: &str| message.replace("KEY", key);
    let answer = r#"{"role": "assistant", "content": "zqAnswerqz", "KEY": "zqSaidqz"}"#;
    let call = r#"{"role": "assistant", "content": "", "KEY": "zqSaidqz", "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": "b"}}}]}"#;
    let shows = |key: &&&str| {
        let messages = [answer, call].map(|message| with(key, message));
        messages.iter().any(|message| rendered(template, message).is_some_and(|t| t.contains(SAID)))
    };
    KEYS.iter().find(shows).copied()
}

/// Returns the forms that come out right.
pub fn argument_forms(template: &Template) -> ArgumentForms {
    let of = |arguments: &str| {
        let call = r#"{"role": "assistant", "content": "", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": ARGUMENTS}}]}"#;
        rendered(template, &call.replace("ARGUMENTS", arguments)).unwrap_or_default()
    };
    let object = of(r#"{"zqKeyqz": "zqSaidqz"}"#);
    let text = of(r#""{\"zqKeyqz\": \"zqSaidqz\"}""#);
    ArgumentForms {
        object: object.contains(SAID) && !object.contains("'zqKeyqz': 'zqSaidqz'"),
        text: objects(&text).any(|object| object == serde_json::json!({"zqKeyqz": SAID})),
    }
}

/// Whether a template shows contents that are lists of parts, and none that is a text.
pub fn reads_parts_alone(template: &Template) -> bool {
    let shows = |content: &str| {
        let answer = r#"{"role": "assistant", "content": CONTENT}"#.replace("CONTENT", content);
        let [text, parts] = [QUESTION, PARTS];
        let question = if content.starts_with('[') { parts } else { text };
        shown(template, [question, &answer]).is_some_and(|text| text.contains(SAID))
    };
    !shows(r#""zqSaidqz""#) && shows(r#"[{"type": "text", "text": "zqSaidqz"}]"#)
}

/// The objects of JSON that begin in a text. (One that a template puts into braces of its own is none.)
fn objects(text: &str) -> impl Iterator<Item = serde_json::Value> {
    let begins = text.match_indices('{').filter(|(at, _)| !text[..*at].ends_with('{'));
    begins.filter_map(|(at, _)| {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter();
        values.next()?.ok()
    })
}

/// Renders a question and a message.
fn rendered(template: &Template, message: &str) -> Option<String> {
    shown(template, [QUESTION, message])
}

fn shown(template: &Template, messages: [&str; 2]) -> Option<String> {
    let messages = messages.map(|message| Value::from_json(message).ok());
    let chat = Chat::new(messages.into_iter().collect::<Option<_>>()?).ok()?;
    template.render(&chat, false).ok()
}
