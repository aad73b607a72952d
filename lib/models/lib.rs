//! Reads folders of Hugging Face models offline: their chat templates and special tokens; and turns text into ids
//! and back, as the crate and Python package `tokenizers` do.
//!
//! A [`Folder`] is what `save_pretrained` of transformers writes, or one `tokenizer.json` alone. Its
//! [`Tokenizer`] is shared by threads; each thread has an [`Encoder`]. Rendering of messages and masks are not here:
//! the caller renders text, and asks for the ids of the text and the end of each.
//!
//! ```no_run
//! use gristmill_models::{Folder, Special};
//!
//! let folder = Folder::open("Qwen3-8B".as_ref())?;
//! let tokenizer = folder.tokenizer();
//! let mut encoder = tokenizer.encoder();
//! let (mut ids, mut ends) = (Vec::new(), Vec::new());
//! encoder.encode_with_ends("<|im_start|>user\nHello", Special::Tokens, &mut ids, &mut ends)?;
//! let mut bytes = Vec::new();
//! tokenizer.decode_into(&ids, &mut bytes)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod added;
mod bytes;
mod characters;
mod config;
mod decode;
mod encoder;
mod error;
mod fast;
mod file;
mod folder;
mod guard;
mod merges;
mod nfc;
mod reference;
mod template;
mod text_file;
mod token_cache;
mod tokenizer;

pub use added::{AddedToken, TokenFinder};
pub use encoder::{Encoder, Special};
pub use error::{Cause, EncodeError, FolderError, UnknownToken};
pub use folder::{Folder, StopToken, files_of};
pub use template::Template;
pub use tokenizer::{EngineChoice, EngineKind, Tokenizer};

/// The example of the page.
#[cfg(doctest)]
#[doc = include_str!("README.md")]
struct Page;
