//! Encodes text to ids: with the end of each, and in pieces.

use std::ops::Range;

use gristmill_tokenizer::VocabularyEncoder;

use crate::added::{AddedTokens, Match};
use crate::characters::CharacterEncoder;
use crate::decode::TokenTable;
use crate::error::EncodeError;
use crate::nfc::NormalText;
use crate::tokenizer::{Engine, Parts, Tokenizer};

/// How text that spells a special token is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// As the special token, as in transformers.
    Tokens,
    /// As text. (Added tokens that are not special are found all the same.)
    Text,
    /// As text, as text that spells any other added token.
    Plain,
}

/// Encodes text. Adds no tokens before or after it (`add_special_tokens=False`). Each thread has its own.
pub struct Encoder {
    tokenizer: Tokenizer,
    /// The encoder of our own engine; none for the reference.
    own: Option<EngineEncoder>,
}

/// An encoder of one of our own engines.
enum EngineEncoder {
    Bytes(VocabularyEncoder),
    Characters(CharacterEncoder),
}

impl Tokenizer {
    /// Makes an encoder. Each thread has its own, which remembers words.
    pub fn encoder(&self) -> Encoder {
        Encoder::new(self)
    }
}

impl Encoder {
    pub(crate) fn new(tokenizer: &Tokenizer) -> Self {
        let own = match &tokenizer.0.engine {
            Engine::Fast(fast) => Some(EngineEncoder::Bytes(fast.encoder())),
            Engine::Characters(characters) => Some(EngineEncoder::Characters(characters.encoder())),
            Engine::Reference(_) => None,
        };
        Self { tokenizer: tokenizer.clone(), own }
    }

    /// Appends the ids of a text.
    pub fn encode(
        &mut self,
        text: &str,
        special: Special,
        ids: &mut Vec<i32>,
    ) -> Result<(), EncodeError> {
        self.encode_any(text, special, ids, None)
    }

    /// Appends the ids of a text, and the end of each in the text, in bytes. If a token ends within a character, its
    /// end is the end of that character; the last end is the end of the text. So a place lies between two tokens if it
    /// is 0 or one of the ends, and the number of ends up to it is the number of tokens before it.
    pub fn encode_with_ends(
        &mut self,
        text: &str,
        special: Special,
        ids: &mut Vec<i32>,
        ends: &mut Vec<usize>,
    ) -> Result<(), EncodeError> {
        self.encode_any(text, special, ids, Some(ends))
    }

    fn encode_any(
        &mut self,
        text: &str,
        special: Special,
        ids: &mut Vec<i32>,
        ends: Option<&mut Vec<usize>>,
    ) -> Result<(), EncodeError> {
        let Parts { engine, added, tokens, .. } = &*self.tokenizer.0;
        match (engine, &mut self.own) {
            (Engine::Reference(reference), _) => reference.encode(text, special, ids, ends),
            (_, Some(encoder)) => {
                let is_nfc = matches!(engine, Engine::Fast(fast) if fast.is_nfc);
                Pass { encoder, added, tokens, is_nfc, special, ids, ends }.encode(text);
                Ok(())
            }
            (_, None) => Err(EncodeError("no engine".to_owned())),
        }
    }

    /// Appends the ids of a piece from the middle of a text, and the end of each in the piece. What the normalizer puts
    /// before a text is not put before it. (As in transformers, a line break is encoded before it and taken away.)
    pub fn encode_within(
        &mut self,
        piece: &str,
        special: Special,
        ids: &mut Vec<i32>,
        ends: &mut Vec<usize>,
    ) -> Result<(), EncodeError> {
        const BEFORE: &str = "\n";
        let mut before = Vec::new();
        self.encode(BEFORE, Special::Tokens, &mut before)?;
        let first = (ids.len(), ends.len());
        self.encode_with_ends(&[BEFORE, piece].concat(), special, ids, ends)?;
        if !ids[first.0..].starts_with(&before) {
            ids.truncate(first.0);
            ends.truncate(first.1);
            return self.encode_with_ends(piece, special, ids, ends);
        }
        ids.drain(first.0..first.0 + before.len());
        ends.drain(first.1..first.1 + before.len());
        ends[first.1..].iter_mut().for_each(|end| *end = end.saturating_sub(BEFORE.len()));
        Ok(())
    }

    /// Encodes each piece of a text by itself, as at inference. `cuts` are bytes in ascending order, each the start of
    /// a character. Returns the number of ids before each cut.
    pub fn encode_pieces(
        &mut self,
        text: &str,
        cuts: &[usize],
        special: Special,
        ids: &mut Vec<i32>,
        ends: &mut Vec<usize>,
    ) -> Result<Vec<usize>, EncodeError> {
        let base = ids.len();
        let mut counts = Vec::with_capacity(cuts.len());
        let mut start = 0;
        for &end in cuts.iter().chain(std::iter::once(&text.len())) {
            let first = ends.len();
            let piece = text.get(start..end).ok_or_else(|| {
                EncodeError(format!("no piece of it begins at {start} and ends at {end}"))
            })?;
            self.encode_with_ends(piece, special, ids, ends)?;
            for place in &mut ends[first..] {
                *place += start;
            }
            counts.push(ids.len() - base);
            start = end;
        }
        counts.pop();
        Ok(counts)
    }
}

/// A pass of our own engine over a text.
struct Pass<'a> {
    encoder: &'a mut EngineEncoder,
    added: &'a AddedTokens,
    tokens: &'a TokenTable,
    is_nfc: bool,
    special: Special,
    ids: &'a mut Vec<i32>,
    ends: Option<&'a mut Vec<usize>>,
}

impl Pass<'_> {
    fn encode(&mut self, text: &str) {
        let (added, special) = (self.added, self.special);
        let is_token = |found: &Match| is_token(added, special, found);
        let mut start = 0;
        for found in added.raw.find_all(text).filter(is_token) {
            self.encode_between(&text[start..found.start], start);
            self.put(added.tokens[found.number as usize].id, found.end);
            start = found.end;
        }
        self.encode_between(&text[start..], start);
    }

    fn put(&mut self, id: u32, end: usize) {
        self.ids.push(id as i32);
        if let Some(ends) = &mut self.ends {
            ends.push(end);
        }
    }

    /// Encodes a part without added tokens of the first pass; `base` is its place in the whole text.
    fn encode_between(&mut self, text: &str, base: usize) {
        if text.is_empty() {
            return;
        }
        let normal = if self.is_nfc { NormalText::new(text) } else { NormalText::Same(text) };
        let (added, special) = (self.added, self.special);
        let is_token = |found: &Match| is_token(added, special, found);
        let normal_text = normal.text();
        let mut start = 0;
        for found in added.normalized.find_all(normal_text).filter(is_token) {
            self.encode_plain(&normal, start..found.start, base);
            let id = added.tokens[found.number as usize].id;
            self.put(id, base + normal.original_end(found.end));
            start = found.end;
        }
        self.encode_plain(&normal, start..normal_text.len(), base);
    }

    /// Encodes a part without added tokens.
    fn encode_plain(&mut self, normal: &NormalText, part: Range<usize>, base: usize) {
        let text = normal.text();
        let first = self.ids.len();
        match &mut self.encoder {
            EngineEncoder::Bytes(encoder) => encoder.encode(&text[part.clone()], self.ids),
            EngineEncoder::Characters(encoder) => {
                // (Text of this engine is not normalized, and has no added tokens of a second pass.)
                let ends = self.ends.as_deref_mut();
                return encoder.encode(&text[part.clone()], base + part.start, self.ids, ends);
            }
        }
        let Some(ends) = &mut self.ends else { return };
        let mut at = part.start;
        let ids = self.ids[first..].iter();
        // The end of each token, and the end of the character that it ends in.
        let places = ids.map(|&id| {
            at += self.tokens.length(id as u32);
            let end = at.min(part.end);
            let within = text.as_bytes()[end..].iter();
            let within = within.take_while(|byte| **byte & 0xc0 == 0x80).count();
            (end, end + within)
        });
        match normal {
            NormalText::Same(_) => ends.extend(places.map(|(_, end)| base + end)),
            NormalText::Other(changed) => ends.extend(places.map(|place| match place {
                (end, whole) if end == whole => base + changed.original_end(end),
                (_, whole) => base + changed.original_end_within(whole),
            })),
        }
    }
}

/// Whether a match is a token, and not text.
fn is_token(added: &AddedTokens, special: Special, found: &Match) -> bool {
    match special {
        Special::Tokens => true,
        Special::Text => !added.tokens[found.number as usize].special,
        Special::Plain => false,
    }
}
