//! The verdict about inputs that a terminal shows before any record.

use std::num::NonZeroUsize;

use super::gather::is_stream;
use crate::batch::Batch;
use crate::check::Outcome;
use crate::cli::{InputArgs, Progress};
use crate::dataset;
use crate::error::{Error, Kind, Result};
use crate::stat::{self, Answer, StatOptions};
use crate::stream::Request;
use crate::view::{Tone, Verdict, VerdictLine, verdict};
use crate::wording::size;

/// The most bytes of inputs for which a terminal shows numbers without `--check`, so that the output begins
/// at once.
const MEASURED: u64 = 16 << 20;

/// Makes the verdict of inputs that can be read more than once; a stream gets none. Slow work is done only
/// if `outcomes` show that a check was asked for.
pub(super) fn of(
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
