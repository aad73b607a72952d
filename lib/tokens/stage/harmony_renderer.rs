//! Chats into tokens of gpt-oss: the conversations of chat-harmony, rendered as harmony-tok renders them.

use std::ops::Range;

use super::chat_tok::Renderer;
use super::pairs::{TWO_PROMPTS, TokenPair};
use super::sequences::Sequences;
use super::spelled::{SpelledControl, refused};
use crate::chat::{Conversations, Json, LeftOutCounts};
use crate::harmony::{self, Policy, RenderOutput, Role, Segment};
use crate::tokenizer::special_id;

/// Renders chats as openai-harmony does, on one thread.
pub struct HarmonyRenderer<'c> {
    conversations: &'c Conversations,
    renderer: harmony::Renderer,
    /// The conversations of a chat, as JSON.
    texts: Vec<u8>,
    special: SpelledControl,
    /// A conversation of a pair.
    rendered: RenderOutput,
}

impl HarmonyRenderer<'_> {
    pub fn new(conversations: &Conversations, special: SpelledControl) -> HarmonyRenderer<'_> {
        let renderer = harmony::Renderer::new(Policy::Chat);
        let (texts, rendered) = Default::default();
        HarmonyRenderer { conversations, renderer, texts, special, rendered }
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
            // (The conversations of a chat have the same messages.)
            out.spelled = out.spelled.max(spelled(text, self.special)?);
            self.renderer.render(text, &mut out.rendered).map_err(|error| error.to_string())?;
            out.end();
            out.limit_last(true)?;
        }
        Ok(())
    }

    fn pair(
        &mut self,
        record: Json<'_>,
        left_out: &mut LeftOutCounts,
        out: &mut TokenPair,
    ) -> Result<bool, String> {
        self.texts.clear();
        let conversations = self.conversations.pair(record, left_out, &mut self.texts)?;
        for (Range { start, end }, number) in conversations.iter().cloned().zip(0..) {
            let text = std::str::from_utf8(&self.texts[start..end]).map_err(|e| e.to_string())?;
            out.spelled = out.spelled.max(spelled(text, self.special)?);
            self.rendered.clear();
            let rendered = self.renderer.render(text, &mut self.rendered);
            rendered.map_err(|error| error.to_string())?;
            let RenderOutput { tokens, segments } = &self.rendered;
            let is_answer = |of: &&Segment| of.role == Role::Assistant && of.is_trained;
            let mut answer = segments.list.iter().filter(is_answer);
            let first = answer.next().ok_or("no answer that is trained on")?;
            // (The model is given the beginning of its message, <|start|>assistant.)
            let begin = first.start as usize + 2;
            let end = answer.next_back().unwrap_or(first).end as usize;
            match number {
                0 => out.prompt.extend_from_slice(&tokens[..begin]),
                _ if out.prompt != tokens[..begin] => return Err(TWO_PROMPTS.to_string()),
                _ => {}
            }
            out.answers[number].extend_from_slice(&tokens[begin..end]);
        }
        Ok(!conversations.is_empty())
    }
}

/// Returns how many control tokens the texts of a conversation spell; fails if these are refused.
fn spelled(conversation: &str, special: SpelledControl) -> Result<u64, String> {
    let mut tokens = control_tokens(conversation).peekable();
    match tokens.peek() {
        Some(token) if special == SpelledControl::Refuse => Err(refused("the chat", token)),
        _ => Ok(tokens.count() as u64),
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
