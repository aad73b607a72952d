//! Finds where a turn begins: behind the generation prompt.

use std::ops::Range;

use super::Prompt;
use crate::run::Parts;
use crate::text::is_space;

/// The chat before a turn, rendered with a generation prompt and without.
pub struct Asked<'t> {
    pub prompted: Parts<'t>,
    pub bare: Parts<'t>,
}

impl Asked<'_> {
    /// What the prompt adds to the chat, and where.
    fn added(&self) -> (usize, String) {
        let from = floor(&self.prompted, self.bare.common(&self.prompted, 0));
        (from, self.prompted.after(from))
    }

    /// Returns the place in a text at which a turn begins that the whole prompt does not stand before; none if there is
    /// none. The turn's texts begin at `texts`, and `tokens` are texts of tokens.
    ///
    /// ```text
    /// prompted   <user> asked <end> <assistant> <think>
    ///                               ^from       ^a cut of what is added
    /// text       <user> asked <end> <assistant> answer <end>
    ///                                           ^same  ^texts
    /// ```
    pub fn begin(
        &self,
        text: &Parts<'_>,
        texts: usize,
        tokens: &[String],
    ) -> Option<(usize, Prompt)> {
        let (from, added) = self.added();
        let same = floor(text, self.prompted.common(text, 0)).min(texts);
        // What comes before the prompt may be printed otherwise, and its white space.
        let start = from.min(same);
        let before = text.after(start);
        let before = &before[..texts.checked_sub(start)?];
        if let Some(end) = in_words(before, &added) {
            return Some((start + end, Prompt::InWords));
        }
        if same < from {
            return None;
        }
        // The text begins as the prompt does: what follows is not printed.
        let is_shown = |cut: &usize| {
            let header = added[..*cut].trim_end_matches(is_space);
            !header.is_empty() && from + header.len() <= same
        };
        let cut = cuts(&added, tokens).into_iter().rev().find(is_shown)?;
        let begin = same.min(from + cut);
        // The end of the prompt may stand without its middle.
        let (missing, before) = (&added[cut..], text.after(begin));
        let before = &before[..texts - begin];
        let ends = cuts(&added, tokens).into_iter().filter(|end| *end > cut);
        let ends = ends.map(|end| &added[end..]).find(|end| before.starts_with(end));
        match ends {
            Some(end) => {
                let without = missing[..missing.len() - end.len()].to_string();
                Some((begin + end.len(), Prompt::Without(without)))
            }
            None => Some((begin, Prompt::Without(missing.to_string()))),
        }
    }

    /// Says how a prompt differs from what stands in its place in the text of a turn.
    pub fn difference(&self, text: &Parts<'_>) -> String {
        let (_, added) = self.added();
        let stands = text.after(floor(text, self.prompted.common(text, 0)));
        let shown = |text: &str| {
            let short: String = text.chars().take(60).collect();
            format!("{short:?}{}", if short.len() < text.len() { "..." } else { "" })
        };
        format!(
            "the generation prompt {} does not stand before the texts; the text goes on with {}",
            shown(&added),
            shown(&stands)
        )
    }

    /// Returns the place in a part of a text behind a prompt, or behind the beginning of one.
    pub fn begin_within(
        &self,
        text: &str,
        within: Range<usize>,
        tokens: &[String],
    ) -> Option<(usize, Prompt)> {
        let (_, added) = self.added();
        let before = text.get(within.clone())?;
        if let Some(end) = in_words(before, &added) {
            return Some((within.start + end, Prompt::InWords));
        }
        cuts(&added, tokens).into_iter().rev().find_map(|cut| {
            let end = in_words(before, &added[..cut])?;
            Some((within.start + end, Prompt::Without(added[cut..].to_string())))
        })
    }
}

/// The last place up to `at` that is between two characters.
fn floor(text: &Parts<'_>, mut at: usize) -> usize {
    let [first, rest] = text.parts;
    let is_boundary = |at: usize| match at.checked_sub(first.len()) {
        None => first.is_char_boundary(at),
        Some(at) => rest.is_char_boundary(at),
    };
    while !is_boundary(at) {
        at -= 1;
    }
    at
}

/// The places in a prompt at which a token or a tag begins, in order.
fn cuts(prompt: &str, tokens: &[String]) -> Vec<usize> {
    let tags = prompt.char_indices().filter(|(at, c)| {
        let close = match c {
            '<' => '>',
            '[' => ']',
            _ => return false,
        };
        let name = prompt[at + 1..].split(close).next().unwrap_or_default();
        let is_closed = prompt[at + 1 + name.len()..].starts_with(close);
        is_closed && !name.is_empty() && !name.contains(is_space) && !name.contains(['<', '['])
    });
    let mut cuts: Vec<usize> = tags.map(|(at, _)| at).collect();
    for token in tokens {
        cuts.extend(prompt.match_indices(token.as_str()).map(|(at, _)| at));
    }
    cuts.sort_unstable();
    cuts.dedup();
    cuts.retain(|cut| *cut > 0);
    cuts
}

/// Returns the end of the last place at which a text has the words of a prompt: word for word, or else with other white
/// space.
fn in_words(text: &str, prompt: &str) -> Option<usize> {
    let words = prompt.trim_matches(is_space);
    if words.is_empty() {
        return None;
    }
    if let Some(at) = text.rfind(prompt) {
        return Some(at + prompt.len());
    }
    let places: Vec<(usize, char)> = text.char_indices().filter(|(_, c)| !is_space(*c)).collect();
    let letters: Vec<char> = words.chars().filter(|c| !is_space(*c)).collect();
    let same = |window: &[(usize, char)]| window.iter().map(|(_, c)| c).eq(letters.iter());
    let window = places.windows(letters.len()).rev().find(|window| same(window))?;
    let (at, last) = window.last()?;
    let end = at + last.len_utf8();
    // (The white space at the end of the prompt, or all up to the texts.)
    let spaces = &prompt[prompt.trim_end_matches(is_space).len()..];
    let behind = &text[end..];
    Some(match behind.starts_with(spaces) {
        true => end + spaces.len(),
        false => text.len() - behind.trim_start_matches(is_space).len(),
    })
}
