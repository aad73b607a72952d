//! Our own engine for byte-level vocabularies with known patterns. Files that are not exactly one of the cases here
//! go to the reference engine.

use gristmill_tokenizer::{
    HashMap as Map, PatternName, Vocabulary, VocabularyEncoder, token_bytes,
};
use serde_json::Value;

use crate::decode::TokenTable;
use crate::file::{Model, TokenizerFile};
use crate::merges::{Merge, are_of_o200k, pairs, read_in_order};

const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const CL100K: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const DEEPSEEK: [&str; 3] = [
    r"\p{N}{1,3}",
    "[一-龥\u{3040}-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
];

/// A vocabulary that our engine encodes with.
pub struct Fast {
    tables: TokenTables,
    pattern: PatternName,
    /// Whether text is first put into Normalization Form C.
    pub is_nfc: bool,
}

enum TokenTables {
    /// The tables of o200k, which are part of the program.
    Embedded,
    Loaded(Vocabulary),
}

impl Fast {
    /// Makes the engine; an error names the part of the file that is not known.
    pub fn new(file: &TokenizerFile, table: &TokenTable) -> Result<Self, String> {
        let is_nfc = normalizer(&file.normalizer)?;
        let pattern = pattern(&file.pre_tokenizer)?;
        let model = &file.model;
        check(file)?;
        let count = count_ids(model)?;
        let merges = read_in_order(model, count)?;
        let mut tokens = table.bytes();
        tokens.truncate(count);
        if pattern == PatternName::O200k && is_o200k(model, &tokens, &merges) {
            return Ok(Self { tables: TokenTables::Embedded, pattern, is_nfc });
        }
        let pairs = pairs(&merges, &tokens)?;
        let vocabulary = Vocabulary::new(&tokens, &pairs, model.ignore_merges == Some(true));
        let vocabulary = vocabulary.ok_or("a vocabulary that its tables cannot hold")?;
        Ok(Self { tables: TokenTables::Loaded(vocabulary), pattern, is_nfc })
    }

    pub fn encoder(&self) -> VocabularyEncoder {
        match &self.tables {
            TokenTables::Embedded => VocabularyEncoder::o200k(),
            TokenTables::Loaded(vocabulary) => vocabulary.encoder(self.pattern),
        }
    }

    /// Describes the engine.
    pub fn note(&self) -> String {
        let name = match self.pattern {
            PatternName::O200k => "o200k",
            PatternName::Cl100k => "cl100k and Llama 3",
            PatternName::Qwen => "Qwen",
            PatternName::DeepSeek => "DeepSeek V3",
        };
        let tables = match self.tables {
            TokenTables::Embedded => ", tables of o200k",
            TokenTables::Loaded(_) => "",
        };
        format!("own engine, pattern of {name}{tables}")
    }
}

/// Checks what both of our engines need; an error names the part of the file that they do not support.
pub fn check(file: &TokenizerFile) -> Result<(), String> {
    let model = &file.model;
    if model.kind.as_deref() != Some("BPE") {
        return Err(format!("model {}", model.kind.as_deref().unwrap_or("of no type")));
    }
    let is_none = |text: &Option<String>| text.as_deref().unwrap_or("").is_empty();
    if !is_none(&model.continuing_subword_prefix) || !is_none(&model.end_of_word_suffix) {
        return Err("marks at the ends of words".to_owned());
    }
    let is_plain = |token: &crate::AddedToken| !(token.single_word || token.lstrip || token.rstrip);
    if let Some(token) = file.added_tokens.iter().find(|token| !is_plain(token)) {
        return Err(format!("added token {:?} takes what is beside it", token.content));
    }
    let contents: Map<&str, ()> =
        file.added_tokens.iter().map(|token| (&*token.content, ())).collect();
    if contents.len() < file.added_tokens.len() {
        return Err("an added token that is there twice".to_owned());
    }
    Ok(())
}

/// Returns whether the normalizer is NFC; an error for any other normalizer.
fn normalizer(normalizer: &Value) -> Result<bool, String> {
    let unknown = || Err(format!("normalizer {}", kind(normalizer)));
    match normalizer["type"].as_str() {
        None if normalizer.is_null() => Ok(false),
        Some("NFC") => Ok(true),
        Some("Sequence") => match normalizer["normalizers"].as_array().map(Vec::as_slice) {
            Some([]) => Ok(false),
            Some([one]) if one["type"] == "NFC" => Ok(true),
            _ => unknown(),
        },
        _ => unknown(),
    }
}

fn kind(part: &Value) -> &str {
    part["type"].as_str().unwrap_or("of no type")
}

fn pattern(pre_tokenizer: &Value) -> Result<PatternName, String> {
    let steps = match pre_tokenizer["pretokenizers"].as_array() {
        Some(steps) if pre_tokenizer["type"] == "Sequence" => steps,
        _ => return Err(format!("pre-tokenizer {}", kind(pre_tokenizer))),
    };
    let Some((last, splits)) = steps.split_last() else {
        return Err("pre-tokenizer of no steps".to_owned());
    };
    let is_bytes = last["type"] == "ByteLevel"
        && last["add_prefix_space"] == false
        && last["use_regex"] == false;
    if !is_bytes {
        return Err(format!("pre-tokenizer with {} at its end", kind(last)));
    }
    let expression = |split: &Value| -> Option<(String, bool)> {
        // The two forms differ only for text that the pattern does not match, which the second form drops. The known
        // patterns match all text.
        let is_isolated = split["behavior"] == "Isolated" && split["invert"] == false;
        let is_inverted = split["behavior"] == "Removed" && split["invert"] == true;
        let is_split = split["type"] == "Split" && (is_isolated || is_inverted);
        let expression = split["pattern"]["Regex"].as_str().filter(|_| is_split)?;
        Some((expression.to_owned(), is_isolated))
    };
    let expressions: Option<Vec<(String, bool)>> = splits.iter().map(expression).collect();
    let expressions = expressions.unwrap_or_default();
    let all: Vec<&str> = expressions.iter().map(|(text, _)| &**text).collect();
    match all[..] {
        [O200K] => Ok(PatternName::O200k),
        [CL100K] => Ok(PatternName::Cl100k),
        [QWEN] => Ok(PatternName::Qwen),
        // The expressions of DeepSeek do not match all text.
        _ if all == DEEPSEEK && expressions.iter().all(|(_, is_isolated)| *is_isolated) => {
            Ok(PatternName::DeepSeek)
        }
        _ => Err("pre-tokenizer with another expression".to_owned()),
    }
}

/// Returns the number of ids: the highest one of the vocabulary plus one.
fn count_ids(model: &Model) -> Result<usize, String> {
    let count = model.vocabulary.iter().map(|(_, id)| *id as usize + 1).max().unwrap_or(0);
    if count > 1 << 18 {
        return Err("more than 262,144 ids".to_owned());
    }
    Ok(count)
}

/// Whether all tokens that merges make are the tokens of o200k.
fn is_o200k(model: &Model, tokens: &[&[u8]], merges: &[Merge]) -> bool {
    const RANKS: i32 = gristmill_tokenizer::START_OF_TEXT;
    let is_same = |id: i32| token_bytes(id) == tokens.get(id as usize).copied();
    // With `ignore_merges`, tokens that no merge makes are found, too.
    let others = tokens.get(RANKS as usize..).unwrap_or_default();
    let has_whole = model.ignore_merges == Some(true) && !others.is_empty();
    !has_whole && (0..RANKS).all(is_same) && are_of_o200k(merges)
}
