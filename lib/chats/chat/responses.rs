//! The items of OpenAI's Responses API.

use std::borrow::Cow;

use super::drafts::{Messages, after};
use super::left_out::LeftOutCounts;
use super::message::{self, Call, Draft, OPENAI, read_call, text};
use super::value::Json;
use crate::harmony::Role;

/// Reads the items of the Responses API: the items of one answer of the model become one message.
pub fn read<'r>(
    record: &'r Json<'r>,
    left_out: &mut LeftOutCounts,
) -> Result<Messages<'r>, String> {
    let mut drafts: Vec<Draft<'r>> = Vec::new();
    let mut index = 0;
    for key in ["input", "output"] {
        match record.get(key) {
            None => {}
            Some(Json::Text(text)) => {
                let role = if key == "input" { Role::User } else { Role::Assistant };
                drafts.push(Draft::of_text(index, role, text));
                index += 1;
            }
            Some(Json::List(list)) => {
                items(list, index, &mut drafts, left_out)?;
                index += list.len();
            }
            Some(other) => return Err(format!("{key} is a {}, wanted a list", other.type_name())),
        }
    }
    after(record, Some("instructions"), drafts)
}

/// Reads items of the Responses API; the first has the index `from`.
pub fn items<'r>(
    list: &'r [Json<'r>],
    from: usize,
    drafts: &mut Vec<Draft<'r>>,
    left_out: &mut LeftOutCounts,
) -> Result<(), String> {
    for (item, index) in list.iter().zip(from..) {
        let draft = self::item(item, index, left_out)?;
        match (draft, drafts.last_mut()) {
            (Some(draft), Some(last)) if goes_on(last, &draft) => join(last, draft),
            (Some(draft), _) => drafts.push(draft),
            (None, _) => {}
        }
    }
    Ok(())
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
            let mut draft = Draft { calls, ..Draft::new(index, Role::Assistant) };
            draft.ends_as(item, left_out);
            Some(draft)
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
