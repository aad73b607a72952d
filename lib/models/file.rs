//! Reads `tokenizer.json`, version 1.0 of the format. Texts without escapes are borrowed from the file, since a
//! vocabulary and its merges may have a million.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use gristmill_json::{Kind, Reader, Str};
use serde::Deserialize;
use serde::de::Error;
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
    /// Tokens with their ids, in the order of the file.
    #[serde(skip)]
    pub vocabulary: Vec<(Cow<'a, str>, u32)>,
    #[serde(skip)]
    pub merges: Merges<'a>,
}

/// Maximum number of merges, which take 33 bytes each. Gemma 3 has 514,906.
const MOST_MERGES: usize = 1 << 22;

/// Pairs of tokens that are merged, in the order of merging.
#[derive(Default)]
pub struct Merges<'a> {
    text: &'a str,
    /// The start and end of each token in the text.
    places: Vec<[(u32, u32); 2]>,
    /// The pairs whose texts have escapes. Their place is [`ESCAPED`] with the number of the pair.
    escaped: Vec<[String; 2]>,
}

const ESCAPED: u32 = u32::MAX;

impl<'a> TokenizerFile<'a> {
    /// Reads the file. Nearly all of it are the vocabulary and the merges. Our own reader takes two thirds of the
    /// instructions for them, and merges a third of the memory, of typed values of serde_json.
    pub fn parse(text: &'a str) -> serde_json::Result<Self> {
        let (mut lists, mut reader) = (Lists::default(), Reader::new(text));
        let read = reader.object(|reader, key| match key.eq_str("model") {
            true if reader.peek()? == Kind::Object => {
                reader.object(|reader, key| lists.read(reader, key))
            }
            _ => Ok(reader.skip()?),
        });
        read.and_then(|()| Ok(reader.end()?))
            .map_err(|Refusal(why)| serde_json::Error::custom(why))?;
        lists.rest.push_str(&text[lists.end..]);
        let mut file: Self = serde_json::from_str(&lists.rest)?;
        let missing = || serde_json::Error::missing_field("vocab");
        file.model.vocabulary = lists.vocabulary.ok_or_else(missing)?;
        file.model.merges = lists.merges.unwrap_or_default();
        Ok(file)
    }

    /// Adds the tokens that configurations state and the file does not have, each with its id in the vocabulary, or the
    /// next one. Of tokens that it has, and of those that are stated twice, it takes the properties where transformers does.
    pub fn add(&mut self, stated: Vec<StatedToken>) -> Result<(), String> {
        let added = self.added_tokens.iter().enumerate();
        // The places of added tokens.
        let mut places: HashMap<String, usize> =
            added.map(|(place, token)| (token.content.clone(), place)).collect();
        let is_new = |content: &str| !places.contains_key(content);
        let contents = stated.iter().map(|stated| stated.token.content.as_str());
        let new: HashSet<&str> = contents.filter(|content| is_new(content)).collect();
        let vocabulary = self.model.vocabulary.iter();
        let vocabulary = vocabulary.filter(|(token, _)| new.contains(&**token));
        let vocabulary: HashMap<String, u32> =
            vocabulary.map(|(token, id)| (token.to_string(), *id)).collect();
        let with_ids = stated.iter().filter(|stated| stated.has_id);
        let with_ids: HashSet<String> =
            with_ids.map(|stated| stated.token.content.clone()).collect();
        let own = self.added_tokens.len();
        let first = self.model.vocabulary.len() as u32;
        let ids = self.added_tokens.iter().map(|token| token.id.saturating_add(1));
        let mut next = ids.fold(first, u32::max);
        for StatedToken { mut token, has_id, overrides, is_named } in stated {
            let place = places.get(&token.content).copied();
            let is_earlier = place.is_some_and(|place| place < own)
                || !has_id && with_ids.contains(&token.content);
            if token.content.is_empty() || is_earlier && !overrides {
                continue;
            }
            if let Some(place) = place {
                token.id = self.added_tokens[place].id;
                if self.added_tokens[place] != token {
                    token.special |= is_named;
                    self.added_tokens[place] = token;
                }
                continue;
            }
            let id = vocabulary.get(&token.content).copied().unwrap_or(next);
            next = next.max(id.saturating_add(1));
            if has_id && token.id != id {
                let AddedToken { content, id: found, .. } = token;
                return Err(format!(
                    "the configuration states {found} as the id of the added token {content:?}, but its place is {id}"
                ));
            }
            token.special |= is_named;
            places.insert(token.content.clone(), self.added_tokens.len());
            self.added_tokens.push(AddedToken { id, ..token });
        }
        Ok(())
    }

    /// Returns the file with owned texts, and its merges apart.
    pub fn into_owned(self) -> (TokenizerFile<'static>, Vec<(String, String)>) {
        let Model { vocabulary, merges, .. } = self.model;
        let pairs = merges.iter().map(|[left, right]| (left.to_owned(), right.to_owned()));
        let merges = pairs.collect();
        let tokens = vocabulary.into_iter();
        let vocabulary = tokens.map(|(token, id)| (Cow::Owned(token.into_owned()), id)).collect();
        let model = Model { vocabulary, merges: Merges::default(), ..self.model };
        (TokenizerFile { model, ..self }, merges)
    }
}

impl<'a> Merges<'a> {
    /// Reads `"left right"` of older files, or `["left", "right"]`.
    fn read(reader: &mut Reader<'a>) -> Result<Self, Refusal> {
        let text = reader.text();
        // (Real files have 32 bytes and more for each: the list grows in place.)
        let places = Vec::with_capacity(text.len() / 32);
        let mut merges = Self { text, places, escaped: Vec::new() };
        let mut number = 0;
        reader.array::<Refusal>(|reader| {
            match reader.peek()? {
                Kind::String => merges.add(reader.string()?)?,
                Kind::Array => {
                    let (mut pair, mut count) = ([None; 2], 0);
                    reader.array::<Refusal>(|reader| {
                        let token = reader.string()?;
                        if let Some(place) = pair.get_mut(count) {
                            *place = Some(token);
                        }
                        count += 1;
                        Ok(())
                    })?;
                    let (2, [Some(left), Some(right)]) = (count, pair) else {
                        return Err(format!("merge {number} has not two tokens").into());
                    };
                    merges.add_pair(left, right)?;
                }
                kind => return Err(format!("merge {number} is {kind}, and not two tokens").into()),
            }
            number += 1;
            match merges.len() {
                ..=MOST_MERGES => Ok(()),
                _ => Err(format!("more than {MOST_MERGES} merges").into()),
            }
        })?;
        Ok(merges)
    }

    /// Adds a merge that is cut at its space. (Older files have a comment, too.)
    fn add(&mut self, merge: Str<'a>) -> Result<(), Refusal> {
        let mut decoded = String::new();
        let text = match merge.plain() {
            Some(plain) => plain,
            None => merge.decode(&mut decoded)?,
        };
        if text.starts_with("#version") {
            return Ok(());
        }
        let space = text.bytes().position(|byte| byte == b' ');
        let is_only = |&at: &usize| text.bytes().skip(at + 1).all(|byte| byte != b' ');
        let Some(at) = space.filter(is_only) else {
            return Err(format!("merge {text:?} has not two tokens").into());
        };
        match merge.plain() {
            Some(_) => {
                let (start, end) = (merge.offset(), merge.offset() + text.len());
                self.places.push([place(start, start + at), place(start + at + 1, end)]);
            }
            None => self.add_escaped([&text[..at], &text[at + 1..]].map(str::to_owned)),
        }
        Ok(())
    }

    fn add_pair(&mut self, left: Str<'a>, right: Str<'a>) -> Result<(), Refusal> {
        if let (Some(_), Some(_)) = (left.plain(), right.plain()) {
            let of = |token: &Str| place(token.offset(), token.offset() + token.raw().len());
            self.places.push([of(&left), of(&right)]);
            return Ok(());
        }
        self.add_escaped([text(left)?.into_owned(), text(right)?.into_owned()]);
        Ok(())
    }

    fn add_escaped(&mut self, pair: [String; 2]) {
        self.places.push([(ESCAPED, self.escaped.len() as u32); 2]);
        self.escaped.push(pair);
    }

    /// The number of merges.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns one of the merges.
    pub fn get(&self, number: usize) -> [&str; 2] {
        match self.places[number] {
            [(ESCAPED, number), _] => {
                let [left, right] = &self.escaped[number as usize];
                [left, right]
            }
            [left, right] => [self.at(left), self.at(right)],
        }
    }

    fn at(&self, (start, end): (u32, u32)) -> &str {
        &self.text[start as usize..end as usize]
    }

    /// Returns all merges, in order.
    pub fn iter(&self) -> impl Iterator<Item = [&str; 2]> {
        (0..self.len()).map(|number| self.get(number))
    }
}

/// A place in a file, which has at most 256 MB.
fn place(start: usize, end: usize) -> (u32, u32) {
    (start as u32, end as u32)
}

/// The lists of a model, and the file without them.
#[derive(Default)]
struct Lists<'a> {
    vocabulary: Option<Vec<(Cow<'a, str>, u32)>>,
    merges: Option<Merges<'a>>,
    /// The text before the end of the last list, with `null` in place of each.
    rest: String,
    end: usize,
}

impl<'a> Lists<'a> {
    /// Reads a field of the model if it is one of the lists; else skips it.
    fn read(&mut self, reader: &mut Reader<'a>, key: Str<'a>) -> Result<(), Refusal> {
        let kind = reader.peek()?;
        let start = reader.position();
        let is_second = if key.eq_str("vocab") {
            self.vocabulary.replace(read_vocabulary(reader)?).is_some()
        } else if key.eq_str("merges") {
            let merges = match kind {
                Kind::Null => reader.null().map(|()| Merges::default())?,
                _ => Merges::read(reader)?,
            };
            self.merges.replace(merges).is_some()
        } else {
            return Ok(reader.skip()?);
        };
        if is_second {
            return Err(format!("duplicate field `{}`", key.raw()).into());
        }
        self.rest.push_str(&reader.text()[self.end..start]);
        self.rest.push_str("null");
        self.end = reader.position();
        Ok(())
    }
}

/// Reads tokens with their ids, or a list of tokens with their scores.
fn read_vocabulary<'a>(reader: &mut Reader<'a>) -> Result<Vec<(Cow<'a, str>, u32)>, Refusal> {
    // (As above.)
    let mut tokens = Vec::with_capacity(reader.text().len() / 64);
    match reader.peek()? {
        Kind::Object => reader.object(|reader, token| {
            let number = reader.number()?;
            let id = number.parse().map_err(|_| format!("{number} is no id of a token"))?;
            tokens.push((text(token)?, id));
            Ok::<(), Refusal>(())
        })?,
        Kind::Array => reader.array(|reader| {
            let id = tokens.len() as u32;
            let mut count = 0;
            reader.array(|reader| {
                match count {
                    0 => tokens.push((text(reader.string()?)?, id)),
                    _ => reader.skip()?,
                }
                count += 1;
                Ok::<(), Refusal>(())
            })?;
            match count {
                2 => Ok(()),
                _ => Err(Refusal::from("a token of a list has a score".to_owned())),
            }
        })?,
        kind => {
            return Err(format!("the vocabulary is {kind}, and not tokens with their ids").into());
        }
    }
    Ok(tokens)
}

fn text<'a>(text: Str<'a>) -> Result<Cow<'a, str>, gristmill_json::Error> {
    if let Some(text) = text.plain() {
        return Ok(Cow::Borrowed(text));
    }
    let mut decoded = String::new();
    text.decode_onto(&mut decoded)?;
    Ok(Cow::Owned(decoded))
}

/// Why a file cannot be read.
struct Refusal(String);

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<gristmill_json::Error> for Refusal {
    fn from(error: gristmill_json::Error) -> Self {
        Self(error.to_string())
    }
}
