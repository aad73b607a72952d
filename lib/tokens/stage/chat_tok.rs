//! Chats into tokens, by the chat template and the tokenizer of a model.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use gristmill_models::Encoder;
use gristmill_template::{
    Channel, Chat, Error as TemplateError, Finder, FoundTurns, Prompt, Records, Role,
    TrustGeneration, UnseenText, Value,
};

use crate::batch::Batch;
use crate::chat::{
    ContentForm, Json, LeftOutCounts, SharedLeftOutCounts, TemplateChat, TemplateChats, Turns,
    behind_reasoning,
};
use crate::error::Result;
use crate::model::{ChatModel, TextSegment, encode};
use crate::record::conversation::turn_id;
use crate::record::tokens::{Identity, Segment, TokensBuilder};
use crate::stage::ChatIds;
use crate::stage::{raw_json, true_reason};
use crate::visible;
use crate::wording::{counted, grouped};

/// How to treat data that a template does not show, and texts that spell special tokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChatTokSettings {
    /// Whether reasoning that does not show in the text is refused.
    pub keeps_reasoning: bool,
    /// Whether texts may spell special tokens; they then become these tokens.
    pub allows_special: bool,
    /// What happens if `{% generation %}` names other ranges than are found.
    pub generation: TrustGeneration,
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
    counts: Counts,
    /// Ends of generation prompts that no turn is printed with, and the number of turns.
    unprinted: Mutex<BTreeMap<String, u64>>,
}

/// What is said at the end.
#[derive(Default)]
struct Counts {
    /// The chats that became sequences.
    chats: AtomicU64,
    sequences: AtomicU64,
    tokens: AtomicU64,
    /// The tokens of the last sequence of each chat, which has the whole chat.
    whole_tokens: AtomicU64,
    /// Places inside a token at which texts were cut.
    cuts: AtomicU64,
    /// Turns that are trained on and do not end with a stop token.
    endless: AtomicU64,
    /// Turns behind the generation prompt of another value of a switch.
    switched: AtomicU64,
    /// Turns that stand otherwise than the model generates them.
    otherwise: AtomicU64,
}

/// The name for counting reasoning that does not show, in turns that are trained on.
const REASONING: &str = "reasoning that the template does not show";

impl ChatTok {
    pub fn new(
        model: ChatModel,
        mut chats: TemplateChats,
        id_field: Option<String>,
        settings: ChatTokSettings,
    ) -> ChatTok {
        let ids = ChatIds::new(id_field);
        chats.read.read_elsewhere = ids.columns();
        let finders = [false, true].map(|has_tools| {
            model.finder(model.template(has_tools).clone(), has_tools, &[], settings.generation)
        });
        ChatTok {
            model,
            finders,
            chats,
            ids,
            settings,
            left_out: SharedLeftOutCounts::default(),
            counts: Counts::default(),
            unprinted: Mutex::default(),
        }
    }

    pub fn model(&self) -> &ChatModel {
        &self.model
    }

    /// Counts the sequences of a chat.
    fn count(&self, made: &[TokenizedChat]) {
        let Counts { chats, sequences, tokens, whole_tokens, cuts, .. } = &self.counts;
        let add = |of: &AtomicU64, count: usize| of.fetch_add(count as u64, Ordering::Relaxed);
        add(chats, usize::from(!made.is_empty()));
        add(sequences, made.len());
        add(tokens, made.iter().map(|of| of.tokens.len()).sum());
        add(whole_tokens, made.last().map_or(0, |of| of.tokens.len()));
        cuts.fetch_add(made.iter().map(|of| of.cuts).sum(), Ordering::Relaxed);
    }

    /// Counts how the turns of a record stand.
    fn count_turns(&self, found: &FoundTurns) {
        let Counts { endless, switched, otherwise, .. } = &self.counts;
        otherwise.fetch_add(found.otherwise as u64, Ordering::Relaxed);
        for turn in &found.turns {
            endless.fetch_add(u64::from(!turn.has_stop), Ordering::Relaxed);
            match &turn.prompt {
                Prompt::Whole | Prompt::InWords => {}
                Prompt::Switched => drop(switched.fetch_add(1, Ordering::Relaxed)),
                Prompt::Without(text) => {
                    let mut unprinted =
                        self.unprinted.lock().unwrap_or_else(PoisonError::into_inner);
                    *unprinted.entry(text.clone()).or_default() += 1;
                }
            }
        }
    }

    /// Returns a worker; each thread has its own.
    pub fn worker(&self) -> Worker<'_> {
        Worker { stage: self, encoder: self.model.tokenizer().encoder(), ends: Vec::new() }
    }

    /// Returns a warning for each kind of data that did not become part of the tokens, and for other facts that a
    /// trainer should know.
    pub fn warnings(&self) -> Vec<String> {
        let left_out = self.left_out.counts().warnings(|name| match name {
            REASONING
                if self.model.reasoning_key().is_some() && self.chats.turns == Turns::All =>
            {
                "; --turns fit makes records in which each turn has its own; --reasoning keep refuses such chats"
            }
            REASONING => "; --reasoning keep refuses such chats",
            _ => "",
        });
        let Counts { cuts, endless, switched, otherwise, .. } = &self.counts;
        let [cuts, endless, switched, otherwise] =
            [cuts, endless, switched, otherwise].map(|of| of.load(Ordering::Relaxed));
        let verb = |count: u64, one: &'static str, many: &'static str| {
            if count == 1 { one } else { many }
        };
        let turns = |count: u64| format!("{} of the assistant", counted(count, "turn"));
        let cuts = (cuts > 0).then(|| {
            let (places, are) = (counted(cuts, "place"), verb(cuts, "is", "are"));
            format!(
                "{places} where an answer begins or ends {are} inside a token: the text is encoded in pieces there"
            )
        });
        let endless = (endless > 0).then(|| {
            let (turns, verb) = (turns(endless), verb(endless, "does", "do"));
            format!(
                "{turns} {verb} not end with a stop token, since the template prints none: the model will not learn to \
                 stop there"
            )
        });
        let switched = (switched > 0).then(|| {
            let (turns, verb) = (turns(switched), verb(switched, "stands", "stand"));
            format!(
                "{turns} {verb} behind the prompt of enable_thinking or thinking with another value"
            )
        });
        let otherwise = (otherwise > 0).then(|| {
            let (turns, verb) = (turns(otherwise), verb(otherwise, "is", "are"));
            format!(
                "{turns} {verb} trained on otherwise than generated; --turns fit makes records for such turns"
            )
        });
        let unprinted = self.unprinted.lock().unwrap_or_else(PoisonError::into_inner);
        let unprinted: Vec<String> = unprinted
            .iter()
            .map(|(text, count)| {
                let (turns, verb) = (turns(*count), verb(*count, "is", "are"));
                format!(
                    "the generation prompt ends in {}, which the template does not print with a turn: {turns} {verb} \
                     trained on behind the rest of the prompt",
                    visible::line(&format!("{text:?}"))
                )
            })
            .collect();
        let counted = [cuts, endless, switched, otherwise].into_iter().flatten();
        left_out.into_iter().chain(counted).chain(unprinted).collect()
    }

    /// Returns the line that names what was not read.
    pub fn unread(&self) -> Option<String> {
        self.left_out.counts().unread()
    }

    /// Returns how many sequences the chats became, if these are more; what that costs beside one for each chat.
    pub fn summary(&self) -> Option<String> {
        let Counts { chats, sequences, tokens, whole_tokens, .. } = &self.counts;
        let [chats, sequences, tokens, whole] =
            [chats, sequences, tokens, whole_tokens].map(|of| of.load(Ordering::Relaxed));
        (sequences > chats).then(|| {
            format!(
                "{}, {}, {} ({} with --turns all)",
                counted(chats, "chat"),
                counted(sequences, "sequence"),
                counted(tokens, "token"),
                grouped(whole)
            )
        })
    }
}

/// Converts chats to tokens, on one thread.
pub struct Worker<'t> {
    stage: &'t ChatTok,
    encoder: Encoder,
    ends: Vec<usize>,
}

/// The tokens of a record of a chat.
struct TokenizedChat {
    tokens: Vec<i32>,
    segments: Vec<(TextSegment, std::ops::Range<usize>)>,
    cuts: u64,
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
                    self.stage.count(&made);
                    for (place, of) in made.iter().enumerate() {
                        push(&mut builder, of);
                        let is_one = made.len() == 1;
                        let id = if is_one { id.clone() } else { turn_id(id, place + 1) };
                        let (id, input) = (Some(id.as_str()), input.as_deref());
                        builder.finish_record(Identity { id, input, row: number })?;
                    }
                }
                (done, id) => {
                    let reason = done.err().unwrap_or_default();
                    let reason = true_reason(reason, texts.value(row), &self.stage.chats.read);
                    let reason = self.with_way_on(reason);
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
        let Some(chat) = self.stage.chats.of(record, left_out)? else { return Ok(Vec::new()) };
        let found = self.found(&chat, left_out)?;
        let mut made = Vec::with_capacity(found.len());
        for found in &found {
            self.refuse_unseen(&chat, found, left_out)?;
            made.push(self.encoded(found)?);
        }
        for found in &found {
            self.stage.count_turns(found);
        }
        Ok(made)
    }

    /// Renders the records of a chat, and finds what the model said in them.
    fn found(
        &self,
        chat: &TemplateChat,
        left_out: &mut LeftOutCounts,
    ) -> Result<Vec<FoundTurns>, String> {
        self.refuse_special(chat)?;
        let has_tools = !chat.tools.is_empty();
        let values = chat.messages.iter().map(|message| message.value.clone()).collect();
        let rendered = Chat::new(values).and_then(|rendered| match has_tools {
            true => rendered.with_tools(chat.tools.clone()),
            false => Ok(rendered),
        });
        let rendered = rendered.map_err(|error| error.to_string())?;
        let wanted = |message: usize| chat.messages[message].is_trained;
        let records = match self.stage.chats.turns {
            Turns::All => Records::One,
            Turns::Fit | Turns::Last => Records::Fewest,
        };
        let of_model = &self.stage.finders[usize::from(has_tools)];
        let is_named = |(name, _): &&(String, Value)| self.stage.model.names(has_tools, name);
        let (named, others): (Vec<_>, Vec<_>) = chat.variables.iter().partition(is_named);
        others.iter().for_each(|(name, _)| left_out.count(name, true));
        let found = if named.is_empty() {
            of_model.find(&rendered, records, wanted)
        } else {
            let mut template = of_model.template().clone();
            for (name, value) in &named {
                template.set(name, value.clone()).map_err(|error| error.to_string())?;
            }
            let named: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
            let ChatTok { model, settings, .. } = self.stage;
            let finder = model.finder(template, has_tools, &named, settings.generation);
            finder.find(&rendered, records, wanted)
        };
        found.map_err(|error| told(chat, &error))
    }

    /// Adds what helps if the template reads contents in another form.
    fn with_way_on(&self, reason: String) -> String {
        let is_of_texts =
            self.stage.chats.content == ContentForm::Text && !reason.contains("; try: ");
        match is_of_texts && self.stage.model.reads_parts_alone() {
            true => format!("{reason}; try: --content parts"),
            false => reason,
        }
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
        let is_trained = |message: usize| is_turn(found, message);
        for unseen in &found.unseen {
            match *unseen {
                UnseenText::Content(_) | UnseenText::Call(_) | UnseenText::Tools => {
                    return Err(not_shown(chat, *unseen));
                }
                UnseenText::Reasoning(message) if is_trained(message) => {
                    if self.stage.settings.keeps_reasoning {
                        return Err(not_shown(chat, *unseen));
                    }
                    left_out.count(REASONING, true);
                }
                // (The template leaves it out of the history, as it does when the model answers.)
                UnseenText::Reasoning(_) => {}
            }
        }
        let has = |text: &str, part: &str| {
            memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some()
        };
        for turn in &found.turns {
            let content = chat.messages[turn.message].value.get("content").and_then(Value::as_text);
            let shown = &found.text[turn.said.clone()];
            let Some(content) = content.filter(|content| !has(shown, content.trim())) else {
                continue;
            };
            // (Of a text with its reasoning a template may show the rest.)
            let rest = behind_reasoning(content).filter(|rest| shown.contains(rest.trim()));
            if rest.is_none() || self.stage.settings.keeps_reasoning {
                let index = chat.messages[turn.message].index;
                return Err(format!(
                    "message {index}: the template shows its content otherwise: it splits the text, or leaves out a \
                     part of it"
                ));
            }
            left_out.count(REASONING, true);
        }
        Ok(())
    }

    /// Returns the tokens of a text.
    fn encoded(&mut self, found: &FoundTurns) -> Result<TokenizedChat, String> {
        let is_trained = |message: usize| is_turn(found, message);
        let segments = found.segments.iter().map(|segment| TextSegment {
            bytes: segment.range.clone(),
            role: role(segment.role),
            channel: segment.channel.map(channel),
            is_trained: is_trained(segment.message),
        });
        let segments: Vec<TextSegment> = segments.collect();
        let mut tokens = Vec::with_capacity(found.text.len() / 4);
        let encoded =
            encode(&mut self.encoder, &found.text, &segments, &mut tokens, &mut self.ends);
        let encoded = encoded.map_err(|error| error.to_string())?;
        let segments = segments.into_iter().zip(encoded.segments).collect();
        Ok(TokenizedChat { tokens, segments, cuts: encoded.cuts })
    }
}

/// Whether a message is trained on in a record.
fn is_turn(found: &FoundTurns, message: usize) -> bool {
    found.turns.binary_search_by_key(&message, |turn| turn.message).is_ok()
}

/// Says that the template does not show a text.
fn not_shown(chat: &TemplateChat, unseen: UnseenText) -> String {
    let of = |message: usize, what: &str| {
        let index = chat.messages.get(message).map_or(message, |of| of.index);
        format!("message {index}: the template does not show its {what}")
    };
    match unseen {
        UnseenText::Content(message) => {
            let content = chat.messages.get(message).and_then(|of| of.value.get("content"));
            match content.and_then(Value::as_text) {
                Some(_) => of(message, "content"),
                None => of(message, "content, which is no text"),
            }
        }
        UnseenText::Call(message) => of(message, "tool calls; a template for tools would"),
        UnseenText::Reasoning(message) => of(message, "reasoning (--reasoning keep)"),
        UnseenText::Tools => {
            let cause = "the template does not show the tools of the chat";
            format!("{cause}; try: --ignore-field tools")
        }
    }
}

/// Returns an error of a template, with the place of its message in the record.
fn told(chat: &TemplateChat, error: &TemplateError) -> String {
    let index = |message: usize| chat.messages.get(message).map_or(message, |of| of.index);
    match error {
        TemplateError::Turn { message, cause } => format!("message {}: {cause}", index(*message)),
        TemplateError::Generation { message, cause } => format!(
            "message {}: {cause}; try: --trust-generation yes, which takes the template's range, or \
             --trust-generation no, which takes the turn's",
            index(*message)
        ),
        TemplateError::Unseen(unseen) => not_shown(chat, *unseen),
        TemplateError::Within { message, other } => {
            let error = TemplateError::Within { message: index(*message), other: index(*other) };
            error.to_string()
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
