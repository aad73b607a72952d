//! Maze: n × n cells, PAD 0, then `#` wall, space, `S` start, `G` goal, `o` path as 1 to 5. Rows
//! of a CSV file, one maze a group; augmented by the seven symmetries that move something.

use super::csv::excerpt;
use super::dihedral;
use super::random::Key;
use super::rows::{RowFormat, RowSource, Sides};
use super::{
    Augmented, Constants, Domain, Error, Example, Finding, Findings, Options, Rejects, Rule,
    SeqLen, Side, Source, Split,
};
use serde_json::{Map, Value, json};

pub struct Maze;

/// The characters of tokens 1 to 5.
const CHARACTERS: &[u8; 5] = b"# SGo";
const WALL: i32 = 1;
const START: i32 = 3;
const GOAL: i32 = 4;
const PATH: i32 = 5;

static SHAPE: Rule = Rule::error("shape", "a maze and its answer are squares of one size");
static TOKEN: Rule = Rule::error("token", "every cell is a wall, free, start, goal or path");
static ENDS: Rule = Rule::error("ends", "a maze has one start and one goal");
static ANSWER_ENDS: Rule =
    Rule::error("answer_ends", "the answer has start and goal where the maze has them");
static WALLS: Rule = Rule::error("walls", "the answer has the walls of the maze, no other");
static PATH_RULE: Rule = Rule::error("path", "the path leads from the start to the goal");
static SHORTEST: Rule =
    Rule::warning("shortest", "the path is as short as any, with no cell beside it");
static GIVEN_AWAY: Rule = Rule::warning("given_away", "the question does not show the path");

static RULES: [&Rule; 8] =
    [&SHAPE, &TOKEN, &ENDS, &ANSWER_ENDS, &WALLS, &PATH_RULE, &SHORTEST, &GIVEN_AWAY];

impl Domain for Maze {
    fn constants(&self) -> Constants {
        Constants {
            name: "maze",
            seq_len: SeqLen::Square,
            vocab_size: 6,
            pad_id: 0,
            ignore_label_id: 0,
            blank_identifier_id: 0,
        }
    }

    fn open(&self, options: &Options, rejects: Rejects<'_, '_>) -> Result<Box<dyn Source>, Error> {
        let most = u64::from(dihedral::COUNT) - 1;
        if options.num_aug > most {
            let wanted = options.num_aug;
            return Err(Error::option(format!("--num-aug {wanted}: a maze has {most} variants")));
        }
        let format = RowFormat { domain: &Maze, encode, is_unique: None };
        let mut parameters = Map::new();
        parameters.insert("num_aug".to_string(), options.num_aug.into());
        // What only Sudoku knows may not change anything here.
        let options =
            Options { subsample: None, min_difficulty: None, unique: false, ..options.clone() };
        Ok(Box::new(RowSource::open(format, &options, parameters, rejects)?))
    }

    fn augment(&self, puzzle: &[Example], _key: Key<'_>, number: u64) -> Option<Augmented> {
        let transform = u8::try_from(number).ok().filter(|&t| t < dihedral::COUNT)?;
        let apply = |tokens: &[i32]| {
            let side = tokens.len().isqrt();
            dihedral::apply(transform, side, side, tokens).2
        };
        let examples = puzzle
            .iter()
            .map(|example| Example {
                split: example.split,
                inputs: apply(&example.inputs),
                labels: apply(&example.labels),
            })
            .collect();
        Some(Augmented { suffix: format!("_t{transform}"), examples })
    }

    fn rules(&self) -> &'static [&'static Rule] {
        &RULES
    }

    fn check(&self, inputs: &[i32], labels: &[i32], _split: Option<Split>) -> Vec<Finding> {
        let mut findings = Findings::new();
        let side = inputs.len().isqrt();
        if inputs.is_empty() || side * side != inputs.len() || labels.len() != inputs.len() {
            let (maze, answer) = (inputs.len(), labels.len());
            findings.add(&SHAPE, || format!("{maze} cells and {answer} in the answer"));
            return findings.0;
        }
        let place = |cell: usize| format!("row {} column {}", cell / side + 1, cell % side + 1);
        for (what, tokens) in [("question", inputs), ("answer", labels)] {
            if let Some(cell) = tokens.iter().position(|token| !(1..=5).contains(token)) {
                let token = tokens[cell];
                findings
                    .add(&TOKEN, || format!("{what} {}: token {token} is no cell", place(cell)));
            }
        }
        let ends = [(START, 'S'), (GOAL, 'G')].map(|(token, name)| {
            let places = |tokens: &[i32]| -> Vec<usize> {
                (0..tokens.len()).filter(|&cell| tokens[cell] == token).collect()
            };
            let (question, answer) = (places(inputs), places(labels));
            if question.len() != 1 {
                let count = question.len();
                findings.add(&ENDS, || format!("question has {count} {name}, expected one"));
            } else if question != answer {
                let at = place(question[0]);
                findings.add(&ANSWER_ENDS, || format!("{name} is not at {at} in the answer alone"));
            }
            question
        });
        let wall = |cell: &usize| (inputs[*cell] == WALL) != (labels[*cell] == WALL);
        if let Some(cell) = (0..inputs.len()).find(wall) {
            findings.add(&WALLS, || {
                let (question, answer) = (character(inputs[cell]), character(labels[cell]));
                format!("{}: the question has {question:?}, the answer {answer:?}", place(cell))
            });
        }
        if inputs.contains(&PATH) {
            findings.add(&GIVEN_AWAY, || "the question shows a path".to_string());
        }
        if !findings.0.iter().any(|finding| finding.rule.severity == super::Severity::Error) {
            check_path(inputs, labels, ends[0][0], ends[1][0], &mut findings);
        }
        findings.0
    }

    fn decode(&self, _side: Side, tokens: &[i32]) -> Result<Value, String> {
        Ok(json!(lines(tokens)?))
    }

    fn draw(&self, _side: Side, tokens: &[i32]) -> Result<String, String> {
        Ok(lines(tokens)?.iter().map(|line| format!("{line}\n")).collect())
    }
}

/// Whether the path connects the ends, and is no longer than it must be.
fn check_path(inputs: &[i32], labels: &[i32], start: usize, goal: usize, findings: &mut Findings) {
    let on_path = |cell: usize| matches!(labels[cell], PATH | GOAL);
    let Some(steps) = distance(labels.len(), start, goal, on_path) else {
        findings.add(&PATH_RULE, || "the path does not lead from S to G".to_string());
        return;
    };
    let cells = labels.iter().filter(|&&token| token == PATH).count();
    let shortest = distance(inputs.len(), start, goal, |cell| inputs[cell] != WALL);
    let shortest = shortest.unwrap_or(steps);
    if cells + 1 > shortest {
        findings.add(&SHORTEST, || {
            format!("the path has {cells} cells, the shortest way {}", shortest.saturating_sub(1))
        });
    }
}

/// The number of steps between two cells of a square, where every step must be open.
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

/// The maze's rows as in the CSV files; PAD is `_`.
fn lines(tokens: &[i32]) -> Result<Vec<String>, String> {
    let side = tokens.len().isqrt();
    if tokens.is_empty() || side * side != tokens.len() {
        return Err(format!("{} cells are no square", tokens.len()));
    }
    if let Some(token) = tokens.iter().find(|token| !(0..=5).contains(*token)) {
        return Err(format!("token {token} is no cell"));
    }
    let shown = |&token: &i32| if token == 0 { '_' } else { character(token) };
    Ok(tokens.chunks(side).map(|row| row.iter().map(shown).collect()).collect())
}

fn encode(question: &[u8], answer: &[u8]) -> Result<Sides, String> {
    let side = question.len().isqrt();
    if question.is_empty() || side * side != question.len() {
        return Err(format!("question has {} characters, which is no square", question.len()));
    }
    if answer.len() != question.len() {
        let (found, expected) = (answer.len(), question.len());
        return Err(format!("answer has {found} characters, the question {expected}"));
    }
    Ok((encode_side("question", question)?, encode_side("answer", answer)?))
}

fn encode_side(side: &str, text: &[u8]) -> Result<Vec<i32>, String> {
    let cell = |(at, byte): (usize, &u8)| match CHARACTERS.iter().position(|known| known == byte) {
        Some(index) => Ok(index as i32 + 1),
        None => Err(format!(
            "{side} has {} at character {}, expected # space S G or o",
            excerpt(&[*byte]),
            at + 1
        )),
    };
    text.iter().enumerate().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTION: &[u8] = b"S #  # G ";
    const ANSWER: &[u8] = b"So# o#oGo";

    fn findings(question: &[u8], answer: &[u8]) -> Vec<(&'static str, String)> {
        let (inputs, labels) = encode(question, answer).unwrap();
        let found = Maze.check(&inputs, &labels, None);
        found.into_iter().map(|finding| (finding.rule.id, finding.message)).collect()
    }

    #[test]
    fn encodes_and_decodes() {
        let (inputs, labels) = encode(QUESTION, b"So#oo#oG ").unwrap();
        assert_eq!(inputs, [3, 2, 1, 2, 2, 1, 2, 4, 2]);
        assert_eq!(labels, [3, 5, 1, 5, 5, 1, 5, 4, 2]);
        assert_eq!(Maze.decode(Side::Inputs, &inputs), Ok(json!(["S #", "  #", " G "])));
        assert_eq!(Maze.draw(Side::Labels, &labels).unwrap(), "So#\noo#\noG \n");
        assert_eq!(Maze.decode(Side::Inputs, &[1, 2]).unwrap_err(), "2 cells are no square");
        assert_eq!(Maze.decode(Side::Inputs, &[6]).unwrap_err(), "token 6 is no cell");
    }

    #[test]
    fn bad_rows_say_why() {
        let cause = |question: &[u8], answer: &[u8]| encode(question, answer).unwrap_err();
        assert_eq!(cause(b"S ", b"S "), "question has 2 characters, which is no square");
        assert_eq!(cause(b"", b""), "question has 0 characters, which is no square");
        assert_eq!(cause(b"SG  ", b"SG "), "answer has 3 characters, the question 4");
        assert_eq!(
            cause(b"SG  ", b"SGx "),
            "answer has \"x\" at character 3, expected # space S G or o"
        );
    }

    #[test]
    fn rules() {
        assert_eq!(findings(QUESTION, b"So# o# G "), []);
        let one = |question: &[u8], answer: &[u8]| {
            let found = findings(question, answer);
            assert_eq!(found.len(), 1, "{found:?}");
            found.into_iter().next().unwrap()
        };
        assert_eq!(
            one(b"S #S # G ", b"S #S # G "),
            ("ends", "question has 2 S, expected one".to_string())
        );
        assert_eq!(one(b"S #  #   ", b"S #  #   ").1, "question has 0 G, expected one");
        assert_eq!(
            one(QUESTION, b"So# o#  G"),
            ("answer_ends", "G is not at row 3 column 2 in the answer alone".to_string())
        );
        assert_eq!(
            one(QUESTION, b"Soo o# G "),
            ("walls", "row 1 column 3: the question has '#', the answer 'o'".to_string())
        );
        assert_eq!(
            one(QUESTION, b"So#  # G "),
            ("path", "the path does not lead from S to G".to_string())
        );
        assert_eq!(
            one(QUESTION, ANSWER),
            ("shortest", "the path has 4 cells, the shortest way 2".to_string())
        );
        assert_eq!(one(QUESTION, b"So#oo# G ").1, "the path has 3 cells, the shortest way 2");
        assert_eq!(one(b"So#  # G ", b"So# o# G ").0, "given_away");
        let tokens = Maze.check(&[3, 4, 0, 2], &[3, 4, 7, 2], None);
        assert_eq!(tokens[0].message, "question row 2 column 1: token 0 is no cell");
        assert_eq!(Maze.check(&[3, 4], &[3, 4], None)[0].rule.id, "shape");
        assert_eq!(Maze.check(&[3, 4, 1, 1], &[3], None)[0].rule.id, "shape");
    }

    #[test]
    fn start_beside_goal_needs_no_path() {
        assert_eq!(findings(b"SG  ", b"SG  "), []);
        // The path does not go round the edge of the square.
        assert_eq!(findings(b" S G#####", b" SoG#####")[0].0, "path");
        assert_eq!(findings(b" G S#####", b" GoS#####")[0].0, "path");
    }

    #[test]
    fn augmentations_are_the_symmetries_in_order() {
        let (inputs, labels) = encode(QUESTION, b"So# o# G ").unwrap();
        let example = [Example { split: Split::Train, inputs, labels }];
        let key = Key { seed: 1, domain: "maze", split: "train", group: "2" };
        for number in 1..=7 {
            let augmented = Maze.augment(&example, key, number).unwrap();
            assert_eq!(augmented.suffix, format!("_t{number}"));
            let back = dihedral::inverse(number as u8);
            let inputs = dihedral::apply(back, 3, 3, &augmented.examples[0].inputs).2;
            assert_eq!(inputs, example[0].inputs);
            let labels = &augmented.examples[0].labels;
            assert_eq!(Maze.check(&augmented.examples[0].inputs, labels, None), []);
        }
        assert_eq!(Maze.augment(&example, key, 8), None);
    }

    #[test]
    fn files_of_mazes() {
        use crate::puzzle::testing::Folder;
        let head = "source,question,answer,rating";
        let good = "x,S #  # G ,So# o# G ,1";
        let longer = "x,S #  # G ,So#oo# G ,1";
        let open = |train: &str, test: &str| {
            let folder = Folder::with(&[
                ("train.csv", &format!("{head}\n{train}\n")),
                ("test.csv", &format!("{head}\r\n{test}\r\n")),
            ]);
            let options = Options {
                train: Some(folder.join("train.csv")),
                test: Some(folder.join("test.csv")),
                ..Options::default()
            };
            let opened = Maze.open(&options, None);
            opened.map_err(|error| folder.strip(error).replace("ROOT/", ""))
        };
        let source = open(&format!("{good}\n{longer}"), longer).unwrap();
        assert_eq!((source.len(), source.seq_len()), (3, 9));
        assert_eq!(
            source.notes(),
            [
                "train.csv: 1 of 2 rows break the rule 'shortest' (first: train.csv:3: the path \
                 has 3 cells, the shortest way 2)",
                "test.csv: 1 of 1 rows break the rule 'shortest' (first: test.csv:2: the path \
                 has 3 cells, the shortest way 2)",
            ]
        );
        assert_eq!(
            open(good, "x,SG  ,SG  ,1").err().unwrap(),
            "test.csv:2: question has 4 characters, that of train.csv:2 has 9"
        );
        assert_eq!(
            open(good, "x,S #  # G ,So#  # G ,1").err().unwrap(),
            "test.csv:2: the path does not lead from S to G"
        );
        assert_eq!(
            open("x,S #  # G ,So ooooGo,1", good).err().unwrap(),
            "train.csv:2: row 1 column 3: the question has '#', the answer ' '"
        );
    }

    #[test]
    fn too_many_variants() {
        let options = Options { num_aug: 8, ..Options::default() };
        let error = Maze.open(&options, None).err().unwrap();
        assert_eq!(error.to_string(), "--num-aug 8: a maze has 7 variants");
    }
}
