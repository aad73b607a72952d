//! What was found, as text for people and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::compare::{DiffResult, Difference};
use super::parts::in_a_line;
use crate::record::plural_of;
use crate::visible;
use crate::wording::{counted, grouped, of_plural};

/// The most characters of a line about a record's content.
const WIDTH: usize = 74;

impl DiffResult {
    /// Returns the report as text; `names` are the names of the two inputs.
    pub fn text(&self, names: &[String; 2]) -> String {
        let mut out = String::new();
        let kind = if self.record == "other" { "" } else { self.record };
        for (side, name) in ["A", "B"].into_iter().zip(names) {
            let at = usize::from(side == "B");
            let records = grouped(self.records[at]);
            let encoding = match self.encodings[at].as_str() {
                "" => String::new(),
                encoding => format!(", {encoding}"),
            };
            let what = of_plural(self.records[at], plural_of(kind));
            let _ = writeln!(out, "{side}: {}: {records} {what}{encoding}", visible::line(name));
        }
        if self.encodings[0] != self.encodings[1] {
            let is = if self.is_strict { "is a difference (--strict)" } else { "is no difference" };
            let _ = writeln!(out, "the encoding differs, which {is}");
        }
        if self.is_rewritten {
            out += "the text of JSON differs in spaces or escapes, which is no difference\n";
        }
        if self.counts.is_empty() {
            out += "the records are the same\n";
            return out;
        }
        let verb = if self.equal() == 1 { "is" } else { "are" };
        let _ = writeln!(out, "\n{} {verb} equal; {}", counted(self.equal(), "record"), self.how());
        for (kind, count) in &self.counts {
            let _ = writeln!(out, "  {kind:<12} {:>13}", grouped(*count));
        }
        if self.swapped > 0 {
            let pairs = if self.swapped == 1 { "pair" } else { "pairs" };
            let _ = writeln!(out, "  ({} {pairs} swapped)", grouped(self.swapped));
        }
        for difference in &self.first {
            out += &shown(difference);
        }
        let all: u64 = self.counts.values().sum();
        let more = all.saturating_sub(self.first.len() as u64);
        if more > 0 && !self.first.is_empty() {
            let _ = writeln!(out, "\n... and {} more", grouped(more));
        }
        out
    }

    fn how(&self) -> &'static str {
        if self.by_id {
            "differences, records by their ids:"
        } else {
            "differences, records by what they hold:"
        }
    }

    /// Returns the report as one object.
    pub fn json(&self, names: &[String; 2]) -> Value {
        let first = self.first.iter().map(|difference| {
            let Difference { kind, id, numbers, lines } = difference;
            json!({"kind": kind, "id": id, "a": numbers[0], "b": numbers[1], "shown": lines})
        });
        let side = |at: usize| json!({"input": names[at], "records": self.records[at], "encoding": self.encodings[at]});
        json!({
            "same": self.is_same(),
            "kind": self.record,
            "a": side(0),
            "b": side(1),
            "by": if self.by_id { "id" } else { "content" },
            "equal": self.equal(),
            "differences": self.counts,
            "swapped_pairs": self.swapped,
            "rewritten": self.is_rewritten,
            "first": first.collect::<Vec<Value>>(),
        })
    }
}

fn shown(difference: &Difference) -> String {
    let Difference { kind, id, numbers, lines } = difference;
    let number = |at: usize| numbers[at].map(grouped);
    let place = match (number(0), number(1)) {
        (Some(a), Some(b)) if a == b => format!("record {a}"),
        (Some(a), Some(b)) => format!("record {a} of A, {b} of B"),
        (Some(a), None) => format!("record {a} of A"),
        (None, Some(b)) => format!("record {b} of B"),
        (None, None) => String::new(),
    };
    let id = id.as_ref().map_or(String::new(), |id| format!(" ({})", in_a_line(id)));
    let mut out = format!("\n{kind}: {place}{id}\n");
    for line in lines {
        let cut: String = line.chars().take(WIDTH).collect();
        let more = if line.chars().count() > WIDTH { "…" } else { "" };
        let _ = writeln!(out, "  {cut}{more}");
    }
    out
}
