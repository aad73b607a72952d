//! Sudoku's tests, and through it tests of the CSV sources.

use super::*;
use crate::error::Kind;
use crate::puzzle::testing::Folder;
use crate::puzzle::{Error, Opener, RejectedInput, expand};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const QUESTION: &str =
    "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";
const ANSWER: &str =
    "534678912672195348198342567859761423426853791713924856961537284287419635345286179";
const HEADER: &str = "source,question,answer,rating\n";

fn file(text: &str) -> (Folder, SudokuArgs) {
    let folder = Folder::with(&[("train.csv", text)]);
    let args = train(folder.join("train.csv"));
    (folder, args)
}

fn train(path: PathBuf) -> SudokuArgs {
    let files = SplitFiles { train: Some(path), test: None };
    SudokuArgs { files, ..SudokuArgs::default() }
}

fn open(args: &SudokuArgs) -> Result<PuzzleSource> {
    args.open(&mut BuildContext::default())
}

fn row(rating: &str) -> String {
    format!("x,{QUESTION},{ANSWER},{rating}\n")
}

/// The error of a file, with the folder left out.
fn error(text: &str) -> String {
    let (folder, args) = file(text);
    let error = open(&args).err().expect("an error");
    assert!(matches!(error, Error::Data { .. }));
    folder.strip(error).replace("ROOT/", "")
}

#[test]
fn encodes_and_decodes() {
    let (inputs, mut labels) = encode(QUESTION.as_bytes(), ANSWER.as_bytes()).unwrap();
    assert_eq!(&inputs[..5], [6, 4, 1, 1, 8]);
    assert_eq!(&labels[..5], [6, 4, 5, 7, 8]);
    assert_eq!(Sudoku.check(&inputs, &labels, None), []);
    assert_eq!(Sudoku.decode(Side::Inputs, &inputs), Ok(json!(QUESTION)));
    assert_eq!(Sudoku.decode(Side::Labels, &labels), Ok(json!(ANSWER)));
    let zeros = QUESTION.replace('.', "0");
    assert_eq!(encode_side("question", zeros.as_bytes(), true).unwrap(), inputs);
    let drawn = Sudoku.picture(Side::Inputs, &inputs, &labels).unwrap().text();
    assert!(drawn.starts_with("5 3 · · 7 · · · ·\n6 · · 1 9 5 · · ·\n"), "{drawn}");
    labels[..3].copy_from_slice(&[7, 4, 0]);
    let Picture::Grid(answer) = Sudoku.picture(Side::Labels, &inputs, &labels).unwrap() else {
        panic!("no grid");
    };
    let kinds: Vec<CellKind> = answer.cells[..4].iter().map(|cell| cell.kind).collect();
    assert_eq!(kinds, [CellKind::Wrong, CellKind::Given, CellKind::Ignored, CellKind::Filled]);
    assert_eq!(Sudoku.decode(Side::Inputs, &[1]).unwrap_err(), "1 cell, expected 81");
    assert!(Sudoku.picture(Side::Inputs, &[1], &labels).is_none());
}

#[test]
fn bad_rows_are_named() {
    let cause = |row: &str| error(&format!("{HEADER}{}{row}\n", self::row("1")));
    let short = format!("x,{},{ANSWER},1", &QUESTION[1..]);
    assert_eq!(
        cause(&short),
        format!(
            "train.csv:3: question has 80 characters, expected 81: \"{}\"...",
            &QUESTION[1..61]
        )
    );
    let long = format!("x,{QUESTION} ,{ANSWER},1");
    assert!(cause(&long).contains("question has 82 characters, expected 81"));
    assert_eq!(
        cause(&format!("x,{},{ANSWER},1", QUESTION.replace('4', "x"))),
        "train.csv:3: question has \"x\" at character 37, expected 1 to 9, or 0 or . for blank"
    );
    assert_eq!(
        cause(&format!("x,{QUESTION},{},1", ANSWER.replacen('4', ".", 1))),
        "train.csv:3: answer has \".\" at character 3, expected 1 to 9"
    );
    assert_eq!(
        cause(&format!("x,1{},{ANSWER},1", &QUESTION[1..])),
        "train.csv:3: row 1 column 1: the question has 1, the answer 5"
    );
    assert_eq!(
        cause(&format!("x,{QUESTION},{},1", ANSWER.replacen('4', "6", 1))),
        "train.csv:3: 6 appears twice in row 1 of the answer"
    );
    assert_eq!(cause("x,y"), "train.csv:3: 2 fields, expected 4: source,question,answer,rating");
    assert_eq!(error(HEADER), "train.csv: has no rows");
}

#[test]
fn missing_and_unreadable_files() {
    let error = open(&train("/nowhere/train.csv".into())).err().unwrap();
    assert!(matches!(&error, Error::Outside(error) if error.kind() == Kind::Usage));
    assert!(error.to_string().starts_with("/nowhere/train.csv: No such file"), "{error}");
    let error = open(&train(std::env::temp_dir())).err().unwrap().to_string();
    assert!(error.ends_with("is a directory"), "{error}");
    assert!(matches!(open(&SudokuArgs::default()), Err(Error::Usage(_))));
}

#[test]
fn rejects_are_left_out() {
    let text = format!("{HEADER}{}bad\n{}", row("1"), row("2"));
    let mut rejected = Vec::new();
    let mut take = |bad: RejectedInput| {
        rejected.push((format!("{}: {}", bad.place, bad.cause), bad.text));
        Ok(())
    };
    let (_folder, args) = file(&text);
    let source = args
        .open(&mut BuildContext { rejects: Some(&mut take), ..BuildContext::default() })
        .unwrap();
    let names: Vec<_> = source.groups(0..9).map(|group| group.unwrap().name).collect();
    assert_eq!(names, ["2", "4"]);
    assert_eq!(source.notes, ["train.csv: 1 of 3 rows malformed, left out"]);
    assert_eq!(rejected.len(), 1);
    assert!(rejected[0].0.contains("train.csv:3: 1 field,"), "{}", rejected[0].0);
    assert_eq!(rejected[0].1.as_deref(), Some("bad"));
}

#[test]
fn difficulty_and_uniqueness() {
    // The second line of rows has every solution there is.
    let several = format!("x,{},{ANSWER},7\n", ".".repeat(81));
    let text = format!("{HEADER}{}{several}{}{}", row("3"), row("5"), row("9"));
    let (_folder, mut args) = file(&text);
    args.min_difficulty = Some(5);
    let names = |args: &SudokuArgs| -> Vec<String> {
        let source = open(args).unwrap();
        source.groups(0..source.group_count).map(|group| group.unwrap().name).collect()
    };
    assert_eq!(names(&args), ["3", "4", "5"]);
    args.unique = true;
    assert_eq!(names(&args), ["4", "5"]);
    let mut build = BuildContext { jobs: 3, ..BuildContext::default() };
    let source = args.open(&mut build).unwrap();
    assert_eq!(
        source.notes,
        [
            "train.csv: 1 of 4 rows below --min-difficulty, left out",
            "train.csv: 1 of 4 rows without exactly one solution, left out",
        ]
    );
    args.min_difficulty = Some(10);
    let error = open(&args).err().unwrap().to_string();
    assert!(
        error.ends_with("no puzzle is left: 4 of 4 rows below --min-difficulty, left out"),
        "{error}"
    );
    std::fs::write(args.files.train.as_ref().unwrap(), format!("{HEADER}{}", row("hard"))).unwrap();
    let error = open(&args).err().unwrap().to_string();
    assert!(
        error.ends_with(
            "train.csv:2: rating \"hard\" is not an integer, which --min-difficulty needs"
        ),
        "{error}"
    );
    args.min_difficulty = None;
    assert_eq!(names(&args), ["2"]);
}

#[test]
fn a_subsample_is_chosen_evenly_and_in_order() {
    let text = format!("{HEADER}{}", row("1").repeat(20));
    let (_folder, mut args) = file(&text);
    args.subsample = Some(5);
    let mut counts = [0; 20];
    for seed in 0..400 {
        let source = args.open(&mut BuildContext { seed, ..BuildContext::default() }).unwrap();
        assert_eq!(source.group_count, 5);
        let lines: Vec<usize> =
            source.groups(0..5).map(|group| group.unwrap().name.parse().unwrap()).collect();
        assert!(lines.is_sorted());
        lines.iter().for_each(|line| counts[line - 2] += 1);
        assert_eq!(source.notes, ["train.csv: 15 of 20 rows left out by --subsample"]);
    }
    // 100 each, with a standard deviation of 8.7.
    assert!(counts.iter().all(|count| (65..135).contains(count)), "{counts:?}");
    args.subsample = Some(30);
    let source = open(&args).unwrap();
    assert_eq!(
        (source.group_count, source.notes[0].as_str()),
        (20, "train.csv: --subsample 30 takes all 20")
    );
}

#[test]
fn groups_may_be_cut_anywhere() {
    let text = format!("{HEADER}{}", row("1").repeat(7));
    let (_folder, mut args) = file(&text);
    args.files.test = args.files.train.clone();
    args.num_aug = 1;
    let source = open(&args).unwrap();
    let names = |range| -> Vec<(Split, String)> {
        let groups = source.groups(range).map(|group| group.unwrap());
        groups
            .flat_map(|group| expand(&group).map(|p| (group.split, p.name)).collect::<Vec<_>>())
            .collect()
    };
    let whole = names(0..14);
    assert_eq!(whole.len(), 21);
    assert_eq!(
        whole[..3],
        [(Split::Train, "2".into()), (Split::Train, "2_a1".into()), (Split::Train, "3".into())]
    );
    assert_eq!(whole[20], (Split::Test, "8".into()));
    for cut in 0..=14 {
        for second in cut..=14 {
            let parts = [names(0..cut), names(cut..second), names(second..14)].concat();
            assert_eq!(parts, whole, "{cut} {second}");
        }
    }
}

#[test]
fn a_file_that_changes_is_noticed() {
    let (_folder, args) = file(&format!("{HEADER}{}{}", row("1"), row("2")));
    let source = open(&args).unwrap();
    std::fs::write(args.files.train.as_ref().unwrap(), format!("{HEADER}{}", row("1"))).unwrap();
    let groups: Vec<_> = source.groups(0..2).collect();
    assert_eq!(groups.len(), 1);
    is_changed(groups.into_iter().next().unwrap().err());
}

fn is_changed(error: Option<Error>) {
    let error = crate::error::Error::from(error.unwrap());
    assert_eq!(error.exit_code(), 75, "{error}");
    let text = error.to_string();
    assert!(text.ends_with("train.csv: was changed while it was read"), "{text}");
}

#[test]
fn a_file_that_is_replaced_by_another_good_one_is_noticed() {
    let text = format!("{HEADER}{}{}", row("1"), row("2"));
    let replace = |path: &Path| {
        let new = path.with_extension("new");
        std::fs::write(&new, &text).unwrap();
        std::fs::rename(&new, path).unwrap();
    };
    // Between hashing and reading.
    let (_folder, args) = file(&text);
    let path = args.files.train.clone().unwrap();
    replace(&path);
    let moved = text.clone();
    let opener: Opener = Arc::new(move |path| {
        let new = path.with_extension("new");
        std::fs::write(&new, &moved)?;
        std::fs::rename(&new, path)?;
        Ok(Box::new(std::fs::File::open(path)?))
    });
    is_changed(args.open(&mut BuildContext { opener, ..BuildContext::default() }).err());
    // Between the two readings, and during the second.
    let source = open(&args).unwrap();
    let mut groups = source.groups(0..2);
    assert!(groups.next().unwrap().is_ok());
    replace(&path);
    assert!(groups.next().unwrap().is_ok());
    is_changed(groups.next().unwrap().err());
    assert!(groups.next().is_none());
    is_changed(source.groups(0..2).next().unwrap().err());
}

#[test]
fn the_opener_is_used_and_the_file_is_hashed() {
    let (_folder, args) = file("packed");
    let text = format!("{HEADER}{}", row("1"));
    let opener: Opener = Arc::new(move |_| Ok(Box::new(std::io::Cursor::new(text.clone()))));
    let source = args.open(&mut BuildContext { opener, ..BuildContext::default() }).unwrap();
    assert_eq!(source.group_count, 1);
    let build = source.build();
    let expected = json!({
        "domain": "sudoku",
        "seed": 42,
        "parameters":
            {"num_aug": 0, "subsample": null, "min_difficulty": null, "unique": false},
        "inputs": [{
            "name": "train.csv",
            "bytes": 6,
            // printf packed | sha256sum
            "sha256": "88cb8a087b6e8cebfc9ae5602f5a2159a6bcf923e7f2c56809bcda6cad1727a7",
        }],
    });
    assert_eq!(build, expected);
}

#[test]
fn shuffles_keep_a_sudoku_a_sudoku() {
    let (inputs, labels) = encode(QUESTION.as_bytes(), ANSWER.as_bytes()).unwrap();
    let puzzle = [Example { split: Split::Train, inputs, labels }];
    let key = Key { seed: 42, domain: "sudoku", split: "train", group: "2" };
    for number in 1..=200 {
        let augmented = Sudoku.augment(&puzzle, key, number).unwrap();
        let example = &augmented.examples[0];
        assert_eq!(Sudoku.check(&example.inputs, &example.labels, None), []);
        assert!(is_unique(&example.inputs));
        let blanks = |tokens: &[i32]| tokens.iter().filter(|&&token| token == 1).count();
        assert_eq!(blanks(&example.inputs), blanks(&puzzle[0].inputs));
    }
}

#[test]
fn shuffles_reach_everything() {
    let key = Key { seed: 1, domain: "sudoku", split: "train", group: "2" };
    let cells: Vec<i32> = (0..81).collect();
    let mut transposed = 0;
    let mut first = std::collections::HashSet::new();
    for number in 0..2000 {
        let mut shuffle = Shuffle::draw(&mut key.draws(number));
        shuffle.tokens = [0; 11];
        transposed += u32::from(shuffle.transposed);
        let new: Vec<usize> = {
            let row = |i: usize| shuffle.rows[i];
            (0..81).map(|i| row(i / 9) * 9 + shuffle.columns[i % 9]).collect()
        };
        first.insert(new[0]);
        let mut sorted = new.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().zip(&cells).all(|(a, &b)| *a == b as usize));
    }
    assert_eq!(first.len(), 81);
    assert!((900..1100).contains(&transposed), "{transposed}");
}

#[test]
fn rules_name_the_place() {
    let (inputs, labels) = encode(QUESTION.as_bytes(), ANSWER.as_bytes()).unwrap();
    let find = |change: &dyn Fn(&mut Vec<i32>, &mut Vec<i32>)| {
        let (mut inputs, mut labels) = (inputs.clone(), labels.clone());
        change(&mut inputs, &mut labels);
        let found = Sudoku.check(&inputs, &labels, None);
        found.into_iter().map(|f| format!("{}: {}", f.rule.id, f.message)).collect::<Vec<_>>()
    };
    assert_eq!(find(&|_, _| ()), [""; 0]);
    assert_eq!(find(&|i, _| i[80] = 0), ["question: row 9 column 9: token 0 is not a cell value"]);
    assert_eq!(find(&|_, l| l[2] = 0), ["unlabelled: row 1 column 3: the answer is ignored"]);
    assert_eq!(find(&|_, l| l[2] = 1), ["answer: row 1 column 3: the answer is blank"]);
    assert_eq!(find(&|_, l| l[2] = 11), ["answer: row 1 column 3: the answer is token 11"]);
    assert_eq!(
        find(&|_, l| l.swap(0, 1)),
        [
            "given: row 1 column 1: the question has 5, the answer 3",
            "repeated: 5 appears twice in column 2 of the answer"
        ]
    );
    assert_eq!(find(&|i, _| i.truncate(80)), ["shape: 80 cells and 81 in the answer"]);
}
