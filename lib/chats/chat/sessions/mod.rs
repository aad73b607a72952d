//! Files of sessions, a line for each step: the chats in them, as a shape reads them.

pub mod claude_code;
pub mod codex;

use std::borrow::Cow;

use super::apis::object;
use super::left_out::LeftOutCounts;
use super::normalize::Entries;
use super::tools::not_json;
use super::value::Json;
use crate::stream::{FileForm, LineFault, member_names};

/// The forms of files that are sessions.
pub const SESSIONS: &[FileForm] = &[
    FileForm {
        name: "a session of Claude Code",
        knows: |line| claude_code::knows(&among(&names(line))),
        records: claude_code::records,
    },
    FileForm {
        name: "a session of Codex",
        knows: |line| codex::knows(&among(&names(line))),
        records: codex::records,
    },
];

fn names(line: &[u8]) -> Vec<String> {
    member_names(line).unwrap_or_default()
}

fn among(names: &[String]) -> impl Fn(&str) -> bool {
    move |wanted| names.iter().any(|name| name == wanted)
}

/// Parses the lines of a file, with their numbers; empty lines are passed over.
fn lines(text: &str) -> Result<Vec<(u64, Json<'_>)>, LineFault> {
    let mut all = Vec::new();
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    for (number, end) in (1..).zip(ends) {
        let line = &text[start..end];
        start = end + 1;
        if line.trim().is_empty() {
            continue;
        }
        let parsed = Json::parse(line);
        all.push((
            number,
            parsed.map_err(|error| LineFault { line: number, cause: not_json(line, error) })?,
        ));
    }
    Ok(all)
}

/// The member of a record that says what a session has and the record lacks, with counts.
const LACKS: &str = "gristmill_session";

/// What no file of a session holds.
const PROMPT: &str = "system prompts (files of sessions do not hold them)";

/// Appends a chat of a session as a line.
fn write_record<'a>(
    out: &mut Vec<u8>,
    members: impl IntoIterator<Item = (&'static str, Option<Json<'a>>)>,
    lacks: &[(&'static str, u64)],
) {
    let count = |(name, count): &(&'static str, u64)| {
        (*name, (*count > 0).then(|| Json::Number(Cow::Owned(count.to_string()))))
    };
    let lacks = object(lacks.iter().map(count));
    object(members.into_iter().chain([(LACKS, Some(lacks))])).write_compact(out);
    out.push(b'\n');
}

/// Returns the id of a chat: that of the session, with its number if the session has several.
fn id_of(session: Option<&str>, number: usize, count: usize) -> Option<Json<'static>> {
    let id = session?;
    let id = if count == 1 { id.to_string() } else { format!("{id}/{number}") };
    Some(Json::Text(id.into()))
}

/// Counts what the record of a session lacks.
pub fn count_lacks(entries: &mut Entries<'_>, left_out: &mut LeftOutCounts) {
    let Some(at) = entries.iter().position(|(key, _)| key == LACKS) else { return };
    for (name, count) in entries.remove(at).1.entries() {
        let count = if let Json::Number(count) = count { count.parse().unwrap_or(1) } else { 1 };
        left_out.add(name, count);
    }
}
