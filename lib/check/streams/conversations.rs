//! Conversation records: what the renderer of the SYNTH pipeline would refuse.

use std::path::Path;

use super::{Looked, position};
use crate::batch::Batch;
use crate::check::{At, Check};
use crate::harmony::{Policy, Rendered, Renderer};
use crate::record::conversation::Conversations;

static NO_ID: Check = Check::error(
    "stream.conversation.id",
    "a conversation without an id: it can be put into no split",
);
static NO_MESSAGES: Check =
    Check::error("stream.conversation.messages", "a conversation without messages");
static REFUSED: Check = Check::error(
    "stream.conversation.refused",
    "messages that the official renderer, or the SYNTH policy, refuses: harmony-tok stops here",
)
.hint("try: harmony-tok --on-error skip --rejects FILE; or --policy chat, here and there");

pub(super) static CHECKS: &[&Check] = &[&NO_ID, &NO_MESSAGES, &REFUSED];

pub(super) struct Judge {
    renderer: Renderer,
    rendered: Rendered,
}

impl Judge {
    /// SYNTH's policy where no other is said.
    pub fn new(policy: Option<Policy>) -> Judge {
        let renderer = Renderer::new(policy.unwrap_or(Policy::SynthKdV1));
        Judge { renderer, rendered: Rendered::default() }
    }

    pub fn look(&mut self, path: &Path, batch: &Batch, looked: &mut Looked<'_>) {
        let conversations = Conversations::of(&batch.records);
        let renders = looked.findings.wants(&REFUSED);
        for row in 0..conversations.len() {
            let id = conversations.id(row);
            let at = position(At::file(path), batch.origin.place(row).position).id(id);
            match id {
                Some(id) => looked.id(row, id),
                None => looked.findings.add(&NO_ID, at, || "its id is missing or null".to_string()),
            }
            let Some(messages) = conversations.messages_json(row) else {
                looked.findings.add(&NO_MESSAGES, at, || "messages is missing or null".to_string());
                continue;
            };
            if !renders {
                continue;
            }
            if let Err(error) = self.renderer.render(messages, &mut self.rendered) {
                looked.refused.push(error.cause.to_string());
                looked.findings.add(&REFUSED, at, || error.to_string());
            }
            self.rendered.clear();
        }
    }
}
