//! Bytes cut into blocks of whole lines.

use std::io::{self, Read};

/// Lines are handed on in blocks of at least this many bytes (about one batch).
const BLOCK: usize = 1 << 20;

/// Cuts bytes into blocks of whole lines. The cuts depend only on the bytes, never on how they
/// arrive.
pub struct Lines<R> {
    bytes: R,
    buffer: Vec<u8>,
    /// Start of the bytes that are in no block yet.
    start: usize,
    ended: bool,
    /// A line may have this many bytes; a longer one is not read to its end.
    most: u64,
}

impl<R: Read> Lines<R> {
    pub fn new(bytes: R, most: u64) -> Lines<R> {
        Lines { bytes, buffer: Vec::new(), start: 0, ended: false, most }
    }

    /// The next block; `None` at the end. Every line ends in a newline, except perhaps the last
    /// of the input, and one that is too long, which is cut.
    pub fn next_block(&mut self) -> io::Result<Option<&[u8]>> {
        self.buffer.drain(..self.start);
        self.start = 0;
        // How far the search for the block's last newline has come.
        let mut searched = BLOCK - 1;
        loop {
            if let Some(rest) = self.buffer.get(searched..) {
                if let Some(newline) = memchr::memchr(b'\n', rest) {
                    self.start = searched + newline + 1;
                    break;
                }
                searched = self.buffer.len();
            }
            // No newline has come since the block's end: one line has all that is after it.
            let most = self.most.saturating_add(2 * BLOCK as u64);
            let room = most.saturating_sub(self.buffer.len() as u64);
            if self.ended || room == 0 {
                self.start = self.buffer.len();
                break;
            }
            let wanted = room.min(BLOCK.max(self.buffer.len()) as u64);
            let read = self.bytes.by_ref().take(wanted).read_to_end(&mut self.buffer)?;
            self.ended = (read as u64) < wanted;
        }
        Ok((self.start > 0).then(|| &self.buffer[..self.start]))
    }
}

/// The lines of a block, each with its newline.
pub fn whole_lines(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = block;
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        rest.split_off(..end).filter(|line| !line.is_empty())
    })
}
