//! A template that is ready to render chats.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::chat::Chat;
use crate::date::Date;
use crate::error::Error;
use crate::run::{self, Context};
use crate::syntax::{self, Program};
use crate::value::Value;

/// A template, parsed once, with the variables that it is rendered with. It can be shared between
/// threads.
#[derive(Debug, Clone)]
pub struct Template {
    program: Arc<Program>,
    variables: HashMap<Arc<str>, Value>,
    date: Option<Date>,
    limits: Limits,
}

/// What a rendering may take; more is an error. The defaults are far beyond what chats take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Statements, expressions and items of loops.
    pub steps: u64,
    /// Bytes of the text and of all that is made on the way.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 100_000_000, bytes: 1 << 30 }
    }
}

/// A text, and the parts of it that `{% generation %}` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// The text.
    pub text: String,
    /// Ranges of bytes. Within a macro or a block that is set a range begins where transformers says.
    pub generations: Vec<Range<usize>>,
}

/// What a template is always given.
const GIVEN: [&str; 4] = ["messages", "tools", "documents", "add_generation_prompt"];

impl Template {
    /// A template from its source.
    pub fn new(source: &str) -> Result<Template, Error> {
        let program = syntax::program(source).map_err(|error| *error)?;
        Ok(Template {
            program: Arc::new(program),
            variables: HashMap::new(),
            date: None,
            limits: Limits::default(),
        })
    }

    /// Sets a variable: `bos_token` and the like, or what the user sets (`enable_thinking`).
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), Error> {
        if GIVEN.contains(&name) {
            return Err(Error::Chat(format!("'{name}' is given with the chat, and cannot be set")));
        }
        self.variables.insert(name.into(), value);
        Ok(())
    }

    /// Sets the day that `strftime_now` says; without it, a template that asks is refused.
    pub fn set_date(&mut self, date: Date) {
        self.date = Some(date);
    }

    /// Sets what a rendering may take.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Whether `{% generation %}` is in the template.
    pub fn has_generation(&self) -> bool {
        self.program.has_generation
    }

    /// The text of a chat.
    pub fn render(&self, chat: &Chat, add_generation_prompt: bool) -> Result<String, Error> {
        self.render_marked(chat, add_generation_prompt).map(|marked| marked.text)
    }

    /// The text of a chat, with the parts that `{% generation %}` names.
    pub fn render_marked(&self, chat: &Chat, add_generation_prompt: bool) -> Result<Marked, Error> {
        let messages = Value::list(chat.messages().to_vec())?;
        self.render_values(messages, chat, add_generation_prompt)
    }

    /// The text of other messages in the place of a chat's.
    pub(crate) fn render_values(
        &self,
        messages: Value,
        chat: &Chat,
        add_generation_prompt: bool,
    ) -> Result<Marked, Error> {
        let given = [
            ("messages", messages),
            ("tools", chat.tools().clone()),
            ("documents", chat.documents().clone()),
            ("add_generation_prompt", Value::Bool(add_generation_prompt)),
        ];
        let context = Context {
            given: &given,
            variables: &self.variables,
            date: self.date,
            limits: self.limits,
        };
        let run::Rendered { text, generations } = run::render(&self.program, &context)?;
        Ok(Marked { text, generations })
    }
}
