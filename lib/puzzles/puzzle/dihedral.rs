//! The eight symmetries of a grid, t0 to t7: identity; rotated counter-clockwise once, twice,
//! three times; left-right flip; up-down flip; transposed; left-right flip of the first rotation.

/// How many transforms there are.
pub const COUNT: u8 = 8;

/// Applies t`transform` to a row-major grid; also returns the new numbers of rows and columns. A
/// number over 7 is the identity.
pub fn apply<T: Copy>(
    transform: u8,
    rows: usize,
    columns: usize,
    cells: &[T],
) -> (usize, usize, Vec<T>) {
    let swapped = matches!(transform, 1 | 3 | 6 | 7);
    let (new_rows, new_columns) = if swapped { (columns, rows) } else { (rows, columns) };
    let mut new = Vec::with_capacity(cells.len());
    for i in 0..new_rows {
        for j in 0..new_columns {
            let (row, column) = match transform {
                1 => (j, columns - 1 - i),
                2 => (rows - 1 - i, columns - 1 - j),
                3 => (rows - 1 - j, i),
                4 => (i, columns - 1 - j),
                5 => (rows - 1 - i, j),
                6 => (j, i),
                7 => (rows - 1 - j, columns - 1 - i),
                _ => (i, j),
            };
            new.push(cells[row * columns + column]);
        }
    }
    (new_rows, new_columns, new)
}

/// Returns the transform that undoes t`transform`.
pub fn inverse(transform: u8) -> u8 {
    match transform {
        1 => 3,
        3 => 1,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transform_is_what_numpy_makes_of_it() {
        // [[0, 1, 2], [3, 4, 5]] and np.rot90(k=1..3), fliplr, flipud, .T, fliplr(rot90).
        let expected: [(usize, usize, &[u8]); 8] = [
            (2, 3, &[0, 1, 2, 3, 4, 5]),
            (3, 2, &[2, 5, 1, 4, 0, 3]),
            (2, 3, &[5, 4, 3, 2, 1, 0]),
            (3, 2, &[3, 0, 4, 1, 5, 2]),
            (2, 3, &[2, 1, 0, 5, 4, 3]),
            (2, 3, &[3, 4, 5, 0, 1, 2]),
            (3, 2, &[0, 3, 1, 4, 2, 5]),
            (3, 2, &[5, 2, 4, 1, 3, 0]),
        ];
        for (transform, (rows, columns, cells)) in (0u8..).zip(expected) {
            let grid: Vec<u8> = (0..6).collect();
            let new = apply(transform, 2, 3, &grid);
            assert_eq!(new, (rows, columns, cells.to_vec()), "t{transform}");
            let back = apply(inverse(transform), new.0, new.1, &new.2);
            assert_eq!(back, (2, 3, grid), "t{transform} undone");
        }
    }
}
