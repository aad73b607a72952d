//! Examples of puzzles for the page: each side is a grid `{columns, boxes, cells, note}` or has
//! `lines` of cells. Cells are `{symbols, kind, colours}`: a symbol, the place of the kind in `kinds`,
//! and a digit or `.` for each.

use serde_json::{Value, json};

use super::ShownPuzzle;
use crate::puzzle::picture::{Cell, CellKind, Picture};
use crate::view::page::{Parts, short, visible};
use crate::wording::grouped;

/// About how many bytes a cell needs.
const CELL: usize = 10;

pub fn parts(of: &ShownPuzzle, bytes: usize) -> Parts {
    let ShownPuzzle { domain, split, set, group, puzzle, identifier, input, label, broken } = of;
    let mut facts = vec![("domain", domain.clone().unwrap_or_else(|| "not known".to_string()))];
    facts.push(("split", split.clone()));
    facts.extend(set.clone().map(|set| ("set", set)));
    facts.push(("group", group.clone()));
    facts.extend(identifier.clone().map(|identifier| ("identifier", identifier)));
    let cells = (bytes / 2 / CELL).max(1);
    let sides = [side("input", input, cells), side("label", label, cells)];
    (Some(puzzle.clone()), facts, broken.clone(), json!({"kind": "puzzle", "sides": sides}))
}

fn side(name: &str, picture: &Picture, most: usize) -> Value {
    match picture {
        Picture::Grid(grid) => {
            let shown = &grid.cells[..grid.cells.len().min(most)];
            let more = grid.cells.len() - shown.len();
            let left = (more > 0)
                .then(|| format!("{} more cells are not on this page", grouped(more as u64)));
            json!({
                "name": name, "columns": grid.columns, "boxes": grid.boxes, "note": grid.note,
                "cells": cells(shown), "left": left,
            })
        }
        Picture::Lines(lines) => {
            let line = |line: &crate::puzzle::picture::PictureLine| {
                let shown = &line.cells[..line.cells.len().min(most)];
                json!({"name": line.name, "cells": cells(shown)})
            };
            json!({"name": name, "lines": lines.iter().map(line).collect::<Vec<Value>>()})
        }
    }
}

fn cells(cells: &[Cell]) -> Value {
    let mut kinds: Vec<CellKind> = Vec::new();
    let mut place = |kind: CellKind| {
        kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
            kinds.push(kind);
            kinds.len() - 1
        })
    };
    let kind: Vec<usize> = cells.iter().map(|cell| place(cell.kind)).collect();
    let colour = |cell: &Cell| cell.colour.map_or('.', |colour| char::from(b'0' + colour.min(9)));
    json!({
        "symbols": cells.iter().map(|cell| short(&visible(&cell.symbol))).collect::<Vec<String>>(),
        "kind": kind,
        "kinds": kinds,
        "colours": cells.iter().map(colour).collect::<String>(),
    })
}
