//! The cells of a board as the text of a JSON array without white space, read and written.

use super::board::CELLS;
use crate::simd::{BoardMasks, board_masks};

/// How many bytes of a board's text are looked at together.
const WINDOW: usize = 64;

/// How many bytes must be there to read a board; its text is shorter.
pub const BOARD_TEXT: usize = WINDOW + 2;

/// Reads a board of exponents below 20, and returns it with the length of its text. `guess` is
/// where the last board had its closing bracket. Any other text, valid or not, gives `None`.
///
/// Bit i of a mask is byte i of the text. Once the bytes that are not digits are known, a cell is
/// found without waiting for the cell before it.
#[inline(always)]
pub fn read_board(text: &[u8; BOARD_TEXT], guess: &mut usize) -> Option<([u8; CELLS], usize)> {
    let window = text.first_chunk::<WINDOW>()?;
    let BoardMasks { digits, commas, ones } = board_masks(window);
    if window[*guess % WINDOW] != b']' {
        // The first byte after the opening bracket that belongs to no cell.
        *guess = (!(digits | commas) & !1).trailing_zeros() as usize;
    }
    let end = *guess % WINDOW;
    if end == 0 || window[end] != b']' {
        return None;
    }
    // The bytes before the closing bracket, without the opening one (byte 0).
    let inside = (1 << end) - 2;
    let separators = commas & inside;
    let tens = digits & digits >> 1;
    let empty = (commas | 1) & (commas >> 1 | 1 << (end - 1));
    let strange = inside & !(digits | commas);
    let three_digits = tens & tens >> 1;
    let bad = strange | empty & (inside | 1) | (three_digits | tens & !ones) & inside;
    if bad != 0 || separators.count_ones() != CELLS as u32 - 1 || window[0] != b'[' {
        return None;
    }
    let mut ends = separators | 1 << end;
    let mut pairs = [0; CELLS];
    for pair in &mut pairs {
        // A cell has at least two bytes before its end.
        let at = (ends.trailing_zeros() as usize).wrapping_sub(2) % WINDOW;
        *pair = u16::from_le_bytes([text[at], text[at + 1]]);
        ends &= ends.wrapping_sub(1);
    }
    // The byte before the last digit of a cell is the digit for ten, a comma or the bracket.
    let mut cells = [0; CELLS];
    for (cell, pair) in cells.iter_mut().zip(pairs) {
        let ten = if pair & 0xff == u16::from(b'1') { 10 } else { 0 };
        *cell = ((pair >> 8) + ten) as u8 - b'0';
    }
    Some((cells, end + 1))
}

/// Writes the text of a board of exponents below 20, with commas but without brackets, and returns
/// its length; `None` for a larger exponent. Bytes after the text are overwritten, too.
#[inline(always)]
pub fn write_board(text: &mut [u8; BOARD_TEXT], cells: &[u8; CELLS]) -> Option<usize> {
    let mut length = 0;
    for [left, right] in cells.as_chunks::<2>().0 {
        let pair = PAIRS.get(usize::from(*left))?.get(usize::from(*right))?;
        *text.get_mut(length..)?.first_chunk_mut()? = pair.to_le_bytes();
        length += (pair >> 56) as usize;
    }
    // The last comma does not count.
    Some(length - 1)
}

/// The text of two cells, each with its comma: the first byte is the lowest one, and the highest
/// byte is the length.
static PAIRS: [[u64; 20]; 20] = {
    let mut pairs = [[0; 20]; 20];
    let mut place = 0;
    while place < 400 {
        let (left, right) = (cell(place / 20), cell(place % 20));
        let length = left.1 + right.1;
        pairs[place / 20][place % 20] = left.0 | right.0 << (8 * left.1) | (length as u64) << 56;
        place += 1;
    }
    pairs
};

/// Returns the text of a cell and a comma, and its length.
const fn cell(exponent: usize) -> (u64, usize) {
    let last = (b'0' as usize + exponent % 10) as u64 | (b',' as u64) << 8;
    match exponent {
        ..10 => (last, 2),
        _ => (b'1' as u64 | last << 8, 3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_written_as_a_list_and_read_again() {
        for first in 0..20 {
            for second in 0..20 {
                let cells: [u8; CELLS] =
                    std::array::from_fn(
                        |i| if i % 3 == 0 { first } else { (second + i as u8) % 20 },
                    );
                let mut text = [b' '; BOARD_TEXT];
                let length = write_board(&mut text, &cells).unwrap();
                let expected: Vec<String> = cells.iter().map(u8::to_string).collect();
                assert_eq!(String::from_utf8_lossy(&text[..length]), expected.join(","));
                let mut whole = [b' '; BOARD_TEXT];
                whole[0] = b'[';
                whole[1..=length].copy_from_slice(&text[..length]);
                whole[length + 1] = b']';
                for mut guess in [0, length, length + 1, 63] {
                    assert_eq!(read_board(&whole, &mut guess), Some((cells, length + 2)));
                }
            }
        }
        let mut large = [0; CELLS];
        large[15] = 20;
        assert_eq!(write_board(&mut [0; BOARD_TEXT], &large), None);
    }
}
