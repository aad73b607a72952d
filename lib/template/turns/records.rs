//! Chooses the records of a chat: the fewest renderings that hold every turn as the model generates it.

use crate::run::Parts;

/// A turn that is trained on: the rendering that ends with it, and how much of that is read and generated.
pub struct Candidate<'t> {
    pub text: Parts<'t>,
    /// The end of what the model generates.
    pub end: usize,
}

/// Returns for each turn the place of the turn whose rendering is its record.
///
/// A rendering holds a turn if it begins with the turn's text up to `end`. If R(k) holds message i and R(l) holds message
/// k, R(l) holds i, since P(i) is the beginning of P(k): so only renderings that are records need to be looked at. (A P(i)
/// that is longer than P(k) would have the turn k in it, and is not held.)
pub fn choose(turns: &[Candidate<'_>]) -> Vec<usize> {
    let mut of = vec![0; turns.len()];
    // From the last: the records so far, the nearest one first, and how much the nearest has in common with each.
    let mut records: Vec<(usize, usize)> = Vec::new();
    for (place, turn) in turns.iter().enumerate().rev() {
        let mut common = vec![turn.text.len()];
        let mut holder = None;
        let mut nearest = 0;
        for (number, (record, with_nearest)) in records.iter().rev().enumerate() {
            let other = &turns[*record];
            // Two texts that have more in common with each other than with a third have the same in common with it.
            let same = match number {
                0 => turn.text.common(&other.text, 0),
                _ if *with_nearest != nearest => nearest.min(*with_nearest),
                _ => turn.text.common(&other.text, nearest),
            };
            if number == 0 {
                nearest = same;
            }
            if holder.is_none() && turn.end <= same && turn.end <= other.end {
                holder = Some(*record);
            }
            common.push(same);
        }
        of[place] = holder.unwrap_or(place);
        if holder.is_none() {
            records.push((place, 0));
            for ((_, with_nearest), same) in records.iter_mut().rev().zip(common) {
                *with_nearest = same;
            }
        }
    }
    of
}
