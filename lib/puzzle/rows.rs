//! What the CSV domains share: one puzzle a row. A file is read twice: once to check every row
//! and to choose, remembering one bit a row, then to make the groups.

use super::csv::{self, Lines, fields, short_place};
use super::source::reject;
use super::source::{Groups, InputFile, Opener, Options, Rejects, Source, hash_file, last_part};
use super::{Domain, Error, Example, Group, Level, Rule, Split};
use crate::ordered::{Flow, ordered_map};
use crate::puzzle::random::Key;
use serde_json::{Map, Value};
use std::convert::Infallible;
use std::io::Read;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Question and answer as tokens.
pub(super) type Sides = (Vec<i32>, Vec<i32>);

/// How a domain reads its rows.
#[derive(Clone, Copy)]
pub(super) struct RowFormat {
    pub domain: &'static dyn Domain,
    /// Question and answer as tokens, or why not.
    pub encode: fn(&[u8], &[u8]) -> Result<Sides, String>,
    /// Whether a puzzle has exactly one solution, for [`Options::unique`].
    pub is_unique: Option<fn(&[i32]) -> bool>,
}

/// Rows that wait for the costly test of uniqueness, which the threads share.
const BATCH: usize = 4096;
/// How many of them a thread takes at a time.
const SHARE: usize = 64;

pub(super) struct RowSource {
    format: RowFormat,
    seed: u64,
    num_aug: u64,
    parameters: Map<String, Value>,
    opener: Opener,
    parts: Vec<Part>,
    seq_len: usize,
    inputs: Vec<InputFile>,
    notes: Vec<String>,
}

/// One split's file.
struct Part {
    split: Split,
    path: PathBuf,
    selected: Bits,
}

impl RowSource {
    /// Reads, checks and hashes all files.
    pub fn open(
        format: RowFormat,
        options: &Options,
        parameters: Map<String, Value>,
        mut rejects: Rejects<'_, '_>,
    ) -> Result<RowSource, Error> {
        let files = [(Split::Train, &options.train), (Split::Test, &options.test)];
        let mut source = RowSource {
            format,
            seed: options.seed,
            num_aug: options.num_aug,
            parameters,
            opener: Arc::clone(&options.opener),
            parts: Vec::new(),
            seq_len: 0,
            inputs: Vec::new(),
            notes: Vec::new(),
        };
        let mut first_row = None;
        for (split, path) in files {
            let Some(path) = path else { continue };
            source.inputs.push(hash_file(path, last_part(path))?);
            let mut scan = Scan::new(format, options, split, path, &mut first_row);
            scan.run(&mut rejects)?;
            source.notes.append(&mut scan.notes());
            let selected = scan.finish()?;
            source.parts.push(Part { split, path: path.clone(), selected });
        }
        source.seq_len = first_row.map_or(0, |(seq_len, _)| seq_len);
        if source.parts.is_empty() {
            return Err(Error::option("no input: --train and --test name CSV files"));
        }
        Ok(source)
    }
}

impl Source for RowSource {
    fn domain(&self) -> &'static dyn Domain {
        self.format.domain
    }

    fn seq_len(&self) -> usize {
        self.seq_len
    }

    fn len(&self) -> u64 {
        self.parts.iter().map(|part| part.selected.ones).sum()
    }

    fn groups(&self, range: Range<u64>) -> Groups<'_> {
        let mut start = 0;
        Box::new(self.parts.iter().flat_map(move |part| {
            let end = start + part.selected.ones;
            let wanted = range.start.max(start) - start..range.end.min(end).max(start) - start;
            start = end;
            PartGroups { source: self, part, lines: None, row: 0, rank: 0, wanted, failed: false }
        }))
    }

    fn inputs(&self) -> &[InputFile] {
        &self.inputs
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn parameters(&self) -> Map<String, Value> {
        self.parameters.clone()
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// The second reading of one file.
struct PartGroups<'a> {
    source: &'a RowSource,
    part: &'a Part,
    /// Opened with the first group.
    lines: Option<Lines<Box<dyn Read + Send>>>,
    /// Rows read, and how many of them were selected.
    row: u64,
    rank: u64,
    /// Which of the selected rows are wanted.
    wanted: Range<u64>,
    failed: bool,
}

impl PartGroups<'_> {
    fn next_group(&mut self) -> Result<Group, Error> {
        let (source, part) = (self.source, self.part);
        let lines = match &mut self.lines {
            Some(lines) => lines,
            None => self.lines.insert(open_lines(&source.opener, &part.path)?),
        };
        while let Some((line, text)) = lines.next_row()? {
            let selected = part.selected.get(self.row);
            self.row += 1;
            self.rank += u64::from(selected);
            if !selected || self.rank <= self.wanted.start {
                continue;
            }
            let (inputs, labels) = match encode_row(&source.format, text) {
                Ok(row) if row.inputs.len() == source.seq_len => (row.inputs, row.labels),
                _ => break,
            };
            return Ok(Group {
                domain: source.format.domain,
                seed: source.seed,
                name: line.to_string(),
                split: part.split,
                key_split: part.split.name(),
                examples: vec![Example { split: part.split, inputs, labels }],
                num_aug: if part.split == Split::Train { source.num_aug } else { 0 },
                counts_shortfall: true,
            });
        }
        Err(Error::data(part.path.display(), "has changed while it was read"))
    }
}

impl Iterator for PartGroups<'_> {
    type Item = Result<Group, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.rank.max(self.wanted.start) >= self.wanted.end {
            return None;
        }
        let group = self.next_group();
        self.failed = group.is_err();
        Some(group)
    }
}

fn open_lines(opener: &Opener, path: &Path) -> Result<Lines<Box<dyn Read + Send>>, Error> {
    let reader = opener(path).map_err(|cause| Error::io(path, &cause))?;
    Lines::new(path, reader)
}

/// A row that is well-formed and obeys the rules.
struct Row {
    inputs: Vec<i32>,
    labels: Vec<i32>,
    rating: Vec<u8>,
    /// The first rule it bends, and how.
    warning: Option<(&'static Rule, String)>,
}

fn encode_row(format: &RowFormat, text: &[u8]) -> Result<Row, String> {
    let [_, question, answer, rating] = fields(text)?;
    let (inputs, labels) = (format.encode)(&question, &answer)?;
    let mut warning = None;
    for finding in format.domain.check(&inputs, &labels, None) {
        match finding.rule.level {
            Level::Error => return Err(finding.message),
            Level::Warning => warning = warning.or(Some((finding.rule, finding.message))),
        }
    }
    Ok(Row { inputs, labels, rating: rating.into_owned(), warning })
}

/// The first reading of one file.
struct Scan<'a> {
    format: RowFormat,
    options: &'a Options,
    split: Split,
    path: &'a Path,
    /// Length and place of the first row of all files, which the others must match.
    first_row: &'a mut Option<(usize, String)>,
    selected: Bits,
    waiting: Vec<(u64, Vec<i32>)>,
    rows: u64,
    rejected: u64,
    too_easy: u64,
    not_unique: u64,
    not_chosen: u64,
    /// Rule, how often, and the first place with its message.
    warnings: Vec<(&'static Rule, u64, String)>,
}

impl<'a> Scan<'a> {
    fn new(
        format: RowFormat,
        options: &'a Options,
        split: Split,
        path: &'a Path,
        first_row: &'a mut Option<(usize, String)>,
    ) -> Scan<'a> {
        Scan {
            format,
            options,
            split,
            path,
            first_row,
            selected: Bits::default(),
            waiting: Vec::new(),
            rows: 0,
            rejected: 0,
            too_easy: 0,
            not_unique: 0,
            not_chosen: 0,
            warnings: Vec::new(),
        }
    }

    fn run(&mut self, rejects: &mut Rejects<'_, '_>) -> Result<(), Error> {
        let mut lines = open_lines(&self.options.opener, self.path)?;
        while let Some((line, text)) = lines.next_row()? {
            if let Err(cause) = self.row(line, text) {
                self.rejected += 1;
                reject(rejects, Error::line(self.path, line, cause), text)?;
            }
            self.rows += 1;
        }
        self.test_waiting();
        if self.split == Split::Train {
            self.choose();
        }
        Ok(())
    }

    fn row(&mut self, line: u64, text: &[u8]) -> Result<(), String> {
        let row = encode_row(&self.format, text)?;
        let (length, first) =
            self.first_row.get_or_insert_with(|| (row.inputs.len(), short_place(self.path, line)));
        if row.inputs.len() != *length {
            let found = row.inputs.len();
            return Err(format!("question has {found} characters, that of {first} has {length}"));
        }
        let keep = match self.options.min_difficulty {
            Some(least) => rating(&row.rating)? >= least,
            None => true,
        };
        if !keep {
            self.too_easy += 1;
            return Ok(());
        }
        if let Some((rule, message)) = row.warning {
            self.warn(rule, format!("{}: {message}", short_place(self.path, line)));
        }
        if self.options.unique && self.format.is_unique.is_some() {
            self.waiting.push((self.rows, row.inputs));
            if self.waiting.len() == BATCH {
                self.test_waiting();
            }
        } else {
            self.selected.set(self.rows);
        }
        Ok(())
    }

    fn warn(&mut self, rule: &'static Rule, message: String) {
        match self.warnings.iter_mut().find(|(known, _, _)| known.id == rule.id) {
            Some((_, count, _)) => *count += 1,
            None => self.warnings.push((rule, 1, message)),
        }
    }

    /// Selects the waiting puzzles that have one solution.
    fn test_waiting(&mut self) {
        let Some(is_unique) = self.format.is_unique else { return };
        let test = |puzzles: &[(u64, Vec<i32>)]| -> Vec<(u64, bool)> {
            puzzles.iter().map(|(row, puzzle)| (*row, is_unique(puzzle))).collect()
        };
        let shares = self.waiting.chunks(SHARE).map(Ok::<_, Infallible>);
        let jobs = NonZeroUsize::new(self.options.jobs).unwrap_or(NonZeroUsize::MIN);
        let Ok(()) = ordered_map(
            jobs,
            shares,
            || test,
            |tested| {
                for (row, unique) in tested {
                    match unique {
                        true => self.selected.set(row),
                        false => self.not_unique += 1,
                    }
                }
                Ok(Flow::Continue)
            },
        );
        self.waiting.clear();
    }

    /// Keeps so many of the selected rows, each choice equally likely: D. Knuth, The Art of
    /// Computer Programming, 3.4.2, algorithm S.
    fn choose(&mut self) {
        let Some(subsample) = self.options.subsample else { return };
        let domain = self.format.domain.constants().name;
        let key = Key { seed: self.options.seed, domain, split: self.split.name(), group: "" };
        let mut draws = key.draws(0);
        let mut wanted = subsample;
        let mut left = self.selected.ones;
        let mut chosen = Bits::default();
        for row in (0..self.rows).filter(|&row| self.selected.get(row)) {
            if draws.below(left) < wanted {
                chosen.set(row);
                wanted -= 1;
            }
            left -= 1;
        }
        self.not_chosen = self.selected.ones - chosen.ones;
        self.selected = chosen;
    }

    fn notes(&self) -> Vec<String> {
        let file = last_part(self.path);
        let mut notes = Vec::new();
        let mut note = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{file}: {count} of {} rows {what}", self.rows));
            }
        };
        note(self.rejected, "malformed, left out");
        note(self.too_easy, "below --min-difficulty, left out");
        note(self.not_unique, "without exactly one solution, left out");
        note(self.not_chosen, "left out by --subsample");
        for (rule, count, message) in &self.warnings {
            note(*count, &format!("break the rule '{}' (first: {message})", rule.id));
        }
        if let Some(wanted) = self.options.subsample
            && self.split == Split::Train
            && self.selected.ones < wanted
        {
            notes.push(format!("{file}: --subsample {wanted} takes all {}", self.selected.ones));
        }
        notes
    }

    /// The rows to build. None at all is an error: a loader fails on a set without groups.
    fn finish(self) -> Result<Bits, Error> {
        if self.selected.ones == 0 {
            let cause = match self.notes() {
                notes if notes.is_empty() => "has no rows".to_string(),
                notes => {
                    let prefix = format!("{}: ", last_part(self.path));
                    let reasons: Vec<_> =
                        notes.iter().map(|note| note.trim_start_matches(&prefix)).collect();
                    format!("no puzzle is left: {}", reasons.join("; "))
                }
            };
            return Err(Error::data(self.path.display(), cause));
        }
        Ok(self.selected)
    }
}

fn rating(text: &[u8]) -> Result<i64, String> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        format!("rating {} is no integer, which --min-difficulty needs", csv::excerpt(text))
    })
}

/// A set of row numbers, one bit each.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    ones: u64,
}

impl Bits {
    fn set(&mut self, row: u64) {
        let word = (row / 64) as usize;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let bit = 1 << (row % 64);
        self.ones += u64::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    fn get(&self, row: u64) -> bool {
        self.words.get((row / 64) as usize).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }
}
