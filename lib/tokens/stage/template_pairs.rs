//! Pairs of answers by a template: the prompt as the template writes it for a generation, and the last message of each
//! chat as the model generates it.

use gristmill_template::{Chat, Finder, FoundAnswer, Prompt};

use super::pairs::{TWO_PROMPTS, TokenPair};
use super::spelled::MarkedChat;
use super::template_renderer::TemplateRenderer;
use crate::chat::{Json, LeftOutCounts, TemplateChat, of_rejected};
use crate::model::{Marks, TextSegment, Unmarked, encode};
use crate::visible;

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
        let prompt = self.answer(&chosen, 0, left_out, out)?;
        let mut other = LeftOutCounts::default();
        let same = self.answer(&rejected, 1, &mut other, out).map_err(of_rejected)?;
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

    /// Makes the tokens of the answer with which a chat ends; returns the prompt before it.
    fn answer(
        &mut self,
        chat: &TemplateChat,
        number: usize,
        left_out: &mut LeftOutCounts,
        out: &mut TokenPair,
    ) -> Result<Unmarked, String> {
        match self.marked(chat)? {
            None => self.answer_of(chat, None, left_out, &mut out.answers[number]),
            Some(MarkedChat { chat, marks, count }) => {
                out.spelled = out.spelled.max(count);
                let made = self.answer_of(&chat, Some(marks), left_out, &mut out.answers[number]);
                made.map_err(|reason| marks.out_of(&reason))
            }
        }
    }

    fn answer_of(
        &mut self,
        chat: &TemplateChat,
        marks: Option<Marks>,
        left_out: &mut LeftOutCounts,
        answer: &mut Vec<i32>,
    ) -> Result<Unmarked, String> {
        let find = |finder: &Finder, rendered: &Chat| finder.answer(rendered);
        let FoundAnswer { prompt, found } = self.rendered(chat, marks, left_out, find)?;
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
            Some(marks) => self.shared.control(chat).unmarked(marks, &text),
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
