//! Sessions of Claude Code: `~/.claude/projects/*/SESSION.jsonl`. A line is a step, and names the step before it
//! (`parentUuid`): the file is a tree. Source: the files themselves, in their published form; no page describes them.
//!
//! - A chat is the way from a root to an answer that no other answer follows. A branch (a question that was asked
//!   again), a subagent (`isSidechain`) and what follows a compaction begin new ways.
//! - Lines of one answer (`message.id`) become one message. Results of parallel calls, which stand on side ways, come
//!   behind the calls in their order.
//! - Errors of the API (`isApiErrorMessage`) are no answers: they are counted.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::{PROMPT, id_of, lines, write_record};
use crate::chat::apis::{kind, user};
use crate::chat::value::Json;
use crate::stream::LineFault;

/// Whether a line with these members is one of such a file.
pub fn knows(has: &dyn Fn(&str) -> bool) -> bool {
    const LINES: [&[&str]; 4] = [
        &["uuid", "parentUuid"],
        &["leafUuid"],
        &["sessionId", "type"],
        &["type", "snapshot", "messageId"],
    ];
    LINES.iter().any(|names| names.iter().all(|name| has(name)))
}

/// A line of the tree.
struct Step<'t> {
    parent: Option<usize>,
    /// The message; other lines only lead from one to the next.
    message: Option<&'t Json<'t>>,
    is_answer: bool,
    is_error: bool,
}

pub fn records(text: &str, out: &mut Vec<u8>) -> Result<u64, LineFault> {
    let all = lines(text)?;
    let text_of =
        |line: &'_ Json<'_>, key: &str| line.get(key).and_then(Json::text).map(str::to_string);
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut results: HashMap<&str, &Json<'_>> = HashMap::new();
    let mut session = None;
    for (number, line) in &all {
        let Some(uuid) = text_of(line, "uuid") else { continue };
        session = session.or_else(|| text_of(line, "sessionId"));
        let parent = match text_of(line, "parentUuid") {
            None => None,
            Some(parent) => Some(*places.get(&parent).ok_or_else(|| {
                let cause = format!("its parentUuid {parent:?} is on no line before it");
                LineFault { line: *number, cause }
            })?),
        };
        let kind = kind(line);
        let message = line.get("message").filter(|_| ["user", "assistant"].contains(&kind));
        let is_error = line.get("isApiErrorMessage").is_some_and(Json::is_true);
        let is_answer = message.is_some() && kind == "assistant" && !is_error;
        for block in message.map(blocks).unwrap_or_default() {
            if let Some(id) = result_of(block) {
                results.insert(id, block);
            }
        }
        // (A line may stand in a file twice, where a session went on in another file.)
        if let Entry::Vacant(place) = places.entry(uuid) {
            place.insert(steps.len());
            steps.push(Step { parent, message, is_answer, is_error });
        }
    }
    let ends = ends(&steps);
    for (end, number) in ends.iter().zip(1..) {
        let way = way(&steps, *end);
        let errors = way.iter().filter(|step| step.is_error).count() as u64;
        let id = id_of(session.as_deref(), number, ends.len());
        let messages = Json::List(messages(&way, &results));
        let members = [("id", id), ("messages", Some(messages))];
        write_record(out, members, &[(PROMPT, 1), ("errors of the API", errors)]);
    }
    Ok(ends.len() as u64)
}

fn blocks<'t>(message: &'t Json<'t>) -> &'t [Json<'t>] {
    message.get("content").and_then(Json::list).unwrap_or_default()
}

/// Returns the answers that no other answer follows.
fn ends(steps: &[Step<'_>]) -> Vec<usize> {
    let mut is_followed = vec![false; steps.len()];
    for step in steps.iter().filter(|step| step.is_answer) {
        let mut above = step.parent;
        // (What is above a followed step is followed.)
        while let Some(at) = above.filter(|at| !is_followed[*at]) {
            is_followed[at] = true;
            above = steps[at].parent;
        }
    }
    (0..steps.len()).filter(|at| steps[*at].is_answer && !is_followed[*at]).collect()
}

/// Returns the steps from a root to one of them.
fn way<'s, 't>(steps: &'s [Step<'t>], end: usize) -> Vec<&'s Step<'t>> {
    let mut way: Vec<&Step<'_>> = Vec::new();
    let mut at = Some(end);
    while let Some(step) = at.map(|at| &steps[at]) {
        way.push(step);
        at = step.parent;
    }
    way.reverse();
    way
}

fn messages<'t>(way: &[&Step<'t>], results: &HashMap<&str, &'t Json<'t>>) -> Vec<Json<'t>> {
    let mut all: Vec<Json<'t>> = Vec::new();
    // The id of the answer whose lines are read, and the calls that have no result yet.
    let (mut answer, mut open): (Option<&str>, Vec<&str>) = (None, Vec::new());
    for step in way.iter().filter(|step| !step.is_error) {
        let Some(message) = step.message else { continue };
        let id = message.get("id").and_then(Json::text).filter(|_| step.is_answer);
        if step.is_answer && id.is_some() && id == answer {
            join(all.last_mut(), message);
        } else {
            let there: HashSet<&str> = blocks(message).iter().filter_map(result_of).collect();
            // (If the message has results, too, they belong together.)
            let missing: Vec<Json<'t>> = open
                .drain(..)
                .filter(|call| !there.contains(call))
                .filter_map(|call| results.get(call).map(|result| (*result).clone()))
                .collect();
            if !missing.is_empty() {
                all.push(user(Json::List(missing)));
            }
            all.push(message.clone());
            answer = id;
        }
        let calls = blocks(message).iter().filter(|block| kind(block) == "tool_use");
        open.extend(calls.filter_map(|call| call.get("id").and_then(Json::text)));
    }
    all
}

fn result_of<'t>(block: &'t Json<'_>) -> Option<&'t str> {
    block.get("tool_use_id").and_then(Json::text)
}

/// Appends the blocks of another line of an answer; what states its end is that of the last line.
fn join<'t>(answer: Option<&mut Json<'t>>, line: &'t Json<'t>) {
    let Some(Json::Object(members)) = answer else { return };
    for (key, value) in members {
        match (&**key, &mut *value) {
            ("content", Json::List(all)) => all.extend_from_slice(blocks(line)),
            ("stop_reason", value) => {
                *value = line.get("stop_reason").cloned().unwrap_or(Json::Null)
            }
            _ => {}
        }
    }
}
