//! Several pools one after another, as games or as batches of game records.

use std::ops::Range;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use serde_json::Value;

use super::Pool;
use crate::cli::{Error, Place, Position, Result, Slice, shown};
use crate::game2048::Game;
use crate::record::game::GamesBuilder;

/// A batch has about this many steps (1 MiB of them), but at least one game.
const BATCH_STEPS: usize = 1 << 14;
/// A batch has no more games than this, however short they are.
const BATCH_GAMES: usize = 1 << 12;

/// Reads the games of pools, or a slice of all of them together.
#[derive(Debug)]
pub struct PoolReader {
    pools: Vec<Pool>,
    /// The pool being read, and the number of its first game among all.
    current: usize,
    start: u64,
    wanted: Range<u64>,
    game: Game,
    builder: GamesBuilder,
}

impl PoolReader {
    pub fn open(paths: &[PathBuf], slice: Option<Slice>) -> Result<PoolReader> {
        let pools = paths.iter().map(|path| Pool::open(path)).collect::<Result<Vec<Pool>>>()?;
        let total = pools.iter().map(Pool::games).sum();
        let wanted = slice.map_or(0..total, |slice| slice.of(total));
        let (game, builder) = (Game::default(), GamesBuilder::default());
        Ok(PoolReader { pools, current: 0, start: 0, wanted, game, builder })
    }

    /// Games that have not been read yet.
    pub fn games(&self) -> u64 {
        self.wanted.end - self.wanted.start
    }

    /// What the pools have and games have not, for people.
    pub fn notes(&self) -> Vec<String> {
        self.pools.iter().filter_map(Pool::note).collect()
    }

    /// What any of the pools has and games have not, each once.
    pub fn left_out(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.pools.iter().flat_map(Pool::left_out) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// How `ev_legal` was decided, if that is the same in all pools.
    pub fn legality(&self) -> Option<&str> {
        let mut all = self.pools.iter().map(Pool::legality);
        let first = all.next().flatten();
        first.filter(|first| all.all(|other| other == Some(first)))
    }

    /// The chains of the filters that have made the pools, one after another, no entry twice.
    pub fn provenance(&self) -> Vec<Value> {
        let mut chain: Vec<Value> = Vec::new();
        for entry in self.pools.iter().flat_map(Pool::provenance) {
            if !chain.contains(entry) {
                chain.push(entry.clone());
            }
        }
        chain
    }

    /// Reads the next game, and tells its place: the pool, and its number there from 1.
    pub fn next_game(&mut self, game: &mut Game) -> Result<Option<Place>> {
        let Some((current, position)) = self.next_position() else { return Ok(None) };
        self.pools[current].read(position, game)?;
        let source = shown(self.pools[current].directory()).into();
        Ok(Some(Place { source, position: Position::Record(position + 1) }))
    }

    /// The next games; never more than `most` of them.
    pub fn next_batch(&mut self, most: u64) -> Result<Option<RecordBatch>> {
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(BATCH_GAMES);
        while self.builder.len() < most && self.builder.steps() < BATCH_STEPS {
            let Some((current, position)) = self.next_position() else { break };
            self.pools[current].read(position, &mut self.game)?;
            self.builder.push(&self.game).map_err(Error::from)?;
        }
        if self.builder.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.builder.finish()?))
    }

    /// Moves on by a game: the number of its pool, and its position there.
    fn next_position(&mut self) -> Option<(usize, u64)> {
        while !self.wanted.is_empty() {
            let pool = self.pools.get(self.current)?;
            let position = self.wanted.start - self.start;
            if position < pool.games() {
                self.wanted.start += 1;
                return Some((self.current, position));
            }
            self.start += pool.games();
            self.current += 1;
        }
        None
    }
}
