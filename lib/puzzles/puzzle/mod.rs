//! The puzzle domains: how Sudoku, ARC, Maze and Domino become sequences of tokens, their rules, and
//! their augmentations. The output is batches of `puzzle` records; this module writes no files and
//! assigns no numbers.
//!
//! A domain is one folder with a [`Domain`] (encoding, rules, augmentation, arguments, drawing) and
//! one line in [`DOMAINS`]:
//!
//! | file | what |
//! |---|---|
//! | `sudoku` | CSV rows of 81 digits; the exact solver that tests for one solution |
//! | `arc` | JSON tasks of colour grids; reading them |
//! | `maze` | CSV rows of n × n characters |
//! | `domino` | states of played games; the play |
//! | `rows.rs`, `csv.rs` | what the CSV domains share |
//! | `source.rs` | the parameters of a build, and the inputs of a domain |
//! | `expand.rs` | a group and its augmentations, the same for all domains |
//! | `batches.rs` | groups as batches of records, for threads to share |
//! | `grid.rs` | records in their domain's own form |
//! | `picture.rs` | what a side of an example looks like, for people |
//! | `random.rs` | the generator of every draw |
//! | `dihedral.rs` | the eight symmetries of a grid |

/// Declares the rules of a domain, each once: a `static` for the code that checks it, and its place
/// in `RULES`, for [`Domain::rules`].
///
/// ```text
/// rules! {
///     SHAPE: error "shape", "what must hold, and why it matters";
/// }
/// ```
macro_rules! rules {
    ($($name:ident: $severity:ident $id:literal, $meaning:literal;)+) => {
        $(static $name: $crate::puzzle::Rule = $crate::puzzle::Rule::$severity($id, $meaning);)+
        static RULES: &[&$crate::puzzle::Rule] = &[$(&$name),+];
    };
}

pub mod arc;
mod batches;
mod csv;
pub mod dihedral;
pub mod domino;
mod error;
mod expand;
mod grid;
pub mod maze;
pub mod picture;
pub mod random;
mod rows;
mod source;
pub mod sudoku;
#[cfg(test)]
mod testing;

pub use crate::error::Severity;
pub use batches::{EncodedPuzzles, GroupChunk, PuzzleCounts, chunks};
pub use error::{Error, Result};
pub use expand::{ExpandedPuzzle, Expansion, PuzzleGroup, expand};
pub use grid::{grid_schema, grids};
pub use rows::SplitFiles;
pub use source::{
    BuildContext, GroupSource, InputFile, Opener, PuzzleGroups, PuzzleSource, RejectedInput,
};

use clap::{ArgMatches, Command};
use picture::Picture;
use random::Key;
use serde_json::Value;

/// All domains. To add one: a folder beside these, and its line here.
pub static DOMAINS: &[&dyn Domain] = &[&sudoku::Sudoku, &arc::Arc, &maze::Maze, &domino::Domino];

/// Returns the domain with that name.
pub fn domain(name: &str) -> Option<&'static dyn Domain> {
    DOMAINS.iter().copied().find(|domain| domain.constants().name == name)
}

/// Guesses the domain of sets of this shape, for sets that do not name their domain.
pub fn guess(seq_len: usize, vocab_size: usize) -> Option<&'static dyn Domain> {
    DOMAINS.iter().copied().find(|domain| {
        let constants = domain.constants();
        constants.vocab_size as usize == vocab_size && constants.seq_len.allows(seq_len)
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

impl Constants {
    /// The constants of a domain whose padding, ignored label and blank identifier are 0.
    pub const fn new(name: &'static str, seq_len: SeqLen, vocab_size: u32) -> Constants {
        let (pad_id, ignore_label_id, blank_identifier_id) = (0, 0, 0);
        Constants { name, seq_len, vocab_size, pad_id, ignore_label_id, blank_identifier_id }
    }
}

/// The lengths of a domain's sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeqLen {
    Fixed(usize),
    /// Squares n × n, one n for each set; [`PuzzleSource::seq_len`] states it.
    Square,
}

impl SeqLen {
    pub fn allows(self, length: usize) -> bool {
        match self {
            SeqLen::Fixed(fixed) => length == fixed,
            SeqLen::Square => length > 0 && length.isqrt().pow(2) == length,
        }
    }
}

/// One domain: its inputs, its encoding, its rules.
pub trait Domain: Sync {
    fn constants(&self) -> Constants;

    /// The subcommand of `puzzle-encode` with the domain's name, description and own arguments.
    fn command(&self) -> Command;

    /// Whether the domain reads inputs that may be malformed.
    fn reads_inputs(&self) -> bool {
        true
    }

    /// Opens and checks all inputs that the arguments of [`Domain::command`] name, so that nothing
    /// is encoded if any of them is invalid.
    fn open(&self, arguments: &ArgMatches, build: &mut BuildContext<'_>) -> Result<PuzzleSource>;

    /// Makes augmentation `number` (from 1) of a puzzle whose examples are in their canonical
    /// place; random draws depend only on `key`. `None` if the domain has no more augmentations.
    fn augment(&self, puzzle: &[Example], key: Key<'_>, number: u64) -> Option<AugmentedPuzzle>;

    /// Moves the examples of one puzzle and one split to their final place; only ARC moves its
    /// grids.
    fn place(&self, _examples: &mut [Example], _split: Split, _key: Key<'_>, _number: u64) {}

    /// Returns the name that the model sees: the puzzle's own, or none (the blank identifier).
    fn identifier<'a>(&self, _puzzle: &'a str) -> &'a str {
        BLANK_IDENTIFIER
    }

    /// Whether a token of the inputs has information: it is neither padding nor a blank.
    fn is_given(&self, token: i32) -> bool {
        token != self.constants().pad_id
    }

    /// Returns the meaning of a token on a side, in a word or two; `None` if it depends on its
    /// place, or if the token is not of the domain.
    fn meaning(&self, side: Side, token: i32) -> Option<String>;

    /// Returns rows and columns of the grid that a side shows; `None` if it shows none.
    fn grid_size(&self, tokens: &[i32]) -> Option<[usize; 2]> {
        let side = tokens.len().isqrt();
        (side * side == tokens.len()).then_some([side, side])
    }

    /// Returns every rule that [`Domain::check`] checks.
    fn rules(&self) -> &'static [&'static Rule];

    /// Returns the rules that one example breaks, each at most once, with the first place. `split`
    /// is the example's split, if it has one.
    fn check(&self, inputs: &[i32], labels: &[i32], split: Option<Split>) -> Vec<BrokenRule>;

    /// Returns one side of an example in the domain's own form: digits, colours, characters, tiles;
    /// for `ds-cat --grid`.
    fn decode(&self, side: Side, tokens: &[i32]) -> Result<Value, String>;

    /// Draws one side as a person would, whatever its tokens are. Returns `None` if it does not have the
    /// domain's length (it is then shown as numbers). The other side is needed to tell which cells are
    /// given and which are filled in.
    fn picture(&self, side: Side, inputs: &[i32], labels: &[i32]) -> Option<Picture>;
}

/// The name at `blank_identifier_id`.
pub const BLANK_IDENTIFIER: &str = "<blank>";

/// The name of the one set that the builders write.
pub const SET: &str = "all";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Split {
    Train,
    Test,
}

impl Split {
    pub const ALL: [Split; 2] = [Split::Train, Split::Test];

    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Test => "test",
        }
    }
}

/// One of the two sequences of an example.
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

impl Example {
    /// Returns the same example with both sides changed.
    fn map(&self, change: impl Fn(&[i32]) -> Vec<i32>) -> Example {
        let (inputs, labels) = (change(&self.inputs), change(&self.labels));
        Example { split: self.split, inputs, labels }
    }
}

/// A puzzle made from another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AugmentedPuzzle {
    /// The suffix added to the name of the original.
    pub suffix: String,
    /// One example for each example of the original, in the same order.
    pub examples: Vec<Example>,
}

/// A rule of a domain.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// The id, stable and unique within the domain; `puzzle.{domain}.{id}` in reports.
    pub id: &'static str,
    /// Its severity in our sets.
    pub severity: Severity,
    /// Its severity in sets of other builders.
    pub foreign: Severity,
    /// One line: what must hold, and why it matters.
    pub meaning: &'static str,
}

impl Rule {
    const fn error(id: &'static str, meaning: &'static str) -> Rule {
        Rule { id, severity: Severity::Error, foreign: Severity::Error, meaning }
    }

    /// Makes a rule that is an error in our sets; published sets are known to break it.
    const fn ours(id: &'static str, meaning: &'static str) -> Rule {
        Rule { id, severity: Severity::Error, foreign: Severity::Warning, meaning }
    }

    const fn warning(id: &'static str, meaning: &'static str) -> Rule {
        Rule { id, severity: Severity::Warning, foreign: Severity::Warning, meaning }
    }
}

/// A rule that an example breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenRule {
    pub rule: &'static Rule,
    pub message: String,
}

/// Collects the rules that one example breaks, with the first place of each.
struct BrokenRules(Vec<BrokenRule>);

impl BrokenRules {
    fn new() -> BrokenRules {
        BrokenRules(Vec::new())
    }

    fn add(&mut self, rule: &'static Rule, message: impl FnOnce() -> String) {
        if !self.0.iter().any(|broken| broken.rule.id == rule.id) {
            self.0.push(BrokenRule { rule, message: message() });
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
                    let mut token = || {
                        if random.below(100) < wild {
                            odd[random.index(odd.len())]
                        } else {
                            random.below(u64::from(domain.constants().vocab_size)) as i32
                        }
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
                    let _ = domain.picture(side, &inputs, &labels);
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
