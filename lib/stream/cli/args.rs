//! The arguments that filters share: the same names mean the same in every tool.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::own_file::PROGRESS;
use super::progress::{Progress, When};
use super::tool::{Tool, WithoutEffect};
use crate::error::Result;
use crate::inputs;
use crate::known_files::KnownFiles;
use crate::stream::FileForm;

/// Reads the path of an output that cannot go to stdout: `-` is refused.
pub fn on_disk() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        if path.as_os_str() == "-" {
            Err("this cannot go to stdout; try: a name (`./-` for a file called so)")
        } else {
            Ok(path)
        }
    })
}

/// The arguments of every filter.
#[derive(Debug, Clone, Args)]
pub struct CommonArgs {
    /// Print only errors
    #[arg(short, long, help_heading = "Messages", add = WithoutEffect)]
    pub quiet: bool,

    /// Also print where Parquet that comes through a pipe is kept while it is read, and messages that
    /// an earlier filter of the pipe has printed already
    #[arg(short, long, help_heading = "Messages", add = WithoutEffect)]
    pub verbose: bool,

    /// Show progress on stderr
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        value_name = "auto|always|never",
        hide_possible_values = true,
        help_heading = "Messages",
        add = WithoutEffect
    )]
    pub progress: When,

    /// Append the progress to FILE, a line of JSON a second: {tool, unit, done, of, bytes, inside, made}
    #[arg(long, value_name = "FILE", help_heading = "Messages")]
    #[arg(add = WithoutEffect, value_parser = on_disk())]
    pub progress_to: Option<PathBuf>,
}

impl CommonArgs {
    /// Makes the progress of `total` units; `what` is their name in the plural. `uses_stdout`: the results go
    /// to stdout. Fails if the file of `--progress-to` holds something else, or is an input.
    pub fn progress(
        &self,
        tool: &Tool,
        what: &'static str,
        total: Option<u64>,
        uses_stdout: bool,
    ) -> Result<Progress> {
        let when = self.progress.unless(self.quiet);
        let progress = Progress::new(tool.name(), when, (what, total), uses_stdout);
        match &self.progress_to {
            Some(path) => {
                // (The filters of a chain report to one file.)
                if !inputs::is_kept_apart(path) {
                    PROGRESS.check(path)?;
                    inputs::keep_apart(path);
                }
                Ok(progress.reporting_to(path))
            }
            None => Ok(progress),
        }
    }
}

/// Where records come from.
#[derive(Debug, Clone, Args)]
pub struct InputArgs {
    /// Inputs, in this order; none, or `-`, is stdin
    ///
    /// Inputs with gzip or zstd are decompressed.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Read only part I of N of all inputs, I from 0
    ///
    /// All inputs together are divided into N contiguous parts. A..B reads the records from A to B, B not
    /// included (not of NDJSON, whose records are not counted beforehand).
    #[arg(long, value_name = "I/N|A..B")]
    pub slice: Option<Slice>,

    /// Accept an input without any byte as one without records (otherwise it is an error, since its
    /// writer may have died)
    #[arg(long, help_heading = "Input", add = WithoutEffect)]
    pub allow_empty: bool,

    /// The most bytes of one record (of its line, in NDJSON); a longer one ends the run
    #[arg(
        long,
        value_name = "N",
        default_value_t = MAX_RECORD_BYTES,
        help_heading = "Input",
        add = WithoutEffect
    )]
    pub max_record_bytes: u64,

    /// The part of all inputs of which `slice` takes a part.
    #[arg(skip)]
    pub shard: Option<Slice>,

    /// What is known of the inputs from an earlier reading.
    #[arg(skip)]
    pub known: KnownFiles,

    /// Whether a folder of shards need not be compared with its manifest, because a filter has done it or the
    /// user switched it off.
    #[arg(skip)]
    pub is_compared: bool,

    /// Whether records of a pipe are shown as they come. This is so if the output is NDJSON on stdout, whose bytes do
    /// not depend on when they are written.
    #[arg(skip)]
    pub shows_at_once: bool,

    /// Forms of files that are read whole, since their lines together are records.
    #[arg(skip)]
    pub file_forms: FileForms,
}

/// Forms of files that are read whole.
#[derive(Clone, Copy, Default)]
pub struct FileForms(pub &'static [FileForm]);

impl fmt::Debug for FileForms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|form| form.name)).finish()
    }
}

/// The most bytes of a record by default. (Text of 2^31 bytes would not fit a column.)
pub const MAX_RECORD_BYTES: u64 = 1 << 30;

impl Default for InputArgs {
    fn default() -> InputArgs {
        InputArgs {
            files: Vec::new(),
            slice: None,
            allow_empty: false,
            max_record_bytes: MAX_RECORD_BYTES,
            shard: None,
            known: KnownFiles::default(),
            is_compared: false,
            shows_at_once: false,
            file_forms: FileForms::default(),
        }
    }
}

/// Whether the inputs are compared with their manifest.
#[derive(Debug, Clone, Default, Args)]
pub struct InputCheckArgs {
    /// Do not compare the inputs with the manifest.json beside them (their names, rows and bytes)
    #[arg(long, help_heading = "Input")]
    pub no_input_check: bool,
}

/// What happens to a bad record.
#[derive(Debug, Clone, Default, Args)]
pub struct OnErrorArgs {
    /// End at a bad record, or skip it
    ///
    /// Skipped records are counted, also in manifests.
    #[arg(
        long,
        value_enum,
        default_value = "fail",
        value_name = "fail|skip",
        hide_possible_values = true
    )]
    pub on_error: OnError,

    /// Write skipped records and their reasons as NDJSON
    #[arg(long, value_name = "FILE", add = WithoutEffect)]
    #[arg(value_parser = on_disk())]
    pub rejects: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum OnError {
    #[default]
    Fail,
    Skip,
}

/// Where records go.
#[derive(Debug, Clone, Args)]
pub struct OutputArgs {
    /// One JSON object a line, or an Arrow IPC stream
    ///
    /// GRISTMILL_TO sets it for a whole pipeline.
    #[arg(
        long,
        value_enum,
        env = "GRISTMILL_TO",
        hide_env = true,
        default_value = "ndjson",
        hide_possible_values = true,
        value_name = "ndjson|arrow",
        add = WithoutEffect
    )]
    pub to: Encoding,

    /// Leave the provenance chain out of the Arrow header
    #[arg(long, help_heading = "Output", add = WithoutEffect)]
    pub no_provenance: bool,
}

impl OutputArgs {
    /// Whether records are shown as they come.
    pub fn shows(&self) -> bool {
        self.to == Encoding::Ndjson
    }

    /// Returns the tool's entry in the provenance chain, unless it is switched off.
    pub fn entry(&self, tool: &Tool) -> Option<Value> {
        (!self.no_provenance).then(|| tool.entry())
    }
}

/// How much of the input is read.
#[derive(Debug, Clone, Default, Args)]
pub struct LimitArgs {
    /// Read only the first N records
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
}

/// The arguments of every filter that writes a dataset.
#[derive(Debug, Clone, Args)]
pub struct SinkArgs {
    /// Replace existing outputs
    #[arg(long, add = WithoutEffect)]
    pub overwrite: bool,

    /// Fail unless exactly N records are read (NDJSON has no end marker)
    #[arg(long, value_name = "N", add = WithoutEffect, help_heading = "Input")]
    pub expect_records: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Encoding {
    Ndjson,
    Arrow,
}

#[derive(Debug, Clone, Args)]
pub struct JobsArgs {
    /// Threads; the output is the same
    #[arg(short, long, aliases = ["workers", "threads"], value_name = "N", default_value = "1")]
    #[arg(add = WithoutEffect)]
    pub jobs: NonZeroUsize,
}

/// A contiguous part of the units of an input: part I of N, or from unit A to unit B. All count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Slice {
    /// `I/N`
    Part { index: u64, count: u64 },
    /// `A..B`: B is not in it.
    Range { start: u64, end: u64 },
}

impl Slice {
    /// Returns the half-open range among `total` units. A part is `[I*total/N, (I+1)*total/N)`, so that every
    /// unit is in exactly one part.
    pub fn of(self, total: u64) -> std::ops::Range<u64> {
        match self {
            Slice::Part { index, count } => {
                let cut = |i: u64| (u128::from(i) * u128::from(total) / u128::from(count)) as u64;
                cut(index)..cut(index + 1)
            }
            Slice::Range { start, end } => start.min(total)..end.min(total),
        }
    }
}

impl FromStr for Slice {
    type Err = String;

    fn from_str(text: &str) -> Result<Slice, String> {
        let numbers = |separator: &str| {
            let (first, second) = text.split_once(separator)?;
            let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
            let number = |s: &str| s.parse::<u64>().ok().filter(|_| digits(s));
            Some((number(first)?, number(second)?))
        };
        match (numbers("/"), numbers("..")) {
            (Some((index, count)), _) if index < count => Ok(Slice::Part { index, count }),
            (Some(_), _) => Err("I must be less than N (I counts from 0)".to_string()),
            (_, Some((start, end))) if start <= end => Ok(Slice::Range { start, end }),
            (_, Some(_)) => Err("A must not be more than B".to_string()),
            _ => Err("expected I/N, as in 0/8, or A..B, as in 0..1000".to_string()),
        }
    }
}

impl TryFrom<String> for Slice {
    type Error = String;

    fn try_from(text: String) -> Result<Slice, String> {
        text.parse()
    }
}

impl From<Slice> for String {
    fn from(slice: Slice) -> String {
        slice.to_string()
    }
}

impl std::fmt::Display for Slice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Slice::Part { index, count } => write!(f, "{index}/{count}"),
            Slice::Range { start, end } => write!(f, "{start}..{end}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_everything_once() {
        for total in [0u64, 1, 2, 7, 250, u64::MAX] {
            for count in [1u64, 2, 3, 8, 1000] {
                let mut end = 0;
                for index in 0..count {
                    let range = Slice::Part { index, count }.of(total);
                    assert_eq!(range.start, end);
                    end = range.end;
                }
                assert_eq!(end, total);
            }
        }
    }

    #[test]
    fn slices_are_read_strictly() {
        assert_eq!("0/3".parse(), Ok(Slice::Part { index: 0, count: 3 }));
        assert_eq!("2..7".parse(), Ok(Slice::Range { start: 2, end: 7 }));
        assert_eq!("2..7".parse().map(|slice: Slice| slice.of(5)), Ok(2..5));
        assert_eq!("8..9".parse().map(|slice: Slice| slice.of(5)), Ok(5..5));
        for bad in [
            "3/3", "1", "a/3", "+1/3", "-1/3", "1/", "/3", "0/0", "1/2/3", " 1/2", "3..2", "..",
            "1..", "..2", "1...2", "1..2/3", "-1..2",
        ] {
            assert!(bad.parse::<Slice>().is_err(), "{bad}");
        }
    }
}
