//! What is said of an answer, in its order: the same as text (`report.rs`) and on a page (`lib/core/view`).

use std::collections::BTreeMap;

use super::answer::{Answer, OF_MESSAGES, Packed};
use super::kind::{Group, KindStat};
use super::{ConversationsStat, Distribution, GamesStat, Messages, PuzzlesStat, TokensStat};
use crate::cli::{grouped, size};
use crate::puzzle::{self, Side};

/// Names in a list.
const ROWS: usize = 40;

/// What is said under one head; the first has none.
#[derive(Debug, Default)]
pub struct Section<'a> {
    pub head: String,
    pub lines: Vec<Line<'a>>,
}

#[derive(Debug)]
pub enum Line<'a> {
    /// A number, with its unit.
    Fact { name: String, value: String },
    /// A number of so many.
    Share { name: String, count: u64, all: u64 },
    /// So many names were left out.
    More(usize),
    /// How often each length (score, tile) occurs.
    Distribution(&'a Distribution),
    /// For each name how many there are, and their lengths if they have one.
    Names { column: String, what: &'static str, rows: Vec<NamedLengths<'a>> },
}

#[derive(Debug)]
pub struct NamedLengths<'a> {
    pub name: &'a str,
    pub count: u64,
    pub lengths: Option<&'a Distribution>,
}

impl Answer {
    /// What was measured: its inputs and the type of its records.
    pub fn title(&self) -> (String, &str) {
        let inputs = match self.inputs.as_slice() {
            [only] => only.clone(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
            [] => "stdin".to_string(),
        };
        (inputs, if self.kind == "other" { "" } else { self.kind.as_str() })
    }

    /// The three numbers that are asked for first.
    pub fn headline(&self) -> [(&'static str, String); 3] {
        let all = grouped(self.all.records);
        let median = |of: &Distribution| plain(of.percentile(50));
        match &self.all.numbers {
            KindStat::Tokens(stat) => {
                let trained = match stat.masked {
                    0 => "no masks".to_string(),
                    _ => share(stat.supervised, stat.tokens),
                };
                [("sequences", all), ("tokens", grouped(stat.tokens)), ("trained on", trained)]
            }
            KindStat::Conversation(stat) => [
                ("conversations", all),
                ("characters", grouped(stat.lengths.sum())),
                ("characters, median", median(&stat.lengths)),
            ],
            KindStat::Game(stat) => [
                ("games", all),
                ("steps", grouped(stat.steps.sum())),
                ("score, median", median(&stat.scores)),
            ],
            KindStat::Puzzle(stat) => [
                ("examples", all),
                ("puzzles", grouped(stat.puzzles.count)),
                ("given cells, median", median(&stat.given)),
            ],
            KindStat::Other => {
                let sizes = [self.size_on_disk, Some(self.all.bytes)];
                let [disk, data] = sizes.map(|b| b.map_or("-".to_string(), |b| size(b as f64)));
                [("records", all), ("size on disk", disk), ("data size", data)]
            }
        }
    }

    /// How many sequences there are of which nothing is trained on, if there are masks.
    pub fn unsupervised(&self) -> Option<u64> {
        match &self.all.numbers {
            KindStat::Tokens(stat) if stat.masked > 0 => Some(stat.nothing_supervised),
            _ => None,
        }
    }

    /// All that is said; `by` as in the options.
    pub fn sections(&self, by: Option<&str>) -> Vec<Section<'_>> {
        let mut out = Sections(vec![Section::default()]);
        out.number("records", self.all.records);
        if let Some(bytes) = self.size_on_disk {
            out.fact("size on disk", size(bytes as f64));
        }
        out.fact("data size", size(self.all.bytes as f64));
        match &self.all.numbers {
            KindStat::Tokens(stat) => tokens(&mut out, self, stat),
            KindStat::Conversation(stat) => conversations(&mut out, self, stat),
            KindStat::Game(stat) => games(&mut out, stat),
            KindStat::Puzzle(stat) => puzzles(&mut out, self, stat),
            KindStat::Other => {}
        }
        if let Some(by) = &self.by {
            groups(&mut out, &by.column, &by.groups);
        }
        let messages = match &self.all.numbers {
            KindStat::Tokens(stat) => Some((&stat.messages, "tokens")),
            KindStat::Conversation(stat) => Some((&stat.messages, "characters")),
            _ => None,
        };
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

struct Sections<'a>(Vec<Section<'a>>);

impl<'a> Sections<'a> {
    fn head(&mut self, head: &str) {
        self.0.push(Section { head: head.to_string(), lines: Vec::new() });
    }

    /// Adds a line under the last head.
    fn line(&mut self, line: Line<'a>) {
        if let Some(last) = self.0.last_mut() {
            last.lines.push(line);
        }
    }

    fn fact(&mut self, name: &str, value: String) {
        self.line(Line::Fact { name: name.to_string(), value });
    }

    fn number(&mut self, name: &str, value: u64) {
        self.fact(name, grouped(value));
    }

    fn share(&mut self, name: &str, count: u64, all: u64) {
        self.line(Line::Share { name: name.to_string(), count, all });
    }

    fn distribution(&mut self, head: &str, of: &'a Distribution) {
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

    fn shares(&mut self, head: &str, all: u64, shares: impl Iterator<Item = (String, u64)>) {
        let mut shares: Vec<(String, u64)> = shares.collect();
        if shares.is_empty() {
            return;
        }
        // The most frequent first.
        shares.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        self.head(head);
        for (name, count) in shares.iter().take(ROWS) {
            self.share(if name.is_empty() { "(none)" } else { name }, *count, all);
        }
        if shares.len() > ROWS {
            self.line(Line::More(shares.len() - ROWS));
        }
    }
}

fn share(count: u64, all: u64) -> String {
    format!("{:.1} %", if all == 0 { 0.0 } else { count as f64 / all as f64 * 100.0 })
}

/// A quantile: whole if it is, else with one digit.
fn plain(value: Option<f64>) -> String {
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

/// The quantiles of a distribution, for people.
pub fn quantiles(of: &Distribution) -> [String; 6] {
    let [min, max] = [of.min(), of.max()].map(|value| value.map_or("-".to_string(), grouped));
    let [median, p90, p99] = [50, 90, 99].map(|p| plain(of.percentile(p)));
    [min, median, plain(of.mean()), p90, p99, max]
}

fn messages(out: &mut Sections<'_>, messages: &Messages, unit: &str, all: u64) {
    let Messages { roles, channels } = messages;
    for (head, named) in [("role", roles), ("channel", channels)] {
        let head = format!("{unit} by {head}");
        out.shares(&head, all, named.iter().map(|(name, of)| (name.clone(), of.sum())));
    }
}

fn repeated(out: &mut Sections<'_>, answer: &Answer, what: &str) {
    let Some(repeated) = answer.repeated else { return };
    for (name, count) in [("duplicate ids", repeated.ids), (what, repeated.texts)] {
        if let Some(count) = count {
            out.share(name, count, answer.all.records);
        }
    }
}

fn tokens<'a>(out: &mut Sections<'a>, answer: &Answer, stat: &'a TokensStat) {
    out.number("tokens", stat.tokens);
    if let Some(Packed { rows, seq_length, used }) = answer.packed {
        out.head("rows for trainers");
        out.number("rows", rows);
        if let Some(length) = seq_length {
            out.number("positions of a row", length);
            out.share("positions used", used, rows.saturating_mul(length));
        }
    }
    out.head("sequences");
    let all = answer.all.records;
    out.share("no reasoning", stat.no_reasoning, all);
    out.share("no final", stat.no_final, all);
    if stat.masked > 0 {
        out.share("nothing supervised", stat.nothing_supervised, all);
    }
    if stat.masked < all {
        out.share("without masks", all - stat.masked, all);
    }
    if stat.without_messages > 0 {
        out.share("messages not known", stat.without_messages, all);
    }
    if let Some(most) = answer.seq_length {
        out.share(&format!("longer than {most}"), stat.longer, all);
    }
    repeated(out, answer, "repeated texts");
    out.distribution("tokens of a sequence", &stat.lengths);
    if stat.masked > 0 {
        let spans = stat.spans.iter().map(|(id, count)| (span_name(*id), *count));
        let loss = ("loss mask".to_string(), stat.supervised);
        out.shares("positions by span", stat.tokens, spans.chain([loss]));
    }
    messages(out, &stat.messages, "tokens", stat.tokens);
    if stat.outside > 0 {
        out.share("(in no message)", stat.outside, stat.tokens);
    }
}

fn span_name(id: u8) -> String {
    match id {
        1 => "1 reasoning".to_string(),
        2 => "2 final".to_string(),
        other => other.to_string(),
    }
}

fn conversations<'a>(out: &mut Sections<'a>, answer: &Answer, stat: &'a ConversationsStat) {
    let all = answer.all.records;
    out.number("characters", stat.lengths.sum());
    out.head("conversations");
    out.share("no reasoning", stat.no_reasoning, all);
    out.share("no final", stat.no_final, all);
    if stat.without_messages > 0 {
        out.share("unreadable messages", stat.without_messages, all);
    }
    repeated(out, answer, "repeated texts");
    out.distribution("characters of a conversation", &stat.lengths);
    messages(out, &stat.messages, "characters", stat.lengths.sum());
}

fn games<'a>(out: &mut Sections<'a>, stat: &'a GamesStat) {
    out.number("steps", stat.steps.sum());
    if let Some(share) = stat.legality() {
        out.fact("legal moves", format!("{:.2} %", share * 100.0));
    }
    out.distribution("steps of a game", &stat.steps);
    out.distribution("scores", &stat.scores);
    let tiles = stat.tiles.counts().map(|(tile, count)| (grouped(tile), count));
    out.shares("games by largest tile", stat.tiles.count(), tiles);
    let valuations = stat.valuations.iter().map(|(name, count)| (name.clone(), *count));
    out.shares("steps by valuation", stat.steps.sum(), valuations);
}

fn puzzles<'a>(out: &mut Sections<'a>, answer: &Answer, stat: &'a PuzzlesStat) {
    out.number("puzzles", stat.puzzles.count);
    out.number("groups", stat.groups.count);
    repeated(out, answer, "repeated examples");
    let all = answer.all.records;
    let of = |named: &BTreeMap<String, u64>| named.clone().into_iter();
    out.shares("examples by domain", all, of(&stat.domains));
    out.shares("examples by split", all, of(&stat.splits));
    if stat.sets.len() > 1 {
        out.shares("examples by set", all, of(&stat.sets));
    }
    out.distribution("given cells of an example", &stat.given);
    // Tokens mean something where all examples are of one domain.
    let domain = match stat.domains.keys().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [only] => puzzle::domain(only),
        _ => None,
    };
    let sides = [(Side::Inputs, "inputs", &stat.inputs), (Side::Labels, "labels", &stat.labels)];
    for (side, of, counts) in sides {
        let name = |token: i32| {
            let meaning = domain.and_then(|domain| domain.meaning(side, token));
            meaning.map_or(token.to_string(), |meaning| format!("{token} {meaning}"))
        };
        let cells = counts.values().sum();
        let named = counts.iter().map(|(token, count)| (name(*token), *count));
        out.shares(&format!("tokens of {of}"), cells, named);
    }
}

fn groups<'a>(out: &mut Sections<'a>, column: &str, groups: &'a BTreeMap<String, Group>) {
    let unit = groups.values().find_map(|group| group.numbers.lengths()).map_or("", |l| l.0);
    let rows = groups.iter().map(|(name, group)| {
        let lengths = group.numbers.lengths().map(|(_, of)| of);
        NamedLengths { name, count: group.records, lengths }
    });
    out.names((column, "records", unit), rows.collect());
}
