//! Decodes ids to bytes with a table, which is made from the vocabulary and the decoder of the file.

use std::borrow::Cow;

use serde_json::Value;

use crate::added::AddedToken;
use crate::bytes::append_bytes;

/// The bytes of every id.
pub struct TokenTable {
    blob: Vec<u8>,
    /// The start and the length of each id's bytes.
    places: Vec<(u32, u32)>,
    spelling: Spelling,
    /// The ids of tokens with a character that stands for no byte, which are spelled as they are.
    unspelled: Vec<u32>,
}

/// The length of an id that no token has.
const MISSING: u32 = u32::MAX;

/// Maximum id, which bounds the memory of tables. Real vocabularies have up to a tenth of it.
pub const HIGHEST_ID: u32 = (1 << 22) - 1;

/// How tokens are written in the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// As one character for each byte.
    ByteLevel,
    /// As text. `replaces` has a character and the character for which it stands; `bytes`: whether bytes are written as
    /// `<0x0A>`; `strip`: how many spaces are removed from the start.
    Text { replaces: Option<(char, char)>, bytes: bool, strip: usize },
}

impl Spelling {
    /// Returns how the decoder of a file reads tokens; none if the decoder is not known.
    pub fn of(decoder: &Value) -> Option<Self> {
        if decoder["type"] == "ByteLevel" {
            return Some(Self::ByteLevel);
        }
        let list = match decoder["type"].as_str()? {
            "Sequence" => decoder["decoders"].as_array()?.as_slice(),
            _ => std::slice::from_ref(decoder),
        };
        if let [one] = list
            && one["type"] == "ByteLevel"
        {
            return Some(Self::ByteLevel);
        }
        let (mut replaces, mut bytes, mut is_fused, mut strip) = (None, false, false, 0);
        for step in list {
            match step["type"].as_str()? {
                "Replace" if replaces.is_none() && !is_fused => {
                    let from = only_char(step["pattern"]["String"].as_str()?)?;
                    replaces = Some((from, only_char(step["content"].as_str()?)?));
                }
                "ByteFallback" if !is_fused => bytes = true,
                "Fuse" => is_fused = true,
                "Strip" if is_fused && step["content"] == " " && step["stop"] == 0 => {
                    strip = usize::try_from(step["start"].as_u64()?).ok()?;
                }
                _ => return None,
            }
        }
        // Tokens that are not fused are concatenated all the same.
        Some(Self::Text { replaces, bytes, strip })
    }
}

fn only_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    let only = chars.next()?;
    chars.next().is_none().then_some(only)
}

impl TokenTable {
    /// Makes the table of a vocabulary, with room for the added tokens.
    pub fn new(
        vocabulary: &[(Cow<str>, u32)],
        added: &[AddedToken],
        spelling: Spelling,
    ) -> Result<Self, String> {
        let ids = vocabulary.iter().map(|(_, id)| *id).chain(added.iter().map(|token| token.id));
        let count = ids.max().map_or(0, |highest| highest as usize + 1);
        if count > HIGHEST_ID as usize + 1 {
            return Err(format!("id {} is above {HIGHEST_ID}", count - 1));
        }
        let mut table = Self {
            blob: Vec::with_capacity(8 * count),
            places: vec![(0, MISSING); count],
            spelling,
            unspelled: Vec::new(),
        };
        for (token, id) in vocabulary {
            if table.get(*id).is_some() {
                return Err(format!("token {token:?} has id {id}, as another token"));
            }
            if !table.put(*id, |blob| append_token(token, spelling, blob)) {
                table.unspelled.push(*id);
            }
        }
        // (A file has at most 256 MB, and decoding makes at most four bytes of one: places have 32 bits.)
        Ok(table)
    }

    /// Takes the added tokens: their ids stand for their contents, even if the vocabulary has them, too.
    pub fn add(&mut self, added: &[AddedToken]) {
        let spelling = self.spelling;
        for token in added {
            self.put(token.id, |blob| match spelling {
                Spelling::ByteLevel => blob.extend_from_slice(token.content.as_bytes()),
                // (As in `tokenizers`, the decoder does not know which tokens are added.)
                Spelling::Text { .. } => _ = append_token(&token.content, spelling, blob),
            });
        }
        self.blob.shrink_to_fit();
    }

    fn put<T>(&mut self, id: u32, append: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let start = self.blob.len();
        let appended = append(&mut self.blob);
        self.places[id as usize] = (start as u32, (self.blob.len() - start) as u32);
        appended
    }

    /// The bytes of each id that text may be encoded to, before the added tokens are taken: none for an id that no
    /// token has, or whose token has a character that is no byte. (No merges make those: they are added tokens.)
    pub fn bytes(&self) -> Vec<&[u8]> {
        let mut tokens: Vec<&[u8]> =
            (0..self.len()).map(|id| self.get(id).unwrap_or_default()).collect();
        for &id in &self.unspelled {
            tokens[id as usize] = &[];
        }
        tokens
    }

    /// The number of ids: the highest id plus one.
    pub fn len(&self) -> u32 {
        self.places.len() as u32
    }

    pub fn get(&self, id: u32) -> Option<&[u8]> {
        let &(start, length) = self.places.get(id as usize)?;
        let start = start as usize;
        if length == MISSING { None } else { self.blob.get(start..start + length as usize) }
    }

    /// The number of an id's bytes; 0 if no token has the id.
    #[inline]
    pub fn length(&self, id: u32) -> usize {
        let length = self.places.get(id as usize).map_or(MISSING, |place| place.1);
        if length == MISSING { 0 } else { length as usize }
    }

    /// Returns the id of the token with these bytes.
    pub fn id_of(&self, bytes: &[u8]) -> Option<u32> {
        (0..self.len()).find(|&id| self.get(id) == Some(bytes))
    }

    /// Spaces that are taken from the front of a whole text.
    pub fn strip(&self) -> usize {
        match self.spelling {
            Spelling::Text { strip, .. } => strip,
            Spelling::ByteLevel => 0,
        }
    }
}

/// Appends what a token decodes to; returns false if it has a character that stands for no byte.
fn append_token(token: &str, spelling: Spelling, out: &mut Vec<u8>) -> bool {
    match spelling {
        Spelling::ByteLevel => {
            let is_spelled = append_bytes(token, out);
            if !is_spelled {
                // It stands for itself, as in the decoder of `tokenizers`.
                out.extend_from_slice(token.as_bytes());
            }
            return is_spelled;
        }
        Spelling::Text { replaces, bytes, .. } => {
            if bytes && let Some(byte) = byte_token(token) {
                out.push(byte);
                return true;
            }
            let mut buffer = [0; 4];
            for character in token.chars() {
                let character = match replaces {
                    Some((from, to)) if character == from => to,
                    _ => character,
                };
                out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
            }
        }
    }
    true
}

/// Returns the byte of a token such as `<0x0A>`.
pub fn byte_token(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    let is_byte = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_byte { u8::from_str_radix(digits, 16).ok() } else { None }
}
