//! Sudoku: 81 cells, PAD 0, digit d (0 for blank) as d + 1. Rows of a CSV file, one puzzle a
//! group; augmented by the changes that keep a Sudoku valid.

mod solver;

pub use self::solver::solutions;
use crate::puzzle::csv::excerpt;
use crate::puzzle::picture::{Cell, CellKind, GridPicture, Picture};
use crate::puzzle::random::{Key, Random};
use crate::puzzle::rows::{RowOptions, Sides, SplitFiles, encode_cells};
use crate::puzzle::{
    AugmentedPuzzle, BrokenRule, BrokenRules, BuildContext, Constants, Domain, Example,
    PuzzleSource, Result, Rule, SeqLen, Side, Split,
};
use crate::wording::exactly;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Value, json};

pub struct Sudoku;

/// Sudoku: 81 cells, digit d as d + 1
#[derive(Debug, Clone, Default, Args)]
pub struct SudokuArgs {
    #[command(flatten)]
    pub files: SplitFiles,

    /// Augmentations of each train puzzle
    ///
    /// Digits, bands, stacks, rows and columns are shuffled.
    #[arg(long, value_name = "K", default_value = "0")]
    pub num_aug: u64,

    /// Take N train puzzles at random
    #[arg(long, value_name = "N")]
    pub subsample: Option<u64>,

    /// Take puzzles with this rating or a higher one
    ///
    /// Applies to both splits, as --unique does.
    #[arg(long, value_name = "R")]
    pub min_difficulty: Option<i64>,

    /// Take puzzles with exactly one solution
    #[arg(long)]
    pub unique: bool,
}

impl SudokuArgs {
    pub fn open(&self, build: &mut BuildContext<'_>) -> Result<PuzzleSource> {
        let &SudokuArgs { num_aug, subsample, min_difficulty, unique, .. } = self;
        let rows = RowOptions {
            domain: &Sudoku,
            encode,
            num_aug,
            subsample,
            min_difficulty,
            is_unique: unique.then_some(is_unique),
            parameters: json!({
                "num_aug": num_aug,
                "subsample": subsample,
                "min_difficulty": min_difficulty,
                "unique": unique,
            }),
        };
        rows.open(&self.files, build)
    }
}

const CELLS: usize = 81;

rules! {
    SHAPE: error "shape", "a puzzle and its answer have 81 cells each";
    QUESTION: error "question", "every cell of a puzzle is a digit or blank";
    ANSWER: error "answer", "every cell of an answer is a digit";
    UNLABELLED: ours "unlabelled", "no cell of an answer is ignored: it would never be learnt";
    GIVEN: error "given", "the answer keeps every digit that the puzzle gives";
    REPEATED: error "repeated", "no digit appears twice in a row, column or box of the answer";
}

impl Domain for Sudoku {
    fn constants(&self) -> Constants {
        Constants::new("sudoku", SeqLen::Fixed(CELLS), 11)
    }

    fn command(&self) -> Command {
        SudokuArgs::augment_args(Command::new("sudoku"))
    }

    fn open(&self, arguments: &ArgMatches, build: &mut BuildContext<'_>) -> Result<PuzzleSource> {
        SudokuArgs::from_arg_matches(arguments)?.open(build)
    }

    fn augment(&self, puzzle: &[Example], key: Key<'_>, number: u64) -> Option<AugmentedPuzzle> {
        let shuffle = Shuffle::draw(&mut key.draws(number));
        let examples =
            puzzle.iter().map(|example| example.map(|side| shuffle.apply(side))).collect();
        Some(AugmentedPuzzle { suffix: format!("_a{number}"), examples })
    }

    fn meaning(&self, _side: Side, token: i32) -> Option<String> {
        match token {
            0 => Some("padding".to_string()),
            1 => Some("empty".to_string()),
            2..=10 => Some(format!("digit {}", token - 1)),
            _ => None,
        }
    }

    /// Token 1 is the blank, digit 0.
    fn is_given(&self, token: i32) -> bool {
        token > 1
    }

    fn rules(&self) -> &'static [&'static Rule] {
        RULES
    }

    fn check(&self, inputs: &[i32], labels: &[i32], _split: Option<Split>) -> Vec<BrokenRule> {
        let mut broken = BrokenRules::new();
        if inputs.len() != CELLS || labels.len() != CELLS {
            let (question, answer) = (inputs.len(), labels.len());
            broken.add(&SHAPE, || {
                format!(
                    "{question} and {answer} in the answer",
                    question = exactly(question, "cell")
                )
            });
            return broken.0;
        }
        // The digits of rows, columns and boxes that the answer has so far.
        let mut seen = [[0u16; 9]; 3];
        for (cell, (&input, &label)) in inputs.iter().zip(labels).enumerate() {
            let (row, column) = (cell / 9, cell % 9);
            let place = || format!("row {} column {}", row + 1, column + 1);
            if !(1..=10).contains(&input) {
                broken.add(&QUESTION, || format!("{}: token {input} is not a cell value", place()));
            }
            match label {
                0 => {
                    broken.add(&UNLABELLED, || format!("{}: the answer is ignored", place()));
                    continue;
                }
                2..=10 => {}
                _ => {
                    let what = if label == 1 { "blank".into() } else { format!("token {label}") };
                    broken.add(&ANSWER, || format!("{}: the answer is {what}", place()));
                    continue;
                }
            }
            if (2..=10).contains(&input) && input != label {
                broken.add(&GIVEN, || {
                    let (given, answered) = (input - 1, label - 1);
                    format!("{}: the question has {given}, the answer {answered}", place())
                });
            }
            let units = [("row", row), ("column", column), ("box", row / 3 * 3 + column / 3)];
            for ((unit, at), seen) in units.into_iter().zip(&mut seen) {
                if seen[at] >> label & 1 == 1 {
                    broken.add(&REPEATED, || {
                        format!("{} appears twice in {unit} {} of the answer", label - 1, at + 1)
                    });
                }
                seen[at] |= 1 << label;
            }
        }
        broken.0
    }

    fn decode(&self, _side: Side, tokens: &[i32]) -> Result<Value, String> {
        Ok(json!(digits(tokens)?))
    }

    fn picture(&self, side: Side, inputs: &[i32], labels: &[i32]) -> Option<Picture> {
        let tokens = [inputs, labels][side as usize];
        if tokens.len() != CELLS {
            return None;
        }
        let cell = |(cell, &token): (usize, &i32)| {
            let given = inputs.get(cell).copied().filter(|given| (2..=10).contains(given));
            match (side, token) {
                (Side::Inputs, 2..=10) => Cell::new((token - 1).to_string(), CellKind::Given),
                (Side::Inputs, 1) => Cell::new("·", CellKind::Blank),
                (Side::Labels, 2..=10) => {
                    let kind = match given {
                        None => CellKind::Filled,
                        Some(given) if given == token => CellKind::Given,
                        Some(_) => CellKind::Wrong,
                    };
                    Cell::new((token - 1).to_string(), kind)
                }
                (Side::Inputs, 0) => Cell::new("_", CellKind::Padding),
                (Side::Labels, 0) => Cell::new("_", CellKind::Ignored),
                _ => Cell::wrong(token),
            }
        };
        let cells = tokens.iter().enumerate().map(cell).collect();
        Some(Picture::Grid(GridPicture { columns: 9, cells, boxes: Some(3), note: None }))
    }
}

/// Returns the form of the CSV files: 81 characters, `.` for blank.
fn digits(tokens: &[i32]) -> Result<String, String> {
    if tokens.len() != CELLS {
        return Err(format!("{}, expected {CELLS}", exactly(tokens.len(), "cell")));
    }
    tokens
        .iter()
        .map(|&token| match token {
            1 => Ok('.'),
            2..=10 => Ok(char::from(b'0' + token as u8 - 1)),
            0 => Ok('_'),
            _ => Err(format!("token {token} is not a cell value")),
        })
        .collect()
}

fn encode(question: &[u8], answer: &[u8]) -> Result<Sides, String> {
    Ok((encode_side("question", question, true)?, encode_side("answer", answer, false)?))
}

fn encode_side(side: &str, text: &[u8], blank: bool) -> Result<Vec<i32>, String> {
    if text.len() != CELLS {
        let found = exactly(text.len(), "character");
        return Err(format!("{side} has {found}, expected {CELLS}: {}", excerpt(text)));
    }
    let expected = if blank { "1 to 9, or 0 or . for blank" } else { "1 to 9" };
    encode_cells(side, text, expected, |byte| match byte {
        b'1'..=b'9' => Some(i32::from(byte - b'0') + 1),
        b'0' | b'.' if blank => Some(1),
        _ => None,
    })
}

/// Whether the puzzle has exactly one solution.
fn is_unique(inputs: &[i32]) -> bool {
    let mut cells = [0; CELLS];
    for (cell, &token) in cells.iter_mut().zip(inputs) {
        *cell = u8::try_from(token.saturating_sub(1)).unwrap_or(u8::MAX);
    }
    inputs.len() == CELLS && solutions(&cells, 2) == 1
}

/// One way to make another Sudoku from a Sudoku.
struct Shuffle {
    /// The new value of each token; PAD and blank stay.
    tokens: [i32; 11],
    /// For each row and column, the row and column from which it is taken.
    rows: [usize; 9],
    columns: [usize; 9],
    transposed: bool,
}

impl Shuffle {
    fn draw(random: &mut Random) -> Shuffle {
        let mut tokens = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        random.shuffle(&mut tokens[2..]);
        let transposed = random.below(2) == 1;
        let rows = Shuffle::draw_lines(random);
        let columns = Shuffle::draw_lines(random);
        Shuffle { tokens, rows, columns, transposed }
    }

    /// Draws the order of the three bands, and the order of the three rows in each band.
    fn draw_lines(random: &mut Random) -> [usize; 9] {
        let mut bands = [0, 1, 2];
        random.shuffle(&mut bands);
        let mut lines = [0; 9];
        for (chunk, band) in lines.chunks_mut(3).zip(bands) {
            chunk.copy_from_slice(&[band * 3, band * 3 + 1, band * 3 + 2]);
            random.shuffle(chunk);
        }
        lines
    }

    fn apply(&self, tokens: &[i32]) -> Vec<i32> {
        let mut new = Vec::with_capacity(CELLS);
        for row in self.rows {
            for column in self.columns {
                let (row, column) = if self.transposed { (column, row) } else { (row, column) };
                let token = tokens.get(row * 9 + column).copied().unwrap_or(0);
                let index = usize::try_from(token).unwrap_or(usize::MAX);
                new.push(self.tokens.get(index).copied().unwrap_or(token));
            }
        }
        new
    }
}

#[cfg(test)]
mod tests;
