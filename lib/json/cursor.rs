//! A place in a text with so many bytes left that a block of them can be read without checking for the end.

use super::decimal::{POWERS, value_of};
use super::piece::{PIECE, Piece};

/// A position in `ROOM` bytes, which are more than will be read. A method returns `None` if the bytes are not there or
/// not in the expected form; the position is then not valid.
#[derive(Clone, Debug)]
pub struct Cursor<'a, const ROOM: usize> {
    text: &'a [u8; ROOM],
    /// The position; narrow, so that adding to it cannot overflow an index.
    at: u32,
}

impl<'a, const ROOM: usize> Cursor<'a, ROOM> {
    /// Makes a cursor at the beginning of a text.
    #[inline(always)]
    pub fn new(text: &'a [u8; ROOM]) -> Self {
        Cursor { text, at: 0 }
    }

    /// Returns how many bytes come before this position.
    #[inline(always)]
    pub fn position(&self) -> usize {
        self.at as usize
    }

    /// Returns the next `N` bytes.
    #[inline(always)]
    pub fn next<const N: usize>(&self) -> Option<&'a [u8; N]> {
        let at = self.at as usize;
        self.text.get(at..at + N)?.first_chunk()
    }

    /// Returns the rest of the text.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.text.get(self.at as usize..).unwrap_or_default()
    }

    /// Steps over bytes.
    #[inline(always)]
    pub fn advance(&mut self, count: usize) {
        self.at += count as u32;
    }

    /// Steps over a word, if it is there; returns whether it was.
    #[inline(always)]
    pub fn eat<const N: usize>(&mut self, word: &[u8; N]) -> bool {
        let found = self.next() == Some(word);
        if found {
            self.advance(N);
        }
        found
    }

    /// Steps over the piece of text that was at this place in the last line, if it is here again.
    #[inline(always)]
    pub fn again(&mut self, piece: &Piece) -> bool {
        let Some(text) = self.next::<PIECE>() else { return false };
        let found = piece.length > 0 && piece.begins(text);
        if found {
            self.advance(piece.length);
        }
        found
    }

    /// Returns the text from a position up to here.
    #[inline(always)]
    pub fn since(&self, start: usize) -> Piece {
        Piece::of(self.text.get(start..self.at as usize).unwrap_or_default())
    }

    /// Returns the byte that is `ahead` bytes after the next one.
    #[inline(always)]
    pub fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at as usize + ahead).copied()
    }

    /// Returns the next eight bytes, with digits as 0 to 9, and a word that has the high bit set in
    /// the first byte that is not a digit (later bytes may have any value).
    #[inline(always)]
    fn word(&self) -> Option<(u64, u64)> {
        let word = u64::from_le_bytes(*self.next()?) ^ 0x3030_3030_3030_3030;
        // A byte over 9 gets its high bit here; carries only reach bytes after it.
        let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
        Some((word, others))
    }

    /// Returns the next eight bytes, with digits as 0 to 9, and with how many digits they start.
    #[inline(always)]
    pub fn digits(&self) -> Option<(u64, usize)> {
        let (word, others) = self.word()?;
        Some((word, others.trailing_zeros() as usize / 8))
    }

    /// Reads one to seven digits without a leading zero.
    #[inline(always)]
    pub fn short_integer(&mut self) -> Option<u64> {
        let (word, count) = self.digits()?;
        if count == 0 || count == 8 || (count > 1 && word & 0xff == 0) {
            return None;
        }
        self.advance(count);
        Some(value_of(word << (64 - 8 * count)))
    }

    /// Reads an unsigned integer of at most 15 digits, followed by a comma. The guess is the number of digits
    /// of the last integer.
    #[inline(always)]
    pub fn integer(&mut self, guess: &mut usize) -> Option<u64> {
        if self.peek(*guess) != Some(b',') {
            *guess = 1 + self.text.get(self.at as usize + 1..)?.iter().position(|&b| b == b',')?;
        }
        let length = *guess;
        let (word, others) = self.word()?;
        // A leading zero is only valid in a zero.
        if (word & 0xff == 0 && length != 1) || length == 0 {
            return None;
        }
        if length < 8 {
            let cut = 64 - 8 * length;
            self.advance(length);
            return (others << cut == 0).then(|| value_of(word << cut));
        }
        self.advance(8);
        let high = value_of(word);
        if others != 0 || length > 15 {
            return None;
        }
        if length == 8 {
            return Some(high);
        }
        let (word, others) = self.word()?;
        let cut = 64 - 8 * (length - 8);
        self.advance(length - 8);
        let power = POWERS[(length - 8) & 7] as u64;
        (others << cut == 0).then(|| high * power + value_of(word << cut))
    }
}
