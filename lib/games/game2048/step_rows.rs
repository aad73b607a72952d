//! Copies steps from one pack to another as rows, without columns in between. While they are copied, the rows
//! are checked, and changed to the form that writing them again would give.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;

use super::columns::{ALL_BRANCHES, BRANCH_MASKS};
use super::game::Game;
use super::rows::{ALIGNED_ROW, PACKED_ROW, PACKED_SEED, StepRow};
use crate::error::{Error, Place};

/// How many rows are copied before they are checked: few enough that they are still in the L1 cache.
const BLOCK: usize = 128;
/// Marks a valuation name that has no number in the pack.
const NO_NUMBER: u8 = u8::MAX;

/// A game of a pool.
#[derive(Debug, Default)]
pub struct StoredGame {
    pub game: Game,
    /// The steps, if they are not in the game's own columns.
    pub rows: Option<StepRows>,
}

impl StoredGame {
    /// Returns how many steps the game has.
    pub fn steps(&self) -> usize {
        self.rows.as_ref().map_or(self.game.steps.len(), StepRows::len)
    }
}

/// The forms in which the games of a pool are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GameForm {
    /// Columns of steps.
    Columns,
    /// The rows of a pack if the pool has them, else columns. The rows of each run are counted before, or taken
    /// from `metadata.db`. In the second case the rows are compared while they are copied, and [`CopyError::Misplaced`]
    /// ends the run if they are not as stated.
    Rows { counted: bool },
}

/// Why games were not copied.
#[derive(Debug)]
pub enum CopyError {
    /// Rows of a run are not valid, or not at their stated place. The places were assumed; reading again, with all
    /// rows counted, finds the real ones.
    Misplaced(Error),
    /// Any other error.
    Failed(Error),
}

impl CopyError {
    /// Makes the error for a run that is not at its stated place.
    pub fn misplaced(run: u64) -> CopyError {
        CopyError::Misplaced(Error::data(format!("metadata.db does not say where run {run} is")))
    }

    /// Adds the place, if the error has none.
    pub fn at(self, place: impl Into<Place>) -> CopyError {
        let placed = |error: Error| if error.place().is_some() { error } else { error.at(place) };
        match self {
            CopyError::Misplaced(error) => CopyError::Misplaced(placed(error)),
            CopyError::Failed(error) => CopyError::Failed(placed(error)),
        }
    }
}

impl From<Error> for CopyError {
    fn from(error: Error) -> CopyError {
        CopyError::Failed(error)
    }
}

impl From<CopyError> for Error {
    fn from(error: CopyError) -> Error {
        match error {
            CopyError::Misplaced(error) | CopyError::Failed(error) => error,
        }
    }
}

/// The steps of a game as rows of a pack, which may not be valid.
#[derive(Debug)]
pub struct StepRows {
    /// The run id of all rows.
    pub run_id: u32,
    /// Whether rows have 46 bytes, without padding.
    pub is_packed: bool,
    /// The bytes of the rows, one part after another.
    pub parts: Vec<Bytes>,
    /// The names of valuations by their numbers in the rows.
    pub names: Arc<[Option<String>]>,
}

impl StepRows {
    pub fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum::<usize>() / self.row_bytes()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn row_bytes(&self) -> usize {
        if self.is_packed { PACKED_ROW } else { ALIGNED_ROW }
    }

    /// Whether every row can be copied.
    pub fn are_valid(&self) -> bool {
        let copied: Result<bool, Infallible> = self.copy(self.run_id, |_| Ok(0), |_| Ok(()));
        matches!(copied, Ok(true))
    }

    /// Copies the rows as aligned rows of run `run_id`, a block at a time. `number` returns the number of a
    /// valuation name in the new pack, below 255. Returns false if a row is invalid or of another run, if steps do
    /// not ascend, or if a name has no number. Then the rows have to be read one by one.
    pub fn copy<E>(
        &self,
        run_id: u32,
        mut number: impl FnMut(&str) -> Result<u8, E>,
        mut write: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut numbers = [NO_NUMBER; 1 << u8::BITS];
        let mut last_step = 0;
        let mut copied = Vec::with_capacity(BLOCK * ALIGNED_ROW);
        let blocks = self.parts.iter().flat_map(|part| part.chunks(BLOCK * self.row_bytes()));
        for block in blocks {
            if block.len() % self.row_bytes() != 0 {
                return Ok(false);
            }
            copied.clear();
            if self.is_packed {
                add_padding(block, &mut copied)
            } else {
                copied.extend_from_slice(block)
            }
            let rows = copied.as_chunks_mut::<ALIGNED_ROW>().0;
            if !settle(rows, self.run_id, &mut last_step) {
                return Ok(false);
            }
            for row in rows {
                row[..4].copy_from_slice(&run_id.to_le_bytes());
                let id = usize::from(row[StepRow::VALUATION_TYPE]);
                if numbers[id] == NO_NUMBER {
                    let Some(Some(name)) = self.names.get(id) else { return Ok(false) };
                    numbers[id] = number(name)?;
                }
                row[StepRow::VALUATION_TYPE] = numbers[id];
            }
            write(&mut copied)?;
        }
        Ok(true)
    }
}

/// Changes rows to the form that is written: no value where `ev_legal` has no bit, zero padding. Returns whether
/// all rows are valid; reading them one by one shows which are not.
///
/// Only these fields are touched: building rows from all their fields took three times as long.
#[inline(never)]
fn settle(rows: &mut [[u8; ALIGNED_ROW]], run_id: u32, last_step: &mut u32) -> bool {
    let (mut last, mut are_valid) = (*last_step, true);
    for row in rows {
        let run = u32::from_le_bytes([row[0], row[1], row[2], row[3]]);
        let step = u32::from_le_bytes([row[4], row[5], row[6], row[7]]);
        are_valid &= (run == run_id) & (last <= step);
        last = step;
        let (move_dir, ev_legal) = (row[22], row[24]);
        are_valid &= (move_dir <= 3) & (ev_legal <= ALL_BRANCHES);
        if row[20] | row[21] != 0 {
            are_valid &= StepRow::from_aligned(row).packed_board().mask_is_sound();
        }
        (row[26], row[27]) = (0, 0);
        if let Some(values) = row.last_chunk_mut::<BRANCHES>() {
            are_valid &= keep_legal(values, ev_legal);
        }
    }
    *last_step = last;
    are_valid
}

/// The bytes of a row's four values.
const BRANCHES: usize = 16;
/// An f32 with all of these bits is infinite or not a number.
const NOT_FINITE: u32 = 0x7f80_0000;

/// Clears the values of branches that are not legal; returns whether the others are finite.
#[inline(always)]
fn keep_legal(values: &mut [u8; BRANCHES], ev_legal: u8) -> bool {
    let masks = &BRANCH_MASKS[usize::from(ev_legal & ALL_BRANCHES)];
    let mut are_finite = true;
    for (value, mask) in values.as_chunks_mut::<4>().0.iter_mut().zip(masks) {
        let bits = u32::from_le_bytes(*value) & mask;
        are_finite &= bits & NOT_FINITE != NOT_FINITE;
        *value = bits.to_le_bytes();
    }
    are_finite
}

/// Inserts padding into packed rows, which makes them aligned ones.
fn add_padding(rows: &[u8], aligned: &mut Vec<u8>) {
    for row in rows.as_chunks::<PACKED_ROW>().0 {
        let (before, after) = row.split_at(PACKED_SEED);
        aligned.extend_from_slice(before);
        aligned.extend_from_slice(&[0; ALIGNED_ROW - PACKED_ROW]);
        aligned.extend_from_slice(after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game2048::remove_padding;

    fn row(change: impl FnOnce(&mut StepRow)) -> [u8; ALIGNED_ROW] {
        let mut row = StepRow {
            run_id: 9,
            step_index: 4,
            board: 0x0123_4567_89ab_cdef,
            ev_legal: 0b0101,
            valuation_type: 7,
            branch_evs: [-0.0, f32::NAN, 2.5, -0.0],
            ..StepRow::default()
        };
        change(&mut row);
        row.to_aligned()
    }

    fn stored(parts: &[&[u8]], is_packed: bool) -> StepRows {
        let parts = parts.iter().map(|part| Bytes::copy_from_slice(part)).collect();
        let names = (0..9).map(|id| (id != 6).then(|| format!("name {id}"))).collect();
        StepRows { run_id: 9, is_packed, parts, names }
    }

    /// Returns the rows in run 0x01020304, where the name 7 has number 200.
    fn copied(rows: &StepRows) -> Option<Vec<u8>> {
        let mut all = Vec::new();
        let number = |name: &str| if name == "name 7" { Ok(200) } else { Err(()) };
        let write = |rows: &mut Vec<u8>| {
            all.append(rows);
            Ok(())
        };
        rows.copy(0x0102_0304, number, write).unwrap().then_some(all)
    }

    #[test]
    fn rows_are_copied_as_they_would_be_written() {
        let mut padded = row(|_| ());
        padded[26..28].copy_from_slice(&[3, 4]);
        let rows = [padded, row(|row| row.step_index = 4)].concat();
        let expected = row(|row| {
            row.run_id = 0x0102_0304;
            row.valuation_type = 200;
            row.branch_evs = [-0.0, 0.0, 2.5, 0.0];
        });
        assert_eq!(copied(&stored(&[&rows], false)).unwrap(), expected.repeat(2));
        let mut packed = rows.clone();
        remove_padding(&mut packed);
        assert_eq!(copied(&stored(&[&packed], true)).unwrap(), expected.repeat(2));
        let many = rows.repeat(BLOCK);
        let in_parts = stored(&[&many, &rows], false);
        assert_eq!((in_parts.len(), in_parts.is_empty()), (2 * BLOCK + 2, false));
        assert_eq!(copied(&in_parts).unwrap(), expected.repeat(2 * BLOCK + 2));
    }

    #[test]
    fn what_is_not_valid_is_refused() {
        let bad: [fn(&mut StepRow); 7] = [
            |row| row.run_id = 8,
            |row| row.move_dir = 4,
            |row| row.ev_legal = 16,
            |row| row.ev_legal = 0b0010,
            |row| row.branch_evs[2] = f32::INFINITY,
            |row| row.valuation_type = 6,
            |row| row.tile_65536_mask = 1,
        ];
        let valid = row(|_| ());
        for (number, change) in bad.into_iter().enumerate() {
            assert!(!stored(&[&valid, &row(change)], false).are_valid(), "{number}");
        }
        let sound = row(|row| row.tile_65536_mask = 1 << 15);
        assert!(stored(&[&sound], false).are_valid());
        let earlier = row(|row| row.step_index = 3);
        assert!(!stored(&[&[valid, earlier].concat()], false).are_valid());
        assert!(!stored(&[&valid, &earlier], false).are_valid());
        assert!(!stored(&[&valid[..47]], false).are_valid());
    }

    #[test]
    fn a_name_without_a_number_ends_the_copy() {
        let rows = stored(&[&row(|row| row.valuation_type = 5)], false);
        assert_eq!(rows.copy(0, |name| Err(name.to_string()), |_| Ok(())), Err("name 5".into()));
    }
}
