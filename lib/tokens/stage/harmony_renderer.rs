//! Chats into tokens of gpt-oss: the conversations of chat-harmony, rendered as harmony-tok renders them.

use std::ops::Range;

use super::chat_tok::Renderer;
use super::sequences::Sequences;
use super::spelled::{SpelledControl, refused};
use crate::chat::{Conversations, Json, LeftOutCounts};
use crate::harmony::{self, Policy};
use crate::tokenizer::special_id;

/// Renders chats as openai-harmony does, on one thread.
pub struct HarmonyRenderer<'c> {
    conversations: &'c Conversations,
    renderer: harmony::Renderer,
    /// The conversations of a chat, as JSON.
    texts: Vec<u8>,
    special: SpelledControl,
}

impl HarmonyRenderer<'_> {
    pub fn new(conversations: &Conversations, special: SpelledControl) -> HarmonyRenderer<'_> {
        let renderer = harmony::Renderer::new(Policy::Chat);
        HarmonyRenderer { conversations, renderer, texts: Vec::new(), special }
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
            let mut tokens = control_tokens(text).peekable();
            match tokens.peek() {
                Some(token) if self.special == SpelledControl::Refuse => {
                    return Err(refused("the chat", token));
                }
                // (The conversations of a chat have the same messages.)
                _ => out.spelled = out.spelled.max(tokens.count() as u64),
            }
            self.renderer.render(text, &mut out.rendered).map_err(|error| error.to_string())?;
            out.end();
            out.limit_last(true)?;
        }
        Ok(())
    }
}

/// Returns the control tokens that the texts of a conversation spell, which JSON writes as they are.
fn control_tokens(conversation: &str) -> impl Iterator<Item = &str> {
    // (In a text these quotes are escaped.)
    const OF_CALL: &str = "\"content_type\": \"";
    let begins = memchr::memmem::find_iter(conversation.as_bytes(), b"<|");
    let token = |at: usize| {
        let end = at + conversation[at..].find("|>")? + "|>".len();
        let token = &conversation[at..end];
        let is_text = special_id(token).is_some() && !conversation[..at].ends_with(OF_CALL);
        is_text.then_some(token)
    };
    begins.filter_map(token)
}
