//! The engine for every file: the crate `tokenizers`.

use std::sync::{PoisonError, RwLock};

use tokenizers::{PostProcessorWrapper, Tokenizer};

use crate::encoder::Special;
use crate::error::EncodeError;
use crate::file::Model;

/// A tokenizer of the crate. Whether text that spells special tokens is text is a state of it, and most
/// programs never change it: so it is behind a lock, and not there twice.
pub struct Reference(RwLock<Tokenizer>);

impl Reference {
    /// Out of the text of `tokenizer.json`.
    pub fn new(text: &str, model: &Model) -> Result<Self, String> {
        check(model)?;
        let mut tokenizer = Tokenizer::from_bytes(text).map_err(|error| error.to_string())?;
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
                let encoding = match ends {
                    Some(_) => tokenizer.encode(text, false),
                    None => tokenizer.encode_fast(text, false),
                };
                let encoding = encoding.map_err(|error| EncodeError(error.to_string()))?;
                ids.extend(encoding.get_ids().iter().map(|&id| id as i32));
                if let Some(ends) = ends {
                    let mut last = 0;
                    ends.extend(encoding.get_offsets().iter().map(|&(_, end)| {
                        last = end.max(last);
                        last
                    }));
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
        tokenizer.decode(ids, false).map_err(|error| EncodeError(error.to_string()))
    }

    /// The id of a token by the text that the vocabulary has for it.
    pub fn id_of(&self, token: &str) -> Option<u32> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).token_to_id(token)
    }
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
