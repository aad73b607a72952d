//! What all of it is, and how large.

use std::path::PathBuf;

use super::DrawingOptions;
use super::line::{Line, Style, facts};
use crate::dataset::size_on_disk;
use crate::error::{Result, shown};
use crate::harmony::Alignment;
use crate::record::{plural_of, record_type};
use crate::stream::Reader;
use crate::view::{Tone, Verdict, VerdictLine, Viewer};
use crate::wording::{counted, size};

/// The facts about the inputs that stand above the records.
#[derive(Debug, Clone)]
pub struct Head {
    pub inputs: Vec<PathBuf>,
    /// What the inputs are, in words.
    pub what: String,
    pub records: Option<u64>,
    /// What a record of the type is called, in the singular.
    pub record: &'static str,
    pub bytes: Option<u64>,
    pub encoding: String,
    /// For tokens: how their masks are aligned, if they have any.
    pub alignment: Option<Alignment>,
    /// Whether the first record has masks.
    pub has_masks: bool,
    /// The verdict about all records.
    pub verdict: Verdict,
}

impl Head {
    /// Makes the head for a reader from which nothing was chosen yet. It does not know whether
    /// there are masks.
    pub fn of(reader: &Reader, viewer: &Viewer, inputs: &[PathBuf]) -> Result<Head> {
        let plural = viewer.kind().map_or("records", plural_of);
        let look = viewer.look();
        let dataset = reader.is_dataset().then(|| (look.dataset)(reader.header())).flatten();
        let record = viewer.kind().and_then(record_type);
        Ok(Head {
            inputs: inputs.to_vec(),
            what: dataset.unwrap_or_else(|| plural.to_string()),
            records: reader.total(),
            record: record.map_or("record", |record| record.singular),
            bytes: size_on_disk(inputs)?,
            encoding: reader.encoding().to_string(),
            alignment: look.is_aligned.then_some(viewer.alignment),
            has_masks: false,
            verdict: Verdict::default(),
        })
    }
}

/// A screen that is narrower or lower has room for the verdict, but not for more numbers: notes
/// about the first record must be visible on it.
const NARROW: usize = 60;
const LOW: usize = 24;

/// Returns the lines of the head.
pub fn head(head: &Head, drawing: &DrawingOptions) -> Vec<Line> {
    let width = drawing.width;
    let is_small = width < NARROW && drawing.height.is_some_and(|lines| lines <= LOW);
    let inputs: Vec<String> = head.inputs.iter().map(|path| shown(path)).collect();
    let inputs = if inputs.is_empty() { "stdin".to_string() } else { inputs.join(" ") };
    let facts = facts(&[
        match head.records {
            Some(records) => counted(records, head.record),
            None => format!("{}s as they come", head.record),
        },
        head.bytes.map(|bytes| size(bytes as f64)).unwrap_or_default(),
        head.encoding.clone(),
        match &head.verdict.lines[..] {
            [VerdictLine { tone: Tone::Unknown, .. }, ..] if is_small => "not checked".to_string(),
            _ => String::new(),
        },
    ]);
    let masks = match head.alignment.filter(|_| head.has_masks) {
        None => "",
        Some(Alignment::Label) => " with label-aligned masks",
        Some(Alignment::Token) => " with token-aligned masks",
    };
    let mut lines = vec![Line::new().add(Style::BOLD, &inputs)];
    lines.extend(Line::new().add(Style::PLAIN, &format!("{}{masks}", head.what)).wrapped(width));
    lines.extend(Line::new().add(Style::PLAIN, &facts).wrapped(width));
    lines.extend(verdict_lines(head, is_small).into_iter().flat_map(|line| line.wrapped(width)));
    if head.has_masks {
        let signs = Line::new()
            .add(Style::REASONING, "R│ reasoning")
            .add(Style::FINAL, "  F│ final")
            .add(Style::PLAIN, "  ·│ not trained on")
            .add(Style::DIM, "  →R the next token is reasoning");
        lines.extend(signs.wrapped(width));
    }
    lines
}

/// Returns the verdict, and the numbers that the lines before do not have.
fn verdict_lines(head: &Head, is_small: bool) -> Vec<Line> {
    let Verdict { lines, numbers } = &head.verdict;
    let is_new = |(name, _): &&(&str, String)| {
        !is_small
            && *name != "size on disk"
            && (head.records.is_none() || *name != format!("{}s", head.record))
    };
    let numbers: Vec<String> =
        numbers.iter().filter(is_new).map(|(name, value)| format!("{name} {value}")).collect();
    let style = |tone| match tone {
        Tone::Unknown => Style::PLAIN,
        Tone::Good => Style::FINAL,
        Tone::Warning => Style::WARNING,
        Tone::Bad => Style::BAD,
    };
    let numbers = Line::new().add(Style::PLAIN, &facts(&numbers));
    let is_line = |line: &&VerdictLine| !is_small || line.tone != Tone::Unknown;
    let verdict =
        lines.iter().filter(is_line).map(|line| Line::new().add(style(line.tone), &line.text));
    verdict.chain(Some(numbers).filter(|line| line.width() > 0)).collect()
}
