//! Bins for items that come longest first.

use super::Piece;
use super::room::{FirstRoom, Rooms};

/// Returns the bin of each item, in the order of the weights, and the number of bins. Bins are
/// numbered from 0 in the order of opening. No weight may be more than the capacity.
pub(super) type Fit = fn(&mut dyn ExactSizeIterator<Item = u32>, u32) -> (Vec<u32>, usize);

/// Returns the pieces, longest first; pieces of one length keep their order. (The pieces themselves are
/// sorted, not their places, so that the next step reads them in sequence, without a cache miss each.)
pub(super) fn longest_first(pieces: Vec<Piece>, most: u32) -> Vec<Piece> {
    let longest = pieces.iter().map(|piece| piece.length).max().unwrap_or(0).min(most);
    // The next place for a piece of each length.
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

/// Puts each item into the bin with the least room that takes it.
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

/// Puts each item into the first bin that takes it.
pub(super) fn first_fit(
    weights: &mut dyn ExactSizeIterator<Item = u32>,
    capacity: u32,
) -> (Vec<u32>, usize) {
    let mut rooms = FirstRoom::default();
    let bin_of = weights.map(|weight| rooms.take(weight, capacity)).collect();
    (bin_of, rooms.bins())
}
