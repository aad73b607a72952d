//! Building batches of games.

use arrow_array::{Float32Array, ListArray, UInt8Array};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};

use super::{BRANCHES, GAME, GamesBuilder, StepsBuilder};
use crate::game2048::{CELLS, Game, Steps};
use crate::record::nullable::NullableColumn;
use crate::record::prelude::*;

impl GamesBuilder {
    /// Returns the number of games so far.
    pub fn len(&self) -> usize {
        self.run_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.run_id.is_empty()
    }

    /// Returns the steps of all games so far.
    pub fn steps(&self) -> usize {
        self.steps.items.rows()
    }

    /// Adds a game. Fails if a batch would pass 2^31 cells or bytes of names (no game does).
    pub fn push(&mut self, game: &Game) -> Result<(), ArrowError> {
        self.run_id.push(Some(game.run_id));
        self.seed.push(game.seed);
        self.depth.push(game.depth);
        self.score.push(game.score);
        self.max_tile.push(game.max_tile);
        self.max_rank.push(game.max_rank);
        self.num_moves.push(game.num_moves);
        self.seconds.push(game.seconds);
        self.source.push(game.source.as_deref());
        self.meta_json.push(Some(game.meta.as_str()).filter(|meta| !meta.is_empty()));
        self.session_json.push(game.session.as_deref());
        self.steps.items.push(game)?;
        self.steps.end_row(true);
        Ok(())
    }

    /// Returns the batch of the games so far; the builder is empty again.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(GAME.schema(), std::mem::take(self).columns()?)
    }
}

impl StepsBuilder {
    fn push(&mut self, game: &Game) -> Result<(), ArrowError> {
        let longest = game.valuation_names.iter().map(String::len).max().unwrap_or_default();
        let names = game.steps.len().saturating_mul(longest);
        fits(names.saturating_add(self.valuation_type.bytes.len()))?;
        fits(game.steps.len().saturating_add(self.rows()).saturating_mul(CELLS))?;
        // By name, so that a new column is not forgotten here.
        let Steps {
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
        } = &game.steps;
        self.step_index.extend_known(step_index.iter().copied());
        board.iter().for_each(|board| self.board.0.extend_from_slice(board.cells()));
        self.board_eval.append(board_eval);
        self.move_dir.append(move_dir);
        push_names(&mut self.valuation_type, game, valuation_type);
        self.valuation.append(valuation);
        self.ev_legal.append(ev_legal);
        self.max_rank.append(max_rank);
        self.seed.append(seed);
        self.branch_evs.values.extend_from_slice(branch_evs.values.as_flattened());
        self.branch_evs.bits.extend_from_slice(&branch_evs.known);
        if ev_legal.all_known() {
            self.branch_evs.known.extend_known(branch_evs.known.iter().map(|_| ()));
            return Ok(());
        }
        for (index, known) in branch_evs.known.iter().enumerate() {
            // A source without values has no list of them.
            let known = *known != 0 || ev_legal.is_known(index);
            self.branch_evs.known.push(known.then_some(()));
        }
        Ok(())
    }
}

/// Fails if a column has more items than its offsets can count.
fn fits(count: usize) -> Result<i32, ArrowError> {
    i32::try_from(count).map_err(|_| ArrowError::OffsetOverflowError(count))
}

/// Adds the valuation name of each step.
fn push_names(column: &mut TextBuilder, game: &Game, numbers: &NullableColumn<u16>) {
    let words: Option<Vec<([u8; WORD], usize)>> = game.valuation_names.iter().map(word).collect();
    let all_named = |words: &Vec<_>| {
        let mut names = numbers.values().iter();
        numbers.all_known() && names.all(|&name| usize::from(name) < words.len())
    };
    let Some(words) = words.filter(all_named) else {
        (0..numbers.len()).for_each(|index| column.push(game.valuation_name(index)));
        return;
    };
    // A whole word is written for each name, over the bytes after the last name.
    let TextBuilder { bytes, ends } = column;
    let mut end = bytes.len();
    let longest = words.iter().map(|(_, length)| *length).max().unwrap_or_default();
    bytes.resize(end + numbers.len() * longest + WORD, 0);
    ends.extend_known(numbers.values().iter().map(|&name| {
        let (word, length) = words.get(usize::from(name)).copied().unwrap_or_default();
        if let Some(place) = bytes.get_mut(end..).and_then(<[u8]>::first_chunk_mut) {
            *place = word;
        }
        end += length;
        end
    }));
    bytes.truncate(end);
}

/// The longest name, in bytes, that is written without a call.
const WORD: usize = 8;

/// Returns a short name and its length.
fn word(name: &String) -> Option<([u8; WORD], usize)> {
    let mut word = [0; WORD];
    word.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    Some((word, name.len()))
}

/// Builds the column of boards from the cells of all of them.
#[derive(Debug, Default)]
pub struct BoardsBuilder(Vec<u8>);

impl ColumnBuilder for BoardsBuilder {
    fn rows(&self) -> usize {
        self.0.len() / CELLS
    }

    fn build(self) -> Result<ArrayRef, ArrowError> {
        fits(self.0.len())?;
        let offsets = OffsetBuffer::from_repeated_length(CELLS, self.rows());
        let (item, cells) = (Arc::new(u8::field("item")), Arc::new(UInt8Array::from(self.0)));
        Ok(Arc::new(ListArray::try_new(item, offsets, cells, None)?))
    }
}

/// Builds the column of the values of branches.
#[derive(Debug, Default)]
pub struct BranchesBuilder {
    values: Vec<f32>,
    /// Bit i: branch i of the step has a value.
    bits: Vec<u8>,
    /// Which steps have a list of values.
    known: NullableColumn<()>,
}

impl ColumnBuilder for BranchesBuilder {
    fn rows(&self) -> usize {
        self.bits.len()
    }

    fn build(self) -> Result<ArrayRef, ArrowError> {
        fits(self.values.len())?;
        let offsets = OffsetBuffer::from_repeated_length(BRANCHES, self.rows());
        let values = Float32Array::try_new(self.values.into(), branch_validity(&self.bits))?;
        let (item, values) = (Arc::new(Option::<f32>::field("item")), Arc::new(values));
        let nulls = null_buffer(self.known.into_parts().1);
        Ok(Arc::new(ListArray::try_new(item, offsets, values, nulls)?))
    }
}

/// Returns the validity of the branches of steps: four bits for each step.
fn branch_validity(steps: &[u8]) -> Option<NullBuffer> {
    const ALL: u8 = (1 << BRANCHES) - 1;
    if steps.iter().all(|&known| known & ALL == ALL) {
        return None;
    }
    let two = |pair: &[u8]| pair[0] & ALL | pair.get(1).map_or(0, |next| next << BRANCHES);
    let bits: Vec<u8> = steps.chunks(2).map(two).collect();
    Some(NullBuffer::new(BooleanBuffer::new(bits.into(), 0, steps.len() * BRANCHES)))
}
