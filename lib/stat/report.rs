//! An answer as text for people: at most 80 columns, bars without colour.

use std::fmt::Write as _;

use super::Distribution;
use super::answer::Answer;
use super::sections::{Line, NamedLengths, QUANTILES, quantiles};
use crate::cli::grouped;

/// The widest name in a table.
const NAME: usize = 22;
/// The longest bar.
const BAR: u64 = 24;
/// Bars of a histogram.
const BARS: u64 = 12;

/// The text; `by` as in the options.
pub fn report(answer: &Answer, by: Option<&str>) -> String {
    let mut out = Lines::default();
    let (inputs, kind) = answer.title();
    out.line(&format!("{}: {}", cut(&inputs, 60), [kind, "records"].join(" ").trim()));
    for section in answer.sections(by) {
        if !section.head.is_empty() {
            out.line("");
            out.line(&section.head);
        }
        for line in section.lines {
            match line {
                Line::Fact { name, value } => out.line(&format!("  {name:<NAME$} {value:>15}")),
                Line::Share { name, count, all } => out.share(&name, count, all),
                Line::More(names) => {
                    out.line(&format!("  ... and {} more", grouped(names as u64)));
                }
                Line::Distribution(of) => out.distribution(of),
                Line::Names { column, what, rows } => out.names((&column, what), &rows),
            }
        }
    }
    out.0
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.0, "{}", text.trim_end());
    }

    /// A number with its share of all, as a bar.
    fn share(&mut self, name: &str, value: u64, all: u64) {
        let share = if all == 0 { 0.0 } else { value as f64 / all as f64 };
        let bar = bar(value, all);
        let name = cut(name, NAME);
        let percent = share * 100.0;
        self.line(&format!("  {name:<NAME$} {:>15} {percent:>6.2} % {bar}", grouped(value)));
    }

    fn distribution(&mut self, of: &Distribution) {
        self.line(&format!("  {}", QUANTILES.map(|name| format!("{name:>12}")).join(" ")));
        self.line(&format!("  {}", quantiles(of).map(|v| format!("{v:>12}")).join(" ")));
        let bars = of.histogram(BARS);
        let most = bars.iter().map(|bar| bar.2).max().unwrap_or(0);
        for (first, last, count) in bars {
            let range = match first == last {
                true => grouped(first),
                false => format!("{} – {}", grouped(first), grouped(last)),
            };
            self.line(&format!("  {range:>25} {:>13} {}", grouped(count), bar(count, most)));
        }
    }

    /// One line for each name: how many, and how long.
    fn names(&mut self, (column, what): (&str, &str), rows: &[NamedLengths<'_>]) {
        let column: String = column.chars().take(NAME).collect();
        self.line(&format!(
            "  {column:<NAME$} {what:>11} {:>13} {:>8} {:>8} {:>8}",
            "all", "median", "p99", "max"
        ));
        let none = Distribution::default();
        for NamedLengths { name, count, lengths } in rows {
            let of = lengths.unwrap_or(&none);
            let [_, median, _, _, p99, max] = quantiles(of);
            let name = if name.is_empty() { "(none)".to_string() } else { cut(name, NAME) };
            let sum = grouped(of.sum());
            self.line(&format!(
                "  {name:<NAME$} {:>11} {sum:>13} {median:>8} {p99:>8} {max:>8}",
                grouped(*count)
            ));
        }
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
