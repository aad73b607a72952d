//! A small tokenizer of our own: all bytes, and some merges.

use std::path::PathBuf;

use gristmill_models::{EngineChoice, Folder, FolderError};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The character by which a byte is written in byte-level vocabularies.
pub fn character(byte: u8) -> char {
    let printable = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if printable(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|&byte| !printable(byte)).count() as u32;
    char::from_u32(256 + before).unwrap()
}

pub fn spelled(text: &str) -> String {
    text.bytes().map(character).collect()
}

pub const CL100K: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// With these merges, each of two texts.
pub fn tokenizer(merges: &[[&str; 2]]) -> Value {
    let mut tokens: Vec<String> = (0..=255).map(|byte| character(byte).to_string()).collect();
    for [left, right] in merges {
        let token = spelled(&format!("{left}{right}"));
        if !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    let vocabulary: serde_json::Map<String, Value> =
        tokens.iter().zip(0..).map(|(token, id)| (token.clone(), json!(id))).collect();
    let merges: Vec<_> = merges.iter().map(|pair| pair.map(spelled)).collect();
    let added = |id: usize, content: &str, special: bool| {
        json!({"id": id, "content": content, "single_word": false, "lstrip": false,
               "rstrip": false, "normalized": false, "special": special})
    };
    let count = tokens.len();
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [added(count, "<|end|>", true), added(count + 1, "<think>", false)],
        "normalizer": null,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": CL100K}, "behavior": "Isolated", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
        ]},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocabulary, "merges": merges},
    })
}

/// Of "hello wo", "rl" and "da".
pub const MERGES: [[&str; 2]; 8] = [
    ["h", "e"],
    ["l", "l"],
    ["he", "ll"],
    ["hell", "o"],
    [" ", "w"],
    [" w", "o"],
    ["r", "l"],
    ["d", "a"],
];

/// A folder with these files.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path: PathBuf = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

pub fn open(text: &str, choice: EngineChoice) -> Result<Folder, FolderError> {
    let folder = folder(&[("tokenizer.json", text)]);
    Folder::open_with(&folder.path().join("tokenizer.json"), choice)
}

/// As SentencePiece has it: bytes, characters, and what these merges make; Llama 2's mark in front if `has_mark`.
pub fn sentencepiece(characters: &[&str], merges: &[[&str; 2]], has_mark: bool) -> Value {
    let mut tokens: Vec<String> = ["<unk>", "<s>"].map(str::to_owned).to_vec();
    tokens.extend((0..=255).map(|byte| format!("<0x{byte:02X}>")));
    let made = merges.iter().map(|pair| pair.concat());
    for token in characters.iter().map(|&text| text.to_owned()).chain(made) {
        if !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    let vocabulary: serde_json::Map<String, Value> =
        tokens.iter().zip(0..).map(|(token, id)| (token.clone(), json!(id))).collect();
    let added = |id: usize, content: &str, special: bool| {
        json!({"id": id, "content": content, "single_word": false, "lstrip": false,
               "rstrip": false, "normalized": false, "special": special})
    };
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
    let both =
        json!({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, replace]});
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [added(1, "<s>", true), added(tokens.len(), "\n\n", false)],
        "normalizer": if has_mark { both } else { replace },
        "pre_tokenizer": null, "post_processor": null,
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"},
        ]},
        "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "ignore_merges": false,
            "vocab": vocabulary, "merges": merges},
    })
}
