//! Records as lines of a terminal: cut to its width, with or without colours, and never with a
//! control character of the data.
//!
//! | file | what |
//! |---|---|
//! | `line.rs` | lines and their styles |
//! | `text.rs` | text in lines of a width |
//! | `conversation.rs`, `game.rs`, `puzzle.rs`, `fields.rs` | what is shown of one record |
//! | `head.rs` | what all of it is, and how large |

mod conversation;
mod fields;
mod game;
mod head;
mod line;
mod puzzle;
mod text;

use super::{ShownPuzzle, ShownRecord, TokenTraining, TrainedCounts};
use crate::cli::RecordRange;

pub use head::{Head, head};
pub use line::{Line, Style};

/// Options of drawing.
#[derive(Debug, Clone)]
pub struct DrawingOptions {
    pub width: usize,
    pub colour: bool,
    /// The lines of the screen that a record may take; the record is then shown in short. If
    /// `None`, `lines` holds.
    pub height: Option<usize>,
    /// The most lines of a message; `None` means all.
    pub lines: Option<usize>,
    /// Whether the borders and ids of tokens are drawn.
    pub tokens: bool,
    /// The steps of a game that are drawn, from 0; if empty, a few of them.
    pub steps: Vec<RecordRange>,
}

/// Draws one record after another.
pub struct Artist {
    pub drawing: DrawingOptions,
    /// The example before this one: a new puzzle begins with a title.
    last_puzzle: Option<ShownPuzzle>,
    /// How many examples of the same puzzle were drawn.
    examples: usize,
    /// The letters drawn so far that the head does not name.
    letters: Vec<TokenTraining>,
}

impl Artist {
    pub fn new(drawing: DrawingOptions) -> Artist {
        Artist { drawing, last_puzzle: None, examples: 0, letters: Vec::new() }
    }

    /// Fits records into the screen below its first `lines`, if they are shown in short; the last
    /// line of the screen is for the prompt. Returns how many lines are left; one blank line before
    /// each record is counted.
    pub fn fit_below(&mut self, lines: usize) -> Option<usize> {
        let left = self.drawing.height?.saturating_sub(lines + 1);
        self.drawing.height = Some(left.saturating_sub(1));
        Some(left)
    }

    /// Returns the lines of a record; `number` is its index among all records.
    pub fn draw(&mut self, shown: ShownRecord, number: Option<u64>) -> Vec<String> {
        let number = number.map(|number| format!("#{number} ")).unwrap_or_default();
        let drawing = &self.drawing;
        let lines = match shown {
            ShownRecord::Conversation(shown) => {
                let new = new_letters(&mut self.letters, &shown.counts);
                let height = drawing.height.map(|lines| lines.saturating_sub(new.len()));
                let below = DrawingOptions { height, ..drawing.clone() };
                [new, conversation::lines(&shown, &number, &below)].concat()
            }
            ShownRecord::Game(shown) => game::lines(&shown, &number, drawing),
            ShownRecord::Fields(shown) => fields::lines(&shown, &number, drawing),
            ShownRecord::Puzzle(shown) => {
                let is_same =
                    self.last_puzzle.as_ref().is_some_and(|p| p.is_of_same_puzzle(&shown));
                self.examples = if is_same { self.examples + 1 } else { 0 };
                let lines = puzzle::lines(&shown, (&number, self.examples), drawing);
                self.last_puzzle = Some(shown);
                lines
            }
        };
        self.finish(&lines)
    }

    /// Returns the lines as they are written.
    pub fn finish(&self, lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| line.finish(self.drawing.width, self.drawing.colour)).collect()
    }
}

/// Returns a line that names the letters that come for the first time, if there are any.
fn new_letters(known: &mut Vec<TokenTraining>, counts: &TrainedCounts) -> Vec<Line> {
    let mut line = Line::new();
    for (trained, _) in &counts.0 {
        let is_in_head = matches!(
            trained,
            TokenTraining::Unknown | TokenTraining::Not | TokenTraining::As(1 | 2)
        );
        if !is_in_head && !known.contains(trained) {
            let space = if line.width() > 0 { "  " } else { "" };
            line =
                line.add(Style::PLAIN, &format!("{space}{}│ {}", trained.letter(), trained.name()));
            known.push(*trained);
        }
    }
    Vec::from_iter((line.width() > 0).then_some(line))
}
