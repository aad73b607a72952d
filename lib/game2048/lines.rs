//! Tables over every line of four cells with exponents 0..=17: its score, whether it can
//! slide, where it slides to and what that gains. They are built once, at first use.
//!
//! A line is read from the side that tiles slide to (its first cell is the wall). Sliding
//! to the other side is the same lookup on the reversed line.

use std::sync::LazyLock;

use super::board::MAX_EXPONENT;

/// Exponents a cell can have: 0 (empty) to [`MAX_EXPONENT`].
const RANKS: usize = MAX_EXPONENT as usize + 1;
const LINES: usize = RANKS * RANKS * RANKS * RANKS;

/// Bit of [`Tables::packed`]: the line can slide towards its first cell.
const FORWARD: i32 = 1;
/// Bit of [`Tables::packed`]: the line can slide towards its last cell.
const BACKWARD: i32 = 2;

/// What is known of every line, each vector indexed by [`index`].
pub(super) struct Tables {
    /// `score << 2 | can slide backward << 1 | can slide forward`. The score of a line is at
    /// least -51.3 million (0 17 0 17) and at most 22.3 million (17 17 17 17), so two more
    /// bits fit i32.
    packed: Vec<i32>,
    /// The line after sliding towards its first cell. 17 and 17 merge to 18.
    slid: Vec<[u8; 4]>,
    /// The sum of the tiles made by merging in that slide.
    gained: Vec<u32>,
}

/// Score and legality of a line.
#[derive(Clone, Copy)]
pub(super) struct Line(i32);

impl Line {
    #[inline]
    pub(super) fn score(self) -> i32 {
        self.0 >> 2
    }

    /// Bit 0: slides towards the first cell; bit 1: towards the last.
    #[inline]
    pub(super) fn slides(self) -> u8 {
        (self.0 & (FORWARD | BACKWARD)) as u8
    }
}

impl Tables {
    #[inline]
    pub(super) fn line(&self, index: u32) -> Line {
        Line(self.packed[index as usize])
    }

    #[inline]
    pub(super) fn slid(&self, index: u32) -> ([u8; 4], u32) {
        (self.slid[index as usize], self.gained[index as usize])
    }
}

/// The tables, built on the first call (about a millisecond).
#[inline]
pub(super) fn tables() -> &'static Tables {
    static TABLES: LazyLock<Tables> = LazyLock::new(build);
    &TABLES
}

/// Index of the line `a b c d`, whose exponents are at most [`MAX_EXPONENT`].
#[inline]
pub(super) fn index(a: u8, b: u8, c: u8, d: u8) -> u32 {
    const R: u32 = RANKS as u32;
    (u32::from(a) * R + u32::from(b)) * (R * R) + u32::from(c) * R + u32::from(d)
}

fn build() -> Tables {
    let mut tables = Tables {
        packed: Vec::with_capacity(LINES),
        slid: Vec::with_capacity(LINES),
        gained: Vec::with_capacity(LINES),
    };
    let ranks = 0..RANKS as u8;
    for a in ranks.clone() {
        for b in ranks.clone() {
            for c in ranks.clone() {
                for d in ranks.clone() {
                    let line = [a, b, c, d];
                    let (slid, gained) = slide(line);
                    let (back, _) = slide([d, c, b, a]);
                    let forward = if slid != line { FORWARD } else { 0 };
                    let backward = if back != [d, c, b, a] { BACKWARD } else { 0 };
                    tables.packed.push((score(line) * 4) | forward | backward);
                    tables.slid.push(slid);
                    tables.gained.push(gained);
                }
            }
        }
    }
    tables
}

/// Slides a line towards its first cell: tiles close up, and each pair of equal neighbours
/// merges once, the pair nearest to the wall first.
fn slide(line: [u8; 4]) -> ([u8; 4], u32) {
    let (mut out, mut gained) = ([0; 4], 0);
    let (mut next, mut open) = (0, false);
    for tile in line.into_iter().filter(|&tile| tile != 0) {
        if open && out[next - 1] == tile {
            out[next - 1] = tile + 1;
            gained += 1 << (tile + 1);
            open = false;
        } else {
            out[next] = tile;
            next += 1;
            open = true;
        }
    }
    (out, gained)
}

/// The score of a line, as the heuristic defines it.
fn score(line: [u8; 4]) -> i32 {
    let t = |exponent: u8| i32::from(exponent) << exponent;
    let mut sum = t(line[0]);
    for pair in line.windows(2) {
        let (x, y) = (t(pair[0]), t(pair[1]));
        sum += if x >= y { x + y } else { 12 * (x - y) };
        if x == y {
            sum += x;
        }
    }
    sum
}
