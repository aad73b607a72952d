//! The play of double-six domino: what may be played where, a game of four hands, and the best
//! tile by the scenario's rule.

use crate::puzzle::random::Random;

/// The pips of a tile: on the table from left to right, in a hand as it was dealt.
pub type Tile = [u8; 2];

/// Pips go from 0 to 6.
pub const PIPS: u8 = 7;
pub const TILES: usize = 28;
pub const HAND: usize = 7;
const PLAYERS: usize = 4;

/// What a player sees before a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DominoState {
    /// The tiles from left to right; neighbouring pips are equal.
    pub table: Vec<Tile>,
    pub hand: Vec<Tile>,
}

/// Where a tile is played, numbered as in the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TablePlace {
    Left = 1,
    Right = 2,
    /// The first tile on an empty table.
    First = 3,
}

impl DominoState {
    /// Returns the pips to match at the left and at the right; `None` on an empty table.
    pub fn ends(&self) -> Option<[u8; 2]> {
        Some([self.table.first()?[0], self.table.last()?[1]])
    }

    /// Returns every legal move: the index in the hand, and where the tile is played.
    pub fn moves(&self) -> Vec<(usize, TablePlace)> {
        let places = [TablePlace::Left, TablePlace::Right, TablePlace::First];
        let all = (0..self.hand.len()).flat_map(|index| places.map(|place| (index, place)));
        all.filter(|&(index, place)| fits(self.hand[index], place, self.ends())).collect()
    }

    /// Returns the legal move with the most pips; among equals the left end first, then the lowest
    /// index.
    pub fn target(&self) -> Option<(usize, TablePlace)> {
        let pips = |index: usize| self.hand[index].iter().sum::<u8>();
        self.moves()
            .into_iter()
            .min_by_key(|&(index, place)| (std::cmp::Reverse(pips(index)), place, index))
    }

    /// Raises every pip by `by`, modulo 7. Legal moves stay legal.
    pub fn shifted(&self, by: u8) -> DominoState {
        let shift =
            |tiles: &[Tile]| tiles.iter().map(|tile| tile.map(|pip| (pip + by) % PIPS)).collect();
        DominoState { table: shift(&self.table), hand: shift(&self.hand) }
    }

    /// Moves a tile from the hand to the table, turned to fit.
    fn play(&mut self, index: usize, place: TablePlace) {
        let tile = self.hand.remove(index);
        let turned = [tile[1], tile[0]];
        match (place, self.ends()) {
            (TablePlace::Left, Some([left, _])) => {
                self.table.insert(0, if tile[1] == left { tile } else { turned });
            }
            (TablePlace::Right, Some([_, right])) => {
                self.table.push(if tile[0] == right { tile } else { turned });
            }
            _ => self.table.push(tile),
        }
    }
}

/// Whether a tile may be played there if the table has these ends.
pub fn fits(tile: Tile, place: TablePlace, ends: Option<[u8; 2]>) -> bool {
    match (place, ends) {
        (TablePlace::First, None) => true,
        (TablePlace::Left, Some([left, _])) => tile.contains(&left),
        (TablePlace::Right, Some([_, right])) => tile.contains(&right),
        _ => false,
    }
}

/// Plays one game with random legal moves; returns one of the states in which a player could move,
/// each with the same probability.
pub fn play(random: &mut Random) -> DominoState {
    let mut tiles: Vec<Tile> =
        (0..PIPS).flat_map(|low| (low..PIPS).map(move |high| [low, high])).collect();
    random.shuffle(&mut tiles);
    let mut hands: Vec<Vec<Tile>> = tiles.chunks(HAND).map(<[Tile]>::to_vec).collect();
    let mut state = DominoState { table: Vec::new(), hand: Vec::new() };
    let mut chosen = state.clone();
    let mut states = 0;
    let mut passes = 0;
    for player in (0..PLAYERS).cycle() {
        state.hand = std::mem::take(&mut hands[player]);
        let moves = state.moves();
        if moves.is_empty() {
            passes += 1;
        } else {
            passes = 0;
            states += 1;
            if random.below(states) == 0 {
                chosen = state.clone();
            }
            let (index, place) = moves[random.index(moves.len())];
            state.play(index, place);
        }
        if state.hand.is_empty() || passes == PLAYERS {
            break;
        }
        hands[player] = std::mem::take(&mut state.hand);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(table: &[Tile], hand: &[Tile]) -> DominoState {
        DominoState { table: table.to_vec(), hand: hand.to_vec() }
    }

    #[test]
    fn targets() {
        // The most pips, of the legal ones.
        let chosen = |table: &[Tile], hand: &[Tile]| state(table, hand).target();
        assert_eq!(chosen(&[], &[[0, 1], [3, 4], [2, 5]]), Some((1, TablePlace::First)));
        assert_eq!(chosen(&[[1, 2]], &[[6, 6], [2, 3], [0, 1]]), Some((1, TablePlace::Right)));
        // If a tile fits both ends, the left one is taken. With equal pips, too, although the tile for the
        // left end comes later.
        assert_eq!(chosen(&[[1, 2]], &[[1, 2]]), Some((0, TablePlace::Left)));
        assert_eq!(chosen(&[[1, 2]], &[[2, 4], [1, 5]]), Some((1, TablePlace::Left)));
        assert_eq!(chosen(&[[1, 1]], &[[0, 2], [1, 3], [4, 0]]), Some((1, TablePlace::Left)));
        // If end and pips are the same, the lowest index comes first.
        assert_eq!(chosen(&[[3, 4], [4, 3]], &[[6, 3], [3, 6]]), Some((0, TablePlace::Left)));
        assert_eq!(chosen(&[[1, 2]], &[[3, 4]]), None);
        assert_eq!(chosen(&[], &[]), None);
    }

    #[test]
    fn the_heaviest_changes_with_the_shift() {
        let state = state(&[[1, 2]], &[[2, 6], [1, 3]]);
        assert_eq!(state.target(), Some((0, TablePlace::Right)));
        assert_eq!(state.shifted(1).target(), Some((1, TablePlace::Left)));
        assert_eq!(state.shifted(3).shifted(4), state);
    }
}
