//! Reads `tokenizer.json`, version 1.0 of the format. Texts without escapes are borrowed from the file, since a
//! vocabulary and its merges may have a million.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::added::AddedToken;
use crate::config::StatedToken;

/// The parts of the file that encoding and decoding need.
#[derive(Deserialize)]
pub struct TokenizerFile<'a> {
    pub version: String,
    #[serde(default)]
    pub added_tokens: Vec<AddedToken>,
    #[serde(default)]
    pub normalizer: Value,
    #[serde(default)]
    pub pre_tokenizer: Value,
    #[serde(default)]
    pub decoder: Value,
    #[serde(borrow)]
    pub model: Model<'a>,
}

/// The fields of all kinds of models.
#[derive(Deserialize)]
pub struct Model<'a> {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    #[serde(default)]
    pub dropout: Value,
    #[serde(default)]
    pub continuing_subword_prefix: Option<String>,
    #[serde(default)]
    pub end_of_word_suffix: Option<String>,
    #[serde(default)]
    pub unk_token: Option<String>,
    #[serde(default)]
    pub fuse_unk: Option<bool>,
    #[serde(default)]
    pub byte_fallback: Option<bool>,
    #[serde(default)]
    pub ignore_merges: Option<bool>,
    #[serde(borrow, rename = "vocab")]
    pub vocabulary: Vocabulary<'a>,
    #[serde(borrow, default)]
    pub merges: Merges<'a>,
}

/// Tokens with their ids, in the order of the file.
#[derive(Default)]
pub struct Vocabulary<'a>(pub Vec<(Cow<'a, str>, u32)>);

/// Maximum number of merges, which take 48 bytes each. Gemma 3 has 514,906.
const MOST_MERGES: usize = 1 << 22;

/// Pairs of tokens that are merged, in the order of merging.
#[derive(Default)]
pub struct Merges<'a>(pub Vec<[Cow<'a, str>; 2]>);

impl<'a> TokenizerFile<'a> {
    pub fn parse(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Adds the tokens that configurations state and the file does not have, each with its id in the vocabulary, or the
    /// next one. Of tokens that it has, and of those that are stated twice, it takes the properties where transformers does.
    pub fn add(&mut self, stated: Vec<StatedToken>) -> Result<(), String> {
        let own: HashSet<String> =
            self.added_tokens.iter().map(|token| token.content.clone()).collect();
        let with_ids = stated.iter().filter(|stated| stated.has_id);
        let with_ids: HashSet<String> =
            with_ids.map(|stated| stated.token.content.clone()).collect();
        let first = self.model.vocabulary.0.len() as u32;
        let mut next = self.added_tokens.iter().map(|token| token.id + 1).fold(first, u32::max);
        for StatedToken { mut token, has_id, overrides, is_named } in stated {
            let content = token.content.as_str();
            let is_earlier = own.contains(content) || !has_id && with_ids.contains(content);
            if content.is_empty() || is_earlier && !overrides {
                continue;
            }
            if let Some(known) = self.added_tokens.iter_mut().find(|known| known.content == content)
            {
                token.id = known.id;
                if *known != token {
                    token.special |= is_named;
                    *known = token;
                }
                continue;
            }
            let mut vocabulary = self.model.vocabulary.0.iter();
            let in_vocabulary = vocabulary.find(|(known, _)| *known == content);
            let id = in_vocabulary.map_or(next, |(_, id)| *id);
            next += u32::from(in_vocabulary.is_none());
            if has_id && token.id != id {
                let found = token.id;
                return Err(format!(
                    "the configuration states {found} as the id of the added token {content:?}, but its place is {id}"
                ));
            }
            token.special |= is_named;
            self.added_tokens.push(AddedToken { id, ..token });
        }
        Ok(())
    }

    /// Returns the file with owned texts.
    pub fn into_owned(self) -> TokenizerFile<'static> {
        let Model { vocabulary, merges, .. } = self.model;
        let owned = |text: Cow<str>| Cow::Owned(text.into_owned());
        let tokens = vocabulary.0.into_iter().map(|(token, id)| (owned(token), id)).collect();
        let merges = merges.0.into_iter().map(|pair| pair.map(owned)).collect();
        let model = Model { vocabulary: Vocabulary(tokens), merges: Merges(merges), ..self.model };
        TokenizerFile { model, ..self }
    }
}

/// A text, borrowed if it has no escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(TextVisitor).map(Text)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Vocabulary<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(VocabularyVisitor).map(Vocabulary)
    }
}

struct VocabularyVisitor;

impl<'de> Visitor<'de> for VocabularyVisitor {
    type Value = Vec<(Cow<'de, str>, u32)>;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("tokens with their ids, or a list of tokens with their scores")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut tokens = Vec::new();
        while let Some((Text(token), id)) = map.next_entry()? {
            tokens.push((token, id));
        }
        Ok(tokens)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut tokens = Vec::new();
        while let Some((Text(token), IgnoredAny)) = list.next_element()? {
            let id = u32::try_from(tokens.len()).map_err(A::Error::custom)?;
            tokens.push((token, id));
        }
        Ok(tokens)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Merges<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(MergesVisitor).map(Merges)
    }
}

struct MergesVisitor;

impl<'de> Visitor<'de> for MergesVisitor {
    type Value = Vec<[Cow<'de, str>; 2]>;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("a list of merges")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut merges = Vec::new();
        while let Some(merge) = list.next_element::<Merge>()? {
            merges.extend(merge.0);
            if merges.len() > MOST_MERGES {
                return Err(A::Error::custom(format_args!("more than {MOST_MERGES} merges")));
            }
        }
        Ok(merges)
    }
}

/// `"left right"` of older files, or `["left", "right"]`. None for a comment.
struct Merge<'a>(Option<[Cow<'a, str>; 2]>);

impl<'de: 'a, 'a> Deserialize<'de> for Merge<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(MergeVisitor).map(Merge)
    }
}

struct MergeVisitor;

impl<'de> Visitor<'de> for MergeVisitor {
    type Value = Option<[Cow<'de, str>; 2]>;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("two tokens")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        pair_of(text).map(|pair| pair.map(|pair| pair.map(Cow::Borrowed)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        pair_of(text).map(|pair| pair.map(|pair| pair.map(|part| Cow::Owned(part.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut next = || list.next_element::<Text>();
        match (next()?, next()?, next()?) {
            (Some(Text(left)), Some(Text(right)), None) => Ok(Some([left, right])),
            _ => Err(A::Error::custom("a merge has two tokens")),
        }
    }
}

fn pair_of<E: Error>(text: &str) -> Result<Option<[&str; 2]>, E> {
    if text.starts_with("#version") {
        return Ok(None);
    }
    match text.split_once(' ') {
        Some((left, right)) if !right.contains(' ') => Ok(Some([left, right])),
        _ => Err(E::custom(format_args!("merge {text:?} has not two tokens"))),
    }
}
