//! One step of a game: what its line says, read with any key order, white space, escapes
//! and unknown keys. Lines of the usual shape are read by `fast`, which must agree.

use crate::format::raw_games::Defect;
use crate::format::raw_games::defect::excerpt;
use crate::game2048::{CELLS, Direction, KNOWN_VALUATIONS, MAX_EXPONENT};
use crate::json::{self, Kind, Reader, Str};

/// The content of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RawStep<'a> {
    pub seed: Option<u64>,
    pub step_index: Option<u64>,
    pub max_rank: Option<u64>,
    pub direction: Direction,
    pub valuation_type: ValuationType<'a>,
    pub valuation: Option<f64>,
    /// Exponents, not yet known to be at most [`MAX_EXPONENT`].
    pub cells: [u8; CELLS],
    /// Values in the order up, down, left, right; 0.0 where there is no value.
    pub branch_evs: [f32; 4],
    /// Bit i: direction i has a value.
    pub branch_known: u8,
}

/// The name of a kind of valuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValuationType<'a> {
    /// The index of the name in [`KNOWN_VALUATIONS`]; the index of `search` if the line has no
    /// name.
    Known(u8),
    Other(&'a str),
}

impl<'a> ValuationType<'a> {
    pub(super) fn named(name: &'a str) -> Self {
        match KNOWN_VALUATIONS.iter().position(|&known| known == name) {
            Some(index) => ValuationType::Known(index as u8),
            None => ValuationType::Other(name),
        }
    }
}

/// The keys of a step, and of its branches, each with a bit to find duplicates.
const SEED: u16 = 1;
const STEP_INDEX: u16 = 2;
const MAX_RANK: u16 = 4;
const MOVE: u16 = 8;
const VALUATION_TYPE: u16 = 16;
const VALUATION: u16 = 32;
const BOARD: u16 = 64;
const BRANCH_EVS: u16 = 128;

const BRANCH_KEYS: [&str; 4] =
    ["branch_evs.up", "branch_evs.down", "branch_evs.left", "branch_evs.right"];

/// Reads the object of one line. Null stands for a missing field, except for `move` and `board`,
/// which a step must have. `scratch` holds a valuation name that has escapes.
pub(super) fn parse<'a>(line: &'a [u8], scratch: &'a mut String) -> Result<RawStep<'a>, Defect> {
    let text = std::str::from_utf8(line).map_err(|_| Defect::Utf8)?;
    let mut reader = Reader::new(text);
    let mut step = RawStep {
        seed: None,
        step_index: None,
        max_rank: None,
        direction: Direction::Up,
        valuation_type: ValuationType::Known(0),
        valuation: None,
        cells: [0; CELLS],
        branch_evs: [0.0; 4],
        branch_known: 0,
    };
    let mut seen = 0;
    let mut name = None;
    reader.object(|reader, key: Str<'a>| -> Result<(), Defect> {
        if key.eq_str("seed") {
            once(&mut seen, SEED, "seed")?;
            step.seed = optional(reader, |reader| integer(reader, "seed"))?;
        } else if key.eq_str("step_index") {
            once(&mut seen, STEP_INDEX, "step_index")?;
            step.step_index = optional(reader, |reader| integer(reader, "step_index"))?;
        } else if key.eq_str("max_rank") {
            once(&mut seen, MAX_RANK, "max_rank")?;
            step.max_rank = optional(reader, |reader| integer(reader, "max_rank"))?;
        } else if key.eq_str("move") {
            once(&mut seen, MOVE, "move")?;
            step.direction = direction(reader)?;
        } else if key.eq_str("valuation_type") {
            once(&mut seen, VALUATION_TYPE, "valuation_type")?;
            name = optional(reader, |reader| string(reader, "valuation_type"))?;
        } else if key.eq_str("valuation") {
            once(&mut seen, VALUATION, "valuation")?;
            step.valuation = optional(reader, |reader| {
                let text = number(reader, "valuation")?;
                finite_f64(text, "valuation")
            })?;
        } else if key.eq_str("board") {
            once(&mut seen, BOARD, "board")?;
            step.cells = board(reader)?;
        } else if key.eq_str("branch_evs") {
            once(&mut seen, BRANCH_EVS, "branch_evs")?;
            optional(reader, |reader| branches(reader, &mut step))?;
        } else {
            reader.skip()?;
        }
        Ok(())
    })?;
    reader.end()?;
    for (bit, key) in [(MOVE, "move"), (BOARD, "board")] {
        if seen & bit == 0 {
            return Err(Defect::MissingKey { key });
        }
    }
    if let Some(name) = name {
        step.valuation_type = ValuationType::named(name.decode(scratch)?);
    }
    Ok(step)
}

fn once(seen: &mut u16, bit: u16, key: &str) -> Result<(), Defect> {
    if *seen & bit != 0 {
        return Err(Defect::Duplicate { key: key.to_owned() });
    }
    *seen |= bit;
    Ok(())
}

/// Reads a value that may be null.
fn optional<'a, T>(
    reader: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, Defect>,
) -> Result<Option<T>, Defect> {
    let next = &reader.text()[reader.position()..];
    if next.trim_ascii_start().starts_with('n') {
        reader.null()?;
        return Ok(None);
    }
    read(reader).map(Some)
}

/// Returns the defect of a value that does not fit its key, or of text that is not a value.
fn unexpected(reader: &mut Reader<'_>, key: &'static str, expected: &'static str) -> Defect {
    match reader.raw() {
        Ok(value) => Defect::Kind { key, expected, found: excerpt(value) },
        Err(error) => error.into(),
    }
}

fn integer(reader: &mut Reader<'_>, key: &'static str) -> Result<u64, Defect> {
    let expected = "an unsigned integer";
    if reader.peek()? != Kind::Number {
        return Err(unexpected(reader, key, expected));
    }
    let text = reader.number()?;
    json::integer_u64(text).ok_or_else(|| Defect::Kind { key, expected, found: excerpt(text) })
}

/// Reads a number's text. The error names `NaN` and `Infinity`, which are not JSON but which some
/// writers write.
fn number<'a>(reader: &mut Reader<'a>, key: &'static str) -> Result<&'a str, Defect> {
    let next = reader.text()[reader.position()..].trim_ascii_start();
    for word in ["NaN", "Infinity", "-Infinity"] {
        if next.starts_with(word) {
            return Err(Defect::NotFinite { key, value: word.to_owned() });
        }
    }
    if reader.peek()? != Kind::Number {
        return Err(unexpected(reader, key, "a number"));
    }
    Ok(reader.number()?)
}

fn string<'a>(reader: &mut Reader<'a>, key: &'static str) -> Result<Str<'a>, Defect> {
    if reader.peek()? != Kind::String {
        return Err(unexpected(reader, key, "a string"));
    }
    Ok(reader.string()?)
}

fn direction(reader: &mut Reader<'_>) -> Result<Direction, Defect> {
    let name = string(reader, "move")?;
    if let Some(direction) = Direction::ALL.into_iter().find(|d| name.eq_str(d.name())) {
        return Ok(direction);
    }
    Err(Defect::UnknownMove { name: excerpt(name.raw()) })
}

fn finite_f64(text: &str, key: &'static str) -> Result<f64, Defect> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(Defect::NotFinite { key, value: excerpt(text) }),
    }
}

fn board(reader: &mut Reader<'_>) -> Result<[u8; CELLS], Defect> {
    if reader.peek()? != Kind::Array {
        return Err(unexpected(reader, "board", "a list of 16 exponents"));
    }
    let mut cells = [0; CELLS];
    let mut count = 0;
    reader.array(|reader| -> Result<(), Defect> {
        if reader.peek()? != Kind::Number {
            return Err(unexpected(reader, "board", "a list of exponents"));
        }
        let text = reader.number()?;
        let is_integer = text.bytes().all(|byte| byte.is_ascii_digit());
        // An integer too long for u64 is an exponent that is too large, not another kind of value.
        let value = json::integer_u64(text).or(is_integer.then_some(u64::MAX));
        let exponent = value.ok_or_else(|| Defect::Kind {
            key: "board",
            expected: "a list of exponents",
            found: excerpt(text),
        })?;
        if exponent > u64::from(MAX_EXPONENT) {
            return Err(Defect::Exponent { cell: count, exponent: excerpt(text) });
        }
        if let Some(cell) = cells.get_mut(count) {
            *cell = exponent as u8;
        }
        count += 1;
        Ok(())
    })?;
    if count == CELLS { Ok(cells) } else { Err(Defect::BoardLength { cells: count }) }
}

fn branches(reader: &mut Reader<'_>, step: &mut RawStep<'_>) -> Result<(), Defect> {
    if reader.peek()? != Kind::Object {
        return Err(unexpected(reader, "branch_evs", "an object"));
    }
    let mut seen = 0;
    reader.object(|reader, key| -> Result<(), Defect> {
        let Some(direction) = Direction::ALL.into_iter().find(|d| key.eq_str(d.name())) else {
            return Ok(reader.skip()?);
        };
        let name = BRANCH_KEYS[direction as usize];
        once(&mut seen, u16::from(direction.bit()), name)?;
        let value = optional(reader, |reader| {
            let text = number(reader, name)?;
            match text.parse::<f32>() {
                Ok(value) if value.is_finite() => Ok(value),
                Ok(_) => Err(Defect::Overflow { key: name, value: excerpt(text) }),
                Err(_) => Err(Defect::NotFinite { key: name, value: excerpt(text) }),
            }
        })?;
        if let Some(value) = value {
            step.branch_evs[direction as usize] = value;
            step.branch_known |= direction.bit();
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
