//! The steps of a game as they stand in a batch.

use std::ops::Range;

use arrow_array::types::{Float32Type, Float64Type, Int32Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ListArray, StringArray, StructArray, cast::AsArray};

use super::{BRANCHES, Values, text, values};
use crate::game2048::{ALL_BRANCHES, Board, CELLS, Game, known_values};

/// The steps of all games of a batch, by column.
#[derive(Debug)]
pub(super) struct StepColumns<'a> {
    steps: &'a StructArray,
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
impl<'a> StepColumns<'a> {
    pub(super) fn view(steps: &'a StructArray) -> Option<StepColumns<'a>> {
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
        ] = steps.columns()
        else {
            return None;
        };
        let (board, branch_evs) = (board.as_list_opt::<i32>()?, branch_evs.as_list_opt::<i32>()?);
        Some(StepColumns {
            steps,
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

    /// The steps of one game, which stand there.
    pub(super) fn steps(&self, range: Range<usize>) -> Steps<'a> {
        Steps {
            step_index: self.step_index.slice(range.clone()),
            board_eval: self.board_eval.slice(range.clone()),
            move_dir: self.move_dir.slice(range.clone()),
            valuation: self.valuation.slice(range.clone()),
            ev_legal: self.ev_legal.slice(range.clone()),
            max_rank: self.max_rank.slice(range.clone()),
            seed: self.seed.slice(range.clone()),
            steps: self.steps,
            board: self.board,
            cells: self.cells,
            valuation_type: self.valuation_type,
            branch_evs: self.branch_evs,
            branch_values: self.branch_values,
            range,
        }
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

    pub(super) fn read(&self, game: &mut Game) -> Result<(), String> {
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
        if self.read_together(game).is_none() {
            game.valuation_names.clear();
            game.steps.boards.clear();
            game.steps.valuation_type.clear();
            game.steps.branch_evs.clear();
            game.steps.branch_known.clear();
            self.read_each(game)?;
        }
        Ok(())
    }

    /// Takes what is left of the columns a column at a time. `None` where anything is wrong, or
    /// lies in the batch as no writer of ours has it.
    fn read_together(&self, game: &mut Game) -> Option<()> {
        let offsets = self.board.value_offsets().get(self.range.start..=self.range.end)?;
        let cells = self.cells.values.get(strided(offsets, CELLS)?)?;
        Board::append_all(cells, &mut game.steps.boards)?;
        let in_range = self.move_dir.all(|direction| direction <= 3);
        if !in_range || !self.ev_legal.all(|legal| legal <= 15) {
            return None;
        }
        self.read_names(game)?;
        self.read_branches(game)
    }

    fn read_names(&self, game: &mut Game) -> Option<()> {
        let offsets = self.valuation_type.value_offsets().get(self.range.start..=self.range.end)?;
        let text = self.valuation_type.value_data();
        let nulls = self.valuation_type.nulls().filter(|nulls| nulls.null_count() > 0);
        // Where the last name stands, and its number.
        let mut last: Option<(Range<usize>, u16)> = None;
        game.steps.valuation_type.reserve(self.len());
        for (index, (&start, &end)) in offsets.iter().zip(offsets.iter().skip(1)).enumerate() {
            if nulls.is_some_and(|nulls| nulls.is_null(self.range.start + index)) {
                game.steps.valuation_type.push(None);
                continue;
            }
            let here = start as usize..end as usize;
            let number = match &last {
                Some((place, number)) if same_bytes(text, place, &here) => *number,
                _ => {
                    let name = self.valuation_type(index)?;
                    game.valuation_index(name)?
                }
            };
            last = Some((here, number));
            game.steps.valuation_type.push(Some(number));
        }
        Some(())
    }

    fn read_branches(&self, game: &mut Game) -> Option<()> {
        let nulls = self.branch_evs.nulls().map(|n| n.slice(self.range.start, self.len()));
        match nulls.map_or(0, |nulls| nulls.null_count()) {
            0 => {}
            // The source knows no values.
            count if count == self.len() => {
                game.steps.branch_evs.resize(count, [0.0; BRANCHES]);
                game.steps.branch_known.resize(count, 0);
                return Some(());
            }
            _ => return None,
        }
        let offsets = self.branch_evs.value_offsets().get(self.range.start..=self.range.end)?;
        let range = strided(offsets, BRANCHES)?;
        let (values, _) = self.branch_values.values.get(range.clone())?.as_chunks::<BRANCHES>();
        match self.branch_values.nulls {
            None => game.steps.branch_known.resize(values.len(), ALL_BRANCHES),
            Some(nulls) => {
                // The bits of a step lie in one byte.
                let first = nulls.offset() + self.branch_values.start + range.start;
                let bytes = nulls.validity();
                if !first.is_multiple_of(BRANCHES) || bytes.len() * 8 < first + range.len() {
                    return None;
                }
                let steps = first / BRANCHES..first / BRANCHES + values.len();
                let known = steps.map(|step| bytes[step / 2] >> (step % 2 * BRANCHES));
                game.steps.branch_known.extend(known.map(|bits| bits & ALL_BRANCHES));
            }
        }
        let mut finite = true;
        let known = &game.steps.branch_known;
        game.steps.branch_evs.extend(values.iter().zip(known).map(|(values, &known)| {
            let values = known_values(values, known);
            finite &= values.iter().fold(true, |finite, value| finite & value.is_finite());
            values
        }));
        finite.then_some(())
    }

    /// Takes what is left of the columns step by step, and names the first that is wrong.
    fn read_each(&self, game: &mut Game) -> Result<(), String> {
        let at = |index: usize, what: String| format!("step {index}: {what}");
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

/// What lists that all have `length` items hold together; `None` if not all have.
fn strided(offsets: &[i32], length: usize) -> Option<Range<usize>> {
    let length = i32::try_from(length).ok()?;
    let pairs = offsets.iter().zip(offsets.iter().skip(1));
    let equal =
        pairs.fold(true, |equal, (&start, &end)| equal & (end.wrapping_sub(start) == length));
    let range = *offsets.first()? as usize..*offsets.last()? as usize;
    equal.then_some(range)
}

/// Whether two pieces of a text are equal. Names are mostly short: a word for each is compared
/// then, without a call.
#[inline]
fn same_bytes(text: &[u8], a: &Range<usize>, b: &Range<usize>) -> bool {
    let word =
        |start: usize| text.get(start..)?.first_chunk().map(|word| u64::from_le_bytes(*word));
    match (word(a.start), word(b.start)) {
        (Some(a_word), Some(b_word)) if a.len() <= 8 && a.len() == b.len() => {
            let differ = a_word ^ b_word;
            differ == 0 || differ.trailing_zeros() as usize >= 8 * a.len()
        }
        _ => text.get(a.clone()) == text.get(b.clone()),
    }
}
