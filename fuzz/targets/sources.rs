//! What puzzle-encode and mx-decode read.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use flate2::{Compression, write::GzEncoder};

use gristmill::error::{Error, Result};
use gristmill::format::raw_games::{self, Decoder, Legality};
use gristmill::game2048::Game;
use gristmill::puzzle::{self, BuildContext, RejectedInput, chunks};
use gristmill::record::game::GamesBuilder;
use gristmill::stream::open_bytes;

use super::one_line;
use super::place::{Place, pieces};

/// Rows of Sudoku and Maze.
pub fn csv(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let path = place.file("rows.csv", bytes);
    let path = path.to_string_lossy();
    let sudoku = encode("sudoku", &["--train", &path, "--num-aug", "1", "--unique"]);
    encode("maze", &["--train", &path, "--num-aug", "2"]).and(sudoku)
}

/// A task, and another one of the evaluation set.
pub fn arc(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let directory = place.files("arc", &["a.json", "evaluation/b.json"], bytes);
    encode("arc", &[&directory.to_string_lossy(), "--num-aug", "2"])
}

/// Encodes a build with its malformed inputs left out.
fn encode(domain: &str, arguments: &[&str]) -> Result<()> {
    let domain = puzzle::domain(domain).expect("a domain of that name");
    let name = [domain.constants().name];
    let arguments = name.iter().chain(arguments);
    let arguments = domain.command().try_get_matches_from(arguments).expect("good arguments");
    let mut take = |RejectedInput { place, cause, .. }: RejectedInput| {
        one_line(&Error::data(cause).at(place).to_string());
        Ok(())
    };
    let opener = Arc::new(open_bytes);
    let mut build = BuildContext { opener, rejects: Some(&mut take), ..BuildContext::default() };
    let source = domain.open(&arguments, &mut build)?;
    for chunk in chunks(&source, 0..source.group_count) {
        let mut outcome = Ok(());
        chunk?.encode(|encoded| {
            outcome = encoded.map(drop);
            outcome.is_ok()
        });
        outcome?;
    }
    Ok(())
}

/// A sidecar and the text of the steps, which is compressed here.
pub fn raw_games(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let mut pieces = pieces(bytes);
    let meta = pieces.next().unwrap_or_default();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::none());
    let written = gzip.write_all(pieces.next().unwrap_or_default());
    let steps = written.and_then(|()| gzip.finish()).expect("memory");
    place.file("raw/g.meta.json", meta);
    place.file("raw/g.jsonl.gz", &steps);
    decode(&place.directory("raw"))
}

/// Both files compressed, as they come.
pub fn raw_gzip(place: &mut Place, bytes: &[u8]) -> Result<()> {
    decode(&place.files("packed", &["g.meta.json.gz", "g.jsonl.gz"], bytes))
}

/// Reads all games of a folder, with both rules of what is legal.
fn decode(directory: &Path) -> Result<()> {
    let (mut game, mut builder) = (Game::default(), GamesBuilder::default());
    let mut outcome = Ok(());
    for legality in [Legality::Board, Legality::Values] {
        let mut decoder = Decoder::new(legality);
        for file in raw_games::list(&[directory])? {
            match decoder.decode(&file, &mut game) {
                Ok(()) => {
                    builder.push(&game)?;
                    builder.finish()?;
                }
                Err(error) => outcome = Err(raw_games::rejection(&file, error)?.to_error()),
            }
        }
    }
    outcome
}
