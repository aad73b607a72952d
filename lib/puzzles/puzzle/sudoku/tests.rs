//! Sudoku's tests, and through it tests of the CSV sources.

use super::*;
use crate::puzzle::testing::Folder;
use crate::puzzle::{Error, Opener, expand};
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
