//! Sudoku: 81 cells, PAD 0, digit d (0 for blank) as d + 1. Rows of a CSV file, one puzzle a
//! group; augmented by what leaves a Sudoku a Sudoku.

mod solver;

pub use self::solver::solutions;
use crate::puzzle::csv::excerpt;
use crate::puzzle::random::{Key, Random};
use crate::puzzle::rows::{RowFormat, RowSource, Sides};
use crate::puzzle::{
    Augmented, Constants, Domain, Error, Example, Finding, Findings, Options, Rejects, Rule,
    SeqLen, Side, Source, Split,
};
use serde_json::{Map, Value, json};

pub struct Sudoku;

const CELLS: usize = 81;

static SHAPE: Rule = Rule::error("shape", "a puzzle and its answer have 81 cells each");
static QUESTION: Rule = Rule::error("question", "every cell of a puzzle is a digit or blank");
static ANSWER: Rule = Rule::error("answer", "every cell of an answer is a digit");
static UNLABELLED: Rule =
    Rule::ours("unlabelled", "no cell of an answer is ignored: it would never be learnt");
static GIVEN: Rule = Rule::error("given", "the answer keeps every digit that the puzzle gives");
static REPEATED: Rule =
    Rule::error("repeated", "no digit stands twice in a row, column or box of the answer");

static RULES: [&Rule; 6] = [&SHAPE, &QUESTION, &ANSWER, &UNLABELLED, &GIVEN, &REPEATED];

impl Domain for Sudoku {
    fn constants(&self) -> Constants {
        Constants {
            name: "sudoku",
            seq_len: SeqLen::Fixed(CELLS),
            vocab_size: 11,
            pad_id: 0,
            ignore_label_id: 0,
            blank_identifier_id: 0,
        }
    }

    fn open(&self, options: &Options, rejects: Rejects<'_, '_>) -> Result<Box<dyn Source>, Error> {
        let format = RowFormat { domain: &Sudoku, encode, is_unique: Some(is_unique) };
        let mut parameters = Map::new();
        parameters.insert("num_aug".to_string(), options.num_aug.into());
        parameters.insert("subsample".to_string(), options.subsample.into());
        parameters.insert("min_difficulty".to_string(), options.min_difficulty.into());
        parameters.insert("unique".to_string(), options.unique.into());
        Ok(Box::new(RowSource::open(format, options, parameters, rejects)?))
    }

    fn augment(&self, puzzle: &[Example], key: Key<'_>, number: u64) -> Option<Augmented> {
        let shuffle = Shuffle::draw(&mut key.draws(number));
        let examples = puzzle
            .iter()
            .map(|example| Example {
                split: example.split,
                inputs: shuffle.apply(&example.inputs),
                labels: shuffle.apply(&example.labels),
            })
            .collect();
        Some(Augmented { suffix: format!("_a{number}"), examples })
    }

    fn rules(&self) -> &'static [&'static Rule] {
        &RULES
    }

    fn check(&self, inputs: &[i32], labels: &[i32], _split: Option<Split>) -> Vec<Finding> {
        let mut findings = Findings::new();
        if inputs.len() != CELLS || labels.len() != CELLS {
            let (question, answer) = (inputs.len(), labels.len());
            findings.add(&SHAPE, || format!("{question} cells and {answer} in the answer"));
            return findings.0;
        }
        // The digits seen in rows, columns and boxes of the answer.
        let mut seen = [[0u16; 9]; 3];
        for (cell, (&input, &label)) in inputs.iter().zip(labels).enumerate() {
            let (row, column) = (cell / 9, cell % 9);
            let place = || format!("row {} column {}", row + 1, column + 1);
            if !(1..=10).contains(&input) {
                findings.add(&QUESTION, || format!("{}: token {input} is no cell", place()));
            }
            match label {
                0 => {
                    findings.add(&UNLABELLED, || format!("{}: the answer is ignored", place()));
                    continue;
                }
                2..=10 => {}
                _ => {
                    let what = if label == 1 { "blank".into() } else { format!("token {label}") };
                    findings.add(&ANSWER, || format!("{}: the answer is {what}", place()));
                    continue;
                }
            }
            if (2..=10).contains(&input) && input != label {
                findings.add(&GIVEN, || {
                    let (given, answered) = (input - 1, label - 1);
                    format!("{}: the question has {given}, the answer {answered}", place())
                });
            }
            let units = [("row", row), ("column", column), ("box", row / 3 * 3 + column / 3)];
            for ((unit, at), seen) in units.into_iter().zip(&mut seen) {
                if seen[at] >> label & 1 == 1 {
                    findings.add(&REPEATED, || {
                        format!("{} stands twice in {unit} {} of the answer", label - 1, at + 1)
                    });
                }
                seen[at] |= 1 << label;
            }
        }
        findings.0
    }

    fn decode(&self, _side: Side, tokens: &[i32]) -> Result<Value, String> {
        Ok(json!(digits(tokens)?))
    }

    fn draw(&self, _side: Side, tokens: &[i32]) -> Result<String, String> {
        let digits = digits(tokens)?;
        let mut lines = String::new();
        for (cell, digit) in digits.chars().enumerate() {
            if cell % 27 == 0 && cell > 0 {
                lines.push_str("------+-------+------\n");
            }
            lines.push(digit);
            lines.push_str(match cell % 9 {
                8 => "\n",
                2 | 5 => " | ",
                _ => " ",
            });
        }
        Ok(lines)
    }
}

/// The form of the CSV files: 81 characters, `.` for blank.
fn digits(tokens: &[i32]) -> Result<String, String> {
    if tokens.len() != CELLS {
        return Err(format!("{} cells, expected {CELLS}", tokens.len()));
    }
    tokens
        .iter()
        .map(|&token| match token {
            1 => Ok('.'),
            2..=10 => Ok(char::from(b'0' + token as u8 - 1)),
            0 => Ok('_'),
            _ => Err(format!("token {token} is no cell")),
        })
        .collect()
}

fn encode(question: &[u8], answer: &[u8]) -> Result<Sides, String> {
    Ok((encode_side("question", question, true)?, encode_side("answer", answer, false)?))
}

fn encode_side(side: &str, text: &[u8], blank: bool) -> Result<Vec<i32>, String> {
    if text.len() != CELLS {
        let found = text.len();
        return Err(format!("{side} has {found} characters, expected {CELLS}: {}", excerpt(text)));
    }
    let cell = |(at, &byte): (usize, &u8)| match byte {
        b'1'..=b'9' => Ok(i32::from(byte - b'0') + 1),
        b'0' | b'.' if blank => Ok(1),
        _ => {
            let expected = if blank { "1 to 9, or 0 or . for blank" } else { "1 to 9" };
            let found = excerpt(&[byte]);
            Err(format!("{side} has {found} at character {}, expected {expected}", at + 1))
        }
    };
    text.iter().enumerate().map(cell).collect()
}

/// Whether the puzzle has exactly one solution.
fn is_unique(inputs: &[i32]) -> bool {
    let mut cells = [0; CELLS];
    for (cell, &token) in cells.iter_mut().zip(inputs) {
        *cell = u8::try_from(token.saturating_sub(1)).unwrap_or(u8::MAX);
    }
    inputs.len() == CELLS && solutions(&cells, 2) == 1
}

/// One way to make another Sudoku of a Sudoku.
struct Shuffle {
    /// What each token becomes; PAD and blank stay.
    tokens: [i32; 11],
    /// The row and column that each row and column is taken from.
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

    /// The three bands in any order, the three rows in each in any order.
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
