//! Building batches of games.

use std::sync::Arc;

use arrow_array::types::{Float64Type, Int32Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, Float32Array, ListArray, PrimitiveArray, RecordBatch,
    StringArray, StructArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Schema};

use super::{BRANCHES, branch_item, fields, step_fields};
use crate::game2048::{CELLS, Column, Game};
use crate::record::item;

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
    name_text: Vec<u8>,
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
        self.push_names(game);
        self.branch_evs.extend_from_slice(steps.branch_evs.as_flattened());
        self.branch_known.extend_from_slice(&steps.branch_known);
        if steps.ev_legal.all_known() {
            self.branches_known.extend_known(steps.branch_known.iter().map(|_| ()));
            return Ok(());
        }
        for (index, known) in steps.branch_known.iter().enumerate() {
            // A source that knows nothing of values has no list of them.
            let known = *known != 0 || steps.ev_legal.is_known(index);
            self.branches_known.push(known.then_some(()));
        }
        Ok(())
    }

    /// The valuation name of each step.
    fn push_names(&mut self, game: &Game) {
        let steps = &game.steps;
        let words: Option<Vec<([u8; WORD], usize)>> =
            game.valuation_names.iter().map(word).collect();
        let all_named = |words: &Vec<_>| {
            let mut names = steps.valuation_type.values().iter();
            steps.valuation_type.all_known() && names.all(|&name| usize::from(name) < words.len())
        };
        let Some(words) = words.filter(all_named) else {
            for index in 0..steps.len() {
                let name = game.valuation_name(index);
                self.name_text.extend_from_slice(name.unwrap_or_default().as_bytes());
                self.name_ends.push(self.name_text.len() as i32);
                self.names_known.push(name.map(|_| ()));
            }
            return;
        };
        // A whole word is written for each, over what the last one had behind its name.
        let mut end = self.name_text.len();
        let longest = words.iter().map(|(_, length)| *length).max().unwrap_or_default();
        self.name_text.resize(end + steps.len() * longest + WORD, 0);
        for &name in steps.valuation_type.values() {
            let (word, length) = words.get(usize::from(name)).copied().unwrap_or_default();
            if let Some(place) = self.name_text.get_mut(end..).and_then(<[u8]>::first_chunk_mut) {
                *place = word;
            }
            end += length;
            self.name_ends.push(end as i32);
        }
        self.name_text.truncate(end);
        self.names_known.extend_known(steps.valuation_type.values().iter().map(|_| ()));
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
            StringArray::try_new(ends, built.name_text.into(), known)?
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

/// Names of up to so many bytes are written without a call for each.
const WORD: usize = 8;

/// A short name and its length.
fn word(name: &String) -> Option<([u8; WORD], usize)> {
    let mut word = [0; WORD];
    word.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    Some((word, name.len()))
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
