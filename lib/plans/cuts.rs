//! Cutting sources into tasks of about equal bytes, at rows.

use super::recipe::Weight;

/// Returns how many tasks each source gets when all sources together get `tasks`. Each source gets
/// at least one task and at most one for each unit; a further task always goes to the source whose
/// tasks are largest.
pub fn apportion(sources: &[Weight], tasks: u64) -> Vec<u64> {
    let mut counts = vec![1u64; sources.len()];
    for _ in sources.len() as u64..tasks {
        let growing = (0..sources.len()).filter(|&i| counts[i] < sources[i].units);
        let size =
            |i: &usize| u128::from(sources[*i].bytes.max(1)) * SCALE / u128::from(counts[*i]);
        // Among equal sources the first gets it.
        let Some(largest) = growing.rev().max_by_key(size) else { break };
        counts[largest] += 1;
    }
    counts
}

/// Fractions of a byte are counted in units of 2^-32.
const SCALE: u128 = 1 << 32;

/// Cuts the first `units` into `count` pieces of about equal bytes. Returns the beginning of each piece,
/// and the end of the last. All units of one weight are taken as equally large.
pub fn cut(weights: &[Weight], units: u64, count: u64) -> Vec<u64> {
    let total = bytes_of(weights, units);
    let mut cuts = vec![0];
    let (mut first, mut before) = (0u64, 0u128);
    let mut weights = weights.iter().copied();
    let mut weight = weights.next();
    for piece in 1..count {
        let target = total * u128::from(piece) / u128::from(count);
        let mut at = units;
        while let Some(Weight { units: n, bytes }) = weight {
            if before + u128::from(bytes) >= target {
                let share = (target - before) * u128::from(n) / u128::from(bytes.max(1));
                at = first + share as u64;
                break;
            }
            (first, before) = (first + n, before + u128::from(bytes));
            weight = weights.next();
        }
        // No piece is empty as long as there are units for all.
        let least = cuts.last().copied().unwrap_or(0) + 1;
        cuts.push(at.max(least).min(units.saturating_sub(count - piece)));
    }
    cuts.push(units);
    cuts
}

/// Returns the bytes of the first `units`.
pub fn bytes_of(weights: &[Weight], units: u64) -> u128 {
    let mut left = units;
    let mut sum = 0;
    for weight in weights {
        let taken = weight.units.min(left);
        sum += u128::from(weight.bytes) * u128::from(taken) / u128::from(weight.units.max(1));
        left -= taken;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(list: &[(u64, u64)]) -> Vec<Weight> {
        list.iter().map(|&(units, bytes)| Weight { units, bytes }).collect()
    }

    #[test]
    fn pieces_have_about_equal_bytes() {
        assert_eq!(cut(&weights(&[(10, 100)]), 10, 4), [0, 2, 5, 7, 10]);
        assert_eq!(cut(&weights(&[(10, 900), (10, 100)]), 20, 2), [0, 5, 20]);
        assert_eq!(cut(&weights(&[(10, 100), (10, 900)]), 20, 2), [0, 14, 20]);
        assert_eq!(cut(&weights(&[(10, 100), (10, 900)]), 10, 2), [0, 5, 10]);
        assert_eq!(cut(&weights(&[]), 0, 1), [0, 0]);
        // Every piece has a unit, even if one row has all the bytes.
        assert_eq!(cut(&weights(&[(1, 1000), (1, 0), (1, 0), (1, 0)]), 4, 4), [0, 1, 2, 3, 4]);
        assert_eq!(cut(&weights(&[(3, 0), (1, 1000)]), 4, 4), [0, 1, 2, 3, 4]);
        let big = u64::MAX / 2;
        assert_eq!(cut(&weights(&[(4, big), (4, big)]), 8, 2), [0, 4, 8]);
    }

    #[test]
    fn tasks_are_divided_by_bytes() {
        let sources = weights(&[(1000, 300), (1000, 100), (2, 1000), (0, 0)]);
        assert_eq!(apportion(&sources, 10), [5, 2, 2, 1]);
        assert_eq!(apportion(&sources, 2), [1, 1, 1, 1]);
        assert_eq!(apportion(&sources, 5000), [1000, 1000, 2, 1]);
        assert_eq!(apportion(&weights(&[(50, 7), (50, 7), (50, 7), (50, 7)]), 40), [10; 4]);
    }
}
