//! The `game` record: one game, its sidecar and its steps, whatever pool or log it came from.
//!
//! Boards travel as sixteen exponents; packing them is the sink's job. What a source does not know
//! is null.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{Float32Type, Float64Type, Int32Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, Float32Array, ListArray, PrimitiveArray, RecordBatch,
    StringArray, StructArray, cast::AsArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};

use super::{JsonForm, RecordType, item};
use crate::game2048::{Board, CELLS, Column, Game};

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

    fn append_to(&self, column: &mut Column<T>) {
        match self.has_nulls() {
            false => column.extend_known(self.values),
            true => (0..self.values.len()).for_each(|index| column.push(self.get(index))),
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
    steps: &'a StructArray,
    columns: StepColumns<'a>,
}

#[derive(Debug)]
struct StepColumns<'a> {
    step_index: Values<'a, u32>,
    board: &'a ListArray,
    cells: Values<'a, u8>,
    board_eval: Values<'a, i32>,
    move_dir: Values<'a, u8>,
    valuation_type: &'a StringArray,
    valuation: Values<'a, f64>,
    ev_legal: Values<'a, u8>,
    max_rank: Values<'a, u8>,
    seed: Values<'a, u64>,
    branch_evs: &'a ListArray,
    branch_values: Values<'a, f32>,
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
        let steps = games.values().as_struct_opt()?;
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
            steps,
            columns: StepColumns::view(steps.columns())?,
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
        let range = self.range(row);
        let columns = &self.columns;
        Steps {
            step_index: columns.step_index.slice(range.clone()),
            board_eval: columns.board_eval.slice(range.clone()),
            move_dir: columns.move_dir.slice(range.clone()),
            valuation: columns.valuation.slice(range.clone()),
            ev_legal: columns.ev_legal.slice(range.clone()),
            max_rank: columns.max_rank.slice(range.clone()),
            seed: columns.seed.slice(range.clone()),
            steps: self.steps,
            board: columns.board,
            cells: columns.cells,
            valuation_type: columns.valuation_type,
            branch_evs: columns.branch_evs,
            branch_values: columns.branch_values,
            range,
        }
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

impl<'a> StepColumns<'a> {
    fn view(columns: &'a [ArrayRef]) -> Option<StepColumns<'a>> {
        let [
            step_index,
            board,
            board_eval,
            move_dir,
            valuation_type,
            valuation,
            ev_legal,
            max_rank,
            seed,
            branch_evs,
        ] = columns
        else {
            return None;
        };
        let (board, branch_evs) = (board.as_list_opt::<i32>()?, branch_evs.as_list_opt::<i32>()?);
        Some(StepColumns {
            step_index: values::<UInt32Type>(step_index)?,
            board,
            cells: values::<UInt8Type>(board.values())?,
            board_eval: values::<Int32Type>(board_eval)?,
            move_dir: values::<UInt8Type>(move_dir)?,
            valuation_type: valuation_type.as_string_opt()?,
            valuation: values::<Float64Type>(valuation)?,
            ev_legal: values::<UInt8Type>(ev_legal)?,
            max_rank: values::<UInt8Type>(max_rank)?,
            seed: values::<UInt64Type>(seed)?,
            branch_evs,
            branch_values: values::<Float32Type>(branch_evs.values())?,
        })
    }
}

/// The steps of one game, by column; an index counts from the game's first step.
#[derive(Debug)]
pub struct Steps<'a> {
    pub step_index: Values<'a, u32>,
    pub board_eval: Values<'a, i32>,
    pub move_dir: Values<'a, u8>,
    pub valuation: Values<'a, f64>,
    pub ev_legal: Values<'a, u8>,
    pub max_rank: Values<'a, u8>,
    pub seed: Values<'a, u64>,
    steps: &'a StructArray,
    board: &'a ListArray,
    cells: Values<'a, u8>,
    valuation_type: &'a StringArray,
    branch_evs: &'a ListArray,
    branch_values: Values<'a, f32>,
    /// The game's steps among those of the batch.
    range: Range<usize>,
}

impl<'a> Steps<'a> {
    pub fn len(&self) -> usize {
        self.range.len()
    }

    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// The cells of a step's board: sixteen, if the record is sound.
    pub fn board(&self, index: usize) -> &'a [u8] {
        let step = self.range.start + index;
        let offsets = self.board.value_offsets();
        &self.cells.values[offsets[step] as usize..offsets[step + 1] as usize]
    }

    pub fn valuation_type(&self, index: usize) -> Option<&'a str> {
        text(self.valuation_type, self.range.start + index)
    }

    /// The values of up, down, left, right, and which of them are known (bit i for direction i).
    fn branches(&self, index: usize) -> Result<([f32; BRANCHES], u8), String> {
        let step = self.range.start + index;
        if self.branch_evs.is_null(step) {
            return Ok(([0.0; BRANCHES], 0));
        }
        let offsets = self.branch_evs.value_offsets();
        let range = offsets[step] as usize..offsets[step + 1] as usize;
        if range.len() != BRANCHES {
            return Err(format!("branch_evs has {} values, not {BRANCHES}", range.len()));
        }
        let (mut values, mut known) = ([0.0; BRANCHES], 0);
        for (direction, at) in range.enumerate() {
            if let Some(value) = self.branch_values.get(at) {
                if !value.is_finite() {
                    return Err(format!("branch_evs has {value}, which is no finite number"));
                }
                values[direction] = value;
                known |= 1 << direction;
            }
        }
        Ok((values, known))
    }

    fn read(&self, game: &mut Game) -> Result<(), String> {
        let at = |index: usize, what: String| format!("step {index}: {what}");
        let nulls = self.steps.nulls().map(|nulls| nulls.slice(self.range.start, self.len()));
        if nulls.is_some_and(|nulls| nulls.null_count() > 0) || self.step_index.has_nulls() {
            return Err("a step, or its step_index, is null".to_string());
        }
        game.steps.step_index.extend_from_slice(self.step_index.values());
        self.board_eval.append_to(&mut game.steps.board_eval);
        self.move_dir.append_to(&mut game.steps.move_dir);
        self.valuation.append_to(&mut game.steps.valuation);
        self.ev_legal.append_to(&mut game.steps.ev_legal);
        self.max_rank.append_to(&mut game.steps.max_rank);
        self.seed.append_to(&mut game.steps.seed);
        let mut last: Option<(&str, u16)> = None;
        for index in 0..self.len() {
            let cells = self.board(index);
            let board = <[u8; CELLS]>::try_from(cells)
                .map_err(|_| at(index, format!("board has {} cells, not {CELLS}", cells.len())))?;
            let board = Board::new(board).ok_or_else(|| {
                at(index, format!("board has exponent {:?}", board.iter().max().unwrap_or(&0)))
            })?;
            game.steps.boards.push(board);
            if let Some(direction) = self.move_dir.get(index).filter(|&direction| direction > 3) {
                return Err(at(index, format!("move_dir is {direction}, over 3")));
            }
            if let Some(legal) = self.ev_legal.get(index).filter(|&legal| legal > 15) {
                return Err(at(index, format!("ev_legal is {legal}, over 15")));
            }
            let name = match (self.valuation_type(index), last) {
                (None, _) => None,
                (Some(name), Some((known, number))) if name == known => Some(number),
                (Some(name), _) => {
                    let number = game
                        .valuation_index(name)
                        .ok_or_else(|| at(index, "too many valuation names".to_string()))?;
                    last = Some((name, number));
                    Some(number)
                }
            };
            game.steps.valuation_type.push(name);
            let (values, known) = self.branches(index).map_err(|what| at(index, what))?;
            game.steps.branch_evs.push(values);
            game.steps.branch_known.push(known);
        }
        Ok(())
    }
}

fn text(column: &StringArray, row: usize) -> Option<&str> {
    column.is_valid(row).then(|| column.value(row))
}

/// Builds a batch of games, column by column.
#[derive(Debug, Default)]
pub struct GamesBuilder {
    run_id: Column<u64>,
    seed: Column<u64>,
    depth: Column<u32>,
    score: Column<u64>,
    max_tile: Column<u64>,
    max_rank: Column<u8>,
    num_moves: Column<u64>,
    seconds: Column<f64>,
    source: Vec<Option<String>>,
    meta: Vec<Option<String>>,
    session: Vec<Option<String>>,
    ends: Vec<i32>,
    step_index: Vec<u32>,
    cells: Vec<u8>,
    board_eval: Column<i32>,
    move_dir: Column<u8>,
    /// Where the name of each step ends in the text of them all.
    name_ends: Vec<i32>,
    names_known: Column<()>,
    name_text: String,
    valuation: Column<f64>,
    ev_legal: Column<u8>,
    step_max_rank: Column<u8>,
    step_seed: Column<u64>,
    branch_evs: Vec<f32>,
    /// Bit i: branch i of the step has a value.
    branch_known: Vec<u8>,
    branches_known: Column<()>,
}

impl GamesBuilder {
    /// Games so far.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Steps of all games so far.
    pub fn steps(&self) -> usize {
        self.step_index.len()
    }

    /// Adds a game. Fails where a batch would pass 2^31 cells or bytes of names (no game does).
    pub fn push(&mut self, game: &Game) -> Result<(), ArrowError> {
        let steps = &game.steps;
        let end = self.step_index.len() + steps.len();
        let too_long = || ArrowError::OffsetOverflowError(end);
        let fits = |count: usize| i32::try_from(count).map_err(|_| too_long());
        fits(end.saturating_mul(CELLS))?;
        self.ends.push(fits(end)?);
        self.run_id.push(Some(game.run_id));
        self.seed.push(game.seed);
        self.depth.push(game.depth);
        self.score.push(game.score);
        self.max_tile.push(game.max_tile);
        self.max_rank.push(game.max_rank);
        self.num_moves.push(game.num_moves);
        self.seconds.push(game.seconds);
        self.source.push(game.source.clone());
        self.meta.push((!game.meta.is_empty()).then(|| game.meta.clone()));
        self.session.push(game.session.clone());
        self.step_index.extend_from_slice(&steps.step_index);
        for board in &steps.boards {
            self.cells.extend_from_slice(board.cells());
        }
        self.board_eval.append(&steps.board_eval);
        self.move_dir.append(&steps.move_dir);
        self.valuation.append(&steps.valuation);
        self.ev_legal.append(&steps.ev_legal);
        self.step_max_rank.append(&steps.max_rank);
        self.step_seed.append(&steps.seed);
        let longest = game.valuation_names.iter().map(String::len).max().unwrap_or_default();
        fits(steps.len().saturating_mul(longest).saturating_add(self.name_text.len()))?;
        for index in 0..steps.len() {
            let name = game.valuation_name(index);
            self.name_text.push_str(name.unwrap_or_default());
            self.name_ends.push(self.name_text.len() as i32);
            self.names_known.push(name.map(|_| ()));
        }
        self.branch_evs.extend_from_slice(steps.branch_evs.as_flattened());
        self.branch_known.extend_from_slice(&steps.branch_known);
        for (index, known) in steps.branch_known.iter().enumerate() {
            // A source that knows nothing of values has no list of them.
            let known = *known != 0 || steps.ev_legal.is_known(index);
            self.branches_known.push(known.then_some(()));
        }
        Ok(())
    }

    /// The batch of the games so far; the builder is empty again.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let built = std::mem::take(self);
        let steps = built.step_index.len();
        let lists_of = |length: usize| OffsetBuffer::from_repeated_length(length, steps);
        let cells = Arc::new(number::<UInt8Type>(built.cells, Vec::new()));
        let known = branch_validity(&built.branch_known);
        let branches = Arc::new(Float32Array::new(ScalarBuffer::from(built.branch_evs), known));
        let names = {
            let ends = OffsetBuffer::new(std::iter::once(0).chain(built.name_ends).collect());
            let known = validity(built.names_known.into_parts().1);
            StringArray::try_new(ends, built.name_text.into_bytes().into(), known)?
        };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(number::<UInt32Type>(built.step_index, Vec::new())),
            Arc::new(ListArray::try_new(item(DataType::UInt8), lists_of(CELLS), cells, None)?),
            column::<Int32Type>(built.board_eval),
            column::<UInt8Type>(built.move_dir),
            Arc::new(names),
            column::<Float64Type>(built.valuation),
            column::<UInt8Type>(built.ev_legal),
            column::<UInt8Type>(built.step_max_rank),
            column::<UInt64Type>(built.step_seed),
            Arc::new(ListArray::try_new(
                branch_item(),
                lists_of(BRANCHES),
                branches,
                validity(built.branches_known.into_parts().1),
            )?),
        ];
        let structs = StructArray::try_new(step_fields(), columns, None)?;
        let ends = OffsetBuffer::new(std::iter::once(0).chain(built.ends).collect());
        let columns: Vec<ArrayRef> = vec![
            column::<UInt64Type>(built.run_id),
            column::<UInt64Type>(built.seed),
            column::<UInt32Type>(built.depth),
            column::<UInt64Type>(built.score),
            column::<UInt64Type>(built.max_tile),
            column::<UInt8Type>(built.max_rank),
            column::<UInt64Type>(built.num_moves),
            column::<Float64Type>(built.seconds),
            Arc::new(StringArray::from(built.source)),
            Arc::new(StringArray::from(built.meta)),
            Arc::new(StringArray::from(built.session)),
            Arc::new(ListArray::try_new(
                item(DataType::Struct(step_fields())),
                ends,
                Arc::new(structs),
                None,
            )?),
        ];
        RecordBatch::try_new(Arc::new(Schema::new(fields())), columns)
    }
}

fn validity(known: Vec<bool>) -> Option<NullBuffer> {
    known.contains(&false).then(|| NullBuffer::from(known))
}

/// The validity of the branches of steps, of which each has four bits.
fn branch_validity(steps: &[u8]) -> Option<NullBuffer> {
    const ALL: u8 = (1 << BRANCHES) - 1;
    if steps.iter().all(|&known| known & ALL == ALL) {
        return None;
    }
    let two = |pair: &[u8]| pair[0] & ALL | pair.get(1).map_or(0, |next| next << BRANCHES);
    let bits: Vec<u8> = steps.chunks(2).map(two).collect();
    Some(NullBuffer::new(BooleanBuffer::new(bits.into(), 0, steps.len() * BRANCHES)))
}

fn number<T: ArrowPrimitiveType>(values: Vec<T::Native>, known: Vec<bool>) -> PrimitiveArray<T> {
    PrimitiveArray::new(ScalarBuffer::from(values), validity(known))
}

fn column<T: ArrowPrimitiveType>(column: Column<T::Native>) -> ArrayRef {
    let (values, known) = column.into_parts();
    Arc::new(number::<T>(values, known))
}

#[cfg(test)]
#[path = "game_tests.rs"]
mod tests;
