//! Encodes text to ids: with the end of each, and in pieces.

use std::ops::Range;

use gristmill_tokenizer::VocabularyEncoder;

use crate::added::{AddedTokens, Match};
use crate::characters::CharacterEncoder;
use crate::decode::TokenTable;
use crate::error::EncodeError;
use crate::nfc::NormalText;
use crate::token_cache::{self, TokenCache};
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
    /// Parts of texts between added tokens.
    texts: TokenCache,
}

/// An encoder of one of our own engines.
enum EngineEncoder {
    Bytes(VocabularyEncoder),
    Characters(Box<CharacterEncoder>),
}

impl EngineEncoder {
    /// Whether what stands before a line break's end, and behind it, may be encoded by itself.
    fn may_cut_line(&self, next: u8) -> bool {
        match self {
            // (A word of each pattern ends with its line breaks; in o200k's, slashes may follow these.)
            EngineEncoder::Bytes(_) => next != b'/',
            EngineEncoder::Characters(encoder) => encoder.may_cut(b'\n', next),
        }
    }
}

impl Tokenizer {
    /// Makes an encoder. Each thread has its own, which remembers words and texts.
    pub fn encoder(&self) -> Encoder {
        Encoder::new(self)
    }
}

impl Encoder {
    pub(crate) fn new(tokenizer: &Tokenizer) -> Self {
        let own = match &tokenizer.0.engine {
            Engine::Fast(fast) => Some(EngineEncoder::Bytes(fast.encoder())),
            Engine::Characters(characters) => {
                Some(EngineEncoder::Characters(characters.encoder().into()))
            }
            Engine::Reference(_) => None,
        };
        let texts = TokenCache::new(token_cache::TEXTS);
        Self { tokenizer: tokenizer.clone(), own, texts }
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
                let texts = &mut self.texts;
                Pass { encoder, added, tokens, is_nfc, special, ids, ends }.encode(text, texts);
                Ok(())
            }
            (_, None) => Err(EncodeError("no engine".to_owned())),
        }
    }

    /// Appends the ids of a piece from the middle of a text, and the end of each in the piece. What the normalizer puts
    /// before a text is not put before it. (As in transformers, a line break is encoded before it and taken away; our
    /// engine for bytes puts nothing before a text, and a line break before it changes no token.)
    pub fn encode_within(
        &mut self,
        piece: &str,
        special: Special,
        ids: &mut Vec<i32>,
        ends: &mut Vec<usize>,
    ) -> Result<(), EncodeError> {
        const BEFORE: &str = "\n";
        if matches!(self.own, Some(EngineEncoder::Bytes(_))) {
            return self.encode_with_ends(piece, special, ids, ends);
        }
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

/// The bytes of a part of a text that is remembered, but for its last line.
const PART: usize = 256;

impl Pass<'_> {
    fn encode(&mut self, text: &str, texts: &mut TokenCache) {
        let (added, special) = (self.added, self.special);
        let is_token = |found: &Match| is_token(added, special, found);
        let mut start = 0;
        for found in added.raw.find_all(text).filter(is_token) {
            self.encode_known(&text[start..found.start], start, texts);
            self.put(added.tokens[found.number as usize].id, found.end);
            start = found.end;
        }
        self.encode_known(&text[start..], start, texts);
    }

    /// Encodes a part without added tokens of the first pass; what came before is not encoded again: headers of
    /// messages, and system texts with tools, which are the same in a whole file. (Chats of Qwen 3 with 8 tools, 10 kB,
    /// that are the same in all: 2.0 million instructions a chat and not 2.3. Chats of distinct texts: a thousandth
    /// less, for their headers.)
    fn encode_known(&mut self, text: &str, base: usize, texts: &mut TokenCache) {
        if self.special != Special::Tokens || self.ends.is_none() {
            return self.encode_between(text, base);
        }
        // (What is new on the way is encoded at once.)
        let (mut new, mut start) = (0, 0);
        while start < text.len() {
            let end = self.part_end(text, start);
            let part = &text.as_bytes()[start..end];
            match texts.get(part) {
                Ok(known) => {
                    self.encode_between(&text[new..start], base + new);
                    self.ids.extend(known.iter().map(|(id, _)| id));
                    let ends = known.iter().map(|(_, end)| base + start + *end as usize);
                    self.ends.iter_mut().for_each(|all| all.extend(ends.clone()));
                    new = end;
                }
                Err(missing) => {
                    let missing = missing.filter(|missing| texts.comes_again(missing));
                    if let Some(missing) = missing {
                        self.encode_between(&text[new..start], base + new);
                        let first = self.ids.len();
                        self.encode_between(&text[start..end], base + start);
                        let ends = self.ends.as_deref().map_or(&[][..], |ends| &ends[..]);
                        let ends = &ends[ends.len() - (self.ids.len() - first)..];
                        let tokens = self.ids[first..].iter().zip(ends);
                        let tokens = tokens.map(|(id, end)| (*id, (end - base - start) as u32));
                        texts.keep(missing, part, tokens);
                        new = end;
                    }
                }
            }
            start = end;
        }
        self.encode_between(&text[new..], base + new);
    }

    /// The end of a part of a text that has the same tokens by itself: behind a line break that is followed by a
    /// character that no engine joins with it.
    fn part_end(&self, text: &str, start: usize) -> usize {
        let bytes = text.as_bytes();
        if self.added.have_lines {
            return bytes.len();
        }
        let mut end = start + PART;
        while let Some(rest) = bytes.get(end..)
            && let Some(at) = memchr::memchr(b'\n', rest)
        {
            end += at + 1;
            let next = bytes.get(end).filter(|next| next.is_ascii_graphic());
            if next.is_some_and(|next| self.encoder.may_cut_line(*next)) {
                return end;
            }
        }
        bytes.len()
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
        let ids = &self.ids[first..];
        let NormalText::Other(changed) = normal else {
            return append_ends(ids, self.tokens, (text, part), base, ends);
        };
        let mut at = part.start;
        ends.extend(ids.iter().map(|&id| {
            at += self.tokens.length(id as u32);
            let end = at.min(part.end);
            match end_of_character(text, end) {
                whole if whole == end => base + changed.original_end(end),
                whole => base + changed.original_end_within(whole),
            }
        }));
    }
}

/// Appends the ends of the tokens of a part of a text. (A function of its own need not read again where the table is.
/// Of 250,000 instructions for a chat, this takes 5,000, and not 13,000.)
#[inline(never)]
fn append_ends(
    ids: &[i32],
    tokens: &TokenTable,
    (text, part): (&str, Range<usize>),
    base: usize,
    ends: &mut Vec<usize>,
) {
    let mut at = part.start;
    ends.extend(ids.iter().map(|&id| {
        at += tokens.length(id as u32);
        base + end_of_character(text, at.min(part.end))
    }));
}

/// The end of the character that a token ends in.
#[inline(always)]
fn end_of_character(text: &str, mut end: usize) -> usize {
    while text.as_bytes().get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
        end += 1;
    }
    end
}

/// Whether a match is a token, and not text.
fn is_token(added: &AddedTokens, special: Special, found: &Match) -> bool {
    match special {
        Special::Tokens => true,
        Special::Text => !added.tokens[found.number as usize].special,
        Special::Plain => false,
    }
}
