//! Which call each result of a tool answers.

use super::message::{Call, without_namespace};
use super::tools::readable;
use super::whole::{Message, MessageBody};

/// Returns, for each message, the name of the function whose result it is: that of the call with its id if only one has
/// it, else its own name, else that of the calls in their order. Fails if none of these decides.
pub fn functions(messages: &[Message<'_>]) -> Result<Vec<Option<String>>, String> {
    let mut functions = Vec::with_capacity(messages.len());
    // The calls that the next results answer, and whether one did.
    let mut open: Vec<(&Call<'_>, bool)> = Vec::new();
    let mut has_results = false;
    for (place, message) in messages.iter().enumerate() {
        let within = |cause: String| format!("message {}: {cause}", message.index);
        functions.push(match &message.said {
            MessageBody::Assistant { calls, .. } => {
                if std::mem::take(&mut has_results) || calls.is_empty() {
                    open.clear();
                }
                open.extend(calls.iter().map(|call| (call, false)));
                None
            }
            MessageBody::Tool { call_id, name, .. } => {
                let is_first = !std::mem::replace(&mut has_results, true);
                if is_first {
                    refuse_undecided(&open, &messages[place..]).map_err(within)?;
                }
                let earlier = &messages[..place];
                Some(function(&mut open, earlier, (*call_id, *name)).map_err(within)?)
            }
            _ => None,
        });
    }
    Ok(functions)
}

/// Fails if results that state neither id nor name follow calls of several functions, of which they are not the answers
/// in their order: there are more or fewer.
fn refuse_undecided(open: &[(&Call<'_>, bool)], after: &[Message<'_>]) -> Result<(), String> {
    let results = after.iter().map_while(|message| match &message.said {
        MessageBody::Tool { call_id, name, .. } => Some(call_id.is_none() && name.is_none()),
        _ => None,
    });
    let (mut count, mut unstated) = (0, 0);
    results.for_each(|is_unstated| {
        count += 1;
        unstated += usize::from(is_unstated);
    });
    let is_of_one = open.windows(2).all(|pair| pair[0].0.name == pair[1].0.name);
    if unstated > 0 && !is_of_one && count != open.len() {
        let calls = open.len();
        return Err(format!(
            "{count} results of {calls} calls, and which answers which is not stated; give tool_call_id, or name"
        ));
    }
    Ok(())
}

/// Returns the name of the function whose result has this id and this name.
fn function(
    open: &mut [(&Call<'_>, bool)],
    before: &[Message<'_>],
    (id, name): (Option<&str>, Option<&str>),
) -> Result<String, String> {
    let name = name.map(without_namespace);
    let has_id = |call: &Call<'_>| id.is_none() || call.id.as_deref() == id;
    let mut earlier = before.iter().rev().flat_map(|message| match &message.said {
        MessageBody::Assistant { calls, .. } => calls.iter().rev(),
        _ => [].iter().rev(),
    });
    let last = earlier.clone().next().ok_or(NO_CALL)?;
    let mut of_id: Vec<usize> = (0..open.len()).filter(|place| has_id(open[*place].0)).collect();
    if let (Some(id), true) = (id, of_id.is_empty()) {
        // (Of an earlier message.)
        let call = earlier.find(|call| call.id.as_deref() == Some(id));
        let call = call.ok_or_else(|| format!("no tool call has the id '{id}'"))?;
        return Ok(call.name.to_string());
    }
    let is_named = |place: &usize| name == Some(&*open[*place].0.name);
    if of_id.len() > 1 && of_id.iter().any(is_named) {
        of_id.retain(is_named);
    } else if let (None, Some(name)) = (id, name) {
        // A name that no open call has is taken as it is.
        readable("function", name)?;
        return Ok(name.to_string());
    }
    let place = of_id.iter().find(|place| !open[**place].1).or(of_id.last());
    let Some((call, is_answered)) = place.and_then(|place| open.get_mut(*place)) else {
        return Ok(last.name.to_string());
    };
    *is_answered = true;
    Ok(call.name.to_string())
}

/// (Calls as other texts, `[f(a=1)]` of ToolACE, are not read.)
const NO_CALL: &str =
    "tool result without an earlier tool call; calls in texts are not read, give tool_calls";
