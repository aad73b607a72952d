//! Reasoning in the text of an answer: between the marks of a model (`<think>`, `[THINK]`, ...), or in the output of a
//! gpt-oss model with its control tokens. A text from which these were stripped, or that has one mark of two, is refused:
//! where its reasoning ends is not known.

use std::borrow::Cow;
use std::ops::Range;

use super::left_out::LeftOutCounts;
use super::message::{Content, Draft};
use crate::harmony::Role;

/// The marks before and behind a reasoning.
const MARKS: [[&str; 2]; 7] = [
    ["<think>", "</think>"],
    ["<thinking>", "</thinking>"],
    ["<thought>", "</thought>"],
    ["<reasoning>", "</reasoning>"],
    ["[THINK]", "[/THINK]"],
    ["<seed:think>", "</seed:think>"],
    ["<|begin_of_thought|>", "<|end_of_thought|>"],
];

/// The marks before and behind the answer that follows the last of [`MARKS`].
const SOLUTION: [&str; 2] = ["<|begin_of_solution|>", "<|end_of_solution|>"];

impl Draft<'_> {
    /// Returns the message if it is not an answer that is trained on and was cut within its reasoning.
    pub fn whole(self) -> Result<Self, String> {
        let may_be_cut = self.role != Role::Assistant || !self.is_trained;
        match self.text().filter(|_| !may_be_cut).and_then(unfinished) {
            Some([begin, end]) => Err(format!(
                "{begin} without {end} in the text: the reasoning was cut; leave the message out, or give weight: 0"
            )),
            None => Ok(self),
        }
    }

    /// Moves reasoning that stands in the content to its own field.
    pub fn with_reasoning_apart(mut self, left_out: &mut LeftOutCounts) -> Result<Self, String> {
        if self.role != Role::Assistant {
            return Ok(self);
        }
        self.thinking = self.thinking.filter(|text| !text.is_empty());
        self = self.whole()?;
        let tagged = self.text().and_then(|content| {
            let thought =
                split_thinking(content).map(|(thinking, answer)| (Some(thinking), answer));
            thought.or_else(|| harmony_output(content))
        });
        if let Some((thinking, answer)) = tagged {
            let thinking = thinking.filter(|text| !text.is_empty());
            match (&self.thinking, thinking) {
                (Some(field), Some(text)) if field.trim() != text.trim() => {
                    let has_tags = self.text().is_some_and(has_channel_tags);
                    return Err(if has_tags { TAGS } else { TWICE }.to_string());
                }
                (Some(_), Some(_)) => left_out.count("reasoning in the content too", true),
                _ => {}
            }
            let thinking = thinking.map(|text| Cow::Owned(text.to_string()));
            let answer = Cow::Owned(answer.to_string());
            self.thinking = self.thinking.or(thinking);
            self.content = Some(Content::Text(answer));
        }
        if let Some([begin, end]) = self.text().and_then(torn) {
            return Err(format!("{end} without {begin} in the text; give reasoning as thinking"));
        }
        let texts = [self.text(), self.thinking.as_deref()];
        if texts.iter().flatten().any(|text| has_channel_tags(text)) {
            return Err(TAGS.to_string());
        }
        if self.text().is_some_and(is_stripped) {
            return Err(STRIPPED.to_string());
        }
        Ok(self)
    }
}

const TWICE: &str = "reasoning in the content, and another beside it; give one of them";

const STRIPPED: &str = "Harmony channels without their tags in the text (analysis..assistantfinal..); \
     give analysis as thinking and the answer as content";

const TAGS: &str =
    "Harmony channel tags in the text; give analysis as thinking and the answer as content";

/// Returns the marks of which the content has the end but not the beginning, because the model's template adds the
/// first.
fn torn(content: &str) -> Option<[&'static str; 2]> {
    // (One search for the first bytes of all marks, not one for each mark.)
    let mut marks: Vec<_> = MARKS.into_iter().chain([SOLUTION]).collect();
    for at in memchr::memchr2_iter(b'<', b'[', content.as_bytes()) {
        if let Some(found) = marks.iter().position(|[_, end]| content[at..].starts_with(end)) {
            let mark = marks.swap_remove(found);
            if !content[..at].contains(mark[0]) {
                return Some(mark);
            }
        }
    }
    None
}

/// Returns the marks of which the content begins with the first and does not have the second.
fn unfinished(content: &str) -> Option<[&'static str; 2]> {
    let content = content.trim_start();
    let mut marks = MARKS.into_iter().chain([SOLUTION]);
    marks.find(|[begin, end]| content.starts_with(begin) && !content.contains(end))
}

/// Returns what stands behind the reasoning with which a text begins.
pub fn behind_reasoning(content: &str) -> Option<&str> {
    split_thinking(content).map(|(_, answer)| answer)
}

/// Returns the places of the marks of the reasoning with which a text begins.
pub fn reasoning_marks(content: &str) -> Vec<Range<usize>> {
    let start = content.len() - content.trim_start().len();
    let of = |[begin, end]: &[&str; 2]| {
        let inner = start + begin.len();
        let at = inner + content[start..].strip_prefix(begin)?.find(end)?;
        Some(vec![start..inner, at..at + end.len()])
    };
    MARKS.iter().find_map(of).unwrap_or_default()
}

/// Splits a reasoning between its marks from the text after it; new lines around both are removed.
fn split_thinking(content: &str) -> Option<(&str, &str)> {
    let content = content.trim_start();
    let of = |[begin, end]: &[&str; 2]| content.strip_prefix(begin)?.split_once(end);
    let (thinking, answer) = MARKS.iter().find_map(of)?;
    let (thinking, answer) = (thinking.trim_matches('\n'), answer.trim_start_matches('\n'));
    let of_solution = answer.trim().strip_prefix(SOLUTION[0]);
    let solution =
        of_solution.and_then(|rest| Some(rest.strip_suffix(SOLUTION[1])?.trim_matches('\n')));
    Some((thinking, solution.unwrap_or(answer)))
}

const ANALYSIS: &str = "<|channel|>analysis<|message|>";
const FINAL: &str = "<|channel|>final<|message|>";
const CALL: &str = "<|channel|>commentary to=functions.";
const ASSISTANT: &str = "<|start|>assistant";

/// Splits the whole output of a model: a final message, and perhaps an analysis before it.
fn harmony_output(content: &str) -> Option<(Option<&str>, &str)> {
    let begun = content.trim_start();
    let begun = begun.strip_prefix(ASSISTANT).unwrap_or(begun);
    let (thinking, answer) = match begun.strip_prefix(ANALYSIS) {
        Some(rest) => {
            let (thinking, rest) = rest.split_once("<|end|>")?;
            (Some(thinking), rest.strip_prefix(ASSISTANT)?)
        }
        None => (None, begun),
    };
    let answer = answer.strip_prefix(FINAL)?;
    let ended = answer.trim_end();
    let ends = ["<|return|>", "<|end|>"];
    let answer = ends.iter().find_map(|end| ended.strip_suffix(end)).unwrap_or(answer);
    // An output with more messages is not a single answer.
    (!answer.contains("<|start|>")).then_some((thinking, answer))
}

/// Whether the content is a model's output that was decoded without its control tokens: the names
/// of channels, and `assistant` before each name after the first, with or without white space
/// between.
fn is_stripped(content: &str) -> bool {
    const CHANNELS: [&str; 3] = ["analysis", "commentary", "final"];
    let begins = |text: &str, names: &[&str]| names.iter().any(|name| text.starts_with(name));
    let content = content.trim_start();
    if let Some(rest) = content.strip_prefix("assistant") {
        // (Prose has a space after this word.)
        return begins(rest.trim_start_matches(['\r', '\n']), &CHANNELS);
    }
    let mut others = memchr::memmem::find_iter(content.as_bytes(), b"assistant");
    begins(content, &CHANNELS[..2])
        && others.any(|at| begins(content[at + "assistant".len()..].trim_start(), &CHANNELS))
}

fn has_channel_tags(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), b"<|channel|>").is_some()
        && (text.contains(ANALYSIS) || text.contains(FINAL) || text.contains(CALL))
}
