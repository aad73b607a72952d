//! The puzzle domains: how Sudoku, ARC, Maze and Domino become sequences of tokens, which rules
//! they obey, how they are augmented. Puzzles come out as plain [`PuzzleRecord`]s; this module
//! writes no files and numbers nothing.
//!
//! A domain is one file with a [`Domain`] and one line in [`DOMAINS`]:
//!
//! | file | what |
//! |---|---|
//! | `sudoku` | CSV rows of 81 digits; the exact solver behind "one solution" |
//! | `arc` | JSON tasks of colour grids; reading them |
//! | `maze.rs` | CSV rows of n × n characters |
//! | `domino` | states of played games; the play |
//! | `rows.rs`, `csv.rs` | what the CSV domains share |
//! | `expand.rs` | a group and its augmentations, the same for all domains |
//! | `batches.rs` | groups as batches of records, for threads to share |
//! | `random.rs` | the generator behind every draw |
//! | `dihedral.rs` | the eight symmetries of a grid |

pub mod arc;
mod batches;
mod csv;
pub mod dihedral;
pub mod domino;
mod error;
mod expand;
pub mod maze;
pub mod random;
mod rows;
mod source;
pub mod sudoku;
#[cfg(test)]
mod testing;

pub use crate::error::Severity;
pub use batches::{Chunk, Counts, Encoded, chunks};
pub use error::{Error, ErrorKind};
pub use expand::{Expansion, Group, expand};
pub use source::{Groups, InputFile, Opener, Options, Reject, Rejects, Source};

use random::Key;
use serde_json::Value;

/// Every domain there is. To add one: a file beside these, and its line here.
pub static DOMAINS: &[&dyn Domain] = &[&sudoku::Sudoku, &arc::Arc, &maze::Maze, &domino::Domino];

/// The domain of that name.
pub fn domain(name: &str) -> Option<&'static dyn Domain> {
    DOMAINS.iter().copied().find(|domain| domain.constants().name == name)
}

/// The domain that sets of this shape belong to, for sets that do not name theirs.
pub fn guess(seq_len: usize, vocab_size: usize) -> Option<&'static dyn Domain> {
    DOMAINS.iter().copied().find(|domain| {
        let constants = domain.constants();
        constants.vocab_size as usize == vocab_size
            && match constants.seq_len {
                SeqLen::Fixed(len) => len == seq_len,
                SeqLen::Square => seq_len > 0 && seq_len.isqrt().pow(2) == seq_len,
            }
    })
}

/// The constants of a domain, as `dataset.json` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constants {
    pub name: &'static str,
    pub seq_len: SeqLen,
    pub vocab_size: u32,
    pub pad_id: i32,
    pub ignore_label_id: i32,
    pub blank_identifier_id: i32,
}

/// How long a domain's sequences are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeqLen {
    Fixed(usize),
    /// n × n, one n per set; [`Source::seq_len`] knows it.
    Square,
}

/// One domain: what it reads, how it encodes, what it forbids.
pub trait Domain: Sync {
    fn constants(&self) -> Constants;

    /// Opens and checks the inputs that `options` names, all of them, so that nothing is encoded
    /// when anything is wrong. What is malformed is the error, or goes to `rejects` where there
    /// is one.
    fn open(&self, options: &Options, rejects: Rejects<'_, '_>) -> Result<Box<dyn Source>, Error>;

    /// Augmentation `number` (from 1) of a puzzle whose examples stand in their canonical place,
    /// drawing from `key` alone; `None` where the domain has no more of them.
    fn augment(&self, puzzle: &[Example], key: Key<'_>, number: u64) -> Option<Augmented>;

    /// Moves the examples of one puzzle and one split to where they are written; only ARC
    /// translates its grids.
    fn place(&self, _examples: &mut [Example], _split: Split, _key: Key<'_>, _number: u64) {}

    /// What the puzzle is called to the model: its own name, or none (the blank identifier).
    fn identifier<'a>(&self, _puzzle: &'a str) -> &'a str {
        BLANK_IDENTIFIER
    }

    /// Every rule [`Domain::check`] knows.
    fn rules(&self) -> &'static [&'static Rule];

    /// The rules that one example breaks, each at most once, its first place named. `split` is
    /// where the example stands, if anywhere.
    fn check(&self, inputs: &[i32], labels: &[i32], split: Option<Split>) -> Vec<Finding>;

    /// One side of an example in the domain's own form: digits, colours, characters, tiles.
    fn decode(&self, side: Side, tokens: &[i32]) -> Result<Value, String>;

    /// The same for the eye, in lines that end with a newline.
    fn draw(&self, side: Side, tokens: &[i32]) -> Result<String, String>;
}

/// The name at `blank_identifier_id`.
pub const BLANK_IDENTIFIER: &str = "<blank>";

/// The one set that the builders write.
pub const SET: &str = "all";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Split {
    Train,
    Test,
}

impl Split {
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Test => "test",
        }
    }
}

/// Which half of an example a sequence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Inputs,
    Labels,
}

/// One question and its answer as tokens, both of the set's `seq_len`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    pub split: Split,
    pub inputs: Vec<i32>,
    pub labels: Vec<i32>,
}

/// A puzzle made from another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Augmented {
    /// What the name of the original gets appended.
    pub suffix: String,
    /// One for each example of the original, in the same order.
    pub examples: Vec<Example>,
}

/// One example with the names of all it belongs to; names are unique within a split of a build,
/// and the records of a group, and of a puzzle in it, stand together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PuzzleRecord {
    pub domain: &'static str,
    pub split: Split,
    pub set: &'static str,
    pub group: String,
    pub puzzle: String,
    pub identifier: String,
    pub inputs: Vec<i32>,
    pub labels: Vec<i32>,
}

/// A rule of a domain.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable and unique within the domain; `puzzle.{domain}.{id}` to the outside.
    pub id: &'static str,
    /// How bad it is in a set of ours.
    pub severity: Severity,
    /// How bad it is in a set of another builder.
    pub foreign: Severity,
    /// One line: what must hold, and why it matters.
    pub meaning: &'static str,
}

impl Rule {
    const fn error(id: &'static str, meaning: &'static str) -> Rule {
        Rule { id, severity: Severity::Error, foreign: Severity::Error, meaning }
    }

    /// An error in our sets; published ones are known to break it.
    const fn ours(id: &'static str, meaning: &'static str) -> Rule {
        Rule { id, severity: Severity::Error, foreign: Severity::Warning, meaning }
    }

    const fn warning(id: &'static str, meaning: &'static str) -> Rule {
        Rule { id, severity: Severity::Warning, foreign: Severity::Warning, meaning }
    }
}

/// A rule that an example breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: &'static Rule,
    pub message: String,
}

/// Gathers the findings of one example: the first of each rule.
struct Findings(Vec<Finding>);

impl Findings {
    fn new() -> Findings {
        Findings(Vec::new())
    }

    fn add(&mut self, rule: &'static Rule, message: impl FnOnce() -> String) {
        if !self.0.iter().any(|finding| finding.rule.id == rule.id) {
            self.0.push(Finding { rule, message: message() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_specification() {
        let rows: Vec<_> = DOMAINS
            .iter()
            .map(|domain| domain.constants())
            .map(|c| (c.name, c.seq_len, c.vocab_size, c.pad_id, c.ignore_label_id))
            .collect();
        assert_eq!(
            rows,
            [
                ("sudoku", SeqLen::Fixed(81), 11, 0, 0),
                ("arc", SeqLen::Fixed(900), 12, 0, 0),
                ("maze", SeqLen::Square, 6, 0, 0),
                ("domino", SeqLen::Fixed(72), 8, 0, 0),
            ]
        );
        assert!(domain("maze").is_some() && domain("chess").is_none());
    }

    #[test]
    fn a_domain_is_known_by_its_shape() {
        let guessed = |seq_len, vocab_size| guess(seq_len, vocab_size).map(|d| d.constants().name);
        assert_eq!(guessed(81, 11), Some("sudoku"));
        assert_eq!(guessed(900, 12), Some("arc"));
        assert_eq!(guessed(900, 6), Some("maze"));
        assert_eq!(guessed(225, 6), Some("maze"));
        assert_eq!(guessed(72, 8), Some("domino"));
        assert_eq!(guessed(224, 6), None);
        assert_eq!(guessed(0, 6), None);
    }

    #[test]
    fn no_tokens_make_a_domain_panic() {
        let mut random = random::Random::from_state([1, 2, 3, 4]);
        let odd = [i32::MIN, -1, 0, 1, 2, 3, 5, 7, 8, 11, 12, 255, i32::MAX];
        let lengths = [0, 1, 2, 4, 71, 72, 73, 80, 81, 82, 225, 899, 900, 901];
        for domain in DOMAINS {
            for round in 0..3000 {
                // Often nearly good: most tokens from the vocabulary.
                let mut side = || -> Vec<i32> {
                    let length = lengths[random.index(lengths.len())];
                    let wild = [0, 1, 100][round % 3];
                    let mut token = || match random.below(100) < wild {
                        true => odd[random.index(odd.len())],
                        false => random.below(u64::from(domain.constants().vocab_size)) as i32,
                    };
                    (0..length).map(|_| token()).collect()
                };
                let (inputs, mut labels) = (side(), side());
                if round % 2 == 0 {
                    labels.resize(inputs.len(), 0);
                }
                for finding in domain.check(&inputs, &labels, Some(Split::Test)) {
                    assert!(domain.rules().contains(&finding.rule));
                }
                for side in [Side::Inputs, Side::Labels] {
                    let _ = domain.decode(side, &inputs);
                    let _ = domain.draw(side, &labels);
                }
            }
        }
    }

    #[test]
    fn rules_have_their_own_names() {
        for domain in DOMAINS {
            let mut ids: Vec<_> = domain.rules().iter().map(|rule| rule.id).collect();
            ids.sort_unstable();
            let count = ids.len();
            ids.dedup();
            assert_eq!(ids.len(), count, "{}", domain.constants().name);
        }
    }
}
