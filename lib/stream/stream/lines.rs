//! Bytes cut into blocks of whole lines.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The least bytes of a block of lines (about one batch).
const BLOCK: usize = 1 << 20;
/// The most bytes of a buffer that is kept for the next block.
const LARGE: usize = 16 * BLOCK;
/// How long a line waits for further lines, if it comes from a pipe that is shown as it comes.
const PATIENCE: Duration = Duration::from_millis(250);
/// How many bytes of such a pipe are read at once.
const READ: usize = 1 << 16;

/// Cuts bytes into blocks of whole lines. The cuts depend only on the bytes, never on how they
/// arrive, unless the lines are shown as they come.
pub struct Lines<R> {
    bytes: R,
    /// The pipe from which the bytes come, if its lines are shown as they come.
    shown: Option<File>,
    buffer: Vec<u8>,
    /// The start of the bytes that are in no block yet.
    start: usize,
    ended: bool,
    /// The most bytes of a line; a longer one is not read to its end.
    most: u64,
}

/// Returns the first line of a block or of the rest of it, with its newline if it has one. For a
/// line that is longer than a block, its end is not searched again.
pub fn first_line(block: &[u8]) -> &[u8] {
    let begin = block.get(..BLOCK - 1).unwrap_or(block);
    match memchr::memchr(b'\n', begin) {
        Some(newline) => &block[..=newline],
        // After these bytes a block has no newline except its last byte.
        None => block,
    }
}

impl<R: Read> Lines<R> {
    pub fn new(bytes: R, most: u64) -> Lines<R> {
        Lines { bytes, shown: None, buffer: Vec::new(), start: 0, ended: false, most }
    }

    /// Sets the pipe from which the lines come: when it pauses, the whole lines so far are handed
    /// on.
    pub fn showing(self, pipe: File) -> Lines<R> {
        Lines { shown: Some(pipe), ..self }
    }

    /// Returns the next block; `None` at the end. Every line ends in a newline, except perhaps the last line
    /// of the input and a line that is too long, which is cut. A block of one long line is handed over to the
    /// caller, so that it is in memory once, and only as long as it is needed.
    pub fn next_block(&mut self) -> io::Result<Option<Cow<'_, [u8]>>> {
        self.buffer.drain(..self.start);
        self.start = 0;
        // How far the search for the block's last newline has come.
        let mut searched = BLOCK - 1;
        let mut patience = Patience::default();
        loop {
            if let Some(rest) = self.buffer.get(searched..) {
                if let Some(newline) = memchr::memchr(b'\n', rest) {
                    self.start = searched + newline + 1;
                    break;
                }
                searched = self.buffer.len();
            }
            // No newline has come since the block's end: one line has all the bytes after it.
            let room = self.longest().saturating_sub(self.buffer.len() as u64);
            if self.ended || room == 0 {
                self.start = self.buffer.len();
                break;
            }
            let wanted = room.min(BLOCK as u64);
            self.make_room(wanted as usize);
            let Some(pipe) = &self.shown else {
                let read = self.bytes.by_ref().take(wanted).read_to_end(&mut self.buffer)?;
                self.ended = (read as u64) < wanted;
                continue;
            };
            if let Some(end) = patience.whole_lines(&self.buffer)
                && patience.is_over(pipe)?
            {
                self.start = end;
                break;
            }
            let most = READ.min(wanted as usize);
            self.ended = read_some(&mut self.bytes, most, &mut self.buffer)? == 0;
        }
        if self.buffer.capacity() > LARGE {
            let rest = self.buffer.split_off(self.start);
            let block = std::mem::replace(&mut self.buffer, rest);
            self.start = 0;
            return Ok((!block.is_empty()).then_some(Cow::Owned(block)));
        }
        Ok((self.start > 0).then(|| Cow::Borrowed(&self.buffer[..self.start])))
    }

    /// Returns the most bytes of a block.
    fn longest(&self) -> u64 {
        self.most.saturating_add(2 * BLOCK as u64)
    }

    /// Makes room for `wanted` more bytes; above a certain length it makes room for the longest line at once.
    /// (A buffer that grows while it is full is in memory twice. Room to which nothing was written takes no
    /// memory.)
    fn make_room(&mut self, wanted: usize) {
        if self.buffer.capacity() - self.buffer.len() >= wanted {
            return;
        }
        if self.buffer.len() + wanted > LARGE / 2 {
            let all = usize::try_from(self.longest()).unwrap_or(usize::MAX);
            // If memory is limited to less, it grows as far as it can.
            if self.buffer.try_reserve_exact(all.saturating_sub(self.buffer.len())).is_ok() {
                return;
            }
        }
        self.buffer.reserve(wanted);
    }
}

/// How long the lines of a block have waited.
#[derive(Default)]
struct Patience {
    /// How many bytes were searched for newlines.
    searched: usize,
    /// The end of the whole lines, and until when they wait.
    lines: Option<(usize, Instant)>,
}

impl Patience {
    /// The end of the last whole line.
    fn whole_lines(&mut self, buffer: &[u8]) -> Option<usize> {
        let came = buffer.get(self.searched..).unwrap_or_default();
        if let Some(newline) = memchr::memrchr(b'\n', came) {
            let until = self.lines.map_or_else(|| Instant::now() + PATIENCE, |(_, until)| until);
            self.lines = Some((self.searched + newline + 1, until));
        }
        self.searched = buffer.len();
        self.lines.map(|(end, _)| end)
    }

    /// Waits for more bytes; returns whether they came too late.
    fn is_over(&self, pipe: &File) -> io::Result<bool> {
        let Some((_, until)) = self.lines else { return Ok(false) };
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(true);
            }
            let timeout = Timespec::try_from(left).ok();
            match poll(&mut [PollFd::new(pipe, PollFlags::IN)], timeout.as_ref()) {
                Ok(0) => return Ok(true),
                Ok(_) => return Ok(false),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Reads the bytes that have come, up to a limit; returns how many, 0 at the end.
pub(super) fn read_some(
    bytes: &mut impl Read,
    most: usize,
    buffer: &mut Vec<u8>,
) -> io::Result<usize> {
    let start = buffer.len();
    buffer.resize(start + most, 0);
    loop {
        let read = bytes.read(&mut buffer[start..]);
        if read.as_ref().is_err_and(|error| error.kind() == ErrorKind::Interrupted) {
            continue;
        }
        buffer.truncate(start + read.as_ref().map_or(0, |read| *read));
        return read;
    }
}
