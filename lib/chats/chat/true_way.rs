//! The options that a refusal names: they are printed only if the record is read with them, and nothing of it that
//! changes training is lost by them.

use super::drafts::{CONTEXT, SYSTEM};
use super::left_out::LeftOutCounts;
use super::normalize::normalize;
use super::tools::KEYS as TOOLS;
use super::value::Json;
use super::{AnswerChoice, ReadSettings, whole};
use crate::record::chat::{Meaning, of_records};

/// What stands before the options in a refusal.
const TRY: &str = "; try: ";

/// The most refusals that lead from one to the next.
const MOST: usize = 6;

/// Returns why a record is refused, with all options that it needs to be read; without any if none help.
pub fn with_true_way(cause: String, record: &Json<'_>, settings: &ReadSettings) -> String {
    let Some((said, way)) = cause.split_once(TRY) else { return cause };
    let (said, mut way) = (said.to_string(), way.to_string());
    let mut settings = settings.clone();
    let (mut options, mut names_fields) = (Vec::new(), false);
    for _ in 0..MOST {
        match add(&mut settings, &way) {
            // (It is no option of how records are read.)
            None if options.is_empty() => return cause,
            None | Some(false) => return said,
            Some(true) => {}
        }
        names_fields |= way.contains("-field ") && !way.starts_with("--ignore-field");
        options.push(way);
        let mut left_out = LeftOutCounts::default();
        let read = normalize(record.clone(), &settings, &mut left_out).and_then(|record| {
            match settings.takes_pairs() {
                true => whole::pair(&record, &settings, &mut left_out).map(|_| ()),
                false => whole::read(&record, &settings, &mut left_out).map(|_| ()),
            }
        });
        way = match read {
            Ok(()) if names_fields && left_out.unread_columns().any(is_of_text) => return said,
            Ok(()) => return format!("{said}{TRY}{}", options.join(" ")),
            Err(next) => match next.split_once(TRY) {
                Some((_, next)) => next.to_string(),
                None => return said,
            },
        };
    }
    said
}

/// Whether a column of this name is a part of a prompt or an answer in other shapes.
fn is_of_text(name: &str) -> bool {
    const OTHERS: [&str; 6] =
        ["instruction", "instructions", "prompt", "question", "query", "history"];
    let is_known = |meaning: Meaning| {
        matches!(meaning, Meaning::Context | Meaning::Reasoning | Meaning::Setting)
    };
    CONTEXT.contains(&name)
        || SYSTEM.contains(&name)
        || TOOLS.contains(&name)
        || OTHERS.contains(&name)
        || of_records().any(|(known, meaning)| known == name && is_known(meaning))
}

/// Adds options, as they are printed, to settings; returns whether they change them. `None` if there are others.
fn add(settings: &mut ReadSettings, options: &str) -> Option<bool> {
    let before = settings.clone();
    for option in options.strip_prefix("--")?.split(" --") {
        let (option, value) = option.split_once(' ')?;
        let value = match value.strip_prefix('\'') {
            Some(quoted) => quoted.strip_suffix('\'').filter(|name| !name.contains('\''))?,
            None => Some(value).filter(|name| !name.contains([' ', '\'']))?,
        };
        let value = value.to_string();
        match option {
            "messages-field" => settings.fields.messages = Some(value),
            "prompt-field" => settings.fields.prompt = Some(value),
            "completion-field" => settings.fields.completion = Some(value),
            "reasoning-field" => settings.fields.reasoning = Some(value),
            "ignore-field" => settings.ignored.push(value),
            "take" => settings.take.push(match value.as_str() {
                "chosen" => AnswerChoice::Chosen,
                "wanted" => AnswerChoice::Wanted,
                _ => return None,
            }),
            _ => return None,
        }
    }
    settings.take.dedup();
    settings.ignored.dedup();
    Some(*settings != before)
}
