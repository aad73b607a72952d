//! What the CSV domains share: one puzzle a row. A file is read twice: first to check every row
//! and to select, with one bit kept for each row, then to make the groups.

use super::csv::{self, Lines, fields, short_place};
use super::source::{
    BuildContext, GroupSource, Opener, PuzzleGroups, PuzzleSource, hash_file, last_part,
};
use super::{Domain, Error, Example, PuzzleGroup, Result, Rule, Severity, Split};
use crate::files::{FileSnapshot, changed};
use crate::ordered::{Flow, one, ordered_map};
use crate::puzzle::random::Key;
use crate::wording::exactly;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use serde_json::Value;
use std::convert::Infallible;
use std::io::Read;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Question and answer as tokens.
pub(super) type Sides = (Vec<i32>, Vec<i32>);

/// The files of a CSV domain.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(required = true, multiple = true)]
pub struct SplitFiles {
    /// Puzzles of the train split
    #[arg(long, value_name = "CSV")]
    pub train: Option<PathBuf>,

    /// Puzzles of the test split
    #[arg(long, value_name = "CSV")]
    pub test: Option<PathBuf>,
}

/// How a domain reads its rows, and which rows it takes.
pub(super) struct RowOptions {
    pub domain: &'static dyn Domain,
    /// Returns question and answer as tokens; the error is the cause.
    pub encode: fn(&[u8], &[u8]) -> Result<Sides, String>,
    /// Augmentations of each train puzzle.
    pub num_aug: u64,
    /// Takes this many rows of train, chosen at random.
    pub subsample: Option<u64>,
    /// Takes only rows with at least this rating.
    pub min_difficulty: Option<i64>,
    /// Takes only puzzles for which this is true.
    pub is_unique: Option<fn(&[i32]) -> bool>,
    /// The options as `build.json` states them.
    pub parameters: Value,
}

/// How many rows wait for the slow test of uniqueness, which the threads share.
const WAITING: usize = 4096;
/// How many of these rows a thread takes at a time.
const SHARE: usize = 64;

type RowLines = Lines<Box<dyn Read + Send>>;

struct RowSource {
    rows: RowOptions,
    seed: u64,
    opener: Opener,
    files: Vec<RowFile>,
    seq_len: usize,
}

/// One split's file.
struct RowFile {
    split: Split,
    path: PathBuf,
    noted: FileSnapshot,
    /// Which rows are built, and how many.
    selected: BooleanBuffer,
    count: u64,
}

impl RowOptions {
    /// Reads, checks and hashes all files.
    pub fn open(self, files: &SplitFiles, build: &mut BuildContext<'_>) -> Result<PuzzleSource> {
        let (mut selected, mut inputs, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let mut first_row = None;
        for (split, path) in [(Split::Train, &files.train), (Split::Test, &files.test)] {
            let Some(path) = path else { continue };
            let name = last_part(path);
            let (input, noted) = hash_file(path, name.clone())?;
            inputs.push(input);
            let scan = Scan {
                rows: &self,
                split,
                path,
                noted: noted.clone(),
                first_row: &mut first_row,
                selected: BooleanBufferBuilder::new(0),
                waiting: Vec::new(),
                tally: Tally::default(),
            };
            let scanned = scan.run(build);
            // An error of a file that has changed since it was hashed means nothing.
            noted.check()?;
            let (file, found) = scanned?;
            notes.extend(found.into_iter().map(|note| format!("{name}: {note}")));
            selected.push(file);
        }
        let Some((seq_len, _)) = first_row else {
            return Err(Error::Usage("no input: --train and --test name CSV files".to_string()));
        };
        let (seed, opener) = (build.seed, Arc::clone(&build.opener));
        Ok(PuzzleSource {
            domain: self.domain,
            seed,
            seq_len,
            parameters: self.parameters.clone(),
            inputs,
            notes,
            group_count: selected.iter().map(|file| file.count).sum(),
            groups: Box::new(RowSource { rows: self, seed, opener, files: selected, seq_len }),
        })
    }
}

impl GroupSource for RowSource {
    fn groups(&self, range: Range<u64>) -> PuzzleGroups<'_> {
        let mut start = 0;
        Box::new(self.files.iter().flat_map(move |file| {
            let skipped = range.start.saturating_sub(start);
            let wanted = range.end.saturating_sub(start).saturating_sub(skipped);
            start += file.count;
            self.groups_of(file, skipped as usize, wanted as usize)
        }))
    }
}

impl RowSource {
    /// Reads a file for the second time; returns the groups of at most `wanted` selected rows.
    fn groups_of<'a>(
        &'a self,
        file: &'a RowFile,
        skipped: usize,
        wanted: usize,
    ) -> impl Iterator<Item = Result<PuzzleGroup>> + 'a {
        let mut rows = file.selected.set_indices().skip(skipped).take(wanted);
        // The open file, and the number of rows that were read of it.
        let mut reading = None;
        let mut is_done = false;
        std::iter::from_fn(move || {
            if is_done {
                return None;
            }
            let Some(row) = rows.next() else {
                is_done = true;
                let checked = reading.as_ref().map_or(Ok(()), |_| file.noted.check());
                return checked.err().map(|error| Err(error.into()));
            };
            let group = self.group(file, row, &mut reading);
            is_done = group.is_err();
            Some(group)
        })
    }

    fn group(
        &self,
        file: &RowFile,
        row: usize,
        reading: &mut Option<(RowLines, usize)>,
    ) -> Result<PuzzleGroup> {
        let (lines, rows_read) = match reading {
            Some(reading) => reading,
            None => {
                let lines = open_lines(&self.opener, &file.path)?;
                file.noted.check()?;
                reading.insert((lines, 0))
            }
        };
        while let Some((line, text)) = lines.next_row()? {
            *rows_read += 1;
            if *rows_read <= row {
                continue;
            }
            let (inputs, labels) = match encode_row(&self.rows, text) {
                Ok(row) if row.inputs.len() == self.seq_len => (row.inputs, row.labels),
                _ => break,
            };
            let example = Example { split: file.split, inputs, labels };
            let (domain, num_aug) = (self.rows.domain, self.rows.num_aug);
            return Ok(PuzzleGroup::of_one(domain, self.seed, num_aug, line.to_string(), example));
        }
        Err(changed(&file.path).into())
    }
}

fn open_lines(opener: &Opener, path: &Path) -> Result<RowLines> {
    let reader = opener(path).map_err(|cause| Error::io(path, &cause))?;
    Lines::new(path, reader)
}

/// A row that is well-formed and obeys the rules.
struct EncodedRow {
    inputs: Vec<i32>,
    labels: Vec<i32>,
    rating: Vec<u8>,
    /// The first rule with a warning that it breaks, and the message.
    warning: Option<(&'static Rule, String)>,
}

fn encode_row(rows: &RowOptions, text: &[u8]) -> Result<EncodedRow, String> {
    let [_, question, answer, rating] = fields(text)?;
    let (inputs, labels) = (rows.encode)(&question, &answer)?;
    let mut warning = None;
    for finding in rows.domain.check(&inputs, &labels, None) {
        match finding.rule.severity {
            Severity::Error => return Err(finding.message),
            Severity::Warning => warning = warning.or(Some((finding.rule, finding.message))),
        }
    }
    Ok(EncodedRow { inputs, labels, rating: rating.into_owned(), warning })
}

/// Returns the tokens of one side, each a character of `text`; `expected` names the valid
/// characters.
pub(super) fn encode_cells(
    side: &str,
    text: &[u8],
    expected: &str,
    token: impl Fn(u8) -> Option<i32>,
) -> Result<Vec<i32>, String> {
    let cell = |(at, &byte): (usize, &u8)| {
        token(byte).ok_or_else(|| {
            let found = csv::excerpt(&[byte]);
            format!("{side} has {found} at character {}, expected {expected}", at + 1)
        })
    };
    text.iter().enumerate().map(cell).collect()
}

/// Reads one file for the first time.
struct Scan<'a> {
    rows: &'a RowOptions,
    split: Split,
    path: &'a Path,
    /// The length and the place of the first row of all files, which the other rows must match.
    first_row: &'a mut Option<(usize, String)>,
    noted: FileSnapshot,
    /// One bit for each row so far.
    selected: BooleanBufferBuilder,
    waiting: Vec<(usize, Vec<i32>)>,
    tally: Tally,
}

/// The counts of rows that were left out, and the warnings.
#[derive(Default)]
struct Tally {
    rejected: u64,
    too_easy: u64,
    not_unique: u64,
    not_chosen: u64,
    /// Each rule, how often it was broken, and the first place with its message.
    warnings: Vec<(&'static Rule, u64, String)>,
}

impl Scan<'_> {
    /// Returns the rows to build, and the notes on the file.
    fn run(mut self, build: &mut BuildContext<'_>) -> Result<(RowFile, Vec<String>)> {
        let mut lines = open_lines(&build.opener, self.path)?;
        while let Some((line, text)) = lines.next_row()? {
            self.selected.append(false);
            if let Err(cause) = self.row(line, text, build.jobs) {
                self.tally.rejected += 1;
                build.reject(Error::line(self.path, line, cause), Some(text))?;
            }
        }
        self.test_waiting(build.jobs);
        self.finish(build.seed)
    }

    /// Checks the row of the last bit.
    fn row(&mut self, line: u64, text: &[u8], jobs: usize) -> Result<(), String> {
        let row = encode_row(self.rows, text)?;
        let (length, first) =
            self.first_row.get_or_insert_with(|| (row.inputs.len(), short_place(self.path, line)));
        if row.inputs.len() != *length {
            let found = exactly(row.inputs.len(), "character");
            return Err(format!("question has {found}, that of {first} has {length}"));
        }
        if let Some(least) = self.rows.min_difficulty
            && rating(&row.rating)? < least
        {
            self.tally.too_easy += 1;
            return Ok(());
        }
        if let Some((rule, message)) = row.warning {
            match self.tally.warnings.iter_mut().find(|(known, _, _)| known.id == rule.id) {
                Some((_, count, _)) => *count += 1,
                None => {
                    let first = format!("{}: {message}", short_place(self.path, line));
                    self.tally.warnings.push((rule, 1, first));
                }
            }
        }
        let index = self.selected.len() - 1;
        if self.rows.is_unique.is_none() {
            self.selected.set_bit(index, true);
        } else {
            self.waiting.push((index, row.inputs));
            if self.waiting.len() == WAITING {
                self.test_waiting(jobs);
            }
        }
        Ok(())
    }

    /// Selects the waiting puzzles that have one solution.
    fn test_waiting(&mut self, jobs: usize) {
        let Some(is_unique) = self.rows.is_unique else { return };
        let test = |puzzles: &[(usize, Vec<i32>)]| -> Vec<(usize, bool)> {
            puzzles.iter().map(|(row, puzzle)| (*row, is_unique(puzzle))).collect()
        };
        let shares = self.waiting.chunks(SHARE).map(Ok::<_, Infallible>);
        let jobs = NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN);
        let Ok(()) = ordered_map(
            jobs,
            shares,
            || one(test),
            |tested| {
                for (row, unique) in tested {
                    self.selected.set_bit(row, unique);
                    self.tally.not_unique += u64::from(!unique);
                }
                Ok(Flow::Continue)
            },
        );
        self.waiting.clear();
    }

    /// Keeps `wanted` of the selected rows, each choice equally likely: D. Knuth, The Art of
    /// Computer Programming, 3.4.2, algorithm S.
    fn choose(&self, mut wanted: u64, seed: u64, selected: &BooleanBuffer) -> BooleanBuffer {
        let domain = self.rows.domain.constants().name;
        let key = Key { seed, domain, split: self.split.name(), group: "" };
        let mut draws = key.draws(0);
        let mut left = selected.count_set_bits() as u64;
        let mut chosen = BooleanBufferBuilder::new(selected.len());
        chosen.append_n(selected.len(), false);
        for row in selected.set_indices() {
            if draws.below(left) < wanted {
                chosen.set_bit(row, true);
                wanted -= 1;
            }
            left -= 1;
        }
        chosen.finish()
    }

    /// Ends the scan. A file without any row is an error: a loader fails on a set without groups.
    fn finish(mut self, seed: u64) -> Result<(RowFile, Vec<String>)> {
        let mut selected = self.selected.finish();
        let mut count = selected.count_set_bits() as u64;
        let subsample = self.rows.subsample.filter(|_| self.split == Split::Train);
        if let Some(wanted) = subsample {
            selected = self.choose(wanted, seed, &selected);
            self.tally.not_chosen = count.saturating_sub(wanted);
            count -= self.tally.not_chosen;
        }
        let mut notes = self.tally.notes(selected.len());
        if let Some(wanted) = subsample.filter(|wanted| count < *wanted) {
            notes.push(format!("--subsample {wanted} takes all {count}"));
        }
        if count == 0 {
            let cause = if notes.is_empty() {
                "has no rows".to_string()
            } else {
                format!("no puzzle is left: {}", notes.join("; "))
            };
            return Err(Error::data(self.path.display(), cause));
        }
        let (split, path) = (self.split, self.path.to_path_buf());
        let noted = self.noted;
        Ok((RowFile { split, path, noted, selected, count }, notes))
    }
}

impl Tally {
    fn notes(&self, rows: usize) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{count} of {rows} {what}", rows = exactly(rows, "row")));
            }
        };
        note(self.rejected, "malformed, left out");
        note(self.too_easy, "below --min-difficulty, left out");
        note(self.not_unique, "without exactly one solution, left out");
        note(self.not_chosen, "left out by --subsample");
        let verb = if rows == 1 { "breaks" } else { "break" };
        for (rule, count, message) in &self.warnings {
            note(*count, &format!("{verb} the rule '{}' (first: {message})", rule.id));
        }
        notes
    }
}

fn rating(text: &[u8]) -> Result<i64, String> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        format!("rating {} is not an integer, which --min-difficulty needs", csv::excerpt(text))
    })
}
