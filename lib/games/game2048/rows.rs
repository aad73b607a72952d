//! The rows of the pools, each as plain data and as its bytes: the 48-byte aligned row of a
//! Macroxue pack, the same row packed to 46 bytes, and the row of self-play v1. All numbers
//! are little-endian.
//!
//! The `.npy` headers that go with them are in `format::npy`.

use super::board::{Board, CELLS, PackedBoard, unpack, unpack_is_ambiguous};
use super::columns::known_values;
use super::game::{Game, Steps};
use crate::record::nullable::NullableColumn;

/// Bytes of a [`StepRow`] in our packs, with two bytes of padding at 26.
pub const ALIGNED_ROW: usize = 48;
/// Bytes of a [`StepRow`] without padding, as the published packer writes it.
pub const PACKED_ROW: usize = 46;
/// Bytes of a [`SelfplayRow`].
pub const SELFPLAY_ROW: usize = 28;

/// Where `seed` starts in the two layouts; the bytes before it are the same in both.
const ALIGNED_SEED: usize = 28;
pub(super) const PACKED_SEED: usize = 26;

/// The valuation names that every pack numbers 0, 1, 2.
pub const KNOWN_VALUATIONS: [&str; 3] = ["search", "tuple10", "tuple11"];

/// One row of a Macroxue pack. The type that npyz derives from it is the packed layout.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, npyz::AutoSerialize, npyz::Serialize, npyz::Deserialize,
)]
pub struct StepRow {
    pub run_id: u32,
    pub step_index: u32,
    /// See [`PackedBoard::nibbles`].
    pub board: u64,
    pub board_eval: i32,
    /// See [`PackedBoard::tile_65536_mask`].
    pub tile_65536_mask: u16,
    pub move_dir: u8,
    /// Index into the pack's `valuation_types.json`.
    pub valuation_type: u8,
    pub ev_legal: u8,
    pub max_rank: u8,
    /// The low 32 bits of the game's seed.
    pub seed: u32,
    /// Up, down, left, right; 0.0 where `ev_legal` has no bit.
    pub branch_evs: [f32; 4],
}

/// One row of a self-play v1 pool.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    npyz::AutoSerialize,
    npyz::Serialize,
    npyz::Deserialize,
)]
pub struct SelfplayRow {
    pub run_id: u64,
    pub step_idx: u32,
    /// Exponents, row-major.
    pub exps: [u8; CELLS],
}

/// One of the two layouts of the rows of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLayout {
    /// 48 bytes.
    Aligned,
    /// 46 bytes, without padding.
    Packed,
}

impl RowLayout {
    /// Returns the rows in `bytes`; an incomplete row at the end is ignored.
    #[inline]
    pub fn rows(self, bytes: &[u8]) -> impl Iterator<Item = StepRow> + '_ {
        let (aligned, packed): (&[[u8; ALIGNED_ROW]], &[[u8; PACKED_ROW]]) = match self {
            RowLayout::Aligned => (bytes.as_chunks().0, &[]),
            RowLayout::Packed => (&[], bytes.as_chunks().0),
        };
        aligned.iter().map(StepRow::from_aligned).chain(packed.iter().map(StepRow::from_packed))
    }
}

/// Why a step has no row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    #[error("the game has no step {position}")]
    NoStep { position: usize },
    #[error("step {step_index}: `{field}` is null, and the row needs it")]
    Null { step_index: u32, field: &'static str },
    #[error(
        "step {step_index}: ev_legal has the bit of {direction}, but branch_evs has no value there"
    )]
    NoValue { step_index: u32, direction: &'static str },
    /// The valuation name has no number in the pack.
    #[error("step {step_index}: its valuation_type has no number")]
    NoValuationId { step_index: u32 },
}

impl StepRow {
    /// The offset of `valuation_type` in a row.
    pub(super) const VALUATION_TYPE: usize = 23;

    /// Makes the row of the step at `position` of `game`. `valuation_ids` has the pack's number for each of
    /// [`Game::valuation_names`]. The seed is the step's, else the game's. A null `max_rank` or `board_eval` is an
    /// error, since nothing is computed again here.
    #[inline]
    pub fn of_step(
        game: &Game,
        position: usize,
        run_id: u32,
        valuation_ids: &[u8],
    ) -> Result<StepRow, RowError> {
        let steps = &game.steps;
        let (Some(&step_index), Some(board), Some(values), Some(&known)) = (
            steps.step_index.get(position),
            steps.board.get(position),
            steps.branch_evs.values.get(position),
            steps.branch_evs.known.get(position),
        ) else {
            return Err(RowError::NoStep { position });
        };
        let null = |field| RowError::Null { step_index, field };
        let ev_legal = steps.ev_legal.get(position).ok_or(null("ev_legal"))?;
        let valueless = ev_legal & 15 & !known;
        if valueless != 0 {
            let direction = super::Direction::NAMES[valueless.trailing_zeros() as usize & 3];
            return Err(RowError::NoValue { step_index, direction });
        }
        let name = steps.valuation_type.get(position).ok_or(null("valuation_type"))?;
        let seed = steps.seed.get(position).or(game.seed).ok_or(null("seed"))?;
        let PackedBoard { nibbles, tile_65536_mask } = board.pack();
        Ok(StepRow {
            run_id,
            step_index,
            board: nibbles,
            board_eval: steps.board_eval.get(position).ok_or(null("board_eval"))?,
            tile_65536_mask,
            move_dir: steps.move_dir.get(position).ok_or(null("move_dir"))?,
            valuation_type: *valuation_ids
                .get(usize::from(name))
                .ok_or(RowError::NoValuationId { step_index })?,
            ev_legal,
            max_rank: steps.max_rank.get(position).ok_or(null("max_rank"))?,
            seed: seed as u32,
            branch_evs: known_values(values, ev_legal),
        })
    }

    /// Appends the aligned rows of all steps of `game`; see [`StepRow::of_step`].
    pub fn append_all(
        game: &Game,
        run_id: u32,
        valuation_ids: &[u8],
        rows: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let known = KnownColumns::of(&game.steps);
        rows.reserve(game.steps.len() * ALIGNED_ROW);
        for position in 0..game.steps.len() {
            let row = known.as_ref().and_then(|known| known.row(position, run_id, valuation_ids));
            let row = match row {
                Some(row) => row,
                None => StepRow::of_step(game, position, run_id, valuation_ids)?,
            };
            rows.extend_from_slice(&row.to_aligned());
        }
        Ok(())
    }

    /// Returns the row's packed board.
    pub fn packed_board(&self) -> PackedBoard {
        PackedBoard { nibbles: self.board, tile_65536_mask: self.tile_65536_mask }
    }

    /// Whether the row states the exact exponent of each cell of its board.
    #[inline]
    pub fn is_exact(&self) -> bool {
        let packed = self.packed_board();
        (self.tile_65536_mask == 0 || packed.mask_is_sound())
            && !unpack_is_ambiguous(packed, self.max_rank)
    }

    /// Returns the row's board as exponents; see [`unpack`] for 16 and 17.
    pub fn exponents(&self) -> Board {
        unpack(self.packed_board(), self.max_rank)
    }

    /// Returns the 48 bytes of a row of our packs; the padding is zero.
    #[inline]
    pub fn to_aligned(&self) -> [u8; ALIGNED_ROW] {
        let mut bytes = [0; ALIGNED_ROW];
        self.put::<ALIGNED_SEED, ALIGNED_ROW>(&mut bytes);
        bytes
    }

    /// Returns the 46 bytes of the layout without padding.
    #[inline]
    pub fn to_packed(&self) -> [u8; PACKED_ROW] {
        let mut bytes = [0; PACKED_ROW];
        self.put::<PACKED_SEED, PACKED_ROW>(&mut bytes);
        bytes
    }

    #[inline]
    pub fn from_aligned(bytes: &[u8; ALIGNED_ROW]) -> StepRow {
        StepRow::get::<ALIGNED_SEED, ALIGNED_ROW>(bytes)
    }

    #[inline]
    pub fn from_packed(bytes: &[u8; PACKED_ROW]) -> StepRow {
        StepRow::get::<PACKED_SEED, PACKED_ROW>(bytes)
    }

    #[inline]
    fn put<const SEED: usize, const N: usize>(&self, bytes: &mut [u8; N]) {
        bytes[0..4].copy_from_slice(&self.run_id.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.step_index.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.board.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.board_eval.to_le_bytes());
        bytes[20..22].copy_from_slice(&self.tile_65536_mask.to_le_bytes());
        bytes[22] = self.move_dir;
        bytes[23] = self.valuation_type;
        bytes[24] = self.ev_legal;
        bytes[25] = self.max_rank;
        bytes[SEED..SEED + 4].copy_from_slice(&self.seed.to_le_bytes());
        for (i, ev) in self.branch_evs.iter().enumerate() {
            let at = SEED + 4 + 4 * i;
            bytes[at..at + 4].copy_from_slice(&ev.to_le_bytes());
        }
    }

    #[inline]
    fn get<const SEED: usize, const N: usize>(bytes: &[u8; N]) -> StepRow {
        StepRow {
            run_id: u32::from_le_bytes(array(bytes, 0)),
            step_index: u32::from_le_bytes(array(bytes, 4)),
            board: u64::from_le_bytes(array(bytes, 8)),
            board_eval: i32::from_le_bytes(array(bytes, 16)),
            tile_65536_mask: u16::from_le_bytes(array(bytes, 20)),
            move_dir: bytes[22],
            valuation_type: bytes[23],
            ev_legal: bytes[24],
            max_rank: bytes[25],
            seed: u32::from_le_bytes(array(bytes, SEED)),
            branch_evs: std::array::from_fn(|i| f32::from_le_bytes(array(bytes, SEED + 4 + 4 * i))),
        }
    }
}

/// Removes the padding of aligned rows, which makes them packed ones.
pub fn remove_padding(rows: &mut Vec<u8>) {
    let (mut from, mut to) = (0, 0);
    while from + ALIGNED_ROW <= rows.len() {
        rows.copy_within(from..from + PACKED_SEED, to);
        rows.copy_within(from + ALIGNED_SEED..from + ALIGNED_ROW, to + PACKED_SEED);
        from += ALIGNED_ROW;
        to += PACKED_ROW;
    }
    rows.truncate(to);
}

/// Columns without nulls, all of one length.
struct KnownColumns<'a> {
    step_index: &'a [u32],
    boards: &'a [Board],
    board_eval: &'a [i32],
    move_dir: &'a [u8],
    valuation_type: &'a [u16],
    ev_legal: &'a [u8],
    max_rank: &'a [u8],
    seed: &'a [u64],
    branch_evs: &'a [[f32; 4]],
    branch_known: &'a [u8],
}

impl<'a> KnownColumns<'a> {
    fn of(steps: &'a Steps) -> Option<KnownColumns<'a>> {
        fn values<T: Copy + Default>(column: &NullableColumn<T>, length: usize) -> Option<&[T]> {
            column.values().get(..length).filter(|_| column.all_known())
        }
        let length = steps.len();
        Some(KnownColumns {
            step_index: steps.step_index.get(..length)?,
            boards: steps.board.get(..length)?,
            board_eval: values(&steps.board_eval, length)?,
            move_dir: values(&steps.move_dir, length)?,
            valuation_type: values(&steps.valuation_type, length)?,
            ev_legal: values(&steps.ev_legal, length)?,
            max_rank: values(&steps.max_rank, length)?,
            seed: values(&steps.seed, length)?,
            branch_evs: steps.branch_evs.values.get(..length)?,
            branch_known: steps.branch_evs.known.get(..length)?,
        })
    }

    /// Returns the row of a step, if it is valid.
    #[inline(always)]
    fn row(&self, position: usize, run_id: u32, valuation_ids: &[u8]) -> Option<StepRow> {
        let ev_legal = *self.ev_legal.get(position)?;
        if ev_legal & 15 & !self.branch_known.get(position)? != 0 {
            return None;
        }
        let PackedBoard { nibbles, tile_65536_mask } = self.boards.get(position)?.pack();
        Some(StepRow {
            run_id,
            step_index: *self.step_index.get(position)?,
            board: nibbles,
            board_eval: *self.board_eval.get(position)?,
            tile_65536_mask,
            move_dir: *self.move_dir.get(position)?,
            valuation_type: *valuation_ids.get(usize::from(*self.valuation_type.get(position)?))?,
            ev_legal,
            max_rank: *self.max_rank.get(position)?,
            seed: *self.seed.get(position)? as u32,
            branch_evs: known_values(self.branch_evs.get(position)?, ev_legal),
        })
    }
}

impl SelfplayRow {
    #[inline]
    pub fn to_bytes(&self) -> [u8; SELFPLAY_ROW] {
        let mut bytes = [0; SELFPLAY_ROW];
        bytes[0..8].copy_from_slice(&self.run_id.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.step_idx.to_le_bytes());
        bytes[12..28].copy_from_slice(&self.exps);
        bytes
    }

    #[inline]
    pub fn from_bytes(bytes: &[u8; SELFPLAY_ROW]) -> SelfplayRow {
        SelfplayRow {
            run_id: u64::from_le_bytes(array(bytes, 0)),
            step_idx: u32::from_le_bytes(array(bytes, 8)),
            exps: array(bytes, 12),
        }
    }
}

/// Returns the `N` bytes at `at`; `at` is a constant inside `bytes` in every call.
#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game2048::{Step, board::tests::random_boards};

    #[test]
    fn the_selfplay_row_keeps_wide_run_ids() {
        let row = SelfplayRow {
            run_id: u64::MAX - 1,
            step_idx: 258,
            exps: std::array::from_fn(|i| i as u8),
        };
        let bytes = row.to_bytes();
        assert_eq!(bytes[..8], (u64::MAX - 1).to_le_bytes());
        assert_eq!(bytes[8..12], [2, 1, 0, 0]);
        assert_eq!(bytes[12..], row.exps);
        assert_eq!(SelfplayRow::from_bytes(&bytes), row);
    }

    fn game() -> Game {
        let board = random_boards(4).nth(3).unwrap();
        let mut game = Game { seed: Some(5 << 32 | 7), ..Game::default() };
        game.steps.push(Step {
            step_index: 11,
            board,
            board_eval: Some(3),
            move_dir: Some(1),
            valuation_type: Some(0),
            ev_legal: Some(0b0010),
            max_rank: Some(board.max_rank()),
            branch_evs: [Some(9.0), Some(2.0), None, None],
            ..Step::default()
        });
        game
    }

    #[test]
    fn what_a_row_needs_must_be_known() {
        let text = |change: fn(&mut Game), ids: &[u8]| {
            let mut game = game();
            change(&mut game);
            StepRow::of_step(&game, 0, 0, ids).unwrap_err().to_string()
        };
        assert_eq!(
            text(|game| game.seed = None, &[0]),
            "step 11: `seed` is null, and the row needs it"
        );
        assert_eq!(
            text(|game| game.steps.move_dir = [None].into_iter().collect(), &[0]),
            "step 11: `move_dir` is null, and the row needs it"
        );
        assert_eq!(
            text(|game| game.steps.ev_legal = [Some(6)].into_iter().collect(), &[0]),
            "step 11: ev_legal has the bit of left, but branch_evs has no value there"
        );
        assert_eq!(text(|_| (), &[]), "step 11: its valuation_type has no number");
        assert_eq!(text(|game| game.steps.clear(), &[]), "the game has no step 0");
    }
}
