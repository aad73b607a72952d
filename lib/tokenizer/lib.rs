//! o200k, the encoding of gpt-oss: text to tokens and back, exactly as tiktoken and
//! openai-harmony do it. The vocabulary is part of the program: no file, no network, nothing
//! built at start-up. Text that spells a control token is encoded as text: only a caller can put
//! [control tokens](SPECIAL_TOKENS) between encoded texts.
//!
//! ```
//! use gristmill_tokenizer::{Encoder, decode_into};
//!
//! let mut encoder = Encoder::new();
//! let mut tokens = Vec::new();
//! encoder.encode("Hello, world!", &mut tokens);
//! assert_eq!(tokens, [13225, 11, 2375, 0]);
//!
//! let mut bytes = Vec::new();
//! decode_into(&tokens, &mut bytes)?;
//! assert_eq!(bytes, b"Hello, world!");
//! # Ok::<(), gristmill_tokenizer::UnknownToken>(())
//! ```
//!
//! A token may end within a character, so tokens are bytes, not text, until they are put together:
//!
//! ```
//! use gristmill_tokenizer::{encoded, token_bytes};
//!
//! let tokens = encoded("\u{1f9ff}");
//! assert!(tokens.len() > 1);
//! assert!(str::from_utf8(token_bytes(tokens[0]).unwrap()).is_err());
//! ```
//!
//! Text is cut into pre-tokens by this pattern (in `scan`, written by hand; Unicode 16.0), and each
//! pre-token is merged by itself:
//!
//! ```text
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! \p{N}{1,3}
//!  ?[^\s\p{L}\p{N}]+[\r\n/]*
//! \s*[\r\n]+
//! \s+(?!\S)
//! \s+
//! ```

#![warn(missing_docs)]

mod cache;
mod embedded;
mod encode;
mod hash;
mod letters;
mod loaded;
mod lookup;
mod make;
mod merge;
mod pages;
mod parts;
mod pattern;
mod pieces;
mod runs;
mod scan;
mod slot;
mod special;
mod spelled;
mod tables;
mod threads;
mod vocabulary;
mod window;
mod words;

pub use encode::{Encoder, encoded};
pub use loaded::{PatternName, Vocabulary, VocabularyEncoder, o200k_merge};
pub use make::HashMap;
pub use special::{
    CALL, CHANNEL, CONSTRAIN, END, EOD, MESSAGE, RETURN, SPECIAL_TOKENS, START, START_OF_TEXT,
    UnknownToken, decode_into, is_produced, special_id, special_name, token_bytes,
};
pub use threads::both;
pub use vocabulary::{VOCABULARY_SHA256, VocabularyError, verify_vocabulary};

/// The number of ids of a model's embedding: ranks, control tokens, reserved and padding ids.
pub const PADDED_VOCABULARY_SIZE: i32 = 201_088;

/// The example of the page.
#[cfg(doctest)]
#[doc = include_str!("README.md")]
struct Page;
