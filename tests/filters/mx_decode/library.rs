//! Raw games through the library: which are found, in which order, and what a decoder makes of them.

use std::fs;

use gristmill::format::raw_games::{Cause, Decoder, Error, Legality, list};
use gristmill::game2048::{Game, StepRow};

use crate::games::{Folder, GameText, gzip};

/// Decodes the one game of a folder.
fn decode(folder: &Folder) -> Result<Game, Error> {
    let files = list(&[&folder.path])?;
    let mut game = Game::default();
    Decoder::new(Legality::Board).decode(&files[0], &mut game).map(|()| game)
}

/// The line at which a long file ends.
#[test]
fn the_line_of_a_cut_is_named() {
    let text = GameText::played(400);
    let bytes = gzip(&text.steps_bytes());
    let folder = Folder::new();
    text.write(&folder, "g");
    folder.write("g.jsonl.gz", &bytes[..bytes.len() / 2]);
    let error = decode(&folder).unwrap_err();
    assert!(matches!(error.cause, Cause::Bad(_)) && error.defect().is_some(), "{error:?}");
    assert!(error.line.is_some_and(|line| (50..400).contains(&line)), "{error}");
    assert!(error.to_string().ends_with(" broken gzip: the file ends inside it"), "{error}");
}

#[test]
fn several_members_are_one_game() {
    let text = GameText::played(300);
    let steps = text.steps_bytes();
    for parts in [2, 3, 7] {
        let folder = Folder::new();
        folder.write("g.meta.json.gz", &gzip(text.meta.as_bytes()));
        let members: Vec<u8> = steps.chunks(steps.len().div_ceil(parts)).flat_map(gzip).collect();
        folder.write("g.jsonl.gz", &members);
        assert_eq!(decode(&folder).unwrap().steps.len(), 300);
    }
    // Two equal members, an empty one at the end, and a last line without its newline.
    let folder = Folder::new();
    let mut twice = GameText::played(2);
    for step in &mut twice.steps {
        *step = step.split_once("\"max_rank\"").map(|(_, rest)| format!("{{\"x\"{rest}")).unwrap();
    }
    let one = gzip(format!("{}\n", twice.steps[0]).as_bytes());
    folder.write("g.meta.json", twice.meta.as_bytes());
    folder.write("g.jsonl.gz", &[&one[..], &one, &gzip(b"")].concat());
    assert_eq!(decode(&folder).unwrap().steps.len(), 2);
    let folder = Folder::new();
    text.write(&folder, "g");
    folder.write("g.jsonl.gz", &gzip(steps.trim_ascii_end()));
    assert_eq!(decode(&folder).unwrap().steps.len(), 300);
}

#[test]
fn a_streamed_game_equals_one_inflated_whole() {
    let text = GameText::played(30_000);
    let steps = text.steps_bytes();
    let (whole, streamed) = (Folder::new(), Folder::new());
    text.write(&whole, "g");
    text.write(&streamed, "g");
    let members: Vec<u8> = steps.chunks(steps.len() / 3).flat_map(gzip).collect();
    streamed.write("g.jsonl.gz", &members);
    let (whole, streamed) = (decode(&whole).unwrap(), decode(&streamed).unwrap());
    assert_eq!(whole.steps.len(), 30_000);
    assert_eq!(whole, streamed);
}

#[test]
fn games_at_the_edges() {
    // No steps at all; a seed of 2^64-1; 300 names of valuations.
    let mut text = GameText::played(0);
    text.meta = text.meta.replace("77", "18446744073709551615");
    let folder = Folder::new();
    text.write(&folder, "g");
    let game = decode(&folder).unwrap();
    assert_eq!((game.steps.len(), game.seed), (0, Some(u64::MAX)));

    let mut text = GameText::played(300);
    text.meta = text.meta.replace("77", "18446744073709551615");
    for (i, step) in text.steps.iter_mut().enumerate() {
        *step = step
            .replace("\"seed\":77", "\"seed\":18446744073709551615")
            .replace("\"search\"", &format!("\"name\\u0020{i}\""));
    }
    let folder = Folder::new();
    text.write(&folder, "g");
    let game = decode(&folder).unwrap();
    assert_eq!(game.valuation_names.len(), 300);
    assert_eq!(game.valuation_name(299), Some("name 299"));
    assert_eq!(game.steps.seed.get(299), Some(u64::MAX));
    let row = StepRow::of_step(&game, 0, 0, &[7; 300]).unwrap();
    assert_eq!(row.seed, u32::MAX);
}

#[test]
fn legality_is_the_boards_or_the_values() {
    let folder = Folder::new();
    folder.write(
        "g.meta.json",
        br#"{"seed":1,"num_moves":2,"score":4,"max_tile":4,"extra":[1, "a b"]}"#,
    );
    let board = "[1,1,0,0,2,3,0,0,0,0,0,0,0,0,0,0]";
    folder.write(
        "g.jsonl.gz",
        &gzip(
            format!(
                "{{\"move\":\"left\",\"valuation_type\":\"tuple11\",\"board\":{board},\
                 \"branch_evs\":{{\"up\":0.0,\"left\":1.5,\"right\":-0.0,\"down\":null}}}}\n\n \
                 {{\"move\":\"left\",\"board\":{board}}}"
            )
            .as_bytes(),
        ),
    );
    let files = list(&[&folder.path]).unwrap();
    let mut game = Game::default();
    Decoder::new(Legality::Board).decode(&files[0], &mut game).unwrap();
    // Up is illegal here: nothing above can move or merge.
    assert_eq!(game.steps.get(0).unwrap().ev_legal, Some(0b1100));
    assert_eq!(
        game.steps.get(0).map(|step| step.branch_evs),
        Some([None, None, Some(1.5), Some(-0.0)])
    );
    assert_eq!(game.steps.get(1).unwrap().ev_legal, Some(0));
    assert_eq!(game.valuation_names, ["tuple11", "search"]);
    assert_eq!(game.steps.valuation.get(0), None);
    let row = StepRow::of_step(&game, 0, 0, &[2, 0]).unwrap();
    assert_eq!(row.branch_evs.map(f32::to_bits), [0, 0, 1.5f32.to_bits(), (-0.0f32).to_bits()]);
    Decoder::new(Legality::Values).decode(&files[0], &mut game).unwrap();
    assert_eq!(game.steps.get(0).unwrap().ev_legal, Some(0b1101));
    assert_eq!(
        game.steps.get(0).map(|step| step.branch_evs),
        Some([Some(0.0), None, Some(1.5), Some(-0.0)])
    );
    assert_eq!(game.meta, "{\"extra\":[1,\"a b\"]}");
    assert_eq!((game.seed, game.num_moves, game.depth), (Some(1), Some(2), None));
    assert_eq!(game.source.as_deref(), Some("g.meta.json"));
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
    let files = list(&[&folder.path]).unwrap();
    let names: Vec<_> = files.iter().map(|file| file.name().to_str().unwrap()).collect();
    assert_eq!(
        names,
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
