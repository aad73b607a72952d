//! Files of sessions, a line for each step: the chats in them, as a shape reads them.

mod claude_code;
mod codex;

use std::borrow::Cow;

use super::left_out::LeftOutCounts;
use super::normalize::Entries;
use super::tools::not_json;
use super::value::Json;
use crate::stream::{FileForm, LineFault, member_names};

/// The forms of files that are sessions.
pub const SESSIONS: &[FileForm] = &[
    FileForm {
        name: "a session of Claude Code",
        knows: |line| claude_code::knows(&names(line)),
        records: claude_code::records,
    },
    FileForm {
        name: "a session of Codex",
        knows: |line| codex::knows(&names(line)),
        records: codex::records,
    },
];

fn names(line: &[u8]) -> Vec<String> {
    member_names(line).unwrap_or_default()
}

fn has(names: &[String], wanted: &[&str]) -> bool {
    wanted.iter().all(|wanted| names.iter().any(|name| name == wanted))
}

/// Parses the lines of a file, with their numbers; empty lines are passed over.
fn lines(text: &str) -> Result<Vec<(u64, Json<'_>)>, LineFault> {
    let mut all = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
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

/// Returns a record of a session as a line.
fn record<'a>(
    members: [(&'static str, Option<Json<'a>>); 3],
    lacks: &[(&'static str, u64)],
) -> String {
    let count = |(name, count): &(&'static str, u64)| {
        (Cow::Borrowed(*name), Json::Number(Cow::Owned(count.to_string())))
    };
    let lacks = lacks.iter().filter(|(_, count)| *count > 0).map(count).collect();
    let members = members.into_iter().chain([(LACKS, Some(Json::Object(lacks)))]);
    let given = members.filter_map(|(key, value)| Some((Cow::Borrowed(key), value?)));
    let mut out = Vec::new();
    Json::Object(given.collect()).write_compact(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Counts what the record of a session lacks.
pub fn count_lacks(entries: &mut Entries<'_>, left_out: &mut LeftOutCounts) {
    let Some(at) = entries.iter().position(|(key, _)| key == LACKS) else { return };
    for (name, count) in entries.remove(at).1.entries() {
        let count = if let Json::Number(count) = count { count.parse().unwrap_or(1) } else { 1 };
        left_out.count_many(name, count);
    }
}
