//! Whether all is well, in a line or two, and the numbers that are asked for first: what a page and a
//! terminal say before any record.

use std::num::NonZeroUsize;

use super::page::is_stream;
use crate::batch::Batch;
use crate::check::Outcome;
use crate::cli::{InputArgs, Progress, counted, grouped, size};
use crate::dataset;
use crate::error::{Error, Kind, Result, Severity};
use crate::stat::{self, Answer, StatOptions};
use crate::stream::Request;

/// Of inputs of more bytes a terminal shows no numbers unless they are checked: it begins at once.
const MEASURED: u64 = 16 << 20;

/// How good something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Unknown,
    Good,
    Warning,
    Bad,
}

impl Tone {
    /// The sign before its text: colours say nothing alone.
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
pub struct Told {
    pub tone: Tone,
    pub text: String,
}

impl Told {
    fn new(tone: Tone, text: &str) -> Told {
        Told { tone, text: format!("{}{text}", tone.sign()) }
    }
}

/// What ds-check found, and whether anything is trained on; each is `None` if it was not looked at.
pub fn verdict(answer: Option<&Answer>, outcomes: Option<&[Outcome]>) -> Vec<Told> {
    let unchecked = || Told::new(Tone::Unknown, "Not checked: ds-view --check does.");
    let mut lines = vec![outcomes.map_or_else(unchecked, checked)];
    lines.extend(answer.and_then(untrained));
    lines
}

fn checked(outcomes: &[Outcome]) -> Told {
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
        (_, true) => Told::new(Tone::Good, "ds-check: no problems found."),
        (0, _) => Told::new(Tone::Warning, &format!("ds-check: {}.", found.join(", "))),
        _ => Told::new(Tone::Bad, &format!("ds-check: {}.", found.join(", "))),
    }
}

fn untrained(answer: &Answer) -> Option<Told> {
    let none = answer.unsupervised().filter(|none| *none > 0)?;
    let records = answer.all.records;
    Some(match none == records {
        true => Told::new(Tone::Bad, "Nothing is trained on in any sequence."),
        false => {
            let text = format!(
                "Nothing is trained on in {} of {}.",
                grouped(none),
                counted(records, "sequence")
            );
            Told::new(Tone::Warning, &text)
        }
    })
}

/// What is said of all of it before any record.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    pub lines: Vec<Told>,
    /// The numbers that are asked for first, with their names.
    pub numbers: Vec<(&'static str, String)>,
}

impl Verdict {
    /// Of inputs that can be read more than once; nothing is said of a stream, which cannot. What takes
    /// long is done only if `outcomes` say that they are checked.
    pub fn of(
        input: &InputArgs,
        outcomes: Option<&[Outcome]>,
        progress: &mut Progress,
    ) -> Result<Verdict> {
        if is_stream(input)? {
            return Ok(Verdict::default());
        }
        let most = if outcomes.is_some() { u64::MAX } else { MEASURED };
        let answer = match measured(input, most, progress) {
            Err(Unmeasured::Large) => {
                return Ok(Verdict { lines: vec![too_large()], ..<_>::default() });
            }
            Err(Unmeasured::Unreadable) => None,
            Err(Unmeasured::Failed(error)) => return Err(error),
            Ok(answer) => Some(answer),
        };
        let numbers = answer.as_ref().map(|answer| answer.headline().to_vec());
        let lines = verdict(answer.as_ref(), outcomes);
        Ok(Verdict { lines, numbers: numbers.unwrap_or_default() })
    }
}

fn too_large() -> Told {
    let most = size(MEASURED as f64);
    let text = format!("More than {most}, neither checked nor counted: --check does both.");
    Told::new(Tone::Unknown, &text)
}

/// Why there are no numbers.
enum Unmeasured {
    /// There are more bytes than were to be read.
    Large,
    /// What is wrong is said where the records are shown.
    Unreadable,
    /// It could not be read now, which is another thing than what it holds.
    Failed(Error),
}

impl From<Error> for Unmeasured {
    fn from(error: Error) -> Unmeasured {
        match error.kind() {
            Kind::Data => Unmeasured::Unreadable,
            Kind::Usage | Kind::Unavailable => Unmeasured::Failed(error),
        }
    }
}

/// The numbers of inputs of at most so many bytes, for which they are read once more.
fn measured(input: &InputArgs, most: u64, progress: &mut Progress) -> Result<Answer, Unmeasured> {
    let size_on_disk = dataset::size_on_disk(&input.files)?;
    if size_on_disk.is_some_and(|bytes| bytes > most) {
        return Err(Unmeasured::Large);
    }
    let reader = dataset::open(input, Request::Any)?.uncompared();
    let mut left = Some(most);
    // What is compressed may be much more than its files.
    let see = |batch: &Batch| {
        left = left.and_then(|left| left.checked_sub(batch.bytes));
        left.map(drop).ok_or_else(|| Error::unavailable("more bytes than were to be read"))
    };
    let options = StatOptions::default();
    let measured = stat::measure_seen(reader, &options, NonZeroUsize::MIN, progress, see);
    match measured {
        Err(_) if left.is_none() => Err(Unmeasured::Large),
        measured => {
            let mut answer = measured?;
            answer.size_on_disk = size_on_disk;
            Ok(answer)
        }
    }
}
