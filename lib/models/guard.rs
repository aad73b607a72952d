//! Checks a file before the crate `tokenizers` reads it. Refuses parts for which the crate panics (which prints a
//! line even if the panic is caught), recurses too deeply, or takes unlimited memory.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::Value;

use crate::file::{Model, TokenizerFile};

/// How many bytes a byte of text may become in normalizers, pre-tokenizers or decoders. NFKC of SentencePiece
/// has 33, a replaced space 3, and each replaced expression counts as 2 at least.
const MOST_GROWTH: u64 = 1 << 14;

/// Unigram's tree of tokens is dropped by recursion, a call for each byte of the longest token.
const LONGEST_UNIGRAM: usize = 1024;

/// Checks the parts of a file that the crate reads; an error names the part.
pub fn check(file: &TokenizerFile) -> Result<(), String> {
    let encoding = growth(&file.normalizer)?.saturating_mul(growth(&file.pre_tokenizer)?);
    if encoding > MOST_GROWTH {
        return Err(format!("normalizer that makes more than {MOST_GROWTH} bytes of one"));
    }
    let decoding = growth(&file.decoder)?;
    if decoding > MOST_GROWTH {
        return Err(format!("decoder that makes more than {MOST_GROWTH} bytes of one"));
    }
    // (A model of no type may be of any.)
    check_merges(&file.model)?;
    match file.model.kind.as_deref() {
        None | Some("Unigram") => check_unigram(&file.model),
        _ => Ok(()),
    }
}

/// Checks a normalizer, pre-tokenizer or decoder. Returns the most bytes that it makes from one byte.
fn growth(part: &Value) -> Result<u64, String> {
    let parts: Vec<&Value> = match part {
        Value::Array(list) => list.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => return Ok(1),
    };
    let mut product: u64 = own_growth(part)?;
    for part in parts {
        product = product.saturating_mul(growth(part)?);
    }
    Ok(product)
}

fn own_growth(part: &Value) -> Result<u64, String> {
    if let Some(map) = part.get("precompiled_charsmap") {
        let map = map.as_str().ok_or("normalizer Precompiled without a text")?;
        return check_character_map(map)
            .map_err(|cause| format!("normalizer Precompiled: {cause}"));
    }
    match part["type"].as_str() {
        Some("Precompiled") => Err("normalizer Precompiled without its map".to_owned()),
        // The crate does not stop at the start of a token, and panics.
        Some("Strip") if part["stop"].as_u64().is_some_and(|stop| stop > 0) => {
            Err("decoder Strip with a stop above 0".to_owned())
        }
        // Each byte above 0x7f is written in two.
        Some("ByteLevel") => Ok(2),
        _ => {
            let Some(content) = part["content"].as_str().map(str::len) else { return Ok(1) };
            let replaced = part["pattern"]["String"].as_str().map_or(0, str::len);
            // (An empty text is found between all characters, and an expression may be.)
            Ok(match replaced {
                0 if part.get("pattern").is_some() => content as u64 + 1,
                0 => 1,
                length => content.div_ceil(length).max(1) as u64,
            })
        }
    }
}

/// Checks the character map of SentencePiece in the form of a file: its length, a double array of units
/// (darts-clone), and texts that end with a zero. For every text that is looked up, the crate must stay within
/// both. Returns the length of the longest text.
fn check_character_map(map: &str) -> Result<u64, String> {
    let map = BASE64_STANDARD.decode(map).map_err(|error| error.to_string())?;
    let (length, map) = map.split_first_chunk().ok_or("no length")?;
    let length = (u32::from_le_bytes(*length) / 4 * 4) as usize;
    let (units, texts) = map.split_at_checked(length).ok_or("shorter than its length")?;
    let units: Vec<u32> =
        units.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    let texts = std::str::from_utf8(texts).map_err(|_| "texts that are not UTF-8")?;
    let outside = "a unit that leads out of its array";
    let offset = |unit: u32| ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize;
    let mut bases = vec![offset(*units.first().ok_or("no units")?)];
    let mut is_known = vec![false; units.len()];
    let mut longest = 1;
    while let Some(base) = bases.pop() {
        for byte in 1..=255 {
            let at = base ^ byte as usize;
            let unit = *units.get(at).ok_or(outside)?;
            if unit & (1 << 31 | 0xff) != byte {
                continue;
            }
            let next = at ^ offset(unit);
            if unit & 1 << 8 != 0 {
                let start = units.get(next).ok_or(outside)? & !(1 << 31);
                let text = texts.get(start as usize..).ok_or("a place of no text")?;
                longest = longest.max(text.find('\0').unwrap_or(text.len()));
            }
            let is_known = is_known.get_mut(next).ok_or(outside)?;
            if !std::mem::replace(is_known, true) {
                bases.push(next);
            }
        }
    }
    Ok(longest as u64)
}

/// Checks that no merge makes more than the longest token. (The crate does not check this.)
fn check_merges(model: &Model) -> Result<(), String> {
    let longest = model.vocabulary.iter().map(|(token, _)| token.len()).max().unwrap_or(0);
    let prefix = model.continuing_subword_prefix.as_deref().unwrap_or("");
    for (at, [left, right]) in model.merges.iter().enumerate() {
        let rest = right.strip_prefix(prefix).map(str::len);
        if rest.is_none_or(|rest| left.len() + rest > longest) {
            return Err(format!(
                "merge {at} ({left:?}, {right:?}) makes no token of the vocabulary"
            ));
        }
    }
    Ok(())
}

fn check_unigram(model: &Model) -> Result<(), String> {
    match model.vocabulary.iter().find(|(token, _)| token.len() > LONGEST_UNIGRAM) {
        Some((_, id)) => Err(format!("token {id} has more than {LONGEST_UNIGRAM} bytes")),
        None => Ok(()),
    }
}
