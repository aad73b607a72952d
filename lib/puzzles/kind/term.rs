//! A puzzle in lines: both sides beside each other if they fit, else below each other.

use super::ShownPuzzle;
use crate::puzzle::BLANK_IDENTIFIER;
use crate::puzzle::picture::{Cell, CellKind, GridPicture, Picture};
use crate::view::term::{Artist, DrawingOptions, Line, Style, facts, width_of};

/// Columns between two sides.
const GAP: usize = 4;
const INDENT: usize = 2;

/// The examples of one puzzle so far: a new puzzle begins with a title.
#[derive(Default)]
struct Examples {
    last: Option<ShownPuzzle>,
    /// How many were drawn before the last one.
    before: usize,
}

/// Returns the lines of an example.
pub fn lines(shown: ShownPuzzle, number: &str, artist: &mut Artist) -> Vec<Line> {
    let drawing = artist.drawing.clone();
    let examples = artist.memory::<Examples>();
    let is_same = examples.last.as_ref().is_some_and(|last| last.is_of_same_puzzle(&shown));
    examples.before = if is_same { examples.before + 1 } else { 0 };
    let lines = lines_of(&shown, (number, examples.before), &drawing);
    examples.last = Some(shown);
    lines
}

/// Returns the lines. `example` is how many examples of the same puzzle came before.
fn lines_of(
    shown: &ShownPuzzle,
    (number, example): (&str, usize),
    drawing: &DrawingOptions,
) -> Vec<Line> {
    let mut lines = title(shown, number, example).wrapped(drawing.width);
    for broken in &shown.broken {
        lines.extend(Line::new().add(Style::BAD, &format!("! {broken}")).wrapped(drawing.width));
    }
    let head = lines.len();
    let width = drawing.width.saturating_sub(INDENT).max(8);
    let sides = [("input", &shown.input), ("label", &shown.label)];
    match (&shown.input, &shown.label) {
        (Picture::Grid(input), Picture::Grid(label)) => {
            lines.extend(grids([("input", input), ("label", label)], width));
        }
        _ => {
            for (name, picture) in sides {
                match picture {
                    Picture::Grid(grid) => {
                        lines.push(named(name, grid));
                        lines.extend(grid_lines(grid, fitting_width(grid, width), width));
                    }
                    Picture::Lines(pieces) => {
                        for line in pieces {
                            lines.extend(piece_lines(line.name, &line.cells, width));
                        }
                    }
                }
            }
        }
    }
    let indented = |line: Line| Line::new().pad(INDENT).join(line);
    let body = lines.split_off(head);
    lines.extend(body.into_iter().map(indented));
    lines
}

fn title(shown: &ShownPuzzle, number: &str, example: usize) -> Line {
    let set = shown.set.as_deref().unwrap_or("all");
    let domain = shown.domain.as_deref().unwrap_or("domain not known");
    let group =
        if shown.group == shown.puzzle { String::new() } else { format!("group {}", shown.group) };
    let is_own = |name: &&str| *name != shown.puzzle && *name != BLANK_IDENTIFIER;
    let identifier = shown.identifier.as_deref().filter(is_own);
    let facts = facts(&[
        format!("{domain} {}/{set}", shown.split),
        group,
        identifier.map(|name| format!("identifier {name}")).unwrap_or_default(),
    ]);
    let example = if example > 0 { format!(" example {}", example + 1) } else { String::new() };
    Line::new()
        .add(Style::BOLD, &format!("{number}puzzle {}{example}", shown.puzzle))
        .add(Style::PLAIN, &format!("  {facts}"))
}

/// Draws both sides: beside each other with cells as wide as fit, or below each other.
fn grids(sides: [(&str, &GridPicture); 2], width: usize) -> Vec<Line> {
    let beside = [2, 1].into_iter().find_map(|most| {
        let cells = sides.map(|(_, grid)| cell_width(grid).max(1).min(cell_width(grid).max(most)));
        let cells = if most == 1 { sides.map(|(_, grid)| narrowest(grid)) } else { cells };
        let [left, right] = [0, 1].map(|side| grid_width(sides[side].1, cells[side]));
        (left + GAP + right <= width).then_some((cells, left))
    });
    let Some((cells, left)) = beside else {
        return sides
            .into_iter()
            .flat_map(|(name, grid)| {
                let lines = grid_lines(grid, fitting_width(grid, width), width);
                std::iter::once(named(name, grid)).chain(lines).collect::<Vec<_>>()
            })
            .collect();
    };
    let heads = sides.map(|(name, grid)| named(name, grid));
    let left = left.max(if heads[0].width() + GAP + heads[1].width() <= width {
        heads[0].width()
    } else {
        0
    });
    let mut columns = [0, 1].map(|side| {
        let (_, grid) = sides[side];
        grid_lines(grid, cells[side], width).into_iter()
    });
    let mut lines = match heads[0].width() <= left && left + GAP + heads[1].width() <= width {
        true => vec![heads[0].clone().pad(left + GAP).join(heads[1].clone())],
        // Both names and their notes do not fit beside each other.
        false => heads.to_vec(),
    };
    loop {
        let [first, second] = [columns[0].next(), columns[1].next()];
        if first.is_none() && second.is_none() {
            return lines;
        }
        let first = first.unwrap_or_default().pad(left + GAP);
        lines.push(first.join(second.unwrap_or_default()));
    }
}

fn named(name: &str, grid: &GridPicture) -> Line {
    let note = grid.note.as_deref().map(|note| format!(" {note}")).unwrap_or_default();
    Line::new().add(Style::DIM, &format!("{name}{note}"))
}

/// Returns the columns of a cell that shows all of it.
fn cell_width(grid: &GridPicture) -> usize {
    let widest = grid.cells.iter().map(|cell| width_of(&cell.symbol)).max().unwrap_or(1);
    match grid.boxes {
        // A filled-in value has a sign before it.
        Some(_) => widest + 2,
        None if widest == 1 => 2,
        None => widest + 1,
    }
}

fn narrowest(grid: &GridPicture) -> usize {
    let is_number = grid.cells.iter().any(|cell| cell.kind == CellKind::Number);
    let is_wide = is_number || grid.boxes.is_some() || cell_width(grid) > 2;
    if is_wide { cell_width(grid) } else { 1 }
}

/// Returns how many columns a cell may take so that the grid fits, if it can fit.
fn fitting_width(grid: &GridPicture, width: usize) -> usize {
    let wide = cell_width(grid);
    if grid_width(grid, wide) <= width { wide } else { narrowest(grid) }
}

fn grid_width(grid: &GridPicture, cell: usize) -> usize {
    let rules = grid.boxes.map_or(0, |side| grid.columns.div_ceil(side.max(1)) - 1);
    grid.columns * cell + 2 * rules
}

/// Returns the rows of a grid. A row that does not fit continues in the next line.
fn grid_lines(grid: &GridPicture, cell: usize, width: usize) -> Vec<Line> {
    let side = grid.boxes.unwrap_or(usize::MAX);
    let mut lines = Vec::new();
    for (row, cells) in grid.cells.chunks(grid.columns.max(1)).enumerate() {
        if row > 0 && row % side == 0 {
            lines.push(rule(grid, cell, side));
        }
        let mut line = Line::new();
        for (column, content) in cells.iter().enumerate() {
            if column > 0 && column % side == 0 {
                line = line.add(Style::DIM, "│ ");
            }
            if line.width() + cell > width {
                lines.push(std::mem::take(&mut line));
            }
            line = draw(line, content, cell, grid.boxes.is_some());
        }
        lines.push(line);
    }
    lines
}

fn rule(grid: &GridPicture, cell: usize, side: usize) -> Line {
    let columns = (0..grid.columns).collect::<Vec<_>>();
    let runs: Vec<String> = columns.chunks(side).map(|run| "─".repeat(run.len() * cell)).collect();
    Line::new().add(Style::DIM, &runs.join("┼─"))
}

/// Adds a cell to a line.
fn draw(line: Line, cell: &Cell, width: usize, is_boxed: bool) -> Line {
    let end = line.width() + width;
    let symbol = match cell.kind {
        CellKind::Wall => "█".repeat(width),
        CellKind::Path => "•".to_string(),
        CellKind::Filled if is_boxed => format!("·{}", cell.symbol),
        CellKind::Wrong if is_boxed => format!("!{}", cell.symbol),
        _ if is_boxed => format!(" {}", cell.symbol),
        _ => cell.symbol.clone(),
    };
    if let Some(style) = cell.colour.and_then(|colour| Style::ARC.get(usize::from(colour))) {
        return line.add(*style, &format!("{symbol:<width$}"));
    }
    let style = match cell.kind {
        CellKind::Given | CellKind::Target => Style::BOLD,
        CellKind::Filled | CellKind::Path => Style::FINAL,
        CellKind::Wrong => Style::BAD,
        CellKind::Blank | CellKind::End | CellKind::Padding | CellKind::Ignored => Style::DIM,
        CellKind::Wall => Style::DIM,
        CellKind::Number => Style::PLAIN,
    };
    // A wrong token has a sign, to distinguish it from right numbers.
    let symbol = match cell.kind {
        CellKind::Wrong if width_of(&symbol) < width && !is_boxed => format!("{symbol}!"),
        _ => symbol,
    };
    line.add(style, &symbol).pad(end)
}

/// Returns pieces after their name, in as many lines as they need.
fn piece_lines(name: &str, cells: &[Cell], width: usize) -> Vec<Line> {
    const NAME: usize = 9;
    let mut lines = Vec::new();
    let mut line = Line::new().add(Style::DIM, name).pad(NAME);
    if cells.is_empty() {
        line = line.add(Style::DIM, "none");
    }
    for cell in cells {
        let style = match cell.kind {
            CellKind::Target => Style::FINAL_TITLE,
            CellKind::Wrong => Style::BAD,
            CellKind::Ignored | CellKind::Padding => Style::DIM,
            CellKind::Filled => Style::FINAL,
            _ => Style::PLAIN,
        };
        let symbol = if cell.kind == CellKind::Wrong {
            format!("!{}", cell.symbol)
        } else {
            cell.symbol.clone()
        };
        if line.width() + width_of(&symbol) > width && line.width() > NAME {
            lines.push(std::mem::replace(&mut line, Line::new().pad(NAME)));
        }
        line = line.add(style, &symbol).add(Style::PLAIN, " ");
    }
    lines.push(line);
    lines
}
