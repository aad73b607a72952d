//! The tokens that end turns: stop tokens of the folder's configurations, tokens that the user names, and the
//! special tokens with which the template itself ends answers and calls.

use gristmill_models::Folder;
use gristmill_template::{Chat, Template, Value};

/// Returns the texts of the tokens that end turns, each once. `templates`: for chats without tools, and with tools.
pub fn stops(folder: &Folder, templates: [&Template; 2], named: &[String]) -> Vec<String> {
    let stated = folder.stop_tokens().iter().map(|stop| stop.text.clone());
    let probe = Probe { folder, templates };
    let mut stops: Vec<String> = Vec::new();
    for stop in named.iter().cloned().chain(stated).chain(probe.after_answers()) {
        if !stop.is_empty() && !stops.contains(&stop) {
            stops.push(stop);
        }
    }
    let after_calls = probe.after_calls(&stops);
    stops.extend(after_calls);
    stops
}

// Texts that no template contains.
const SAID: &str = "zqSaidqz";
const RESULT_TEXT: &str = "zqResultqz";

const QUESTION: &str = r#"{"role": "user", "content": "zqAskedqz"}"#;
const ANSWER: &str = r#"{"role": "assistant", "content": "zqSaidqz"}"#;
const CALL: &str = r#"{"role": "assistant", "content": "", "tool_calls": [
    {"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": "zqSaidqz"}}}]}"#;
const RESULT: &str = r#"{"role": "tool", "tool_call_id": "c", "content": "zqResultqz"}"#;

/// Renders small chats to see what the templates put behind the turns of the assistant.
struct Probe<'f> {
    folder: &'f Folder,
    templates: [&'f Template; 2],
}

impl Probe<'_> {
    /// Returns the special token that follows an answer, if it follows both a last answer and an answer before another
    /// question. (A token that stands only between two messages may begin the next message.)
    fn after_answers(&self) -> Option<String> {
        let follows = |messages: &[&str]| {
            let after = self.after_said(0, messages)?;
            let (at, token) = self.special(&after)?;
            after[..at].trim_start().is_empty().then_some(token)
        };
        let last = follows(&[QUESTION, ANSWER])?;
        (last == follows(&[QUESTION, ANSWER, QUESTION, ANSWER])?).then_some(last)
    }

    /// Returns the first special token after a call, if it follows both a last call and a call before its result, and
    /// if no known stop token follows a call.
    fn after_calls(&self, stops: &[String]) -> Option<String> {
        let follows = |messages: &[&str]| {
            let after = self.after_said(1, messages)?;
            let after = after.split(RESULT_TEXT).next()?;
            let is_known = stops.iter().any(|stop| after.contains(stop));
            self.special(after).filter(|_| !is_known).map(|(_, token)| token)
        };
        let last = follows(&[QUESTION, CALL])?;
        (last == follows(&[QUESTION, CALL, RESULT])?).then_some(last)
    }

    /// Returns what follows the first turn of the assistant in the text of a chat.
    fn after_said(&self, template: usize, messages: &[&str]) -> Option<String> {
        let messages = messages.iter().map(|message| Value::from_json(message).ok());
        let chat = Chat::new(messages.collect::<Option<_>>()?).ok()?;
        let text = self.templates[template].render(&chat, false).ok()?;
        text.split_once(SAID).map(|(_, after)| after.to_string())
    }

    /// Returns the first special token in a text with its place; the longer one if two begin at the same place.
    fn special(&self, text: &str) -> Option<(usize, String)> {
        let special = self.folder.tokenizer().added_tokens().iter().filter(|token| token.special);
        let places =
            special.filter_map(|token| Some((text.find(&*token.content)?, &token.content)));
        let first = places.min_by_key(|(at, content)| (*at, usize::MAX - content.len()));
        first.map(|(at, content)| (at, content.to_string()))
    }
}
