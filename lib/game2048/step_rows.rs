//! Steps that go from one pack to another as the rows that they are: checked and made as they would
//! be written again, without columns in between.

use super::columns::{ALL_BRANCHES, BRANCH_MASKS};
use super::game::Game;
use super::rows::{ALIGNED_ROW, PACKED_ROW, PACKED_SEED, StepRow};

/// Rows that are copied, then checked while they are in the nearest cache.
const BLOCK: usize = 128;

/// A game of a pool.
#[derive(Debug, Default)]
pub struct StoredGame {
    pub game: Game,
    /// Its steps, if they are not columns of the game.
    pub rows: Option<StepRows>,
}

impl StoredGame {
    /// How many steps it has.
    pub fn steps(&self) -> usize {
        self.rows.as_ref().map_or(self.game.steps.len(), StepRows::len)
    }
}

/// The steps of a game as aligned rows. Until they are numbered, their `run_id` is that of the pool
/// that they come from, and their `valuation_type` counts in [`Game::valuation_names`].
#[derive(Debug, Default)]
pub struct StepRows {
    bytes: Vec<u8>,
    run_id: u32,
    last_step: u32,
    /// How many of the game's names are used.
    names: usize,
}

impl StepRows {
    /// For some rows, all of which have this `run_id`.
    pub fn of_run(run_id: u32, rows: usize) -> StepRows {
        let bytes = Vec::with_capacity(rows.saturating_mul(ALIGNED_ROW));
        StepRows { bytes, run_id, ..StepRows::default() }
    }

    pub fn len(&self) -> usize {
        self.bytes.len() / ALIGNED_ROW
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends rows of 48 bytes, or of 46 without padding, given as their bytes; `name_of` gives
    /// the game's number of the name that an id of the pool has. `None` if a row is not valid or
    /// of another run, steps do not ascend, or an id has no name: then the rows are to be read one by
    /// one.
    pub fn append(
        &mut self,
        rows: &[u8],
        is_packed: bool,
        mut name_of: impl FnMut(u8) -> Option<u8>,
    ) -> Option<()> {
        let row_bytes = if is_packed { PACKED_ROW } else { ALIGNED_ROW };
        let mut last_name = None;
        for block in rows.chunks(BLOCK * row_bytes) {
            if block.len() % row_bytes != 0 {
                return None;
            }
            let start = self.bytes.len();
            match is_packed {
                false => self.bytes.extend_from_slice(block),
                true => add_padding(block, &mut self.bytes),
            }
            let (rows, _) = self.bytes[start..].as_chunks_mut::<ALIGNED_ROW>();
            if !settle(rows, self.run_id, &mut self.last_step) {
                return None;
            }
            for row in rows {
                let id = row[StepRow::VALUATION_TYPE];
                let name = match last_name {
                    Some((known, name)) if known == id => name,
                    _ => {
                        let name = name_of(id)?;
                        self.names = self.names.max(usize::from(name) + 1);
                        last_name = Some((id, name));
                        name
                    }
                };
                row[StepRow::VALUATION_TYPE] = name;
            }
        }
        Some(())
    }

    /// The bytes of the rows of run `run_id`; `valuation_ids` gives the pack's number of each of
    /// [`Game::valuation_names`]. `None` if one has no number.
    pub fn numbered(mut self, run_id: u32, valuation_ids: &[u8]) -> Option<Vec<u8>> {
        let ids = valuation_ids.get(..self.names)?;
        let rows = self.bytes.as_chunks_mut::<ALIGNED_ROW>().0;
        let run_id = run_id.to_le_bytes();
        rows.iter_mut().for_each(|row| row[..4].copy_from_slice(&run_id));
        if !ids.iter().enumerate().all(|(name, &id)| name == usize::from(id)) {
            for row in rows {
                let name = &mut row[StepRow::VALUATION_TYPE];
                *name = *ids.get(usize::from(*name))?;
            }
        }
        Some(self.bytes)
    }
}

/// Makes rows what they are in a pack that is written: no value where `ev_legal` has no bit, zero
/// padding. Whether all are valid; what is not shows when they are read one by one.
///
/// Only the fields in question are touched: made of all their fields, rows took three times as long.
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

/// The bytes of four values.
const BRANCHES: usize = 16;
/// An f32 with all of these bits is infinite or no number.
const NOT_FINITE: u32 = 0x7f80_0000;

/// Clears the values of branches that are not legal; whether the others are finite.
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

/// Puts padding into packed rows, which leaves aligned ones.
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

    fn appended(rows: &[u8], is_packed: bool) -> Option<StepRows> {
        let mut appended = StepRows::of_run(9, 1);
        let taken = appended.append(rows, is_packed, |id| (id == 7).then_some(1));
        taken.map(|()| appended)
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
        let numbered = |rows: StepRows| rows.numbered(0x0102_0304, &[0, 200]).unwrap();
        assert_eq!(numbered(appended(&rows, false).unwrap()), expected.repeat(2));
        let mut packed = rows.clone();
        remove_padding(&mut packed);
        assert_eq!(numbered(appended(&packed, true).unwrap()), expected.repeat(2));
        let many = rows.repeat(BLOCK);
        let copied = appended(&many, false).unwrap();
        assert_eq!((copied.len(), copied.is_empty()), (2 * BLOCK, false));
        assert_eq!(numbered(copied), expected.repeat(2 * BLOCK));
    }

    #[test]
    fn names_keep_their_numbers_where_these_are_the_same() {
        let rows = || appended(&row(|_| ()), false).unwrap();
        assert_eq!(rows().numbered(0, &[0, 1]).unwrap()[StepRow::VALUATION_TYPE], 1);
        assert_eq!(rows().numbered(0, &[0]), None);
        assert_eq!(rows().numbered(0, &[3]), None);
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
        for (number, change) in bad.into_iter().enumerate() {
            let rows = [row(|_| ()), row(change)].concat();
            assert!(appended(&rows, false).is_none(), "{number}");
        }
        let sound = row(|row| row.tile_65536_mask = 1 << 15);
        assert!(appended(&sound, false).is_some());
        let descending = [row(|_| ()), row(|row| row.step_index = 3)].concat();
        assert!(appended(&descending, false).is_none());
        let mut parts = StepRows::of_run(9, 2);
        parts.append(&row(|_| ()), false, Some).unwrap();
        assert_eq!(parts.append(&row(|row| row.step_index = 3), false, Some), None);
        assert!(appended(&row(|_| ())[..47], false).is_none());
    }
}
