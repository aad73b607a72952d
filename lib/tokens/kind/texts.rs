//! The texts of tokens, from o200k or a model's tokenizer; or none.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use gristmill_models::Tokenizer;

use crate::batch::Header;
use crate::diff::in_a_line;
use crate::error::Result;
use crate::kinds::conversation::PieceKind;
use crate::model::{Vocabulary, is_assumed, may_be_control, open_of_header};
use crate::record::statements::TOKENIZER;
use crate::record::tokens::Tokens;
use crate::tokenizer::{EOD, is_produced, special_name, token_bytes};

/// The texts of tokens.
#[derive(Clone, Default)]
pub enum TokenTexts {
    #[default]
    O200k,
    /// Nothing is stated: o200k's, if Harmony can have made the record.
    Assumed,
    /// A model's, and its added tokens, but for white space.
    Model(Tokenizer, HashSet<i32>),
    /// The tokenizer is not at hand: tokens are shown as their ids.
    Ids,
}

impl TokenTexts {
    /// Returns the texts of the tokens of a header; `model` is the folder of their model, if the user names one.
    pub fn of(header: &Header, model: Option<&Path>) -> Result<TokenTexts> {
        let Some(folder) = open_of_header(header, model)? else {
            return Ok(match Vocabulary::of(header.parameters.value(&TOKENIZER)).is_o200k() {
                true if is_assumed(header) => TokenTexts::Assumed,
                true => TokenTexts::O200k,
                false => TokenTexts::Ids,
            });
        };
        Ok(TokenTexts::of_model(folder.tokenizer()))
    }

    /// Returns the texts of the tokens of a model.
    pub fn of_model(tokenizer: &Tokenizer) -> TokenTexts {
        let added = tokenizer.added_tokens().iter().filter(|token| may_be_control(token));
        let added = added.filter_map(|token| i32::try_from(token.id).ok()).collect();
        TokenTexts::Model(tokenizer.clone(), added)
    }

    /// Returns the texts of the tokens of a record.
    pub fn of_record(&self, rows: &Tokens<'_>, row: usize) -> &TokenTexts {
        match self {
            TokenTexts::Assumed => self.of_harmony(rows.may_be_harmony(row)),
            known => known,
        }
    }

    /// Returns the texts of the tokens of a record that Harmony may have made, or not.
    pub fn of_harmony(&self, may_be: bool) -> &TokenTexts {
        match self {
            TokenTexts::Assumed if may_be => &TokenTexts::O200k,
            TokenTexts::Assumed => &TokenTexts::Ids,
            known => known,
        }
    }

    /// Returns what a user is told if the texts are not known.
    pub fn remark(&self) -> Option<&'static str> {
        let remark =
            "these are tokens of another tokenizer, so their ids are shown; try: --model DIR";
        (!self.are_known()).then_some(remark)
    }

    /// Whether the texts are known.
    pub fn are_known(&self) -> bool {
        !matches!(self, TokenTexts::Ids)
    }

    pub(super) fn is_o200k(&self) -> bool {
        matches!(self, TokenTexts::O200k | TokenTexts::Assumed)
    }

    /// Returns the bytes of a token; `None` if no token has this id.
    pub fn bytes(&self, id: i32) -> Option<Cow<'_, [u8]>> {
        match self {
            TokenTexts::O200k | TokenTexts::Assumed => token_bytes(id).map(Cow::Borrowed),
            TokenTexts::Model(tokenizer, _) => tokenizer.token_bytes(u32::try_from(id).ok()?),
            TokenTexts::Ids => Some(Cow::Owned(format!("<{id}>").into_bytes())),
        }
    }

    pub(super) fn kind(&self, id: i32) -> PieceKind {
        match self {
            TokenTexts::O200k | TokenTexts::Assumed => match id {
                EOD => PieceKind::Eod,
                _ if !is_produced(id) => PieceKind::Unknown,
                _ if special_name(id).is_some() => PieceKind::Control,
                _ => PieceKind::Text,
            },
            TokenTexts::Model(_, added) if added.contains(&id) => PieceKind::Control,
            TokenTexts::Model(..) if self.bytes(id).is_none() => PieceKind::Unknown,
            _ => PieceKind::Text,
        }
    }
}

/// Tokens and their texts.
#[derive(Clone, Copy)]
pub struct TokenRow<'a> {
    pub tokens: &'a [i32],
    pub texts: &'a TokenTexts,
}

/// Returns the tokens around a place as text; the token at that place is in double brackets.
pub fn around(TokenRow { tokens, texts }: TokenRow<'_>, at: usize) -> String {
    const AROUND: usize = 8;
    const BEFORE: usize = 24;
    let text = |range: Range<usize>| {
        let mut bytes = Vec::new();
        for &token in tokens.get(range).unwrap_or_default() {
            match texts.bytes(token) {
                Some(text) => bytes.extend_from_slice(&text),
                None => bytes.extend_from_slice(format!("<{token}>").as_bytes()),
            }
        }
        in_a_line(&String::from_utf8_lossy(&bytes))
    };
    // The line must not be cut inside the brackets.
    let before = |end: usize| {
        let text = text(end.saturating_sub(AROUND)..end);
        match text.char_indices().rev().nth(BEFORE - 1) {
            Some((start, _)) if start > 0 => format!("…{}", &text[start..]),
            _ => text,
        }
    };
    if at >= tokens.len() {
        return format!("{}[[the end]]", before(tokens.len()));
    }
    let end = tokens.len().min(at + 1 + AROUND);
    let before = before(at);
    format!("{before}[[{}]]{}", text(at..at + 1), text(at + 1..end))
}
