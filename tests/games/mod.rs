//! Raw games made up for tests, and folders that go when their test ends.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use gristmill::game2048::{Board, Direction};

pub struct Folder {
    pub path: PathBuf,
    _removed: tempfile::TempDir,
}

impl Folder {
    pub fn new() -> Folder {
        let folder = tempfile::Builder::new().prefix("gristmill-games-").tempdir().unwrap();
        Folder { path: folder.path().to_path_buf(), _removed: folder }
    }

    /// Writes a file, making the folders of its name.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// One gzip member.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The text of a game, to be damaged.
pub struct GameText {
    pub meta: String,
    /// Lines without their newlines.
    pub steps: Vec<String>,
}

impl GameText {
    /// A game of `moves` legal moves with one tile of 2048, as it was played for its first hundred; where it is over,
    /// it goes on with a board of another.
    pub fn played(moves: usize) -> GameText {
        let mut state = 0x9e37_79b9_u64;
        let mut random = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) % limit
        };
        let empty = |cells: &[u8; 16]| cells.iter().filter(|&&cell| cell == 0).count();
        // The legal move after which most cells are empty.
        let best = |cells: [u8; 16]| -> Option<(Direction, [u8; 16])> {
            let board = Board::new(cells).unwrap();
            let legal = |direction: &Direction| board.legal() & direction.bit() != 0;
            let slides = Direction::ALL.into_iter().filter(legal);
            let slides = slides.map(|direction| (direction, board.slide(direction).cells));
            slides.max_by_key(|(_, cells)| empty(cells))
        };
        let mut first = [0; 16];
        (first[0], first[5], first[6]) = (11, 1, 2);
        let mut next = first;
        let steps = (0..moves).map(|index| {
            let played = best(next).filter(|(_, cells)| cells.iter().max() == Some(&11));
            let (cells, (direction, slid)) = match played {
                Some(played) => (next, played),
                None => (first, best(first).unwrap()),
            };
            let board = Board::new(cells).unwrap();
            // The new tile stands where the next move is best, so that the game goes on.
            let start = random(16) as usize;
            let places = (0..16).map(|at| (start + at) % 16).filter(|&at| slid[at] == 0);
            let with = |at: usize| {
                let mut cells = slid;
                cells[at] = 1;
                cells
            };
            let after = |cells: &[u8; 16]| best(*cells).map(|(_, slid)| empty(&slid));
            next = places.map(with).max_by_key(after).unwrap_or(first);
            let cells = board.cells().map(|cell| cell.to_string()).join(",");
            let rank = board.max_rank();
            let ev = format!("{}.{:06}", random(3000), random(1_000_000));
            format!(
                "{{\"seed\":77,\"step_index\":{index},\"max_rank\":{rank},\
                 \"move\":\"{}\",\"valuation_type\":\"search\",\"valuation\":{ev},\
                 \"board\":[{cells}],\"branch_evs\":{{\"up\":{ev},\"left\":-{ev},\
                 \"right\":null,\"down\":0.0}}}}",
                direction.name()
            )
        });
        GameText {
            steps: steps.collect(),
            meta: format!(
                "{{\"seed\":77,\"depth\":6,\"game_index\":0,\"num_moves\":{moves},\
                 \"score\":100,\"max_tile\":2048,\"max_rank\":11,\"seconds\":1.5}}"
            ),
        }
    }

    pub fn steps_bytes(&self) -> Vec<u8> {
        self.steps.iter().flat_map(|step| [step.as_bytes(), b"\n"].concat()).collect()
    }

    /// Writes `NAME.meta.json` and `NAME.jsonl.gz`.
    pub fn write(&self, folder: &Folder, name: &str) {
        folder.write(&format!("{name}.meta.json"), self.meta.as_bytes());
        folder.write(&format!("{name}.jsonl.gz"), &gzip(&self.steps_bytes()));
    }
}
