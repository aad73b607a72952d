//! Chats into tokens by the chat template and the tokenizer of a model's folder.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use gristmill_models::{Encoder, TokenFinder};
use gristmill_template::{
    Channel, Chat, Error as TemplateError, Finder, FoundTurns, Prompt, Records, Role,
    TrustGeneration, UnseenText, Value,
};
use memchr::memmem;

use super::chat_tok::Renderer;
use super::lengths::TooLong;
use super::pairs::TokenPair;
use super::sequences::Sequences;
use super::spelled::{MarkedChat, OwnMarks, PlainTools, SpelledControl, marked};
use crate::chat::{
    ContentForm, Json, LeftOutCounts, TemplateChat, TemplateChats, behind_reasoning,
};
use crate::harmony;
use crate::model::{ChatModel, ControlTokens, EncodedText, Marks, TextSegment, Unmarked, encode};
use crate::visible;
use crate::wording::counted;

/// How to treat data that a template does not show, and texts that spell control tokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct TemplateSettings {
    /// Whether reasoning that does not show in the text is refused.
    pub keeps_reasoning: bool,
    /// What happens to control tokens that texts spell.
    pub special: SpelledControl,
    /// Whether calls and results that stand in texts are those of the template, with its marks.
    pub has_text_calls: bool,
    /// What happens if `{% generation %}` names other ranges than are found.
    pub generation: TrustGeneration,
}

/// The template of a model, for all threads.
pub struct Templates {
    model: ChatModel,
    /// For chats without tools, and for chats with tools.
    finders: [Finder; 2],
    /// The control tokens of these.
    control: [ControlTokens; 2],
    /// All added tokens.
    added: TokenFinder,
    chats: TemplateChats,
    settings: TemplateSettings,
    counts: Counts,
    /// Ends of generation prompts that no turn is printed with, and the number of turns.
    unprinted: Mutex<BTreeMap<String, u64>>,
}

/// What is said at the end.
#[derive(Default)]
struct Counts {
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

impl Templates {
    pub fn new(model: ChatModel, chats: TemplateChats, settings: TemplateSettings) -> Templates {
        let finders = [false, true].map(|has_tools| {
            model.finder(model.template(has_tools).clone(), has_tools, &[], settings.generation)
        });
        let control = [false, true].map(|has_tools| model.control_tokens(has_tools));
        let added = model.tokenizer().finder(|_| true);
        let (counts, unprinted) = Default::default();
        Templates { model, finders, control, added, chats, settings, counts, unprinted }
    }

    pub fn model(&self) -> &ChatModel {
        &self.model
    }

    pub fn chats(&self) -> &TemplateChats {
        &self.chats
    }

    /// Returns the control tokens of the template for a chat.
    pub(super) fn control(&self, chat: &TemplateChat) -> &ControlTokens {
        &self.control[usize::from(!chat.tools.is_empty())]
    }

    /// Returns where the last added token of a text begins; 0 if there is none.
    pub(super) fn last_token(&self, text: &str) -> usize {
        self.added.find_all(text).last().map_or(0, |(_, place)| place.start)
    }

    /// Returns what renders on one thread.
    pub fn renderer(&self) -> TemplateRenderer<'_> {
        let encoder = self.model.tokenizer().encoder();
        let (ends, tokens, plain) = Default::default();
        TemplateRenderer { shared: self, encoder, ends, tokens, plain }
    }

    /// Counts places inside a token at which texts were cut.
    pub(super) fn count_cuts(&self, cuts: u64) {
        self.counts.cuts.fetch_add(cuts, Ordering::Relaxed);
    }

    /// Counts how the turns of a record stand.
    pub(super) fn count_turns(&self, found: &FoundTurns) {
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

    /// Returns what to add to a count of what was left out.
    pub fn way_on(&self, name: &str) -> &'static str {
        match name {
            REASONING if self.model.reasoning_key().is_some() && self.chats.read.turns.is_one => {
                "; --turns fit makes records in which each turn has its own; --reasoning keep refuses such chats"
            }
            REASONING => "; --reasoning keep refuses such chats",
            _ => "",
        }
    }

    /// Returns a warning for each fact that a trainer should know.
    pub fn warnings(&self) -> Vec<String> {
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
        counted.chain(unprinted).collect()
    }
}

/// Renders chats by a template, on one thread.
pub struct TemplateRenderer<'t> {
    pub(super) shared: &'t Templates,
    pub(super) encoder: Encoder,
    pub(super) ends: Vec<usize>,
    /// The tokens of an answer of a pair, and what stands before it.
    pub(super) tokens: Vec<i32>,
    plain: PlainTools,
}

impl Renderer for TemplateRenderer<'_> {
    fn render(
        &mut self,
        chat: Json<'_>,
        left_out: &mut LeftOutCounts,
        out: &mut Sequences,
    ) -> Result<(), String> {
        let Some(chat) = self.shared.chats.of(chat, left_out)? else { return Ok(()) };
        let Some(MarkedChat { chat, marks, count }) = self.marked(&chat)? else {
            return self.render_chat(&chat, None, left_out, out);
        };
        out.spelled += count;
        let rendered = self.render_chat(&chat, Some(marks), left_out, out);
        rendered.map_err(|reason| marks.out_of(&reason))
    }

    fn pair(
        &mut self,
        record: Json<'_>,
        left_out: &mut LeftOutCounts,
        out: &mut TokenPair,
    ) -> Result<bool, String> {
        self.pair_of(record, left_out, out)
    }

    /// Adds what helps if the template reads contents in another form.
    fn with_way_on(&self, reason: String) -> String {
        let is_of_texts =
            self.shared.chats.content == ContentForm::Text && !reason.contains("; try: ");
        match is_of_texts && self.shared.model.reads_parts_alone() {
            true => format!("{reason}; try: --content parts"),
            false => reason,
        }
    }
}

impl TemplateRenderer<'_> {
    /// Appends the sequences of a chat, whose texts may have marks, and applies the limit of their length.
    fn render_chat(
        &mut self,
        chat: &TemplateChat,
        marks: Option<Marks>,
        left_out: &mut LeftOutCounts,
        out: &mut Sequences,
    ) -> Result<(), String> {
        let mut cuts = 0;
        let mut written = Vec::new();
        for found in self.found(chat, marks, left_out)? {
            self.refuse_unseen(chat, &found, left_out)?;
            let encoded = self.encode(chat, &found, marks, out)?;
            if out.over().is_some_and(|limit| limit.too_long == TooLong::DropTurns) {
                let fits = self.without_turns(chat, marks, (&found, &encoded), out)?;
                for (found, more) in fits {
                    cuts += more;
                    written.push(found);
                }
                continue;
            }
            if out.limit_last(false)? {
                cuts += encoded.cuts;
                written.push(found);
            }
        }
        self.shared.count_cuts(cuts);
        written.iter().for_each(|found| self.shared.count_turns(found));
        Ok(())
    }

    /// Marks the control tokens that texts of a chat spell, if they do not become the tokens.
    pub(super) fn marked(&mut self, chat: &TemplateChat) -> Result<Option<MarkedChat>, String> {
        let TemplateSettings { special, has_text_calls, .. } = self.shared.settings;
        if special == SpelledControl::Token {
            return Ok(None);
        }
        let of_reasoning = self.shared.chats.read.keeps_tags;
        let own = OwnMarks { of_reasoning, of_calls: has_text_calls };
        let refuses = special == SpelledControl::Refuse;
        marked(chat, self.shared.control(chat), own, refuses, &mut self.plain)
    }

    /// Renders the records of a chat, and finds what the model said in them.
    pub(super) fn found(
        &self,
        chat: &TemplateChat,
        marks: Option<Marks>,
        left_out: &mut LeftOutCounts,
    ) -> Result<Vec<FoundTurns>, String> {
        let wanted = |message: usize| chat.messages[message].is_trained;
        let is_one = self.shared.chats.read.turns.is_one;
        let records = if is_one { Records::One } else { Records::Fewest };
        let find = |finder: &Finder, rendered: &Chat| finder.find(rendered, records, wanted);
        self.rendered(chat, marks, left_out, find)
    }

    /// Returns what is found in the rendering of a chat.
    fn rendered<T>(
        &self,
        chat: &TemplateChat,
        marks: Option<Marks>,
        left_out: &mut LeftOutCounts,
        find: impl FnOnce(&Finder, &Chat) -> Result<T, TemplateError>,
    ) -> Result<T, String> {
        let rendered = renderable(chat, marks)?;
        let found = self.with_finder(chat, left_out, |finder| find(finder, &rendered))?;
        found.map_err(|error| told(chat, &error))
    }

    /// Calls a function with the finder for a chat. Counts the variables of the chat that no template names.
    pub(super) fn with_finder<T>(
        &self,
        chat: &TemplateChat,
        left_out: &mut LeftOutCounts,
        find: impl FnOnce(&Finder) -> T,
    ) -> Result<T, String> {
        let has_tools = !chat.tools.is_empty();
        let of_model = &self.shared.finders[usize::from(has_tools)];
        let is_named = |(name, _): &&(String, Value)| self.shared.model.names(has_tools, name);
        let (named, others): (Vec<_>, Vec<_>) = chat.variables.iter().partition(is_named);
        others.iter().for_each(|(name, _)| left_out.count(name, true));
        if named.is_empty() {
            return Ok(find(of_model));
        }
        let mut template = of_model.template().clone();
        for (name, value) in &named {
            template.set(name, value.clone()).map_err(|error| error.to_string())?;
        }
        let named: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
        let Templates { model, settings, .. } = self.shared;
        Ok(find(&model.finder(template, has_tools, &named, settings.generation)))
    }

    /// Fails if the text does not show what is trained on, or what was asked. Counts reasoning that it does not show.
    pub(super) fn refuse_unseen(
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
                    if self.shared.settings.keeps_reasoning {
                        return Err(not_shown(chat, *unseen));
                    }
                    left_out.count(REASONING, true);
                }
                // (The template leaves it out of the history, as it does when the model answers.)
                UnseenText::Reasoning(_) => {}
            }
        }
        for turn in &found.turns {
            let content = chat.messages[turn.message].value.get("content").and_then(Value::as_text);
            let shown = &found.text[turn.said.clone()];
            let Some(content) = content.filter(|content| !holds(shown, content.trim())) else {
                continue;
            };
            // (Of a text with its reasoning a template may show the rest.)
            let rest = behind_reasoning(content).filter(|rest| shown.contains(rest.trim()));
            if rest.is_none() || self.shared.settings.keeps_reasoning {
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

    /// Appends the tokens of a text.
    pub(super) fn encode(
        &mut self,
        chat: &TemplateChat,
        found: &FoundTurns,
        marks: Option<Marks>,
        out: &mut Sequences,
    ) -> Result<EncodedText, String> {
        let unmarked = marks.map(|marks| self.shared.control(chat).unmarked(marks, &found.text));
        let unmarked = unmarked.as_ref();
        let (text, pieces) = unmarked.map_or((&found.text, &[][..]), |of| (&of.text, &of.pieces));
        let mut places = unmarked.map(Unmarked::places);
        let mut place = |of: usize| places.as_mut().map_or(of, |places| places(of));
        let segments = found.segments.iter().map(|segment| TextSegment {
            bytes: place(segment.range.start)..place(segment.range.end),
            is_target: segment.channel.is_some() && is_turn(found, segment.message),
        });
        let segments: Vec<TextSegment> = segments.collect();
        let tokens = &mut out.rendered.tokens;
        let parts = (&segments[..], pieces);
        let encoded = encode(&mut self.encoder, text, parts, tokens, &mut self.ends);
        let encoded = encoded.map_err(|error| error.to_string())?;
        let places = found.segments.iter().zip(&encoded.segments);
        for (segment, tokens) in places.filter(|(_, tokens)| !tokens.is_empty()) {
            out.rendered.segments.list.push(harmony::Segment {
                role: role(segment.role),
                channel: segment.channel.map(channel),
                start: tokens.start as i32,
                end: tokens.end as i32,
                // (What has no channel is not trained on anyway.)
                is_trained: segment.channel.is_none() || is_turn(found, segment.message),
            });
        }
        out.end();
        Ok(encoded)
    }
}

/// Returns a chat as a template gets it; its texts may have marks.
pub(super) fn renderable(chat: &TemplateChat, marks: Option<Marks>) -> Result<Chat, String> {
    let values = chat.messages.iter().map(|message| message.value.clone()).collect();
    let rendered = Chat::new(values).and_then(|rendered| match chat.tools.is_empty() {
        true => Ok(rendered),
        false => rendered.with_tools(chat.tools.clone()),
    });
    let rendered = rendered.map_err(|error| error.to_string())?;
    Ok(match marks {
        Some(marks) => rendered.with_text_mark(marks.begin()),
        None => rendered,
    })
}

/// Whether a message is trained on in a record.
pub(super) fn is_turn(found: &FoundTurns, message: usize) -> bool {
    found.turns.binary_search_by_key(&message, |turn| turn.message).is_ok()
}

/// Whether a text holds another. (Most texts begin with it. Else its beginning is looked for first: preparing a search
/// for the whole of a long text takes a quarter of the time of a chat.)
fn holds(text: &str, part: &str) -> bool {
    let [text, part] = [text, part].map(str::as_bytes);
    if text.starts_with(part) {
        return true;
    }
    match memmem::find(text, &part[..part.len().min(32)]) {
        None => false,
        Some(at) => text[at..].starts_with(part) || memmem::find(text, part).is_some(),
    }
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
pub(super) fn told(chat: &TemplateChat, error: &TemplateError) -> String {
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

fn role(role: Role) -> harmony::Role {
    match role {
        Role::System => harmony::Role::System,
        Role::User => harmony::Role::User,
        Role::Tool => harmony::Role::Tool,
        Role::Assistant => harmony::Role::Assistant,
    }
}

fn channel(channel: Channel) -> harmony::Channel {
    match channel {
        Channel::Analysis => harmony::Channel::Analysis,
        Channel::Commentary => harmony::Channel::Commentary,
        Channel::Final => harmony::Channel::Final,
    }
}
