//! What is printed of an answer, in order: the same as text (`report.rs`) and on a page (`lib/stream/view`).

use std::collections::BTreeMap;

use super::answer::{Answer, OF_MESSAGES};
use super::kind::Group;
use super::{Distribution, LongestRecords, Messages};
use crate::wording::{grouped, size};

/// The most names in a list.
const ROWS: usize = 40;

/// The lines under one head; the first section has none.
#[derive(Debug, Default)]
pub struct Section<'a> {
    pub head: String,
    pub lines: Vec<Line<'a>>,
}

#[derive(Debug)]
pub enum Line<'a> {
    /// A number with its unit.
    Fact { name: String, value: String },
    /// A number as a share of all.
    Share { name: String, count: u64, all: u64 },
    /// The number of names that were left out.
    More(usize),
    /// How often each length (score, tile) occurs.
    Distribution(&'a Distribution),
    /// For each name its count, and its lengths if it has any.
    Names { column: String, what: &'static str, rows: Vec<NamedLengths<'a>> },
}

#[derive(Debug)]
pub struct NamedLengths<'a> {
    pub name: &'a str,
    pub count: u64,
    pub lengths: Option<&'a Distribution>,
}

impl Answer {
    /// Returns the title: the inputs and the type of the records.
    pub fn title(&self) -> (String, &str) {
        let inputs = match self.inputs.as_slice() {
            [only] => only.clone(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
            [] => "stdin".to_string(),
        };
        (inputs, if self.kind == "other" { "" } else { self.kind.as_str() })
    }

    /// Returns the three most important numbers.
    pub fn headline(&self) -> [(&'static str, String); 3] {
        let all = grouped(self.all.records);
        if let Some(numbers) = self.all.numbers.numbers() {
            return numbers.headline(all);
        }
        let sizes = [self.size_on_disk, Some(self.all.bytes)];
        let [disk, data] = sizes.map(|b| b.map_or("-".to_string(), |b| size(b as f64)));
        [("records", all), ("size on disk", disk), ("data size", data)]
    }

    /// Returns how many sequences have masks and are not trained on at all, if there are masks.
    pub fn unsupervised(&self) -> Option<u64> {
        self.all.numbers.numbers()?.unsupervised()
    }

    /// Returns all sections; `by` as in the options.
    pub fn sections(&self, by: Option<&str>) -> Vec<Section<'_>> {
        let mut out = Sections(vec![Section::default()]);
        out.number("records", self.all.records);
        if let Some(bytes) = self.size_on_disk {
            out.fact("size on disk", size(bytes as f64));
        }
        out.fact("data size", size(self.all.bytes as f64));
        let numbers = self.all.numbers.numbers();
        if let Some(numbers) = numbers {
            numbers.sections(&mut out, self);
        }
        if let Some(by) = &self.by {
            groups(&mut out, &by.column, &by.groups);
        }
        let messages = numbers.and_then(|numbers| numbers.messages());
        let by = by.filter(|by| OF_MESSAGES.contains(by));
        if let (Some((messages, unit)), Some(by)) = (messages, by) {
            let named = if by == "role" { &messages.roles } else { &messages.channels };
            let rows = named.iter().map(|(name, of)| {
                let count = of.count();
                NamedLengths { name, count, lengths: Some(of) }
            });
            out.names((by, "messages", unit), rows.collect());
        }
        out.0
    }
}

/// The sections so far.
pub struct Sections<'a>(Vec<Section<'a>>);

impl<'a> Sections<'a> {
    pub fn head(&mut self, head: &str) {
        self.0.push(Section { head: head.to_string(), lines: Vec::new() });
    }

    /// Adds a line under the last head.
    fn line(&mut self, line: Line<'a>) {
        if let Some(last) = self.0.last_mut() {
            last.lines.push(line);
        }
    }

    pub fn fact(&mut self, name: &str, value: String) {
        self.line(Line::Fact { name: name.to_string(), value });
    }

    pub fn number(&mut self, name: &str, value: u64) {
        self.fact(name, grouped(value));
    }

    pub fn share(&mut self, name: &str, count: u64, all: u64) {
        self.line(Line::Share { name: name.to_string(), count, all });
    }

    pub fn distribution(&mut self, head: &str, of: &'a Distribution) {
        if of.count() > 0 {
            self.head(head);
            self.line(Line::Distribution(of));
        }
    }

    fn names(
        &mut self,
        (column, what, unit): (&str, &'static str, &str),
        rows: Vec<NamedLengths<'a>>,
    ) {
        match unit {
            "" => self.head(&format!("{what} by {column}")),
            unit => self.head(&format!("{what} by {column}, and their {unit}")),
        }
        self.line(Line::Names { column: column.to_string(), what, rows });
    }

    pub fn shares(&mut self, head: &str, all: u64, shares: impl Iterator<Item = (String, u64)>) {
        let mut shares: Vec<(String, u64)> = shares.collect();
        if shares.is_empty() {
            return;
        }
        // The most frequent comes first.
        shares.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        self.head(head);
        for (name, count) in shares.iter().take(ROWS) {
            self.share(if name.is_empty() { "(none)" } else { name }, *count, all);
        }
        if shares.len() > ROWS {
            self.line(Line::More(shares.len() - ROWS));
        }
    }
    /// Adds messages by role and by channel; `all` is the sum of `unit` over the records.
    pub fn messages(&mut self, messages: &Messages, unit: &str, all: u64) {
        let Messages { roles, channels } = messages;
        for (head, named) in [("role", roles), ("channel", channels)] {
            let head = format!("{unit} by {head}");
            self.shares(&head, all, named.iter().map(|(name, of)| (name.clone(), of.sum())));
        }
    }

    /// Adds the longest records by their ids, if they have any.
    pub fn longest(&mut self, head: &str, longest: &LongestRecords) {
        if longest.iter().next().is_some() {
            self.head(head);
            longest.iter().for_each(|(id, length)| self.number(id, length));
        }
    }

    /// Adds the repeats, if they were searched for; `what` names the texts.
    pub fn repeated(&mut self, answer: &Answer, what: &str) {
        let Some(repeated) = answer.repeated else { return };
        for (name, count) in [("duplicate ids", repeated.ids), (what, repeated.texts)] {
            if let Some(count) = count {
                self.share(name, count, answer.all.records);
            }
        }
    }
}

/// Returns a share in percent.
pub fn share(count: u64, all: u64) -> String {
    format!("{:.1} %", if all == 0 { 0.0 } else { count as f64 / all as f64 * 100.0 })
}

/// Returns a quantile as text: an integer if it is whole, else with one digit.
pub fn plain(value: Option<f64>) -> String {
    match value {
        None => "-".to_string(),
        Some(value) if value.fract() == 0.0 => grouped(value as u64),
        Some(value) => {
            let tenths = (value * 10.0).round() as u64;
            format!("{}.{}", grouped(tenths / 10), tenths % 10)
        }
    }
}

/// Names of [`quantiles`].
pub const QUANTILES: [&str; 6] = ["min", "median", "mean", "p90", "p99", "max"];

/// Returns the quantiles of a distribution as text.
pub fn quantiles(of: &Distribution) -> [String; 6] {
    let [min, max] = [of.min(), of.max()].map(|value| value.map_or("-".to_string(), grouped));
    let [median, p90, p99] = [50, 90, 99].map(|p| plain(of.percentile(p)));
    [min, median, plain(of.mean()), p90, p99, max]
}

fn groups<'a>(out: &mut Sections<'a>, column: &str, groups: &'a BTreeMap<String, Group>) {
    let lengths = |group: &'a Group| group.numbers.numbers().map(|numbers| numbers.lengths());
    let unit = groups.values().find_map(lengths).map_or("", |(unit, _)| unit);
    let rows = groups.iter().map(|(name, group)| NamedLengths {
        name,
        count: group.records,
        lengths: lengths(group).map(|(_, of)| of),
    });
    out.names((column, "records", unit), rows.collect());
}
