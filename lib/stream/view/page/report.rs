//! The findings of ds-check and the origin of the records, as parts of the page.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::PageData;
use super::escape::{cut, escaped};
use crate::check::{FindingGroup, Outcome};
use crate::error::{Severity, shown};
use crate::stat::Answer;
use crate::view::{self, Tone, VerdictLine};
use crate::wording::{grouped, of_plural};

/// The most characters of a message and of a value, and the most rows of a table.
const MESSAGE: usize = 300;
const ROWS: usize = 100;

/// Writes the verdict in a line or two.
pub fn verdict(answer: &Answer, outcomes: Option<&[Outcome]>) -> String {
    let class = |tone| match tone {
        Tone::Unknown => "soft",
        Tone::Good => "good",
        Tone::Warning => "warn",
        Tone::Bad => "bad",
    };
    let line = |VerdictLine { tone, text }: &VerdictLine| {
        format!("<p class=\"verdict {}\">{text}</p>", class(*tone))
    };
    view::verdict(Some(answer), outcomes).iter().map(line).collect()
}

/// Writes as many findings as fit `bytes`.
pub fn findings(out: &mut String, outcomes: &[Outcome], bytes: usize) {
    out.push_str(
        "<section id=\"findings\" aria-labelledby=\"findings-head\">\
         <h2 id=\"findings-head\">Findings of ds-check</h2>",
    );
    let end = out.len() + bytes;
    for outcome in outcomes {
        let (unit, records) = outcome.records;
        let verdict = if outcome.groups.is_empty() { ": no problems found" } else { "" };
        let _ = write!(
            out,
            "<p><strong>{}</strong> ({}, {} {unit}){verdict}</p>",
            cut(&without_folders(&shown(&outcome.path)), MESSAGE),
            escaped(&outcome.what),
            grouped(records),
            unit = of_plural(records, unit)
        );
        for (place, group) in outcome.groups.iter().enumerate() {
            if out.len() > end {
                let more = outcome.groups.len() - place;
                let _ = write!(out, "<p class=\"cut\">… and {more} more checks</p>");
                break;
            }
            finding_group(out, &outcome.path, group);
        }
    }
    out.push_str("</section>\n");
}

fn finding_group(out: &mut String, dataset: &Path, group: &FindingGroup) {
    let class = match group.severity {
        Severity::Error => "bad",
        Severity::Warning => "warn",
    };
    let _ = write!(
        out,
        "<h3><span class=\"{class}\">{}</span> {} × {}</h3><p>{}</p><ul class=\"found\">",
        group.severity.name(),
        escaped(&group.check.id),
        grouped(group.count),
        escaped(group.check.meaning)
    );
    for finding in &group.first {
        let file = finding.file.strip_prefix(dataset).unwrap_or(&finding.file);
        let mut place = without_folders(&shown(file));
        if let Some((unit, number)) = finding.record {
            place += &format!(", {unit} {number}");
        }
        if let Some(id) = &finding.id {
            place += &format!(" ({id})");
        }
        let (place, message) = (cut(&place, MESSAGE), cut(&finding.message, MESSAGE));
        let _ = write!(out, "<li>{place}: {message}</li>");
    }
    let more = group.count - group.first.len() as u64;
    if more > 0 {
        let _ = write!(out, "<li>… and {} more</li>", grouped(more));
    }
    out.push_str("</ul>");
    if let Some(hint) = group.check.hint {
        let _ = write!(out, "<p>Hint: {}</p>", escaped(hint));
    }
}

/// Writes the filters that the records came through, what the dataset states, and its manifests.
pub fn provenance(out: &mut String, data: &PageData, bytes: usize) {
    out.push_str(
        "<section id=\"provenance\" aria-labelledby=\"provenance-head\">\
         <h2 id=\"provenance-head\">Provenance</h2>",
    );
    let header = &data.header;
    let is_unknown = header.provenance.iter().all(Value::is_null)
        && header.parameters.is_empty()
        && data.manifests.is_empty();
    if is_unknown {
        out.push_str("<p>The dataset does not say where it comes from.</p>");
    }
    let chain = header.provenance.iter().map(|entry| {
        if entry.is_null() {
            return ("not known".to_string(), String::new());
        }
        let text = |name: &str| entry[name].as_str().unwrap_or_default();
        let words = entry["arguments"].as_array().map(Vec::as_slice).unwrap_or_default();
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        let words: Vec<String> = words.into_iter().map(without_folders).collect();
        (format!("{} {}", text("name"), text("version")), words.join(" "))
    });
    table(out, "Filters, in order", chain);
    let mut stated = Vec::new();
    header.parameters.iter().for_each(|(name, value)| flatten(&mut stated, name, value, 1));
    table(out, "What the dataset states", stated.into_iter());
    let end = out.len() + bytes;
    for (path, manifest) in &data.manifests {
        if out.len() < end {
            let mut rows = Vec::new();
            let members = manifest.as_object().into_iter().flatten();
            members.for_each(|(name, value)| flatten(&mut rows, name, value, 2));
            table(out, &without_folders(path), rows.into_iter());
        }
    }
    out.push_str("</section>\n");
}

/// Writes the members of nested objects as rows, down to `depth`, with names as words; deeper ones and lists are
/// written as their JSON.
fn flatten(rows: &mut Vec<(String, String)>, name: &str, value: &Value, depth: usize) {
    let text = match value {
        Value::Object(members) if depth > 0 && !members.is_empty() => {
            for (member, value) in members {
                flatten(rows, &format!("{name}, {member}"), value, depth - 1);
            }
            return;
        }
        Value::String(text) => without_folders(text),
        Value::Null => "not known".to_string(),
        Value::Bool(is) => if *is { "yes" } else { "no" }.to_string(),
        Value::Number(number) => number.as_u64().map_or(number.to_string(), grouped),
        other => without_folders(&other.to_string()),
    };
    rows.push((name.replace('_', " "), text));
}

/// Returns a text in which whole paths have lost their folders: where a dataset was made is nobody's business to whom
/// the page is given.
pub fn without_folders(text: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || "\"',;=<>()[]{}".contains(c);
    let mut out = String::new();
    for piece in text.split_inclusive(is_end) {
        let (word, end) = match piece.char_indices().next_back() {
            Some((at, last)) if is_end(last) => piece.split_at(at),
            _ => (piece, ""),
        };
        match word.trim_end_matches('/').rsplit_once('/') {
            Some((folders, name)) if folders.starts_with('/') => {
                out += &format!(".../{name}{end}");
            }
            _ => out += piece,
        }
    }
    out
}

fn table(out: &mut String, head: &str, rows: impl Iterator<Item = (String, String)>) {
    let rows: Vec<(String, String)> = rows.collect();
    if rows.is_empty() {
        return;
    }
    let _ = write!(out, "<h3>{}</h3><table class=\"told\">", cut(head, MESSAGE));
    for (name, value) in rows.iter().take(ROWS) {
        let (name, value) = (cut(name, MESSAGE), cut(value, MESSAGE));
        let _ = write!(out, "<tr><th scope=\"row\">{name}</th><td>{value}</td></tr>");
    }
    out.push_str("</table>");
    if rows.len() > ROWS {
        let _ = write!(out, "<p>… and {} more</p>", grouped((rows.len() - ROWS) as u64));
    }
}
