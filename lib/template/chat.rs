//! The chat that a template renders.

use std::sync::Arc;

use crate::error::Error;
use crate::value::{Dict, Value};

/// The keys of reasoning in a message; most templates read the first.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// A chat in the form in which transformers hands it to a template. Nulls of messages are left out, and reasoning
/// stands under all keys that templates read.
#[derive(Debug, Clone)]
pub struct Chat {
    messages: Vec<Value>,
    /// What may stand in the place of the last message.
    other_end: Option<Value>,
    tools: Value,
    documents: Value,
    /// The character before tokens that are text.
    text_mark: Option<char>,
}

impl Chat {
    /// A chat of messages, which are dicts with their keys in order. No message is an error.
    pub fn new(messages: Vec<Value>) -> Result<Chat, Error> {
        if messages.is_empty() {
            return Err(Error::Chat("a chat without messages".into()));
        }
        let messages = messages.iter().map(message).collect::<Result<_, Error>>()?;
        let (tools, documents) = (Value::None, Value::None);
        Ok(Chat { messages, other_end: None, tools, documents, text_mark: None })
    }

    /// Adds tools, which must be dicts.
    pub fn with_tools(self, tools: Vec<Value>) -> Result<Chat, Error> {
        Ok(Chat { tools: dicts(tools, "tool")?, ..self })
    }

    /// Adds documents, which must be dicts.
    pub fn with_documents(self, documents: Vec<Value>) -> Result<Chat, Error> {
        Ok(Chat { documents: dicts(documents, "document")?, ..self })
    }

    /// Names a character that stands before tokens in texts of messages that are text: none of these ends a turn.
    pub fn with_text_mark(self, mark: char) -> Chat {
        Chat { text_mark: Some(mark), ..self }
    }

    /// The chat with another last message.
    pub fn with_end(&self, end: Value) -> Chat {
        let before = &self.messages[..self.messages.len() - 1];
        let messages = [before, &[end]].concat();
        Chat { messages, other_end: None, ..self.clone() }
    }

    /// The chat with the last message of another one as its other end; none if they differ in more than that.
    pub fn beside(&self, other: &Chat) -> Option<Chat> {
        let (_, before) = self.messages.split_last()?;
        let (end, same) = other.messages.split_last()?;
        let is_same = before == same
            && (&self.tools, &self.documents, self.text_mark)
                == (&other.tools, &other.documents, other.text_mark);
        is_same.then(|| Chat { other_end: Some(end.clone()), ..self.clone() })
    }

    pub(crate) fn other_end(&self) -> Option<&Value> {
        self.other_end.as_ref()
    }

    pub(crate) fn text_mark(&self) -> Option<char> {
        self.text_mark
    }

    /// The messages, as the template gets them.
    pub fn messages(&self) -> &[Value] {
        &self.messages
    }

    /// The list of the tools; `None` if there are none.
    pub fn tools(&self) -> &Value {
        &self.tools
    }

    /// The chat with its first `count` messages.
    pub(crate) fn first(&self, count: usize) -> Chat {
        let count = count.min(self.messages.len());
        Chat { messages: self.messages[..count].to_vec(), ..self.clone() }
    }

    /// The chat with other messages and tools.
    pub(crate) fn replaced(&self, messages: Vec<Value>, tools: Vec<Value>) -> Result<Chat, Error> {
        let tools = match self.tools {
            Value::None => Value::None,
            _ => Value::list(tools)?,
        };
        Ok(Chat { messages, tools, ..self.clone() })
    }

    pub(crate) fn documents(&self) -> &Value {
        &self.documents
    }
}

fn dicts(values: Vec<Value>, name: &str) -> Result<Value, Error> {
    if let Some(place) = values.iter().position(|value| value.as_dict().is_none()) {
        return Err(Error::Chat(format!("{name} {place} is no object")));
    }
    Value::list(values)
}

/// Returns a message without nulls, with its reasoning under all keys.
pub(crate) fn message(given: &Value) -> Result<Value, Error> {
    let Value::Dict(given) = given else {
        return Err(Error::Chat("a message that is no object".into()));
    };
    let is_plain = |(key, value): &(Value, Value)| {
        *value != Value::None && !key.as_text().is_some_and(|key| REASONING.contains(&key))
    };
    if given.entries().iter().all(is_plain) {
        return Ok(Value::Dict(given.clone()));
    }
    let found = |key: &str| given.get_text(key).filter(|value| **value != Value::None);
    let reasoning = REASONING.iter().find_map(|key| found(key)).cloned();
    let mut dict = Dict::default();
    let mut insert = |key: Value, value: Value| dict.insert(key, value).map_err(|error| *error);
    if let Some(reasoning) = &reasoning {
        insert(Value::text("thinking"), reasoning.clone())?;
    }
    for (key, value) in given.entries().iter().filter(|(_, value)| *value != Value::None) {
        insert(key.clone(), value.clone())?;
    }
    if let Some(reasoning) = reasoning {
        insert(Value::text("reasoning_content"), reasoning)?;
    }
    Ok(Value::Dict(Arc::new(dict)))
}
