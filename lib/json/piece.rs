//! Pieces of the last line, which the next line is likely to repeat.

/// The longest piece of a line that is remembered, in bytes: a seed of 20 digits with its keys.
pub const PIECE: usize = 48;

/// A piece of the last line. It is compared as a whole, without a call and without a loop of variable length.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    bytes: [u8; PIECE],
    /// 0xff for each byte of the piece, 0 after it.
    mask: [u8; PIECE],
    /// The length; 0 for no piece.
    pub length: usize,
}

impl Piece {
    /// No piece.
    pub const NONE: Piece = Piece { bytes: [0; PIECE], mask: [0; PIECE], length: 0 };

    /// Makes the piece of this text; [`Piece::NONE`] if it is too long.
    pub fn of(text: &[u8]) -> Piece {
        let mut piece = Piece::NONE;
        if let Some(bytes) = piece.bytes.get_mut(..text.len()) {
            bytes.copy_from_slice(text);
            piece.mask[..text.len()].fill(0xff);
            piece.length = text.len();
        }
        piece
    }

    /// Whether a text begins with the piece. (Every text begins with [`Piece::NONE`].)
    #[inline(always)]
    pub fn begins(&self, text: &[u8; PIECE]) -> bool {
        let bytes = text.iter().zip(&self.bytes).zip(&self.mask);
        bytes.fold(0, |differ, ((a, b), mask)| differ | (a ^ b) & mask) == 0
    }
}
