//! Chat templates: a chat to the text that a model is given, byte for byte as
//! `tokenizer.apply_chat_template(..., tokenize=False)` of transformers 5.24 makes it; and which bytes
//! of that text the model itself would have said.
//!
//! The engine is our own. minijinja 3.1 (with minijinja-contrib) and hf-chat-template 1.0 (on minijinja
//! 2) differ from jinja2 in what an application cannot set: `x.items` and `x['items']` are one lookup
//! (in Python the first is the method of a `dict`, the second the key), any two values have an order,
//! integers end at 128 bits, generators are lists, names are scoped otherwise, and no tag (`generation`)
//! can be added. Of jinja2 the rules are followed, not the code.
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
mod value;

pub use chat::Chat;
pub use date::Date;
pub use error::Error;
pub use template::{Limits, Marked, Template};
pub use value::{Dict, Function, Items, Missing, Value, View};

#[cfg(test)]
mod tests;
