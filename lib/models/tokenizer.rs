//! A model's tokenizer: which engine it has, what it adds to the model's tokens, and ids back to bytes.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use gristmill_tokenizer::HashMap as Map;

use crate::added::{AddedToken, AddedTokens, SpelledToken};
use crate::characters::Characters;
use crate::decode::{Spelling, TokenTable};
use crate::encoder::Encoder;
use crate::error::{Cause, FolderError, UnknownToken};
use crate::fast::Fast;
use crate::file::TokenizerFile;
use crate::folder::sha256;
use crate::nfc::normalized;
use crate::reference::Reference;

/// Text to ids and back. A clone is the same tokenizer.
#[derive(Clone)]
pub struct Tokenizer(pub(crate) Arc<Parts>);

pub(crate) struct Parts {
    pub engine: Engine,
    pub note: String,
    pub added: AddedTokens,
    pub tokens: TokenTable,
    /// Whether the table says what ids stand for; if not, the reference decodes.
    pub is_spelled: bool,
}

pub(crate) enum Engine {
    /// Our own for vocabularies of bytes.
    Fast(Fast),
    /// Our own for those of characters.
    Characters(Characters),
    Reference(Box<Reference>),
}

/// Which engine to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// Our own if it knows all that the file holds, else the reference.
    Fastest,
    /// The reference for every file.
    Reference,
}

/// Which engine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// Our own.
    Fast,
    /// The crate `tokenizers`.
    Reference,
}

impl Tokenizer {
    /// Out of the text of `tokenizer.json`; gives its SHA-256, too.
    pub(crate) fn parse(
        path: &Path,
        text: String,
        choice: EngineChoice,
    ) -> Result<(Self, String), FolderError> {
        let file = TokenizerFile::parse(&text);
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
        check_added(&mut file).map_err(other)?;
        let spelling = Spelling::of(&file.decoder);
        let (hash, tokens, fast) = std::thread::scope(|scope| {
            let hash = scope.spawn(|| sha256(text.as_bytes()));
            let spelling_or_any = spelling.unwrap_or(Spelling::ByteLevel);
            let (vocabulary, added) = (&file.model.vocabulary.0, &file.added_tokens);
            let tokens = scope.spawn(move || TokenTable::new(vocabulary, added, spelling_or_any));
            let fast = match choice {
                EngineChoice::Reference => Err("as it was asked for".to_owned()),
                EngineChoice::Fastest => match spelling {
                    Some(Spelling::ByteLevel) => Fast::new(&file).map(Engine::Fast),
                    Some(Spelling::Text { .. }) => Characters::new(&file).map(Engine::Characters),
                    None => Err("decoder of another kind".to_owned()),
                },
            };
            let tokens = tokens.join().unwrap_or_else(|_| Err("no table of tokens".to_owned()));
            let hash = hash.join().unwrap_or_else(|_| sha256(text.as_bytes()));
            (hash, tokens, fast)
        });
        let tokens = tokens.map_err(other)?;
        let added = file.added_tokens.clone();
        let (engine, note) = match fast {
            Ok(Engine::Fast(fast)) => {
                let note = fast.note();
                (Engine::Fast(fast), note)
            }
            Ok(engine) => (engine, "own engine, words of characters".to_owned()),
            Err(why) => {
                // What is read takes as much memory as what is made of it, so it goes first.
                let reference = if file.model.kind.as_deref() == Some("BPE") {
                    let mut file = file.into_owned();
                    drop(text);
                    Reference::with_merges(&mut file)
                } else {
                    Reference::read(&text)
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

    /// One for each thread: it remembers words, which makes it faster.
    pub fn encoder(&self) -> Encoder {
        Encoder::new(self)
    }

    /// Which engine runs.
    pub fn engine(&self) -> EngineKind {
        match self.0.engine {
            Engine::Fast(_) | Engine::Characters(_) => EngineKind::Fast,
            Engine::Reference(_) => EngineKind::Reference,
        }
    }

    /// In words: the engine and its pattern, or what the file holds that our own does not know.
    pub fn engine_note(&self) -> &str {
        &self.0.note
    }

    /// The number of ids, added tokens included: the highest id and one.
    pub fn vocabulary_size(&self) -> u32 {
        self.0.tokens.len()
    }

    /// Tokens that are found in a text before anything else is done with it.
    pub fn added_tokens(&self) -> &[AddedToken] {
        &self.0.added.tokens
    }

    /// The added tokens that a text spells, special ones and others: what a chat should not have in its
    /// texts. Quick where there are none.
    pub fn spelled<'a>(&'a self, text: &'a str) -> impl Iterator<Item = SpelledToken<'a>> + 'a {
        self.0.added.spelled(text)
    }

    /// The first special token that a text spells.
    pub fn spelled_special<'a>(&'a self, text: &'a str) -> Option<SpelledToken<'a>> {
        self.spelled(text).find(|spelled| spelled.token.special)
    }

    /// The id of an added token, or of another token by the bytes that it stands for.
    pub fn id_of(&self, token: &str) -> Option<u32> {
        let added = self.added_tokens().iter().find(|added| added.content == token);
        let of_reference = || match &self.0.engine {
            Engine::Reference(reference) => reference.id_of(token),
            Engine::Fast(_) | Engine::Characters(_) => None,
        };
        let other = || self.0.tokens.id_of(token.as_bytes()).or_else(of_reference);
        added.map(|added| added.id).or_else(other)
    }

    /// The bytes that an id stands for; they may be a part of a character.
    pub fn token_bytes(&self, id: u32) -> Option<Cow<'_, [u8]>> {
        let bytes = self.0.tokens.get(id)?;
        match &self.0.engine {
            Engine::Reference(reference) if !self.0.is_spelled => {
                reference.decode(&[id]).ok().map(|text| Cow::Owned(text.into_bytes()))
            }
            _ => Some(Cow::Borrowed(bytes)),
        }
    }

    /// Appends the bytes of all ids. On an error the bytes before the unknown id may be in `out`.
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

/// Added tokens get the ids that `tokenizers` gives them: those of the vocabulary, else the next free ones.
/// It only warns where the file says something else; such a file is refused.
fn check_added(file: &mut TokenizerFile) -> Result<(), String> {
    let mut ids: Map<&str, Option<u32>> = Map::default();
    ids.extend(file.added_tokens.iter().map(|token| (&*token.content, None)));
    for (token, id) in &file.model.vocabulary.0 {
        if let Some(known) = ids.get_mut(&**token) {
            *known = Some(*id);
        }
    }
    let mut next = file.model.vocabulary.0.len() as u32;
    let mut taken: Map<u32, &str> = Map::default();
    for token in &file.added_tokens {
        let content = &*token.content;
        if content.is_empty() {
            return Err(format!("added token {} has no content", token.id));
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
