//! Raw games through the library: the recorded ones follow the rules, and every defect has its name.
//!
//! `GRISTMILL_DATA` names the folder of recorded data; the tests that need it say when it is
//! not set.

use crate::games;

use std::fs;
use std::path::PathBuf;

use games::{Folder, GameText, gzip};
use gristmill::format::raw_games::{Cause, Decoder, Error, Legality, list};
use gristmill::game2048::{Game, StepRow};

fn data() -> Option<PathBuf> {
    let data = std::env::var_os("GRISTMILL_DATA").map(|data| PathBuf::from(data).join("macroxue"));
    if data.is_none() {
        println!("skipped: GRISTMILL_DATA is not set");
    }
    data
}

/// Every board of the recorded games leads to the next one, and the scores add up.
#[test]
fn recorded_games_follow_the_rules() {
    let Some(data) = data() else { return };
    let mut decoder = Decoder::new(Legality::Board);
    let mut game = Game::default();
    let mut steps = 0;
    for file in list(&[data.join("raw_bench")]).unwrap() {
        decoder.decode(&file, &mut game).unwrap_or_else(|error| panic!("{error}"));
        let mut score = 0;
        for i in 0..game.steps.len() {
            let step = game.steps.get(i).unwrap();
            let direction =
                gristmill::game2048::Direction::from_index(step.move_dir.unwrap()).unwrap();
            if let Some(next) = game.steps.board.get(i + 1) {
                assert!(next.follows(&step.board, direction), "{:?} step {i}", game.source);
            }
            let slide = step.board.slide(direction);
            score += u64::from(slide.gained);
            if i + 1 == game.steps.len() {
                let highest = slide.cells.iter().max().unwrap();
                assert_eq!(game.max_tile, Some(1 << highest), "{:?}", game.source);
            }
        }
        assert_eq!(game.score, Some(score), "{:?}", game.source);
        steps += game.steps.len();
    }
    assert_eq!(steps, 270_298);
}

/// Decodes the one game of a folder.
fn decode(folder: &Folder) -> Result<Game, Error> {
    let files = list(&[&folder.path])?;
    let mut game = Game::default();
    Decoder::new(Legality::Board).decode(&files[0], &mut game).map(|()| game)
}

/// The error of a folder's one game, with `DIR` for the folder.
fn error_text(folder: &Folder) -> String {
    let error = decode(folder).unwrap_err();
    assert!(matches!(error.cause, Cause::Bad(_)), "{error:?}");
    assert!(error.defect().is_some());
    error.to_string().replace(&folder.path.display().to_string(), "DIR")
}

fn of_change(change: impl FnOnce(&mut GameText)) -> String {
    let mut text = GameText::played(6);
    change(&mut text);
    let folder = Folder::new();
    text.write(&folder, "g");
    error_text(&folder)
}

/// The error after `from` is replaced by `to` in the third step.
fn of_step(from: &str, to: &str) -> String {
    of_change(|text| {
        assert!(text.steps[2].contains(from), "{}", text.steps[2]);
        text.steps[2] = text.steps[2].replacen(from, to, 1);
    })
}

#[test]
fn a_sound_game_is_read() {
    let folder = Folder::new();
    GameText::played(6).write(&folder, "g");
    let game = decode(&folder).unwrap();
    assert_eq!(game.steps.len(), 6);
    assert_eq!((game.seed, game.num_moves, game.depth), (Some(77), Some(6), Some(6)));
    assert_eq!(game.source.as_deref(), Some("g.meta.json"));
    assert_eq!(game.meta, "{\"game_index\":0}");
    assert_eq!(game.valuation_names, ["search"]);
}

#[test]
fn defects_of_boards_and_moves() {
    let place = "DIR/g.jsonl.gz:3: ";
    let board = |cells: &str| {
        of_change(|text| {
            let start = text.steps[2].find("\"board\":[").unwrap();
            let end = start + text.steps[2][start..].find(']').unwrap();
            text.steps[2].replace_range(start..=end, &format!("\"board\":{cells}"));
        })
    };
    let list = |n: usize, last: &str| format!("[{}{last}]", "1,".repeat(n - 1));
    assert_eq!(board(&list(15, "2")), format!("{place}`board` has 15 cells, not 16"));
    assert_eq!(board(&list(17, "2")), format!("{place}`board` has 17 cells, not 16"));
    assert_eq!(board("[]"), format!("{place}`board` has 0 cells, not 16"));
    for exponent in ["18", "19", "20", "117", "99999999999999999999"] {
        assert_eq!(
            board(&list(16, exponent)),
            format!("{place}`board` has exponent {exponent} in cell 15, over 17")
        );
    }
    for cell in ["-1", "1.5", "1e1"] {
        assert_eq!(
            board(&list(16, cell)),
            format!("{place}`board` is not a list of exponents: {cell}")
        );
    }
    assert_eq!(board("null"), format!("{place}`board` is not a list of 16 exponents: null"));
    assert_eq!(of_step("\"move\":\"", "\"move\":\"side"), {
        let step = &GameText::played(6).steps[2];
        let name = step.split("\"move\":\"").nth(1).unwrap().split('"').next().unwrap();
        format!("{place}unknown move \"side{name}\"")
    });
    assert_eq!(
        of_step("\"move\":\"", "\"move\":7,\"m\":\""),
        format!("{place}`move` is not a string: 7")
    );
    assert_eq!(of_step("\"move\":", "\"mov\":"), format!("{place}`move` is missing"));
    assert_eq!(of_step("\"board\":", "\"b\":"), format!("{place}`board` is missing"));
    let stuck = "[1,2,1,2,2,1,2,1,1,2,1,2,2,1,2,1]";
    let direction = of_change(|text| {
        let start = text.steps[2].find("\"board\":[").unwrap();
        let end = start + text.steps[2][start..].find(']').unwrap();
        text.steps[2].replace_range(start..=end, &format!("\"board\":{stuck}"));
        text.steps[2] = text.steps[2].replacen("\"max_rank\":", "\"x\":", 1);
    });
    assert!(direction.starts_with(&format!("{place}the board cannot move ")), "{direction}");
}

#[test]
fn defects_of_values() {
    let place = "DIR/g.jsonl.gz:3: ";
    let evs = |value: &str| {
        of_change(|text| {
            let start = text.steps[2].find("\"branch_evs\":").unwrap();
            text.steps[2].replace_range(start.., &format!("\"branch_evs\":{value}}}"));
        })
    };
    let left = |value: &str| evs(&format!("{{\"left\":{value}}}"));
    for value in ["1e39", "-3.5e38", "1e999", "340282366920938463463374607431768211456"] {
        assert_eq!(left(value), format!("{place}`branch_evs.left` overflows f32: {value}"));
    }
    for value in ["NaN", "Infinity", "-Infinity"] {
        assert_eq!(left(value), format!("{place}`branch_evs.left` is no finite number: {value}"));
    }
    for value in ["\"1\"", "[]", "true"] {
        assert_eq!(left(value), format!("{place}`branch_evs.left` is not a number: {value}"));
    }
    assert_eq!(evs("[1,2,3,4]"), format!("{place}`branch_evs` is not an object: [1,2,3,4]"));
    assert_eq!(evs("{\"up\":1,\"up\":1}"), format!("{place}`branch_evs.up` stands twice"));
    assert_eq!(
        of_step("\"valuation\":", "\"valuation\":1e999,\"v\":"),
        format!("{place}`valuation` is no finite number: 1e999")
    );
    assert_eq!(
        of_step("\"valuation_type\":", "\"valuation_type\":1,\"v\":"),
        format!("{place}`valuation_type` is not a string: 1")
    );
}

#[test]
fn defects_of_numbering_and_of_the_sidecar() {
    let place = "DIR/g.jsonl.gz:3: ";
    assert_eq!(
        of_step("\"step_index\":2", "\"step_index\":4"),
        format!("{place}step_index jumps to 4 where 2 follows")
    );
    assert_eq!(
        of_step("\"step_index\":2", "\"step_index\":0"),
        format!("{place}step_index jumps to 0 where 2 follows")
    );
    assert_eq!(
        of_step("\"step_index\":2", "\"step_index\":1"),
        format!("{place}step_index 1 repeats")
    );
    assert_eq!(
        of_step("\"step_index\":2", "\"step_index\":-2"),
        format!("{place}`step_index` is not an unsigned integer: -2")
    );
    assert_eq!(
        of_change(
            |text| text.steps[0] = text.steps[0].replace("\"step_index\":0", "\"step_index\":1")
        ),
        "DIR/g.jsonl.gz:1: the first step_index is 1, not 0"
    );
    assert_eq!(
        of_change(|text| text.steps[0] =
            text.steps[0].replace("\"step_index\":0", "\"step_index\":18446744073709551615")),
        "DIR/g.jsonl.gz:1: the first step_index is 18446744073709551615, not 0"
    );
    assert_eq!(
        of_step("\"seed\":77", "\"seed\":78"),
        format!("{place}seed 78 is not the metadata's 77")
    );
    assert_eq!(
        of_step("\"seed\":77", "\"seed\":1.5"),
        format!("{place}`seed` is not an unsigned integer: 1.5")
    );
    assert_eq!(of_step("\"max_rank\":", "\"max_rank\":1"), {
        let step = &GameText::played(6).steps[2];
        let rank = step.split("\"max_rank\":").nth(1).unwrap().split(',').next().unwrap();
        format!("{place}max_rank 1{rank} is not the board's {rank}")
    });
    assert_eq!(
        of_change(|text| text.meta = text.meta.replace("\"num_moves\":6", "\"num_moves\":5")),
        "DIR/g.jsonl.gz:6: more steps than the metadata's num_moves, 5"
    );
    assert_eq!(
        of_change(|text| text.meta = text.meta.replace("\"num_moves\":6", "\"num_moves\":7")),
        "DIR/g.jsonl.gz:6: 6 steps, but the metadata's num_moves is 7"
    );
    assert_eq!(
        of_change(|text| text.meta = text.meta.replace("\"score\"", "\n\"skore\"")),
        "DIR/g.meta.json:2: `score` is missing"
    );
}

#[test]
fn defects_of_json() {
    let place = "DIR/g.jsonl.gz:3: broken JSON: ";
    assert_eq!(
        of_step("{\"seed\":77,", "{\"seed\":77;"),
        format!("{place}expected `,` or `}}` at byte 10")
    );
    assert_eq!(
        of_change(|text| text.steps[2] = "[]".into()),
        format!("{place}expected an object at byte 0")
    );
    assert_eq!(
        of_change(|text| text.steps[2].push('x')).split(" at byte").next().unwrap(),
        format!("{place}expected the end")
    );
    assert_eq!(
        of_step("\"step_index\":2", "\"step_index\":02").split(" at byte").next().unwrap(),
        format!("{place}expected `,` or `}}`")
    );
    assert_eq!(
        of_step("\"seed\":77", "\"seed\":77,\"seed\":77"),
        "DIR/g.jsonl.gz:3: `seed` stands twice"
    );
    let cut = of_change(|text| {
        let length = text.steps[5].len();
        text.steps[5].truncate(length - 2);
    });
    assert!(cut.starts_with("DIR/g.jsonl.gz:6: broken JSON: "), "{cut}");
    let folder = Folder::new();
    let mut text = GameText::played(6);
    text.steps[2] = text.steps[2].replacen("{", "{\"x\":\"\u{fe}\",", 1);
    let steps = text.steps_bytes().into_iter().filter(|&byte| byte != 0xc3).collect::<Vec<_>>();
    folder.write("g.meta.json", text.meta.as_bytes());
    folder.write("g.jsonl.gz", &gzip(&steps));
    assert_eq!(error_text(&folder), format!("{place}the text is not UTF-8"));
}

#[test]
fn defects_of_gzip() {
    let text = GameText::played(400);
    let bytes = gzip(&text.steps_bytes());
    let of_bytes = |steps: &[u8]| {
        let folder = Folder::new();
        folder.write("g.meta.json", text.meta.as_bytes());
        folder.write("g.jsonl.gz", steps);
        error_text(&folder)
    };
    let cut = of_bytes(&bytes[..bytes.len() / 2]);
    let (place, cause) = cut.split_once(" broken gzip: ").unwrap();
    let line: u64 =
        place.strip_prefix("DIR/g.jsonl.gz:").unwrap().trim_end_matches(':').parse().unwrap();
    assert!((50..400).contains(&line), "{cut}");
    assert_eq!(cause, "the file ends inside it");
    for end in [0, 1, 9, 10, bytes.len() - 8, bytes.len() - 4, bytes.len() - 1] {
        let error = of_bytes(&bytes[..end]);
        assert!(error.ends_with("broken gzip: the file ends inside it"), "{end}: {error}");
    }
    let mut changed = bytes.clone();
    let crc = bytes.len() - 8;
    changed[crc] ^= 1;
    let error = of_bytes(&changed);
    assert!(
        error.starts_with("DIR/g.jsonl.gz:401: broken gzip: ") && error.contains("checksum"),
        "{error}"
    );
    let mut changed = bytes.clone();
    changed[bytes.len() - 4] ^= 1;
    assert!(of_bytes(&changed).contains("broken gzip: "));
    let garbage = [&bytes[..], b"garbage, long enough for a header"].concat();
    assert!(of_bytes(&garbage).starts_with("DIR/g.jsonl.gz:401: broken gzip: "));
    assert!(of_bytes(&text.steps_bytes()).starts_with("DIR/g.jsonl.gz:1: broken gzip: "));
    let second = [&bytes[..], &bytes[..bytes.len() / 2]].concat();
    assert_eq!(of_bytes(&second), "DIR/g.jsonl.gz:401: step_index jumps to 0 where 400 follows");
    // A sidecar may be compressed and damaged too.
    let folder = Folder::new();
    folder.write("g.meta.json.gz", &gzip(text.meta.as_bytes())[..20]);
    folder.write("g.jsonl.gz", &bytes);
    assert_eq!(error_text(&folder), "DIR/g.meta.json.gz:1: broken gzip: the file ends inside it");
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

    let large = Folder::new();
    let text = GameText::played(1);
    text.write(&large, "g");
    large.write("g.meta.json", format!("{}{}", " ".repeat(17 << 20), text.meta).as_bytes());
    assert_eq!(error_text(&large), "DIR/g.meta.json: metadata of more than 16777216 bytes");
    large.write("g.meta.json", b"");
    large.write("g.meta.json.gz", b"");
    fs::remove_file(large.path.join("g.meta.json")).unwrap();
    large.write("g.meta.json.gz", &gzip(&vec![b' '; 17 << 20]));
    assert_eq!(error_text(&large), "DIR/g.meta.json.gz: metadata of more than 16777216 bytes");
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
}
