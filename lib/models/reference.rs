//! The engine for every file: the crate `tokenizers`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{PoisonError, RwLock};

use serde_json::{Value, json};
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::{AddedToken, PostProcessorWrapper, Tokenizer};

use crate::encoder::Special;
use crate::error::EncodeError;
use crate::file::{Model, TokenizerFile};

/// A tokenizer of the crate. Whether text that spells special tokens is text is a state of it, and most
/// programs never change it: so it is behind a lock, and not there twice.
pub struct Reference(RwLock<Tokenizer>);

impl Reference {
    /// Out of the text of `tokenizer.json`.
    pub fn read(text: &str) -> Result<Self, String> {
        guarded(|| Self::new(Tokenizer::from_bytes(text).map_err(|error| error.to_string())?))
    }

    /// Out of what was read of a file whose model has merges; its vocabulary and merges are taken away. The
    /// crate, which tries one form of merges after another, takes 500 MB to read Gemma's.
    pub fn with_merges(file: &mut TokenizerFile) -> Result<Self, String> {
        guarded(|| Self::new(with_merges(file)?))
    }

    fn new(mut tokenizer: Tokenizer) -> Result<Self, String> {
        // A caller of transformers that asks for neither gets neither, whatever the file says.
        tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
        tokenizer.with_padding(None);
        // It adds special tokens, which no one asks for, and takes white space out of offsets.
        tokenizer.with_post_processor(None::<PostProcessorWrapper>);
        Ok(Self(RwLock::new(tokenizer)))
    }

    /// Appends the ids of a text and, if `ends` is given, where each of them ends in it.
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
            if tokenizer.get_encode_special_tokens() == is_text {
                let encoding = guarded(|| {
                    let encoding = match ends {
                        Some(_) => tokenizer.encode(text, false),
                        None => tokenizer.encode_fast(text, false),
                    };
                    encoding.map_err(|error| error.to_string())
                });
                let encoding = encoding.map_err(EncodeError)?;
                ids.extend(encoding.get_ids().iter().map(|&id| id as i32));
                if let Some(ends) = ends {
                    let offsets = encoding.get_offsets();
                    // What the normalizer left out belongs to the token in front of it.
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

    /// The text of ids, for decoders that are not known here.
    pub fn decode(&self, ids: &[u32]) -> Result<String, EncodeError> {
        let tokenizer = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let decode = || tokenizer.decode(ids, false).map_err(|error| error.to_string());
        guarded(decode).map_err(EncodeError)
    }

    /// The id of a token by the text that the vocabulary has for it.
    pub fn id_of(&self, token: &str) -> Option<u32> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).token_to_id(token)
    }
}

fn with_merges(file: &mut TokenizerFile) -> Result<Tokenizer, String> {
    check(&file.model)?;
    let shell = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": file.normalizer, "pre_tokenizer": file.pre_tokenizer,
        "post_processor": null, "decoder": file.decoder,
        "model": {"type": "BPE", "vocab": {}, "merges": []},
    });
    let mut tokenizer =
        Tokenizer::from_bytes(shell.to_string()).map_err(|error| error.to_string())?;
    let model = &mut file.model;
    let mut vocabulary = Vocab::default();
    let tokens = std::mem::take(&mut model.vocabulary.0);
    vocabulary.extend(tokens.into_iter().map(|(token, id)| (token.into_owned(), id)));
    let merges = std::mem::take(&mut model.merges.0).into_iter();
    let merges = merges.map(|[left, right]| (left.into_owned(), right.into_owned())).collect();
    let mut builder = BPE::builder().vocab_and_merges(vocabulary, merges);
    match &model.dropout {
        Value::Null => {}
        dropout => {
            let dropout = dropout.as_f64().ok_or("dropout is no number")?;
            builder = builder.dropout(dropout as f32);
        }
    }
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
    let added = file.added_tokens.iter().map(|token| {
        AddedToken::from(&*token.content, token.special)
            .single_word(token.single_word)
            .lstrip(token.lstrip)
            .rstrip(token.rstrip)
            .normalized(token.normalized)
    });
    let added: Vec<AddedToken> = added.collect();
    tokenizer.add_tokens(added).map_err(|error| error.to_string())?;
    Ok(tokenizer)
}

/// What the crate gives, and an error where it panics, as it does for some damaged files and models. (What a
/// panic leaves behind is not used again, or only read.)
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let panic = |_| Err("tokenizers fails on it".to_owned());
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(panic)
}

/// Whether the crate can take the model: it does not check what it slices, and would panic.
fn check(model: &Model) -> Result<(), String> {
    let longest = model.vocabulary.0.iter().map(|(token, _)| token.len()).max().unwrap_or(0);
    let prefix = model.continuing_subword_prefix.as_deref().unwrap_or("");
    for (at, [left, right]) in model.merges.0.iter().enumerate() {
        let rest = right.strip_prefix(prefix).map(str::len);
        if rest.is_none_or(|rest| left.len() + rest > longest) {
            return Err(format!(
                "merge {at} ({left:?}, {right:?}) makes no token of the vocabulary"
            ));
        }
    }
    Ok(())
}
