//! Added tokens, which are found in a text before it is encoded: the leftmost first, and at one place the longest.

use std::ops::Range;

use serde::Deserialize;

/// An added token of `tokenizer.json`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AddedToken {
    /// The id.
    pub id: u32,
    /// The text that spells it.
    pub content: String,
    /// Whether it is found only between words.
    pub single_word: bool,
    /// Whether it includes the white space before it.
    pub lstrip: bool,
    /// Whether it includes the white space after it.
    pub rstrip: bool,
    /// Whether it is found in normalized text.
    pub normalized: bool,
    /// Whether it is a special token, which text is not meant to spell.
    pub special: bool,
}

/// Finds the texts of chosen added tokens in raw text.
pub struct TokenFinder(Finder);

impl TokenFinder {
    pub(crate) fn new<'a>(tokens: impl Iterator<Item = &'a AddedToken>) -> Self {
        Self(Finder::new(tokens.map(|token| (&*token.content, token.id))))
    }

    /// Returns the ids of the tokens that a text spells, and their bytes: the leftmost first, and at one place the longest.
    pub fn find_all<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (u32, Range<usize>)> + 'a {
        self.0.find_all(text).map(|found| (found.number, found.start..found.end))
    }
}

/// Finds the texts of a set with a tree of their bytes.
#[derive(Default)]
pub struct Finder {
    nodes: Vec<Node>,
    /// The first bytes of all texts.
    first: Vec<u8>,
    is_first: Vec<bool>,
}

#[derive(Default)]
struct Node {
    /// The next bytes, and the nodes that they lead to.
    children: Vec<(u8, u32)>,
    /// The number of the text that ends here.
    found: Option<u32>,
}

/// A match of a text of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    pub number: u32,
    pub start: usize,
    pub end: usize,
}

impl Finder {
    /// Makes a finder of texts with their numbers. Empty texts are not found; of equal texts the last is found.
    pub fn new<'a>(texts: impl Iterator<Item = (&'a str, u32)>) -> Self {
        let mut finder =
            Self { nodes: vec![Node::default()], first: Vec::new(), is_first: vec![false; 256] };
        for (text, number) in texts {
            let mut at = 0;
            for &byte in text.as_bytes() {
                let known = finder.nodes[at].children.iter().find(|(next, _)| *next == byte);
                at = match known {
                    Some(&(_, child)) => child as usize,
                    None => {
                        let child = finder.nodes.len();
                        finder.nodes[at].children.push((byte, child as u32));
                        finder.nodes.push(Node::default());
                        child
                    }
                };
            }
            finder.nodes[at].found = Some(number);
        }
        finder.nodes[0].found = None;
        for &(byte, _) in &finder.nodes[0].children {
            finder.first.push(byte);
            finder.is_first[usize::from(byte)] = true;
        }
        finder
    }

    /// Returns the first match at or after `start`.
    pub fn find(&self, text: &str, start: usize) -> Option<Match> {
        let bytes = text.as_bytes();
        let mut at = start;
        loop {
            at += self.next_first(&bytes[at..])?;
            if let Some((number, end)) = self.longest(bytes, at) {
                return Some(Match { number, start: at, end });
            }
            at += 1;
        }
    }

    /// Returns all matches; they do not overlap.
    pub fn find_all<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Match> + 'a {
        let mut at = 0;
        std::iter::from_fn(move || {
            let found = self.find(text, at)?;
            at = found.end;
            Some(found)
        })
    }

    #[inline]
    fn next_first(&self, bytes: &[u8]) -> Option<usize> {
        match self.first[..] {
            [] => None,
            [one] => memchr::memchr(one, bytes),
            [one, two] => memchr::memchr2(one, two, bytes),
            [one, two, three] => memchr::memchr3(one, two, three, bytes),
            _ => bytes.iter().position(|&byte| self.is_first[usize::from(byte)]),
        }
    }

    /// Returns the number and the end of the longest text that begins at `start`.
    fn longest(&self, bytes: &[u8], start: usize) -> Option<(u32, usize)> {
        let mut node = &self.nodes[0];
        let mut longest = None;
        for (at, byte) in (start + 1..).zip(&bytes[start..]) {
            let child = node.children.iter().find(|(next, _)| next == byte);
            let Some(&(_, child)) = child else { break };
            node = &self.nodes[child as usize];
            if let Some(number) = node.found {
                longest = Some((number, at));
            }
        }
        longest
    }
}

/// All added tokens of a file. Tokens with `normalized` are found in a second pass.
pub struct AddedTokens {
    pub tokens: Vec<AddedToken>,
    pub raw: Finder,
    pub normalized: Finder,
    /// Whether one of the second pass has a line break.
    pub have_lines: bool,
}

impl AddedTokens {
    /// Makes the finders; `normal` normalizes a text.
    pub fn new(tokens: Vec<AddedToken>, normal: impl Fn(&str) -> String) -> Self {
        let of = |is_normalized: bool| {
            let tokens = tokens.iter().zip(0..);
            tokens.filter(move |(token, _)| token.normalized == is_normalized)
        };
        let raw = Finder::new(of(false).map(|(token, number)| (&*token.content, number)));
        let contents: Vec<_> =
            of(true).map(|(token, number)| (normal(&token.content), number)).collect();
        let normalized =
            Finder::new(contents.iter().map(|(content, number)| (&**content, *number)));
        let have_lines = contents.iter().any(|(content, _)| content.contains('\n'));
        Self { tokens, raw, normalized, have_lines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leftmost_and_longest_is_found() {
        let texts = ["<a>", "<a>b", "b", "<", "é"];
        let finder = Finder::new(texts.into_iter().zip(0..));
        let all = |text: &str| -> Vec<(u32, usize, usize)> {
            finder.find_all(text).map(|found| (found.number, found.start, found.end)).collect()
        };
        assert_eq!(all("<a>b"), [(1, 0, 4)]);
        assert_eq!(all("<a><a"), [(0, 0, 3), (3, 3, 4)]);
        assert_eq!(all("xéb"), [(4, 1, 3), (2, 3, 4)]);
        assert_eq!(all(""), []);
        assert_eq!(Finder::new([("", 0)].into_iter()).find("", 0), None);
    }
}
