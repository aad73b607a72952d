//! Chats of all common shapes and of any model: how they are read, rendered and masked, and the records of
//! conversations with their checks, numbers and views. It knows no files of tokens.
//!
//! | module | holds |
//! |---|---|
//! | [`chat`] | chats of all common shapes, into conversations: a shape is an entry in a table |
//! | [`harmony`] | Harmony: what is accepted, rendering, spans, and back |
//! | [`model`] | folders of Hugging Face models: templates that render chats, texts into tokens |
//! | [`record`] | conversations, chats, raw rows of SYNTH, decoded sequences, places of messages |
//! | [`mod@format`] | folders of conversations in Parquet with their manifest |
//! | [`stage`] | the filters that make conversations |
//! | [`kinds`] | how conversations are counted, shown, compared, checked |

// The crates below, by the names that their modules have in all of them.
use gristmill_stream::{
    batch, check, cli, diff, digest, error, file_entry, files, inputs, json, known_files,
    provenance, publish, raw_files, said, stat, stream, view, visible, way_on, wording,
};
use gristmill_tokenizer as tokenizer;

pub mod chat;
pub mod format;
pub mod harmony;
pub mod kinds;
pub mod model;
pub mod record;
pub mod stage;
