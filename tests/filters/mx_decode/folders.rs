//! Which games are found under a folder, in which order, and which files have no partner.

use crate::games;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use games::{Folder, GameText};
use gristmill::format::raw_games::{Cause, Decoder, Error, Legality, list};
use gristmill::game2048::Game;

fn names(folder: &Folder) -> Vec<String> {
    let files = list(&[&folder.path]).unwrap();
    for (i, file) in files.iter().enumerate() {
        assert_eq!(file.run_id, i as u64);
    }
    files.iter().map(|file| file.name().to_str().unwrap().to_owned()).collect()
}

fn text(folder: &Folder, error: &Error) -> String {
    error.to_string().replace(&folder.path.display().to_string(), "DIR")
}

#[test]
fn games_come_in_the_order_of_their_path_components() {
    let folder = Folder::new();
    let game = GameText::played(1);
    for name in ["d6.y/a", "d6/z", "d6/b/c", "d6-x/a", "g", "g-1", "Z", "é", "d6/a", "d6/b.x"] {
        game.write(&folder, name);
    }
    folder.write("d6/readme.txt", b"");
    folder.write("d6/meta.json", b"");
    fs::create_dir(folder.path.join("empty.meta.json")).unwrap();
    assert_eq!(
        names(&folder),
        [
            "Z.meta.json",
            "d6/a.meta.json",
            "d6/b/c.meta.json",
            "d6/b.x.meta.json",
            "d6/z.meta.json",
            "d6-x/a.meta.json",
            "d6.y/a.meta.json",
            "g-1.meta.json",
            "g.meta.json",
            "é.meta.json",
        ]
    );
}

#[test]
fn several_roots_come_in_the_order_given() {
    let folder = Folder::new();
    for name in ["b/x", "a/y", "a/x"] {
        GameText::played(1).write(&folder, name);
    }
    let roots = [folder.path.join("b"), folder.path.join("a/")];
    let files = list(&roots).unwrap();
    let names: Vec<_> = files.iter().map(|file| file.name().to_str().unwrap()).collect();
    assert_eq!(names, ["x.meta.json", "x.meta.json", "y.meta.json"]);
    assert_eq!(files.iter().map(|file| file.run_id).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(files[1].steps(), folder.path.join("a/x.jsonl.gz"));
}

#[test]
fn files_that_do_not_pair_keep_their_place_and_are_named() {
    let folder = Folder::new();
    let game = GameText::played(1);
    for name in ["a", "b", "c", "d", "e"] {
        game.write(&folder, name);
    }
    let at = |name: &str| folder.path.join(name);
    fs::remove_file(at("b.jsonl.gz")).unwrap();
    fs::remove_file(at("c.meta.json")).unwrap();
    fs::copy(at("d.meta.json"), at("d.meta.json.gz")).unwrap();
    let files = list(&[&folder.path]).unwrap();
    let mut decoder = Decoder::new(Legality::Board);
    let results: Vec<Result<(), String>> = files
        .iter()
        .map(|file| {
            let result = decoder.decode(file, &mut Game::default());
            result.map_err(|error| {
                assert!(matches!(error.cause, Cause::Bad(_)));
                text(&folder, &error)
            })
        })
        .collect();
    assert_eq!(
        results,
        [
            Ok(()),
            Err("DIR/b.meta.json: its steps file DIR/b.jsonl.gz is missing".into()),
            Err("DIR/c.jsonl.gz: its metadata DIR/c.meta.json (or .gz) is missing".into()),
            Err("DIR/d.meta.json: the game has a second metadata file, DIR/d.meta.json.gz".into()),
            Ok(()),
        ]
    );
    fs::remove_file(at("d.meta.json")).unwrap();
    fs::remove_file(at("d.jsonl.gz")).unwrap();
    let files = list(&[&folder.path]).unwrap();
    assert_eq!(
        text(&folder, &files[3].check().unwrap_err()),
        "DIR/d.meta.json.gz: its steps file DIR/d.jsonl.gz is missing"
    );
}

#[test]
fn folders_without_games_are_errors() {
    let folder = Folder::new();
    let of = |path: PathBuf| text(&folder, &list(&[path]).unwrap_err());
    assert_eq!(of(folder.path.clone()), "no games under DIR");
    folder.write("a.txt", b"");
    assert_eq!(of(folder.path.join("a.txt")), "DIR/a.txt: not a folder");
    assert_eq!(of(folder.path.join("b")), "DIR/b: no such folder");
    GameText::played(1).write(&folder, "games/g");
    fs::create_dir(folder.path.join("none")).unwrap();
    let roots = [folder.path.join("games"), folder.path.join("none")];
    assert_eq!(text(&folder, &list(&roots).unwrap_err()), "no games under DIR/none");
}

#[test]
fn links_are_followed_and_cycles_refused() {
    let folder = Folder::new();
    let elsewhere = Folder::new();
    GameText::played(1).write(&elsewhere, "deep/g");
    GameText::played(1).write(&folder, "b/g");
    symlink(&elsewhere.path, folder.path.join("a")).unwrap();
    symlink(folder.path.join("b/g.meta.json"), folder.path.join("c.meta.json")).unwrap();
    symlink(folder.path.join("b/g.jsonl.gz"), folder.path.join("c.jsonl.gz")).unwrap();
    // The same folder twice, but not inside itself.
    symlink(folder.path.join("b"), folder.path.join("d")).unwrap();
    assert_eq!(
        names(&folder),
        ["a/deep/g.meta.json", "b/g.meta.json", "c.meta.json", "d/g.meta.json"]
    );
    symlink("..", folder.path.join("b/up")).unwrap();
    let error = list(&[&folder.path]).unwrap_err();
    assert!(matches!(error.cause, Cause::Cycle(_)));
    assert_eq!(
        text(&folder, &error),
        "DIR/b/up: the link leads back to DIR, a folder that it stands in"
    );
}

#[test]
fn a_link_that_leads_nowhere_is_named_when_it_is_read() {
    let folder = Folder::new();
    GameText::played(1).write(&folder, "a");
    fs::remove_file(folder.path.join("a.jsonl.gz")).unwrap();
    symlink("nowhere", folder.path.join("a.jsonl.gz")).unwrap();
    let files = list(&[&folder.path]).unwrap();
    let error = Decoder::new(Legality::Board).decode(&files[0], &mut Game::default()).unwrap_err();
    assert!(matches!(error.cause, Cause::Io(_)));
    assert!(text(&folder, &error).starts_with("DIR/a.jsonl.gz: No such file"), "{error}");
}
