//! Chats into tokens of gpt-oss: the conversations of chat-harmony, rendered as harmony-tok renders them.

use std::ops::Range;

use super::chat_tok::{Renderer, Sequences};
use crate::chat::{Conversations, Json, LeftOutCounts};
use crate::harmony::{self, Policy};

/// Renders chats as openai-harmony does, on one thread.
pub struct HarmonyRenderer<'c> {
    conversations: &'c Conversations,
    renderer: harmony::Renderer,
    /// The conversations of a chat, as JSON.
    texts: Vec<u8>,
}

impl HarmonyRenderer<'_> {
    pub fn new(conversations: &Conversations) -> HarmonyRenderer<'_> {
        let renderer = harmony::Renderer::new(Policy::Chat);
        HarmonyRenderer { conversations, renderer, texts: Vec::new() }
    }
}

impl Renderer for HarmonyRenderer<'_> {
    fn render(
        &mut self,
        chat: Json<'_>,
        left_out: &mut LeftOutCounts,
        out: &mut Sequences,
    ) -> Result<(), String> {
        self.texts.clear();
        for Range { start, end } in self.conversations.of(chat, left_out, &mut self.texts)? {
            let text = std::str::from_utf8(&self.texts[start..end]).map_err(|e| e.to_string())?;
            self.renderer.render(text, &mut out.rendered).map_err(|error| error.to_string())?;
            out.end();
        }
        Ok(())
    }
}
