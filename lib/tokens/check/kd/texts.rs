//! Checks tokens of another tokenizer than o200k: whether they are text, and whether the tokenizer makes the same
//! tokens from that text.
//!
//! Where the tokens are text that spells an added token, that text is encoded as text, as it was.
//!
//! If a token would have crossed the beginning or the end of what is trained on, the text was encoded in pieces. If
//! not all of these places are known, tokens that differ from the encoded text are no finding.

use std::ops::Range;

use gristmill_models::{Encoder, Special, TokenFinder, Tokenizer};

use crate::harmony::Alignment;
use crate::model::{Piece, TextSegment, encode, may_be_control};

/// What is wrong with the tokens of a sequence.
#[derive(Debug, PartialEq, Eq)]
pub enum TextFault {
    /// The tokenizer does not have the token at this place.
    Unknown(usize),
    /// Together they are not UTF-8.
    NotText,
    /// The text is encoded differently from this token on.
    Different(usize),
}

/// Ranges of tokens, one after the other, that are trained on or not.
#[derive(Debug, Default)]
pub struct Targets {
    /// The first token of each range, and whether it is trained on.
    starts: Vec<(usize, bool)>,
    /// Whether the text was cut at no other places.
    pub are_all: bool,
}

impl Targets {
    pub fn clear(&mut self) {
        self.starts.clear();
        self.are_all = false;
    }

    /// Adds tokens from `start` on.
    pub fn push(&mut self, start: usize, is_target: bool) {
        if self.starts.last().map_or(is_target, |(_, before)| *before != is_target) {
            self.starts.push((start, is_target));
        }
    }

    /// Adds the tokens that have a span.
    pub fn push_spans(&mut self, span: &[u8], alignment: Alignment) {
        let shift = usize::from(alignment == Alignment::Label);
        span.iter().enumerate().for_each(|(place, &id)| self.push(place + shift, id > 0));
    }

    /// Returns the ranges of `count` tokens.
    fn ranges(&self, count: usize) -> impl Iterator<Item = (Range<usize>, bool)> + '_ {
        let starts = move || self.starts.iter().map(move |(start, _)| (*start).min(count));
        let first = starts().next().unwrap_or(count);
        let own = starts().zip(starts().skip(1).chain([count]));
        let own = own.zip(&self.starts).map(|((start, end), (_, is))| (start..end, *is));
        std::iter::once((0..first, false)).chain(own).filter(|(range, _)| !range.is_empty())
    }
}

/// Looks at the texts of one sequence after another; each thread has one.
pub struct ModelTexts {
    tokenizer: Tokenizer,
    encoder: Encoder,
    /// Finds added tokens.
    added: TokenFinder,
    bytes: Vec<u8>,
    encoded: Vec<i32>,
    ends: Vec<usize>,
}

impl ModelTexts {
    pub fn new(tokenizer: &Tokenizer) -> ModelTexts {
        let (bytes, encoded, ends) = (Vec::new(), Vec::new(), Vec::new());
        let (encoder, added) = (tokenizer.encoder(), tokenizer.finder(may_be_control));
        ModelTexts { tokenizer: tokenizer.clone(), encoder, added, bytes, encoded, ends }
    }

    /// Returns what is wrong with the tokens of a sequence. `encodes`: whether the text is encoded again.
    pub fn fault(&mut self, tokens: &[i32], targets: &Targets, encodes: bool) -> Option<TextFault> {
        self.bytes.clear();
        if let Err(error) = self.tokenizer.decode_into(tokens, &mut self.bytes) {
            return Some(TextFault::Unknown(error.at));
        }
        let bytes = std::mem::take(&mut self.bytes);
        let fault = match str::from_utf8(&bytes) {
            Err(_) => Some(TextFault::NotText),
            Ok(text) if encodes => self.different(tokens, text, targets),
            Ok(_) => None,
        };
        self.bytes = bytes;
        fault
    }

    fn different(&mut self, tokens: &[i32], text: &str, targets: &Targets) -> Option<TextFault> {
        self.encoded.clear();
        self.encoder.encode(text, Special::Tokens, &mut self.encoded).ok()?;
        if self.encoded == tokens {
            return None;
        }
        let segments = self.segments(tokens, text, targets)?;
        let pieces = self.pieces(tokens, text)?;
        if segments.len() > 1 || !pieces.is_empty() {
            let encoded = &mut self.encoded;
            encoded.clear();
            encode(&mut self.encoder, text, (&segments, &pieces), encoded, &mut self.ends).ok()?;
            if self.encoded != tokens && self.is_cut_everywhere(tokens, text, &segments)? {
                return None;
            }
        }
        if self.encoded == tokens || !targets.are_all || !self.is_text_of_encoded(text) {
            return None;
        }
        let same = self.encoded.iter().zip(tokens).take_while(|(a, b)| a == b).count();
        Some(TextFault::Different(same))
    }

    /// Returns the number of bytes of tokens.
    fn length(&self, ids: &[i32]) -> Option<usize> {
        let bytes = |&id: &i32| Some(self.tokenizer.token_bytes(u32::try_from(id).ok()?)?.len());
        ids.iter().map(bytes).sum()
    }

    /// Returns the pieces of the text that spell an added token and are text, and the pieces behind them.
    fn pieces(&self, tokens: &[i32], text: &str) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        // (A tokenizer may take spaces from the front of a whole text.)
        let stripped = self.length(tokens)?.checked_sub(text.len())?;
        let (mut number, mut at) = (0, 0);
        for (id, place) in self.added.find_all(text) {
            let start = place.start + stripped;
            while at < start && number < tokens.len() {
                at += self.length(&tokens[number..=number])?;
                number += 1;
            }
            let is_token = at == start && tokens.get(number).copied() == i32::try_from(id).ok();
            if !is_token {
                pieces.push(Piece { start: place.start, token: Some(id) });
                pieces.push(Piece { start: place.end, token: None });
            }
        }
        Some(pieces)
    }

    /// Returns the parts of the text that are trained on or not; `None` if one begins inside a character.
    fn segments(&self, tokens: &[i32], text: &str, targets: &Targets) -> Option<Vec<TextSegment>> {
        let length = |ids: &[i32]| self.length(ids);
        // (A tokenizer may take spaces from the front of a whole text.)
        let stripped = length(tokens)?.checked_sub(text.len())?;
        let mut end = 0;
        let mut segments = Vec::new();
        for (range, is_target) in targets.ranges(tokens.len()) {
            let start = end;
            end += length(tokens.get(range.clone())?)?;
            if range.start == 0 {
                end = end.saturating_sub(stripped);
            }
            let bytes = start..end;
            if !text.is_char_boundary(end) {
                return None;
            }
            segments.push(TextSegment { bytes, is_target });
        }
        Some(segments)
    }

    /// Whether the text has these tokens if it is cut wherever a part begins. (Normalization may have removed the token
    /// that crossed such a place.)
    fn is_cut_everywhere(
        &mut self,
        tokens: &[i32],
        text: &str,
        segments: &[TextSegment],
    ) -> Option<bool> {
        let cuts: Vec<usize> = segments.iter().skip(1).map(|part| part.bytes.start).collect();
        let (mut pieces, mut ends) = (Vec::new(), Vec::new());
        let encoder = &mut self.encoder;
        encoder.encode_pieces(text, &cuts, Special::Tokens, &mut pieces, &mut ends).ok()?;
        Some(pieces == tokens)
    }

    /// Whether the newly encoded tokens give the same text. If not, the tokenizer changes texts, and differing tokens
    /// are no finding.
    fn is_text_of_encoded(&self, text: &str) -> bool {
        let mut bytes = Vec::with_capacity(text.len());
        self.tokenizer.decode_into(&self.encoded, &mut bytes).is_ok() && bytes == text.as_bytes()
    }
}
