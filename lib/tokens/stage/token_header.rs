//! What the header of tokens states: whose tokens they are, and how much of the inputs they have.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::batch::{Header, TokenizerLocation};
use crate::error::{At, Error, Result, shown};
use crate::format::kd_root::SourceLimits;
use crate::harmony::Policy;
use crate::model::{ChatModel, o200k, state_tokenizer};
use crate::record::statements::{CONVERSION, INPUTS, LIMITS, POLICY};
use crate::stage::SourceArgs;
use crate::stream::Reader;
use crate::tokenizer::verify_vocabulary;

/// Whose tokens a filter makes.
pub struct TokensOf {
    tokenizer: Value,
    location: Option<TokenizerLocation>,
    /// The policy of tokens of Harmony.
    policy: Option<Policy>,
}

impl TokensOf {
    /// Checks the vocabulary that the user names, if any, against the embedded one.
    pub fn harmony(named: Option<&Path>, policy: Policy) -> Result<TokensOf> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let path = named
            .map(Path::to_path_buf)
            .or_else(|| {
                variable("TIKTOKEN_ENCODINGS_BASE")
                    .map(|directory| Path::new(&directory).join("o200k_base.tiktoken"))
            })
            .or_else(|| variable("O200K_HARMONY_VOCAB_PATH").map(PathBuf::from));
        if let Some(path) = &path {
            let bytes = std::fs::read(path).at(path)?;
            verify_vocabulary(&bytes).map_err(|e| Error::data(e).at(shown(path)))?;
        }
        let tokenizer = o200k(path.as_deref());
        Ok(TokensOf { tokenizer, location: None, policy: Some(policy) })
    }

    pub fn model(model: &ChatModel) -> TokensOf {
        let (tokenizer, location) = (model.describe(), Some(model.location()));
        TokensOf { tokenizer, location, policy: None }
    }

    /// States them in a header.
    pub fn state_tokenizer(self, header: &mut Header) {
        let TokensOf { tokenizer, location, policy } = self;
        state_tokenizer(header, tokenizer, location);
        if let Some(policy) = policy {
            header.set(&POLICY, policy.name().to_string());
        }
    }

    /// States them in a header, with the inputs and how much was read of them.
    pub fn state(
        self,
        header: &mut Header,
        (source, reader): (&SourceArgs, &Reader),
        max_tokens: Option<u64>,
    ) -> Result<()> {
        self.state_tokenizer(header);
        let inputs = source.described()?;
        // A pipe keeps what an earlier filter states about its files.
        let opened = (!reader.sources().is_empty()).then(|| reader.sources().to_vec());
        if let Some(inputs) = inputs.or(opened) {
            header.set(&INPUTS, inputs);
        }
        let slice = source.input.slice.map(|slice| slice.to_string());
        let (rows, tokens) = (source.limit(), max_tokens);
        let mut limits = SourceLimits { rows, tokens, slice, ..SourceLimits::default() };
        // And how much of them that filter has read.
        if reader.sources().is_empty() && header.parameters.has(&INPUTS) {
            let made = header.get(&CONVERSION);
            let before = made.as_ref().and_then(|made| made.get("limits"));
            if let Some(Ok(before)) = before.map(SourceLimits::deserialize) {
                limits.rows = limits.rows.or(before.rows);
                limits.slice = limits.slice.or(before.slice);
            }
        }
        header.set(&LIMITS, limits);
        Ok(())
    }
}
