//! The board evaluation of Macroxue's player, and the legality of moves, by line tables.
//!
//! A line `a b c d` scores t(a) and, for each neighbouring pair (x, y), t(x)+t(y) when
//! t(x) >= t(y), else 12*(t(x)-t(y)); when they are equal, t(x) is added; t(r) = r * 2^r.
//! Exponents of 16 and 17 are not clamped.

use super::board::lines::{self, Line, Lines};
use super::board::{Board, Direction};

/// The result of one pass over all lines of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survey {
    /// The value of [`board_eval`].
    pub board_eval: i32,
    /// The moves that change the board, as bits of [`Direction::bit`].
    pub legal: u8,
}

/// Evaluates a board and finds its legal moves.
#[inline]
pub fn survey(board: &Board) -> Survey {
    let tables = lines::lines();
    let (mut board_eval, mut rows, mut columns) = (0, 0, 0);
    for i in 0..4 {
        let (row, column) = (row(tables, board, i), column(tables, board, i));
        board_eval += row.score() + column.score();
        rows |= row.slides();
        columns |= column.slides();
    }
    // Columns are read downwards: their first cell is the one towards which "up" moves.
    let legal = columns | rows << Direction::Left as u8;
    Survey { board_eval, legal }
}

/// Returns the heuristic's value: the sum of the line scores of the rows (left to right) and the
/// columns (top to bottom). It is between -411 and 179 million and always fits.
#[inline]
pub fn board_eval(board: &Board) -> i32 {
    survey(board).board_eval
}

/// Returns the value of the interactive variant: for the rows and for the columns, the larger sum
/// of the two directions.
pub fn board_eval_interactive(board: &Board) -> i32 {
    let tables = lines::lines();
    let cell = |row: usize, column: usize| board.cells()[row * 4 + column];
    let (mut rows, mut rows_back, mut columns, mut columns_back) = (0, 0, 0, 0);
    for i in 0..4 {
        rows += row(tables, board, i).score();
        columns += column(tables, board, i).score();
        let back = lines::index(cell(i, 3), cell(i, 2), cell(i, 1), cell(i, 0));
        rows_back += tables.line(back).score();
        let back = lines::index(cell(3, i), cell(2, i), cell(1, i), cell(0, i));
        columns_back += tables.line(back).score();
    }
    rows.max(rows_back) + columns.max(columns_back)
}

#[inline]
fn row(tables: &Lines, board: &Board, row: usize) -> Line {
    let c = board.cells();
    let i = row * 4;
    tables.line(lines::index(c[i], c[i + 1], c[i + 2], c[i + 3]))
}

#[inline]
fn column(tables: &Lines, board: &Board, column: usize) -> Line {
    let c = board.cells();
    tables.line(lines::index(c[column], c[column + 4], c[column + 8], c[column + 12]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game2048::CELLS;
    use crate::game2048::board::tests::random_boards;

    fn line_directly(line: [u8; 4]) -> i64 {
        let t = line.map(|r| i64::from(r) * (1i64 << r));
        let mut sum = t[0];
        for i in 0..3 {
            let (x, y) = (t[i], t[i + 1]);
            if x >= y {
                sum += x + y;
            } else {
                sum += 12 * (x - y);
            }
            if x == y {
                sum += x;
            }
        }
        sum
    }

    fn sums_directly(b: &[u8; CELLS]) -> [i64; 4] {
        let mut sums = [0; 4];
        for i in 0..4 {
            let row = [b[4 * i], b[4 * i + 1], b[4 * i + 2], b[4 * i + 3]];
            let column = [b[i], b[i + 4], b[i + 8], b[i + 12]];
            let back = |l: [u8; 4]| [l[3], l[2], l[1], l[0]];
            sums[0] += line_directly(row);
            sums[1] += line_directly(back(row));
            sums[2] += line_directly(column);
            sums[3] += line_directly(back(column));
        }
        sums
    }

    fn board(cells: [u8; CELLS]) -> Board {
        Board::new(cells).unwrap()
    }

    #[test]
    fn known_values() {
        let cases: [([u8; CELLS], i32, i32); 4] = [
            ([0; CELLS], 0, 0),
            ([15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0], 3_618_726, 3_618_726),
            ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], -16_031_270, 3_618_726),
            ([2, 2, 1, 1, 0, 0, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7], -33_140, 13_076),
        ];
        for (cells, plain, interactive) in cases {
            assert_eq!(board_eval(&board(cells)), plain, "{cells:?}");
            assert_eq!(board_eval_interactive(&board(cells)), interactive, "{cells:?}");
        }
    }

    #[test]
    fn equals_a_direct_computation_on_random_boards() {
        for board in random_boards(200_000) {
            let [rows, rows_back, columns, columns_back] = sums_directly(board.cells());
            assert_eq!(i64::from(board_eval(&board)), rows + columns, "{board:?}");
            assert_eq!(
                i64::from(board_eval_interactive(&board)),
                rows.max(rows_back) + columns.max(columns_back),
                "{board:?}"
            );
        }
    }

    #[test]
    fn every_line_of_extremes_fits() {
        for bits in 0..1u32 << 16 {
            let cells = std::array::from_fn(|i| if bits >> i & 1 == 1 { 17 } else { 0 });
            let [rows, _, columns, _] = sums_directly(&cells);
            assert_eq!(i64::from(board_eval(&board(cells))), rows + columns);
            assert!((-411_000_000..=179_000_000).contains(&(rows + columns)));
        }
    }
}
