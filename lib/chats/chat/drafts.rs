//! The messages of a record before they are normalized, as lists, questions and columns of system texts
//! hold them.

use std::borrow::Cow;

use super::left_out::LeftOutCounts;
use super::message::{self, Content, Draft, Keys, OPENAI, SHAREGPT, text};
use super::normalize::MESSAGES;
use super::value::Json;
use crate::harmony::Role;

/// The messages of a record, in order.
#[derive(Debug, Default)]
pub struct Messages<'r> {
    pub drafts: Vec<Draft<'r>>,
    /// How many messages at the end are the only ones trained on, if the shape says so.
    pub completion: Option<usize>,
    /// Columns that were read besides the columns of the shape.
    pub reads: Vec<&'static str>,
}

pub(super) fn has_list(record: &Json<'_>, key: &str) -> bool {
    record.get(key).is_some_and(|value| value.list().is_some())
}

/// Returns the list of messages of a record.
pub fn messages<'r>(record: &'r Json<'r>) -> Option<&'r Json<'r>> {
    MESSAGES.iter().find(|key| has_list(record, key)).and_then(|key| record.get(key))
}

/// Reads the messages of a list, or a single one; the first has the index `from`.
pub fn list<'r>(
    value: Option<&'r Json<'r>>,
    from: usize,
    left_out: &mut LeftOutCounts,
) -> Result<Vec<Draft<'r>>, String> {
    list_of(value, from, false, left_out)
}

pub(super) fn list_of<'r>(
    value: Option<&'r Json<'r>>,
    from: usize,
    is_sharegpt: bool,
    left_out: &mut LeftOutCounts,
) -> Result<Vec<Draft<'r>>, String> {
    let items = match value {
        Some(Json::List(items)) => items.as_slice(),
        Some(message) => std::slice::from_ref(message),
        None => &[],
    };
    let has_from = |item: &Json| item.get(SHAREGPT.role).is_some();
    let keys = match items.first().is_some_and(has_from) {
        true => SHAREGPT,
        false => Keys { is_sharegpt, ..OPENAI },
    };
    items
        .iter()
        .zip(from..)
        .map(|(item, index)| message::read(item, index, keys, left_out))
        .collect()
}

/// Columns that hold the text of a system message.
pub(super) const SYSTEM: [&str; 2] = ["system", "system_prompt"];

/// Puts the text of a system column first. If the messages begin with a system message of their own, the
/// column is left out.
pub fn with_system<'r>(
    record: &'r Json<'r>,
    drafts: Vec<Draft<'r>>,
    left_out: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let is_system = |draft: &Draft| matches!(draft.role, Role::System | Role::Developer);
    if !drafts.first().is_some_and(is_system) {
        return after(record, None, drafts);
    }
    for column in SYSTEM {
        left_out.count(column, record.get(column).is_some_and(Json::is_true));
    }
    Ok(Messages { drafts, ..Messages::default() })
}

/// Puts the texts of the columns first, each once; `own` is the column of the shape.
pub(super) fn after<'r>(
    record: &'r Json<'r>,
    own: Option<&str>,
    drafts: Vec<Draft<'r>>,
) -> Result<Messages<'r>, String> {
    let mut texts: Vec<Cow<'r, str>> = Vec::new();
    for column in SYSTEM.into_iter().chain(own) {
        let Some(system) = record.get(column) else { continue };
        let text = text(system, column)?;
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let first = texts.into_iter().map(|text| {
        let content = Some(Content::Text(text));
        Draft { content, ..Draft::new(0, Role::System) }
    });
    Ok(Messages { drafts: first.chain(drafts).collect(), ..Messages::default() })
}

/// Returns the text of a column; a missing column is empty.
pub(super) fn column<'r>(record: &'r Json<'r>, name: &str) -> Result<&'r str, String> {
    let Some(value) = record.get(name) else { return Ok("") };
    value.text().ok_or_else(|| format!("{name} is a {}, wanted a string", value.type_name()))
}

/// The columns with which a question goes on.
pub(super) const CONTEXT: [&str; 2] = ["input", "context"];

/// Reads the question in a column, after the pairs of `history`; it goes on with what the columns of its context
/// have.
pub fn question<'r>(record: &'r Json<'r>, asked: &str) -> Result<Vec<Draft<'r>>, String> {
    let mut drafts = Vec::new();
    let history = record.get("history").filter(|history| history.is_true());
    if let Some(other) = history.filter(|history| history.list().is_none()) {
        return Err(format!("history is a {}, wanted a list of pairs", other.type_name()));
    }
    for pair in history.and_then(Json::list).unwrap_or_default() {
        let Some([Json::Text(question), Json::Text(answer)]) = pair.list() else {
            return Err("history: wanted pairs of strings".to_string());
        };
        let index = drafts.len();
        drafts.push(Draft::of_text(index, Role::User, question));
        drafts.push(Draft::of_text(index + 1, Role::Assistant, answer));
    }
    let mut question = Cow::Borrowed(column(record, asked)?);
    for name in CONTEXT.into_iter().filter(|name| *name != asked) {
        let context = column(record, name)
            .map_err(|cause| format!("{cause}; --ignore-field {name} leaves it out"))?;
        if !context.is_empty() {
            question = Cow::Owned(format!("{question}\n{context}"));
        }
    }
    let index = drafts.len();
    drafts.push(Draft { content: Some(Content::Text(question)), ..Draft::new(index, Role::User) });
    Ok(drafts)
}
