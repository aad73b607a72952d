//! Several pools one after another, as games or as batches of game records.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;

use arrow_schema::SchemaRef;
use serde_json::Value;

use super::Pool;
use super::stated::refuse_other_counts;
use crate::batch::{Batch, DroppedRecords, Header, Origin, RecordSource, WantedRecords};
use crate::cli::Slice;
use crate::error::Result;
use crate::format::raw_games::Legality;
use crate::game2048::{CopyError, Game, GameForm, StoredGame};
use crate::record::game::GamesBuilder;
use crate::record::statements::{LEFT_OUT, LEGALITY};
use crate::record::{GAME, RecordType};

/// About how many steps a batch has (1 MiB of them); it has at least one game.
const BATCH_STEPS: usize = 1 << 14;
/// The most games of a batch, however short they are.
const BATCH_GAMES: usize = 1 << 12;

/// Reads the games of pools, or a slice of all of them together.
#[derive(Debug)]
pub struct PoolReader {
    pools: Vec<Pool>,
    /// Whether nothing that the pools state must be verified before the first game, because the rows were
    /// counted or only some games are read.
    counted: bool,
    /// Whether statements are proved while the games are read.
    is_trusting: bool,
    /// The pool that is being read, and the number of its first game among all.
    current: usize,
    start: u64,
    /// The ascending runs of games that are still to be read.
    wanted: VecDeque<Range<u64>>,
    game: Game,
    builder: GamesBuilder,
    /// Whether only some of the games are read.
    is_part: bool,
    /// Whether the first batch was asked for.
    is_begun: bool,
}

impl PoolReader {
    pub fn open(paths: &[PathBuf], slice: Option<Slice>) -> Result<PoolReader> {
        let pools = paths.iter().map(|path| Pool::open_stated(path));
        let mut pools = pools.collect::<Result<Vec<Pool>>>()?;
        if slice.is_some() {
            pools.iter_mut().try_for_each(Pool::count)?;
        }
        let total = pools.iter().map(Pool::games).sum();
        let wanted = VecDeque::from([slice.map_or(0..total, |slice| slice.of(total))]);
        let (game, builder) = (Game::default(), GamesBuilder::default());
        let (counted, is_trusting) = (slice.is_some(), false);
        Ok(PoolReader {
            pools,
            counted,
            is_trusting,
            current: 0,
            start: 0,
            wanted,
            game,
            builder,
            is_part: slice.is_some(),
            is_begun: false,
        })
    }

    /// Returns what any of the pools has and games do not, each once.
    fn left_out(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.pools.iter().flat_map(Pool::left_out) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// Returns how `ev_legal` was decided, if that is the same in all pools.
    fn legality(&self) -> Option<Legality> {
        let mut all = self.pools.iter().map(Pool::legality);
        let first = all.next().flatten();
        first.filter(|first| all.all(|other| other == Some(*first)))
    }

    /// Returns the chains of the filters that made the pools, one after another; equal chains once.
    fn provenance(&self) -> Vec<Value> {
        let mut chains: Vec<&[Value]> = Vec::new();
        for chain in self.pools.iter().map(Pool::provenance) {
            if !chains.contains(&chain) {
                chains.push(chain);
            }
        }
        chains.concat()
    }

    /// Whether all games and all rows are read. Then a row of one game that stands among the rows of
    /// another is read, too, and noticed.
    fn may_trust(&self, form: GameForm) -> bool {
        form == GameForm::Rows { counted: false }
            && self.steps().is_some()
            && self.pools.iter().all(Pool::is_pack)
    }

    /// Returns the steps of all games, if no game has been read and all are read.
    pub fn steps(&self) -> Option<u64> {
        let games: u64 = self.pools.iter().map(Pool::games).sum();
        let steps = self.pools.iter().map(Pool::steps);
        (self.wanted.len() == 1 && self.records() == Some(games)).then(|| steps.sum())
    }

    /// Returns the next games in one of the forms, with their places; `None` after the last one. A pack is refused if
    /// it states other numbers of rows or runs than it has.
    pub fn next_games(
        &mut self,
        form: GameForm,
    ) -> Result<Option<(Vec<StoredGame>, Origin)>, CopyError> {
        match self.counted {
            false if self.may_trust(form) => (self.counted, self.is_trusting) = (true, true),
            _ => self.count()?,
        }
        if !std::mem::replace(&mut self.is_begun, true) {
            self.pools.iter().try_for_each(refuse_other_counts)?;
        }
        self.pools.iter_mut().for_each(Pool::release_given);
        let (mut games, mut origin) = (Vec::new(), Origin::default());
        let mut steps = 0;
        while games.len() < BATCH_GAMES && steps < BATCH_STEPS {
            let Some((pool, position)) = self.next_position() else { break };
            let pool = &mut self.pools[pool];
            origin.goes_on(games.len(), pool.name(), position + 1);
            let game = pool.read_stored(position, form, self.is_trusting)?;
            steps += game.steps();
            games.push(game);
        }
        Ok((!games.is_empty()).then_some((games, origin)))
    }

    /// Moves on to the next game: returns the number of its pool, and its position there.
    fn next_position(&mut self) -> Option<(usize, u64)> {
        while let Some(run) = self.wanted.front_mut() {
            if run.is_empty() {
                self.wanted.pop_front();
                continue;
            }
            let pool = self.pools.get(self.current)?;
            let position = run.start - self.start;
            if position < pool.games() {
                run.start += 1;
                return Some((self.current, position));
            }
            self.start += pool.games();
            self.current += 1;
        }
        None
    }
}

impl RecordSource for PoolReader {
    fn record(&mut self, _: &'static RecordType) -> Result<Option<&'static RecordType>> {
        Ok(Some(&GAME))
    }

    fn begin(&mut self, _: Option<&WantedRecords>) -> Result<(Header, SchemaRef)> {
        let mut header = Header::of_record(&GAME);
        header.provenance = self.provenance();
        if let Some(legality) = self.legality() {
            header.set(&LEGALITY, legality);
        }
        let left_out = self.left_out();
        if !left_out.is_empty() {
            header.set(&LEFT_OUT, left_out);
        }
        Ok((header, GAME.schema()))
    }

    /// Returns the games that have not been read yet.
    fn records(&self) -> Option<u64> {
        Some(self.wanted.iter().map(|run| run.end - run.start).sum())
    }

    fn encoding(&self) -> String {
        let mut all: Vec<String> = self.pools.iter().map(Pool::encoding).collect();
        all.dedup();
        all.join(" and ")
    }

    /// If only a part of the games is read, it is not known which dropped games belong to it.
    fn dropped(&self) -> DroppedRecords {
        let all = self.pools.iter().map(Pool::dropped).reduce(|sum, pool| sum.and(&pool));
        let all = all.unwrap_or_default();
        if self.is_part { all.of_part() } else { all }
    }

    fn read_runs(&mut self, runs: &[Range<u64>]) -> Result<bool> {
        self.is_part = true;
        let first = self.wanted.front().map_or(0, |run| run.start);
        self.counted = true;
        self.wanted = runs.iter().map(|run| first + run.start..first + run.end).collect();
        Ok(true)
    }

    fn count(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.counted, true) {
            self.pools.iter_mut().try_for_each(Pool::count)?;
            self.wanted = std::iter::once(0..self.pools.iter().map(Pool::games).sum()).collect();
        }
        Ok(())
    }

    fn next(
        &mut self,
        _: Option<&WantedRecords>,
        _schema: &SchemaRef,
        most: u64,
    ) -> Result<Option<Batch>> {
        self.count()?;
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(BATCH_GAMES);
        let mut origin = Origin::default();
        let (mut count, mut steps) = (0, 0);
        while count < most && steps < BATCH_STEPS {
            let Some((pool, position)) = self.next_position() else { break };
            let pool = &mut self.pools[pool];
            origin.goes_on(count, pool.name(), position + 1);
            count += 1;
            pool.read(position, &mut self.game)?;
            steps += self.game.steps.len();
            self.builder.push(&self.game)?;
        }
        Ok(match count {
            0 => None,
            _ => Some(Batch::of_records(self.builder.finish()?, origin)),
        })
    }

    /// Returns what the pools have and games do not.
    fn notes(&self) -> Vec<String> {
        self.pools.iter().filter_map(Pool::note).collect()
    }
}
