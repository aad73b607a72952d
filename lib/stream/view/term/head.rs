//! What all of it is, and how large.

use std::path::PathBuf;

use super::DrawingOptions;
use super::line::{Line, Style, facts};
use crate::error::shown;
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
    /// What is said of the records' masks, if the first record has any.
    pub masks: &'static str,
    /// The line about the signs of the first record, if it needs one: it has masks.
    pub legend: Option<Line>,
    /// The verdict about all records.
    pub verdict: Verdict,
}

impl Head {
    /// Makes the head for a reader from which nothing was chosen yet; `bytes` is the size of its inputs. It does not
    /// know whether there are masks.
    pub fn of(reader: &Reader, viewer: &Viewer, inputs: &[PathBuf], bytes: Option<u64>) -> Head {
        let plural = viewer.kind().map_or("records", plural_of);
        let dataset = reader.is_dataset().then(|| viewer.dataset(reader.header())).flatten();
        let record = viewer.kind().and_then(record_type);
        Head {
            inputs: inputs.to_vec(),
            what: dataset.unwrap_or_else(|| plural.to_string()),
            records: reader.total(),
            record: record.map_or("record", |record| record.singular),
            bytes,
            encoding: reader.encoding().to_string(),
            masks: viewer.masks(),
            legend: None,
            verdict: Verdict::default(),
        }
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
    let masks = if head.legend.is_some() { head.masks } else { "" };
    let mut lines = vec![Line::new().add(Style::BOLD, &inputs)];
    lines.extend(Line::new().add(Style::PLAIN, &format!("{}{masks}", head.what)).wrapped(width));
    lines.extend(Line::new().add(Style::PLAIN, &facts).wrapped(width));
    lines.extend(verdict_lines(head, is_small).into_iter().flat_map(|line| line.wrapped(width)));
    lines.extend(head.legend.iter().flat_map(|legend| legend.clone().wrapped(width)));
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
