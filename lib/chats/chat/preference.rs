//! Preference data: a chosen and a rejected answer, in the forms of TRL, LLaMA-Factory, ms-swift and Anthropic's hh.
//! As in TRL, the chosen answer is a completion. The context is what comes before it; if both answers are whole
//! conversations, also their common beginning. Of a pair, each answer is one message behind all that both have.

use super::drafts::{self, Messages};
use super::left_out::LeftOutCounts;
use super::message::Draft;
use super::shapes::question_field;
use super::value::Json;
use crate::harmony::Role;
use crate::wording::exactly;

const CHOSEN: [&str; 2] = ["chosen", "chosen_messages"];
const REJECTED: [&str; 4] =
    ["rejected", "rejected_messages", "rejected_response", "rejected_responses"];

/// The columns that are read.
pub const READS: [&str; 15] = [
    "chosen",
    "chosen_messages",
    "rejected",
    "rejected_messages",
    "rejected_response",
    "rejected_responses",
    "messages",
    "conversations",
    "conversation",
    "prompt",
    "question",
    "instruction",
    "input",
    "query",
    "history",
];

/// Why a record with both answers is refused.
pub const UNDECIDED: &str =
    "chosen and rejected answers, but only one can be trained on; try: --take chosen";

/// Returns the first of these fields that holds an answer. (A column of such a name may be a flag,
/// or a number.)
fn answer<'r>(record: &'r Json<'r>, names: &[&str]) -> Option<&'r Json<'r>> {
    let is_answer = |value: &&Json<'_>| match value {
        Json::Null | Json::Boolean(_) | Json::Number(_) => false,
        // (Tokens of an answer.)
        Json::List(items) if matches!(items.first(), Some(Json::Number(_))) => false,
        value => value.is_true(),
    };
    names.iter().filter_map(|name| record.get(name)).find(is_answer)
}

pub fn chosen<'r>(record: &'r Json<'r>) -> Option<&'r Json<'r>> {
    answer(record, &CHOSEN)
}

pub fn rejected<'r>(record: &'r Json<'r>) -> Option<&'r Json<'r>> {
    answer(record, &REJECTED)
}

/// Reads the chosen answer and the messages before it.
pub fn read<'r>(
    record: &'r Json<'r>,
    left_out: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let chosen = chosen(record).ok_or("no chosen answer")?;
    of_answer(record, chosen, rejected(record), left_out)
}

/// Fails if one of the answers is an empty text, or several.
pub fn refuse_no_answer(record: &Json<'_>) -> Result<(), String> {
    for (name, names) in [("chosen", &CHOSEN[..]), ("rejected", &REJECTED)] {
        let is_empty = |key: &&str| record.get(key).and_then(Json::text) == Some("");
        match answer(record, names) {
            None if names.iter().any(is_empty) => return Err(without_text(name)),
            Some(Json::List(items)) if items.iter().any(|item| !item.is_object()) => {
                return Err(format!(
                    "the {name} answer is a list of answers; give a pair for each"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Says that an answer has no text.
pub fn without_text(name: &str) -> String {
    format!("the {name} answer has no text")
}

/// Reads the chats of both answers.
pub fn both<'r>(
    record: &'r Json<'r>,
    left_out: &mut LeftOutCounts,
) -> Result<[Messages<'r>; 2], String> {
    let (chosen, rejected) = (chosen(record).ok_or(NO_PAIR)?, rejected(record).ok_or(NO_PAIR)?);
    let first = of_answer(record, chosen, Some(rejected), left_out)?;
    let mut other = LeftOutCounts::default();
    let (_, is_whole) = answers(rejected, &mut LeftOutCounts::default())?;
    let has_context = || -> Result<bool, String> {
        let context = context(record, &mut LeftOutCounts::default())?;
        Ok(context.is_some_and(|drafts| !drafts.is_empty()))
    };
    let second = match is_whole || has_context()? {
        true => of_answer(record, rejected, Some(chosen), &mut other),
        // The chosen answer alone has what comes before both.
        false => {
            let again = of_answer(record, chosen, None, &mut LeftOutCounts::default())?;
            in_place(again, 1, rejected, &mut other)
        }
    };
    left_out.widen(&other);
    Ok([first, second.map_err(of_rejected)?])
}

/// Reads the chat of the rejected answer of a record whose other messages end with the chosen one, where `first` is the
/// same chat as that of the chosen answer.
pub fn beside<'r>(
    record: &'r Json<'r>,
    first: Messages<'r>,
    left_out: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let rejected = rejected(record).ok_or(NO_PAIR)?;
    let all = drafts::messages(record);
    let (_, is_whole) = answers(rejected, &mut LeftOutCounts::default())?;
    let made = match is_whole {
        true => of_answer(record, rejected, all, left_out),
        false => {
            let count = completion_of(record, all, &first.drafts);
            in_place(first, count, rejected, left_out)
        }
    };
    made.map_err(of_rejected)
}

/// Returns a chat with an answer in the place of its last messages.
fn in_place<'r>(
    mut chat: Messages<'r>,
    count: usize,
    answer: &'r Json<'r>,
    left_out: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let kept = chat.drafts.len().saturating_sub(count);
    chat.drafts.truncate(kept);
    let (answers, _) = answers(answer, left_out)?;
    extend(&mut chat.drafts, answers);
    Ok(chat)
}

/// Appends an answer to the messages before it.
fn extend<'r>(drafts: &mut Vec<Draft<'r>>, answers: Vec<Draft<'r>>) {
    let from = drafts.len();
    drafts.extend(answers.into_iter().map(|of| Draft { index: from + of.index, ..of }));
}

/// Returns the chats of a pair with the place where each answer begins: behind all messages that both begin with. Fails
/// unless each answer is one message.
pub fn apart(pair: [Messages<'_>; 2]) -> Result<[Messages<'_>; 2], String> {
    let [chosen, rejected] = pair.each_ref().map(|of| &of.drafts[..]);
    let same = chosen.iter().zip(rejected).take_while(|(a, b)| a == b).count();
    if (same, same) == (chosen.len(), rejected.len()) {
        return Err(SAME.to_string());
    }
    let same = same.min(chosen.len().saturating_sub(1)).min(rejected.len().saturating_sub(1));
    let answers = [("chosen", &chosen[same..]), ("rejected", &rejected[same..])];
    if let Some(other) = answers
        .iter()
        .find_map(|(_, all)| all.first().filter(|first| first.role != Role::Assistant))
    {
        let index = other.index;
        return Err(format!(
            "message {index}: the answers have different messages before them; a pair has one prompt{TAKE_CHOSEN}"
        ));
    }
    for (name, all) in answers {
        match all {
            [answer] if answer.is_without_text() => {
                return Err(without_text(name));
            }
            [_] => {}
            _ => {
                return Err(format!(
                    "the {name} answer has {} behind those that both answers have; a pair has one, which the \
                     model generates{TAKE_CHOSEN}",
                    exactly(all.len(), "message")
                ));
            }
        }
    }
    match chosen[..same].last() {
        None => Err("a pair without a prompt".to_string()),
        Some(last) if last.role == Role::Assistant => Err(format!(
            "message {}: the prompt ends with an answer; a pair has its answers behind a message of another role",
            last.index
        )),
        Some(_) => Ok(pair.map(|of| Messages { completion: Some(1), ..of })),
    }
}

/// Why a pair is refused whose answers do not differ.
pub const SAME: &str = "the chosen and the rejected answer are the same";

const NO_PAIR: &str = "no pair: wanted a chosen and a rejected answer";

const TAKE_CHOSEN: &str = "; --take chosen in place of pair trains on the chosen one";

/// Says that an error is about the rejected answer.
pub fn of_rejected(cause: String) -> String {
    format!("the rejected answer: {cause}")
}

/// Reads an answer and the messages before it; `other` is the other answer.
fn of_answer<'r>(
    record: &'r Json<'r>,
    own: &'r Json<'r>,
    other: Option<&'r Json<'r>>,
    left_out: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let (answers, is_whole) = answers(own, left_out)?;
    if !is_whole {
        let before = context(record, left_out)?;
        let before = before.filter(|drafts| !drafts.is_empty());
        let way = || format!("a chosen answer without its question{}", question_field(record));
        let mut drafts = before.ok_or_else(way)?;
        let completion = Some(answers.len());
        extend(&mut drafts, answers);
        return Ok(Messages { completion, ..drafts::with_system(record, drafts, left_out)? });
    }
    // A prompt of messages comes before the answer, unless the answer repeats it.
    let prompt = record.get("prompt").and_then(Json::list).unwrap_or_default();
    let repeated = in_common(own.list().unwrap_or_default(), prompt);
    if !prompt.is_empty() && repeated < prompt.len() {
        let mut drafts = drafts::list(record.get("prompt"), 0, left_out)?;
        let completion = Some(answers.len());
        extend(&mut drafts, answers);
        return Ok(Messages { completion, ..drafts::with_system(record, drafts, left_out)? });
    }
    let completion = Some(match other {
        Some(Json::List(other)) => completion(own.list().unwrap_or_default(), other, &answers),
        Some(Json::Text(other)) => {
            let other = turns(other).unwrap_or_default();
            let same = answers.iter().zip(&other);
            let same = same.take_while(|(a, b)| (a.role, a.text()) == (b.role, b.text())).count();
            answers.len() - same.min(other.len().min(answers.len()).saturating_sub(1))
        }
        _ => last_turn(&answers),
    });
    let is_said = |prompt: &str| answers.iter().any(|answer| answer.text() == Some(prompt));
    let prompt = record.get("prompt").and_then(Json::text);
    left_out.count("prompt", prompt.is_some_and(|prompt| !prompt.is_empty() && !is_said(prompt)));
    Ok(Messages { completion, ..drafts::with_system(record, answers, left_out)? })
}

/// Returns how many messages at the end are the chosen answer, if a rejected answer stands beside the
/// messages.
pub fn completion_of(
    record: &Json<'_>,
    messages: Option<&Json<'_>>,
    drafts: &[Draft<'_>],
) -> usize {
    match (messages.and_then(Json::list), rejected(record)) {
        (Some(messages), Some(Json::List(rejected))) => completion(messages, rejected, drafts),
        // A text stands for the last message.
        _ => 1,
    }
}

/// Returns how many messages at the end of a conversation differ from the rejected conversation, at least
/// one. If the rejected one is only an answer, returns the length of the last turn.
fn completion(chosen: &[Json<'_>], rejected: &[Json<'_>], drafts: &[Draft<'_>]) -> usize {
    let most = chosen.len().min(rejected.len()).saturating_sub(1);
    match in_common(chosen, rejected).min(most) {
        0 => last_turn(drafts),
        same => chosen.len() - same,
    }
}

fn in_common(a: &[Json<'_>], b: &[Json<'_>]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a.canonical() == b.canonical()).count()
}

/// Returns how many messages follow the last one of a user.
fn last_turn(drafts: &[Draft<'_>]) -> usize {
    drafts.iter().rev().take_while(|draft| draft.role != Role::User).count()
}

/// Reads the messages of an answer, and whether they are a whole conversation.
fn answers<'r>(
    value: &'r Json<'r>,
    left_out: &mut LeftOutCounts,
) -> Result<(Vec<Draft<'r>>, bool), String> {
    let drafts = match value {
        Json::Text(text) => match turns(text) {
            Some(drafts) => drafts,
            None => vec![Draft::of_text(0, Role::Assistant, text)],
        },
        value => drafts::list(Some(value), 0, left_out)?,
    };
    let is_whole = drafts.first().is_some_and(|first| first.role != Role::Assistant);
    Ok((drafts, is_whole))
}

/// Reads the messages before the chosen answer.
fn context<'r>(
    record: &'r Json<'r>,
    left_out: &mut LeftOutCounts,
) -> Result<Option<Vec<Draft<'r>>>, String> {
    if let Some(messages) = drafts::messages(record) {
        let drafts = drafts::list(Some(messages), 0, left_out)?;
        if drafts.last().is_some_and(|last| last.role != Role::Assistant) {
            return Ok(Some(drafts));
        }
    }
    match record.get("prompt").or_else(|| record.get("question")) {
        Some(Json::Text(text)) => {
            let mut drafts =
                turns(text).unwrap_or_else(|| vec![Draft::of_text(0, Role::User, text)]);
            // (Prompts of hh end with the name of the next speaker.)
            drafts.pop_if(|last| last.role == Role::Assistant && last.text() == Some(""));
            Ok(Some(drafts))
        }
        Some(prompt) => drafts::list(Some(prompt), 0, left_out).map(Some),
        None => match ["instruction", "query"].into_iter().find(|key| record.get(key).is_some()) {
            Some(key) => drafts::question(record, key).map(Some),
            None => Ok(None),
        },
    }
}

/// Splits a text of Anthropic's hh into turns: `\n\nHuman: ..\n\nAssistant: ..`.
fn turns(text: &str) -> Option<Vec<Draft<'_>>> {
    const MARKS: [(&str, Role); 2] =
        [("\n\nHuman:", Role::User), ("\n\nAssistant:", Role::Assistant)];
    let next = |text: &str| {
        let found =
            MARKS.iter().filter_map(|(mark, role)| Some((text.find(mark)?, mark.len(), *role)));
        found.min_by_key(|(start, ..)| *start)
    };
    let (0, mut length, mut role) = next(text)? else { return None };
    if role != Role::User {
        return None;
    }
    let (mut drafts, mut rest) = (Vec::new(), text);
    loop {
        rest = &rest[length..];
        let following = next(rest);
        let end = following.map_or(rest.len(), |(start, ..)| start);
        drafts.push(Draft::of_text(drafts.len(), role, rest[..end].trim()));
        let Some((start, next_length, next_role)) = following else { return Some(drafts) };
        rest = &rest[start..];
        (length, role) = (next_length, next_role);
    }
}
