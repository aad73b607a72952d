//! A game in lines: its result, and steps with their boards and the values of the four moves.

use super::shown::{ShownBranch, ShownGame, ShownStep, tile};
use crate::cli::RecordRange;
use crate::game2048::Direction;
use crate::view::term::{DrawingOptions, Line, Style, facts};
use crate::wording::{counted, grouped};

pub fn lines(shown: &ShownGame, number: &str, drawing: &DrawingOptions) -> Vec<Line> {
    let mut lines = title(shown, number).wrapped(drawing.width);
    let detail = detail(shown);
    if detail.width() > 0 {
        lines.extend(detail.wrapped(drawing.width));
    }
    // The steps in the middle have the longest numbers.
    let a_step =
        shown.step(shown.len() / 2).map_or(7, |step| step_lines(&step, shown.len(), drawing).len());
    let left = |height: usize| height.saturating_sub(lines.len());
    let few = drawing.height.map_or(3, |height| (left(height) / a_step).clamp(1, 3));
    for place in places(shown.len(), few, &drawing.steps) {
        lines.extend(
            shown.step(place).iter().flat_map(|step| step_lines(step, shown.len(), drawing)),
        );
    }
    let missing = drawing.steps.iter().filter(|range| range.last >= shown.len() as u64);
    for range in missing {
        let first = range.first.max(shown.len() as u64);
        let text = format!("! no step {first}: there are {} (from 0)", shown.len());
        lines.extend(Line::new().add(Style::BAD, &text).wrapped(drawing.width));
    }
    lines
}

/// Returns the line about the game and how it ended.
fn title(shown: &ShownGame, number: &str) -> Line {
    let game = &shown.game;
    let facts = facts(&[
        counted(shown.len() as u64, "step"),
        game.score.map(|score| format!("score {}", grouped(score))).unwrap_or_default(),
        largest(shown).map(|tile| format!("largest tile {tile}")).unwrap_or_default(),
    ]);
    Line::new()
        .add(Style::BOLD, &format!("{number}run {}", game.run_id))
        .add(Style::PLAIN, &format!("  {facts}"))
}

fn largest(shown: &ShownGame) -> Option<u64> {
    let game = &shown.game;
    let on_boards = || game.steps.board.iter().map(|board| board.max_rank()).max().map(tile);
    game.max_tile.or_else(|| game.max_rank.map(tile)).or_else(on_boards)
}

fn detail(shown: &ShownGame) -> Line {
    let game = &shown.game;
    let facts = facts(&[
        game.known_seed().map(|seed| format!("seed {seed}")).unwrap_or_default(),
        game.depth.map(|depth| format!("depth {depth}")).unwrap_or_default(),
        game.seconds.map(|seconds| format!("{seconds:.1} s")).unwrap_or_default(),
        game.source.clone().unwrap_or_default(),
    ]);
    Line::new().add(Style::DIM, &facts)
}

/// Returns the indices of the steps that are drawn: those that are asked for, or else the first,
/// the last and one in the middle.
fn places(length: usize, few: usize, wanted: &[RecordRange]) -> Vec<usize> {
    let mut places: Vec<usize> = match wanted {
        [] if length == 0 => Vec::new(),
        [] => match few {
            1 => vec![length / 2],
            2 => vec![0, length - 1],
            _ => vec![0, length / 2, length - 1],
        },
        ranges => {
            let of = |range: &RecordRange| {
                let end = usize::try_from(range.last).map_or(length, |last| last.saturating_add(1));
                usize::try_from(range.first).unwrap_or(length)..end.min(length)
            };
            ranges.iter().flat_map(of).collect()
        }
    };
    places.dedup();
    places
}

/// Returns the lines of a step.
fn step_lines(step: &ShownStep, length: usize, drawing: &DrawingOptions) -> Vec<Line> {
    let value = step.value.map(|value| format!(" {}", number(value)));
    let valuation = step.valuation.clone().map(|name| name + &value.unwrap_or_default());
    let facts = facts(&[
        match step.step_index as usize == step.place {
            true => format!("step {} of {length}", step.step_index),
            // The record is a part of a game.
            false => format!("step {}, at place {} of {length}", step.step_index, step.place),
        },
        step.score.map(|score| format!("score {}", grouped(score))).unwrap_or_default(),
        step.board_eval.map(|eval| format!("eval {eval}")).unwrap_or_default(),
        valuation.unwrap_or_default(),
    ]);
    let mut lines = Line::new().add(Style::OTHER, &format!("  {facts}")).wrapped(drawing.width);
    let board = board(step);
    let beside = board[0].width() + 2;
    let is_beside = drawing.width >= beside + BRANCH + 6;
    let bar = if is_beside {
        drawing.width - beside - BRANCH
    } else {
        drawing.width.saturating_sub(BRANCH + 4)
    };
    let branches: Vec<Line> = (0..4).map(|index| branch(step, index, bar.min(24))).collect();
    if is_beside {
        // The four values stand beside the four rows, between the rules.
        let blank = Line::new();
        let others = [&blank, &branches[0], &branches[1], &branches[2], &branches[3], &blank];
        let pairs = board.into_iter().zip(others);
        lines.extend(pairs.map(|(board, branch)| board.pad(beside).join(branch.clone())));
    } else {
        lines.extend(board);
        lines.extend(branches.into_iter().map(|branch| Line::new().pad(4).join(branch)));
    }
    lines
}

/// Draws the board between two rules: six lines of one width.
fn board(step: &ShownStep) -> Vec<Line> {
    let widest = step.board.iter().map(|&exponent| tile(exponent).to_string().len()).max();
    let cell = widest.unwrap_or(1).max(4) + 1;
    let rule = "─".repeat(4 * cell + 1);
    let mut lines = vec![Line::new().add(Style::PLAIN, &format!("  ┌{rule}┐"))];
    for row in step.board.chunks(4) {
        let mut line = Line::new().add(Style::PLAIN, "  │");
        for &exponent in row {
            let text = if exponent == 0 { "·".to_string() } else { tile(exponent).to_string() };
            line = line.add(tile_style(exponent), &format!("{text:>cell$}"));
        }
        lines.push(line.add(Style::PLAIN, " │"));
    }
    lines.push(Line::new().add(Style::PLAIN, &format!("  └{rule}┘")));
    lines
}

fn tile_style(exponent: u8) -> Style {
    match exponent {
        0 => Style::DIM,
        1..=3 => Style::PLAIN,
        4..=6 => Style::OTHER,
        7..=9 => Style::FINAL,
        10..=12 => Style::REASONING,
        _ => Style::REASONING_TITLE,
    }
}

/// Columns of a direction before its bar.
const BRANCH: usize = 23;

/// Draws a direction: whether it was chosen, whether it is legal, its value and a bar.
fn branch(step: &ShownStep, index: usize, bar: usize) -> Line {
    let ShownBranch { value, legal, share } = step.branches[index];
    let is_chosen = step.chosen == Some(index as u8);
    let style = match (legal, is_chosen) {
        (false, true) => Style::BAD,
        (false, false) => Style::DIM,
        (true, true) => Style::BOLD,
        (true, false) => Style::PLAIN,
    };
    let chosen = if is_chosen { "▶" } else { " " };
    let sign = if legal { " " } else { "×" };
    let name = Direction::NAMES[index];
    let value = match (value, legal) {
        (Some(value), true) => number(value.into()),
        (Some(value), false) => format!("({})", number(value.into())),
        (None, true) => "no value".to_string(),
        (None, false) => "illegal".to_string(),
    };
    let line = Line::new().add(style, &format!("{chosen}{sign} {name:<5} {value:>12}  "));
    // The least legal value has a bar too.
    let eighths =
        share.map_or(0, |share| ((1.0 + share * (bar * 8 - 1) as f32) as usize).min(bar * 8));
    line.add(if is_chosen { Style::FINAL } else { Style::PLAIN }, &eighths_bar(eighths))
}

/// Draws a bar; eight eighths fill a column.
fn eighths_bar(eighths: usize) -> String {
    let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + part
}

/// Returns a value, short enough for its column.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1e9 || (size != 0.0 && size < 0.001) => format!("{value:.3e}"),
        size if size >= 100_000.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_steps_or_those_wanted() {
        let ranges = |texts: &[&str]| texts.iter().map(|t| t.parse().unwrap()).collect::<Vec<_>>();
        assert_eq!(places(9, 3, &[]), [0, 4, 8]);
        assert_eq!(places(1, 2, &[]), [0]);
        assert!(places(0, 3, &[]).is_empty());
        assert_eq!(places(9, 3, &ranges(&["7-20", "2", "18446744073709551614"])), [7, 8, 2]);
        assert_eq!(eighths_bar(19), "██▍");
    }
}
