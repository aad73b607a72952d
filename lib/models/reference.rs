//! The engine for every file: the crate `tokenizers`.

use std::sync::{PoisonError, RwLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::{
    AddedToken, Encoding, Model, NormalizedString, Normalizer, OffsetType, PreTokenizedString,
    PreTokenizer, Tokenizer,
};

use crate::encoder::Special;
use crate::error::EncodeError;
use crate::file::TokenizerFile;
use crate::guard;
use gristmill_panics::caught;

/// A tokenizer of the crate. It has a state that says how text that spells special tokens is encoded, so it is behind a
/// lock. (Making two tokenizers instead would be slower.)
pub struct Reference(RwLock<Tokenizer>);

impl Reference {
    /// Makes a tokenizer out of a file whose model has no merges, and out of the text of the file.
    pub fn without_merges(file: &TokenizerFile, text: &str) -> Result<Self, String> {
        guard::check(file)?;
        guarded(|| without_merges(file, text).map(|tokenizer| Self(RwLock::new(tokenizer))))
    }

    /// Makes a tokenizer from a file that [`guard::check`] took, and its merges. (The crate's own reader tries one form
    /// of merges after another, and takes 500 MB for Gemma's.)
    pub fn with_merges(file: TokenizerFile, merges: Vec<(String, String)>) -> Result<Self, String> {
        guarded(|| with_merges(file, merges).map(|tokenizer| Self(RwLock::new(tokenizer))))
    }

    /// Appends the ids of a text and, if `ends` is given, the end of each id in the text.
    pub fn encode(
        &self,
        text: &str,
        special: Special,
        ids: &mut Vec<i32>,
        ends: Option<&mut Vec<usize>>,
    ) -> Result<(), EncodeError> {
        let is_text = special == Special::Text;
        loop {
            let tokenizer = self.0.read().unwrap_or_else(PoisonError::into_inner);
            if special == Special::Plain || tokenizer.get_encode_special_tokens() == is_text {
                let encoding = guarded(|| {
                    let encoding = match ends {
                        _ if special == Special::Plain => plain(&tokenizer, text),
                        Some(_) => tokenizer.encode(text, false),
                        None => tokenizer.encode_fast(text, false),
                    };
                    encoding.map_err(|error| error.to_string())
                });
                let encoding = encoding.map_err(EncodeError)?;
                ids.extend(encoding.get_ids().iter().map(|&id| id as i32));
                if let Some(ends) = ends {
                    let offsets = encoding.get_offsets();
                    // Text that the normalizer removes belongs to the token before it.
                    let next = offsets.iter().map(|&(start, _)| start).skip(1);
                    let mut last = 0;
                    for (&(_, end), next) in offsets.iter().zip(next.chain([text.len()])) {
                        last = end.max(next).max(last);
                        ends.push(last);
                    }
                }
                return Ok(());
            }
            drop(tokenizer);
            let mut tokenizer = self.0.write().unwrap_or_else(PoisonError::into_inner);
            tokenizer.set_encode_special_tokens(is_text);
        }
    }

    /// Returns the text of ids, for decoders that `decode.rs` does not know.
    pub fn decode(&self, ids: &[u32]) -> Result<String, EncodeError> {
        let tokenizer = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let decode = || tokenizer.decode(ids, false).map_err(|error| error.to_string());
        guarded(decode).map_err(EncodeError)
    }

    /// Returns the id of a token by its text in the vocabulary.
    pub fn id_of(&self, token: &str) -> Option<u32> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).token_to_id(token)
    }
}

/// Encodes a text without a look for added tokens, which the crate always does itself.
fn plain(tokenizer: &Tokenizer, text: &str) -> tokenizers::Result<Encoding> {
    let mut normalized = NormalizedString::from(text);
    if let Some(normalizer) = tokenizer.get_normalizer() {
        normalizer.normalize(&mut normalized)?;
    }
    let mut split = PreTokenizedString::from(normalized);
    if let Some(pre_tokenizer) = tokenizer.get_pre_tokenizer() {
        pre_tokenizer.pre_tokenize(&mut split)?;
    }
    split.tokenize(|part| tokenizer.get_model().tokenize(part.get()))?;
    split.into_encoding(None, 0, OffsetType::Byte)
}

/// A tokenizer with a model that the crate reads. It gets no post-processor (which would add special tokens and take
/// white space out of offsets), no truncation and no padding, since these are not needed.
fn with_model(file: &TokenizerFile, model: &RawValue) -> Result<Tokenizer, String> {
    #[derive(Serialize)]
    struct Shell<'a> {
        version: &'a str,
        added_tokens: [(); 0],
        normalizer: &'a Value,
        pre_tokenizer: &'a Value,
        decoder: &'a Value,
        model: &'a RawValue,
    }
    let TokenizerFile { normalizer, pre_tokenizer, decoder, .. } = file;
    let shell =
        Shell { version: "1.0", added_tokens: [], normalizer, pre_tokenizer, decoder, model };
    let shell = serde_json::to_vec(&shell).map_err(|error| error.to_string())?;
    Tokenizer::from_bytes(shell).map_err(|error| error.to_string())
}

/// A tokenizer whose model is read again out of the text of the file.
fn without_merges(file: &TokenizerFile, text: &str) -> Result<Tokenizer, String> {
    #[derive(Deserialize)]
    struct File<'a> {
        #[serde(borrow)]
        model: &'a RawValue,
    }
    let text: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut tokenizer = with_model(file, text.model)?;
    add_tokens(&mut tokenizer, file)?;
    Ok(tokenizer)
}

fn with_merges(
    mut file: TokenizerFile,
    merges: Vec<(String, String)>,
) -> Result<Tokenizer, String> {
    let model = RawValue::from_string(r#"{"type": "BPE", "vocab": {}, "merges": []}"#.to_owned());
    let mut tokenizer = with_model(&file, &model.map_err(|error| error.to_string())?)?;
    let model = &mut file.model;
    let mut vocabulary = Vocab::default();
    let tokens = std::mem::take(&mut model.vocabulary);
    vocabulary.extend(tokens.into_iter().map(|(token, id)| (token.into_owned(), id)));
    let mut builder = BPE::builder().vocab_and_merges(vocabulary, merges);
    if let Some(token) = &model.unk_token {
        builder = builder.unk_token(token.clone());
    }
    if let Some(prefix) = &model.continuing_subword_prefix {
        builder = builder.continuing_subword_prefix(prefix.clone());
    }
    if let Some(suffix) = &model.end_of_word_suffix {
        builder = builder.end_of_word_suffix(suffix.clone());
    }
    let model = builder
        .fuse_unk(model.fuse_unk == Some(true))
        .byte_fallback(model.byte_fallback == Some(true))
        .ignore_merges(model.ignore_merges == Some(true))
        .build()
        .map_err(|error| error.to_string())?;
    tokenizer.with_model(model);
    add_tokens(&mut tokenizer, &file)?;
    Ok(tokenizer)
}

fn add_tokens(tokenizer: &mut Tokenizer, file: &TokenizerFile) -> Result<(), String> {
    let added = file.added_tokens.iter().map(|token| {
        AddedToken::from(&*token.content, token.special)
            .single_word(token.single_word)
            .lstrip(token.lstrip)
            .rstrip(token.rstrip)
            .normalized(token.normalized)
    });
    let added: Vec<AddedToken> = added.collect();
    tokenizer.add_tokens(added).map_err(|error| error.to_string())?;
    Ok(())
}

/// Runs the crate; a panic of it is an error. (`guard` refuses all files that are known to make it panic. Whatever a
/// panic leaves behind is not used again, or only read.)
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    caught(work).unwrap_or_else(|_| Err("tokenizers fails on it".to_owned()))
}
