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
        let start = floor(text, from.min(same).saturating_sub(added.len()));
        let before = text.after(start);
        let before = &before[..texts.checked_sub(start)?];
        let in_words = match added.trim_matches(is_space).is_empty() {
            false => in_words(before, &added).filter(|end| start + end >= same),
            true => {
                let prompted = self.prompted.after(start);
                begins_in_words(before, &prompted).map(|end| behind_spaces(before, end, &added))
            }
        };
        if let Some(end) = in_words {
            return Some((start + end, Prompt::InWords));
        }
        if same < from {
            return None;
        }
        // The text begins as the prompt does: what follows is not printed.
        let marks = marks(&added, tokens);
        let before = text.after(from);
        let before = &before[..texts - from];
        let cuts = cuts(&added, &marks);
        let mut shown = cuts.iter().rev().filter(|cut| from + **cut <= same);
        shown.find_map(|&cut| {
            // The end of the prompt may stand without its middle.
            let ends =
                marks.iter().filter(|mark| mark.start > cut).map(|mark| &added[mark.start..]);
            if let Some(end) = ends.clone().find(|end| before[cut..].starts_with(end)) {
                let without = added[cut..added.len() - end.len()].to_string();
                return Some((from + cut + end.len(), Prompt::Without(without)));
            }
            let has_header = !added[..cut].trim_matches(is_space).is_empty();
            let is_mark = from + cut == texts && marks.iter().any(|mark| mark.start == cut);
            let without = Prompt::Without(added[cut..].to_string());
            (has_header || is_mark).then_some((from + cut, without))
        })
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
        let cuts = cuts(&added, &marks(&added, tokens));
        cuts.into_iter().rev().find_map(|cut| {
            let end = in_words(before, &added[..cut])?;
            Some((within.start + end, Prompt::Without(added[cut..].to_string())))
        })
    }
}

/// The last place up to `at` that is between two characters.
pub fn floor(text: &Parts<'_>, mut at: usize) -> usize {
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

/// The tokens and tags in a prompt.
fn marks(prompt: &str, tokens: &[String]) -> Vec<Range<usize>> {
    let tags = prompt.char_indices().filter_map(|(at, c)| {
        let close = match c {
            '<' => '>',
            '[' => ']',
            _ => return None,
        };
        let (name, _) = prompt[at + 1..].split_once(close)?;
        let is_name = !name.is_empty() && !name.contains(is_space) && !name.contains(['<', '[']);
        is_name.then_some(at..at + 1 + name.len() + 1)
    });
    let mut marks: Vec<Range<usize>> = tags.collect();
    for token in tokens {
        let places = prompt.match_indices(token.as_str());
        marks.extend(places.map(|(at, _)| at..at + token.len()));
    }
    marks.sort_by_key(|mark| (mark.start, mark.end));
    marks
}

/// The places at which a prompt may be cut, in order: where a mark begins or ends, and behind the white space that follows
/// it.
fn cuts(prompt: &str, marks: &[Range<usize>]) -> Vec<usize> {
    let behind = |at: usize| prompt.len() - prompt[at..].trim_start_matches(is_space).len();
    let mut cuts: Vec<usize> =
        marks.iter().flat_map(|mark| [mark.start, mark.end, behind(mark.end)]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let is_within = |cut: usize| marks.iter().any(|mark| mark.start < cut && cut < mark.end);
    cuts.retain(|cut| *cut < prompt.len() && !is_within(*cut));
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
    Some(behind_spaces(text, end, prompt))
}

/// Returns the end of the beginning of a text that has the words of a prompt.
fn begins_in_words(text: &str, prompt: &str) -> Option<usize> {
    let mut places = text.char_indices().filter(|(_, c)| !is_space(*c));
    let mut end = 0;
    for c in prompt.chars().filter(|c| !is_space(*c)) {
        let (at, _) = places.next().filter(|(_, other)| *other == c)?;
        end = at + c.len_utf8();
    }
    Some(end)
}

/// The place behind the white space at the end of a prompt, or, if it is printed otherwise, behind all up to the texts.
fn behind_spaces(text: &str, end: usize, prompt: &str) -> usize {
    let spaces = &prompt[prompt.trim_end_matches(is_space).len()..];
    let behind = &text[end..];
    match behind.starts_with(spaces) {
        true => end + spaces.len(),
        false => text.len() - behind.trim_start_matches(is_space).len(),
    }
}
