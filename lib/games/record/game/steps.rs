//! The steps of a game, from the columns of a batch.

use std::ops::Range;

use arrow_array::Array;

use super::{BRANCHES, StepColumns};
use crate::game2048::{ALL_BRANCHES, Board, CELLS, Game, ItemColumn, known_values};
use crate::wording::exactly;

impl StepColumns<'_> {
    /// Reads the steps of `range` into a game without steps.
    pub(super) fn read(&self, range: Range<usize>, game: &mut Game) -> Result<(), String> {
        let step_index = self.step_index.slice(range.clone());
        if step_index.null_count() > 0 {
            return Err("a step, or its step_index, is null".to_string());
        }
        let steps = &mut game.steps;
        steps.step_index.extend_from_slice(step_index.values());
        self.board_eval.slice(range.clone()).append_to(&mut steps.board_eval);
        self.move_dir.slice(range.clone()).append_to(&mut steps.move_dir);
        self.valuation.slice(range.clone()).append_to(&mut steps.valuation);
        self.ev_legal.slice(range.clone()).append_to(&mut steps.ev_legal);
        self.max_rank.slice(range.clone()).append_to(&mut steps.max_rank);
        self.seed.slice(range.clone()).append_to(&mut steps.seed);
        if self.read_together(range.clone(), game).is_none() {
            game.valuation_names.clear();
            game.steps.board.clear();
            game.steps.valuation_type.clear();
            game.steps.branch_evs.clear();
            self.read_each(range, game)?;
        }
        Ok(())
    }

    /// Reads the other columns, one after the other. `None` if any value is invalid, or has a
    /// layout that our writers do not make.
    fn read_together(&self, range: Range<usize>, game: &mut Game) -> Option<()> {
        let offsets = self.board.array.value_offsets().get(range.start..=range.end)?;
        let cells = self.board.items.values().get(list_items(offsets, CELLS)?)?;
        Board::append_all(cells, &mut game.steps.board)?;
        let in_range = self.move_dir.slice(range.clone()).all(|direction| direction <= 3);
        if !in_range || !self.ev_legal.slice(range.clone()).all(|legal| legal <= 15) {
            return None;
        }
        self.read_names(range.clone(), game)?;
        self.read_branches(range, game)
    }

    fn read_names(&self, range: Range<usize>, game: &mut Game) -> Option<()> {
        let names = self.valuation_type.0;
        let offsets = names.value_offsets().get(range.start..=range.end)?;
        let text = names.value_data();
        let nulls = names.nulls().filter(|nulls| nulls.null_count() > 0);
        // The place of the last name, and its number.
        let mut last: Option<(Range<usize>, u16)> = None;
        game.steps.valuation_type.reserve(range.len());
        for (step, (&start, &end)) in range.zip(offsets.iter().zip(offsets.iter().skip(1))) {
            if nulls.is_some_and(|nulls| nulls.is_null(step)) {
                game.steps.valuation_type.push(None);
                continue;
            }
            let here = start as usize..end as usize;
            let number = match &last {
                Some((place, number)) if same_bytes(text, place, &here) => *number,
                _ => game.valuation_index(self.valuation_type.get(step)?)?,
            };
            last = Some((here, number));
            game.steps.valuation_type.push(Some(number));
        }
        Some(())
    }

    fn read_branches(&self, range: Range<usize>, game: &mut Game) -> Option<()> {
        let branches = &mut game.steps.branch_evs;
        let lists = self.branch_evs.array;
        let nulls = lists.nulls().map(|nulls| nulls.slice(range.start, range.len()));
        match nulls.map_or(0, |nulls| nulls.null_count()) {
            0 => {}
            // The source has no values.
            count if count == range.len() => {
                branches.values.resize(count, [0.0; BRANCHES]);
                branches.known.resize(count, 0);
                return Some(());
            }
            _ => return None,
        }
        let range = list_items(lists.value_offsets().get(range.start..=range.end)?, BRANCHES)?;
        let values = self.branch_evs.items.values().get(range.clone())?;
        let (values, _) = values.as_chunks::<BRANCHES>();
        match lists.values().nulls() {
            None => branches.known.resize(values.len(), ALL_BRANCHES),
            Some(nulls) => {
                // The bits of a step are in one byte.
                let first = nulls.offset() + range.start;
                let bytes = nulls.validity();
                if !first.is_multiple_of(BRANCHES) || bytes.len() * 8 < first + range.len() {
                    return None;
                }
                let steps = first / BRANCHES..first / BRANCHES + values.len();
                let known = steps.map(|step| bytes[step / 2] >> (step % 2 * BRANCHES));
                branches.known.extend(known.map(|bits| bits & ALL_BRANCHES));
            }
        }
        let mut finite = true;
        branches.values.extend(values.iter().zip(&branches.known).map(|(values, &known)| {
            let values = known_values(values, known);
            finite &= values.iter().fold(true, |finite, value| finite & value.is_finite());
            values
        }));
        finite.then_some(())
    }

    /// Reads the other columns step by step; the error names the first invalid value.
    fn read_each(&self, range: Range<usize>, game: &mut Game) -> Result<(), String> {
        let mut last: Option<(&str, u16)> = None;
        for (index, step) in range.enumerate() {
            let at = |what: String| format!("step {index}: {what}");
            let cells = self.board.row(step);
            let board = <[u8; CELLS]>::try_from(cells).map_err(|_| {
                at(format!("board has {}, not {CELLS}", exactly(cells.len(), "cell")))
            })?;
            let board = Board::new(board).ok_or_else(|| {
                at(format!("board has exponent {:?}", board.iter().max().unwrap_or(&0)))
            })?;
            game.steps.board.push(board);
            if let Some(direction) = self.move_dir.get(step).filter(|&direction| direction > 3) {
                return Err(at(format!("move_dir is {direction}, over 3")));
            }
            if let Some(legal) = self.ev_legal.get(step).filter(|&legal| legal > 15) {
                return Err(at(format!("ev_legal is {legal}, over 15")));
            }
            let name = match (self.valuation_type.get(step), last) {
                (None, _) => None,
                (Some(name), Some((known, number))) if name == known => Some(number),
                (Some(name), _) => {
                    let number = game
                        .valuation_index(name)
                        .ok_or_else(|| at("too many valuation names".to_string()))?;
                    last = Some((name, number));
                    Some(number)
                }
            };
            game.steps.valuation_type.push(name);
            game.steps.branch_evs.push(self.branches(step).map_err(at)?);
        }
        Ok(())
    }

    /// Returns the values of up, down, left, right of a step of the batch.
    fn branches(&self, step: usize) -> Result<[Option<f32>; BRANCHES], String> {
        let mut values = [None; BRANCHES];
        if self.branch_evs.is_null(step) {
            return Ok(values);
        }
        let range = self.branch_evs.range(step..step + 1);
        if range.len() != BRANCHES {
            return Err(format!(
                "branch_evs has {}, not {BRANCHES}",
                exactly(range.len(), "value")
            ));
        }
        for (value, at) in values.iter_mut().zip(range) {
            *value = self.branch_evs.items.get(at);
            if let Some(value) = value.filter(|value| !value.is_finite()) {
                return Err(format!("branch_evs has {value}, which is not a finite number"));
            }
        }
        Ok(values)
    }
}

/// Returns the items of consecutive lists of `length` items each; `None` if one has another length.
pub(super) fn list_items(offsets: &[i32], length: usize) -> Option<Range<usize>> {
    let length = i32::try_from(length).ok()?;
    let pairs = offsets.iter().zip(offsets.iter().skip(1));
    let equal =
        pairs.fold(true, |equal, (&start, &end)| equal & (end.wrapping_sub(start) == length));
    let range = *offsets.first()? as usize..*offsets.last()? as usize;
    equal.then_some(range)
}

/// Whether two pieces of a text are equal. Names are mostly short: then one word of each is
/// compared, without a call.
#[inline]
pub(super) fn same_bytes(text: &[u8], a: &Range<usize>, b: &Range<usize>) -> bool {
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
