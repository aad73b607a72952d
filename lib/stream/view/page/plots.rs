//! Plots as SVG in the page. Bars are placed in percent of the width, and their labels are text beside the
//! picture, so that a plot can be read on a narrow screen.

use std::fmt::Write as _;

use super::escape::{cut, escaped};
use crate::stat::{Bar, Distribution, Plot, QUANTILES, quantiles};
use crate::wording::grouped;

/// How many bars a histogram has.
const BARS: u64 = 30;
/// The most characters of a name and the most rows of a table.
const NAME: usize = 60;
const ROWS: usize = 200;
const FIRST_ROWS: usize = 10;

fn range(first: u64, last: u64) -> String {
    match first == last {
        true => grouped(first),
        false => format!("{} – {}", grouped(first), grouped(last)),
    }
}

/// Returns a share in percent, for bars and text.
fn percent(count: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { count as f64 / all as f64 * 100.0 }
}

/// Writes a distribution: bars on an axis with the median, quantiles, and the same numbers as a
/// table.
pub fn distribution(out: &mut String, head: &str, of: &Distribution) {
    let Some(plot) = of.plot(BARS) else { return };
    let values = quantiles(of);
    let quantiles: Vec<String> =
        QUANTILES.iter().zip(&values).map(|(n, v)| format!("{n} {v}")).collect();
    let head = escaped(head);
    let _ = write!(
        out,
        "<figure class=\"plot\"><figcaption>{head}</figcaption>\
         <svg role=\"img\" class=\"bars\" aria-label=\"{head}: {}\"><title>{head}</title>",
        quantiles.join(", ")
    );
    let most = plot.bars.iter().map(|bar| bar.count).max().unwrap_or(0);
    for Bar { first, last, count, start, end } in &plot.bars {
        // A bar that is not empty is always visible.
        let height = percent(*count, most).max(1.0);
        let _ = write!(
            out,
            "<rect x=\"{:.3}%\" y=\"{:.2}%\" width=\"{:.3}%\" height=\"{height:.2}%\">\
             <title>{}: {}</title></rect>",
            start * 100.0,
            100.0 - height,
            (end - start) * 90.0,
            range(*first, *last),
            grouped(*count)
        );
    }
    let median = plot.median * 100.0;
    let _ = write!(
        out,
        "<line class=\"median\" x1=\"{median:.3}%\" x2=\"{median:.3}%\" y1=\"0\" y2=\"100%\"/></svg>"
    );
    ticks(out, &plot);
    let axis = if plot.is_logarithmic { "logarithmic" } else { "linear" };
    let _ = write!(
        out,
        "<p>Axis: {axis}. Dashed: the median. The highest bar: {}.</p><dl class=\"facts\">",
        grouped(most)
    );
    for (name, value) in QUANTILES.iter().zip(&values) {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    out.push_str("</dl>");
    bars_as_table(out, &plot.bars);
    out.push_str("</figure>");
}

/// Writes the numbers below the bars.
fn ticks(out: &mut String, plot: &Plot) {
    out.push_str("<svg class=\"ticks\" aria-hidden=\"true\">");
    for (number, place) in &plot.ticks {
        let anchor = match *place {
            place if place < 0.06 => "start",
            place if place > 0.94 => "end",
            _ => "middle",
        };
        let (place, number) = (place * 100.0, grouped(*number));
        let _ = write!(
            out,
            "<line x1=\"{place:.3}%\" x2=\"{place:.3}%\" y1=\"0\" y2=\"5\"/>\
             <text x=\"{place:.3}%\" y=\"18\" text-anchor=\"{anchor}\">{number}</text>"
        );
    }
    out.push_str("</svg>");
}

fn bars_as_table(out: &mut String, bars: &[Bar]) {
    out.push_str("<details><summary>The bars as a table</summary><table>");
    for Bar { first, last, count, .. } in bars {
        let (range, count) = (range(*first, *last), grouped(*count));
        let _ = write!(out, "<tr><th scope=\"row\">{range}</th><td>{count}</td></tr>");
    }
    out.push_str("</table></details>");
}

/// A name, its count, and the count of all.
pub type Share<'a> = (&'a str, u64, u64);

/// Writes names with their shares: the first rows are visible, the others can be opened.
pub fn shares(out: &mut String, head: &str, shares: &[Share<'_>]) {
    let table = |out: &mut String, label: &str, rows: &[Share<'_>]| {
        let _ = write!(out, "<table class=\"shares\" aria-label=\"{label}\">");
        rows.iter().for_each(|row| share(out, *row));
        out.push_str("</table>");
    };
    let head = escaped(head);
    let (first, others) = shares.split_at(shares.len().min(FIRST_ROWS));
    if !first.is_empty() {
        table(out, &head, first);
    }
    if !others.is_empty() {
        let _ = write!(out, "<details><summary>{} more</summary>", grouped(others.len() as u64));
        table(out, &format!("{head}, more"), &others[..others.len().min(ROWS)]);
        out.push_str("</details>");
    }
}

/// Writes a share as a row of a table with a bar.
fn share(out: &mut String, (name, count, all): Share<'_>) {
    let percent = percent(count, all);
    // A share that is not 0 is always visible.
    let width = if count > 0 { percent.max(0.5) } else { 0.0 };
    let _ = write!(
        out,
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{percent:.2} %</td><td class=\"share\">\
         <svg aria-hidden=\"true\"><rect width=\"{:.2}%\" height=\"100%\"/></svg></td></tr>",
        cut(name, NAME),
        grouped(count),
        width.min(100.0)
    );
}

/// A point of a line: its place on the axis, the mean there, and the range around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub x: u64,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

/// Draws lines through the points that are at most `width` apart, with the ranges around them.
pub fn line(out: &mut String, head: &str, unit: &str, width: u64, points: &[Point]) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    let low = points.iter().map(|point| point.min).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|point| point.max).fold(f64::NEG_INFINITY, f64::max);
    let x = |point: &Point| (point.x - first.x) as f64 / (last.x - first.x).max(1) as f64 * 100.0;
    let y = |value: f64| match high > low {
        true => (high - value) / (high - low) * 100.0,
        false => 50.0,
    };
    let place = |point: &Point, value: f64| format!("{:.2},{:.2} ", x(point), y(value));
    let (mut bands, mut path) = (String::new(), String::new());
    for run in points.chunk_by(|a, b| b.x - a.x <= width) {
        let upper = run.iter().map(|point| place(point, point.max));
        let lower = run.iter().rev().map(|point| place(point, point.min));
        let band: String = upper.chain(lower).collect();
        let _ = write!(bands, "<polygon points=\"{}\"/>", band.trim_end());
        let mean: String = run.iter().map(|point| place(point, point.mean)).collect();
        // A line of no length: a single point is visible too.
        let _ = write!(path, "M{}h0", mean.trim_end().replacen(' ', "L", 1));
    }
    let head = cut(head, NAME);
    let (low, high) = (short(low), short(high));
    let (start, end) = (grouped(first.x), grouped(last.x));
    let _ = write!(
        out,
        "<figure class=\"plot\"><figcaption>{head}</figcaption>\
         <div class=\"axis\"><span>{high}</span></div>\
         <svg role=\"img\" class=\"line\" viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" \
         aria-label=\"{head}: from {low} to {high} over {unit} {start} to {end}\">\
         <title>{head}</title>{bands}<path d=\"{path}\"/></svg>\
         <div class=\"axis\"><span>{low}</span></div>\
         <div class=\"axis\"><span>{unit} {start}</span><span>{end}</span></div>\
         <p>The line is the mean of {}, the area from the least to the greatest.</p></figure>",
        match width {
            1 => format!("each {unit}"),
            _ => format!("{width} {unit}s"),
        }
    );
}

/// Returns a number of an axis as text.
pub fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        size if size >= 1e6 => format!("{value:.3e}"),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.2e}"),
    }
}
