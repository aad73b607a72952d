//! Pairs of answers by a template: the prompt as the template writes it for a generation, and the last message of each
//! chat as the model generates it.

use std::ops::Range;

use gristmill_template::{Chat, Finder, FoundAnswer, Prompt, Segment};

use super::pairs::{TWO_PROMPTS, TokenPair};
use super::spelled::MarkedChat;
use super::template_renderer::{TemplateRenderer, is_turn};
use crate::chat::{Json, LeftOutCounts, TemplateChat, of_rejected};
use crate::model::{Marks, Unmarked, encode};
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
        let mut sequences = std::mem::take(&mut self.whole);
        sequences.clear();
        let encoded = self.encode(chat, &found, marks, &mut sequences);
        let said = encoded.map(|encoded| {
            let is_said = |of: &&Segment| of.channel.is_some() && is_turn(&found, of.message);
            let said = found.segments.iter().zip(&encoded.segments);
            let mut said = said.filter(|(of, _)| is_said(of)).map(|(_, tokens)| tokens);
            let first = said.next().map_or(0..0, Range::clone);
            let end = said.next_back().map_or(first.end, |last| last.end);
            answer.extend_from_slice(&sequences.rendered.tokens[first.start..end]);
            self.shared.count_cuts(encoded.cuts);
        });
        self.whole = sequences;
        said?;
        self.shared.count_turns(&found);
        Ok(match marks {
            Some(marks) => self.shared.control(chat).unmarked(marks, &prompt),
            None => Unmarked::plain(prompt),
        })
    }
}
