//! What is trained on, compared with the messages of a sequence.

use super::model::RowModel;
use super::roles::{Message, Roles};
use super::{BEHIND, CUT, MaskFault, NO_STOP, PROMPT, ROLE, SHIFTED, STOP};
use crate::check::Check;

/// Checks the masks of one sequence after another.
#[derive(Default)]
pub(super) struct MaskChecker {
    messages: Vec<Message>,
    /// The first of each kind in the last sequence.
    pub faults: Vec<MaskFault>,
    /// Whether the last sequence ends within an answer, or its messages are not known.
    pub is_cut: bool,
    expected: Vec<u8>,
}

impl MaskChecker {
    /// Checks a sequence: its tokens, and for each 1 if it is trained on.
    pub fn check(&mut self, roles: &Roles, model: &RowModel, (tokens, trained): (&[i32], &[u8])) {
        self.faults.clear();
        let mut messages = std::mem::take(&mut self.messages);
        roles.messages(tokens, &mut messages);
        let last = messages.last();
        let stops = Stops { roles, model, tokens };
        let has_stop = |message: &Message| stops.of(message).is_some();
        self.is_cut = last.is_none_or(|last| !roles.stops.is_empty() && !has_stop(last));
        let begins = messages.first().map_or(0, |first| first.start);
        // (Tokens without messages are text, and nothing predicts the first one.)
        if let Some(place) = (1..begins).find(|place| trained[*place] == 1) {
            self.add(&ROLE, place, "what stands before the first message is trained on");
        }
        let mut is_suspect = false;
        for (number, message) in messages.iter().enumerate() {
            let is_trained = |place: &usize| trained[*place] == 1;
            let Some(first) = message.all().find(is_trained) else { continue };
            let before = number.checked_sub(1).map(|before| &messages[before]);
            if !message.is_answer() {
                // (Nothing predicts the first token; and the first one of a message may end the answer before it.)
                let stop = before.filter(|before| before.is_answer()).and_then(|of| stops.of(of));
                let is_other = |place: &usize| *place > 0 && Some(*place) != stop;
                if let Some(place) = message.all().filter(is_other).find(is_trained) {
                    self.add(&ROLE, place, what(message.role));
                }
                continue;
            }
            // (An answer that goes on is written by the model, its header too.)
            let goes_on = before.is_some_and(|before| before.is_answer() && !has_stop(before));
            if first < message.content && !goes_on {
                self.add(&PROMPT, first, "the generation prompt is trained on");
                is_suspect = true;
            }
            let content = message.content..message.end;
            let Some(first) = content.clone().find(is_trained) else { continue };
            is_suspect |= first == message.content + 1;
            match stops.of(message) {
                Some(stop) => {
                    if !is_trained(&stop) && stop > content.start && is_trained(&(stop - 1)) {
                        self.add(&STOP, stop, "the stop token is not trained on");
                        is_suspect = true;
                    }
                    if let Some(place) = (stop + 1..message.end).find(is_trained) {
                        self.add(&BEHIND, place, "what stands behind the stop token is trained on");
                        is_suspect = true;
                    }
                }
                None if roles.stops.is_empty() => {}
                None => match messages.get(number + 1) {
                    Some(next) if next.is_answer() => {}
                    Some(next) => {
                        self.add(
                            &NO_STOP,
                            next.start,
                            "the next message begins before a stop token",
                        );
                    }
                    None => {
                        let last = tokens.len() - 1;
                        self.add(&CUT, last, "it ends within an answer");
                    }
                },
            }
        }
        if is_suspect && let Some(what) = self.shifted(stops, &messages, trained) {
            self.faults.clear();
            let place = trained.iter().position(|trained| *trained == 1).unwrap_or(0);
            self.add(&SHIFTED, place, what);
        }
        self.messages = messages;
    }

    fn add(&mut self, check: &'static Check, place: usize, what: &'static str) {
        let is_same = |fault: &MaskFault| std::ptr::eq(fault.check, check);
        if !self.faults.iter().any(is_same) {
            self.faults.push(MaskFault { check, place, what });
        }
    }

    /// Says how all that is trained on is shifted: it would be whole answers with their stop tokens one token later, or
    /// earlier.
    fn shifted(
        &mut self,
        stops: Stops<'_>,
        messages: &[Message],
        trained: &[u8],
    ) -> Option<&'static str> {
        let shifts = [
            (-1, "all that is trained on is one token too early"),
            (1, "all that is trained on is one token too late"),
        ];
        shifts.into_iter().find_map(|(by, what)| {
            self.expected.clear();
            self.expected.resize(trained.len(), 0);
            for message in messages.iter().filter(|message| message.is_answer()) {
                let end = stops.of(message).map_or(message.end, |stop| stop + 1);
                let moved = |place: usize| (place as isize + by).clamp(0, trained.len() as isize);
                let own = moved(message.content) as usize..moved(end) as usize;
                // (An answer may be left out.)
                if trained[own.clone()].contains(&1) {
                    self.expected[own].fill(1);
                }
            }
            (self.expected == trained && trained.contains(&1)).then_some(what)
        })
    }
}

/// Where turns end.
#[derive(Clone, Copy)]
struct Stops<'a> {
    roles: &'a Roles,
    model: &'a RowModel,
    tokens: &'a [i32],
}

impl Stops<'_> {
    /// Returns the place of the stop token that ends an answer. Behind it are only white space and other stop tokens, or the
    /// next message; some models stop with the first token of that.
    fn of(&self, answer: &Message) -> Option<usize> {
        let is_stop = |place: &usize| self.roles.is_stop(self.tokens[*place]);
        let is_end = |place: &usize| is_stop(place) || self.model.is_space(self.tokens[*place]);
        let ends = (answer.content..answer.end).rev().take_while(is_end);
        let next = Some(answer.end).filter(|next| *next < self.tokens.len() && is_stop(next));
        ends.filter(is_stop).last().or(next)
    }
}

/// Names what another role says.
fn what(role: Option<&'static str>) -> &'static str {
    match role {
        Some("system") => "a system message is trained on",
        Some("developer") => "a developer message is trained on",
        Some("tool") => "the result of a tool is trained on",
        Some("user") => "a user's message is trained on",
        _ => "a message of another role is trained on",
    }
}
