//! What is compared of puzzles.

use super::PuzzleKind;
use crate::diff::{DiffRecord, DiffView, PARTS, first_different, hash, pair};
use crate::error::Result;
use crate::record::puzzle::Puzzles;

/// The names of an example as they are compared, and whether a group or a puzzle begins.
type Names<'a> = (&'a str, &'a str, Option<&'a str>, Option<&'a str>, u8);

fn names<'a>(one: &DiffRecord<'_, Puzzles<'a>>) -> Names<'a> {
    let puzzle = one.rows.get(one.row);
    (puzzle.split, puzzle.set.unwrap_or("all"), puzzle.identifier, puzzle.domain, one.begins)
}

impl DiffView for PuzzleKind {
    type Facts = ();

    const NAMES: &'static [&'static str] = &["inputs", "labels", "names"];

    fn hashes(one: &DiffRecord<'_, Puzzles<'_>>) -> Result<[u64; PARTS]> {
        let puzzle = one.rows.get(one.row);
        Ok([hash(puzzle.inputs), hash(puzzle.labels), hash(&names(one)), 0])
    }

    fn are_equal(a: &DiffRecord<'_, Puzzles<'_>>, b: &DiffRecord<'_, Puzzles<'_>>) -> Result<bool> {
        let (x, y) = (a.rows.get(a.row), b.rows.get(b.row));
        Ok(x.inputs == y.inputs && x.labels == y.labels && names(a) == names(b))
    }

    fn shown(
        part: &str,
        a: &DiffRecord<'_, Puzzles<'_>>,
        b: &DiffRecord<'_, Puzzles<'_>>,
    ) -> Result<Vec<String>> {
        let (x, y) = (a.rows.get(a.row), b.rows.get(b.row));
        Ok(match part {
            "inputs" => shown_cells(x.inputs, y.inputs),
            "labels" => shown_cells(x.labels, y.labels),
            _ => pair(&shown_names(a), &shown_names(b)),
        })
    }

    fn borders(rows: &Puzzles<'_>, last: &mut Option<[String; 2]>) -> Vec<u8> {
        let border = |row| {
            let puzzle = rows.get(row);
            let before = last.as_ref().filter(|_| puzzle.build.is_none());
            let is_same =
                |index: usize, name: &str| before.is_some_and(|names| names[index] == name);
            let begins = match (is_same(0, puzzle.group), is_same(1, puzzle.puzzle)) {
                (true, true) => 0,
                (true, false) => 1,
                (false, _) => 2,
            };
            if begins > 0 {
                *last = Some([puzzle.group.to_string(), puzzle.puzzle.to_string()]);
            }
            begins
        };
        (0..rows.len()).map(border).collect()
    }
}

fn shown_names(one: &DiffRecord<'_, Puzzles<'_>>) -> String {
    let border = ["goes on", "begins a puzzle", "begins a group"];
    let border = border[usize::from(one.begins.min(2))];
    let (split, set, identifier, ..) = names(one);
    format!("{split}, {set}, {}, {border}", identifier.unwrap_or("<blank>"))
}

fn shown_cells(a: &[i32], b: &[i32]) -> Vec<String> {
    let at = first_different(a, b);
    let differing = a.iter().zip(b).filter(|(a, b)| a != b).count();
    let value = |side: &[i32]| side.get(at).map_or("the end".to_string(), i32::to_string);
    let side = a.len().isqrt();
    let place = if side * side == a.len() && side > 0 {
        format!(" (row {}, column {})", at / side, at % side)
    } else {
        String::new()
    };
    let mut lines = vec![format!("at cell {at}{place}, {differing} in all")];
    lines.extend(pair(&value(a), &value(b)));
    lines
}
