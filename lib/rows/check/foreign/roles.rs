//! Where the messages of a model stand among tokens, by what its chat template writes before and behind their texts.
//!
//! Small chats are rendered, with and without a system message, reasoning, a call and its result, and the turns in them
//! are found as for chat-tok. What stands before a message's text, from its first control token on, is the header of
//! its role: that token, what follows on its line, and the control tokens there. Where there is none, it is the words
//! there (`Assistant:`), behind the control token that ends the message before. Contents of chats spell no control
//! tokens, so a header in a row begins a message. What else a generation prompt has (`<think>`) follows the assistant's
//! header. The headers must find the messages of the small chats themselves.

use std::collections::BTreeSet;
use std::ops::Range;

use gristmill_models::{Encoder, Special, TokenFinder};
use gristmill_template::{Chat, FoundTurns, Records, Role, TrustGeneration, UnseenText, Value};

use crate::model::{ChatModel, may_be_control};
use crate::tokenizer::{CALL, RETURN, START, encoded};

/// How the messages of a model are found.
pub struct Roles {
    /// The longest ones first.
    headers: Vec<Header>,
    /// The first tokens of headers.
    firsts: Vec<i32>,
    /// The token with which the header of every message begins, if all begin with the same.
    common: Option<i32>,
    /// The tokens that end turns.
    pub stops: Vec<i32>,
    /// Whether answers are trained on with their headers.
    are_whole: bool,
}

/// The beginning of a role's messages.
struct Header {
    /// The role; `None` is the assistant.
    role: Option<&'static str>,
    tokens: Vec<i32>,
    /// How many of these tokens belong to the message before.
    lead: usize,
    /// What may follow before the model's answer, the longest first.
    prompts: Vec<Vec<i32>>,
}

/// A message among tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The role; `None` is the assistant.
    pub role: Option<&'static str>,
    /// Where its header begins, and where that ends (of the assistant with the rest of the prompt).
    pub start: usize,
    pub content: usize,
    pub end: usize,
}

impl Message {
    pub fn is_answer(&self) -> bool {
        self.role.is_none()
    }

    pub fn all(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// The longest text between two control tokens of a header, and the longest name behind the last one, in bytes.
const LONGEST_NAME: usize = 40;

impl Roles {
    /// The roles of Harmony, whose model is built in. Its messages are trained on as a whole, as the filters do it.
    pub fn harmony() -> Roles {
        let name = |name: &str| [&[START][..], &encoded(name)].concat();
        let header =
            |role, of: &str| Header { role, tokens: name(of), lead: 0, prompts: Vec::new() };
        let roles = ["system", "developer", "user"].map(|role| header(Some(role), role));
        let headers = roles.into_iter().chain([header(None, "assistant")]);
        Roles { are_whole: true, ..Roles::of(headers.collect(), vec![RETURN, CALL]) }
    }

    /// Finds the roles of a model; the error says why they are not known.
    pub fn of_model(model: &ChatModel) -> Result<Roles, String> {
        let mut probes = Probes::of(model);
        let mut last = String::new();
        for probe in PROBES {
            if let Err(error) = probes.render(model, probe) {
                last = error;
            }
        }
        if probes.chats.is_empty() {
            return Err(format!("its template renders no chat of the usual roles ({last})"));
        }
        let stops = model.stops().iter().filter_map(|stop| model.tokenizer().id_of(stop));
        let stops: Vec<i32> = stops.filter_map(|id| i32::try_from(id).ok()).collect();
        // (Where results of tools look like answers, the other roles are found without them.)
        for has_tools in [true, false] {
            if !has_tools {
                probes.chats.retain(|(_, has_tools)| !has_tools);
            }
            let headers = probes.headers();
            if headers.iter().any(|header| header.role.is_none()) {
                let roles = Roles::of(headers, stops.clone());
                if probes.are_found(&roles) {
                    return Ok(roles);
                }
            }
        }
        Err("the beginnings of answers cannot be told from other texts of its template".to_string())
    }

    fn of(mut headers: Vec<Header>, stops: Vec<i32>) -> Roles {
        headers.sort_by_key(|header| std::cmp::Reverse(header.tokens.len()));
        let firsts: BTreeSet<i32> = headers.iter().map(|header| header.tokens[0]).collect();
        let firsts: Vec<i32> = firsts.into_iter().collect();
        let common = match firsts.as_slice() {
            [only] if headers.len() > 1 && headers.iter().all(|header| header.lead == 0) => {
                Some(*only)
            }
            _ => None,
        };
        Roles { headers, firsts, common, stops, are_whole: false }
    }

    pub fn is_stop(&self, token: i32) -> bool {
        self.stops.contains(&token)
    }

    /// Finds the messages of a sequence; what is before the first one is in none.
    pub fn messages(&self, tokens: &[i32], messages: &mut Vec<Message>) {
        messages.clear();
        let mut at = 0;
        while let Some(next) = tokens[at..].iter().position(|token| self.firsts.contains(token)) {
            let mut start = at + next;
            let rest = &tokens[start..];
            let header = self.headers.iter().find(|header| rest.starts_with(&header.tokens));
            let (role, length) = match header {
                Some(header) => {
                    let behind = &rest[header.tokens.len()..];
                    let prompt = header.prompts.iter().find(|prompt| behind.starts_with(prompt));
                    start += header.lead;
                    let own = header.tokens.len() - header.lead;
                    (header.role, own + prompt.map_or(0, Vec::len))
                }
                None if self.common == Some(tokens[start]) => (Some("another role"), 1),
                None => {
                    at = start + 1;
                    continue;
                }
            };
            if let Some(last) = messages.last_mut() {
                last.end = start;
            }
            at = start + length;
            let content = if self.are_whole && role.is_none() { start } else { at };
            messages.push(Message { role, start, content, end: tokens.len() });
        }
    }
}

/// A small chat: its messages, and whether tools are given to the template.
struct Probe {
    messages: &'static [&'static str],
    has_tools: bool,
}

// Texts that no template contains; each is in one message of a chat.
const SYSTEM: &str = r#"{"role": "system", "content": "zqSystemqz"}"#;
const USER: &str = r#"{"role": "user", "content": "zqAskedqz"}"#;
const AGAIN: &str = r#"{"role": "user", "content": "zqAgainqz"}"#;
const ANSWER: &str = r#"{"role": "assistant", "content": "zqSaidqz"}"#;
const LAST: &str = r#"{"role": "assistant", "content": "zqLastqz"}"#;
const THOUGHT: &str =
    r#"{"role": "assistant", "content": "zqLastqz", "reasoning_content": "zqThoughtqz"}"#;
const CALLS: &str = r#"{"role": "assistant", "content": "", "tool_calls": [
    {"id": "call00001", "type": "function", "function": {"name": "f", "arguments": {"a": "b"}}}]}"#;
const RESULT: &str =
    r#"{"role": "tool", "name": "f", "tool_call_id": "call00001", "content": "zqResultqz"}"#;
const TOOL: &str = r#"{"type": "function", "function": {"name": "f", "description": "d",
    "parameters": {"type": "object", "properties": {"a": {"type": "string", "description": "e"}}}}}"#;

/// Chats without a system message come first: where it stands in the first question, that is a question.
const PROBES: [Probe; 5] = [
    Probe { messages: &[USER, ANSWER, AGAIN, LAST], has_tools: false },
    Probe { messages: &[USER, ANSWER, AGAIN, THOUGHT], has_tools: false },
    Probe { messages: &[SYSTEM, USER, ANSWER, AGAIN, LAST], has_tools: false },
    Probe { messages: &[USER, CALLS, RESULT, LAST], has_tools: true },
    Probe { messages: &[SYSTEM, USER, CALLS, RESULT, LAST], has_tools: true },
];

/// The texts by which the messages of probes are found, and the names of their roles.
const TEXTS: [(&str, &str); 4] = [
    ("zqAskedqz", "user"),
    ("zqAgainqz", "user"),
    ("zqSystemqz", "system"),
    ("zqResultqz", "tool"),
];

/// What rendered probes show.
struct Probes {
    encoder: Encoder,
    /// Finds tokens of which headers are made.
    control: TokenFinder,
    /// The token with which texts begin, in which no header begins.
    bos: Option<String>,
    /// The tokens that end turns.
    stops: Vec<String>,
    /// The rendered chats, and whether tools were given to the template.
    chats: Vec<(FoundTurns, bool)>,
}

impl Probes {
    fn of(model: &ChatModel) -> Probes {
        let tokenizer = model.tokenizer();
        let (encoder, control) = (tokenizer.encoder(), tokenizer.finder(may_be_control));
        let bos = model.special_token("bos_token").map(str::to_string);
        let stops = model.stops().to_vec();
        Probes { encoder, control, bos, stops, chats: Vec::new() }
    }

    /// Renders a chat and finds the turns in it.
    fn render(&mut self, model: &ChatModel, probe: Probe) -> Result<(), String> {
        let told = |error: gristmill_template::Error| error.to_string();
        let Probe { messages, has_tools } = probe;
        let has_parts = model.reads_parts_alone();
        let form = |message: &&str| match has_parts {
            true => Value::from_json(&of_parts(message)),
            false => Value::from_json(message),
        };
        let messages = messages.iter().map(form);
        let messages = messages.collect::<Result<_, _>>().map_err(told)?;
        let mut chat = Chat::new(messages).map_err(told)?;
        if has_tools {
            let tool = Value::from_json(TOOL).map_err(told)?;
            chat = chat.with_tools(vec![tool]).map_err(told)?;
        }
        let template = model.template(has_tools).clone();
        let finder = model.finder(template, has_tools, &[], TrustGeneration::No);
        let found = finder.find(&chat, Records::Fewest, |_| true).map_err(told)?;
        let is_seen = |found: &FoundTurns| {
            !found.unseen.iter().any(|text| matches!(text, UnseenText::Content(_)))
        };
        self.chats.extend(found.into_iter().filter(is_seen).map(|found| (found, has_tools)));
        Ok(())
    }

    /// Returns the headers of the roles in the rendered chats.
    fn headers(&mut self) -> Vec<Header> {
        let chats = std::mem::take(&mut self.chats);
        let mut others: Vec<Header> = Vec::new();
        let mut answers: Vec<Header> = Vec::new();
        let found = || chats.iter().map(|(found, _)| found);
        let stops = self.stops.clone();
        let is_said = |header: &str| {
            let mut turns = found().flat_map(|of| of.turns.iter().map(move |turn| (of, turn)));
            turns.any(|(of, turn)| {
                let said = &of.text[turn.said.clone()];
                let stop = stops.iter().find_map(|stop| said.strip_suffix(stop.as_str()));
                stop.unwrap_or(said).contains(header)
            })
        };
        for (of, role, before) in found().flat_map(other_texts) {
            let Some((header, lead)) = self.header(&of.text, before) else { continue };
            // (What the model writes, too, shows no other role.)
            let is_said = is_said(&of.text[header.clone()]);
            let lead = self.encode(&of.text[header.start..][..lead]).len();
            let tokens = self.encode(&of.text[header]);
            let is_new = others.iter().all(|other| other.tokens != tokens);
            if is_new && !is_said && tokens.len() > lead {
                others.push(Header { role: Some(role), tokens, lead, prompts: Vec::new() });
            }
        }
        for (of, prompt) in found().flat_map(prompts) {
            let Some((header, lead)) = self.header(&of.text, prompt.clone()) else { continue };
            let all = self.encode(&of.text[header.start..prompt.end]);
            let lead = self.encode(&of.text[header.start..][..lead]).len();
            let tokens = self.encode(&of.text[header]);
            if tokens.len() <= lead {
                continue;
            }
            let rest = all.strip_prefix(tokens.as_slice()).unwrap_or_default().to_vec();
            let known = answers.iter().position(|answer| answer.tokens == tokens);
            let place = known.unwrap_or_else(|| {
                answers.push(Header { role: None, tokens, lead, prompts: Vec::new() });
                answers.len() - 1
            });
            if !rest.is_empty() && !answers[place].prompts.contains(&rest) {
                answers[place].prompts.push(rest);
            }
        }
        for answer in &mut answers {
            answer.prompts.sort_by_key(|prompt| std::cmp::Reverse(prompt.len()));
        }
        self.chats = chats;
        // (Where both begin so, it is an answer.)
        answers.extend(others);
        without_ends(&mut answers);
        answers
    }

    /// Returns the header in a part of a text that stands before a message's own text, and how many of its bytes belong
    /// to the message before.
    fn header(&self, text: &str, before: Range<usize>) -> Option<(Range<usize>, usize)> {
        let places = self.control.find_all(&text[..before.end]).map(|(_, place)| place);
        let is_bos = |place: &Range<usize>| self.bos.as_deref() == Some(&text[place.clone()]);
        let places: Vec<Range<usize>> = places.filter(|place| !is_bos(place)).collect();
        let inside = places.partition_point(|place| place.start < before.start);
        let (outside, inside) = places.split_at(inside);
        let Some(first) = inside.first() else {
            // Words behind the end of the message before.
            let lead = outside.last()?;
            let is_end = text.get(lead.end..before.start)?.trim().is_empty();
            let words = text[before.clone()].trim();
            // (Some models stop with the first token of the next message.)
            if is_end
                && words.is_empty()
                && self.stops.iter().any(|stop| *stop == text[lead.clone()])
            {
                return Some((lead.clone(), 0));
            }
            let is_named = is_name(words) && !words.is_empty();
            let end = before.start + text[before.clone()].trim_end().len();
            let lead = lead.start..end - words.len();
            return (is_end && is_named).then_some((lead.start..end, lead.len()));
        };
        let mut end = first.end;
        for place in &inside[1..] {
            if !is_name(&text[end..place.start]) {
                break;
            }
            end = place.end;
        }
        let name = text[end..before.end].split('\n').next().unwrap_or_default().trim_end();
        let end = if is_name(name) { end + name.len() } else { end };
        Some((first.start..end, 0))
    }

    /// Whether the roles find the messages of the rendered chats.
    fn are_found(&mut self, roles: &Roles) -> bool {
        let chats = std::mem::take(&mut self.chats);
        let mut messages = Vec::new();
        let are_found = chats.iter().all(|(found, _)| {
            let (mut tokens, mut ends) = (Vec::new(), Vec::new());
            let encoder = &mut self.encoder;
            let text = &found.text;
            let encoded = encoder.encode_with_ends(text, Special::Tokens, &mut tokens, &mut ends);
            roles.messages(&tokens, &mut messages);
            let token = |byte: usize| ends.partition_point(|end| *end <= byte);
            let message = |place: usize| messages.iter().find(|of| of.all().contains(&place));
            // (A token may lie across the place where an answer begins.)
            let mut turns = found.turns.iter().map(|turn| token(turn.said.start));
            let are_answers = turns.all(|place| {
                let own = message(place).filter(|own| own.is_answer());
                own.is_some_and(|own| own.content.abs_diff(place) <= 1)
            });
            let mut texts = other_texts(found).map(|(_, _, before)| token(before.end));
            let are_others = texts.all(|place| !message(place).is_some_and(Message::is_answer));
            encoded.is_ok() && are_answers && are_others
        });
        self.chats = chats;
        are_found
    }

    fn encode(&mut self, text: &str) -> Vec<i32> {
        let mut tokens = Vec::new();
        // (A text that cannot be encoded has no tokens.)
        let _ = self.encoder.encode(text, Special::Tokens, &mut tokens);
        tokens
    }
}

/// Returns a message whose content is a list of parts.
fn of_parts(message: &str) -> String {
    let mut message: serde_json::Value = serde_json::from_str(message).unwrap_or_default();
    let content = message["content"].take();
    message["content"] = serde_json::json!([{"type": "text", "text": content}]);
    message.to_string()
}

/// Returns what stands before the texts of other roles in a rendered chat.
fn other_texts(
    found: &FoundTurns,
) -> impl Iterator<Item = (&FoundTurns, &'static str, Range<usize>)> {
    TEXTS.iter().filter_map(move |(name, role)| {
        let place = found.text.find(name)?;
        let mut segments = found.segments.iter();
        let own = segments.find(|segment| segment.range.contains(&place))?;
        (own.role != Role::Assistant).then_some((found, *role, own.range.start..place))
    })
}

/// Returns the generation prompts in a rendered chat.
fn prompts(found: &FoundTurns) -> impl Iterator<Item = (&FoundTurns, Range<usize>)> {
    found.turns.iter().filter_map(move |turn| {
        let mut segments = found.segments.iter();
        let prompt = segments.find(|segment| {
            let is_given = segment.role == Role::Assistant && segment.channel.is_none();
            is_given && segment.range.end == turn.said.start
        })?;
        Some((found, prompt.range.clone()))
    })
}

/// Takes from headers the tokens that end the message before: behind these stands the first token of another header.
fn without_ends(headers: &mut Vec<Header>) {
    let begins: BTreeSet<i32> = headers.iter().map(|header| header.tokens[0]).collect();
    for header in headers.iter_mut().filter(|header| header.lead == 0) {
        let first = header.tokens[0];
        let is_begin = |token: &i32| *token != first && begins.contains(token);
        if let Some(place) = header.tokens.iter().rposition(is_begin) {
            header.tokens.drain(..place);
        }
    }
    let mut seen = BTreeSet::new();
    headers.retain(|header| seen.insert(header.tokens.clone()));
}

/// Whether a text may stand within a header.
fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME && !text.contains('\n')
}
