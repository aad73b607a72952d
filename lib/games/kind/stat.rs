//! Numbers of games.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::GameKind;
use crate::error::Result;
use crate::record::game::Games;
use crate::stat::{Answer, Distribution, Numbers, Sections, StatOptions, StatView, named, plain};
use crate::wording::grouped;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GamesStat {
    /// The numbers of steps of the games.
    pub steps: Distribution,
    /// The final scores of the games that have one.
    pub scores: Distribution,
    /// The largest tile of each game (2048, not its exponent), also from the boards.
    pub tiles: Distribution,
    /// Steps by the name of their valuation; steps without a name are under "".
    pub valuations: BTreeMap<String, u64>,
    /// The number of legal moves, and the number of steps that state which moves are legal.
    pub legal_moves: u64,
    pub steps_with_legality: u64,
    /// `legal_moves` as a share of all four moves of these steps.
    #[serde(skip_deserializing)]
    pub legal_share: Option<f64>,
}

impl GamesStat {
    fn add(&mut self, games: &Games<'_>, row: usize) -> Result<()> {
        let range = games.steps.range(row..row + 1);
        let steps = &games.steps.items;
        self.steps.add(range.len() as u64);
        if let Some(score) = games.score.get(row) {
            self.scores.add(score);
        }
        let of_rank = |rank: u8| 1u64.checked_shl(u32::from(rank)).unwrap_or(u64::MAX);
        let on_boards = || steps.board.rows(range.clone()).iter().copied().max().filter(|&r| r > 0);
        let tile = games.max_tile.get(row).or_else(|| games.max_rank.get(row).map(of_rank));
        if let Some(tile) = tile.or_else(|| on_boards().map(of_rank)) {
            self.tiles.add(tile);
        }
        let mut last: Option<(&str, u64)> = None;
        for step in range {
            if let Some(legal) = steps.ev_legal.get(step) {
                self.legal_moves += u64::from(legal.count_ones());
                self.steps_with_legality += 1;
            }
            let name = steps.valuation_type.get(step).unwrap_or_default();
            match &mut last {
                Some((known, times)) if *known == name => *times += 1,
                _ => {
                    if let Some((name, times)) = last.replace((name, 1)) {
                        *named(&mut self.valuations, "valuations", name)? += times;
                    }
                }
            }
        }
        if let Some((name, times)) = last {
            *named(&mut self.valuations, "valuations", name)? += times;
        }
        Ok(())
    }

    /// Returns the share of legal moves.
    pub fn legality(&self) -> Option<f64> {
        let all = self.steps_with_legality.checked_mul(4).filter(|all| *all > 0)?;
        Some(self.legal_moves as f64 / all as f64)
    }
}

impl StatView for GameKind {
    type Numbers = GamesStat;

    fn bytes(rows: &Games<'_>, row: usize) -> usize {
        48 * rows.steps.range(row..row + 1).len()
    }

    fn count(rows: &Games<'_>, row: usize, numbers: &mut GamesStat, _: &StatOptions) -> Result<()> {
        numbers.add(rows, row)
    }
}

impl Numbers for GamesStat {
    fn merge(&mut self, other: GamesStat) -> Result<()> {
        self.steps.merge(other.steps);
        self.scores.merge(other.scores);
        self.tiles.merge(other.tiles);
        for (name, times) in other.valuations {
            let own = named(&mut self.valuations, "valuations", &name)?;
            *own = own.saturating_add(times);
        }
        self.legal_moves = self.legal_moves.saturating_add(other.legal_moves);
        self.steps_with_legality =
            self.steps_with_legality.saturating_add(other.steps_with_legality);
        Ok(())
    }

    fn close(&mut self) {
        self.legal_share = self.legality();
    }

    fn lengths(&self) -> (&'static str, &Distribution) {
        ("steps", &self.steps)
    }

    fn headline(&self, records: String) -> [(&'static str, String); 3] {
        let score = plain(self.scores.percentile(50));
        [("games", records), ("steps", grouped(self.steps.sum())), ("score, median", score)]
    }

    fn sections<'a>(&'a self, out: &mut Sections<'a>, _: &Answer) {
        out.number("steps", self.steps.sum());
        if let Some(share) = self.legality() {
            out.fact("legal moves", format!("{:.2} %", share * 100.0));
        }
        out.distribution("steps of a game", &self.steps);
        out.distribution("scores", &self.scores);
        let tiles = self.tiles.counts().map(|(tile, count)| (grouped(tile), count));
        out.shares("games by largest tile", self.tiles.count(), tiles);
        let valuations = self.valuations.iter().map(|(name, count)| (name.clone(), *count));
        out.shares("steps by valuation", self.steps.sum(), valuations);
    }
}
