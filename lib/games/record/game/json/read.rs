//! Reads steps from JSON. As in the reader of raw logs, the end of a value is mostly guessed and then
//! checked, and text that the last step had, too, is compared as a whole.

use std::ops::Range;

use super::super::BRANCHES;
use crate::game2048::{ALL_BRANCHES, BOARD_TEXT, CELLS, read_board};
use crate::json::decimal::Decimal;
use crate::json::{self, Cursor, Piece, Reader};
use crate::record::columns::{RowEnds, TextBuilder};
use crate::record::nullable::NullableColumn;
use crate::record::quick::QuickColumn;

/// The longest step that is read here, in bytes; as many bytes must be left of the text.
const LONGEST: usize = 512;
/// How many steps are put into the columns together.
const TOGETHER: usize = 64;
/// The longest text of a number here.
const NUMBER: usize = 32;

/// The longest name, in bytes, that is copied without a call.
const SHORT: usize = 16;

/// The columns of steps that are being built.
pub struct StepRows<'a> {
    pub step_index: &'a mut NullableColumn<u32>,
    pub board: (&'a mut NullableColumn<u8>, &'a mut RowEnds),
    pub board_eval: &'a mut NullableColumn<i32>,
    pub move_dir: &'a mut NullableColumn<u8>,
    pub valuation_type: &'a mut TextBuilder,
    pub valuation: &'a mut NullableColumn<f64>,
    pub ev_legal: &'a mut NullableColumn<u8>,
    pub max_rank: &'a mut NullableColumn<u8>,
    pub seed: &'a mut NullableColumn<u64>,
    pub branch_evs: (&'a mut NullableColumn<f32>, &'a mut RowEnds),
}

impl<'a> StepRows<'a> {
    /// Returns the columns of steps, in the order of their fields.
    pub fn of(columns: Vec<QuickColumn<'a>>) -> Option<StepRows<'a>> {
        let mut columns = columns.into_iter();
        Some(StepRows {
            step_index: columns.next()?.of()?,
            board: columns.next()?.list()?,
            board_eval: columns.next()?.of()?,
            move_dir: columns.next()?.of()?,
            valuation_type: columns.next()?.of()?,
            valuation: columns.next()?.of()?,
            ev_legal: columns.next()?.of()?,
            max_rank: columns.next()?.of()?,
            seed: columns.next()?.of()?,
            branch_evs: columns.next()?.list()?,
        })
    }
}

/// Reads the steps of a list; the first one begins at `start`. It stops before a step that is not
/// of the usual form. Returns the offset after the last (`start` if there is none).
pub fn read_steps(text: &str, start: usize, rows: &mut StepRows<'_>) -> usize {
    let bytes = text.as_bytes();
    let mut end = start;
    // The general reader reports columns of 2^31 items.
    if !rows.fits(bytes.len()) {
        return end;
    }
    let (mut guess, mut block) = (Guess::default(), Block::default());
    let (mut at, mut is_first) = (start, true);
    while let Some(window) = bytes.get(at..).and_then(<[u8]>::first_chunk)
        && let Some(length) = step(window, at, &mut guess, &mut block)
    {
        block.count += 1;
        end = at + length;
        if block.count == TOGETHER {
            if std::mem::take(&mut is_first) {
                // The first steps show how many bytes a step takes.
                rows.reserve((bytes.len() - start) / ((end - start) / TOGETHER).max(1));
            }
            block.put_into(bytes, rows);
        }
        if bytes.get(end) != Some(&b',') {
            break;
        }
        at = end + 1;
    }
    block.put_into(bytes, rows);
    end
}

/// Properties of the last step, which the next one is likely to share.
struct Guess {
    /// The number of digits of its index.
    index: usize,
    /// The number of bytes of its board before the last bracket.
    board: usize,
    /// The text between `move_dir` and the value of `valuation`, and where the name in it is in the
    /// whole text.
    name_text: Piece,
    name: Range<usize>,
    /// The text between `max_rank` and the first branch, and the seed in it.
    seed_text: Piece,
    seed: u64,
}

impl Default for Guess {
    fn default() -> Guess {
        let (name_text, seed_text) = (Piece::NONE, Piece::NONE);
        Guess { index: 1, board: 0, name_text, name: 0..0, seed_text, seed: 0 }
    }
}

/// Reads the step at the beginning of a text into the next place of a block, and returns its
/// length; `at` is where this text begins in the whole text.
#[inline(always)]
fn step(text: &[u8; LONGEST], at: usize, guess: &mut Guess, block: &mut Block) -> Option<usize> {
    let row = block.count % TOGETHER;
    let mut cursor = Cursor::new(text);
    eat(&mut cursor, b"{\"step_index\":")?;
    block.step_index[row] = cursor.integer(&mut guess.index)?.try_into().ok()?;
    eat(&mut cursor, b",\"board\":")?;
    let (cells, length) = read_board(cursor.next::<BOARD_TEXT>()?, &mut guess.board)?;
    block.cells[row] = cells;
    cursor.advance(length);
    eat(&mut cursor, b",\"board_eval\":")?;
    let is_negative = cursor.eat(b"-");
    let board_eval = cursor.short_integer()? as i32;
    block.board_eval[row] = if is_negative { -board_eval } else { board_eval };
    eat(&mut cursor, b",\"move_dir\":")?;
    block.move_dir[row] = cursor.short_integer()?.try_into().ok()?;
    if !cursor.again(&guess.name_text) {
        read_name(&mut cursor, at, guess)?;
    }
    block.name[row] = guess.name.clone();
    block.valuation[row] = match decimal(&mut cursor) {
        Some(decimal) => decimal.to_f64(),
        None => number(&mut cursor)?.parse().ok().filter(|value: &f64| value.is_finite())?,
    };
    eat(&mut cursor, b",\"ev_legal\":")?;
    block.ev_legal[row] = cursor.short_integer()?.try_into().ok()?;
    eat(&mut cursor, b",\"max_rank\":")?;
    block.max_rank[row] = cursor.short_integer()?.try_into().ok()?;
    if !cursor.again(&guess.seed_text) {
        read_seed(&mut cursor, guess)?;
    }
    block.seed[row] = guess.seed;
    let mut known = 0;
    for branch in 0..BRANCHES {
        if branch > 0 {
            eat(&mut cursor, b",")?;
        }
        let mut value = 0.0;
        if !cursor.eat(b"null") {
            known |= 1 << branch;
            value = match decimal(&mut cursor) {
                Some(decimal) => decimal.to_f32(),
                None => {
                    number(&mut cursor)?.parse().ok().filter(|value: &f32| value.is_finite())?
                }
            };
        }
        block.branches[row][branch] = value;
    }
    block.known[row] = known;
    eat(&mut cursor, b"]}")?;
    Some(cursor.position())
}

#[inline(always)]
fn eat<const N: usize>(cursor: &mut Cursor<'_, LONGEST>, word: &[u8; N]) -> Option<()> {
    cursor.eat(word).then_some(())
}

#[inline(always)]
fn decimal(cursor: &mut Cursor<'_, LONGEST>) -> Option<Decimal> {
    let (decimal, length) = Decimal::read(cursor.next()?)?;
    cursor.advance(length);
    Some(decimal)
}

/// Reads the text of any number.
#[cold]
#[inline(never)]
fn number<'a>(cursor: &mut Cursor<'a, LONGEST>) -> Option<&'a str> {
    let rest = cursor.next::<NUMBER>()?;
    let length = rest.iter().position(|byte| matches!(byte, b',' | b']'))?;
    let text = std::str::from_utf8(rest.get(..length)?).ok()?;
    let mut reader = Reader::new(text);
    let number = reader.number().ok()?;
    cursor.advance(length);
    (number.len() == length).then_some(number)
}

/// Reads the text around the name of the valuation, and remembers it. A name with escapes or beyond
/// ASCII is not read here.
#[cold]
#[inline(never)]
fn read_name(cursor: &mut Cursor<'_, LONGEST>, at: usize, guess: &mut Guess) -> Option<()> {
    let start = cursor.position();
    guess.name_text = Piece::NONE;
    eat(cursor, b",\"valuation_type\":\"")?;
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    let length = cursor.rest().iter().position(|byte| !plain(byte))?;
    let name = at + cursor.position();
    cursor.advance(length);
    eat(cursor, b"\",\"valuation\":")?;
    guess.name = name..name + length;
    guess.name_text = cursor.since(start);
    Some(())
}

/// Reads the text around the seed, and remembers it.
#[cold]
#[inline(never)]
fn read_seed(cursor: &mut Cursor<'_, LONGEST>, guess: &mut Guess) -> Option<()> {
    let start = cursor.position();
    guess.seed_text = Piece::NONE;
    eat(cursor, b",\"seed\":")?;
    let seed = json::integer_u64(number(cursor)?)?;
    eat(cursor, b",\"branch_evs\":[")?;
    guess.seed = seed;
    guess.seed_text = cursor.since(start);
    Some(())
}

/// Steps that are not in the columns yet.
struct Block {
    count: usize,
    step_index: [u32; TOGETHER],
    cells: [[u8; CELLS]; TOGETHER],
    board_eval: [i32; TOGETHER],
    move_dir: [u8; TOGETHER],
    name: [Range<usize>; TOGETHER],
    valuation: [f64; TOGETHER],
    ev_legal: [u8; TOGETHER],
    max_rank: [u8; TOGETHER],
    seed: [u64; TOGETHER],
    branches: [[f32; BRANCHES]; TOGETHER],
    /// Bit i: branch i has a value.
    known: [u8; TOGETHER],
}

impl Default for Block {
    fn default() -> Block {
        Block {
            count: 0,
            step_index: [0; TOGETHER],
            cells: [[0; CELLS]; TOGETHER],
            board_eval: [0; TOGETHER],
            move_dir: [0; TOGETHER],
            name: [const { 0..0 }; TOGETHER],
            valuation: [0.0; TOGETHER],
            ev_legal: [0; TOGETHER],
            max_rank: [0; TOGETHER],
            seed: [0; TOGETHER],
            branches: [[0.0; BRANCHES]; TOGETHER],
            known: [0; TOGETHER],
        }
    }
}

impl Block {
    /// Appends the steps to the columns; the block is empty again. `text` has their names.
    fn put_into(&mut self, text: &[u8], rows: &mut StepRows<'_>) {
        let count = std::mem::take(&mut self.count).min(TOGETHER);
        fn put<T: Copy + Default>(column: &mut NullableColumn<T>, values: &[T], count: usize) {
            column.extend_known(values.iter().take(count).copied());
        }
        put(rows.step_index, &self.step_index, count);
        let (cells, boards) = &mut rows.board;
        let first = cells.len();
        put(cells, self.cells.as_flattened(), count * CELLS);
        boards.extend_known((1..=count).map(|row| first + row * CELLS));
        put(rows.board_eval, &self.board_eval, count);
        put(rows.move_dir, &self.move_dir, count);
        let TextBuilder { bytes, ends } = &mut *rows.valuation_type;
        ends.extend_known(self.name.iter().take(count).map(|name| {
            // A short name is copied with the bytes after it, without a call.
            match text.get(name.start..).and_then(<[u8]>::first_chunk::<SHORT>) {
                Some(whole) if name.len() <= SHORT => {
                    bytes.extend_from_slice(whole);
                    bytes.truncate(bytes.len() - SHORT + name.len());
                }
                _ => bytes.extend_from_slice(text.get(name.clone()).unwrap_or_default()),
            }
            bytes.len()
        }));
        put(rows.valuation, &self.valuation, count);
        put(rows.ev_legal, &self.ev_legal, count);
        put(rows.max_rank, &self.max_rank, count);
        put(rows.seed, &self.seed, count);
        let (branches, lists) = &mut rows.branch_evs;
        let first = branches.len();
        let known = self.known.get(..count).unwrap_or_default();
        let values = self.branches.as_flattened().get(..count * BRANCHES).unwrap_or_default();
        match known.iter().all(|&known| known == ALL_BRANCHES) {
            true => branches.extend_known(values.iter().copied()),
            false => {
                let bits =
                    known.iter().flat_map(|known| (0..BRANCHES).map(move |i| known >> i & 1 == 1));
                branches.extend_some(values, bits);
            }
        }
        lists.extend_known((1..=count).map(|row| first + row * BRANCHES));
    }
}

impl StepRows<'_> {
    /// Whether `more` further items of each list and of names still fit the columns.
    fn fits(&self, more: usize) -> bool {
        let lengths =
            [self.board.0.len(), self.valuation_type.bytes.len(), self.branch_evs.0.len()];
        lengths.iter().all(|length| i32::try_from(length.saturating_add(more)).is_ok())
    }

    /// Makes room for `steps` further steps.
    fn reserve(&mut self, steps: usize) {
        self.step_index.reserve(steps);
        self.board.0.reserve(steps * CELLS);
        self.board.1.reserve(steps);
        self.board_eval.reserve(steps);
        self.move_dir.reserve(steps);
        self.valuation_type.ends.reserve(steps);
        self.valuation.reserve(steps);
        self.ev_legal.reserve(steps);
        self.max_rank.reserve(steps);
        self.seed.reserve(steps);
        self.branch_evs.0.reserve(steps * BRANCHES);
        self.branch_evs.1.reserve(steps);
    }
}
