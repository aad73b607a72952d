//! Chats into tokens, by the chat template and the tokenizer of a model.

use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use gristmill_models::Encoder;
use gristmill_template::{
    Channel, Chat, Error as TemplateError, Finder, FoundTurns, Role, Template, UnseenText, Value,
};

use super::chat::raw_json;
use super::chat_ids::ChatIds;
use crate::batch::Batch;
use crate::chat::{Json, LeftOutCounts, SharedLeftOutCounts, TemplateChat, TemplateChats, Turns};
use crate::error::Result;
use crate::model::{ChatModel, TextSegment, encode};
use crate::record::conversation::turn_id;
use crate::record::tokens::{Identity, Segment, TokensBuilder};
use crate::visible;
use crate::wording::counted;
use crate::wording::times;

/// How to treat data that a template does not show, and texts that spell special tokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChatTokSettings {
    /// Whether reasoning that does not show in the text is refused.
    pub keeps_reasoning: bool,
    /// Whether texts may spell special tokens; they then become these tokens.
    pub allows_special: bool,
    /// Whether the ranges of `{% generation %}` are taken if they differ from the ranges that are found.
    pub trusts_generation: bool,
}

/// Converts chats to tokens.
pub struct ChatTok {
    model: ChatModel,
    /// For chats without tools, and for chats with tools.
    finders: [Finder; 2],
    chats: TemplateChats,
    ids: ChatIds,
    settings: ChatTokSettings,
    left_out: SharedLeftOutCounts,
    /// The number of places inside a token at which texts were cut.
    cuts: AtomicU64,
    /// Turns that are trained on and do not end with a stop token.
    endless: AtomicU64,
}

/// The name for counting reasoning that does not show, in turns that are trained on.
const REASONING: &str = "reasoning that the template does not show";
/// The name for counting reasoning that does not show, in other turns.
const CONTEXT: &str =
    "reasoning of turns that are not trained on, which the template does not show";
/// The most bytes of all texts of a record: each turn repeats the turns before it.
const MOST_BYTES: usize = 1 << 28;

impl ChatTok {
    pub fn new(
        model: ChatModel,
        chats: TemplateChats,
        id_field: Option<String>,
        settings: ChatTokSettings,
    ) -> ChatTok {
        let finders = [false, true].map(|has_tools| {
            finder(&model, model.template(has_tools).clone(), settings.trusts_generation)
        });
        ChatTok {
            model,
            finders,
            chats,
            ids: ChatIds::new(id_field),
            settings,
            left_out: SharedLeftOutCounts::default(),
            cuts: AtomicU64::new(0),
            endless: AtomicU64::new(0),
        }
    }

    pub fn model(&self) -> &ChatModel {
        &self.model
    }

    /// Returns a worker; each thread has its own.
    pub fn worker(&self) -> Worker<'_> {
        Worker { stage: self, encoder: self.model.tokenizer().encoder(), ends: Vec::new() }
    }

    /// Returns a warning for each kind of data that did not become part of the tokens, and for other facts that a
    /// trainer should know.
    pub fn warnings(&self) -> Vec<String> {
        let counts = self.left_out.counts();
        let left_out = counts.iter().map(|(name, count)| {
            let way_on = match name {
                REASONING if self.model.reads_reasoning() => {
                    "; --turns split makes a record for each turn, with its own; --reasoning keep refuses such chats"
                }
                REASONING => "; --reasoning keep refuses such chats",
                _ => "",
            };
            format!("{name}: left out {}{way_on}", times(count))
        });
        let [cuts, endless] = [&self.cuts, &self.endless].map(|of| of.load(Ordering::Relaxed));
        let cuts = (cuts > 0).then(|| {
            let (places, are) =
                (counted(cuts, "place"), if cuts == 1 { "is" } else { "are" });
            format!(
                "{places} where an answer begins or ends {are} inside a token: the text is encoded in pieces there"
            )
        });
        let endless = (endless > 0).then(|| {
            let (turns, verb) =
                (counted(endless, "turn"), if endless == 1 { "does" } else { "do" });
            format!(
                "{turns} of the assistant {verb} not end with a stop token: the model will not learn to stop there; \
                 try: --stop TOKEN"
            )
        });
        left_out.chain(cuts).chain(endless).collect()
    }
}

fn finder(model: &ChatModel, template: Template, trusts_generation: bool) -> Finder {
    let mut finder = Finder::new(template, model.stops().to_vec());
    finder.trust_generation(trusts_generation);
    finder
}

/// Converts chats to tokens, on one thread.
pub struct Worker<'t> {
    stage: &'t ChatTok,
    encoder: Encoder,
    ends: Vec<usize>,
}

/// The tokens of a chat.
struct TokenizedChat {
    turn: Option<usize>,
    tokens: Vec<i32>,
    segments: Vec<(TextSegment, std::ops::Range<usize>)>,
    cuts: u64,
    endless: u64,
}

impl Worker<'_> {
    /// Converts a batch of chats to tokens.
    pub fn convert(&mut self, mut batch: Batch) -> Result<Batch> {
        let records = batch.records.clone();
        let texts = records.column(0).as_string::<i32>();
        let mut builder = TokensBuilder::default();
        let mut all_left_out = LeftOutCounts::default();
        // The row of each sequence: a chat may become several.
        let mut rows = Vec::new();
        batch.progress = Some(records.num_rows() as u64);
        for row in 0..records.num_rows() {
            let (mut left_out, mut id) = (LeftOutCounts::default(), None);
            match (self.record(texts.value(row), &mut id, &mut left_out), &id) {
                (Ok(made), Some(id)) => {
                    all_left_out.extend(&left_out);
                    let place = batch.origin.in_file(row);
                    let (input, number) = place.unzip();
                    rows.extend(made.iter().map(|_| row));
                    for made in &made {
                        self.stage.cuts.fetch_add(made.cuts, Ordering::Relaxed);
                        self.stage.endless.fetch_add(made.endless, Ordering::Relaxed);
                        push(&mut builder, made);
                        let id = made.turn.map_or(id.clone(), |turn| turn_id(id, turn));
                        let (id, input) = (Some(id.as_str()), input.as_deref());
                        builder.finish_record(Identity { id, input, row: number })?;
                    }
                }
                (done, id) => {
                    let reason = done.err().unwrap_or_default();
                    batch.reject_row((&records, row), id.as_deref(), reason, raw_json);
                }
            }
        }
        self.stage.left_out.add(&all_left_out);
        if rows.windows(2).any(|pair| pair[0] == pair[1]) {
            batch.origin = batch.origin.of_rows(&rows);
        }
        batch.records = builder.finish()?;
        Ok(batch)
    }

    /// Returns the tokens of the chats of a record.
    fn record(
        &mut self,
        text: &str,
        id: &mut Option<String>,
        left_out: &mut LeftOutCounts,
    ) -> Result<Vec<TokenizedChat>, String> {
        let record = Json::parse(text).map_err(|error| format!("invalid JSON: {error}"))?;
        *id = Some(self.stage.ids.of(&record)?);
        let chats = self.stage.chats.of(record, left_out)?;
        let (mut made, mut bytes) = (Vec::with_capacity(chats.len()), 0usize);
        for chat in chats {
            let found = self.found(&chat, left_out)?;
            bytes += found.text.len();
            if bytes > MOST_BYTES {
                let cause = "the texts of all turns together are over 256 MiB";
                return Err(format!("{cause}; try: --turns last, or all"));
            }
            self.refuse_unseen(&chat, &found, left_out)?;
            made.push(self.encoded(&chat, &found)?);
        }
        Ok(made)
    }

    /// Renders a chat, and finds what the model said in it.
    fn found(
        &self,
        chat: &TemplateChat,
        left_out: &mut LeftOutCounts,
    ) -> Result<FoundTurns, String> {
        self.refuse_special(chat)?;
        let has_tools = !chat.tools.is_empty();
        let values = chat.messages.iter().map(|message| message.value.clone()).collect();
        let rendered = Chat::new(values).and_then(|rendered| match has_tools {
            true => rendered.with_tools(chat.tools.clone()),
            false => Ok(rendered),
        });
        let rendered = rendered.map_err(|error| error.to_string())?;
        let wanted = |message: usize| chat.messages[message].is_trained;
        let of_model = &self.stage.finders[usize::from(has_tools)];
        let is_named = |(name, _): &&(String, Value)| self.stage.model.names(has_tools, name);
        let (named, others): (Vec<_>, Vec<_>) = chat.variables.iter().partition(is_named);
        others.iter().for_each(|(name, _)| left_out.count(name, true));
        let found = if named.is_empty() {
            of_model.find(&rendered, wanted)
        } else {
            let mut template = of_model.template().clone();
            for (name, value) in named {
                template.set(name, value.clone()).map_err(|error| error.to_string())?;
            }
            let ChatTok { model, settings, .. } = self.stage;
            finder(model, template, settings.trusts_generation).find(&rendered, wanted)
        };
        found.map_err(|error| told(chat, &error))
    }

    /// Fails if a text spells a special token, since the tokenizer would take the text for that token.
    fn refuse_special(&self, chat: &TemplateChat) -> Result<(), String> {
        if self.stage.settings.allows_special {
            return Ok(());
        }
        let tokenizer = self.stage.model.tokenizer();
        let spelled = |value: &Value| {
            let mut found = None;
            each_text(value, &mut |text| {
                found = found
                    .take()
                    .or_else(|| Some(tokenizer.spelled_special(text)?.token.content.to_string()));
            });
            found
        };
        let cause = |place: String, token: String| {
            let token = visible::line(&token).into_owned();
            Err(format!(
                "{place}: a text spells the special token {token}, and would become it; \
                 try: --allow-special, which takes it for the token"
            ))
        };
        for message in &chat.messages {
            if let Some(token) = spelled(&message.value) {
                return cause(format!("message {}", message.index), token);
            }
        }
        match chat.tools.iter().find_map(spelled) {
            Some(token) => cause("tools".to_string(), token),
            None => Ok(()),
        }
    }

    /// Fails if the text does not show what is trained on, or what was asked. Counts reasoning that it does not show.
    fn refuse_unseen(
        &self,
        chat: &TemplateChat,
        found: &FoundTurns,
        left_out: &mut LeftOutCounts,
    ) -> Result<(), String> {
        let is_split = self.stage.chats.turns == Turns::Split;
        for unseen in &found.unseen {
            let refused = |message: usize, what: &str| {
                let index = chat.messages[message].index;
                Err(format!("message {index}: the template does not show its {what}"))
            };
            match *unseen {
                UnseenText::Content(message) => {
                    let content = chat.messages[message].value.get("content");
                    let is_text = content.and_then(Value::as_text).is_some();
                    return refused(
                        message,
                        if is_text { "content" } else { "content, which is no text" },
                    );
                }
                UnseenText::Call(message) => {
                    return refused(message, "tool calls; a template for tools would");
                }
                UnseenText::Tools => {
                    let cause = "the template does not show the tools of the chat";
                    return Err(format!("{cause}; try: --ignore-field tools"));
                }
                UnseenText::Reasoning(message) if chat.messages[message].is_trained => {
                    if self.stage.settings.keeps_reasoning {
                        return refused(message, "reasoning (--reasoning keep)");
                    }
                    left_out.count(REASONING, true);
                }
                UnseenText::Reasoning(_) => left_out.count(CONTEXT, !is_split),
            }
        }
        Ok(())
    }

    /// Returns the tokens of a text.
    fn encoded(
        &mut self,
        chat: &TemplateChat,
        found: &FoundTurns,
    ) -> Result<TokenizedChat, String> {
        let segments = found.segments.iter().map(|segment| TextSegment {
            bytes: segment.range.clone(),
            role: role(segment.role),
            channel: segment.channel.map(channel),
            is_trained: chat.messages[segment.message].is_trained,
        });
        let segments: Vec<TextSegment> = segments.collect();
        let mut tokens = Vec::with_capacity(found.text.len() / 4);
        let encoded =
            encode(&mut self.encoder, &found.text, &segments, &mut tokens, &mut self.ends);
        let encoded = encoded.map_err(|error| error.to_string())?;
        let endless = found.turns.iter().filter(|turn| !turn.has_stop).count() as u64;
        let segments = segments.into_iter().zip(encoded.segments).collect();
        Ok(TokenizedChat { turn: chat.turn, tokens, segments, cuts: encoded.cuts, endless })
    }
}

/// Returns an error of a template, with the place of its message in the record.
fn told(chat: &TemplateChat, error: &TemplateError) -> String {
    match error {
        TemplateError::Turn { message, cause } => {
            let index = chat.messages.get(*message).map_or(*message, |message| message.index);
            format!("message {index}: {cause}")
        }
        TemplateError::Unsupported { cause, .. } if cause.contains("date") => {
            format!("{error}; try: --date YYYY-MM-DD")
        }
        error => error.to_string(),
    }
}

/// Calls `see` with each text in a value, names of members too.
fn each_text(value: &Value, see: &mut dyn FnMut(&str)) {
    match value {
        Value::Text(text) => see(text),
        Value::List(items) => items.iter().for_each(|item| each_text(item, see)),
        Value::Dict(dict) => dict.entries().iter().for_each(|(key, value)| {
            each_text(key, see);
            each_text(value, see);
        }),
        _ => {}
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Tool => "tool",
        Role::Assistant => "assistant",
    }
}

fn channel(channel: Channel) -> &'static str {
    match channel {
        Channel::Analysis => "analysis",
        Channel::Commentary => "commentary",
        Channel::Final => "final",
    }
}

/// Adds tokens and segments; those without a token are left out.
fn push(builder: &mut TokensBuilder, made: &TokenizedChat) {
    builder.tokens.extend_from_slice(&made.tokens);
    for (segment, tokens) in made.segments.iter().filter(|(_, tokens)| !tokens.is_empty()) {
        let TextSegment { role, channel, is_trained, .. } = *segment;
        builder.segment(&Segment {
            role,
            channel,
            start: tokens.start as i32,
            end: tokens.end as i32,
            // (What has no channel is not trained on anyway.)
            is_trained: channel.is_none() || is_trained,
        });
    }
}
