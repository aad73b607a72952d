//! The vocabulary as the official packages want it.

use std::fmt::Write;
use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use gristmill::tokenizer::token_bytes;

/// Writes o200k_base.tiktoken into a directory (`TIKTOKEN_ENCODINGS_BASE`), from our own table.
pub fn write_vocabulary(directory: &Path) {
    let mut text = String::new();
    for id in 0..199_998 {
        writeln!(text, "{} {id}", STANDARD.encode(token_bytes(id).unwrap())).unwrap();
    }
    std::fs::create_dir_all(directory).unwrap();
    std::fs::write(directory.join("o200k_base.tiktoken"), text).unwrap();
}
