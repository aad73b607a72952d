//! A model's tokenizer: its engine, its added tokens, and the table that decodes ids.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use gristmill_tokenizer::{HashMap as Map, both};

use crate::added::{AddedToken, AddedTokens, TokenFinder};
use crate::characters::Characters;
use crate::config::StatedToken;
use crate::decode::{Spelling, TokenTable};
use crate::error::{Cause, FolderError, UnknownToken};
use crate::fast::Fast;
use crate::file::{Model, TokenizerFile};
use crate::guard;
use crate::nfc::normalized;
use crate::reference::Reference;
use crate::text_file::{sha256, text_of};

/// Encodes text to ids, and decodes ids. Clones share one tokenizer.
#[derive(Clone)]
pub struct Tokenizer(pub(crate) Arc<Parts>);

pub(crate) struct Parts {
    pub engine: Engine,
    pub note: String,
    pub added: AddedTokens,
    pub tokens: TokenTable,
    /// Whether `tokens` decodes ids; if not, the reference does.
    pub is_spelled: bool,
}

pub(crate) enum Engine {
    /// Our own for vocabularies of bytes.
    Fast(Fast),
    /// Our own for vocabularies of characters.
    Characters(Characters),
    Reference(Box<Reference>),
}

/// The wanted engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// Our own engine if it supports the whole file, else the reference.
    Fastest,
    /// The reference for every file.
    Reference,
}

/// The engine of a tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// Our own engine.
    Fast,
    /// The crate `tokenizers`.
    Reference,
}

impl Tokenizer {
    /// Reads the bytes of `tokenizer.json`, and adds the tokens that configurations state; also returns the SHA-256 of
    /// the bytes.
    pub(crate) fn parse(
        path: &Path,
        bytes: Vec<u8>,
        stated: Vec<StatedToken>,
        choice: EngineChoice,
    ) -> Result<(Self, String), FolderError> {
        let text = text_of(path, &bytes)?;
        let (hash, file) = both(|| sha256(&bytes), || TokenizerFile::parse(text));
        let mut file = file.map_err(|error| FolderError::new(path, Cause::Json(error)))?;
        let other = |message| FolderError::new(path, Cause::Content(message));
        if file.version != "1.0" {
            return Err(other(format!("version {:?} of the format is not known", file.version)));
        }
        let kinds = ["BPE", "Unigram", "WordPiece", "WordLevel"];
        if let Some(kind) = &file.model.kind
            && !kinds.contains(&&**kind)
        {
            return Err(other(format!("model of type {kind:?} is not known")));
        }
        check_dropout(&file.model).map_err(other)?;
        check_added(&mut file).map_err(other)?;
        file.add(stated).and_then(|()| check_added(&mut file)).map_err(other)?;
        let spelling = Spelling::of(&file.decoder);
        let mut tokens = TokenTable::new(
            &file.model.vocabulary,
            &file.added_tokens,
            spelling.unwrap_or(Spelling::ByteLevel),
        )
        .map_err(other)?;
        let own = match (choice, spelling) {
            (EngineChoice::Reference, _) => Err("as it was asked for".to_owned()),
            (_, Some(Spelling::ByteLevel)) => Fast::new(&file, &tokens).map(Engine::Fast),
            (_, Some(Spelling::Text { .. })) => Characters::new(&file).map(Engine::Characters),
            (_, None) => Err("decoder of another kind".to_owned()),
        };
        tokens.add(&file.added_tokens);
        let added = file.added_tokens.clone();
        let (engine, note) = match own {
            Ok(Engine::Fast(fast)) => {
                let note = fast.note();
                (Engine::Fast(fast), note)
            }
            Ok(engine) => (engine, "own engine, words of characters".to_owned()),
            Err(why) => {
                // (Our own engines refuse tokens that are there twice.)
                check_tokens(&file.model).map_err(other)?;
                let reference = if file.model.kind.as_deref() == Some("BPE") {
                    guard::check(&file).map_err(other)?;
                    let (file, merges) = file.into_owned();
                    // (It takes as much memory as the tokenizer.)
                    drop(bytes);
                    Reference::with_merges(file, merges)
                } else {
                    Reference::without_merges(&file, text)
                };
                let reference = reference.map_err(other)?;
                (Engine::Reference(Box::new(reference)), format!("tokenizers, for {why}"))
            }
        };
        let is_nfc = matches!(&engine, Engine::Fast(fast) if fast.is_nfc);
        let normal =
            |text: &str| if is_nfc { normalized(text).into_owned() } else { text.to_owned() };
        let added = AddedTokens::new(added, normal);
        let is_spelled = spelling.is_some();
        Ok((Self(Arc::new(Parts { engine, note, added, tokens, is_spelled })), hash))
    }

    /// Which engine runs.
    pub fn engine(&self) -> EngineKind {
        match self.0.engine {
            Engine::Fast(_) | Engine::Characters(_) => EngineKind::Fast,
            Engine::Reference(_) => EngineKind::Reference,
        }
    }

    /// Describes the engine: its pattern, or what our own engine does not support in the file.
    pub fn engine_note(&self) -> &str {
        &self.0.note
    }

    /// The number of ids with added tokens: the highest id plus one.
    pub fn vocabulary_size(&self) -> u32 {
        self.0.tokens.len()
    }

    /// The added tokens, which are found in a text before it is encoded.
    pub fn added_tokens(&self) -> &[AddedToken] {
        &self.0.added.tokens
    }

    /// Makes a finder of chosen added tokens.
    pub fn finder(&self, is_wanted: impl Fn(&AddedToken) -> bool) -> TokenFinder {
        TokenFinder::new(self.added_tokens().iter().filter(|token| is_wanted(token)))
    }

    /// Returns the id of an added token, or of another token by its bytes.
    pub fn id_of(&self, token: &str) -> Option<u32> {
        let added = self.added_tokens().iter().find(|added| added.content == token);
        let of_reference = || match &self.0.engine {
            Engine::Reference(reference) => reference.id_of(token),
            Engine::Fast(_) | Engine::Characters(_) => None,
        };
        let other = || self.0.tokens.id_of(token.as_bytes()).or_else(of_reference);
        added.map(|added| added.id).or_else(other)
    }

    /// Returns the bytes of an id, which may be a part of a character.
    pub fn token_bytes(&self, id: u32) -> Option<Cow<'_, [u8]>> {
        let bytes = self.0.tokens.get(id)?;
        match &self.0.engine {
            Engine::Reference(reference) if !self.0.is_spelled => {
                reference.decode(&[id]).ok().map(|text| Cow::Owned(text.into_bytes()))
            }
            _ => Some(Cow::Borrowed(bytes)),
        }
    }

    /// Appends the bytes of all ids. After an error, `out` may have the bytes before the unknown id.
    pub fn decode_into(&self, ids: &[i32], out: &mut Vec<u8>) -> Result<(), UnknownToken> {
        let start = out.len();
        let known = |(at, &id): (usize, &i32)| {
            let index = u32::try_from(id).ok();
            let bytes = index.and_then(|index| Some((index, self.0.tokens.get(index)?)));
            bytes.ok_or(UnknownToken { id, at })
        };
        if let Engine::Reference(reference) = &self.0.engine
            && !self.0.is_spelled
        {
            let ids = ids.iter().enumerate().map(|id| Ok(known(id)?.0));
            let ids = ids.collect::<Result<Vec<u32>, _>>()?;
            let first = || UnknownToken { id: ids.first().map_or(0, |&id| id as i32), at: 0 };
            out.extend_from_slice(reference.decode(&ids).map_err(|_| first())?.as_bytes());
            return Ok(());
        }
        for id in ids.iter().enumerate() {
            out.extend_from_slice(known(id)?.1);
        }
        let spaces = out[start..].iter().take(self.0.tokens.strip());
        let spaces = spaces.take_while(|&&byte| byte == b' ').count();
        out.drain(start..start + spaces);
        Ok(())
    }
}

/// Maximum length of an added token, in bytes. It bounds the comparison where a text begins like a token. Real added
/// tokens have up to 93 bytes.
const LONGEST_ADDED: usize = 1 << 10;

/// Maximum number of added tokens, since the tree that finds them takes 40 bytes for each byte. Gemma 3 has 6,415.
const MOST_ADDED: usize = 1 << 16;

/// Checks that no merge is left out at random.
fn check_dropout(model: &Model) -> Result<(), String> {
    match model.dropout.is_null() || model.dropout == 0.0 {
        true => Ok(()),
        false => Err("dropout: each run would make other tokens of a text".to_owned()),
    }
}

/// Checks that no token stands twice in a vocabulary. (Some readers of JSON take the first, others the last.)
fn check_tokens(model: &Model) -> Result<(), String> {
    let mut known = HashSet::with_capacity(model.vocabulary.len());
    // A model of Unigram has a list, in which a token may stand twice.
    let is_list = model.kind.as_deref() == Some("Unigram");
    match model.vocabulary.iter().find(|(token, _)| !known.insert(&**token) && !is_list) {
        Some((token, _)) => Err(format!("token {token:?} is there twice")),
        None => Ok(()),
    }
}

/// Checks that added tokens have the ids that `tokenizers` gives them: their ids in the vocabulary, else the next free
/// ones. (`tokenizers` only warns if the file says something else.)
fn check_added(file: &mut TokenizerFile) -> Result<(), String> {
    if file.added_tokens.len() > MOST_ADDED {
        return Err(format!("more than {MOST_ADDED} added tokens"));
    }
    let mut ids: Map<&str, Option<u32>> = Map::default();
    ids.extend(file.added_tokens.iter().map(|token| (&*token.content, None)));
    // (Most tokens begin otherwise: no hash is made of them. That is a twentieth of the time to open a model.)
    let mut may_begin = [false; 256];
    let firsts = file.added_tokens.iter().filter_map(|token| token.content.bytes().next());
    firsts.for_each(|first| may_begin[usize::from(first)] = true);
    let may_be =
        |token: &str| token.bytes().next().is_some_and(|first| may_begin[usize::from(first)]);
    for (token, id) in &file.model.vocabulary {
        if may_be(token)
            && let Some(known) = ids.get_mut(&**token)
        {
            *known = Some(*id);
        }
    }
    let mut next = file.model.vocabulary.len() as u32;
    let mut taken: Map<u32, &str> = Map::default();
    for token in &file.added_tokens {
        let content = &*token.content;
        if content.is_empty() {
            return Err(format!("added token {} has no content", token.id));
        }
        if content.len() > LONGEST_ADDED {
            return Err(format!("added token {} has more than {LONGEST_ADDED} bytes", token.id));
        }
        let id = *ids.entry(content).or_default().get_or_insert_with(|| {
            next += 1;
            next - 1
        });
        if id != token.id {
            let found = token.id;
            return Err(format!("added token {content:?} has id {found}, but its place is {id}"));
        }
        if let Some(other) = taken.insert(id, content)
            && other != content
        {
            return Err(format!("added tokens {other:?} and {content:?} both have id {id}"));
        }
    }
    Ok(())
}
