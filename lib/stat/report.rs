//! An answer as text for people: at most 80 columns, bars without colour.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::answer::{Answer, OF_MESSAGES};
use super::kind::{Group, KindStat};
use super::{ConversationsStat, Distribution, GamesStat, Messages, PuzzlesStat, TokensStat};
use crate::cli::{grouped, size};

/// The widest name in a table.
const NAME: usize = 22;
/// The longest bar.
const BAR: u64 = 24;
/// Bars of a histogram, and rows of a table.
const BARS: u64 = 12;
const ROWS: usize = 40;

/// The text; `by` as in the options.
pub fn report(answer: &Answer, by: Option<&str>) -> String {
    let mut out = Lines::default();
    let inputs = match answer.inputs.as_slice() {
        [only] => only.clone(),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
        [] => "stdin".to_string(),
    };
    let kind = if answer.kind == "other" { "" } else { answer.kind.as_str() };
    out.line(&format!("{}: {}", cut(&inputs, 60), [kind, "records"].join(" ").trim()));
    out.number("records", answer.all.records);
    out.text("bytes of values", &size(answer.all.bytes as f64));
    match &answer.all.numbers {
        KindStat::Tokens(stat) => tokens(&mut out, answer, stat),
        KindStat::Conversation(stat) => conversations(&mut out, answer, stat),
        KindStat::Game(stat) => games(&mut out, stat),
        KindStat::Puzzle(stat) => puzzles(&mut out, answer, stat),
        KindStat::Other => {}
    }
    if let Some(by) = &answer.by {
        groups(&mut out, &by.column, &by.groups);
    }
    let messages = match &answer.all.numbers {
        KindStat::Tokens(stat) => Some((&stat.messages, "tokens")),
        KindStat::Conversation(stat) => Some((&stat.messages, "characters")),
        _ => None,
    };
    if let (Some((messages, unit)), Some(by)) = (messages, by.filter(|by| OF_MESSAGES.contains(by)))
    {
        let named = if by == "role" { &messages.roles } else { &messages.channels };
        lengths_by_name(&mut out, (by, "messages", unit), named.iter());
    }
    out.0
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.0, "{}", text.trim_end());
    }

    fn head(&mut self, text: &str) {
        self.line("");
        self.line(text);
    }

    fn text(&mut self, name: &str, value: &str) {
        self.line(&format!("  {name:<NAME$} {value:>15}"));
    }

    fn number(&mut self, name: &str, value: u64) {
        self.text(name, &grouped(value));
    }

    /// A number with its share of all, as a bar.
    fn share(&mut self, name: &str, value: u64, all: u64) {
        let share = if all == 0 { 0.0 } else { value as f64 / all as f64 };
        let bar = bar(value, all);
        let name = cut(name, NAME);
        let percent = share * 100.0;
        self.line(&format!("  {name:<NAME$} {:>15} {percent:>6.2} % {bar}", grouped(value)));
    }
}

/// A bar whose length is a share, in eighths of a column; something is always seen.
fn bar(value: u64, most: u64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if value == 0 || most == 0 {
        return String::new();
    }
    let eighths = u128::from(value) * u128::from(BAR * 8) / u128::from(most);
    let eighths = (eighths as usize).clamp(1, BAR as usize * 8);
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// A name of the data in so many columns, control characters as their escapes.
fn cut(name: &str, most: usize) -> String {
    let plain: String = name.chars().flat_map(shown_character).collect();
    match plain.chars().count() > most {
        true => plain.chars().take(most - 1).chain(['…']).collect(),
        false => plain,
    }
}

fn shown_character(character: char) -> impl Iterator<Item = char> {
    let is_invisible = character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let text = if is_invisible { character.escape_unicode().to_string() } else { character.into() };
    text.chars().collect::<Vec<char>>().into_iter()
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

fn quantiles(of: &Distribution) -> [String; 6] {
    let [min, max] = [of.min(), of.max()].map(|value| value.map_or("-".to_string(), grouped));
    let [median, p90, p99] = [50, 90, 99].map(|p| plain(of.percentile(p)));
    [min, median, plain(of.mean()), p90, p99, max]
}

fn distribution(out: &mut Lines, head: &str, of: &Distribution) {
    if of.count() == 0 {
        return;
    }
    out.head(head);
    let [min, median, mean, p90, p99, max] = quantiles(of);
    let header = ["min", "median", "mean", "p90", "p99", "max"];
    out.line(&format!("  {}", header.map(|name| format!("{name:>12}")).join(" ")));
    out.line(&format!(
        "  {}",
        [min, median, mean, p90, p99, max].map(|v| format!("{v:>12}")).join(" ")
    ));
    let bars = of.histogram(BARS);
    let most = bars.iter().map(|bar| bar.2).max().unwrap_or(0);
    for (first, last, count) in bars {
        let range = match first == last {
            true => grouped(first),
            false => format!("{} – {}", grouped(first), grouped(last)),
        };
        out.line(&format!("  {range:>25} {:>13} {}", grouped(count), bar(count, most)));
    }
}

fn named_shares<'a>(
    out: &mut Lines,
    head: &str,
    all: u64,
    shares: impl Iterator<Item = (String, u64)> + 'a,
) {
    let mut shares: Vec<(String, u64)> = shares.collect();
    if shares.is_empty() {
        return;
    }
    // The most frequent first.
    shares.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    out.head(head);
    let more = shares.len().saturating_sub(ROWS);
    for (name, count) in shares.iter().take(ROWS) {
        out.share(if name.is_empty() { "(none)" } else { name }, *count, all);
    }
    if more > 0 {
        out.line(&format!("  ... and {} more", grouped(more as u64)));
    }
}

fn messages(out: &mut Lines, messages: &Messages, unit: &str, all: u64) {
    let Messages { roles, channels } = messages;
    for (head, named) in [("role", roles), ("channel", channels)] {
        let head = format!("{unit} by {head}");
        named_shares(out, &head, all, named.iter().map(|(name, of)| (name.clone(), of.sum())));
    }
}

fn repeated(out: &mut Lines, answer: &Answer, what: &str) {
    let Some(repeated) = answer.repeated else { return };
    for (name, count) in [("repeated ids", repeated.ids), (what, repeated.texts)] {
        if let Some(count) = count {
            out.share(name, count, answer.all.records);
        }
    }
}

fn tokens(out: &mut Lines, answer: &Answer, stat: &TokensStat) {
    out.number("tokens", stat.tokens);
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
    distribution(out, "tokens of a sequence", &stat.lengths);
    if stat.masked > 0 {
        let spans = stat.spans.iter().map(|(id, count)| (span_name(*id), *count));
        let loss = ("loss mask".to_string(), stat.supervised);
        named_shares(out, "positions by span", stat.tokens, spans.chain([loss]));
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

fn conversations(out: &mut Lines, answer: &Answer, stat: &ConversationsStat) {
    let all = answer.all.records;
    out.number("characters", stat.lengths.sum());
    out.head("conversations");
    out.share("no reasoning", stat.no_reasoning, all);
    out.share("no final", stat.no_final, all);
    if stat.without_messages > 0 {
        out.share("unreadable messages", stat.without_messages, all);
    }
    repeated(out, answer, "repeated texts");
    distribution(out, "characters of a conversation", &stat.lengths);
    messages(out, &stat.messages, "characters", stat.lengths.sum());
}

fn games(out: &mut Lines, stat: &GamesStat) {
    out.number("steps", stat.steps.sum());
    if let Some(share) = stat.legality() {
        out.text("legal branches", &format!("{:.2} %", share * 100.0));
    }
    distribution(out, "steps of a game", &stat.steps);
    distribution(out, "scores", &stat.scores);
    let tiles = stat.tiles.counts().map(|(tile, count)| (grouped(tile), count));
    named_shares(out, "games by largest tile", stat.tiles.count(), tiles);
    let valuations = stat.valuations.iter().map(|(name, count)| (name.clone(), *count));
    named_shares(out, "steps by valuation", stat.steps.sum(), valuations);
}

fn puzzles(out: &mut Lines, answer: &Answer, stat: &PuzzlesStat) {
    out.number("puzzles", stat.puzzles.count);
    out.number("groups", stat.groups.count);
    repeated(out, answer, "repeated examples");
    let all = answer.all.records;
    let of = |named: &BTreeMap<String, u64>| named.clone().into_iter();
    named_shares(out, "examples by domain", all, of(&stat.domains));
    named_shares(out, "examples by split", all, of(&stat.splits));
    if stat.sets.len() > 1 {
        named_shares(out, "examples by set", all, of(&stat.sets));
    }
    distribution(out, "given cells of an example", &stat.given);
    for (head, counts) in [("tokens of inputs", &stat.inputs), ("tokens of labels", &stat.labels)] {
        let cells = counts.values().sum();
        named_shares(out, head, cells, counts.iter().map(|(token, n)| (token.to_string(), *n)));
    }
}

fn groups(out: &mut Lines, column: &str, groups: &BTreeMap<String, Group>) {
    let unit = groups.values().find_map(|group| group.numbers.lengths()).map_or("", |l| l.0);
    let none = Distribution::default();
    let lengths = |group: &Group| group.numbers.lengths().map(|(_, of)| of.clone());
    let of: Vec<(&String, u64, Distribution)> = groups
        .iter()
        .map(|(name, group)| (name, group.records, lengths(group).unwrap_or(none.clone())))
        .collect();
    table(out, (column, "records", unit), of.iter().map(|(name, count, of)| (*name, *count, of)));
}

fn lengths_by_name<'a>(
    out: &mut Lines,
    heads: (&str, &str, &str),
    named: impl Iterator<Item = (&'a String, &'a Distribution)>,
) {
    table(out, heads, named.map(|(name, of)| (name, of.count(), of)));
}

/// One line for each name: how many, and how long.
fn table<'a>(
    out: &mut Lines,
    (column, what, unit): (&str, &str, &str),
    rows: impl Iterator<Item = (&'a String, u64, &'a Distribution)>,
) {
    out.head(&format!(
        "{what} by {column}{}",
        if unit.is_empty() { String::new() } else { format!(", and their {unit}") }
    ));
    out.line(&format!(
        "  {:<NAME$} {:>11} {:>13} {:>8} {:>8} {:>8}",
        column.chars().take(NAME).collect::<String>(),
        what,
        "all",
        "median",
        "p99",
        "max"
    ));
    for (name, count, of) in rows {
        let [_, median, _, _, p99, max] = quantiles(of);
        let name = if name.is_empty() { "(none)".to_string() } else { cut(name, NAME) };
        let sum = grouped(of.sum());
        out.line(&format!(
            "  {name:<NAME$} {:>11} {sum:>13} {median:>8} {p99:>8} {max:>8}",
            grouped(count)
        ));
    }
}
