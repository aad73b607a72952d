//! The texts of tokens, from o200k or a model's tokenizer; or none.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use gristmill_models::Tokenizer;

use super::PieceKind;
use crate::batch::Header;
use crate::error::Result;
use crate::model::{Vocabulary, open_of_header};
use crate::tokenizer::{EOD, is_produced, special_name, token_bytes};

/// The texts of tokens.
#[derive(Clone, Default)]
pub enum TokenTexts {
    #[default]
    O200k,
    /// A model's, and its special tokens.
    Model(Tokenizer, HashSet<i32>),
    /// The tokenizer is not at hand: tokens are shown as their ids.
    Ids,
}

impl TokenTexts {
    /// Returns the texts of the tokens of a header; `model` is the folder of their model, if the user names one.
    pub fn of(header: &Header, model: Option<&Path>) -> Result<TokenTexts> {
        let Some(folder) = open_of_header(header, model)? else {
            let is_o200k = Vocabulary::of(header.parameters.get("tokenizer")).is_o200k();
            return Ok(if is_o200k { TokenTexts::O200k } else { TokenTexts::Ids });
        };
        let tokenizer = folder.tokenizer().clone();
        let special = tokenizer.added_tokens().iter().filter(|token| token.special);
        let special = special.filter_map(|token| i32::try_from(token.id).ok()).collect();
        Ok(TokenTexts::Model(tokenizer, special))
    }

    /// Whether the texts are known.
    pub fn are_known(&self) -> bool {
        !matches!(self, TokenTexts::Ids)
    }

    pub(super) fn is_o200k(&self) -> bool {
        matches!(self, TokenTexts::O200k)
    }

    /// Returns the bytes of a token; `None` if no token has this id.
    pub fn bytes(&self, id: i32) -> Option<Cow<'_, [u8]>> {
        match self {
            TokenTexts::O200k => token_bytes(id).map(Cow::Borrowed),
            TokenTexts::Model(tokenizer, _) => tokenizer.token_bytes(u32::try_from(id).ok()?),
            TokenTexts::Ids => Some(Cow::Owned(format!("<{id}>").into_bytes())),
        }
    }

    pub(super) fn kind(&self, id: i32) -> PieceKind {
        match self {
            TokenTexts::O200k => match id {
                EOD => PieceKind::Eod,
                _ if !is_produced(id) => PieceKind::Unknown,
                _ if special_name(id).is_some() => PieceKind::Control,
                _ => PieceKind::Text,
            },
            TokenTexts::Model(_, special) if special.contains(&id) => PieceKind::Control,
            TokenTexts::Model(..) if self.bytes(id).is_none() => PieceKind::Unknown,
            _ => PieceKind::Text,
        }
    }
}
