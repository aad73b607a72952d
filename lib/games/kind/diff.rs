//! What is compared of games.

use std::fmt::Display;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::GameKind;
use crate::diff::{DiffRecord, DiffView, PARTS, hash, pair, plain_json, shown_texts};
use crate::error::{Error, Result};
use crate::game2048::{Board, Direction, Game};
use crate::record::game::Games;

impl DiffView for GameKind {
    type Facts = ();

    const NAMES: &'static [&'static str] = &["steps", "sidecar"];
    /// The number of a run, and its source.
    const APART: Option<&'static [&'static str]> = Some(&["run_id", "source", "session_json"]);

    fn hashes(one: &DiffRecord<'_, Games<'_>>) -> Result<[u64; PARTS]> {
        let game = game(one)?;
        let meta = match one.is_strict {
            true => game.meta.as_bytes().to_vec(),
            false => plain_json(&game.meta),
        };
        Ok([hash_of_steps(&game), hash_of_sidecar(&game, &meta), 0, 0])
    }

    fn are_rewritten(a: &DiffRecord<'_, Games<'_>>, b: &DiffRecord<'_, Games<'_>>) -> bool {
        a.rows.meta(a.row) != b.rows.meta(b.row)
    }

    fn shown(
        part: &str,
        a: &DiffRecord<'_, Games<'_>>,
        b: &DiffRecord<'_, Games<'_>>,
    ) -> Result<Vec<String>> {
        let (a, b) = (game(a)?, game(b)?);
        Ok(match part {
            "steps" => shown_steps(&a, &b),
            _ => shown_texts(&sidecar(&a), &sidecar(&b)),
        })
    }
}

fn game(one: &DiffRecord<'_, Games<'_>>) -> Result<Game> {
    let mut game = Game::default();
    one.rows.read(one.row, &mut game).map_err(Error::data)?;
    Ok(game)
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

/// Hashes the fields of the game besides its steps; `meta` is JSON. The game's number and its
/// source are left out.
fn hash_of_sidecar(game: &Game, meta: &[u8]) -> u64 {
    let seconds = game.seconds.map(f64::to_bits);
    let numbers = (game.seed, game.depth, game.score, game.max_tile, game.max_rank);
    hash(&(numbers, game.num_moves, seconds, meta))
}

fn sidecar(game: &Game) -> String {
    let Game { seed, depth, score, max_tile, num_moves, meta, .. } = game;
    let (seed, depth, score) = (known(seed), known(depth), known(score));
    let (tile, moves) = (known(max_tile), known(num_moves));
    format!("seed {seed}, depth {depth}, score {score}, tile {tile}, moves {moves}, {meta}")
}

/// Returns a number as text, also if it is not stated.
fn known(number: &Option<impl Display>) -> String {
    number.as_ref().map_or("not stated".to_string(), |number| number.to_string())
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

/// Returns a board on one line: exponents, rows divided by a stroke.
fn board_text(board: &Board) -> String {
    let row = |row: &[u8]| row.iter().map(u8::to_string).collect::<Vec<_>>().join(" ");
    board.cells().chunks(4).map(row).collect::<Vec<_>>().join(" | ")
}
