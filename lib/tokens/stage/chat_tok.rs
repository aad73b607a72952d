//! Chats into tokens, for every model.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;

use super::harmony_renderer::HarmonyRenderer;
use super::lengths::{LengthCounts, LengthLimit};
use super::pairs::{PairMaker, TokenPair};
use super::sequences::Sequences;
use super::spelled::SpelledControl;
use super::template_renderer::Templates;
use crate::batch::Batch;
use crate::chat::{Conversations, EARLIER_THINKING, Json, KnownTools, LeftOutCounts, ReadSettings};
use crate::error::Result;
use crate::record::tokens::{Identity, TokensBuilder};
use crate::stage::{Chats, FromChats, WITHOUT_THINKING};
use crate::wording::{counted, grouped};

/// Makes token sequences of chats, on one thread.
pub trait Renderer: Send {
    /// Appends the sequences of a chat. The error says why it is refused; then what was appended means nothing.
    fn render(
        &mut self,
        chat: Json<'_>,
        left_out: &mut LeftOutCounts,
        out: &mut Sequences,
    ) -> Result<(), String>;

    /// Makes the pair of a record with a chosen and a rejected answer; returns whether it is wanted. The error says why it
    /// is refused; then what was made means nothing.
    fn pair(
        &mut self,
        record: Json<'_>,
        left_out: &mut LeftOutCounts,
        out: &mut TokenPair,
    ) -> Result<bool, String>;

    /// Adds the options that help against a refusal.
    fn with_way_on(&self, reason: String) -> String {
        reason
    }
}

/// How chats are rendered, for all threads.
pub enum Rendering {
    /// As openai-harmony does it for gpt-oss.
    Harmony(Box<Conversations>, SpelledControl),
    /// By the chat template of a model.
    Template(Box<Templates>),
}

impl Rendering {
    pub fn read_settings(&self) -> &ReadSettings {
        match self {
            Rendering::Harmony(conversations, _) => conversations.read_settings(),
            Rendering::Template(templates) => &templates.chats().read,
        }
    }

    fn renderer(&self) -> Box<dyn Renderer + '_> {
        match self {
            Rendering::Harmony(conversations, special) => {
                Box::new(HarmonyRenderer::new(conversations, *special))
            }
            Rendering::Template(templates) => Box::new(templates.renderer()),
        }
    }

    /// Returns what to add to a count of what was left out.
    fn way_on(&self, name: &str) -> &'static str {
        match self {
            Rendering::Harmony(..) if name == EARLIER_THINKING => WITHOUT_THINKING,
            Rendering::Harmony(..) => "",
            Rendering::Template(templates) => templates.way_on(name),
        }
    }
}

/// Converts chats to tokens.
pub struct ChatTok {
    rendering: Rendering,
    chats: Chats,
    /// The tokens, and those of the last sequence of each chat, which has the whole chat.
    tokens: [AtomicU64; 2],
    /// The control tokens that texts spell and that are encoded as text, and their chats.
    spelled: [AtomicU64; 2],
    limit: Option<LengthLimit>,
    lengths: Mutex<LengthCounts>,
}

impl ChatTok {
    pub fn new(rendering: Rendering, chats: Chats, limit: Option<LengthLimit>) -> ChatTok {
        let (tokens, spelled, lengths) = Default::default();
        ChatTok { rendering, chats, tokens, spelled, limit, lengths }
    }

    /// Returns a worker; each thread has its own.
    pub fn worker(&self) -> ChatTokWorker<'_> {
        let renderer = self.rendering.renderer();
        let (made, builder) = (Sequences::new(self.limit), TokensBuilder::default());
        let maker: Box<dyn FromChats + Send + '_> = match self.takes_pairs() {
            true => Box::new(PairMaker::new(renderer, self)),
            false => Box::new(Maker { renderer, made, builder, stage: self }),
        };
        ChatTokWorker { stage: self, maker, known_tools: KnownTools::default() }
    }

    fn takes_pairs(&self) -> bool {
        self.rendering.read_settings().takes_pairs()
    }

    pub(super) fn limit(&self) -> Option<LengthLimit> {
        self.limit
    }

    /// Counts the control tokens that the texts of a chat spell and that are encoded as text.
    pub(super) fn count_spelled(&self, tokens: u64) {
        for (of, count) in self.spelled.iter().zip([tokens, u64::from(tokens > 0)]) {
            of.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Counts what was left out of sequences that are too long.
    pub(super) fn count_lengths(&self, counts: &LengthCounts) {
        if *counts != LengthCounts::default() {
            self.lengths.lock().unwrap_or_else(PoisonError::into_inner).add(counts);
        }
    }

    /// Returns a warning for each kind of data that did not become part of the tokens, and for other facts that a
    /// trainer should know.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.chats.warnings(|name| self.rendering.way_on(name));
        if let Rendering::Template(templates) = &self.rendering {
            warnings.extend(templates.warnings());
        }
        if let Some(limit) = self.limit {
            let lengths = self.lengths.lock().unwrap_or_else(PoisonError::into_inner);
            warnings.extend(lengths.told(limit.too_long));
        }
        warnings
    }

    /// Returns what is told at the end.
    pub fn told(&self) -> impl Iterator<Item = String> {
        [self.chats.unread(), self.spelled(), self.summary()].into_iter().flatten()
    }

    /// Returns how many control tokens that texts spell are encoded as text.
    fn spelled(&self) -> Option<String> {
        let [tokens, chats] = self.spelled.each_ref().map(|of| of.load(Ordering::Relaxed));
        let verb = if tokens == 1 { "is" } else { "are" };
        let (tokens_counted, chats) = (counted(tokens, "control token"), counted(chats, "chat"));
        (tokens > 0).then(|| {
            format!(
                "{tokens_counted} in the texts of {chats} {verb} encoded as text (--special text)"
            )
        })
    }

    /// Returns how many sequences the chats became, if these are more; what that costs beside one for each chat.
    fn summary(&self) -> Option<String> {
        let [chats, sequences] = self.chats.divided()?;
        let [tokens, whole] = self.tokens.each_ref().map(|of| of.load(Ordering::Relaxed));
        // (What one record for each chat would have, if that had a limit, is not known.)
        let one = match self.limit {
            None => format!(" ({} with --turns all)", grouped(whole)),
            Some(_) => String::new(),
        };
        let (chats, sequences) = (counted(chats, "chat"), counted(sequences, "sequence"));
        Some(format!("{chats}, {sequences}, {}{one}", counted(tokens, "token")))
    }
}

/// Converts chats to tokens, on one thread.
pub struct ChatTokWorker<'t> {
    stage: &'t ChatTok,
    maker: Box<dyn FromChats + Send + 't>,
    known_tools: KnownTools,
}

impl ChatTokWorker<'_> {
    /// Converts a batch of chats to tokens.
    pub fn convert(&mut self, batch: Batch) -> Result<Batch> {
        let ChatTok { chats, rendering, .. } = self.stage;
        chats.convert(batch, rendering.read_settings(), &mut self.known_tools, &mut *self.maker)
    }
}

/// Makes the sequences of a batch.
struct Maker<'t> {
    renderer: Box<dyn Renderer + 't>,
    made: Sequences,
    builder: TokensBuilder,
    stage: &'t ChatTok,
}

impl FromChats for Maker<'_> {
    fn make(&mut self, chat: Json<'_>, left_out: &mut LeftOutCounts) -> Result<usize, String> {
        self.made.clear();
        self.renderer.render(chat, left_out, &mut self.made)?;
        let counts = [self.made.rendered.tokens.len(), self.made.last()];
        for (of, count) in self.stage.tokens.iter().zip(counts) {
            of.fetch_add(count as u64, Ordering::Relaxed);
        }
        self.stage.count_spelled(self.made.spelled);
        self.stage.count_lengths(&self.made.lengths);
        Ok(self.made.count())
    }

    fn add(&mut self, number: usize, identity: Identity<'_>) -> Result<()> {
        self.made.add(number, &mut self.builder);
        Ok(self.builder.finish_record(identity)?)
    }

    fn with_way_on(&self, reason: String) -> String {
        self.renderer.with_way_on(reason)
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        Ok(std::mem::take(&mut self.builder).finish()?)
    }
}
