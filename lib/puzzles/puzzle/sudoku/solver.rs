//! Counts the solutions of a Sudoku, up to a limit: depth first, always in the cell with the
//! fewest candidates, or where a digit has only one place left in a row, column or box.

/// The digits that may be in a cell, digit d as bit d - 1.
type Digits = u16;

const ALL: Digits = 0x1ff;

/// Returns how many solutions the puzzle has, at most `limit`. `cells` are digits in row-major
/// order, 0 for blank; there is no solution if a digit is repeated or a number is over 9.
pub fn solutions(cells: &[u8; 81], limit: u32) -> u32 {
    let mut solver =
        Solver { cells: [0; 81], used: [0; 27], blanks: Vec::with_capacity(81), limit };
    for (cell, &digit) in cells.iter().enumerate() {
        match digit {
            0 => solver.blanks.push(cell),
            1..=9 if solver.candidates(cell) >> (digit - 1) & 1 == 1 => {
                solver.put(cell, 1 << (digit - 1));
            }
            _ => return 0,
        }
    }
    solver.search(0)
}

/// Returns the cell's row, column and box in `Solver::used`.
const fn units(cell: usize) -> [usize; 3] {
    let (row, column) = (cell / 9, cell % 9);
    [row, 9 + column, 18 + row / 3 * 3 + column / 3]
}

const UNITS: [[usize; 3]; 81] = {
    let mut table = [[0; 3]; 81];
    let mut cell = 0;
    while cell < 81 {
        table[cell] = units(cell);
        cell += 1;
    }
    table
};

struct Solver {
    cells: [Digits; 81],
    /// The digits in rows, columns and boxes.
    used: [Digits; 27],
    blanks: Vec<usize>,
    limit: u32,
}

impl Solver {
    fn candidates(&self, cell: usize) -> Digits {
        let [row, column, square] = UNITS[cell];
        ALL & !(self.used[row] | self.used[column] | self.used[square])
    }

    fn put(&mut self, cell: usize, digit: Digits) {
        self.cells[cell] = digit;
        for unit in UNITS[cell] {
            self.used[unit] |= digit;
        }
    }

    fn clear(&mut self, cell: usize) {
        let digit = std::mem::take(&mut self.cells[cell]);
        for unit in UNITS[cell] {
            self.used[unit] &= !digit;
        }
    }

    /// Returns `found` and the number of solutions from here on, at most `limit` in all.
    fn search(&mut self, found: u32) -> u32 {
        let Some((at, mut digits)) = self.choose() else { return (found + 1).min(self.limit) };
        let cell = self.blanks.swap_remove(at);
        let mut found = found;
        while digits != 0 && found < self.limit {
            let digit = digits & digits.wrapping_neg();
            digits &= !digit;
            self.put(cell, digit);
            found = self.search(found);
            self.clear(cell);
        }
        // The blank is restored; its place in the list went to the last blank.
        self.blanks.push(cell);
        let last = self.blanks.len() - 1;
        self.blanks.swap(at, last);
        found
    }

    /// Returns the index of the blank to fill in the list, and the digits to try there; `None` if
    /// all are full.
    fn choose(&self) -> Option<(usize, Digits)> {
        let mut best: Option<(usize, Digits)> = None;
        // For each unit, the digits with at least one place, and with at least two places.
        let mut once: [Digits; 27] = [0; 27];
        let mut twice: [Digits; 27] = [0; 27];
        for (at, &cell) in self.blanks.iter().enumerate() {
            let digits = self.candidates(cell);
            if digits.count_ones() <= 1 {
                return Some((at, digits));
            }
            if best.is_none_or(|(_, fewest)| digits.count_ones() < fewest.count_ones()) {
                best = Some((at, digits));
            }
            for unit in UNITS[cell] {
                twice[unit] |= once[unit] & digits;
                once[unit] |= digits;
            }
        }
        if once.iter().zip(&self.used).any(|(once, used)| once | used != ALL) {
            // A digit has no place left: there is nothing to try, anywhere.
            return best.map(|(at, _)| (at, 0));
        }
        for (at, &cell) in self.blanks.iter().enumerate() {
            let digits = self.candidates(cell);
            let only = UNITS[cell].iter().fold(0, |only, &unit| only | digits & !twice[unit]);
            if only != 0 {
                // Two such digits in one cell contradict each other; either shows it.
                return Some((at, only & only.wrapping_neg()));
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(puzzle: &str, limit: u32) -> u32 {
        let mut cells = [0; 81];
        for (cell, byte) in cells.iter_mut().zip(puzzle.bytes()) {
            *cell = if byte == b'.' { 0 } else { byte - b'0' };
        }
        solutions(&cells, limit)
    }

    const EASY: &str =
        "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";

    #[test]
    fn known_puzzles() {
        assert_eq!(count(EASY, 2), 1);
        // Seventeen given digits, and a puzzle that was made to be hard for backtracking.
        let few =
            "000000010400000000020000000000050407008000300001090000300400200050100000000806000";
        let hard =
            "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9";
        assert_eq!(count(few, 2), 1);
        assert_eq!(count(hard, 2), 1);
    }

    #[test]
    fn several_and_none() {
        let empty = ".".repeat(81);
        assert_eq!(count(&empty, 2), 2);
        assert_eq!(count(&empty, 100), 100);
        // Without the 7 at the top: two rows and two columns of a rectangle may be swapped.
        let two =
            "295743861431865900876192543387459216612387495549216738763524189928671354154938600";
        assert_eq!(count(two, 10), 2);
        // A cell without a candidate, a repeated digit, no digit at all.
        assert_eq!(count(&format!("12345678.........9{}", ".".repeat(64)), 2), 0);
        assert_eq!(count(&format!("11{}", ".".repeat(79)), 2), 0);
        assert_eq!(solutions(&[10; 81], 2), 0);
    }

    #[test]
    fn agrees_with_plain_backtracking() {
        fn plain(cells: &mut [u8; 81], limit: u32) -> u32 {
            let Some(at) = cells.iter().position(|&digit| digit == 0) else { return 1 };
            let mut found = 0;
            for digit in 1..=9 {
                let clash = (0..81).any(|other| {
                    cells[other] == digit
                        && units(at).iter().zip(units(other)).any(|(a, b)| *a == b)
                });
                if !clash && found < limit {
                    cells[at] = digit;
                    found += plain(cells, limit - found);
                    cells[at] = 0;
                }
            }
            found
        }
        // A solved grid with some cells blanked, in many ways.
        let solved =
            "534678912672195348198342567859761423426853791713924856961537284287419635345286179";
        let mut random = crate::puzzle::random::Random::from_state([1, 2, 3, 4]);
        let mut several = 0;
        for _ in 0..200 {
            let mut cells = [0; 81];
            for (cell, byte) in cells.iter_mut().zip(solved.bytes()) {
                *cell = if random.below(100) < 55 { 0 } else { byte - b'0' };
            }
            let expected = plain(&mut cells.clone(), 5);
            assert_eq!(solutions(&cells, 5), expected.min(5));
            several += u32::from(expected > 1);
        }
        assert!((20..180).contains(&several), "{several} with several solutions");
    }
}
