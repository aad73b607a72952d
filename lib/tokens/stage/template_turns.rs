//! Chats of a template without their oldest turns: each is rendered anew, since a template may print what is left otherwise.

use std::ops::Range;

use gristmill_template::FoundTurns;

use super::sequences::Sequences;
use super::template_renderer::{TemplateRenderer, is_turn};
use crate::chat::{LeftOutCounts, TemplateChat, TemplateMessage};
use crate::model::{EncodedText, Marks};

impl TemplateRenderer<'_> {
    /// Replaces the last sequence, which is too long, by those of the chat without as few of its oldest turns as possible;
    /// by none if no number of them helps. Returns their texts, and in how many places each was cut.
    pub(super) fn without_turns(
        &mut self,
        chat: &TemplateChat,
        marks: Option<Marks>,
        (found, encoded): (&FoundTurns, &EncodedText),
        out: &mut Sequences,
    ) -> Result<Vec<(FoundTurns, u64)>, String> {
        let from = out.count() - 1;
        let before = out.length_since(from);
        out.reset(from);
        let last = found.turns.last().map_or(chat.messages.len() - 1, |turn| turn.message);
        let lead = chat.messages.iter().take_while(|message| has_role(message, SYSTEM)).count();
        // (The chat may begin with each of these behind its system messages.)
        let begins = lead + 1..=last;
        let begins: Vec<usize> =
            begins.filter(|place| has_role(&chat.messages[*place], USER)).collect();
        let most = out.limit.map_or(usize::MAX, |limit| limit.tokens);
        // As many as have to leave if the rest stays as it stands.
        let tokens_before = |begin: usize| {
            let segments = found.segments.iter().zip(&encoded.segments);
            let left = segments.filter(|(of, _)| (lead..begin).contains(&of.message));
            left.map(|(_, tokens)| tokens.len()).sum::<usize>()
        };
        let fits = |begin: &usize| before.tokens.saturating_sub(tokens_before(*begin)) <= most;
        let guessed = begins.iter().position(fits).unwrap_or(begins.len().saturating_sub(1));
        let mut made = None;
        let mut number = guessed;
        while made.is_none() && number < begins.len() {
            let shorter = shorter(chat, found, (lead, begins[number]..last + 1));
            made = self.if_it_fits(&shorter, marks, out)?;
            number += 1;
        }
        if made.is_none() {
            out.dropped(before);
            return Ok(Vec::new());
        }
        number -= 1;
        while number > 0 && number <= guessed {
            let taken = out.take_from(from);
            let shorter = shorter(chat, found, (lead, begins[number - 1]..last + 1));
            let Some(longer) = self.if_it_fits(&shorter, marks, out)? else {
                out.put(taken);
                break;
            };
            made = Some(longer);
            number -= 1;
        }
        let left = &chat.messages[lead..begins[number]];
        let turns = left.iter().filter(|message| has_role(message, USER)).count();
        out.shortened(before, from, turns);
        Ok(made.unwrap_or_default())
    }

    /// Appends the sequences of a chat if all of them fit.
    fn if_it_fits(
        &mut self,
        chat: &TemplateChat,
        marks: Option<Marks>,
        out: &mut Sequences,
    ) -> Result<Option<Vec<(FoundTurns, u64)>>, String> {
        // (What is left out of the whole chat is counted already.)
        let mut left_out = LeftOutCounts::default();
        let from = out.count();
        let mut made = Vec::new();
        for found in self.found(chat, marks, &mut left_out)? {
            self.refuse_unseen(chat, &found, &mut left_out)?;
            let encoded = self.encode(chat, &found, marks, out)?;
            if out.over().is_some() {
                out.reset(from);
                return Ok(None);
            }
            made.push((found, encoded.cuts));
        }
        Ok(Some(made))
    }
}

const SYSTEM: &[&str] = &["system", "developer"];
const USER: &[&str] = &["user"];

fn has_role(message: &TemplateMessage, roles: &[&str]) -> bool {
    message.role().is_some_and(|role| roles.contains(&role))
}

/// Returns the first messages of a chat with a later part of it, in which the turns of a record are trained on.
fn shorter(
    chat: &TemplateChat,
    found: &FoundTurns,
    (lead, part): (usize, Range<usize>),
) -> TemplateChat {
    let messages = (0..lead).chain(part).map(|place| {
        let is_trained = is_turn(found, place);
        TemplateMessage { is_trained, ..chat.messages[place].clone() }
    });
    let (tools, variables) = (chat.tools.clone(), chat.variables.clone());
    TemplateChat { messages: messages.collect(), tools, variables }
}
