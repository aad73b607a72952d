//! What a page and a terminal show before any record: in a line or two whether all is well, and the most
//! important numbers.

use std::num::NonZeroUsize;

use super::page::is_stream;
use crate::batch::Batch;
use crate::check::Outcome;
use crate::cli::{InputArgs, Progress};
use crate::dataset;
use crate::error::{Error, Kind, Result, Severity};
use crate::stat::{self, Answer, StatOptions};
use crate::stream::Request;
use crate::wording::{counted, grouped, size};

/// The most bytes of inputs for which a terminal shows numbers without `--check`, so that the output begins
/// at once.
const MEASURED: u64 = 16 << 20;

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
    fn new(tone: Tone, text: &str) -> VerdictLine {
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

impl Verdict {
    /// Makes the verdict of inputs that can be read more than once; a stream gets none. Slow work is done only
    /// if `outcomes` show that a check was asked for.
    pub fn of(
        input: &InputArgs,
        outcomes: Option<&[Outcome]>,
        progress: &mut Progress,
    ) -> Result<Verdict> {
        if is_stream(input)? {
            return Ok(Verdict::default());
        }
        let most = if outcomes.is_some() { u64::MAX } else { MEASURED };
        let answer = match measure_inputs(input, most, progress) {
            Err(NoNumbers::Large) => {
                return Ok(Verdict { lines: vec![too_large()], ..<_>::default() });
            }
            Err(NoNumbers::Unreadable) => None,
            Err(NoNumbers::Failed(error)) => return Err(error),
            Ok(answer) => Some(answer),
        };
        let numbers = answer.as_ref().map(|answer| answer.headline().to_vec());
        let lines = verdict(answer.as_ref(), outcomes);
        Ok(Verdict { lines, numbers: numbers.unwrap_or_default() })
    }
}

fn too_large() -> VerdictLine {
    let most = size(MEASURED as f64);
    let text = format!("More than {most}, neither checked nor counted: --check does both.");
    VerdictLine::new(Tone::Unknown, &text)
}

/// Why there are no numbers.
enum NoNumbers {
    /// The input has more bytes than may be read.
    Large,
    /// The error is shown with the records.
    Unreadable,
    /// The input could not be read now; this says nothing about its records.
    Failed(Error),
}

impl From<Error> for NoNumbers {
    fn from(error: Error) -> NoNumbers {
        match error.kind() {
            Kind::Data => NoNumbers::Unreadable,
            Kind::Usage | Kind::Unavailable => NoNumbers::Failed(error),
        }
    }
}

/// Returns the numbers of inputs of at most `most` bytes; for this they are read once more.
fn measure_inputs(
    input: &InputArgs,
    most: u64,
    progress: &mut Progress,
) -> Result<Answer, NoNumbers> {
    let size_on_disk = dataset::size_on_disk(&input.files)?;
    if size_on_disk.is_some_and(|bytes| bytes > most) {
        return Err(NoNumbers::Large);
    }
    let reader = dataset::open(input, Request::Any)?.uncompared();
    let mut left = Some(most);
    // A compressed input may be much larger than its file.
    let see = |batch: &Batch| {
        left = left.and_then(|left| left.checked_sub(batch.bytes));
        left.map(drop).ok_or_else(|| Error::unavailable("more bytes than were to be read"))
    };
    let options = StatOptions::default();
    let measured = stat::measure_seen(reader, &options, NonZeroUsize::MIN, progress, see);
    match measured {
        Err(_) if left.is_none() => Err(NoNumbers::Large),
        measured => {
            let mut answer = measured?;
            answer.size_on_disk = size_on_disk;
            Ok(answer)
        }
    }
}
