//! Chat templates: turns a chat into the text that a model is given, byte for byte as
//! `tokenizer.apply_chat_template(..., tokenize=False)` of transformers 5.24 does; and finds the bytes of that
//! text that the model itself would have said.
//!
//! The engine is our own, since no other gives these bytes. Of 362 expressions and 4,000 random chats with 30
//! templates, minijinja 3.1 with minijinja-contrib differs from transformers in 114 and 766, hf-chat-template
//! 1.0 (on minijinja 2) in 141 and 751, this crate in none (2026-11-26; the crates as they come, with
//! `raise_exception` and `strftime_now`). Some differences could be corrected by filters. These could not:
//!
//! - `x.items` and `x['items']` are one lookup (in Python the first is the method of a `dict`, the second a key);
//! - any two values have an order, integers end at 128 bits, and generators are lists;
//! - names have other scopes, and there is no tag `generation`.
//!
//! This crate follows the rules of jinja2, not its code. It refuses what differs from run to run (addresses,
//! `random`); by name, what no public chat template uses (`used.txt` has what they use: the rest of formats with `%`
//! and `str.format`, `groupby`, `cycler`, autoescape, lone surrogates and the like); and impossible slices of constants (`false[1:]`), for which jinja2 prints nothing
//! if it computes them before the run.
//!
//! ```
//! use gristmill_template::{Chat, Template, Value};
//!
//! let template = Template::new("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")?;
//! let messages = Value::from_json(r#"[{"role": "user", "content": "Hi"}]"#)?;
//! let chat = Chat::new(messages.as_list().unwrap_or_default().to_vec())?;
//! assert_eq!(template.render(&chat, false)?, "user: Hi\n");
//! # Ok::<(), gristmill_template::Error>(())
//! ```

#![warn(missing_docs)]

mod chat;
mod date;
mod error;
mod filters;
mod format;
mod globals;
mod json;
mod methods;
mod run;
mod syntax;
mod template;
mod tests_of;
mod text;
mod turns;
mod value;

pub use chat::Chat;
pub use date::Date;
pub use error::Error;
pub use run::{Parts, Prefix, Prefixes};
pub use template::{Limits, Rendering, Template};
pub use text::is_space;
pub use turns::{
    Channel, Finder, FoundAnswer, FoundTurns, Prompt, Records, Role, Segment, TrustGeneration,
    Turn, UnseenText,
};
pub use value::{Dict, Function, Items, MissingValue, Value, View};

#[cfg(test)]
mod tests;
