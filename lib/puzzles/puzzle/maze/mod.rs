//! Maze: n × n cells, PAD 0, then `#` wall, space, `S` start, `G` goal, `o` path as 1 to 5. Rows
//! of a CSV file, one maze a group; augmented by the seven symmetries other than the identity.

use crate::puzzle::dihedral;
use crate::puzzle::picture::{Cell, CellKind, Picture};
use crate::puzzle::random::Key;
use crate::puzzle::rows::{RowOptions, Sides, SplitFiles, encode_cells};
use crate::puzzle::{
    AugmentedPuzzle, BrokenRule, BrokenRules, BuildContext, Constants, Domain, Error, Example,
    PuzzleSource, Result, Rule, SeqLen, Severity, Side, Split,
};
use crate::wording::exactly;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Value, json};

pub struct Maze;

/// Maze: n x n characters, `# SGo` as 1 to 5
#[derive(Debug, Clone, Default, Args)]
pub struct MazeArgs {
    #[command(flatten)]
    pub files: SplitFiles,

    /// Augmentations of each train maze: the rotations and mirrorings t1, t2, ...
    #[arg(long, value_name = "K", default_value = "0", value_parser = clap::value_parser!(u64).range(..=VARIANTS))]
    pub num_aug: u64,
}

/// How many augmentations there are.
const VARIANTS: u64 = dihedral::COUNT as u64 - 1;

impl MazeArgs {
    pub fn open(&self, build: &mut BuildContext<'_>) -> Result<PuzzleSource> {
        let num_aug = self.num_aug;
        if num_aug > VARIANTS {
            return Err(Error::Usage(format!(
                "--num-aug {num_aug}: a maze has {VARIANTS} variants"
            )));
        }
        let rows = RowOptions {
            domain: &Maze,
            encode,
            num_aug,
            subsample: None,
            min_difficulty: None,
            is_unique: None,
            parameters: json!({"num_aug": num_aug}),
        };
        rows.open(&self.files, build)
    }
}

/// The characters of tokens 1 to 5.
const CHARACTERS: &[u8; 5] = b"# SGo";
const WALL: i32 = 1;
const START: i32 = 3;
const GOAL: i32 = 4;
const PATH: i32 = 5;

rules! {
    SHAPE: error "shape", "a maze and its answer are squares of the same size";
    TOKEN: error "token", "every cell is a wall, free, start, goal or path";
    ENDS: error "ends", "a maze has one start and one goal";
    ANSWER_ENDS: error "answer_ends", "the answer has the start and goal of the maze";
    WALLS: error "walls", "the answer has exactly the walls of the maze";
    PATH_RULE: error "path", "the path leads from the start to the goal";
    SHORTEST: warning "shortest", "the path is a shortest one, and no other cell is marked";
    GIVEN_AWAY: warning "given_away", "the question does not show the path";
}

impl Domain for Maze {
    fn constants(&self) -> Constants {
        Constants::new("maze", SeqLen::Square, 6)
    }

    fn command(&self) -> Command {
        MazeArgs::augment_args(Command::new("maze"))
    }

    fn open(&self, arguments: &ArgMatches, build: &mut BuildContext<'_>) -> Result<PuzzleSource> {
        MazeArgs::from_arg_matches(arguments)?.open(build)
    }

    fn augment(&self, puzzle: &[Example], _key: Key<'_>, number: u64) -> Option<AugmentedPuzzle> {
        let transform = u8::try_from(number).ok().filter(|&t| t < dihedral::COUNT)?;
        let apply = |tokens: &[i32]| {
            let side = tokens.len().isqrt();
            dihedral::apply(transform, side, side, tokens).2
        };
        let examples = puzzle.iter().map(|example| example.map(apply)).collect();
        Some(AugmentedPuzzle { suffix: format!("_t{transform}"), examples })
    }

    fn meaning(&self, _side: Side, token: i32) -> Option<String> {
        let names = ["padding", "wall", "free", "start", "goal", "path"];
        let name = usize::try_from(token).ok().and_then(|token| names.get(token))?;
        Some(name.to_string())
    }

    fn rules(&self) -> &'static [&'static Rule] {
        RULES
    }

    fn check(&self, inputs: &[i32], labels: &[i32], _split: Option<Split>) -> Vec<BrokenRule> {
        let mut broken = BrokenRules::new();
        let side = inputs.len().isqrt();
        if inputs.is_empty() || side * side != inputs.len() || labels.len() != inputs.len() {
            let (maze, answer) = (inputs.len(), labels.len());
            broken.add(&SHAPE, || {
                format!("{maze} and {answer} in the answer", maze = exactly(maze, "cell"))
            });
            return broken.0;
        }
        let place = |cell: usize| format!("row {} column {}", cell / side + 1, cell % side + 1);
        for (what, tokens) in [("question", inputs), ("answer", labels)] {
            if let Some(cell) = tokens.iter().position(|token| !(1..=5).contains(token)) {
                let token = tokens[cell];
                broken.add(&TOKEN, || {
                    format!("{what} {}: token {token} is not a cell value", place(cell))
                });
            }
        }
        let ends = [(START, 'S'), (GOAL, 'G')].map(|(token, name)| {
            let places = |tokens: &[i32]| -> Vec<usize> {
                (0..tokens.len()).filter(|&cell| tokens[cell] == token).collect()
            };
            let (question, answer) = (places(inputs), places(labels));
            if question.len() != 1 {
                let count = question.len();
                broken.add(&ENDS, || format!("question has {count} {name}, expected one"));
            } else if question != answer {
                let at = place(question[0]);
                broken.add(&ANSWER_ENDS, || format!("{name} is not at {at} in the answer alone"));
            }
            question
        });
        let wall = |cell: &usize| (inputs[*cell] == WALL) != (labels[*cell] == WALL);
        if let Some(cell) = (0..inputs.len()).find(wall) {
            broken.add(&WALLS, || {
                let (question, answer) = (character(inputs[cell]), character(labels[cell]));
                format!("{}: the question has {question:?}, the answer {answer:?}", place(cell))
            });
        }
        if inputs.contains(&PATH) {
            broken.add(&GIVEN_AWAY, || "the question shows a path".to_string());
        }
        if !broken.0.iter().any(|finding| finding.rule.severity == Severity::Error) {
            check_path(inputs, labels, ends[0][0], ends[1][0], &mut broken);
        }
        broken.0
    }

    fn decode(&self, _side: Side, tokens: &[i32]) -> Result<Value, String> {
        Ok(json!(lines(tokens)?))
    }

    fn picture(&self, side: Side, inputs: &[i32], labels: &[i32]) -> Option<Picture> {
        let tokens = [inputs, labels][side as usize];
        if !SeqLen::Square.allows(tokens.len()) {
            return None;
        }
        let cell = |&token: &i32| {
            let kind = match (token, side) {
                (WALL, _) => CellKind::Wall,
                (START | GOAL, _) => CellKind::Target,
                (PATH, _) => CellKind::Path,
                (0, Side::Inputs) => CellKind::Padding,
                (0, Side::Labels) => CellKind::Ignored,
                (2, _) => CellKind::Blank,
                _ => return Cell::wrong(token),
            };
            let symbol = if token == 0 { '_' } else { character(token) };
            Cell::new(symbol, kind)
        };
        Some(Picture::grid(tokens.len().isqrt(), tokens.iter().map(cell).collect()))
    }
}

/// Checks that the path connects the ends and is a shortest one.
fn check_path(inputs: &[i32], labels: &[i32], start: usize, goal: usize, broken: &mut BrokenRules) {
    let on_path = |cell: usize| matches!(labels[cell], PATH | GOAL);
    let Some(steps) = distance(labels.len(), start, goal, on_path) else {
        broken.add(&PATH_RULE, || "the path does not lead from S to G".to_string());
        return;
    };
    let cells = labels.iter().filter(|&&token| token == PATH).count();
    let shortest = distance(inputs.len(), start, goal, |cell| inputs[cell] != WALL);
    let shortest = shortest.unwrap_or(steps);
    if cells + 1 > shortest {
        broken.add(&SHORTEST, || {
            format!(
                "the path has {cells}, the shortest way {}",
                shortest.saturating_sub(1),
                cells = exactly(cells, "cell")
            )
        });
    }
}

/// Returns the number of steps between two cells of a square; only open cells may be entered.
fn distance(
    cells: usize,
    start: usize,
    goal: usize,
    open: impl Fn(usize) -> bool,
) -> Option<usize> {
    let side = cells.isqrt();
    let mut seen = vec![false; cells];
    seen[start] = true;
    let mut edge = vec![start];
    let mut steps = 0;
    while !edge.is_empty() {
        if edge.contains(&goal) {
            return Some(steps);
        }
        let mut next = Vec::new();
        for cell in edge {
            let (row, column) = (cell / side, cell % side);
            let neighbours = [
                (row > 0).then(|| cell - side),
                (row + 1 < side).then_some(cell + side),
                (column > 0).then(|| cell - 1),
                (column + 1 < side).then_some(cell + 1),
            ];
            for neighbour in neighbours.into_iter().flatten() {
                if !seen[neighbour] && open(neighbour) {
                    seen[neighbour] = true;
                    next.push(neighbour);
                }
            }
        }
        edge = next;
        steps += 1;
    }
    None
}

fn character(token: i32) -> char {
    let index = usize::try_from(token).ok().and_then(|token| token.checked_sub(1));
    index.and_then(|index| CHARACTERS.get(index)).map_or('?', |&byte| char::from(byte))
}

/// Returns the maze's rows as in the CSV files; PAD is `_`.
fn lines(tokens: &[i32]) -> Result<Vec<String>, String> {
    let side = tokens.len().isqrt();
    if tokens.is_empty() || side * side != tokens.len() {
        return Err(format!("{} cells are not a square", tokens.len()));
    }
    if let Some(token) = tokens.iter().find(|token| !(0..=5).contains(*token)) {
        return Err(format!("token {token} is not a cell value"));
    }
    let shown = |&token: &i32| if token == 0 { '_' } else { character(token) };
    Ok(tokens.chunks(side).map(|row| row.iter().map(shown).collect()).collect())
}

fn encode(question: &[u8], answer: &[u8]) -> Result<Sides, String> {
    let side = question.len().isqrt();
    if question.is_empty() || side * side != question.len() {
        return Err(format!("question has {} characters, which is not a square", question.len()));
    }
    if answer.len() != question.len() {
        let (found, expected) = (exactly(answer.len(), "character"), question.len());
        return Err(format!("answer has {found}, the question {expected}"));
    }
    let encode = |side, text| encode_cells(side, text, "# space S G or o", token);
    Ok((encode("question", question)?, encode("answer", answer)?))
}

fn token(character: u8) -> Option<i32> {
    CHARACTERS.iter().position(|&known| known == character).map(|index| index as i32 + 1)
}

#[cfg(test)]
mod tests;
