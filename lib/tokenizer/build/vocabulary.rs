//! The 199,998 ranks of o200k, read from tiktoken-rs and verified by the hash of the published file; and for each
//! longer token the one pair of lower ranks that makes it.

use std::collections::HashMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

/// Ranks of o200k; the ids from here on are special tokens.
pub const RANKS: u32 = 199_998;
/// Ids of o200k_harmony with its padding; the last reserved name is 201087.
pub const PADDED_SIZE: u32 = 201_088;
const SHA256: &str = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d";

/// The bytes of every rank. Panics (and so stops the build) when they are not the published
/// vocabulary.
pub fn ranks() -> Vec<Vec<u8>> {
    let oracle = tiktoken_rs::o200k_base().expect("tiktoken-rs carries o200k_base");
    let tokens: Vec<Vec<u8>> =
        (0..RANKS).map(|rank| oracle.decode_bytes(&[rank]).expect("a rank of o200k")).collect();
    let mut file = String::with_capacity(4 << 20);
    for (rank, token) in tokens.iter().enumerate() {
        STANDARD.encode_string(token, &mut file);
        file.push_str(&format!(" {rank}\n"));
    }
    let hash = base16ct::lower::encode_string(&Sha256::digest(&file));
    assert_eq!(hash, SHA256, "tiktoken-rs does not carry the published o200k_base.tiktoken");
    tokens
}

/// Names of the ids after the ranks, as openai-harmony 0.0.8 decodes them.
pub fn special_name(id: u32) -> String {
    let name = match id {
        199_998 => "startoftext",
        199_999 => "endoftext",
        200_002 => "return",
        200_003 => "constrain",
        200_005 => "channel",
        200_006 => "start",
        200_007 => "end",
        200_008 => "message",
        200_012 => "call",
        _ => return format!("<|reserved_{id}|>"),
    };
    format!("<|{name}|>")
}

/// Returns `(left, right)` for each multi-byte token, `None` for the 256 single bytes. Merging a token's bytes with
/// the ranks below its own must leave exactly these two parts. If not, the build stops, because a table of pairs would
/// not describe the encoding.
pub fn pairs(tokens: &[Vec<u8>]) -> Vec<Option<(u32, u32)>> {
    let mut byte_ids = [None; 256];
    for (id, token) in tokens.iter().enumerate() {
        if let [byte] = token[..] {
            byte_ids[byte as usize] = Some(id as u32);
        }
    }
    assert!(byte_ids.iter().all(Option::is_some), "every byte is a token");
    let mut merges: HashMap<(u32, u32), u32> = HashMap::with_capacity(tokens.len());
    let mut pairs = Vec::with_capacity(tokens.len());
    for (id, token) in tokens.iter().enumerate() {
        if token.len() == 1 {
            pairs.push(None);
            continue;
        }
        let mut parts: Vec<u32> =
            token.iter().filter_map(|&byte| byte_ids[byte as usize]).collect();
        while let Some((rank, at)) = (0..parts.len() - 1)
            .filter_map(|at| Some((*merges.get(&(parts[at], parts[at + 1]))?, at)))
            .min()
        {
            parts[at] = rank;
            parts.remove(at + 1);
        }
        let [left, right] = parts[..] else { panic!("token {id} is made of {parts:?}") };
        merges.insert((left, right), id as u32);
        pairs.push(Some((left, right)));
    }
    assert_eq!(merges.len(), tokens.len() - 256);
    pairs
}
