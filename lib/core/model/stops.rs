//! The tokens that end turns: those that the folder's configurations state, those that the user names, and the
//! special token with which the template itself ends an answer.

use gristmill_models::Folder;
use gristmill_template::{Chat, Template, Value};

/// Returns the texts of the tokens that end turns, each once.
pub fn stops(folder: &Folder, template: &Template, named: &[String]) -> Vec<String> {
    let stated = folder.stop_tokens().iter().map(|stop| stop.text.clone());
    let mut stops: Vec<String> = Vec::new();
    for stop in named.iter().cloned().chain(stated).chain(of_template(folder, template)) {
        if !stop.is_empty() && !stops.contains(&stop) {
            stops.push(stop);
        }
    }
    stops
}

/// Texts that no template contains.
const ASKED: &str = "zqAskedqz";
const ANSWERED: &str = "zqAnsweredqz";

/// Returns the special token that follows an answer, if it follows a last one and one before another question.
/// (What stands only between two messages may begin the next one.)
fn of_template(folder: &Folder, template: &Template) -> Option<String> {
    let last = after_answer(folder, template, 1)?;
    let earlier = after_answer(folder, template, 2)?;
    (last == earlier).then_some(last)
}

/// Returns the special token that follows the first answer of so many turns.
fn after_answer(folder: &Folder, template: &Template, turns: usize) -> Option<String> {
    let message = |role: &str, content: &str| {
        let entries = [("role".into(), role.into()), ("content".into(), content.into())];
        Value::dict(entries).ok()
    };
    let turn = [message("user", ASKED)?, message("assistant", ANSWERED)?];
    let chat = Chat::new(turn.iter().cycle().take(2 * turns).cloned().collect()).ok()?;
    let text = template.render(&chat, false).ok()?;
    let (_, after) = text.split_once(ANSWERED)?;
    let after = after.trim_start();
    let special = folder.tokenizer().added_tokens().iter().filter(|token| token.special);
    let starts = special.filter(|token| after.starts_with(&*token.content));
    starts.map(|token| token.content.to_string()).max_by_key(String::len)
}
