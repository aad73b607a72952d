//! Control tokens that texts of a chat spell, and that stay text. As transformers does it for `sanitize_control_tokens`
//! (`chat_template_utils.py` of 5.24): a text of a chat gets marks around each control token that it spells, the template
//! renders the marked texts, and what stands between the marks is encoded as text, by itself, without the marks. A mark
//! that lost the other one, since the template splits texts, divides the rendering in its place.
//!
//! Here keys of objects are marked, too, and marks that the template writes as escapes are found.

use std::ops::Range;
use std::sync::LazyLock;

use gristmill_models::{AddedToken, Folder, TokenFinder};
use gristmill_template::{Template, Value, is_space};
use memchr::memmem::Finder;

use super::encode::Piece;

/// The tokens that the renderings of a template are made of.
pub struct ControlTokens(TokenFinder);

/// A control token that a text spells: its id, and its bytes.
pub type Spelled = (u32, Range<usize>);

impl ControlTokens {
    /// All special tokens, and the added tokens that the folder states for chats; if it states none, those that stand in
    /// the template's own texts, but for white space.
    pub fn new(folder: &Folder, template: &Template) -> ControlTokens {
        let literals = template.literals();
        let is_control = |content: &str| match folder.control_tokens() {
            Some(stated) => stated.iter().any(|token| token == content),
            None => literals.contains(content),
        };
        let is_wanted = |token: &AddedToken| {
            token.special || may_be_control(token) && is_control(&token.content)
        };
        ControlTokens(folder.tokenizer().finder(is_wanted))
    }

    /// Returns the control tokens that a text spells.
    pub fn in_text<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Spelled> + 'a {
        self.0.find_all(text)
    }

    /// Takes the marks out of a rendering.
    pub fn unmarked(&self, marks: Marks, rendering: &str) -> Unmarked {
        let mut found = Unmarked::default();
        let mut from = 0;
        let mut all = marks.all(rendering).peekable();
        while let Some((at, mark)) = all.next() {
            found.text.push_str(&rendering[from..at]);
            from = at + mark.length;
            found.removed.push((from, mark.length));
            let is_whole = |end: &&(usize, Mark)| mark.is_begin && !end.1.is_begin;
            let inner = all.peek().filter(is_whole).map(|(end, _)| &rendering[from..*end]);
            let token = inner.and_then(|inner| {
                let (id, place) = self.0.find_all(inner).next()?;
                (place == (0..inner.len())).then_some(id)
            });
            // (A mark that closes a token begins a piece of its own.)
            found.pieces.push(Piece { start: found.text.len(), token });
        }
        found.text.push_str(&rendering[from..]);
        found
    }
}

/// A rendering without its marks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unmarked {
    pub text: String,
    /// The pieces that are encoded by themselves, behind the first.
    pub pieces: Vec<Piece>,
    /// The ends of marks in the rendering, and their lengths.
    removed: Vec<(usize, usize)>,
}

impl Unmarked {
    /// A text that had no marks.
    pub fn plain(text: String) -> Unmarked {
        Unmarked { text, ..Unmarked::default() }
    }

    /// Returns the place in the text of a place in the rendering; places must come in ascending order.
    pub fn places(&self) -> impl FnMut(usize) -> usize + '_ {
        let mut removed = self.removed.iter().peekable();
        let mut total = 0;
        move |place| {
            while let Some((_, length)) = removed.next_if(|(end, _)| *end <= place) {
                total += length;
            }
            place - total
        }
    }
}

/// Two characters that no text of a chat has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks([char; 2]);

/// A mark in a rendering.
#[derive(Debug, Clone, Copy)]
struct Mark {
    is_begin: bool,
    length: usize,
}

/// The characters that marks are taken from: code points that Unicode keeps free for use within a program.
const FREE: Range<u32> = 0xfdd0..0xfdf0;

/// Searches for the bytes that a mark has in common with all characters of its kind: as it is, and as an escape. (Prepared
/// once: a chat has many short texts.)
static ANY_MARK: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| [&b"\xef\xb7"[..], b"\\ufd"].map(Finder::new));

impl Marks {
    /// Returns marks that neither stand in one of these texts, nor an escape for them; none if texts have all.
    pub fn beside(texts: &[&str]) -> Option<Marks> {
        let mut pairs = FREE
            .step_by(2)
            .filter_map(|code| Some(Marks([char::from_u32(code)?, char::from_u32(code + 1)?])));
        pairs.find(|marks| texts.iter().all(|text| marks.all(text).next().is_none()))
    }

    /// Returns the character before what is marked.
    pub fn begin(&self) -> char {
        self.0[0]
    }

    /// Returns a text with marks around parts of it.
    pub fn around(&self, text: &str, parts: &[Range<usize>]) -> String {
        let mut marked = String::with_capacity(text.len() + 6 * parts.len());
        let mut at = 0;
        for part in parts {
            marked.push_str(&text[at..part.start]);
            marked.push(self.0[0]);
            marked.push_str(&text[part.clone()]);
            marked.push(self.0[1]);
            at = part.end;
        }
        marked.push_str(&text[at..]);
        marked
    }

    /// Returns a message for people without marks.
    pub fn out_of(&self, message: &str) -> String {
        let shown = self.0.iter().fold(message.to_string(), |message, mark| {
            message.replace(&mark.escape_unicode().to_string(), "")
        });
        let (mut out, mut from) = (String::with_capacity(shown.len()), 0);
        for (at, mark) in self.all(&shown) {
            out.push_str(&shown[from..at]);
            from = at + mark.length;
        }
        out + &shown[from..]
    }

    /// Returns the marks of a text: as they are, or as JSON and Python escape them.
    fn all<'t>(self, text: &'t str) -> impl Iterator<Item = (usize, Mark)> + 't {
        let [character, escape] = &*ANY_MARK;
        let find = |needle: &'static Finder<'static>, length: usize| {
            needle.find_iter(text.as_bytes()).filter_map(move |at| {
                let shown = text.get(at..at + length)?;
                let place = self.0.iter().position(|mark| match shown.strip_prefix("\\u") {
                    Some(digits) => u32::from_str_radix(digits, 16) == Ok(u32::from(*mark)),
                    None => shown.starts_with(*mark),
                })?;
                Some((at, Mark { is_begin: place == 0, length }))
            })
        };
        // (Each is searched once: a text may have many marks.)
        let (mut characters, mut escapes) =
            (find(character, 3).peekable(), find(escape, 6).peekable());
        std::iter::from_fn(move || match (characters.peek(), escapes.peek()) {
            (Some((character, _)), Some((escape, _))) if escape < character => escapes.next(),
            (None, _) => escapes.next(),
            _ => characters.next(),
        })
    }
}

/// Calls `see` with each text in a value, names of members too.
pub fn each_text<'v>(value: &'v Value, see: &mut dyn FnMut(&'v str)) {
    match value {
        Value::Text(text) => see(text),
        Value::List(items) => items.iter().for_each(|item| each_text(item, see)),
        Value::Dict(dict) => dict.entries().iter().for_each(|(key, value)| {
            each_text(key, see);
            each_text(value, see);
        }),
        _ => {}
    }
}

/// Returns a value with other texts, names of members too, where `other` returns one.
pub fn with_texts(
    value: &Value,
    other: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<Value, String> {
    let told = |error: gristmill_template::Error| error.to_string();
    match value {
        Value::Text(text) => Ok(other(text).map_or_else(|| value.clone(), Value::from)),
        Value::List(items) => {
            let items = items.iter().map(|item| with_texts(item, other));
            Value::list(items.collect::<Result<_, _>>()?).map_err(told)
        }
        Value::Dict(dict) => {
            let entries = dict.entries().iter();
            let entries = entries.map(|(key, of)| {
                // (Of JSON: keys are texts.)
                let Value::Text(key) = key else { return Err("a key is no text".to_string()) };
                let key = other(key).map_or_else(|| key.clone(), Into::into);
                Ok((key, with_texts(of, other)?))
            });
            Value::dict(entries.collect::<Result<Vec<_>, String>>()?).map_err(told)
        }
        _ => Ok(value.clone()),
    }
}

/// Whether an added token may be one that chats are made of: white space alone stands in texts.
pub fn may_be_control(token: &AddedToken) -> bool {
    token.special || !token.content.chars().all(is_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_characters_that_no_text_has() {
        let first = Marks(['\u{fdd0}', '\u{fdd1}']);
        assert_eq!(Marks::beside(&["a", "\u{fdfa}"]), Some(first));
        let second = Some(Marks(['\u{fdd2}', '\u{fdd3}']));
        assert_eq!(Marks::beside(&["a", "\u{fdd1}"]), second);
        assert_eq!(Marks::beside(&["a", "\\ufdd0"]), second);
        let all: String = FREE.filter_map(char::from_u32).collect();
        assert_eq!(Marks::beside(&[&all]), None);
        let marked = first.around("a<b>c<d>", &[1..4, 5..8]);
        assert_eq!(marked, "a\u{fdd0}<b>\u{fdd1}c\u{fdd0}<d>\u{fdd1}");
        assert_eq!(first.out_of(&format!("{marked} {marked:?}")), "a<b>c<d> \"a<b>c<d>\"");
    }
}
