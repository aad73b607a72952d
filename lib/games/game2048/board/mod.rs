//! Boards as exponents, their packed form, and moves.
//!
//! A cell's exponent is 0 for empty, else the tile is 2 to that power. Cells are row-major:
//! cell 0 is the upper left corner, cell 15 the lower right.

pub(super) mod lines;

/// Cells of a board.
pub const CELLS: usize = 16;

/// The largest exponent a board can hold: the tile 131072.
pub const MAX_EXPONENT: u8 = 17;

/// The largest exponent that has a nibble of its own in the packed form.
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

    /// Returns this direction's bit in a mask of legal moves.
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
pub struct PackedBoard {
    /// Four bits a cell, cell 0 in the most significant ones; 15 means 15 and above.
    pub nibbles: u64,
    /// Bit i is set where the exponent of cell i is 16 or more.
    pub tile_65536_mask: u16,
}

/// The effect of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slide {
    /// The cells after sliding and merging, before a new tile appears. Two tiles of 2^17
    /// merge to 18, which is not an exponent of a [`Board`].
    pub cells: [u8; CELLS],
    /// The sum of all tiles made by merging, which is added to the score.
    pub gained: u32,
}

impl Board {
    /// Makes a board; `None` if an exponent is over [`MAX_EXPONENT`].
    #[inline]
    pub fn new(cells: [u8; CELLS]) -> Option<Board> {
        let board = Board(cells);
        (board.max_rank() <= MAX_EXPONENT).then_some(board)
    }

    /// Appends a board for every sixteen cells (the rest is ignored). `None`, with nothing
    /// appended, if an exponent is over [`MAX_EXPONENT`].
    pub fn append_all(cells: &[u8], boards: &mut Vec<Board>) -> Option<()> {
        let (cells, _) = cells.as_chunks::<CELLS>();
        let largest = cells.as_flattened().iter().fold(0, |max, &cell| max.max(cell));
        (largest <= MAX_EXPONENT).then(|| boards.extend(cells.iter().map(|cells| Board(*cells))))
    }

    #[inline]
    pub fn cells(&self) -> &[u8; CELLS] {
        &self.0
    }

    /// Returns the largest exponent on the board.
    #[inline]
    pub fn max_rank(&self) -> u8 {
        self.0.iter().fold(0, |max, &cell| max.max(cell))
    }

    /// Whether several cells are over 15. The packed form then does not say which of them are 17.
    pub fn has_several_large(&self) -> bool {
        self.0.iter().filter(|&&cell| cell > MAX_NIBBLE).count() > 1
    }

    /// Packs to nibbles; 16 and 17 become the same.
    #[inline]
    pub fn pack(&self) -> PackedBoard {
        let (first, last) = self.halves();
        let nibbles =
            nibbles_of(u64::from_be_bytes(first)) << 32 | nibbles_of(u64::from_be_bytes(last));
        let tile_65536_mask =
            mask_of(u64::from_le_bytes(first)) | mask_of(u64::from_le_bytes(last)) << 8;
        PackedBoard { nibbles, tile_65536_mask }
    }

    fn halves(&self) -> ([u8; 8], [u8; 8]) {
        (std::array::from_fn(|i| self.0[i]), std::array::from_fn(|i| self.0[i + 8]))
    }

    /// Returns the moves that change the board, as bits of [`Direction::bit`].
    #[inline]
    pub fn legal(&self) -> u8 {
        super::survey(self).legal
    }

    /// Moves all tiles. An illegal move leaves the cells as they are and gains nothing.
    #[inline]
    pub fn slide(&self, direction: Direction) -> Slide {
        let slides = lines::slides();
        let across = matches!(direction, Direction::Up | Direction::Down);
        let back = matches!(direction, Direction::Down | Direction::Right);
        let cells = u128::from_le_bytes(self.0);
        // Lines slide towards their first byte. They are rows or columns, read from the side of the wall.
        let cells = if across { transposed(cells) } else { cells };
        let (mut slid, mut gained) = (0u128, 0);
        for line in 0..4 {
            let cells = (cells >> (32 * line)) as u32;
            let [a, b, c, d] = if back { cells.to_be_bytes() } else { cells.to_le_bytes() };
            let moved = slides.slid(lines::index(a, b, c, d));
            let cells = moved.cells;
            let cells = if back { u32::from_be_bytes(cells) } else { u32::from_le_bytes(cells) };
            slid |= u128::from(cells) << (32 * line);
            gained += moved.gained;
        }
        let slid = if across { transposed(slid) } else { slid };
        Slide { cells: slid.to_le_bytes(), gained }
    }

    /// Whether this board can follow after `direction` on `before`: `before` slid, and one
    /// new tile of 2 or 4 in a cell that the slide left empty. False for an illegal move.
    pub fn follows(&self, before: &Board, direction: Direction) -> bool {
        self.follows_slide(before, &before.slide(direction))
    }

    /// [`Board::follows`], if the slide of `before` is known.
    #[inline]
    pub fn follows_slide(&self, before: &Board, slide: &Slide) -> bool {
        let slid = u128::from_le_bytes(slide.cells);
        let new = slid ^ u128::from_le_bytes(self.0);
        // One cell differs: it was empty and now has the exponent 1 or 2.
        let bit = new.trailing_zeros();
        slid != u128::from_le_bytes(before.0)
            && new.is_power_of_two()
            && bit % 8 < 2
            && (slid >> (bit & !7)) as u8 == 0
    }
}

/// Turns rows into columns; byte i is cell i.
#[inline]
fn transposed(cells: u128) -> u128 {
    // First the two cells off the diagonal of each square of two by two are swapped, then the
    // squares.
    let swap = |cells: u128, shift: u32, mask: u128| {
        let differ = (cells ^ cells >> shift) & mask;
        cells ^ differ ^ differ << shift
    };
    let cells = swap(cells, 24, 0x0000_0000_ff00_ff00_0000_0000_ff00_ff00);
    swap(cells, 48, 0x0000_0000_0000_0000_ffff_0000_ffff_0000)
}

impl PackedBoard {
    /// Whether every bit of the mask belongs to a nibble of 15, as in a board from [`Board::pack`].
    pub fn mask_is_sound(&self) -> bool {
        let mut mask = self.tile_65536_mask;
        let mut sound = true;
        while mask != 0 {
            sound &= nibble(self.nibbles, mask.trailing_zeros() as usize) == MAX_NIBBLE;
            mask &= mask - 1;
        }
        sound
    }
}

/// Returns the board of a packed form. A masked cell is 16, or 17 if it is the only masked cell and
/// `max_rank` is 17 (see [`unpack_is_ambiguous`]).
#[inline]
pub fn unpack(packed: PackedBoard, max_rank: u8) -> Board {
    let mut cells = [0; CELLS];
    let (first, last) = cells.split_at_mut(CELLS / 2);
    first.copy_from_slice(&bytes_of(packed.nibbles >> 32).to_be_bytes());
    last.copy_from_slice(&bytes_of(packed.nibbles & 0xffff_ffff).to_be_bytes());
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

/// Whether the packed form does not say which masked cells are 16 and which 17: it has several
/// masked cells and `max_rank` is 17.
pub fn unpack_is_ambiguous(packed: PackedBoard, max_rank: u8) -> bool {
    packed.tile_65536_mask.count_ones() > 1 && max_rank >= MAX_EXPONENT
}

/// Packs eight exponents of at most 31, one a byte, to eight nibbles in the same order.
#[inline]
fn nibbles_of(bytes: u64) -> u64 {
    // 15 where the exponent is 16 or more.
    let over = bytes & (0x10 * EACH_BYTE);
    let nibbles = (bytes | (over - (over >> 4))) & (0x0f * EACH_BYTE);
    let pairs = (nibbles | nibbles >> 4) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    (fours | fours >> 16) & 0xffff_ffff
}

/// Unpacks eight nibbles to eight bytes in the same order.
#[inline]
fn bytes_of(nibbles: u64) -> u64 {
    let fours = (nibbles | nibbles << 16) & 0x0000_ffff_0000_ffff;
    let pairs = (fours | fours << 8) & 0x00ff_00ff_00ff_00ff;
    (pairs | pairs << 4) & (0x0f * EACH_BYTE)
}

/// Bit i of the result: byte i, counted from the lowest, is 16 or more. Bytes are at most 31.
#[inline]
fn mask_of(bytes: u64) -> u16 {
    // Byte j is 0 or 1; the product has this bit at 56 + j.
    let over = bytes >> 4 & EACH_BYTE;
    (over.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u16
}

const EACH_BYTE: u64 = 0x0101_0101_0101_0101;

#[inline]
fn nibble(nibbles: u64, cell: usize) -> u8 {
    (nibbles >> (60 - 4 * cell)) as u8 & 15
}

#[cfg(test)]
pub(super) mod tests;
