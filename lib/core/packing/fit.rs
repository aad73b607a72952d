//! Bins for items that come longest first.

use super::Piece;
use super::room::{FirstRoom, Rooms};

/// Gives each item, in the order of the weights, its bin, counted from 0 in the order of opening; and
/// the number of bins. No weight is more than the capacity.
pub(super) type Fit = fn(&mut dyn ExactSizeIterator<Item = u32>, u32) -> (Vec<u32>, usize);

/// The pieces, longest first; those of one length in their order. (What follows then goes through them in
/// line: to look up each by its place is a miss of the cache for each.)
pub(super) fn longest_first(pieces: Vec<Piece>, most: u32) -> Vec<Piece> {
    let longest = pieces.iter().map(|piece| piece.length).max().unwrap_or(0).min(most);
    // Where the pieces of each length go.
    let mut next = vec![0usize; longest as usize + 1];
    pieces.iter().for_each(|piece| next[piece.length as usize] += 1);
    let mut sum = 0;
    for count in next.iter_mut().rev() {
        sum += std::mem::replace(count, sum);
    }
    let mut sorted = vec![Piece::NONE; pieces.len()];
    for piece in pieces {
        let next = &mut next[piece.length as usize];
        sorted[*next] = piece;
        *next += 1;
    }
    sorted
}

/// Each into the bin with the least room that takes it.
pub(super) fn best_fit(
    weights: &mut dyn ExactSizeIterator<Item = u32>,
    capacity: u32,
) -> (Vec<u32>, usize) {
    let mut bins = 0u32;
    let mut rooms = Rooms::new(capacity);
    let mut bin_of = Vec::with_capacity(weights.len());
    for weight in weights {
        let (bin, room) = rooms.take(weight).unwrap_or_else(|| {
            bins += 1;
            (bins - 1, capacity)
        });
        rooms.put(bin, room - weight);
        bin_of.push(bin);
    }
    (bin_of, bins as usize)
}

/// Each into the first bin that takes it.
pub(super) fn first_fit(
    weights: &mut dyn ExactSizeIterator<Item = u32>,
    capacity: u32,
) -> (Vec<u32>, usize) {
    let mut rooms = FirstRoom::default();
    let bin_of = weights.map(|weight| rooms.take(weight, capacity)).collect();
    (bin_of, rooms.bins())
}
