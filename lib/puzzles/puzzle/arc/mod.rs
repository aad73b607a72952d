//! ARC: grids of 1 to 30 by 1 to 30 colours on a canvas of 30 × 30. PAD 0, EOS 1, colour c as
//! c + 2. One task a group; augmented by the eight symmetries and permutations of the colours.

mod tasks;
mod unique;

use self::tasks::Task;
use crate::puzzle::dihedral;
use crate::puzzle::picture::{Cell, CellKind, GridPicture, Picture};
use crate::puzzle::random::Key;
use crate::puzzle::{
    AugmentedPuzzle, BrokenRule, BrokenRules, BuildContext, Constants, Domain, Error, Example,
    GroupSource, PuzzleGroup, PuzzleGroups, PuzzleSource, Result, Rule, SeqLen, Side, Split,
};
use crate::wording::exactly;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Value, json};
use std::ops::Range;
use std::path::PathBuf;

pub struct Arc;

/// ARC: grids of up to 30 x 30 colours on a canvas of 900, colour c as c + 2
#[derive(Debug, Clone, Default, Args)]
pub struct ArcArgs {
    /// Folders of tasks, or files of one or many (ARC Prize); `test` pairs below a folder named
    /// evaluation, or of a file of that name (arc-agi_evaluation_challenges.json), are the test split
    #[arg(value_name = "DIR", required = true)]
    pub dirs: Vec<PathBuf>,

    /// A file with the outputs of the test pairs, {task: [grid, ...]}, for tasks that lack them
    /// (repeatable)
    #[arg(long, value_name = "FILE")]
    pub solutions: Vec<PathBuf>,

    /// Augmentations of each task: rotated or mirrored, colours permuted
    #[arg(long, value_name = "K", default_value = "0")]
    pub num_aug: u64,
}

/// The canvas is SIDE × SIDE.
pub const SIDE: usize = 30;
const CELLS: usize = SIDE * SIDE;
const EOS: i32 = 1;
/// The token of colour 0.
const COLOURS: i32 = 2;

rules! {
    SHAPE: error "shape", "both sides have 900 cells";
    GRID: error "grid",
        "a side is one filled rectangle, EOS along the row below and the column right of it, else PAD";
    OFFSET: error "offset", "input and output are at the same place";
    TEST_OFFSET: ours "test_offset", "test grids are at row 0 column 0, where evaluators look";
}

/// Colours 0 to 9 in row-major order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// The number of rows; rows and columns are 1 to 30.
    pub rows: usize,
    pub columns: usize,
    pub cells: Vec<u8>,
}

impl Grid {
    /// Returns the canvas with the grid's first cell at `row` and `column`. It panics if the grid
    /// does not fit there ([`Grid::decode`] guarantees that it fits).
    pub fn encode(&self, row: usize, column: usize) -> Vec<i32> {
        let mut canvas = vec![0; CELLS];
        for (index, colours) in self.cells.chunks(self.columns.max(1)).enumerate() {
            let start = (row + index) * SIDE + column;
            for (token, &colour) in canvas.iter_mut().skip(start).zip(colours) {
                *token = i32::from(colour) + COLOURS;
            }
            if column + self.columns < SIDE {
                canvas[start + self.columns] = EOS;
            }
        }
        if row + self.rows < SIDE {
            let start = (row + self.rows) * SIDE + column;
            canvas[start..start + self.columns].fill(EOS);
        }
        canvas
    }

    /// Returns the grid on a canvas, and its row and column; the error says why the canvas is not
    /// valid.
    pub fn decode(canvas: &[i32]) -> Result<(Grid, [usize; 2]), String> {
        if canvas.len() != CELLS {
            return Err(format!("{}, expected {CELLS}", exactly(canvas.len(), "cell")));
        }
        let is_colour = |token: &&i32| (COLOURS..COLOURS + 10).contains(*token);
        let Some(first) = canvas.iter().position(|token| is_colour(&token)) else {
            return Err("no grid".to_string());
        };
        let (row, column) = (first / SIDE, first % SIDE);
        let columns = canvas[first..(row + 1) * SIDE].iter().take_while(is_colour).count();
        let rows = canvas[first..].iter().step_by(SIDE).take_while(is_colour).count();
        let mut cells = Vec::with_capacity(rows * columns);
        for line in canvas[row * SIDE..].chunks(SIDE).take(rows) {
            // The comparison finds a token that is not a colour.
            let colour = |&token: &i32| (token.clamp(COLOURS, COLOURS + 9) - COLOURS) as u8;
            cells.extend(line[column..column + columns].iter().map(colour));
        }
        let grid = Grid { rows, columns, cells };
        let expected = grid.encode(row, column);
        match canvas.iter().zip(&expected).position(|(found, expected)| found != expected) {
            None => Ok((grid, [row, column])),
            Some(at) => Err(format!(
                "row {} column {}: token {}, expected {} for a grid of {rows} x {columns} at \
                 row {row} column {column}",
                at / SIDE,
                at % SIDE,
                canvas[at],
                expected[at],
            )),
        }
    }

    fn transformed(&self, transform: u8, colours: &[u8; 10]) -> Grid {
        let (rows, columns, mut cells) =
            dihedral::apply(transform, self.rows, self.columns, &self.cells);
        for cell in &mut cells {
            *cell = colours[usize::from(*cell) % colours.len()];
        }
        Grid { rows, columns, cells }
    }
}

impl Domain for Arc {
    fn constants(&self) -> Constants {
        Constants::new("arc", SeqLen::Fixed(CELLS), 12)
    }

    fn command(&self) -> Command {
        ArcArgs::augment_args(Command::new("arc"))
    }

    fn open(&self, arguments: &ArgMatches, build: &mut BuildContext<'_>) -> Result<PuzzleSource> {
        ArcArgs::from_arg_matches(arguments)?.open(build)
    }

    fn augment(&self, puzzle: &[Example], key: Key<'_>, number: u64) -> Option<AugmentedPuzzle> {
        let mut random = key.draws(number);
        let transform = random.below(u64::from(dihedral::COUNT)) as u8;
        let mut colours = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        random.shuffle(&mut colours[1..]);
        let new = |canvas: &[i32]| {
            let (grid, _) = Grid::decode(canvas).ok()?;
            Some(grid.transformed(transform, &colours).encode(0, 0))
        };
        let mut examples = Vec::with_capacity(puzzle.len());
        for example in puzzle {
            let (inputs, labels) = (new(&example.inputs)?, new(&example.labels)?);
            examples.push(Example { split: example.split, inputs, labels });
        }
        let colours: String = colours.iter().map(|&colour| char::from(b'0' + colour)).collect();
        Some(AugmentedPuzzle { suffix: format!("_t{transform}_{colours}"), examples })
    }

    /// In train, all examples but one, which is drawn too, are moved to a random place.
    fn place(&self, examples: &mut [Example], split: Split, key: Key<'_>, number: u64) {
        if split == Split::Test {
            return;
        }
        let mut random = key.draws(number);
        let unmoved = random.index(examples.len());
        for (index, example) in examples.iter_mut().enumerate() {
            let grids = (Grid::decode(&example.inputs), Grid::decode(&example.labels));
            let (Ok((input, _)), Ok((output, _))) = grids else { continue };
            if index != unmoved {
                let row = random.index(SIDE - input.rows.max(output.rows) + 1);
                let column = random.index(SIDE - input.columns.max(output.columns) + 1);
                example.inputs = input.encode(row, column);
                example.labels = output.encode(row, column);
            }
        }
    }

    fn identifier<'a>(&self, puzzle: &'a str) -> &'a str {
        puzzle
    }

    fn meaning(&self, _side: Side, token: i32) -> Option<String> {
        match token {
            0 => Some("padding".to_string()),
            1 => Some("end of a row or column".to_string()),
            2..=11 => Some(format!("colour {}", token - 2)),
            _ => None,
        }
    }

    fn is_given(&self, token: i32) -> bool {
        token >= COLOURS
    }

    fn grid_size(&self, tokens: &[i32]) -> Option<[usize; 2]> {
        Grid::decode(tokens).ok().map(|(grid, _)| [grid.rows, grid.columns])
    }

    fn rules(&self) -> &'static [&'static Rule] {
        RULES
    }

    fn check(&self, inputs: &[i32], labels: &[i32], split: Option<Split>) -> Vec<BrokenRule> {
        let mut broken = BrokenRules::new();
        if inputs.len() != CELLS || labels.len() != CELLS {
            let (input, output) = (inputs.len(), labels.len());
            broken.add(&SHAPE, || {
                format!("{input} and {output} in the output", input = exactly(input, "cell"))
            });
            return broken.0;
        }
        let mut offset = |side: &str, canvas: &[i32]| match Grid::decode(canvas) {
            Ok((_, offset)) => Some(offset),
            Err(cause) => {
                broken.add(&GRID, || format!("{side}: {cause}"));
                None
            }
        };
        let (input, output) = (offset("input", inputs), offset("output", labels));
        let (Some(input), Some(output)) = (input, output) else { return broken.0 };
        if input != output {
            broken.add(&OFFSET, || format!("input at {input:?}, output at {output:?}"));
        }
        if split == Some(Split::Test) && input != [0, 0] {
            broken.add(&TEST_OFFSET, || format!("the grids are at {input:?} in test"));
        }
        broken.0
    }

    fn decode(&self, _side: Side, tokens: &[i32]) -> Result<Value, String> {
        let (grid, offset) = Grid::decode(tokens)?;
        let rows: Vec<&[u8]> = grid.cells.chunks(grid.columns).collect();
        Ok(json!({"offset": offset, "grid": rows}))
    }

    /// Draws the part of the canvas that is not padding.
    fn picture(&self, side: Side, inputs: &[i32], labels: &[i32]) -> Option<Picture> {
        let tokens = [inputs, labels][side as usize];
        if tokens.len() != CELLS {
            return None;
        }
        let used = (0..CELLS).filter(|&cell| tokens[cell] != 0);
        let bounds =
            used.map(|cell| [cell / SIDE, cell % SIDE]).fold(None, |bounds, [row, column]| {
                let [top, bottom, left, right] = bounds.unwrap_or([row, row, column, column]);
                Some([top.min(row), bottom.max(row), left.min(column), right.max(column)])
            });
        let [top, bottom, left, right] = bounds.unwrap_or_default();
        let rows = tokens.chunks(SIDE).skip(top).take(bottom - top + 1);
        let cells = rows.flat_map(|row| &row[left..=right]).map(|&token| cell(side, token));
        let note = match Grid::decode(tokens) {
            Ok((grid, [row, column])) => format!(
                "{} x {} at row {row} column {column} of {SIDE} x {SIDE}",
                grid.rows, grid.columns
            ),
            Err(cause) => cause,
        };
        Some(Picture::Grid(GridPicture {
            columns: right - left + 1,
            cells: cells.collect(),
            boxes: None,
            note: Some(note),
        }))
    }
}

fn cell(side: Side, token: i32) -> Cell {
    let colour = token
        .checked_sub(COLOURS)
        .and_then(|colour| u8::try_from(colour).ok())
        .filter(|&colour| colour < 10);
    match (token, side, colour) {
        (_, Side::Inputs, Some(_)) => {
            Cell { colour, ..Cell::new((token - COLOURS).to_string(), CellKind::Given) }
        }
        (_, Side::Labels, Some(_)) => {
            Cell { colour, ..Cell::new((token - COLOURS).to_string(), CellKind::Filled) }
        }
        (EOS, ..) => Cell::new("·", CellKind::End),
        (0, Side::Inputs, _) => Cell::new("_", CellKind::Padding),
        (0, Side::Labels, _) => Cell::new("_", CellKind::Ignored),
        _ => Cell::wrong(token),
    }
}

impl ArcArgs {
    pub fn open(&self, build: &mut BuildContext<'_>) -> Result<PuzzleSource> {
        let tasks::Tasks { tasks, inputs, rejected } =
            tasks::read(&self.dirs, &self.solutions, build)?;
        let mut groups = Vec::new();
        for split in Split::ALL {
            let with_split = (0..tasks.len()).filter(|&task| tasks[task].has(split));
            groups.extend(with_split.map(|task| (task, split)));
        }
        let mut notes = Vec::new();
        if rejected > 0 {
            notes.push(format!("{rejected} malformed tasks, left out"));
        }
        let underscored = tasks.iter().filter(|task| task.name.contains('_')).count();
        if underscored > 0 && self.num_aug > 0 {
            notes.push(format!(
                "{underscored} task names hold '_', which evaluators take for an augmentation's"
            ));
        }
        if groups.is_empty() {
            return Err(Error::data("arc", "no task is left"));
        }
        let (seed, num_aug) = (build.seed, self.num_aug);
        Ok(PuzzleSource {
            domain: &Arc,
            seed,
            seq_len: CELLS,
            parameters: json!({"num_aug": num_aug}),
            inputs,
            notes,
            group_count: groups.len() as u64,
            groups: Box::new(ArcGroups { seed, num_aug, tasks, groups }),
        })
    }
}

/// All tasks, which are small; their augmentations are not kept in memory.
struct ArcGroups {
    seed: u64,
    num_aug: u64,
    tasks: Vec<Task>,
    /// The task and the split of each group, train before test.
    groups: Vec<(usize, Split)>,
}

impl GroupSource for ArcGroups {
    fn groups(&self, range: Range<u64>) -> PuzzleGroups<'_> {
        let (start, count) = (range.start, range.end.saturating_sub(range.start));
        let groups = self.groups.iter().skip(start as usize).take(count as usize);
        Box::new(groups.filter_map(|&(task, split)| {
            let task = self.tasks.get(task)?;
            let examples = task.pairs.iter().map(|pair| Example {
                split: pair.split,
                inputs: pair.input.encode(0, 0),
                labels: pair.output.encode(0, 0),
            });
            Some(Ok(PuzzleGroup {
                domain: &Arc,
                seed: self.seed,
                name: task.name.clone(),
                split,
                key_split: "both",
                examples: examples.collect(),
                num_aug: self.num_aug,
            }))
        }))
    }
}

#[cfg(test)]
mod tests;
