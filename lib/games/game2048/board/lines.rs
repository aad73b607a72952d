//! Tables over every line of four cells with exponents 0..=17: its score, whether it can slide,
//! the line after the slide, and the score that this gains. Each is built once, at first use.
//!
//! A line is read from the side that tiles slide to (its first cell is the wall). Sliding
//! to the other side is the same lookup on the reversed line.

use std::sync::LazyLock;

use super::MAX_EXPONENT;

/// Exponents a cell can have: 0 (empty) to [`MAX_EXPONENT`].
const RANKS: usize = MAX_EXPONENT as usize + 1;
const LINES: usize = RANKS * RANKS * RANKS * RANKS;

/// Bit of an item of [`Lines`]: the line can slide towards its first cell.
const FORWARD: i32 = 1;
/// Bit of an item of [`Lines`]: the line can slide towards its last cell.
const BACKWARD: i32 = 2;

/// The score of every line and whether it slides, at its [`index`].
///
/// `score << 2 | can slide backward << 1 | can slide forward`. The score of a line is at least
/// -51.3 million (0 17 0 17) and at most 22.3 million (17 17 17 17), so two more bits fit i32.
pub(in crate::game2048) struct Lines(Vec<i32>);

/// Every line after its slide, at its [`index`].
pub(in crate::game2048) struct Slides(Vec<LineSlide>);

/// A line after sliding towards its first cell.
#[derive(Clone, Copy)]
pub(in crate::game2048) struct LineSlide {
    /// Cells after the slide; 17 and 17 merge to 18.
    pub cells: [u8; 4],
    /// The sum of the tiles made by merging.
    pub gained: u32,
}

/// Score and legality of a line.
#[derive(Clone, Copy)]
pub(in crate::game2048) struct Line(i32);

impl Line {
    #[inline]
    pub(in crate::game2048) fn score(self) -> i32 {
        self.0 >> 2
    }

    /// Returns where the line can slide. Bit 0: towards the first cell; bit 1: towards the last.
    #[inline]
    pub(in crate::game2048) fn slides(self) -> u8 {
        (self.0 & (FORWARD | BACKWARD)) as u8
    }
}

impl Lines {
    #[inline]
    pub(in crate::game2048) fn line(&self, index: u32) -> Line {
        Line(self.0[index as usize])
    }
}

impl Slides {
    #[inline]
    pub(in crate::game2048) fn slid(&self, index: u32) -> LineSlide {
        self.0[index as usize]
    }
}

/// Returns the scores. The first call builds them (a tenth of a millisecond).
#[inline]
pub(in crate::game2048) fn lines() -> &'static Lines {
    static LINES: LazyLock<Lines> = LazyLock::new(build_lines);
    &LINES
}

/// Returns the slides. The first call builds them (about a millisecond).
#[inline]
pub(in crate::game2048) fn slides() -> &'static Slides {
    static SLIDES: LazyLock<Slides> = LazyLock::new(build_slides);
    &SLIDES
}

/// Returns the index of the line `a b c d`, whose exponents are at most [`MAX_EXPONENT`].
#[inline]
pub(in crate::game2048) fn index(a: u8, b: u8, c: u8, d: u8) -> u32 {
    const R: u32 = RANKS as u32;
    (u32::from(a) * R + u32::from(b)) * (R * R) + u32::from(c) * R + u32::from(d)
}

/// Builds the score of each line, and whether it slides, from its three pairs of neighbours.
fn build_lines() -> Lines {
    let mut pairs = [[(0, 0); RANKS]; RANKS];
    for (x, pairs) in (0..).zip(&mut pairs) {
        for (y, pair) in (0..).zip(pairs) {
            *pair = (pair_score(x, y) * 4, pair_slides(x, y));
        }
    }
    let mut lines = Vec::with_capacity(LINES);
    for (a, after_a) in (0..).zip(&pairs) {
        for (first, after_b) in after_a.iter().zip(&pairs) {
            let score = tile(a) * 4 + first.0;
            for (second, after_c) in after_b.iter().zip(&pairs) {
                let (score, slides) = (score + second.0, first.1 | second.1);
                lines.extend(after_c.iter().map(|third| (score + third.0) | slides | third.1));
            }
        }
    }
    Lines(lines)
}

fn build_slides() -> Slides {
    let mut slides = Vec::with_capacity(LINES);
    let ranks = 0..RANKS as u8;
    for a in ranks.clone() {
        for b in ranks.clone() {
            for c in ranks.clone() {
                slides.extend(ranks.clone().map(|d| slide([a, b, c, d])));
            }
        }
    }
    Slides(slides)
}

/// Returns t(r) of the heuristic.
fn tile(exponent: u8) -> i32 {
    i32::from(exponent) << exponent
}

/// Returns the part of a line's score that comes from a pair of neighbours, as the heuristic
/// defines it.
fn pair_score(x: u8, y: u8) -> i32 {
    let (x, y) = (tile(x), tile(y));
    let both = if x >= y { x + y } else { 12 * (x - y) };
    if x == y { both + x } else { both }
}

/// Returns in which directions a line slides because of a pair of neighbours: equal tiles merge,
/// and a tile moves to an empty cell beside it.
fn pair_slides(x: u8, y: u8) -> i32 {
    match (x, y) {
        (0, 0) => 0,
        (x, y) if x == y => FORWARD | BACKWARD,
        (0, _) => FORWARD,
        (_, 0) => BACKWARD,
        _ => 0,
    }
}

/// Slides a line towards its first cell: tiles close up, and each pair of equal neighbours
/// merges once, the pair nearest to the wall first.
fn slide(line: [u8; 4]) -> LineSlide {
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
    LineSlide { cells: out, gained }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_slides_where_sliding_changes_it() {
        let ranks = 0..RANKS as u8;
        for a in ranks.clone() {
            for b in ranks.clone() {
                for c in ranks.clone() {
                    for d in ranks.clone() {
                        let (line, back) = ([a, b, c, d], [d, c, b, a]);
                        let forward = if slide(line).cells != line { FORWARD } else { 0 };
                        let backward = if slide(back).cells != back { BACKWARD } else { 0 };
                        let slides = lines().line(index(a, b, c, d)).slides();
                        assert_eq!(i32::from(slides), forward | backward, "{line:?}");
                    }
                }
            }
        }
    }
}
