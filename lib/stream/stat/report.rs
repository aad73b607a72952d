//! An answer as text for people: as wide as the screen, but 50 to 80 columns; bars without colour.

use std::fmt::Write as _;

use super::Distribution;
use super::answer::Answer;
use super::sections::{Line, NamedLengths, QUANTILES, quantiles};
use crate::record::plural_of;
use crate::wording::grouped;

/// The longest bar.
const BAR: usize = 24;
/// Bars of a histogram.
const BARS: u64 = 12;

/// Returns the text for a screen of this many columns; `by` as in the options.
pub fn report(answer: &Answer, by: Option<&str>, columns: usize) -> String {
    let columns = columns.clamp(50, 80);
    let is_wide = columns == 80;
    let (name, value) = if is_wide { (22, 15) } else { (18, 13) };
    let mut out = Lines { text: String::new(), columns, is_wide, name, value };
    let (inputs, kind) = answer.title();
    let what = plural_of(kind);
    out.line(&format!("{}: {what}", cut(&inputs, columns - what.len() - 2)));
    for section in answer.sections(by) {
        if !section.head.is_empty() {
            out.line("");
            out.line(&section.head);
        }
        for line in section.lines {
            match line {
                Line::Fact { name, value } => {
                    let (width, values) = (out.name, out.value);
                    let name = cut(&name, columns.saturating_sub(values + 3));
                    out.line(&format!("  {name:<width$} {value:>values$}"));
                }
                Line::Share { name, count, all } => out.share(&name, count, all),
                Line::More(names) => {
                    out.line(&format!("  ... and {} more", grouped(names as u64)));
                }
                Line::Distribution(of) => out.distribution(of),
                Line::Names { column, what, rows } => out.names((&column, what), &rows),
            }
        }
    }
    out.text
}

struct Lines {
    text: String,
    columns: usize,
    /// Whether every table has its full width.
    is_wide: bool,
    /// The width of names in a table, and of values.
    name: usize,
    value: usize,
}

impl Lines {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}", text.trim_end());
    }

    /// Adds a line of a table that ends in a bar.
    fn bar_line(&mut self, text: &str, value: u64, most: u64) {
        let left = self.columns.saturating_sub(text.chars().count() + 1);
        self.line(&format!("{text} {}", bar(value, most, left.min(BAR))));
    }

    /// Adds a number with its share of all, as a bar.
    fn share(&mut self, name: &str, value: u64, all: u64) {
        let share = if all == 0 { 0.0 } else { value as f64 / all as f64 };
        let (width, values, percent) = (self.name, self.value, share * 100.0);
        let name = cut(name, width);
        let text = format!("  {name:<width$} {:>values$} {percent:>6.2} %", grouped(value));
        self.bar_line(&text, value, all);
    }

    fn distribution(&mut self, of: &Distribution) {
        let in_a_line = if self.is_wide { QUANTILES.len() } else { QUANTILES.len() / 2 };
        let values = quantiles(of);
        for (names, values) in QUANTILES.chunks(in_a_line).zip(values.chunks(in_a_line)) {
            let names: Vec<String> = names.iter().map(|name| format!("{name:>12}")).collect();
            let values: Vec<String> = values.iter().map(|value| format!("{value:>12}")).collect();
            self.line(&format!("  {}", names.join(" ")));
            self.line(&format!("  {}", values.join(" ")));
        }
        let mut bars = of.histogram(BARS);
        // Numbers that do not occur are one line.
        bars.dedup_by(|next, last| {
            let are_empty = next.2 == 0 && last.2 == 0;
            last.1 = if are_empty { next.1 } else { last.1 };
            are_empty
        });
        let most = bars.iter().map(|bar| bar.2).max().unwrap_or(0);
        for (first, last, count) in bars {
            let range = if first == last {
                grouped(first)
            } else {
                format!("{} – {}", grouped(first), grouped(last))
            };
            self.bar_line(&format!("  {range:>25} {:>13}", grouped(count)), count, most);
        }
    }

    /// Adds one line for each name: the count, and the lengths.
    fn names(&mut self, (column, what): (&str, &str), rows: &[NamedLengths<'_>]) {
        // Only records of some types have lengths.
        let has_lengths = rows.iter().any(|row| row.lengths.is_some());
        let heads = [what, "all", "median", "p99", "max"];
        self.named_line(column, if has_lengths { heads } else { [what, "", "", "", ""] });
        let none = Distribution::default();
        for NamedLengths { name, count, lengths } in rows {
            let of = lengths.unwrap_or(&none);
            let [_, median, _, _, p99, max] = quantiles(of);
            let name = if name.is_empty() { "(none)" } else { name };
            let (count, sum) = (grouped(*count), grouped(of.sum()));
            let lengths = [count.as_str(), &sum, &median, &p99, &max];
            self.named_line(name, if has_lengths { lengths } else { [&count, "", "", "", ""] });
        }
    }

    /// Adds values after their name, or below it.
    fn named_line(&mut self, name: &str, [count, sum, median, p99, max]: [&str; 5]) {
        if self.is_wide {
            let (width, name) = (self.name, cut(name, self.name));
            return self.line(&format!(
                "  {name:<width$} {count:>11} {sum:>13} {median:>8} {p99:>8} {max:>8}"
            ));
        }
        self.line(&format!("  {}", cut(name, self.columns - 2)));
        self.line(&format!("  {count:>9} {sum:>13} {median:>7} {p99:>7} {max:>7}"));
    }
}

/// Draws a bar whose length is a share of `columns`, in eighths of a column; a bar that is not
/// empty is always visible.
fn bar(value: u64, most: u64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if value == 0 || most == 0 {
        return String::new();
    }
    let longest = columns * 8;
    let eighths = u128::from(value) * longest as u128 / u128::from(most);
    let eighths = (eighths as usize).clamp(1.min(longest), longest);
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Returns a name of the data in at most `most` columns, with control characters as escapes.
fn cut(name: &str, most: usize) -> String {
    let plain: String = name.chars().flat_map(shown_character).collect();
    if plain.chars().count() > most {
        plain.chars().take(most - 1).chain(['…']).collect()
    } else {
        plain
    }
}

fn shown_character(character: char) -> impl Iterator<Item = char> {
    let is_invisible = character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let text = if is_invisible { character.escape_unicode().to_string() } else { character.into() };
    text.chars().collect::<Vec<char>>().into_iter()
}
