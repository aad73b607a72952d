//! What a page and a terminal show before any record: in a line or two whether all is well, and the most
//! important numbers.

use crate::check::Outcome;
use crate::error::Severity;
use crate::stat::Answer;
use crate::wording::{counted, grouped};

/// How good a fact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Unknown,
    Good,
    Warning,
    Bad,
}

impl Tone {
    /// Returns the sign before the text, so that no information is in the colour alone.
    fn sign(self) -> &'static str {
        match self {
            Tone::Unknown => "",
            Tone::Good => "✓ ",
            Tone::Warning => "! ",
            Tone::Bad => "✗ ",
        }
    }
}

/// A line of a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictLine {
    pub tone: Tone,
    pub text: String,
}

impl VerdictLine {
    pub fn new(tone: Tone, text: &str) -> VerdictLine {
        VerdictLine { tone, text: format!("{}{text}", tone.sign()) }
    }
}

/// Returns the lines about the findings of ds-check and about whether anything is trained on. An argument
/// is `None` if this was not examined.
pub fn verdict(answer: Option<&Answer>, outcomes: Option<&[Outcome]>) -> Vec<VerdictLine> {
    let unchecked_line = || VerdictLine::new(Tone::Unknown, "Not checked: ds-view --check does.");
    let mut lines = vec![outcomes.map_or_else(unchecked_line, checks_line)];
    lines.extend(answer.and_then(untrained_line));
    lines
}

fn checks_line(outcomes: &[Outcome]) -> VerdictLine {
    let (mut errors, mut warnings) = (0, 0);
    for group in outcomes.iter().flat_map(|outcome| &outcome.groups) {
        match group.severity {
            Severity::Error => errors += group.count,
            Severity::Warning => warnings += group.count,
        }
    }
    let found = [(errors, "error"), (warnings, "warning")];
    let found = found.iter().filter(|(count, _)| *count > 0);
    let found: Vec<String> = found.map(|(count, what)| counted(*count, what)).collect();
    match (errors, found.is_empty()) {
        (_, true) => VerdictLine::new(Tone::Good, "ds-check: no problems found."),
        (0, _) => VerdictLine::new(Tone::Warning, &format!("ds-check: {}.", found.join(", "))),
        _ => VerdictLine::new(Tone::Bad, &format!("ds-check: {}.", found.join(", "))),
    }
}

fn untrained_line(answer: &Answer) -> Option<VerdictLine> {
    let none = answer.unsupervised().filter(|none| *none > 0)?;
    let records = answer.all.records;
    Some(match none == records {
        true => VerdictLine::new(Tone::Bad, "Nothing is trained on in any sequence."),
        false => {
            let text = format!(
                "Nothing is trained on in {} of {}.",
                grouped(none),
                counted(records, "sequence")
            );
            VerdictLine::new(Tone::Warning, &text)
        }
    })
}

/// The facts about all records that come before the first one.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    pub lines: Vec<VerdictLine>,
    /// The most important numbers, with their names.
    pub numbers: Vec<(&'static str, String)>,
}
