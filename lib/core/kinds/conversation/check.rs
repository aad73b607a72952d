//! Checks conversation records: finds what the renderer of the SYNTH pipeline would refuse.

use crate::batch::Header;
use crate::check::{AssertedRules, BatchCheck, Check, CheckView, RecordChecker, checks};
use crate::error::Result;
use crate::harmony::{Policy, RenderOutput, Renderer};
use crate::record::conversation::{Conversations, POLICY};

checks! {
    NO_ID: Error Content "stream.conversation.id",
        "a conversation without an id: it cannot be put into a split";
    NO_MESSAGES: Error Content "stream.conversation.messages", "a conversation without messages";
    REFUSED: Error Content "stream.conversation.refused",
        "messages that the official renderer, or the SYNTH policy, refuses: harmony-tok stops here",
        hint "try: harmony-tok --on-error skip --rejects FILE; or --policy chat, in both commands";
}

impl CheckView for Conversations<'_> {
    fn checks() -> Vec<&'static Check> {
        CHECKS.to_vec()
    }

    fn checker(header: &Header, said: AssertedRules) -> Box<dyn RecordChecker> {
        let stated = header.text(POLICY).and_then(Policy::from_name);
        Box::new(ConversationChecker::new(stated.or(said.policy)))
    }
}

struct ConversationChecker {
    renderer: Renderer,
    rendered: RenderOutput,
}

impl ConversationChecker {
    /// Makes the checker; the policy is SYNTH's if no other is stated.
    fn new(policy: Option<Policy>) -> ConversationChecker {
        let renderer = Renderer::new(policy.unwrap_or(Policy::SynthKdV1));
        ConversationChecker { renderer, rendered: RenderOutput::default() }
    }
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
