//! Checks conversation records: finds what the renderer of the SYNTH pipeline would refuse.

use std::path::Path;

use super::ConversationKind;
use super::chats::holds_chats;
use crate::batch::{Batch, Header};
use crate::check::{BatchCheck, Check, CheckKind, Misread, RecordChecker, RecordRules, checks};
use crate::error::{Result, shown};
use crate::harmony::{Policy, RenderOutput, Renderer};
use crate::record::conversation::Conversations;
use crate::record::{CHAT, CONVERSATION};
use crate::said::Said;
use crate::way_on;

checks! {
    NO_ID: Error Content "stream.conversation.id",
        "a conversation without an id: it cannot be put into a split";
    NO_MESSAGES: Error Content "stream.conversation.messages", "a conversation without messages";
    REFUSED: Error Content "stream.conversation.refused",
        "messages that the official renderer, or the SYNTH policy, refuses: harmony-tok stops here",
        hint "try: harmony-tok --on-error skip --rejects FILE; or --policy chat, in both commands";
}

impl CheckKind for ConversationKind {
    fn name(&self) -> &'static str {
        CONVERSATION.name
    }

    fn checks(&self) -> Vec<&'static Check> {
        CHECKS.to_vec()
    }

    /// Chats have the same column. (Where the user says a policy, all are conversations.)
    fn misread(&self, path: &Path, header: &Header, first: &Batch, said: &Said) -> Option<Misread> {
        if said.get::<Policy>().is_some() || !holds_chats(header, first) {
            return None;
        }
        let way = way_on::through("chat-harmony", &shown(path));
        let message =
            format!("these are chats, which chat-harmony turns into conversations; try: {way}");
        Some(Misread { what: CHAT.plural, message })
    }

    fn rules(&self, header: &Header, said: &Said) -> Result<Box<dyn RecordRules>> {
        let policy = Policy::of_header(header).or(said.get().copied());
        // The policy is SYNTH's if no other is stated.
        Ok(Box::new(ConversationRules { policy: policy.unwrap_or(Policy::SynthKdV1) }))
    }
}

struct ConversationRules {
    policy: Policy,
}

impl RecordRules for ConversationRules {
    fn checker(&self) -> Box<dyn RecordChecker> {
        let (renderer, rendered) = (Renderer::new(self.policy), RenderOutput::default());
        Box::new(ConversationChecker { renderer, rendered })
    }
}

struct ConversationChecker {
    renderer: Renderer,
    rendered: RenderOutput,
}

impl RecordChecker for ConversationChecker {
    fn check(&mut self, batch: &mut BatchCheck<'_, '_>) -> Result<()> {
        let conversations = Conversations::of(&batch.batch.records)?;
        let renders = batch.findings.wants(&REFUSED);
        for row in 0..conversations.len() {
            let id = conversations.id(row);
            let at = batch.at(row).id(id);
            match id {
                Some(id) => batch.id(row, id),
                None => batch.findings.add(&NO_ID, at, "its id is missing or null"),
            }
            let Some(messages) = conversations.messages_json(row) else {
                batch.findings.add(&NO_MESSAGES, at, "messages is missing or null");
                continue;
            };
            if !renders {
                continue;
            }
            let beside = self.renderer.beside_messages(&conversations.beside(row));
            let rendered = beside.and_then(|()| self.renderer.render(messages, &mut self.rendered));
            if let Err(error) = rendered {
                batch.findings.add(&REFUSED, at, &error);
                batch.summary.refused.push(error.cause.to_string());
            }
            self.rendered.clear();
        }
        Ok(())
    }
}
