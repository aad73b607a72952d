//! Pairs of answers by a template: the prompt as the template writes it for a generation, and the last message of each
//! chat as the model generates it.

use gristmill_template::{Chat, Error as TemplateError, FoundAnswer, Prompt};

use super::pairs::{TWO_PROMPTS, TokenPair};
use super::spelled::MarkedChat;
use super::template_renderer::{TemplateRenderer, renderable, told};
use crate::chat::{Json, LeftOutCounts, TemplateChat, of_rejected};
use crate::model::{Marks, TextSegment, Unmarked, encode};
use crate::visible;

/// The chat of an answer; its texts may have marks.
struct AnswerChat {
    chat: TemplateChat,
    marks: Option<Marks>,
    /// As the template gets it.
    rendered: Chat,
}

impl TemplateRenderer<'_> {
    /// Makes the pair of a record; returns whether it is wanted.
    pub(super) fn pair_of(
        &mut self,
        record: Json<'_>,
        left_out: &mut LeftOutCounts,
        out: &mut TokenPair,
    ) -> Result<bool, String> {
        let Some([chosen, rejected]) = self.shared.chats().pair(record, left_out)? else {
            return Ok(false);
        };
        let chosen = self.answer_chat(chosen, out)?;
        let rejected = self.answer_chat(rejected, out).map_err(of_rejected)?;
        let [first, second] = self.found_answers([&chosen, &rejected], left_out)?;
        let prompt = self.answer(&chosen, first, left_out, &mut out.answers[0])?;
        let mut other = LeftOutCounts::default();
        let same = self.answer(&rejected, second, &mut other, &mut out.answers[1]);
        let same = same.map_err(of_rejected)?;
        left_out.widen(&other);
        if prompt != same {
            return Err(TWO_PROMPTS.to_string());
        }
        let parts = (&[][..], &prompt.pieces[..]);
        let ends = &mut self.ends;
        let encoded = encode(&mut self.encoder, &prompt.text, parts, &mut out.prompt, ends);
        encoded.map_err(|error| error.to_string())?;
        Ok(true)
    }

    /// Marks the control tokens that the texts of a chat spell.
    fn answer_chat(
        &mut self,
        chat: TemplateChat,
        out: &mut TokenPair,
    ) -> Result<AnswerChat, String> {
        let (chat, marks) = match self.marked(&chat)? {
            None => (chat, None),
            Some(MarkedChat { chat, marks, count }) => {
                out.spelled = out.spelled.max(count);
                (chat, Some(marks))
            }
        };
        let rendered = renderable(&chat, marks)?;
        Ok(AnswerChat { chat, marks, rendered })
    }

    /// Finds the answers with which two chats of one record end.
    fn found_answers(
        &self,
        [chosen, rejected]: [&AnswerChat; 2],
        left_out: &mut LeftOutCounts,
    ) -> Result<[Result<FoundAnswer, TemplateError>; 2], String> {
        let chats = [&chosen.rendered, &rejected.rendered];
        let found = self.with_finder(&chosen.chat, left_out, |finder| finder.answers(chats))?;
        if chosen.chat.variables == rejected.chat.variables {
            return Ok(found);
        }
        // (They have other marks.)
        let (mut known, [first, _]) = (LeftOutCounts::default(), found);
        let [_, second] =
            self.with_finder(&rejected.chat, &mut known, |finder| finder.answers(chats))?;
        Ok([first, second])
    }

    /// Makes the tokens of an answer; returns the prompt before it.
    fn answer(
        &mut self,
        of: &AnswerChat,
        found: Result<FoundAnswer, TemplateError>,
        left_out: &mut LeftOutCounts,
        answer: &mut Vec<i32>,
    ) -> Result<Unmarked, String> {
        let found = found.map_err(|error| told(&of.chat, &error));
        let made = found.and_then(|found| self.answer_of(of, found, left_out, answer));
        made.map_err(|reason| match of.marks {
            Some(marks) => marks.out_of(&reason),
            None => reason,
        })
    }

    fn answer_of(
        &mut self,
        AnswerChat { chat, marks, .. }: &AnswerChat,
        FoundAnswer { prompt, found }: FoundAnswer,
        left_out: &mut LeftOutCounts,
        answer: &mut Vec<i32>,
    ) -> Result<Unmarked, String> {
        self.refuse_unseen(chat, &found, left_out)?;
        if let Some(Prompt::Without(end)) = found.turns.first().map(|turn| &turn.prompt) {
            return Err(format!(
                "the generation prompt ends in {}, which the template does not print with an answer: the model would \
                 not give this answer behind its prompt; try: --template FILE, a template that prints it",
                visible::line(&format!("{end:?}"))
            ));
        }
        let said = found.turns.first().map_or(0..0, |turn| turn.said.clone());
        self.shared.count_turns(&found);
        let unmarked = |text: String| match marks {
            Some(marks) => self.shared.control(chat).unmarked(*marks, &text),
            None => Unmarked::plain(text),
        };
        let (prompt, whole) = (unmarked(prompt), unmarked(found.text));
        let said = {
            let mut places = whole.places();
            places(said.start)..places(said.end)
        };
        // (What stands before a token does not change what follows it, so most of the prompt is not encoded again.)
        let from = match whole.pieces.is_empty() {
            true => self.shared.last_token(&whole.text[..said.start]),
            false => 0,
        };
        let text = &whole.text[from..];
        let (begin, end) = (said.start - from, said.end - from);
        let segment = |bytes, is_target| TextSegment { bytes, is_target };
        let segments =
            [segment(0..begin, false), segment(begin..end, true), segment(end..text.len(), false)];
        self.tokens.clear();
        let parts = (&segments[..], &whole.pieces[..]);
        let (tokens, ends) = (&mut self.tokens, &mut self.ends);
        let encoded = encode(&mut self.encoder, text, parts, tokens, ends);
        let encoded = encoded.map_err(|error| error.to_string())?;
        answer.extend_from_slice(&self.tokens[encoded.segments[1].clone()]);
        self.shared.count_cuts(encoded.cuts);
        Ok(prompt)
    }
}
