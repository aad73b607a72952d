//! The shapes of chats: how each is recognised, and how its messages are found. The first shape that fits a
//! record is taken.

use super::drafts::{
    self, Messages, after, column, has_list, list, list_of, messages, question, with_system,
};
use super::left_out::LeftOutCounts;
use super::message::{Content, Draft, calls_in, read_call, text};
use super::normalize::{MESSAGES, for_recognition, is_message};
use super::tools::KEYS as TOOLS;
use super::true_way::with_true_way;
use super::value::Json;
use super::{AnswerChoice, ReadSettings, answer, foreign, preference, responses, whole};
use crate::harmony::Role;
use crate::record::chat::{self, Meaning, of_records};
use crate::visible;
use crate::wording::shell_word;

/// A shape of chats.
struct Shape {
    /// The fields that a record of this shape has, for messages.
    wanted: &'static str,
    knows: fn(&Json<'_>) -> bool,
    read: for<'r> fn(&'r Json<'r>, &mut LeftOutCounts) -> Result<Messages<'r>, String>,
    /// The columns that it reads, beside those of [`COMMON`].
    reads: &'static [&'static str],
}

/// All shapes.
const SHAPES: [Shape; 9] = [
    Shape {
        wanted: "messages",
        knows: |record| has_list(record, "messages"),
        read: of_messages,
        reads: &["messages"],
    },
    Shape {
        wanted: "conversations",
        knows: |record| has_list(record, "conversations") || has_list(record, "conversation"),
        read: of_messages,
        reads: &["conversations", "conversation"],
    },
    Shape {
        wanted: "prompt and completion",
        knows: |record| record.get("prompt").is_some() && record.get("completion").is_some(),
        read: prompt_completion,
        reads: &["prompt", "completion", "input"],
    },
    Shape {
        wanted: "query, answers and tools",
        knows: |record| XLAM.iter().all(|key| record.get(key).is_some()),
        read: calls_for_query,
        reads: &XLAM,
    },
    Shape {
        wanted: "instruction and output, or another question with its answer",
        knows: |record| question_of(record).is_some(),
        read: |record, left_out| {
            question_and_answer(record, question_of(record).unwrap_or_default(), left_out)
        },
        reads: &["input", "history"],
    },
    Shape {
        wanted: "input (and output)",
        knows: |record| {
            let input = record.get("input");
            input.is_some_and(|input| input.list().is_some() || record.get("output").is_some())
        },
        read: responses::read,
        reads: &["input", "output", "instructions"],
    },
    Shape {
        wanted: "user and final",
        knows: |record| record.get("user").is_some() && record.get("final").is_some(),
        read: columns,
        reads: &["user", "final", "analysis", "developer"],
    },
    Shape {
        wanted: "traj",
        knows: |record| has_list(record, "traj"),
        read: of_messages,
        reads: &["traj"],
    },
    Shape {
        wanted: "chosen and rejected",
        knows: |record| preference::chosen(record).is_some(),
        read: |_, _| Err(preference::UNDECIDED.to_string()),
        reads: &[],
    },
];

/// The columns of questions with the columns of their answers.
const QUESTIONS: [[&str; 2]; 6] = [
    ["instruction", "output"],
    ["instruction", "response"],
    ["query", "response"],
    ["question", "response"],
    ["Question", "Response"],
    ["inputs", "targets"],
];

fn question_of(record: &Json<'_>) -> Option<[&'static str; 2]> {
    QUESTIONS.into_iter().find(|names| names.iter().all(|name| record.get(name).is_some()))
}

/// The columns of xLAM: a question, the calls that answer it, and the functions.
const XLAM: [&str; 3] = ["query", "answers", "tools"];

/// Returns the command that makes conversations from lines like this one, if it is a chat of a known shape
/// or a chat whose fields can be named. A conversation of Harmony is not a chat.
pub fn filter_of(line: &str) -> Option<String> {
    let record = Json::parse(line).ok()?;
    if has_list(&record, "messages") && !has_messages_of_chat(&record) {
        return None;
    }
    let record = for_recognition(record);
    if SHAPES.iter().any(|shape| (shape.knows)(&record)) {
        return Some("chat-harmony".to_string());
    }
    let settings = ReadSettings::default();
    let cause = with_true_way(no_shape(&record), &record, &settings);
    let (_, way) = cause.split_once("; try: ")?;
    Some(format!("chat-harmony {way}"))
}

/// Whether the messages of a record are a chat's: it has answers, and none of its messages has a
/// channel, as Harmony's answers have.
fn has_messages_of_chat(record: &Json<'_>) -> bool {
    let messages = record.get("messages").and_then(Json::list).unwrap_or_default();
    let is_answer =
        |message: &Json<'_>| message.get("role").and_then(Json::text) == Some("assistant");
    messages.iter().any(is_answer)
        && messages.iter().all(|message| message.get("channel").is_none())
}

/// Reads the messages of a record of any shape, and notes the columns that are not read.
pub fn read<'r>(
    record: &'r Json<'r>,
    settings: &ReadSettings,
    left_out: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let takes_chosen = settings.take.contains(&AnswerChoice::Chosen);
    let has_chosen = preference::chosen(record).is_some();
    if has_chosen && takes_chosen {
        let found = preference::read(record, left_out)?;
        note_unread(record, settings, &preference::READS, left_out);
        return Ok(found);
    }
    let Some(shape) = SHAPES.iter().find(|shape| (shape.knows)(record)) else {
        return Err(no_shape(record));
    };
    let first = messages(record).and_then(Json::list).and_then(<[Json<'_>]>::first);
    if first.is_some_and(|first| first.is_object() && !is_message(first))
        && let Some(cause) = foreign::records_within(record)
    {
        return Err(cause);
    }
    let mut found = (shape.read)(record, left_out)?;
    let mut reads = [shape.reads, &found.reads].concat();
    if preference::rejected(record).is_some() {
        // Messages that end with an answer are a chat, even if a field beside them is called chosen
        // answer.
        let is_answered = found.drafts.last().is_some_and(|last| last.role == Role::Assistant);
        match (has_chosen, takes_chosen) {
            (true, _) if is_answered => {}
            (false, true) => {
                let completion = preference::completion_of(record, messages(record), &found.drafts);
                found.completion = Some(completion);
                reads.extend(preference::READS);
            }
            _ => return Err(preference::UNDECIDED.to_string()),
        }
    }
    if shape.reads.iter().any(|name| MESSAGES.contains(name)) {
        refuse_beside(record)?;
    }
    note_unread(record, settings, &reads, left_out);
    Ok(found)
}

/// Reads the chat of each answer of a pair. The last message of each is its answer.
pub fn pair<'r>(
    record: &'r Json<'r>,
    settings: &ReadSettings,
    left_out: &mut LeftOutCounts,
) -> Result<[Messages<'r>; 2], String> {
    preference::refuse_no_answer(record)?;
    let mut reads = preference::READS.to_vec();
    let pair = match preference::chosen(record) {
        Some(_) => preference::both(record, left_out)?,
        None => {
            let shape = SHAPES.iter().find(|shape| (shape.knows)(record));
            let shape = shape.ok_or_else(|| no_shape(record))?;
            let chosen = (shape.read)(record, left_out)?;
            reads.extend(shape.reads.iter().chain(&chosen.reads));
            let mut other = LeftOutCounts::default();
            let again = (shape.read)(record, &mut other)?;
            let rejected = preference::beside(record, again, &mut other)?;
            left_out.widen(&other);
            [chosen, rejected]
        }
    };
    note_unread(record, settings, &reads, left_out);
    preference::apart(pair)
}

/// Fails if a column beside messages is a part of a prompt or an answer, which has no place there.
fn refuse_beside(record: &Json<'_>) -> Result<(), String> {
    let is_of_text = |(name, meaning): &(&str, Meaning)| match meaning {
        Meaning::Context => true,
        Meaning::Reasoning => !of_messages_too(name),
        _ => false,
    };
    let said = |name: &str| record.get(name).is_some_and(Json::says);
    match of_records().filter(is_of_text).find(|(name, _)| said(name)) {
        Some((name, _)) => Err(format!(
            "has \"{name}\" beside the messages, which is not read there; give it in the message that it belongs to, or \
             --ignore-field {name}"
        )),
        None => Ok(()),
    }
}

fn of_messages_too(name: &str) -> bool {
    chat::of_messages().any(|(of, _)| of == name)
}

/// Notes the columns of a record that say something and are not read.
fn note_unread(
    record: &Json<'_>,
    settings: &ReadSettings,
    reads: &[&str],
    left_out: &mut LeftOutCounts,
) {
    for (name, value) in record.entries() {
        let name = &**name;
        let is_read = reads.contains(&name)
            || drafts::SYSTEM.contains(&name)
            || TOOLS.contains(&name)
            || of_records().any(|(known, meaning)| {
                known == name
                    && (meaning != Meaning::Wanted || whole::wanted(record, name).is_some())
            })
            || answer::is_reasoning(record, name)
            || settings.read_elsewhere.iter().any(|read| read == name);
        if !is_read && value.says() {
            left_out.unread_column(name);
        }
    }
}

fn no_shape(record: &Json<'_>) -> String {
    if let Some(cause) = foreign::refused(record) {
        return cause;
    }
    let (last, others) = match SHAPES.split_last() {
        Some((last, others)) => (last.wanted, others),
        None => ("", &SHAPES[..]),
    };
    let wanted: Vec<&str> = others.iter().map(|shape| shape.wanted).collect();
    let known = record.entries().iter().filter(|(_, value)| *value != Json::Null);
    let found: Vec<&str> = known.map(|(name, _)| &**name).take(20).collect();
    let found = if found.is_empty() { "nothing".to_string() } else { found.join(", ") };
    let found = visible::line(&found);
    let wanted = wanted.join(", ");
    let way = named_fields(record).map_or(String::new(), |way| format!("; try: {way}"));
    format!("no chat shape: wanted {wanted}, or {last}; found {found}{way}")
}

/// The names of prompts in public data, and of their answers, in lower case.
const PROMPTS: [&str; 8] =
    ["prompt", "question", "problem", "instruction", "query", "input", "inputs", "user"];
const ANSWERS: [&str; 11] = [
    "completion",
    "response",
    "output",
    "generated_solution",
    "solution",
    "answer",
    "reply",
    "targets",
    "target",
    "final",
    "assistant",
];

/// Returns the options that name the fields of a record of no known shape, if names or values show them: a list of
/// messages, or two texts.
fn named_fields(record: &Json<'_>) -> Option<String> {
    let is_messages = |value: &Json<'_>| {
        value.list().is_some_and(|list| !list.is_empty() && list.iter().all(is_message))
    };
    let of = |is: &dyn Fn(&Json<'_>) -> bool| -> Vec<&str> {
        record.entries().iter().filter(|(_, value)| is(value)).map(|(name, _)| &**name).collect()
    };
    if let [messages] = of(&is_messages)[..] {
        return Some(format!("--messages-field {}", shell_word(messages)));
    }
    let texts = of(&|value| value.text().is_some_and(|text| !text.is_empty()));
    let (prompt, answer) = named(&PROMPTS, &texts).zip(named(&ANSWERS, &texts))?;
    Some(format!("--prompt-field {} --completion-field {}", shell_word(prompt), shell_word(answer)))
}

/// Returns the first of these names that a column has.
fn named<'t>(names: &[&str], columns: &[&'t str]) -> Option<&'t str> {
    let of = |name: &&str| columns.iter().find(|column| column.eq_ignore_ascii_case(name));
    names.iter().find_map(of).copied()
}

/// Returns the option that names the question of a chosen answer, if a column has the name of one.
pub fn question_field(record: &Json<'_>) -> String {
    let texts = record.entries().iter().filter(|(_, value)| value.text().is_some());
    let texts: Vec<&str> = texts.map(|(name, _)| &**name).collect();
    let way = named(&PROMPTS, &texts).map(shell_word);
    way.map_or(String::new(), |name| format!("; try: --prompt-field {name}"))
}

fn of_messages<'r>(
    record: &'r Json<'r>,
    left_out: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let is_sharegpt = !has_list(record, "messages") && !has_list(record, "traj");
    let mut drafts = list_of(messages(record), 0, is_sharegpt, left_out)?;
    let reads = answer::beside(record, &mut drafts, left_out)?;
    if reads.is_none() {
        left_out_reasoning(record, left_out);
    }
    Ok(Messages { reads: reads.into_iter().collect(), ..with_system(record, drafts, left_out)? })
}

/// Counts reasoning beside lists of messages: it has no place.
fn left_out_reasoning(record: &Json<'_>, left_out: &mut LeftOutCounts) {
    for (key, _) in chat::of_messages().filter(|(_, meaning)| *meaning == Meaning::Reasoning) {
        left_out.count(key, answer::is_reasoning(record, key));
    }
}

fn prompt_completion<'r>(
    record: &'r Json<'r>,
    left_out: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let (prompt, completion) = (record.get("prompt"), record.get("completion"));
    let (mut drafts, answers) = match (prompt, completion) {
        (Some(Json::Text(_)), Some(Json::Text(completion))) => {
            let drafts = question(record, "prompt")?;
            let index = drafts.len();
            (drafts, vec![answer::of_text(record, index, completion)?])
        }
        (Some(Json::List(_)), Some(Json::List(_))) => {
            let drafts = list(prompt, 0, left_out)?;
            let answers = list(completion, drafts.len(), left_out)?;
            refuse_beside(record)?;
            left_out_reasoning(record, left_out);
            (drafts, answers)
        }
        _ => {
            let cause = "prompt and completion must both be strings or both lists of messages";
            return Err(cause.to_string());
        }
    };
    let completion = Some(answers.len());
    drafts.extend(answers);
    Ok(Messages { completion, ..with_system(record, drafts, left_out)? })
}

/// Reads a question in one column and its answer in another.
fn question_and_answer<'r>(
    record: &'r Json<'r>,
    [asked, answer]: [&'static str; 2],
    _: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let mut drafts = question(record, asked)?;
    drafts.push(answer::of_text(record, drafts.len(), column(record, answer)?)?);
    Ok(Messages { reads: vec![asked, answer], ..after(record, None, drafts)? })
}

/// Reads a question and the calls that answer it.
fn calls_for_query<'r>(
    record: &'r Json<'r>,
    _: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let asked = Draft::of_text(0, Role::User, column(record, "query")?);
    let calls = match record.get("answers") {
        Some(Json::Text(text)) => calls_in(text, "answers")?,
        Some(Json::List(calls)) => calls.iter().map(read_call).collect::<Result<_, _>>()?,
        _ => return Err("answers: wanted a list of calls".to_string()),
    };
    let calls = Draft { calls, ..Draft::new(1, Role::Assistant) };
    after(record, None, vec![asked, calls])
}

fn columns<'r>(record: &'r Json<'r>, _: &mut LeftOutCounts) -> Result<Messages<'r>, String> {
    let column = |name| record.get(name).map(|value| text(value, name)).transpose();
    let user = Draft { content: column("user")?.map(Content::Text), ..Draft::new(0, Role::User) };
    let (thinking, beside) = (column("analysis")?, answer::reasoning(record)?);
    let answer = Draft {
        content: column("final")?.map(Content::Text),
        thinking: thinking.or(beside.map(|(_, text)| text)),
        ..Draft::new(1, Role::Assistant)
    };
    after(record, Some("developer"), vec![user, answer])
}
