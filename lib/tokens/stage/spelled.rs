//! Control tokens that texts of a chat spell: they become text, or the tokens, or the chat is refused.

use std::ops::Range;

use clap::ValueEnum;
use gristmill_template::Value;

use crate::chat::{TemplateChat, TemplateMessage, call_marks, reasoning_marks, result_marks};
use crate::model::{ControlTokens, Marks, each_text, with_texts};
use crate::visible;

/// What happens to texts of a chat that spell control tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum SpelledControl {
    /// They are encoded as text.
    #[default]
    Text,
    /// They become the tokens.
    Token,
    /// The chat is refused.
    Refuse,
}

/// Says why a chat is refused whose texts spell a control token.
pub fn refused(place: &str, token: &str) -> String {
    format!(
        "{place}: a text spells the control token {}; try: --special text, which encodes it as text",
        visible::line(token)
    )
}

/// The marks in the contents of messages that are no data: the template looks for them, or shows them as it would write
/// them.
#[derive(Debug, Clone, Copy)]
pub struct OwnMarks {
    /// Those of the reasoning with which an answer begins.
    pub of_reasoning: bool,
    /// Those of calls and results.
    pub of_calls: bool,
}

/// A chat with marks around the control tokens that its texts spell.
pub struct MarkedChat {
    pub chat: TemplateChat,
    pub marks: Marks,
    /// How many tokens that are.
    pub count: u64,
}

/// Tools of many chats, which spell no control token. (Looking through 8 tools of 1 kB takes a tenth of the time of a
/// chat.)
#[derive(Debug, Default)]
pub struct PlainTools(Vec<Value>);

/// The most that are kept.
const MOST_PLAIN: usize = 64;

impl PlainTools {
    fn has(&self, tool: &Value) -> bool {
        self.0.iter().any(|plain| plain.is_same(tool))
    }

    fn add(&mut self, tools: &[Value]) {
        for tool in tools.iter().filter(|tool| tool.has_json()) {
            if !self.has(tool) {
                self.0.truncate(MOST_PLAIN - 1);
                self.0.insert(0, tool.clone());
            }
        }
    }
}

/// Puts marks around the control tokens that the texts of a chat spell; none if they spell none.
pub fn marked(
    chat: &TemplateChat,
    control: &ControlTokens,
    own: OwnMarks,
    refuses: bool,
    plain: &mut PlainTools,
) -> Result<Option<MarkedChat>, String> {
    let mut spells = false;
    let others = chat.tools.iter().filter(|tool| !plain.has(tool));
    let mut look = |text| spells = spells || control.in_text(text).next().is_some();
    each_text_of(chat, others, &mut look);
    if !spells {
        plain.add(&chat.tools);
        return Ok(None);
    }
    let mut texts = Vec::new();
    each_text_of(chat, chat.tools.iter(), &mut |text| texts.push(text));
    let marks =
        Marks::beside(&texts).ok_or("the texts have every character that could mark them")?;
    let mut marking = Marking { control, marks, refuses, count: 0, refused: None };
    let of_calls = own.of_calls && chat.messages.iter().any(has_text_calls);
    let own = OwnMarks { of_calls, ..own };
    let messages = chat.messages.iter().map(|message| {
        let place = || format!("message {}", message.index);
        let value = marking.value(&message.value, &|text| own.of(message, text), place)?;
        Ok(TemplateMessage { value, ..message.clone() })
    });
    let messages = messages.collect::<Result<_, String>>()?;
    let none = |_: &str| Vec::new();
    let tools = chat.tools.iter().map(|tool| marking.value(tool, &none, || "tools".to_string()));
    let tools = tools.collect::<Result<_, String>>()?;
    let variables = chat.variables.iter().map(|(name, value)| {
        Ok((name.clone(), marking.value(value, &none, || visible::line(name).into_owned())?))
    });
    let variables = variables.collect::<Result<_, String>>()?;
    let (chat, count) = (TemplateChat { messages, tools, variables }, marking.count);
    Ok((count > 0).then_some(MarkedChat { chat, marks, count }))
}

struct Marking<'c> {
    control: &'c ControlTokens,
    marks: Marks,
    refuses: bool,
    count: u64,
    /// The token for which the chat is refused.
    refused: Option<String>,
}

impl Marking<'_> {
    /// Returns a value with marks. `own` returns the places of marks in a text that are no data.
    fn value(
        &mut self,
        value: &Value,
        own: &dyn Fn(&str) -> Vec<Range<usize>>,
        place: impl Fn() -> String,
    ) -> Result<Value, String> {
        let marked = with_texts(value, &mut |text| self.text(text, own))?;
        match &self.refused {
            Some(token) => Err(refused(&place(), token)),
            None => Ok(marked),
        }
    }

    fn text(&mut self, text: &str, own: &dyn Fn(&str) -> Vec<Range<usize>>) -> Option<String> {
        let mut found = self.control.in_text(text).map(|(_, place)| place).peekable();
        found.peek()?;
        let own = own(text);
        let found: Vec<Range<usize>> = found.filter(|place| !own.contains(place)).collect();
        let first = found.first()?;
        if self.refuses {
            self.refused.get_or_insert_with(|| text[first.clone()].to_string());
        }
        self.count += found.len() as u64;
        Some(self.marks.around(text, &found))
    }
}

impl OwnMarks {
    /// Returns the places of such marks in a text of a message.
    fn of(self, message: &TemplateMessage, text: &str) -> Vec<Range<usize>> {
        let mut is_content = false;
        each_content(message, &mut |of| is_content |= of == text);
        let is_answer = is_answer(message);
        let reasoning = self.of_reasoning && is_answer;
        let mut own = Vec::new();
        if is_content && reasoning {
            own = reasoning_marks(text);
        }
        if is_content && self.of_calls {
            own.extend(if is_answer { call_marks(text) } else { result_marks(text) });
        }
        own
    }
}

fn is_answer(message: &TemplateMessage) -> bool {
    message.role() == Some("assistant")
}

/// Whether calls stand in the content of a message.
fn has_text_calls(message: &TemplateMessage) -> bool {
    let mut has_calls = false;
    if is_answer(message) {
        each_content(message, &mut |text| has_calls |= !call_marks(text).is_empty());
    }
    has_calls
}

fn each_content<'m>(message: &'m TemplateMessage, see: &mut dyn FnMut(&'m str)) {
    message.value.get("content").into_iter().for_each(|content| each_text(content, see));
}

fn each_text_of<'c>(
    chat: &'c TemplateChat,
    tools: impl Iterator<Item = &'c Value>,
    see: &mut dyn FnMut(&'c str),
) {
    let messages = chat.messages.iter().map(|message| &message.value);
    let variables = chat.variables.iter().map(|(_, value)| value);
    messages.chain(tools).chain(variables).for_each(|value| each_text(value, see));
}
