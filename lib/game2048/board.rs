//! Boards as exponents, their packed form, and moves.
//!
//! A cell's exponent is 0 for empty, else the tile is 2 to that power. Cells are row-major:
//! cell 0 is the upper left corner, cell 15 the lower right.

use super::lines;

/// Cells of a board.
pub const CELLS: usize = 16;

/// The largest exponent a board can hold: the tile 131072.
pub const MAX_EXPONENT: u8 = 17;

/// The largest exponent that the packed form tells apart from others.
const MAX_NIBBLE: u8 = 15;

/// One of the four moves, numbered as everywhere in the pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Direction {
    /// Towards row 0.
    Up = 0,
    Down = 1,
    Left = 2,
    Right = 3,
}

impl Direction {
    /// All four, in order of their numbers.
    pub const ALL: [Direction; 4] =
        [Direction::Up, Direction::Down, Direction::Left, Direction::Right];

    /// The names, in order of the numbers.
    pub const NAMES: [&'static str; 4] = ["up", "down", "left", "right"];

    /// The direction of this number: 0 up, 1 down, 2 left, 3 right.
    pub fn from_index(index: u8) -> Option<Direction> {
        Self::ALL.get(usize::from(index)).copied()
    }

    /// The direction of this name, in lower case.
    pub fn from_name(name: &str) -> Option<Direction> {
        Self::NAMES.iter().position(|&known| known == name).map(|index| Self::ALL[index])
    }

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// This direction's bit in a legality mask.
    #[inline]
    pub fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Sixteen exponents, each at most [`MAX_EXPONENT`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Board([u8; CELLS]);

/// A board as the 48-byte row stores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// Four bits a cell, cell 0 in the most significant ones; 15 stands for 15 and above.
    pub nibbles: u64,
    /// Bit i is set where the exponent of cell i is 16 or more.
    pub tile_65536_mask: u16,
}

/// What a move does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slide {
    /// The cells after sliding and merging, before a new tile appears. Two tiles of 2^17
    /// merge to 18, which is no exponent of a [`Board`].
    pub cells: [u8; CELLS],
    /// The sum of all tiles made by merging: what the score grows by.
    pub gained: u32,
}

impl Board {
    /// A board of these exponents; `None` if one is over [`MAX_EXPONENT`].
    #[inline]
    pub fn new(cells: [u8; CELLS]) -> Option<Board> {
        let board = Board(cells);
        (board.max_rank() <= MAX_EXPONENT).then_some(board)
    }

    #[inline]
    pub fn cells(&self) -> &[u8; CELLS] {
        &self.0
    }

    /// The largest exponent on the board.
    #[inline]
    pub fn max_rank(&self) -> u8 {
        self.0.iter().fold(0, |max, &cell| max.max(cell))
    }

    /// Packs to nibbles; loses the difference of 16 and 17.
    #[inline]
    pub fn pack(&self) -> Packed {
        let mut nibbles = 0u64;
        let mut tile_65536_mask = 0u16;
        for (i, &cell) in self.0.iter().enumerate() {
            nibbles = nibbles << 4 | u64::from(cell.min(MAX_NIBBLE));
            tile_65536_mask |= u16::from(cell > MAX_NIBBLE) << i;
        }
        Packed { nibbles, tile_65536_mask }
    }

    /// The moves that change the board, as bits of [`Direction::bit`].
    #[inline]
    pub fn legal(&self) -> u8 {
        super::survey(self).legal
    }

    /// Moves all tiles. An illegal move gives the same cells and gains nothing.
    pub fn slide(&self, direction: Direction) -> Slide {
        let tables = lines::tables();
        let mut slide = Slide { cells: [0; CELLS], gained: 0 };
        for line in 0..4 {
            let at = |step| line_cell(direction, line, step);
            let cell = |step| self.0[at(step)];
            let (slid, gained) = tables.slid(lines::index(cell(0), cell(1), cell(2), cell(3)));
            for (step, tile) in slid.into_iter().enumerate() {
                slide.cells[at(step)] = tile;
            }
            slide.gained += gained;
        }
        slide
    }

    /// Whether this board can follow after `direction` on `before`: `before` slid, and one
    /// new tile of 2 or 4 in a cell that the slide left empty. False for an illegal move.
    pub fn follows(&self, before: &Board, direction: Direction) -> bool {
        let slid = before.slide(direction).cells;
        if slid == before.0 {
            return false;
        }
        let mut differing = (0..CELLS).filter(|&i| slid[i] != self.0[i]);
        match (differing.next(), differing.next()) {
            (Some(i), None) => slid[i] == 0 && matches!(self.0[i], 1 | 2),
            _ => false,
        }
    }
}

/// The cell that is `step` away from the wall in the `line`-th line of a move.
#[inline]
fn line_cell(direction: Direction, line: usize, step: usize) -> usize {
    match direction {
        Direction::Up => step * 4 + line,
        Direction::Down => (3 - step) * 4 + line,
        Direction::Left => line * 4 + step,
        Direction::Right => line * 4 + 3 - step,
    }
}

impl Packed {
    /// Whether every bit of the mask stands over a nibble of 15, as [`Board::pack`] leaves it.
    pub fn mask_is_sound(&self) -> bool {
        (0..CELLS)
            .all(|i| self.tile_65536_mask >> i & 1 == 0 || nibble(self.nibbles, i) == MAX_NIBBLE)
    }
}

/// The board of a packed form. A masked cell is 16, or 17 if it is the only masked cell and
/// `max_rank` is 17 (see [`unpack_is_ambiguous`]).
#[inline]
pub fn unpack(packed: Packed, max_rank: u8) -> Board {
    let mut cells = [0; CELLS];
    for (i, cell) in cells.iter_mut().enumerate() {
        *cell = nibble(packed.nibbles, i);
    }
    let mut mask = packed.tile_65536_mask;
    if mask != 0 {
        let masked = if mask.count_ones() == 1 && max_rank == MAX_EXPONENT { 17 } else { 16 };
        while mask != 0 {
            cells[mask.trailing_zeros() as usize] = masked;
            mask &= mask - 1;
        }
    }
    Board(cells)
}

/// Whether the packed form leaves open which masked cells are 16 and which 17: with several
/// masked cells and a `max_rank` of 17.
pub fn unpack_is_ambiguous(packed: Packed, max_rank: u8) -> bool {
    packed.tile_65536_mask.count_ones() > 1 && max_rank >= MAX_EXPONENT
}

#[inline]
fn nibble(nibbles: u64, cell: usize) -> u8 {
    (nibbles >> (60 - 4 * cell)) as u8 & 15
}

#[cfg(test)]
#[path = "board_tests.rs"]
pub(super) mod tests;
