//! Writes games as a pool on disk: rows of steps in `.npy` files and their `metadata.db`, in one
//! directory, all of it or nothing. FORMAT.md beside this file describes what is written.
//!
//! A layout is one file here that makes rows from games: `macroxue`, `selfplay_v1`. The layouts share the
//! shards, the database, the manifest, and the rule that a game is refused if the layout cannot hold all
//! of it. Rows of a game stand together, and runs are numbered 0, 1, 2, ... as they come. Nothing is
//! computed again. `format::pools` reads pools.

mod adopt;
mod database;
mod macroxue;
mod manifest;
mod selfplay_v1;
mod shards;
mod sink;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::Value;

use self::database::PackDatabase;
use self::shards::RowShards;
use super::RecordCounts;
use super::raw_games::Legality;
use super::refuse_other_formats;
use crate::cli::{ForPipelines, WithoutEffect};
use crate::error::{Error, Result};
use crate::game2048::{self, CopyError, Game, GameForm, StepRows, remove_padding};
use crate::npy;
use crate::publish::{PendingFile, StandingFiles, Target, publish, refuse_existing};

pub use self::manifest::{MANIFEST, PackFile, PackManifest, SCHEMA};
pub use self::selfplay_v1::LARGE_TILES;
pub use self::sink::{GameRule, PackSink};
pub use adopt::adopt;

/// The name of the format of pools, packs among them.
pub const FORMAT_NAME: &str = "pools of games";
/// The table of runs.
pub const DATABASE: &str = "metadata.db";
/// The file with the names of valuation ids.
pub const VALUATION_TYPES: &str = "valuation_types.json";
/// The file with all rows; shards are `steps-NUMBER.npy`.
pub const STEPS: &str = "steps.npy";
/// The folder of embeddings in a self-play v1 pool, one row for each step.
const EMBEDDINGS: &str = "embeddings";
/// The suffixes of files that SQLite writes beside an open database.
const JOURNALS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The layouts that are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum PackLayout {
    /// 48 bytes, aligned
    #[default]
    Macroxue,
    /// 46 bytes, without padding, as the published packer writes it
    MacroxuePacked,
    /// Run, step, sixteen exponents
    SelfplayV1,
}

impl PackLayout {
    /// Returns its name on the command line and in manifests.
    pub fn name(self) -> &'static str {
        match self {
            PackLayout::Macroxue => "macroxue",
            PackLayout::MacroxuePacked => "macroxue-packed",
            PackLayout::SelfplayV1 => "selfplay-v1",
        }
    }

    fn dtype(self) -> npy::DType {
        match self {
            PackLayout::Macroxue => game2048::aligned_step_row(),
            PackLayout::MacroxuePacked => game2048::packed_step_row(),
            PackLayout::SelfplayV1 => game2048::selfplay_row(),
        }
    }

    /// Returns the file name of shard `number`, from 0; `None` past the last that readers can sort
    /// by name.
    fn shard_name(self, number: u64) -> Option<String> {
        match self {
            PackLayout::Macroxue | PackLayout::MacroxuePacked => macroxue::shard_name(number),
            PackLayout::SelfplayV1 => selfplay_v1::shard_name(number),
        }
    }

    /// Changes aligned rows to rows of the layout.
    fn settle(self, rows: &mut Vec<u8>) {
        if self == PackLayout::MacroxuePacked {
            remove_padding(rows);
        }
    }
}

/// How a pack is to be written.
#[derive(Debug, Clone, Default, Args)]
pub struct PackOptions {
    /// Games: rows of each file [default: all in one]
    ///
    /// The last file may have fewer. The default for selfplay-v1 is 1,000,000.
    #[arg(long, add = ForPipelines, value_name = "N")]
    pub shard_rows: Option<NonZeroU64>,

    /// Games: the layout of the rows: macroxue, macroxue-packed or selfplay-v1 [default: macroxue]
    #[arg(long, value_enum, value_name = "LAYOUT", hide_possible_values = true, add = ForPipelines)]
    pub layout: Option<PackLayout>,

    /// Write what the layout can hold, even if some of the input is lost; say what is lost
    #[arg(long, add = ForPipelines, help_heading = "Games")]
    pub lossy: bool,

    /// Leave the provenance chain out of manifest.json
    #[arg(long, help_heading = "Games", add = WithoutEffect)]
    pub no_provenance: bool,
}

/// Makes the rows of a layout from games.
trait RowMaker {
    /// Appends the rows of a game as run `run_id`; returns the cause if a step cannot be a row. The
    /// outer error is about the pack as a whole.
    fn make(&mut self, game: &Game, run_id: u64, rows: &mut Vec<u8>) -> Result<Result<(), String>>;

    /// Returns the number of a valuation name.
    fn number(&mut self, _name: &str) -> Result<u8> {
        Err(Error::data("expected columns, got rows of a pack"))
    }

    /// Notes that the game of the last `make` has been written to the pack.
    fn accept_game(&mut self) {}

    /// Notes that the game of the last `make` is not written.
    fn discard_game(&mut self) {}

    /// Returns the fields of a game's steps that rows do not hold.
    fn lost(&self, game: &Game) -> Vec<&'static str>;

    /// Returns the names that rows hold as numbers, if they do.
    fn names(&self) -> Option<&[String]> {
        None
    }
}

impl PackOptions {
    /// Returns the form in which games are read: self-play v1 has only a part of what is in the
    /// rows of a pack. `counted`: see [`GameForm::Rows`].
    pub fn game_form(&self, counted: bool) -> GameForm {
        match self.layout.unwrap_or_default() {
            PackLayout::Macroxue | PackLayout::MacroxuePacked => GameForm::Rows { counted },
            PackLayout::SelfplayV1 => GameForm::Columns,
        }
    }

    /// Returns the first of these flags that is given, for the error that it does not belong here.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.shard_rows.is_some(), "--shard-rows"),
            (self.layout.is_some(), "--layout"),
            (self.lossy, "--lossy"),
            (self.no_provenance, "--no-provenance"),
        ];
        given.into_iter().find_map(|(given, flag)| given.then_some(flag))
    }
}

/// Writes one pack. Dropped before [`PackWriter::finish`], it leaves nothing.
pub struct PackWriter {
    directory: PathBuf,
    layout: PackLayout,
    maker: Box<dyn RowMaker>,
    lossy: bool,
    overwrite: bool,
    /// What the games so far had and the pack does not have, each once.
    lost: Vec<String>,
    shards: RowShards,
    database: PackDatabase,
    runs: u64,
    /// The rows of the game that [`PackWriter::prepare`] has accepted.
    game_rows: Vec<u8>,
}

impl PackWriter {
    /// Begins a pack in `directory`. An existing pack is refused unless it may be overwritten.
    /// `rows`: the expected number of rows; if it is given, they are hashed as they come.
    pub fn create(
        directory: &Path,
        options: &PackOptions,
        overwrite: bool,
        rows: Option<u64>,
    ) -> Result<PackWriter> {
        refuse_existing(&PackTarget(directory), overwrite)?;
        let layout = options.layout.unwrap_or_default();
        let shard_rows = options.shard_rows.map(NonZeroU64::get);
        let (maker, shard_rows): (Box<dyn RowMaker>, _) = match layout {
            PackLayout::Macroxue | PackLayout::MacroxuePacked => {
                (Box::new(macroxue::Macroxue::new()), shard_rows)
            }
            PackLayout::SelfplayV1 => {
                let rows = shard_rows.unwrap_or(selfplay_v1::SHARD_ROWS);
                (Box::new(selfplay_v1::SelfplayV1), Some(rows))
            }
        };
        let database = PackDatabase::create(directory)?;
        Ok(PackWriter {
            directory: directory.to_path_buf(),
            shards: RowShards::create(directory, layout, shard_rows, rows)?,
            layout,
            maker,
            lossy: options.lossy,
            overwrite,
            lost: Vec::new(),
            database,
            runs: 0,
            game_rows: Vec::new(),
        })
    }

    /// Notes data of the source that games do not have: it is lost.
    pub fn left_out<S: AsRef<str>>(&mut self, names: &[S]) {
        for name in names.iter().map(AsRef::as_ref) {
            if !self.lost.iter().any(|known| known == name) {
                self.lost.push(name.to_string());
            }
        }
    }

    /// Makes the rows of a game, which [`PackWriter::push`] writes; returns the cause if a step
    /// cannot be a row. The outer error is about the pack as a whole: too many names, or a loss
    /// without `--lossy`.
    pub fn prepare(&mut self, game: &Game) -> Result<Result<(), String>> {
        self.left_out(&self.maker.lost(game));
        self.refuse_loss()?;
        self.game_rows.clear();
        let made = self.maker.make(game, self.runs, &mut self.game_rows);
        self.layout.settle(&mut self.game_rows);
        made
    }

    fn refuse_loss(&self) -> Result<()> {
        if self.lossy || self.lost.is_empty() {
            return Ok(());
        }
        let (layout, lost) = (self.layout.name(), self.lost.join(", "));
        Err(Error::data(format!("the layout {layout} would lose {lost}")).hint("--lossy"))
    }

    /// Forgets the game that was prepared last: nothing of it is in the pack.
    pub fn refuse(&mut self) {
        self.maker.discard_game();
    }

    /// Writes the game that [`PackWriter::prepare`] has just accepted.
    pub fn push(&mut self, game: &Game) -> Result<()> {
        self.shards.write(&self.game_rows)?;
        self.describe(game, (self.game_rows.len() / self.shards.row_bytes()) as u64)
    }

    /// Writes a game whose steps are rows of a pack already; rows that are not valid are misplaced.
    pub fn push_rows(&mut self, game: &Game, rows: &StepRows) -> Result<(), CopyError> {
        self.refuse_loss()?;
        let PackWriter { maker, shards, layout, .. } = self;
        let write = |rows: &mut Vec<u8>| {
            layout.settle(rows);
            shards.write(rows)
        };
        let run_id = macroxue::row_run_id(self.runs)?;
        match rows.copy(run_id, |name| maker.number(name), write)? {
            true => Ok(self.describe(game, rows.len() as u64)?),
            false => Err(CopyError::misplaced(game.run_id)),
        }
    }

    /// Adds the run of a game whose rows are written.
    fn describe(&mut self, game: &Game, steps: u64) -> Result<()> {
        self.maker.accept_game();
        self.database.put_run(self.runs, game, steps)?;
        self.runs += 1;
        Ok(())
    }

    /// Adds the pool's own keys, which come with its first game (which may be rejected).
    pub fn put_session(&mut self, session: &str) -> Result<()> {
        let left_out = self.database.put_pool(session)?;
        self.left_out(&left_out);
        Ok(())
    }

    /// Returns the rows so far.
    pub fn rows(&self) -> u64 {
        self.shards.rows()
    }

    /// Returns the bytes of the rows so far.
    pub fn bytes(&self) -> u64 {
        self.shards.bytes()
    }

    /// Returns the valuation names that readers of packs know only from `valuation_types.json`.
    pub fn new_names(&self) -> &[String] {
        let names = self.maker.names().unwrap_or_default();
        names.get(crate::game2048::KNOWN_VALUATIONS.len()..).unwrap_or_default()
    }

    /// Returns what was lost.
    pub fn lost(&self) -> &[String] {
        &self.lost
    }

    /// Publishes everything: rows, then the database, and the manifest last, in place of an earlier
    /// pack. `provenance` is the chain of the filters. `legality` is how the games' `ev_legal` was
    /// decided, if that is known.
    pub fn finish(
        self,
        records: RecordCounts,
        legality: Option<Legality>,
        provenance: Option<Vec<Value>>,
    ) -> Result<PackManifest> {
        self.refuse_loss()?;
        let rows = self.shards.rows();
        let (mut files, mut described): (Vec<_>, Vec<_>) =
            self.shards.finish()?.into_iter().unzip();
        let mut add = |file: PendingFile| -> Result<()> {
            described.push(PackFile::of(&file)?);
            files.push(file);
            Ok(())
        };
        if let Some(names) = self.maker.names() {
            add(macroxue::lookup(&self.directory, names)?)?;
        }
        add(self.database.finish()?)?;
        let manifest = PackManifest {
            schema_version: manifest::SCHEMA.to_string(),
            layout: self.layout.name().to_string(),
            runs: self.runs,
            rows,
            legality,
            records,
            lost: self.lost,
            files: described,
            provenance,
            made: None,
        };
        files.push(manifest.pending(&self.directory)?);
        publish(&PackTarget(&self.directory), files, self.overwrite)?;
        Ok(manifest)
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Refuses a directory in which no pack can be written, whatever may be overwritten.
pub fn refuse_foreign(directory: &Path) -> Result<()> {
    PackTarget(directory).standing().map(|_| ())
}

/// The directory of a pack.
struct PackTarget<'a>(&'a Path);

impl Target for PackTarget<'_> {
    fn directory(&self) -> PathBuf {
        self.0.to_path_buf()
    }

    fn manifest(&self) -> PathBuf {
        self.0.join(MANIFEST)
    }

    fn standing(&self) -> Result<StandingFiles> {
        refuse_other_formats(self.0, FORMAT_NAME)?;
        let files = present(self.0)?;
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_os_string();
        let of_others =
            |path: &&PathBuf| name(path).as_encoded_bytes().starts_with(EMBEDDINGS.as_bytes());
        if let Some(path) = files.iter().find(of_others) {
            let error = Error::usage("belongs to the rows of another pool");
            return Err(error.at(path.as_path()).hint("remove it first"));
        }
        Ok(StandingFiles { files, dependents: Vec::new() })
    }

    /// Rows without their database are not a pool of this layout, for any reader.
    fn is_index(&self, path: &Path) -> bool {
        path.ends_with(DATABASE)
    }
}

/// Returns the files of a pack or pool in a directory, sorted.
fn present(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = super::standing_in(directory)?;
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_rows =
            name == STEPS || name.starts_with("steps-") || name.starts_with("embeddings-");
        let is_database = name
            .strip_prefix(DATABASE)
            .is_some_and(|ending| ending.is_empty() || JOURNALS.contains(&ending));
        let is_described = [VALUATION_TYPES, MANIFEST].contains(&name.as_ref());
        is_rows && name.ends_with(".npy") || is_database || is_described
    });
    Ok(paths)
}
