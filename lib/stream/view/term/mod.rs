//! Records as lines of a terminal: cut to its width, with or without colours, and never with a
//! control character of the data.
//!
//! | file | what |
//! |---|---|
//! | `line.rs` | lines and their styles |
//! | `text.rs` | text in lines of a width |
//! | `fields.rs` | a record of a type that is not known |
//! | `head.rs` | what all of it is, and how large |
//!
//! How a record of a known type is drawn is said where its kind is.

mod fields;
mod head;
mod line;
mod text;

use std::any::Any;

use super::Shown;
use crate::cli::RecordRange;

pub(super) use fields::lines as fields_lines;
pub use head::{Head, head};
pub use line::{Line, Style, facts, width_of};
pub use text::{Row, Run, rows};

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
    /// What the kind of the records remembers of those before.
    memory: Option<Box<dyn Any>>,
}

impl Artist {
    pub fn new(drawing: DrawingOptions) -> Artist {
        Artist { drawing, memory: None }
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
    pub fn draw(&mut self, shown: Box<dyn Shown>, number: Option<u64>) -> Vec<String> {
        let number = number.map(|number| format!("#{number} ")).unwrap_or_default();
        let lines = shown.lines(&number, self);
        self.finish(&lines)
    }

    /// Returns what was remembered; at first, and if it was something else, the default.
    pub fn memory<T: Any + Default>(&mut self) -> &mut T {
        let memory = self.memory.take().and_then(|memory| memory.downcast::<T>().ok());
        let memory = self.memory.insert(memory.unwrap_or_default());
        memory.downcast_mut().expect("it is of this type")
    }

    /// Returns the lines as they are written.
    pub fn finish(&self, lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| line.finish(self.drawing.width, self.drawing.colour)).collect()
    }
}
