//! Chat templates: a chat to the text that a model is given, byte for byte as
//! `tokenizer.apply_chat_template(..., tokenize=False)` of transformers 5.24 makes it; and which bytes
//! of that text the model itself would have said.
//!
//! The engine is our own, since no other gives these bytes. Of 362 expressions and 4,000 random chats
//! with 30 templates, minijinja 3.1 with minijinja-contrib differs from transformers in 114 and 766,
//! hf-chat-template 1.0 (on minijinja 2) in 141 and 751, this crate in none (2026-11-26; as the crates
//! come, with `raise_exception` and `strftime_now`). Some of it filters could mend, but not that `x.items`
//! and `x['items']` are one lookup (in Python the first is the method of a `dict`, the second a key), that
//! any two values have an order, that integers end at 128 bits and generators are lists, that names are
//! scoped otherwise, nor that there is no tag `generation`. Rules of jinja2 are followed, not its code.
//! What differs from run to run (addresses, `random`) is refused, and so are `urlize`, `wordwrap`,
//! `striptags`, `pprint`, `str.encode`, autoescape and lone surrogates, which chat templates do not use; and
//! slices of constants that cannot be made (`false[1:]`), for which jinja2 prints nothing if it computes them before the run.
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
pub use template::{Limits, Rendering, Template};
pub use turns::{Channel, Finder, Found, Role, Segment, Turn, UnseenText};
pub use value::{Dict, Function, Items, MissingValue, Value, View};

#[cfg(test)]
mod tests;
