//! Numbers of puzzles.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::PuzzleKind;
use crate::error::Result;
use crate::puzzle::{Side, domain};
use crate::record::puzzle::{Puzzle, Puzzles};
use crate::stat::{
    Answer, Distribution, Numbers, Sections, StatOptions, StatView, add_tokens, key, named, plain,
};
use crate::wording::grouped;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PuzzlesStat {
    pub puzzles: Runs,
    pub groups: Runs,
    /// Examples by domain, split and set; an unknown one is "".
    pub domains: BTreeMap<String, u64>,
    pub splits: BTreeMap<String, u64>,
    pub sets: BTreeMap<String, u64>,
    /// The lengths of the inputs, in tokens.
    pub lengths: Distribution,
    /// How often each token is used.
    pub inputs: BTreeMap<i32, u64>,
    pub labels: BTreeMap<i32, u64>,
    /// The numbers of given cells: neither padding, nor what the domain calls a blank.
    pub given: Distribution,
}

/// Counts runs of records with one name. The names at both ends show whether a run continues in the
/// next part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    pub count: u64,
    first: Option<String>,
    last: Option<String>,
    /// Whether the first run begins a source, and so continues no other run.
    begins: bool,
}

impl Runs {
    fn add(&mut self, name: &str, begins: bool) {
        if self.count == 0 {
            (self.first, self.begins) = (Some(name.to_string()), begins);
        }
        if begins || self.last.as_deref() != Some(name) {
            self.count += 1;
            self.last = Some(name.to_string());
        }
    }

    fn merge(&mut self, other: Runs) {
        if self.count == 0 {
            *self = other;
        } else if other.count > 0 {
            let goes_on = !other.begins && self.last == other.first;
            self.count = self.count.saturating_add(other.count - u64::from(goes_on));
            self.last = other.last;
        }
    }
}

impl PuzzlesStat {
    fn add(&mut self, rows: &Puzzles<'_>, row: usize) -> Result<()> {
        let Puzzle { domain: name, split, set, group, puzzle, inputs, labels, build, .. } =
            rows.get(row);
        let set = set.unwrap_or("all");
        let group = [split, set, group].join("\0");
        self.groups.add(&group, build.is_some());
        self.puzzles.add(&[&group, puzzle].join("\0"), build.is_some());
        *named(&mut self.domains, "domains", name.unwrap_or_default())? += 1;
        *named(&mut self.splits, "splits", split)? += 1;
        *named(&mut self.sets, "sets", set)? += 1;
        self.lengths.add(inputs.len() as u64);
        let domain = name.and_then(domain);
        let is_given =
            |token: &&i32| domain.map_or(**token != 0, |domain| domain.is_given(**token));
        self.given.add(inputs.iter().filter(is_given).count() as u64);
        for (side, counts) in [(inputs, &mut self.inputs), (labels, &mut self.labels)] {
            tally(side, counts)?;
        }
        Ok(())
    }
}

impl StatView for PuzzleKind {
    type Numbers = PuzzlesStat;

    fn bytes(rows: &Puzzles<'_>, row: usize) -> usize {
        let puzzle = rows.get(row);
        4 * (puzzle.inputs.len() + puzzle.labels.len())
    }

    fn count(
        rows: &Puzzles<'_>,
        row: usize,
        numbers: &mut PuzzlesStat,
        _: &StatOptions,
    ) -> Result<()> {
        numbers.add(rows, row)
    }

    fn text_key(rows: &Puzzles<'_>, row: usize) -> Option<u128> {
        let puzzle = rows.get(row);
        let sides = [puzzle.inputs, puzzle.labels].map(|side| key(side).to_le_bytes());
        Some(xxh3_128(sides.as_flattened()))
    }
}

impl Numbers for PuzzlesStat {
    fn merge(&mut self, other: PuzzlesStat) -> Result<()> {
        self.puzzles.merge(other.puzzles);
        self.groups.merge(other.groups);
        self.lengths.merge(other.lengths);
        self.given.merge(other.given);
        for (own, other, what) in [
            (&mut self.domains, other.domains, "domains"),
            (&mut self.splits, other.splits, "splits"),
            (&mut self.sets, other.sets, "sets"),
        ] {
            for (name, times) in other {
                let count = named(own, what, &name)?;
                *count = count.saturating_add(times);
            }
        }
        for (own, other) in [(&mut self.inputs, other.inputs), (&mut self.labels, other.labels)] {
            for (token, times) in other {
                add_tokens(own, token, times)?;
            }
        }
        Ok(())
    }

    fn lengths(&self) -> (&'static str, &Distribution) {
        ("given cells", &self.given)
    }

    fn headline(&self, records: String) -> [(&'static str, String); 3] {
        let given = plain(self.given.percentile(50));
        let puzzles = grouped(self.puzzles.count);
        [("examples", records), ("puzzles", puzzles), ("given cells, median", given)]
    }

    fn sections<'a>(&'a self, out: &mut Sections<'a>, answer: &Answer) {
        out.number("puzzles", self.puzzles.count);
        out.number("groups", self.groups.count);
        out.repeated(answer, "repeated examples");
        let all = answer.all.records;
        let of = |named: &BTreeMap<String, u64>| named.clone().into_iter();
        out.shares("examples by domain", all, of(&self.domains));
        out.shares("examples by split", all, of(&self.splits));
        if self.sets.len() > 1 {
            out.shares("examples by set", all, of(&self.sets));
        }
        out.distribution("given cells of an example", &self.given);
        // Tokens have a meaning if all examples are of one domain.
        let domain = match self.domains.keys().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [only] => domain(only),
            _ => None,
        };
        let sides =
            [(Side::Inputs, "inputs", &self.inputs), (Side::Labels, "labels", &self.labels)];
        for (side, of, counts) in sides {
            let name = |token: i32| {
                let meaning = domain.and_then(|domain| domain.meaning(side, token));
                meaning.map_or(token.to_string(), |meaning| format!("{token}: {meaning}"))
            };
            let cells = counts.values().sum();
            let named = counts.iter().map(|(token, count)| (name(*token), *count));
            out.shares(&format!("tokens of {of}"), cells, named);
        }
    }
}

/// Counts the tokens of one side. Tokens of a small vocabulary, which are almost all, are counted
/// first.
fn tally(side: &[i32], counts: &mut BTreeMap<i32, u64>) -> Result<()> {
    let mut small = [0u64; 64];
    for &token in side {
        match usize::try_from(token).ok().and_then(|token| small.get_mut(token)) {
            Some(count) => *count += 1,
            None => add_tokens(counts, token, 1)?,
        }
    }
    for (token, times) in (0..).zip(small).filter(|(_, times)| *times > 0) {
        add_tokens(counts, token, times)?;
    }
    Ok(())
}
