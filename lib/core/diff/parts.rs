//! The parts of a record that are compared, and what stands in two records where a part differs.

use std::hash::{DefaultHasher, Hash, Hasher};

use arrow_cast::display::{ArrayFormatter, FormatOptions};

use crate::error::{Error, Result};
use crate::game2048::{Board, Direction, Game};
use crate::record::Rows;
use crate::record::puzzle::Puzzle;
use crate::tokenizer::decode_into;

/// The most parts that a record has.
pub(super) const PARTS: usize = 3;

/// The names of the parts of records of a type.
pub(super) fn names(record: &str) -> &'static [&'static str] {
    match record {
        "tokens" => &["tokens", "mask", "span"],
        "conversation" => &["messages"],
        "game" => &["steps", "sidecar"],
        "puzzle" => &["inputs", "labels", "names"],
        _ => &["columns"],
    }
}

/// One record, and where puzzles and groups begin: their names may be numbers, which one example
/// more changes for all others, so names of groups and puzzles are compared as borders.
#[derive(Clone, Copy)]
pub(super) struct One<'a> {
    pub rows: &'a Rows<'a>,
    pub row: usize,
    pub begins: u8,
}

/// What tells a side of a puzzle's names.
type Names<'a> = (&'a str, &'a str, Option<&'a str>, Option<&'a str>, u8);

fn puzzle_names<'a>(puzzle: &Puzzle<'a>, begins: u8) -> Names<'a> {
    let set = puzzle.set.unwrap_or("all");
    (puzzle.split, set, puzzle.identifier, puzzle.domain, begins)
}

impl One<'_> {
    /// Whether all parts are equal.
    pub fn equals(&self, other: &One<'_>) -> Result<bool> {
        Ok(match (self.rows, other.rows) {
            (Rows::Tokens(a), Rows::Tokens(b)) => {
                a.tokens(self.row) == b.tokens(other.row)
                    && a.loss_mask(self.row) == b.loss_mask(other.row)
                    && a.span_id(self.row) == b.span_id(other.row)
            }
            (Rows::Conversation(a), Rows::Conversation(b)) => {
                a.messages_json(self.row) == b.messages_json(other.row)
            }
            (Rows::Puzzle(a), Rows::Puzzle(b)) => {
                let (a, b) = (a.get(self.row), b.get(other.row));
                a.inputs == b.inputs
                    && a.labels == b.labels
                    && puzzle_names(&a, self.begins) == puzzle_names(&b, other.begins)
            }
            _ => self.hashes()? == other.hashes()?,
        })
    }

    /// A hash of each part: the same in this run for equal parts.
    pub fn hashes(&self) -> Result<[u64; PARTS]> {
        let row = self.row;
        Ok(match self.rows {
            Rows::Tokens(rows) => {
                [hash(rows.tokens(row)), hash(&rows.loss_mask(row)), hash(&rows.span_id(row))]
            }
            Rows::Conversation(rows) => [hash(&rows.messages_json(row)), 0, 0],
            Rows::Puzzle(rows) => {
                let puzzle = rows.get(row);
                let names = hash(&puzzle_names(&puzzle, self.begins));
                [hash(puzzle.inputs), hash(puzzle.labels), names]
            }
            Rows::Game(_) => {
                let game = self.game()?;
                [hash_of_steps(&game), hash_of_sidecar(&game), 0]
            }
            Rows::Other(batch) => {
                let format = FormatOptions::default().with_null("\0null");
                let mut hasher = DefaultHasher::new();
                for column in batch.columns() {
                    let text = ArrayFormatter::try_new(column, &format)?;
                    text.value(row).try_to_string()?.hash(&mut hasher);
                }
                [hasher.finish(), 0, 0]
            }
        })
    }

    fn game(&self) -> Result<Game> {
        let mut game = Game::default();
        if let Rows::Game(games) = self.rows {
            games.read(self.row, &mut game).map_err(Error::data)?;
        }
        Ok(game)
    }
}

fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn hash_of_steps(game: &Game) -> u64 {
    let mut hasher = DefaultHasher::new();
    for index in 0..game.steps.len() {
        let Some(step) = game.steps.get(index) else { break };
        let evs = step.branch_evs.map(|value| value.map(f32::to_bits));
        let numbers = (step.step_index, step.board_eval, step.move_dir, step.ev_legal, step.seed);
        (step.board.cells(), numbers, step.max_rank, evs).hash(&mut hasher);
        (step.valuation.map(f64::to_bits), game.valuation_name(index)).hash(&mut hasher);
    }
    hasher.finish()
}

/// Of what the game says besides its steps; not its number, and not where it came from.
fn hash_of_sidecar(game: &Game) -> u64 {
    let seconds = game.seconds.map(f64::to_bits);
    let numbers = (game.seed, game.depth, game.score, game.max_tile, game.max_rank);
    hash(&(numbers, game.num_moves, seconds, &game.meta))
}

/// Lines that show what stands in two records where a part differs.
pub(super) fn shown(part: &str, a: &One<'_>, b: &One<'_>) -> Result<Vec<String>> {
    Ok(match (part, a.rows, b.rows) {
        ("tokens", Rows::Tokens(x), Rows::Tokens(y)) => {
            shown_tokens(x.tokens(a.row), y.tokens(b.row))
        }
        ("mask", Rows::Tokens(x), Rows::Tokens(y)) => {
            shown_values(x.loss_mask(a.row), y.loss_mask(b.row), x.tokens(a.row))
        }
        ("span", Rows::Tokens(x), Rows::Tokens(y)) => {
            shown_values(x.span_id(a.row), y.span_id(b.row), x.tokens(a.row))
        }
        ("messages", Rows::Conversation(x), Rows::Conversation(y)) => {
            let text = |text: Option<&str>| text.unwrap_or("null").to_string();
            shown_texts(&text(x.messages_json(a.row)), &text(y.messages_json(b.row)))
        }
        ("inputs", Rows::Puzzle(x), Rows::Puzzle(y)) => {
            shown_cells(x.get(a.row).inputs, y.get(b.row).inputs)
        }
        ("labels", Rows::Puzzle(x), Rows::Puzzle(y)) => {
            shown_cells(x.get(a.row).labels, y.get(b.row).labels)
        }
        ("names", Rows::Puzzle(x), Rows::Puzzle(y)) => {
            let names = |puzzle: &Puzzle<'_>, begins: u8| {
                let border = ["goes on", "begins a puzzle", "begins a group"];
                let border = border[usize::from(begins.min(2))];
                let (split, set, identifier, ..) = puzzle_names(puzzle, begins);
                format!("{split}, {set}, {}, {border}", identifier.unwrap_or("<blank>"))
            };
            pair(&names(&x.get(a.row), a.begins), &names(&y.get(b.row), b.begins))
        }
        ("steps", Rows::Game(_), Rows::Game(_)) => shown_steps(&a.game()?, &b.game()?),
        ("sidecar", Rows::Game(_), Rows::Game(_)) => {
            let text = |game: &Game| {
                let Game { seed, depth, score, max_tile, num_moves, meta, .. } = game;
                format!(
                    "seed {seed:?}, depth {depth:?}, score {score:?}, tile {max_tile:?}, moves {num_moves:?}, {meta}"
                )
            };
            shown_texts(&text(&a.game()?), &text(&b.game()?))
        }
        _ => Vec::new(),
    })
}

fn pair(a: &str, b: &str) -> Vec<String> {
    vec![format!("A: {a}"), format!("B: {b}")]
}

/// The index of the first item that differs.
fn first_different<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()))
}

/// Text in one line. Quotes stay as they are: nothing is quoted.
pub(super) fn in_a_line(text: &str) -> String {
    let quotes = ['"', '\''];
    let mut out = String::new();
    for piece in text.split_inclusive(quotes) {
        let plain = piece.trim_end_matches(quotes);
        out.extend(plain.escape_debug());
        out += &piece[plain.len()..];
    }
    out
}

/// Tokens around a place as text, the one there in double brackets.
fn around(tokens: &[i32], at: usize) -> String {
    const AROUND: usize = 8;
    const BEFORE: usize = 24;
    let text = |range: std::ops::Range<usize>| {
        let mut bytes = Vec::new();
        for token in tokens.get(range).unwrap_or_default() {
            if decode_into(std::slice::from_ref(token), &mut bytes).is_err() {
                bytes.extend_from_slice(format!("<{token}>").as_bytes());
            }
        }
        in_a_line(&String::from_utf8_lossy(&bytes))
    };
    // What is in brackets must not be where the line is cut.
    let before = |end: usize| {
        let text = text(end.saturating_sub(AROUND)..end);
        match text.char_indices().rev().nth(BEFORE - 1) {
            Some((start, _)) if start > 0 => format!("…{}", &text[start..]),
            _ => text,
        }
    };
    if at >= tokens.len() {
        return format!("{}[[the end]]", before(tokens.len()));
    }
    let end = tokens.len().min(at + 1 + AROUND);
    let before = before(at);
    format!("{before}[[{}]]{}", text(at..at + 1), text(at + 1..end))
}

fn shown_tokens(a: &[i32], b: &[i32]) -> Vec<String> {
    let at = first_different(a, b);
    let mut lines = vec![format!("at token {at}, of {} and {}", a.len(), b.len())];
    lines.extend(pair(&around(a, at), &around(b, at)));
    lines
}

fn shown_values(a: Option<&[u8]>, b: Option<&[u8]>, tokens: &[i32]) -> Vec<String> {
    let (Some(a), Some(b)) = (a, b) else {
        let has = |side: Option<&[u8]>| if side.is_some() { "there" } else { "not there" };
        return pair(has(a), has(b));
    };
    let at = first_different(a, b);
    let value = |side: &[u8]| side.get(at).map_or("the end".to_string(), u8::to_string);
    let differing = a.iter().zip(b).filter(|(a, b)| a != b).count();
    let mut lines = vec![format!("at position {at}, {differing} in all: {}", around(tokens, at))];
    lines.extend(pair(&value(a), &value(b)));
    lines
}

fn shown_texts(a: &str, b: &str) -> Vec<String> {
    const AROUND: usize = 30;
    let at = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| {
        let part: String = text.chars().skip(at.saturating_sub(AROUND)).take(2 * AROUND).collect();
        in_a_line(&part)
    };
    let mut lines = vec![format!("at character {at}")];
    lines.extend(pair(&part(a), &part(b)));
    lines
}

fn shown_cells(a: &[i32], b: &[i32]) -> Vec<String> {
    let at = first_different(a, b);
    let differing = a.iter().zip(b).filter(|(a, b)| a != b).count();
    let value = |side: &[i32]| side.get(at).map_or("the end".to_string(), i32::to_string);
    let side = a.len().isqrt();
    let place = match side * side == a.len() && side > 0 {
        true => format!(" (row {}, column {})", at / side, at % side),
        false => String::new(),
    };
    let mut lines = vec![format!("at cell {at}{place}, {differing} in all")];
    lines.extend(pair(&value(a), &value(b)));
    lines
}

fn shown_steps(a: &Game, b: &Game) -> Vec<String> {
    let most = a.steps.len().max(b.steps.len());
    let same = |step: usize| {
        (
            a.steps.get(step).map(|mut step| {
                step.valuation_type = None;
                step
            }),
            a.valuation_name(step),
        ) == (
            b.steps.get(step).map(|mut step| {
                step.valuation_type = None;
                step
            }),
            b.valuation_name(step),
        )
    };
    let at = (0..most).find(|step| !same(*step)).unwrap_or(most);
    let text = |game: &Game| match game.steps.get(at) {
        None => "the end".to_string(),
        Some(step) => {
            let board = board_text(&step.board);
            let name = game.valuation_name(at).unwrap_or("none");
            let name_of = |place: u8| Direction::NAMES.get(usize::from(place)).copied();
            let direction = step.move_dir.map_or("none", |dir| name_of(dir).unwrap_or("unknown"));
            let value = step.valuation.map_or("unknown".to_string(), |value| value.to_string());
            let is_legal = |place: &u8| step.ev_legal.is_some_and(|legal| legal >> place & 1 == 1);
            let legal: Vec<&str> = (0..4).filter(is_legal).filter_map(name_of).collect();
            let legal = if step.ev_legal.is_none() { "unknown".into() } else { legal.join(" ") };
            format!("{board}  move {direction}, {name} {value}, legal: {legal}")
        }
    };
    let mut lines = vec![format!("at step {at}, of {} and {}", a.steps.len(), b.steps.len())];
    lines.extend(pair(&text(a), &text(b)));
    lines
}

/// A board on one line: exponents, rows divided by a stroke.
fn board_text(board: &Board) -> String {
    let row = |row: &[u8]| row.iter().map(u8::to_string).collect::<Vec<_>>().join(" ");
    board.cells().chunks(4).map(row).collect::<Vec<_>>().join(" | ")
}
