//! ARC's tests: the canvas, augmentation, placing, and folders of tasks.

use super::*;
use crate::error::Kind;
use crate::puzzle::testing::Folder;
use crate::puzzle::{RejectedInput, expand};

fn grid(rows: &[&[u8]]) -> Grid {
    Grid { rows: rows.len(), columns: rows[0].len(), cells: rows.concat() }
}

#[test]
fn what_is_no_canvas() {
    let good = grid(&[&[1, 2], &[3, 4]]).encode(2, 3);
    let cause = |at: usize, token: i32| {
        let mut canvas = good.clone();
        canvas[at] = token;
        Grid::decode(&canvas).unwrap_err()
    };
    assert_eq!(Grid::decode(&[0; CELLS]).unwrap_err(), "no grid");
    assert_eq!(Grid::decode(&[0; 3]).unwrap_err(), "3 cells, expected 900");
    assert_eq!(
        cause(3 * SIDE + 4, 0),
        "row 3 column 4: token 0, expected 2 for a grid of 2 x 2 at row 2 column 3"
    );
    // A missing and a surplus EOS, a filled corner, a colour elsewhere, tokens out of range.
    assert!(cause(4 * SIDE + 3, 0).starts_with("row 4 column 3: token 0, expected 1"));
    assert!(cause(0, 1).starts_with("row 0 column 0: token 1, expected 0"));
    assert!(cause(4 * SIDE + 5, 1).starts_with("row 4 column 5: token 1, expected 0"));
    assert!(cause(899, 2).starts_with("row 29 column 29: token 2, expected 0"));
    assert!(cause(3 * SIDE + 4, i32::MIN).contains("token -2147483648, expected"));
    assert!(cause(3 * SIDE + 4, 12).contains("token 12, expected"));
}

#[test]
fn rules() {
    let one = grid(&[&[1, 2]]);
    let find = |inputs: &[i32], labels: &[i32], split| -> Vec<String> {
        let found = Arc.check(inputs, labels, split);
        found.into_iter().map(|f| format!("{}: {}", f.rule.id, f.message)).collect()
    };
    let (origin, moved) = (one.encode(0, 0), one.encode(2, 3));
    assert_eq!(find(&origin, &origin, Some(Split::Test)), [""; 0]);
    assert_eq!(find(&moved, &moved, Some(Split::Train)), [""; 0]);
    assert_eq!(
        find(&moved, &moved, Some(Split::Test)),
        ["test_offset: the grids are at [2, 3] in test"]
    );
    assert_eq!(find(&origin, &moved, None), ["offset: input at [0, 0], output at [2, 3]"]);
    assert_eq!(find(&origin, &[0; CELLS], None), ["grid: output: no grid"]);
    assert_eq!(find(&[0; 9], &origin, None), ["shape: 9 cells and 900 in the output"]);
}

#[test]
fn decodes_and_draws() {
    let canvas = grid(&[&[1, 0], &[3, 9]]).encode(4, 5);
    assert_eq!(
        Arc.decode(Side::Inputs, &canvas),
        Ok(json!({"offset": [4, 5], "grid": [[1, 0], [3, 9]]}))
    );
    let picture = Arc.picture(Side::Inputs, &canvas, &canvas).unwrap();
    assert_eq!(picture.text(), "1 0 ·\n3 9 ·\n· · _");
    let Picture::Grid(drawn) = picture else { panic!("no grid") };
    assert_eq!(drawn.cells[4].colour, Some(9));
    assert_eq!(drawn.note.unwrap(), "2 x 2 at row 4 column 5 of 30 x 30");
    // What is no grid is drawn as it is.
    let mut broken = canvas.clone();
    broken[0] = 77;
    let Picture::Grid(drawn) = Arc.picture(Side::Inputs, &broken, &broken).unwrap() else {
        panic!()
    };
    assert_eq!((drawn.columns, drawn.cells.len()), (8, 7 * 8));
    assert_eq!(drawn.cells[0], Cell::wrong(77));
    assert!(Arc.picture(Side::Inputs, &[2; 4], &canvas).is_none());
}

fn open(dirs: &[PathBuf], num_aug: u64) -> Result<PuzzleSource> {
    ArcArgs { dirs: dirs.to_vec(), num_aug, ..ArcArgs::default() }
        .open(&mut BuildContext::default())
}

/// Split, group and puzzle of each example.
fn examples(source: &PuzzleSource) -> Vec<(Split, String, String, Example)> {
    let mut made = Vec::new();
    for group in source.groups(0..source.group_count) {
        let group = group.unwrap();
        for puzzle in expand(&group) {
            for example in puzzle.examples {
                made.push((example.split, group.name.clone(), puzzle.name.clone(), example));
            }
        }
    }
    made
}

const PAIR: &str = r#"{"input": [[1, 2]], "output": [[3]]}"#;

fn task(name: &str) -> String {
    format!(r#"{{{name} "train": [{PAIR}, {PAIR}], "test": [{PAIR}]}}"#)
}

#[test]
fn splits_names_and_order() {
    let root = Folder::with(&[
        ("evaluation/b.json", &task("")),
        ("evaluation/z.json", &task(r#""name": "a","#)),
        ("training/c.json", &task("")),
        ("training/readme.txt", "no task"),
        ("training/.hidden.json", "no task"),
    ]);
    let source = open(&[root.path().into()], 1).unwrap();
    let made: Vec<_> = examples(&source)
        .into_iter()
        .map(|(split, group, puzzle, _)| {
            (split.name(), group.clone(), puzzle == group, Arc.identifier(&puzzle) == puzzle)
        })
        .collect();
    let expect = |split, group: &str, count: usize| {
        [
            vec![(split, group.to_string(), true, true); count],
            vec![(split, group.to_string(), false, true); count],
        ]
        .concat()
    };
    let expected = [
        expect("train", "a", 2),
        expect("train", "b", 2),
        expect("train", "c", 3),
        expect("test", "a", 1),
        expect("test", "b", 1),
    ]
    .concat();
    assert_eq!(made, expected);
    assert_eq!(source.group_count, 5);
    let inputs: Vec<_> = source.inputs.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(inputs, ["evaluation/z.json", "evaluation/b.json", "training/c.json"]);
    // The folders one by one, in another order, are the same.
    let parts = [root.join("training"), root.join("evaluation/.")];
    let again = open(&parts, 1).unwrap();
    assert_eq!(examples(&again), examples(&source));
    assert_eq!(again.build(), source.build());
    // One file.
    let one = open(&[root.join("evaluation/b.json")], 0).unwrap();
    assert_eq!(one.group_count, 2);
}

/// A folder is the evaluation set by the name that is given or by the name to which links lead.
#[test]
fn links_to_and_from_evaluation_count() {
    let root = Folder::with(&[
        ("store/v1/a.json", &task("")),
        ("raw/evaluation/b.json", &task("")),
        ("other/c.json", &task("")),
        ("single/evaluation/d.json", &task("")),
    ]);
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(root.join(from), root.join(to)).unwrap();
    };
    link("store/v1", "evaluation");
    link("raw/evaluation", "v2");
    link("raw/evaluation", "other/v2");
    link("store/v1/a.json", "single/evaluation/a.json");
    let tests = |given: &str| {
        let made = examples(&open(&[root.join(given)], 0).unwrap());
        made.iter().filter(|(split, ..)| *split == Split::Test).count()
    };
    for (given, count) in [
        ("evaluation", 1),
        ("evaluation/", 1),
        ("other/../evaluation/.", 1),
        ("evaluation/a.json", 1),
        ("single/evaluation/a.json", 1),
        ("single", 2),
        ("v2", 1),
        ("v2/b.json", 1),
        ("other", 1),
        ("store", 0),
        ("store/v1/a.json", 0),
    ] {
        assert_eq!(tests(given), count, "{given}");
    }
}

#[test]
fn both_splits_share_augmentations() {
    let root = Folder::with(&[("evaluation/b.json", &task(""))]);
    let source = open(&[root.path().into()], 4).unwrap();
    let names = |split| -> Vec<String> {
        let mut names: Vec<_> =
            examples(&source).into_iter().filter(|e| e.0 == split).map(|e| e.2).collect();
        names.dedup();
        names
    };
    assert_eq!(names(Split::Train), names(Split::Test));
    assert_eq!(names(Split::Train).len(), 5);
}

#[test]
fn bad_folders_say_why() {
    let text = |dirs: &[PathBuf], root: &Folder| root.strip(open(dirs, 0).err().expect("an error"));
    let root = Folder::with(&[("a/x.json", &task("")), ("b/x.json", &task("")), ("c/d", "")]);
    assert_eq!(text(&[root.path().into()], &root), "ROOT/b/x.json: task x is in ROOT/a/x.json too");
    assert_eq!(
        text(&[root.join("b"), root.join("a")], &root),
        "ROOT/b/x.json: task x is in ROOT/a/x.json too"
    );
    assert_eq!(text(&[root.join("c")], &root), "ROOT/c: no .json file in it");
    std::os::unix::fs::symlink("..", root.join("c/up")).unwrap();
    assert_eq!(
        text(&[root.join("c")], &root),
        "ROOT/c/up/c/up: the link leads back to ROOT/c/up, a folder that it stands in"
    );
    let missing = open(&[root.join("none")], 0).err().unwrap();
    assert!(matches!(&missing, Error::Outside(error) if error.kind() == Kind::Usage));
    assert_eq!(root.strip(missing), "ROOT/none: No such file or directory");
    assert!(matches!(open(&[], 0), Err(Error::Usage(_))));
}

#[test]
fn rejected_tasks_are_left_out() {
    // Of a task that stands twice the second.
    let root = Folder::with(&[("t/a.json", &task("")), ("u/a.json", &task("")), ("u/b.json", "{")]);
    let mut rejected = Vec::new();
    let mut take = |bad: RejectedInput| {
        rejected.push(format!("{}: {}", bad.place, bad.cause));
        Ok(())
    };
    let args = ArcArgs { dirs: vec![root.path().into()], ..ArcArgs::default() };
    let mut build = BuildContext { rejects: Some(&mut take), ..BuildContext::default() };
    let source = args.open(&mut build).unwrap();
    assert_eq!((source.group_count, source.notes), (1, vec!["2 malformed tasks, left out".into()]));
    assert_eq!(rejected.len(), 2);
    assert!(rejected[0].ends_with("b.json:1:1: EOF while parsing an object"), "{rejected:?}");
    assert!(rejected[1].ends_with("t/a.json too"), "{rejected:?}");
}
