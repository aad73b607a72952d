//! The `game` record: one game, its sidecar and its steps, whatever pool or log it came from.
//!
//! Boards travel as sixteen exponents; packing them is the sink's job. What a source does not know
//! is null.

mod builder;
mod steps;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{Float64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, ListArray, RecordBatch, StringArray, cast::AsArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Field, Fields};

use self::steps::StepColumns;
use super::{JsonForm, RecordType, item};
use crate::game2048::{Column, Game};

pub use self::builder::GamesBuilder;
pub use self::steps::Steps;

/// Games: what the sidecar says (`meta` is its other fields, `session` a pool's own keys on its
/// first game) and `steps`, one for each move. See [`step_fields`].
pub const GAME: RecordType =
    RecordType { name: "game", version: 1, fields, known_by: &["steps"], made_by: "mx-decode" };

/// The key of `session` under which the reader of a pool names what it has left out, a list: games
/// have no place for it. A sink that cannot keep it either has to say so.
pub const LEFT_OUT: &str = "gristmill.left_out";

/// Branches of a step: up, down, left, right.
const BRANCHES: usize = 4;

fn fields() -> Vec<Field> {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    vec![
        field("run_id", DataType::UInt64),
        field("seed", DataType::UInt64),
        field("depth", DataType::UInt32),
        field("score", DataType::UInt64),
        field("max_tile", DataType::UInt64),
        field("max_rank", DataType::UInt8),
        field("num_moves", DataType::UInt64),
        field("seconds", DataType::Float64),
        field("source", DataType::Utf8),
        JsonForm::Value.mark(field("meta_json", DataType::Utf8)),
        JsonForm::Value.mark(field("session_json", DataType::Utf8)),
        Field::new("steps", DataType::List(item(DataType::Struct(step_fields()))), false),
    ]
}

/// The fields of one step. `board` is the position before the move, sixteen exponents row by row;
/// `move_dir` 0 up, 1 down, 2 left, 3 right; bit i of `ev_legal` and item i of `branch_evs` belong
/// to direction i.
fn step_fields() -> Fields {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    Fields::from(vec![
        Field::new("step_index", DataType::UInt32, false),
        Field::new("board", DataType::List(item(DataType::UInt8)), false),
        field("board_eval", DataType::Int32),
        field("move_dir", DataType::UInt8),
        field("valuation_type", DataType::Utf8),
        field("valuation", DataType::Float64),
        field("ev_legal", DataType::UInt8),
        field("max_rank", DataType::UInt8),
        field("seed", DataType::UInt64),
        field("branch_evs", DataType::List(branch_item())),
    ])
}

fn branch_item() -> arrow_schema::FieldRef {
    Arc::new(Field::new("item", DataType::Float32, true))
}

/// A column of numbers, any of which may be null.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a, T> {
    values: &'a [T],
    nulls: Option<&'a NullBuffer>,
    /// Where this part of the column begins in `nulls`.
    start: usize,
}

impl<'a, T: Copy + Default> Values<'a, T> {
    /// The value at `index`; `None` where it is null.
    pub fn get(&self, index: usize) -> Option<T> {
        let null = self.nulls.is_some_and(|nulls| nulls.is_null(self.start + index));
        if null { None } else { self.values.get(index).copied() }
    }

    /// The values; what stands where one is null has no meaning.
    pub fn values(&self) -> &'a [T] {
        self.values
    }

    pub fn has_nulls(&self) -> bool {
        let part = self.nulls.map(|nulls| nulls.slice(self.start, self.values.len()));
        part.is_some_and(|part| part.null_count() > 0)
    }

    fn slice(&self, range: Range<usize>) -> Values<'a, T> {
        let start = self.start + range.start;
        Values { values: &self.values[range], nulls: self.nulls, start }
    }

    /// Whether all values that are not null are as they should be.
    fn all(&self, right: impl Fn(T) -> bool) -> bool {
        match self.has_nulls() {
            false => self.values.iter().fold(true, |all, &value| all & right(value)),
            true => (0..self.values.len()).all(|index| self.get(index).is_none_or(&right)),
        }
    }

    fn append_to(&self, column: &mut Column<T>) {
        let part = self.nulls.map(|nulls| nulls.slice(self.start, self.values.len()));
        match part.map_or(0, |part| part.null_count()) {
            0 => column.extend_known(self.values.iter().copied()),
            count if count == self.values.len() => column.extend_null(count),
            _ => (0..self.values.len()).for_each(|index| column.push(self.get(index))),
        }
    }
}

fn values<P: ArrowPrimitiveType>(array: &ArrayRef) -> Option<Values<'_, P::Native>> {
    let array = array.as_primitive_opt::<P>()?;
    Some(Values { values: array.values(), nulls: array.nulls(), start: 0 })
}

/// A batch of game records, by column.
#[derive(Debug)]
pub struct Games<'a> {
    pub run_id: Values<'a, u64>,
    pub seed: Values<'a, u64>,
    pub depth: Values<'a, u32>,
    pub score: Values<'a, u64>,
    pub max_tile: Values<'a, u64>,
    pub max_rank: Values<'a, u8>,
    pub num_moves: Values<'a, u64>,
    pub seconds: Values<'a, f64>,
    source: &'a StringArray,
    meta: &'a StringArray,
    session: &'a StringArray,
    games: &'a ListArray,
    columns: StepColumns<'a>,
}

impl<'a> Games<'a> {
    /// The view of a batch in the schema of [`GAME`]. Other schemas are an error (the stream
    /// readers conform every batch first).
    pub fn of(batch: &'a RecordBatch) -> Result<Games<'a>, ArrowError> {
        let wrong = || ArrowError::SchemaError("not a game record".to_string());
        Games::view(batch.columns()).ok_or_else(wrong)
    }

    fn view(columns: &'a [ArrayRef]) -> Option<Games<'a>> {
        let [run_id, seed, depth, score, max_tile, max_rank, num_moves, seconds, texts @ ..] =
            columns
        else {
            return None;
        };
        let [source, meta, session, games] = texts else { return None };
        let games = games.as_list_opt::<i32>()?;
        Some(Games {
            run_id: values::<UInt64Type>(run_id)?,
            seed: values::<UInt64Type>(seed)?,
            depth: values::<UInt32Type>(depth)?,
            score: values::<UInt64Type>(score)?,
            max_tile: values::<UInt64Type>(max_tile)?,
            max_rank: values::<UInt8Type>(max_rank)?,
            num_moves: values::<UInt64Type>(num_moves)?,
            seconds: values::<Float64Type>(seconds)?,
            source: source.as_string_opt()?,
            meta: meta.as_string_opt()?,
            session: session.as_string_opt()?,
            games,
            columns: StepColumns::view(games.values().as_struct_opt()?)?,
        })
    }

    pub fn len(&self) -> usize {
        self.games.len()
    }

    pub fn is_empty(&self) -> bool {
        self.games.is_empty()
    }

    /// Where the game came from, for people.
    pub fn source(&self, row: usize) -> Option<&'a str> {
        text(self.source, row)
    }

    /// The sidecar's other fields, the text of a JSON object.
    pub fn meta(&self, row: usize) -> Option<&'a str> {
        text(self.meta, row)
    }

    /// A pool's own keys, the text of a JSON object.
    pub fn session(&self, row: usize) -> Option<&'a str> {
        text(self.session, row)
    }

    /// Steps of a row.
    pub fn step_count(&self, row: usize) -> usize {
        self.range(row).len()
    }

    fn range(&self, row: usize) -> Range<usize> {
        let offsets = self.games.value_offsets();
        offsets[row] as usize..offsets[row + 1] as usize
    }

    /// The steps of a row, by column.
    pub fn steps(&self, row: usize) -> Steps<'a> {
        self.columns.steps(self.range(row))
    }

    /// A row as a [`Game`], which loses what it held and keeps its memory. What no game can have
    /// (a board of other than sixteen cells, a move of none of the four directions) is an error;
    /// after it `game` holds nothing of use.
    pub fn read(&self, row: usize, game: &mut Game) -> Result<(), String> {
        game.clear();
        game.run_id = self.run_id.get(row).unwrap_or_default();
        game.seed = self.seed.get(row);
        game.depth = self.depth.get(row);
        game.score = self.score.get(row);
        game.max_tile = self.max_tile.get(row);
        game.max_rank = self.max_rank.get(row);
        game.num_moves = self.num_moves.get(row);
        game.seconds = self.seconds.get(row);
        game.source = self.source(row).map(str::to_string);
        game.meta = self.meta(row).unwrap_or_default().to_string();
        game.session = self.session(row).map(str::to_string);
        if self.games.is_null(row) {
            return Err("steps is null".to_string());
        }
        self.steps(row).read(game)
    }
}

fn text(column: &StringArray, row: usize) -> Option<&str> {
    column.is_valid(row).then(|| column.value(row))
}

#[cfg(test)]
mod tests;
