//! How one side of an example looks: its cells and the meaning of each cell, without colours and markup.
//! `view` draws the cells in a terminal and on a page.

use serde::Serialize;

/// The picture of one side of an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Picture {
    Grid(GridPicture),
    /// Lines of pieces, each with its name: `hand 6|6 3|0`.
    Lines(Vec<PictureLine>),
}

/// Cells in rows of `columns`; the last row may be shorter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GridPicture {
    pub columns: usize,
    pub cells: Vec<Cell>,
    /// The side of boxes that are separated by rules, as in a Sudoku.
    pub boxes: Option<usize>,
    /// What is not drawn, in words.
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PictureLine {
    pub name: &'static str,
    pub cells: Vec<Cell>,
}

/// One cell, or one piece.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// A few characters that identify the cell without any colour; no control characters.
    pub symbol: String,
    pub kind: CellKind,
    /// A colour of ARC, 0 to 9, in the order of its own viewer: black, blue, red, green, yellow,
    /// grey, pink, orange, light blue, maroon.
    pub colour: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CellKind {
    /// The cell is in the question.
    Given,
    /// The cell is only in the answer.
    Filled,
    /// The cell is to be filled in, or free to pass.
    Blank,
    Wall,
    Path,
    /// Start or goal; the tile to play.
    Target,
    /// The token belongs to the encoding: the end of a row or of a grid.
    End,
    Padding,
    /// A label that is not trained on.
    Ignored,
    /// A token that cannot stand here, or contradicts the question.
    Wrong,
    /// A number whose meaning is not known.
    Number,
}

impl Cell {
    pub fn new(symbol: impl Into<String>, kind: CellKind) -> Cell {
        Cell { symbol: symbol.into(), kind, colour: None }
    }

    /// Makes the cell of a token that cannot stand here.
    pub fn wrong(token: i32) -> Cell {
        Cell::new(token.to_string(), CellKind::Wrong)
    }
}

impl Picture {
    pub fn grid(columns: usize, cells: Vec<Cell>) -> Picture {
        Picture::Grid(GridPicture { columns: columns.max(1), cells, boxes: None, note: None })
    }

    /// Returns the symbols alone, for a form that has no pictures.
    pub fn text(&self) -> String {
        let joined = |cells: &[Cell]| {
            let symbols: Vec<&str> = cells.iter().map(|cell| cell.symbol.as_str()).collect();
            symbols.join(" ")
        };
        let lines: Vec<String> = match self {
            Picture::Grid(grid) => grid.cells.chunks(grid.columns.max(1)).map(joined).collect(),
            Picture::Lines(lines) => {
                lines.iter().map(|line| format!("{}: {}", line.name, joined(&line.cells))).collect()
            }
        };
        lines.join("\n")
    }

    /// Draws tokens as numbers, in a square if their number is a square number; tokens equal to `padding` get
    /// its kind. Rows at the end in which all numbers are the same one are left out.
    pub fn numbers(tokens: &[i32], padding: Option<(i32, CellKind)>) -> Picture {
        let side = tokens.len().isqrt();
        let columns = if side * side == tokens.len() { side } else { tokens.len().min(16) };
        let last = tokens.last().copied().unwrap_or(0);
        let used = tokens.iter().rposition(|&token| token != last).map_or(0, |at| at + 1);
        let used = used.next_multiple_of(columns.max(1)).max(columns).min(tokens.len());
        let rest = tokens.len() - used;
        let tokens = &tokens[..used];
        let kind = |token| match padding {
            Some((value, kind)) if value == token => kind,
            _ => CellKind::Number,
        };
        let cell = |&token: &i32| Cell::new(token.to_string(), kind(token));
        let cells = tokens.iter().map(cell).collect();
        let note = (rest > 0).then(|| format!("and then {rest} times {last}"));
        Picture::Grid(GridPicture { columns: columns.max(1), cells, boxes: None, note })
    }
}
