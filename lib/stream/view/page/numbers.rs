//! The numbers of ds-stat as a part of the page: the same sections in the same order.

use std::fmt::Write as _;

use super::escape::{cut, escaped};
use super::plots::{self, Share};
use crate::stat::{Distribution, Line, NamedLengths, Section, quantiles};
use crate::wording::grouped;

/// The most characters of a name and the most rows of a table.
const NAME: usize = 60;
const ROWS: usize = 100;

/// Writes each section as a card.
pub fn cards(out: &mut String, sections: &[Section<'_>]) {
    for Section { head, lines } in sections {
        if let [Line::Distribution(of)] = lines.as_slice() {
            plots::distribution(out, head, of);
            continue;
        }
        out.push_str("<section class=\"card\">");
        let _ = write!(out, "<h3>{}</h3>", escaped(if head.is_empty() { "all" } else { head }));
        let facts = lines.iter().filter_map(|line| match line {
            Line::Fact { name, value } => Some((name.as_str(), value.as_str())),
            _ => None,
        });
        facts_list(out, facts);
        let shares: Vec<Share<'_>> = lines
            .iter()
            .filter_map(|line| match line {
                Line::Share { name, count, all } => Some((name.as_str(), *count, *all)),
                _ => None,
            })
            .collect();
        plots::shares(out, head, &shares);
        for line in lines {
            match line {
                Line::More(names) => {
                    let _ = write!(out, "<p>… and {} more</p>", grouped(*names as u64));
                }
                Line::Names { column, what, rows } => names_table(out, (column, what), rows),
                Line::Distribution(of) => plots::distribution(out, head, of),
                Line::Fact { .. } | Line::Share { .. } => {}
            }
        }
        out.push_str("</section>");
    }
}

/// Writes names with their values.
pub fn facts_list<'a>(out: &mut String, facts: impl Iterator<Item = (&'a str, &'a str)>) {
    let mut facts = facts.peekable();
    if facts.peek().is_none() {
        return;
    }
    out.push_str("<dl class=\"facts\">");
    for (name, value) in facts {
        let (name, value) = (cut(name, NAME), escaped(value));
        let _ = write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    out.push_str("</dl>");
}

/// Writes one row for each name: the count, and the lengths.
fn names_table(out: &mut String, (column, what): (&str, &str), rows: &[NamedLengths<'_>]) {
    let most = rows.iter().map(|row| row.count).max().unwrap_or(0);
    // Only records of some types have lengths.
    let has_lengths = rows.iter().any(|row| row.lengths.is_some());
    let heads = if has_lengths { &["all", "median", "p99", "max"][..] } else { &[] };
    let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{head}</th>")).collect();
    let _ = write!(
        out,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{what} by {0}\"><table>\
         <tr><th scope=\"col\">{0}</th><th scope=\"col\">{what}</th><td></td>{heads}</tr>",
        cut(column, NAME)
    );
    let none = Distribution::default();
    for NamedLengths { name, count, lengths } in rows.iter().take(ROWS) {
        let of = lengths.unwrap_or(&none);
        let [_, median, _, _, p99, max] = quantiles(of);
        let name = if name.is_empty() { "(none)".to_string() } else { cut(name, NAME) };
        let width = if most == 0 { 0.0 } else { *count as f64 / most as f64 * 100.0 };
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{name}</th><td>{}</td><td class=\"share\">\
             <svg aria-hidden=\"true\"><rect width=\"{width:.2}%\" height=\"100%\"/></svg></td>",
            grouped(*count),
        );
        if has_lengths {
            let sum = grouped(of.sum());
            let _ = write!(out, "<td>{sum}</td><td>{median}</td><td>{p99}</td><td>{max}</td>");
        }
        out.push_str("</tr>");
    }
    out.push_str("</table></div>");
    if rows.len() > ROWS {
        let _ = write!(out, "<p>… and {} more</p>", grouped((rows.len() - ROWS) as u64));
    }
}
