//! A puzzle: both sides of an example, as its domain draws them.

use serde::Serialize;

use super::{page, term};
use crate::puzzle::picture::{CellKind, Picture};
use crate::puzzle::{Side, Split, domain};
use crate::record::puzzle::Puzzle;
use crate::view::Shown;
use crate::view::page::Parts;
use crate::view::term::{Artist, Line};

/// One example.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownPuzzle {
    pub domain: Option<String>,
    pub split: String,
    pub set: Option<String>,
    pub group: String,
    pub puzzle: String,
    pub identifier: Option<String>,
    pub input: Picture,
    pub label: Picture,
    /// The rules of its domain that the example breaks, in words.
    pub broken: Vec<String>,
}

impl ShownPuzzle {
    /// Makes the picture of an example. `padding` are the padding tokens of inputs and labels, for
    /// a domain that is not known.
    pub fn of(puzzle: &Puzzle<'_>, padding: [Option<(i32, CellKind)>; 2]) -> ShownPuzzle {
        let (inputs, labels) = (puzzle.inputs, puzzle.labels);
        let known = puzzle.domain.and_then(domain);
        let drawn = |side, tokens, padding| {
            let picture = known.and_then(|domain| domain.picture(side, inputs, labels));
            picture.unwrap_or_else(|| Picture::numbers(tokens, padding))
        };
        let split = Split::ALL.into_iter().find(|split| split.name() == puzzle.split);
        let broken = known.map(|domain| domain.check(inputs, labels, split)).unwrap_or_default();
        let owned = |text: &str| text.to_string();
        ShownPuzzle {
            domain: puzzle.domain.map(owned),
            split: owned(puzzle.split),
            set: puzzle.set.map(owned),
            group: owned(puzzle.group),
            puzzle: owned(puzzle.puzzle),
            identifier: puzzle.identifier.map(owned),
            input: drawn(Side::Inputs, inputs, padding[0]),
            label: drawn(Side::Labels, labels, padding[1]),
            broken: broken.into_iter().map(|broken| broken.message).collect(),
        }
    }

    /// Whether both are examples of the same puzzle.
    pub fn is_of_same_puzzle(&self, other: &ShownPuzzle) -> bool {
        let place =
            |p: &ShownPuzzle| (p.split.clone(), p.set.clone(), p.group.clone(), p.puzzle.clone());
        place(self) == place(other)
    }
}

impl Shown for ShownPuzzle {
    fn lines(self: Box<Self>, number: &str, artist: &mut Artist) -> Vec<Line> {
        term::lines(*self, number, artist)
    }

    fn parts(&self, bytes: usize) -> Parts {
        page::parts(self, bytes)
    }
}
