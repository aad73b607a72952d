//! Maze's tests.

use super::*;
use crate::puzzle::testing::Folder;

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
    let drawn = Maze.picture(Side::Labels, &inputs, &labels).unwrap();
    assert_eq!(drawn.text(), "S o #\no o #\no G  ");
    assert!(Maze.picture(Side::Labels, &inputs, &labels[1..]).is_none());
    assert_eq!(Maze.decode(Side::Inputs, &[1, 2]).unwrap_err(), "2 cells are not a square");
    assert_eq!(Maze.decode(Side::Inputs, &[6]).unwrap_err(), "token 6 is not a cell value");
}

#[test]
fn bad_rows_say_why() {
    let cause = |question: &[u8], answer: &[u8]| encode(question, answer).unwrap_err();
    assert_eq!(cause(b"S ", b"S "), "question has 2 characters, which is not a square");
    assert_eq!(cause(b"", b""), "question has 0 characters, which is not a square");
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
    assert_eq!(tokens[0].message, "question row 2 column 1: token 0 is not a cell value");
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
fn files_of_mazes() {
    let head = "source,question,answer,rating";
    let good = "x,S #  # G ,So# o# G ,1";
    let longer = "x,S #  # G ,So#oo# G ,1";
    let open = |train: &str, test: &str| {
        let folder = Folder::with(&[
            ("train.csv", &format!("{head}\n{train}\n")),
            ("test.csv", &format!("{head}\r\n{test}\r\n")),
        ]);
        let files = SplitFiles {
            train: Some(folder.join("train.csv")),
            test: Some(folder.join("test.csv")),
        };
        let opened = MazeArgs { files, num_aug: 0 }.open(&mut BuildContext::default());
        opened.map_err(|error| folder.strip(error).replace("ROOT/", ""))
    };
    let source = open(&format!("{good}\n{longer}"), longer).unwrap();
    assert_eq!((source.group_count, source.seq_len), (3, 9));
    assert_eq!(
        source.notes,
        [
            "train.csv: 1 of 2 rows break the rule 'shortest' (first: train.csv:3: the path \
             has 3 cells, the shortest way 2)",
            "test.csv: 1 of 1 row breaks the rule 'shortest' (first: test.csv:2: the path \
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
