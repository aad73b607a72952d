//! Games for the page, by column: `boards` has sixteen characters a step (the exponents in base 36),
//! `branches` four values, `moves` and `legal` one digit, `names` the place of the valuation's name in
//! `valuations`.

use serde_json::{Value, json};

use super::shown::{ShownGame, ShownStep};
use crate::view::page::{Parts, short};
use crate::wording::{counted, grouped, ordinal};

/// About how many bytes a step needs.
const STEP: usize = 120;
/// The most names of valuations.
const NAMES: usize = 200;

pub fn parts(of: &ShownGame, bytes: usize) -> Parts {
    let game = &of.game;
    let mut facts = vec![("steps", grouped(of.len() as u64))];
    let numbers = [
        ("score", game.score),
        ("largest tile", game.max_tile),
        ("depth", game.depth.map(u64::from)),
    ];
    facts.extend(numbers.into_iter().filter_map(|(name, n)| n.map(|n| (name, grouped(n)))));
    facts.extend(game.seed.map(|seed| ("seed", seed.to_string())));
    facts.extend(game.source.clone().map(|source| ("source", source)));
    let title = Some(format!("run {}", game.run_id));
    (title, facts, Vec::new(), members(of, (bytes / STEP).max(2)))
}

/// Writes at most `most` steps, at equal distances.
fn members(of: &ShownGame, most: usize) -> Value {
    let every = of.len().div_ceil(most).max(1);
    let steps: Vec<ShownStep> =
        (0..of.len()).step_by(every).filter_map(|place| of.step(place)).collect();
    let left = (every > 1).then(|| {
        format!("every {} of {} is shown", ordinal(every as u64), counted(of.len() as u64, "step"))
    });
    let mut valuations: Vec<String> = Vec::new();
    let mut number = |step: &ShownStep| {
        let name = short(step.valuation.as_deref()?);
        let known = valuations.iter().position(|known| *known == name);
        known.or_else(|| {
            (valuations.len() < NAMES).then(|| {
                valuations.push(name);
                valuations.len() - 1
            })
        })
    };
    let names: Vec<Option<usize>> = steps.iter().map(&mut number).collect();
    let branches =
        steps.iter().flat_map(|step| step.branches.map(|b| b.value.and_then(round_value)));
    json!({
        "kind": "game",
        "left": left,
        "indices": steps.iter().map(|step| step.step_index).collect::<Vec<_>>(),
        "boards": steps.iter().flat_map(|step| step.board.map(digit)).collect::<String>(),
        "moves": steps.iter().map(|step| step.chosen.map_or('-', digit)).collect::<String>(),
        "legal": steps.iter().map(legal).collect::<String>(),
        "branches": branches.collect::<Vec<_>>(),
        "values": steps.iter().map(|s| s.value.and_then(|v| round_value(v as f32))).collect::<Vec<_>>(),
        "scores": steps.iter().map(|step| step.score).collect::<Vec<_>>(),
        "evals": steps.iter().map(|step| step.board_eval).collect::<Vec<_>>(),
        "names": names,
        "valuations": valuations,
    })
}

fn digit(number: u8) -> char {
    char::from_digit(u32::from(number), 36).unwrap_or('?')
}

fn legal(step: &ShownStep) -> char {
    let bits = step.branches.iter().rev().fold(0u8, |bits, b| bits << 1 | u8::from(b.legal));
    digit(bits)
}

/// Rounds a value to five digits.
fn round_value(value: f32) -> Option<Value> {
    let number: f64 = format!("{value:.4e}").parse().ok().filter(|v: &f64| v.is_finite())?;
    match number.fract() == 0.0 && number.abs() < 1e9 {
        true => Some(json!(number as i64)),
        false => Some(json!(number)),
    }
}
