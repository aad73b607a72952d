//! The tokens that end turns: stop tokens of the folder's configurations, tokens that the user names, and, where none of
//! these does, the special tokens with which the template itself ends answers and calls.

use gristmill_models::Folder;
use gristmill_template::{Chat, Template, Value};

/// Returns the texts of the tokens that end turns, each once. `templates`: for chats without tools, and with tools.
pub fn stops(folder: &Folder, templates: [&Template; 2], named: &[String]) -> Vec<String> {
    let stated = folder.stop_tokens().iter().map(|stop| stop.text.clone());
    let probe = Probe { folder, templates };
    let mut stops: Vec<String> = Vec::new();
    for stop in named.iter().cloned().chain(stated) {
        if !stop.is_empty() && !stops.contains(&stop) {
            stops.push(stop);
        }
    }
    let after_answers = probe.ends(0, &[QUESTION, ANSWER], &stops);
    stops.extend(after_answers);
    let after_calls = probe.ends(1, &[QUESTION, CALL], &stops);
    stops.extend(after_calls);
    stops
}

// Texts that no template contains.
const SAID: &str = "zqSaidqz";

const QUESTION: &str = r#"{"role": "user", "content": "zqAskedqz"}"#;
const ANSWER: &str = r#"{"role": "assistant", "content": "zqSaidqz"}"#;
const CALL: &str = r#"{"role": "assistant", "content": "", "tool_calls": [
    {"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": "zqSaidqz"}}}]}"#;

/// Renders small chats to see what the templates put behind the turns of the assistant.
struct Probe<'f> {
    folder: &'f Folder,
    templates: [&'f Template; 2],
}

impl Probe<'_> {
    /// Returns the special token with which a chat ends whose last turn no known stop token ends.
    fn ends(&self, template: usize, messages: &[&str], stops: &[String]) -> Option<String> {
        let after = self.after_said(template, messages)?;
        if stops.iter().any(|stop| after.contains(stop)) {
            return None;
        }
        let after = after.trim_end();
        let special = self.folder.tokenizer().added_tokens().iter().filter(|token| token.special);
        let last = special.filter(|token| after.ends_with(&*token.content));
        last.max_by_key(|token| token.content.len()).map(|token| token.content.to_string())
    }

    /// Returns what follows the first turn of the assistant in the text of a chat.
    fn after_said(&self, template: usize, messages: &[&str]) -> Option<String> {
        let messages = messages.iter().map(|message| Value::from_json(message).ok());
        let chat = Chat::new(messages.collect::<Option<_>>()?).ok()?;
        let text = self.templates[template].render(&chat, false).ok()?;
        text.split_once(SAID).map(|(_, after)| after.to_string())
    }
}
