//! The shapes of chats: how each is recognised, and how its messages are found. The first shape that fits a
//! record is taken.

use std::borrow::Cow;

use super::AnswerChoice;
use super::drafts::{
    Messages, after, column, has_list, list, list_of, messages, question, with_system,
};
use super::left_out::LeftOutCounts;
use super::message::{self, Call, Content, Draft, OPENAI, read_call, text};
use super::normalize::for_recognition;
use super::preference;
use super::value::Json;
use crate::harmony::Role;
use crate::wording::shell_word;

/// A shape of chats.
struct Shape {
    /// The fields that a record of this shape has, for messages.
    wanted: &'static str,
    knows: fn(&Json<'_>) -> bool,
    read: for<'r> fn(&'r Json<'r>, &mut LeftOutCounts) -> Result<Messages<'r>, String>,
}

/// All shapes.
const SHAPES: [Shape; 9] = [
    Shape { wanted: "messages", knows: |record| has_list(record, "messages"), read: of_messages },
    Shape {
        wanted: "conversations",
        knows: |record| has_list(record, "conversations") || has_list(record, "conversation"),
        read: of_messages,
    },
    Shape {
        wanted: "prompt and completion",
        knows: |record| record.get("prompt").is_some() && record.get("completion").is_some(),
        read: prompt_completion,
    },
    Shape {
        wanted: "instruction and output",
        knows: |record| record.get("instruction").is_some() && record.get("output").is_some(),
        read: |record, _| question_and_answer(record, "instruction", "output"),
    },
    Shape {
        wanted: "input (and output)",
        knows: |record| {
            let input = record.get("input");
            input.is_some_and(|input| input.list().is_some() || record.get("output").is_some())
        },
        read: responses,
    },
    Shape {
        wanted: "user and final",
        knows: |record| record.get("user").is_some() && record.get("final").is_some(),
        read: columns,
    },
    Shape {
        wanted: "query and response",
        knows: |record| record.get("query").is_some() && record.get("response").is_some(),
        read: |record, _| question_and_answer(record, "query", "response"),
    },
    Shape { wanted: "traj", knows: |record| has_list(record, "traj"), read: of_messages },
    Shape {
        wanted: "chosen and rejected",
        knows: |record| preference::chosen(record).is_some(),
        read: |_, _| Err(preference::UNDECIDED.to_string()),
    },
];

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
    named_fields(&record).map(|options| format!("chat-harmony {options}"))
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

/// Reads the messages of a record of any shape.
pub fn read<'r>(
    record: &'r Json<'r>,
    take: &[AnswerChoice],
    left_out: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let takes_chosen = take.contains(&AnswerChoice::Chosen);
    let has_chosen = preference::chosen(record).is_some();
    if has_chosen && takes_chosen {
        return preference::read(record, left_out);
    }
    let Some(shape) = SHAPES.iter().find(|shape| (shape.knows)(record)) else {
        return Err(no_shape(record));
    };
    let found = (shape.read)(record, left_out)?;
    if preference::rejected(record).is_none() {
        return Ok(found);
    }
    // Messages that end with an answer are a chat, even if a field beside them is called chosen
    // answer.
    let is_answered = found.drafts.last().is_some_and(|last| last.role == Role::Assistant);
    match (has_chosen, takes_chosen) {
        (true, _) if is_answered => Ok(found),
        (false, true) => {
            let completion = preference::completion_of(record, messages(record), &found.drafts);
            Ok(Messages { completion: Some(completion), ..found })
        }
        _ => Err(preference::UNDECIDED.to_string()),
    }
}

fn no_shape(record: &Json<'_>) -> String {
    let (last, others) = match SHAPES.split_last() {
        Some((last, others)) => (last.wanted, others),
        None => ("", &SHAPES[..]),
    };
    let wanted: Vec<&str> = others.iter().map(|shape| shape.wanted).collect();
    let known = record.entries().iter().filter(|(_, value)| *value != Json::Null);
    let found: Vec<&str> = known.map(|(name, _)| &**name).take(20).collect();
    let found = if found.is_empty() { "nothing".to_string() } else { found.join(", ") };
    let wanted = wanted.join(", ");
    let way = named_fields(record);
    let way = way
        .as_deref()
        .unwrap_or("--messages-field NAME, or --prompt-field NAME --completion-field NAME");
    format!("no chat shape: wanted {wanted}, or {last}; found {found}; try: {way}")
}

/// The names of prompts in public data, and of their answers.
const PROMPTS: [&str; 6] = ["prompt", "question", "problem", "instruction", "query", "input"];
const ANSWERS: [&str; 6] = ["completion", "answer", "response", "output", "solution", "reply"];

/// Returns the options that name the fields of a record of no known shape, if names or values show them: one
/// list of messages, or two texts.
fn named_fields(record: &Json<'_>) -> Option<String> {
    let is_messages = |value: &Json<'_>| {
        value.list().is_some_and(|list| !list.is_empty() && list.iter().all(Json::is_object))
    };
    let of = |is: &dyn Fn(&Json<'_>) -> bool| -> Vec<&str> {
        record.entries().iter().filter(|(_, value)| is(value)).map(|(name, _)| &**name).collect()
    };
    if let [messages] = of(&is_messages)[..] {
        return Some(format!("--messages-field {}", shell_word(messages)));
    }
    let texts = of(&|value| value.text().is_some());
    let named = |names: &[&str]| {
        let mut found = names.iter().filter_map(|name| texts.iter().find(|text| *text == name));
        found.next().copied()
    };
    let (prompt, answer) = named(&PROMPTS).zip(named(&ANSWERS))?;
    Some(format!("--prompt-field {prompt} --completion-field {answer}"))
}

fn of_messages<'r>(
    record: &'r Json<'r>,
    left_out: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let is_sharegpt = !has_list(record, "messages") && !has_list(record, "traj");
    let drafts = list_of(messages(record), 0, is_sharegpt, left_out)?;
    with_system(record, drafts, left_out)
}

fn prompt_completion<'r>(
    record: &'r Json<'r>,
    left_out: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let (prompt, completion) = (record.get("prompt"), record.get("completion"));
    let (mut drafts, answers) = match (prompt, completion) {
        (Some(Json::Text(prompt)), Some(Json::Text(completion))) => (
            vec![Draft::of_text(0, Role::User, prompt)],
            vec![Draft::of_text(1, Role::Assistant, completion)],
        ),
        (Some(Json::List(_)), Some(Json::List(_))) => {
            let drafts = list(prompt, 0, left_out)?;
            let answers = list(completion, drafts.len(), left_out)?;
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
    asked: &str,
    answer: &str,
) -> Result<Messages<'r>, String> {
    let mut drafts = question(record, asked)?;
    drafts.push(Draft::of_text(drafts.len(), Role::Assistant, column(record, answer)?));
    after(record, None, drafts)
}

fn columns<'r>(record: &'r Json<'r>, _: &mut LeftOutCounts) -> Result<Messages<'r>, String> {
    let column = |name| record.get(name).map(|value| text(value, name)).transpose();
    let user = Draft { content: column("user")?.map(Content::Text), ..Draft::new(0, Role::User) };
    let answer = Draft {
        content: column("final")?.map(Content::Text),
        thinking: column("analysis")?,
        ..Draft::new(1, Role::Assistant)
    };
    after(record, Some("developer"), vec![user, answer])
}

/// Reads the items of the Responses API: the items of one answer of the model become one message.
fn responses<'r>(
    record: &'r Json<'r>,
    left_out: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let mut drafts: Vec<Draft<'r>> = Vec::new();
    let mut index = 0;
    for key in ["input", "output"] {
        let items = match record.get(key) {
            None => continue,
            Some(Json::Text(text)) => {
                drafts.push(match key {
                    "input" => Draft::of_text(index, Role::User, text),
                    _ => Draft::of_text(index, Role::Assistant, text),
                });
                index += 1;
                continue;
            }
            Some(Json::List(items)) => items,
            Some(other) => return Err(format!("{key} is a {}, wanted a list", other.type_name())),
        };
        for item in items {
            let draft = self::item(item, index, left_out)?;
            index += 1;
            match (draft, drafts.last_mut()) {
                (Some(draft), Some(last)) if goes_on(last, &draft) => join(last, draft),
                (Some(draft), _) => drafts.push(draft),
                (None, _) => {}
            }
        }
    }
    after(record, Some("instructions"), drafts)
}

/// Reads the message of an item; `None` if it has no content.
fn item<'r>(
    item: &'r Json<'r>,
    index: usize,
    left_out: &mut LeftOutCounts,
) -> Result<Option<Draft<'r>>, String> {
    let within = |cause: String| format!("message {index}: {cause}");
    item.entries().iter().try_for_each(|(key, value)| value.refuse_nan(key)).map_err(within)?;
    let kind = item.get("type").and_then(Json::text).unwrap_or("message");
    Ok(match kind {
        "message" => Some(message::read(item, index, OPENAI, left_out)?),
        "reasoning" => {
            let has_text = |value: &&Json| value.list().is_none_or(|parts| !parts.is_empty());
            let mut parts = ["content", "summary"].into_iter().filter_map(|key| item.get(key));
            let thinking = parts.find(has_text).map(|parts| text(parts, kind)).transpose();
            let thinking = thinking.map_err(within)?.filter(|text| !text.is_empty());
            left_out.count("reasoning without text", thinking.is_none());
            thinking.map(|thinking| Draft {
                thinking: Some(thinking),
                ..Draft::new(index, Role::Assistant)
            })
        }
        "function_call" => {
            let calls = vec![with_printed_arguments(read_call(item).map_err(within)?)];
            Some(Draft { calls, ..Draft::new(index, Role::Assistant) })
        }
        "function_call_output" => {
            let content =
                item.get("output").map(message::tool_result).transpose().map_err(within)?;
            let call_id = message::id_of(item, "call_id").map_err(within)?;
            Some(Draft { content, call_id, ..Draft::new(index, Role::Tool) })
        }
        other => return Err(format!("item of type '{other}' is not known")),
    })
}

/// Writes the arguments of a call as Python prints them. In this shape all arguments are text, so their
/// spacing does not come from the model.
fn with_printed_arguments(call: Call<'_>) -> Call<'_> {
    // (A number too large for a float stays as it was written.)
    let printed = Json::parse(&call.arguments).map(|value| value.python_json()).ok();
    let printed = printed.filter(|text| Json::parse(text).is_ok_and(|value| value.is_finite()));
    let arguments = printed.map_or(call.arguments, Cow::Owned);
    Call { arguments, ..call }
}

/// Whether an item belongs to the same answer of the model as the one before it.
fn goes_on(last: &Draft<'_>, next: &Draft<'_>) -> bool {
    let are_answers = [last.role, next.role] == [Role::Assistant; 2];
    let has_no_more = last.calls.is_empty() || !next.calls.is_empty();
    // (Reasoning may come in several items.)
    let is_reasoning = last.content.is_none() && last.calls.is_empty();
    let begins = next.thinking.is_some() && next.content.is_none() && !is_reasoning;
    let is_second = last.content.is_some() && next.content.is_some();
    are_answers && has_no_more && !begins && !is_second
}

fn join<'r>(last: &mut Draft<'r>, next: Draft<'r>) {
    last.content = last.content.take().or(next.content);
    last.thinking = match (last.thinking.take(), next.thinking) {
        (Some(first), Some(next)) => Some(Cow::Owned(format!("{first}\n\n{next}"))),
        (first, next) => first.or(next),
    };
    last.calls.extend(next.calls);
    last.is_trained &= next.is_trained;
}
