//! Game records into a pack.

use std::path::Path;

use arrow_array::RecordBatch;
use serde_json::{Value, json};

use super::{PackOptions, PackWriter};
use crate::batch::{Batch, Counts, Header, Origin, Sink, SinkSummary};
use crate::cli::{RejectedContent, Rejects};
use crate::error::{At, Result, shown};
use crate::format::RecordCounts;
use crate::format::raw_games::Legality;
use crate::game2048::{ALIGNED_ROW, CopyError, Game, StoredGame};
use crate::ordered::Flow;
use crate::record::game::{GAME, Games};
use crate::record::statements::{LEFT_OUT, LEGALITY};
use crate::wording::exactly;

/// What a game must satisfy beyond what the format requires; returns the cause if it does not.
pub type GameRule = Box<dyn FnMut(&Game) -> Result<(), String>>;

/// Writes all games as one pack.
pub struct PackSink {
    pack: PackWriter,
    rule: Option<GameRule>,
    /// The game that is being read.
    game: Game,
    written: u64,
    /// How many games have a number of steps that differs from their number of moves.
    shortened: u64,
    legality: Option<Legality>,
    provenance: Option<Vec<Value>>,
}

impl PackSink {
    /// `header` is the header of the games; its provenance chain goes into the manifest. `rows` is
    /// the expected number of rows.
    pub fn create(
        directory: &Path,
        options: &PackOptions,
        overwrite: bool,
        header: Header,
        rows: Option<u64>,
    ) -> Result<PackSink> {
        let mut pack = PackWriter::create(directory, options, overwrite, rows)?;
        pack.left_out(&header.get(&LEFT_OUT).unwrap_or_default());
        let legality = header.parameters.read(&LEGALITY)?;
        let provenance = (!options.no_provenance).then_some(header.provenance);
        let (game, written, shortened) = (Game::default(), 0, 0);
        Ok(PackSink { pack, rule: None, game, written, shortened, legality, provenance })
    }

    /// Refuses games that break this rule. Games whose steps are rows of a pack are copied.
    pub fn rule(self, rule: GameRule) -> PackSink {
        PackSink { rule: Some(rule), ..self }
    }

    /// Writes one game, or rejects it. An error about the pack as a whole ends the run.
    fn put(&mut self, row: usize, game: &Game, batch: &mut Batch) -> Result<()> {
        let prepared = self.pack.prepare(game);
        let prepared = prepared.at(batch.origin.place(row))?;
        let is_as_ruled = |()| self.rule.as_mut().map_or(Ok(()), |rule| rule(game));
        match prepared.and_then(is_as_ruled) {
            Ok(()) => {
                self.count(game, game.steps.len());
                self.pack.push(game)
            }
            Err(reason) => {
                self.pack.refuse();
                let input = named(Some(game.run_id), game.source.as_deref());
                batch.reject(row, game.source.as_deref(), reason, input);
                Ok(())
            }
        }
    }

    fn count(&mut self, game: &Game, steps: usize) {
        self.written += 1;
        self.shortened += u64::from(game.num_moves.is_some_and(|moves| moves != steps as u64));
    }

    /// Writes games of pools, or rejects them. Returns their bytes, as rows of a pack.
    pub fn write_games(
        &mut self,
        games: Vec<StoredGame>,
        origin: Origin,
        rejects: &mut Rejects,
    ) -> Result<u64, CopyError> {
        let mut bytes = 0;
        let mut batch = Batch::of_records(RecordBatch::new_empty(GAME.schema()), origin);
        for (row, stored) in games.into_iter().enumerate() {
            bytes += (stored.steps() * ALIGNED_ROW) as u64;
            let StoredGame { game, rows } = stored;
            self.put_session(game.session.as_deref(), row, &batch)?;
            match rows {
                Some(rows) => {
                    self.count(&game, rows.len());
                    let pushed = self.pack.push_rows(&game, &rows);
                    pushed.map_err(|error| error.at(batch.origin.place(row)))?;
                }
                None => self.put(row, &game, &mut batch)?,
            }
        }
        rejects.take(batch.rejected)?;
        Ok(bytes)
    }

    fn put_session(&mut self, session: Option<&str>, row: usize, batch: &Batch) -> Result<()> {
        let Some(session) = session else { return Ok(()) };
        self.pack.put_session(session).at(batch.origin.place(row))
    }

    fn put_columns(&mut self, batch: &mut Batch) -> Result<()> {
        let records = batch.records.clone();
        let view = Games::of(&records)?;
        let mut game = std::mem::take(&mut self.game);
        for row in 0..view.len() {
            self.put_session(view.session(row), row, batch)?;
            match view.read(row, &mut game) {
                Ok(()) => self.put(row, &game, batch)?,
                Err(reason) => {
                    let input = named(view.run_id.get(row), view.source(row));
                    batch.reject(row, view.source(row), reason, input);
                }
            }
        }
        self.game = game;
        Ok(())
    }
}

/// Describes a rejected game by its number and its source.
fn named(run_id: Option<u64>, source: Option<&str>) -> RejectedContent {
    let text = json!({"run_id": run_id, "source": source}).to_string();
    RejectedContent::json(move || text)
}

impl Sink for PackSink {
    fn write(&mut self, mut batch: Batch, rejects: &mut Rejects) -> Result<Flow> {
        self.put_columns(&mut batch)?;
        rejects.take(batch.rejected)?;
        Ok(Flow::Continue)
    }

    fn finish(self, counts: Counts) -> Result<SinkSummary> {
        let mut warnings = Vec::new();
        let (names, lost) = (self.pack.new_names().join(", "), self.pack.lost().join(", "));
        if !names.is_empty() {
            warnings.push(format!(
                "valuation types beyond search, tuple10 and tuple11 ({names}): some readers of \
                 packs fail on them"
            ));
        }
        if self.shortened > 0 {
            let games = exactly(self.shortened, "game");
            warnings.push(format!("{games} with fewer or more steps than num_moves states"));
        }
        if !lost.is_empty() {
            warnings.push(format!("lost: {lost}"));
        }
        let records = RecordCounts::written(self.written, counts);
        let directory = self.pack.directory().to_path_buf();
        let manifest = self.pack.finish(records, self.legality, self.provenance)?;
        Ok(SinkSummary {
            made: Some(format!("{}: {}", shown(&directory), manifest.summary())),
            left: None,
            warnings,
        })
    }
}
