//! Templates, and what a rendering of one returns.

use std::ops::Range;
use std::sync::Arc;

use foldhash::HashMap;

use crate::chat::Chat;
use crate::date::Date;
use crate::error::Error;
use crate::run::{self, Context, Prefix, Prefixes};
use crate::syntax::{self, Program};
use crate::value::{Extent, Items, Value};

/// A parsed template and the variables of its renderings. It can be shared between threads.
#[derive(Debug, Clone)]
pub struct Template {
    program: Arc<Program>,
    variables: HashMap<Arc<str>, Value>,
    date: Option<Date>,
    limits: Limits,
}

/// Limits of a rendering; more is an error. Chats need a small fraction of the defaults.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of statements, expressions and items of loops.
    pub steps: u64,
    /// Maximum bytes of the text and of all values that are made on the way.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 100_000_000, bytes: 1 << 30 }
    }
}

/// The text of a chat, and the parts that `{% generation %}` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendering {
    /// The text.
    pub text: String,
    /// Ranges of bytes that `{% generation %}` names. In a macro or `{% set %}` block, ranges begin where transformers
    /// says.
    pub generations: Vec<Range<usize>>,
}

/// Variables that come with the chat.
const GIVEN: [&str; 4] = ["messages", "tools", "documents", "add_generation_prompt"];

impl Template {
    /// Parses a template.
    pub fn new(source: &str) -> Result<Template, Error> {
        let program = syntax::program(source).map_err(|error| *error)?;
        Ok(Template {
            program: Arc::new(program),
            variables: HashMap::default(),
            date: None,
            limits: Limits::default(),
        })
    }

    /// Sets a variable, such as `bos_token` or `enable_thinking`. Variables of the chat cannot be set.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), Error> {
        if GIVEN.contains(&name) {
            return Err(Error::Chat(format!("'{name}' is given with the chat, and cannot be set")));
        }
        self.variables.insert(name.into(), value);
        Ok(())
    }

    /// Sets the day of `strftime_now`; without a day, a template that calls it is refused.
    pub fn set_date(&mut self, date: Date) {
        self.date = Some(date);
    }

    /// Sets the limits of a rendering.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Whether the template has `{% generation %}`.
    pub fn has_generation(&self) -> bool {
        self.program.has_generation
    }

    /// The template's own texts: what stands outside of tags, and its constants; with a null character between two.
    pub fn literals(&self) -> &str {
        &self.program.literals
    }

    /// Renders a chat.
    pub fn render(&self, chat: &Chat, add_generation_prompt: bool) -> Result<String, Error> {
        self.render_marked(chat, add_generation_prompt).map(|marked| marked.text)
    }

    /// Renders a chat; returns the parts that `{% generation %}` names, too.
    pub fn render_marked(
        &self,
        chat: &Chat,
        add_generation_prompt: bool,
    ) -> Result<Rendering, Error> {
        let messages = Value::list(chat.messages().to_vec())?;
        self.render_values(messages, chat, add_generation_prompt)
    }

    /// Renders a chat with other messages in place of its own.
    pub(crate) fn render_values(
        &self,
        messages: Value,
        chat: &Chat,
        add_generation_prompt: bool,
    ) -> Result<Rendering, Error> {
        let given = [
            ("messages", messages),
            ("tools", chat.tools().clone()),
            ("documents", chat.documents().clone()),
        ];
        run::render(&self.program, &self.context(&given, add_generation_prompt, &[]))
    }

    fn context<'c>(
        &'c self,
        given: &'c [(&'static str, Value)],
        has_prompt: bool,
        texts: &'c [usize],
    ) -> Context<'c> {
        let (variables, date, limits) = (&self.variables, self.date, self.limits);
        Context { given, has_prompt, variables, date, limits, texts }
    }

    /// Renders beginnings of a chat, each as if nothing followed it. Notes where texts of the chat are printed that are
    /// kept at these addresses, which are in order.
    pub fn render_prefixes(
        &self,
        chat: &Chat,
        wanted: &[Prefix],
        texts: &[usize],
    ) -> Result<Prefixes, Error> {
        let extent = Arc::new(Extent::default());
        let messages = Items::within(chat.messages().to_vec(), chat.other_end(), &extent);
        let messages = messages.map_err(|error| *error)?;
        let given = [
            ("messages", Value::List(Arc::new(messages))),
            ("tools", chat.tools().clone()),
            ("documents", chat.documents().clone()),
        ];
        let context = self.context(&given, false, texts);
        Ok(run::render_prefixes(&self.program, &context, extent, wanted))
    }
}
