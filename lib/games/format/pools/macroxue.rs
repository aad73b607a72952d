//! The rows of Macroxue packs, 48 or 46 bytes, whose fields are at known offsets: a block of rows
//! is read at a time, one column after another. `columns` finds the defects of a row, and reads
//! other rows.

use crate::game2048::{
    ALIGNED_ROW, Game, PACKED_ROW, RowLayout, StepRow, aligned_step_row, known_values,
    packed_step_row,
};
use crate::npy::DType;

/// How many rows a block has: few enough that it stays in the L1 cache while its columns are read.
const BLOCK: usize = 128;

impl RowLayout {
    /// Returns the layout of rows of this type; `None` for other types.
    pub fn of(dtype: &DType) -> Option<RowLayout> {
        [(aligned_step_row(), RowLayout::Aligned), (packed_step_row(), RowLayout::Packed)]
            .into_iter()
            .find_map(|(known, layout)| (&known == dtype).then_some(layout))
    }

    /// Appends the steps in the bytes of rows. `name_of` returns the game's number for the name of a
    /// pool's id. `None` if a row is not valid, if steps do not ascend, or if an id has no name.
    pub(super) fn append(
        self,
        rows: &[u8],
        game: &mut Game,
        name_of: impl FnMut(&mut Game, u8) -> Option<u16>,
    ) -> Option<()> {
        match self {
            RowLayout::Aligned => append::<ALIGNED_ROW>(rows, StepRow::from_aligned, game, name_of),
            RowLayout::Packed => append::<PACKED_ROW>(rows, StepRow::from_packed, game, name_of),
        }
    }
}

fn append<const N: usize>(
    rows: &[u8],
    row_of: impl Fn(&[u8; N]) -> StepRow + Copy,
    game: &mut Game,
    mut name_of: impl FnMut(&mut Game, u8) -> Option<u16>,
) -> Option<()> {
    let (rows, rest) = rows.as_chunks::<N>();
    let mut last_step = game.steps.step_index.last().copied().unwrap_or_default();
    let mut last_name: Option<(u8, u16)> = None;
    let run_seed = game.seed;
    let mut sound = rest.is_empty();
    for block in rows.chunks(BLOCK) {
        // Each column uses only its field: the compiler drops the rest of `row_of`.
        let rows = || block.iter().map(row_of);
        for row in rows() {
            let name = match last_name {
                Some((id, name)) if id == row.valuation_type => name,
                _ => name_of(game, row.valuation_type)?,
            };
            last_name = Some((row.valuation_type, name));
            game.steps.valuation_type.push(Some(name));
            sound &= last_step <= row.step_index;
            last_step = row.step_index;
        }
        let steps = &mut game.steps;
        for row in rows() {
            let legal = row.ev_legal;
            let finite = bits(&row.branch_evs, f32::is_finite);
            // Packs store 0.0 where there is no value; any other value is kept.
            let known = finite & (legal | bits(&row.branch_evs, |value| value.to_bits() != 0));
            sound &= legal & !finite == 0 && legal <= 15 && row.move_dir <= 3;
            sound &= row.packed_board().mask_is_sound();
            steps.branch_evs.known.push(known);
            steps.branch_evs.values.push(known_values(&row.branch_evs, known));
        }
        steps.step_index.extend(rows().map(|row| row.step_index));
        steps.board.extend(rows().map(|row| row.exponents()));
        steps.board_eval.extend_known(rows().map(|row| row.board_eval));
        steps.move_dir.extend_known(rows().map(|row| row.move_dir));
        steps.valuation.extend_null(block.len());
        steps.ev_legal.extend_known(rows().map(|row| row.ev_legal));
        steps.max_rank.extend_known(rows().map(|row| row.max_rank));
        steps.seed.extend_known(rows().map(|row| whole_seed(row.seed, run_seed)));
        if !sound {
            return None;
        }
    }
    sound.then_some(())
}

/// Bit i of the result is the test of value i.
#[inline(always)]
fn bits(values: &[f32; 4], test: impl Fn(f32) -> bool) -> u8 {
    (0..4).fold(0, |bits, i| bits | u8::from(test(values[i])) << i)
}

/// Returns the seed: a row has its low half, its run has all of it.
#[inline]
fn whole_seed(low: u32, run: Option<u64>) -> u64 {
    match run {
        Some(seed) if seed as u32 == low => seed,
        _ => u64::from(low),
    }
}
