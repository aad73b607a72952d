//! Records as lines of a terminal: cut to its width, with or without colours, and never with a
//! control character of the data.
//!
//! | file | what |
//! |---|---|
//! | `line.rs` | lines and their styles |
//! | `text.rs` | text in lines of a width |
//! | `conversation.rs`, `game.rs`, `puzzle.rs`, `fields.rs` | what is shown of one record |
//! | `head.rs` | what all of it is, and how large |
//! | `film.rs` | a game in place |

mod conversation;
mod fields;
mod film;
mod game;
mod head;
mod line;
mod puzzle;
mod text;

use super::{Shown, ShownPuzzle};
use crate::cli::RecordRange;

pub use film::film;
pub use head::{Head, head};
pub use line::{Line, Style};

/// How records are drawn.
#[derive(Debug, Clone)]
pub struct Drawing {
    pub width: usize,
    pub colour: bool,
    /// The lines of the screen that a record may take, which is then shown in short; else `lines`
    /// holds.
    pub height: Option<usize>,
    /// The most lines of a message; `None`: all of them.
    pub lines: Option<usize>,
    /// Whether the borders and ids of tokens are drawn.
    pub tokens: bool,
    /// The steps of a game, from 0; none: a few of them.
    pub steps: Vec<RecordRange>,
}

/// Draws one record after another.
pub struct Artist {
    pub drawing: Drawing,
    /// The example before, to tell what is new.
    last_puzzle: Option<ShownPuzzle>,
    /// Examples of the same puzzle so far.
    examples: usize,
}

impl Artist {
    pub fn new(drawing: Drawing) -> Artist {
        Artist { drawing, last_puzzle: None, examples: 0 }
    }

    /// Fits records below the first `lines` of the screen, if they are shown in short; its last line is
    /// the prompt's. Gives the lines that are left, a blank one before each record among them.
    pub fn fit_below(&mut self, lines: usize) -> Option<usize> {
        let left = self.drawing.height?.saturating_sub(lines + 1);
        self.drawing.height = Some(left.saturating_sub(1));
        Some(left)
    }

    /// The lines of a record; `number` counts it among all.
    pub fn draw(&mut self, shown: Shown, number: Option<u64>) -> Vec<String> {
        let number = number.map(|number| format!("#{number} ")).unwrap_or_default();
        let drawing = &self.drawing;
        let lines = match shown {
            Shown::Conversation(shown) => conversation::lines(&shown, &number, drawing),
            Shown::Game(shown) => game::lines(&shown, &number, drawing),
            Shown::Fields(shown) => fields::lines(&shown, &number, drawing),
            Shown::Puzzle(shown) => {
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

    /// Lines as they are written out.
    pub fn finish(&self, lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| line.finish(self.drawing.width, self.drawing.colour)).collect()
    }
}
