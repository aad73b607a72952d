//! Raw games that are refused: every defect that a game can have, by its file and its line, and what
//! the pipeline makes of the others.

use std::fs;
use std::path::Path;

use crate::common::{Outcome, TempDir, bash, tool};
use crate::games::{Folder, GameText, gzip};

/// Bytes of the header of every pack of ours.
const HEADER: usize = 384;

/// mx-decode and npy-pack in a pipe, with flags for each.
fn pack(decode: &str, pack: &str) -> Outcome {
    bash(&format!("set -o pipefail; mx-decode {decode} | npy-pack {pack}"))
}

/// What mx-decode and the pipeline make of a folder in which the game `b`, between two good ones, is
/// bad: the place and the cause are named, and with `--on-error skip` the others are packed.
#[track_caller]
fn assert_game_b_is_refused(folder: &Folder, said: &str) {
    GameText::played(4).write(folder, "a");
    GameText::played(2).write(folder, "c");
    let raw = folder.path.display().to_string();
    let line = format!("mx-decode: {raw}/{said}");
    for jobs in ["1", "2"] {
        let run = tool("mx-decode").args(&[&raw, "-j", jobs]).run();
        run.fails(1, &[&line.replace("DIR", &raw)]);
    }
    let out = TempDir::new();
    let rejects = out.at("rejects.ndjson");
    let flags = ["--on-error", "skip", "--rejects", &rejects];
    let run = tool("mx-decode").args(&[&raw]).args(&flags).run().ok();
    assert!(run.stderr.starts_with("mx-decode: 1 bad record dropped"), "{run:?}");
    let ids: Vec<_> = run.records().iter().map(|game| game["run_id"].as_u64()).collect();
    assert_eq!(ids, [Some(0), Some(2)], "{said}");
    assert_eq!(out.json("rejects.ndjson")["input"]["run_id"], 1);
    // Nothing of a failed run is published, and the runs of what is left are renumbered.
    let to = out.at("pack");
    let failed = pack(&format!("{raw} --to arrow"), &format!("-o {to}"));
    assert!(matches!(failed.code(), Some(1 | 75)), "{failed:?}");
    assert!(!Path::new(&to).exists(), "{said}");
    pack(&format!("{raw} --to arrow --on-error skip -q"), &format!("-o {to}")).ok();
    let rows = out.read("pack/steps.npy");
    assert_eq!(rows.len(), HEADER + 6 * 48);
    assert_eq!(rows[rows.len() - 48], 1, "the second run");
}

/// Every defect of a game's text: how it is made, its line, and the message.
#[test]
fn defects_are_named_by_file_and_line() {
    type Edit = fn(&mut GameText);
    fn edit(game: &mut GameText, line: usize, from: &str, to: &str) {
        let edited = game.steps[line].replacen(from, to, 1);
        assert_ne!(edited, game.steps[line], "{from}");
        game.steps[line] = edited;
    }
    fn meta(game: &mut GameText, from: &str, to: &str) {
        let edited = game.meta.replacen(from, to, 1);
        assert_ne!(edited, game.meta, "{from}");
        game.meta = edited;
    }
    const STUCK: &str = r#"{"move":"up","board":[1,2,3,4,0,0,0,0,0,0,0,0,0,0,0,0]}"#;
    let cases: [(Edit, &str); 34] = [
        (|g| edit(g, 2, "\"board\":[", "\"board\":[0,"), "jsonl.gz:3: `board` has 17 cells"),
        (|g| edit(g, 1, "\"board\":[", "\"board\":[18,"), "jsonl.gz:2: `board` has"),
        (|g| g.steps[2] = STUCK.to_string(), "jsonl.gz:3: the board cannot move up"),
        (|g| g.steps[2] = STUCK.replace("up", "UP"), "jsonl.gz:3: unknown move \"UP\""),
        (|g| edit(g, 0, "\"move\":\"", "\"move\":\"x"), "jsonl.gz:1: unknown move \"x"),
        (|g| edit(g, 0, "\"move\":", "\"x\":"), "jsonl.gz:1: `move` is missing"),
        (|g| edit(g, 0, "\"move\":", "\"move\":7,\"x\":"), "jsonl.gz:1: `move` is not a string: 7"),
        (|g| edit(g, 0, "\"board\":", "\"x\":"), "jsonl.gz:1: `board` is missing"),
        (|g| edit(g, 1, "null", "1e39"), "jsonl.gz:2: `branch_evs.right` overflows f32: 1e39"),
        (|g| edit(g, 1, "null", "-1e400"), "jsonl.gz:2: `branch_evs.right` overflows f32: -1e400"),
        (|g| edit(g, 3, "null", "NaN"), "jsonl.gz:4: `branch_evs.right` is no finite number: NaN"),
        (|g| drop(g.steps.remove(0)), "jsonl.gz:1: the first step_index is 1, not 0"),
        (|g| drop(g.steps.remove(1)), "jsonl.gz:2: step_index jumps to 2 where 1 follows"),
        (
            |g| edit(g, 2, "index\":2", "index\":0"),
            "jsonl.gz:3: step_index jumps to 0 where 2 foll",
        ),
        (|g| g.steps[2] = g.steps[1].clone(), "jsonl.gz:3: step_index 1 repeats"),
        (|g| edit(g, 2, "\"seed\":77", "\"seed\":78"), "jsonl.gz:3: seed 78 is not the meta"),
        (|g| edit(g, 0, "\"max_rank\":", "\"max_rank\":1"), "jsonl.gz:1: max_rank 1"),
        (|g| drop(g.steps.pop()), "jsonl.gz:3: 3 steps, but the metadata's num_moves is 4"),
        (|g| g.steps.clear(), "jsonl.gz:1: 0 steps, but the metadata's num_moves is 4"),
        (|g| meta(g, "moves\":4", "moves\":2"), "jsonl.gz:3: more steps than the metadata's num"),
        (|g| edit(g, 3, "{", "{{"), "jsonl.gz:4: broken JSON"),
        (|g| edit(g, 3, "77,", "77;"), "jsonl.gz:4: broken JSON: expected `,` or `}` at byte 10\n"),
        (|g| edit(g, 3, "}}", "}}}"), "jsonl.gz:4: broken JSON: expected the end"),
        (|g| edit(g, 3, "}}", "}"), "jsonl.gz:4: broken JSON"),
        (|g| edit(g, 3, "index\":3", "index\":03"), "jsonl.gz:4: broken JSON: expected `,` or `}`"),
        (
            |g| g.steps.insert(1, "[]".into()),
            "jsonl.gz:2: broken JSON: expected an object at byte 0",
        ),
        (|g| edit(g, 2, "77", "77,\"seed\":77"), "jsonl.gz:3: `seed` stands twice"),
        (|g| meta(g, "score", "scor"), "meta.json:1: `score` is missing"),
        (|g| meta(g, "\"score\"", "\n\"scor\""), "meta.json:2: `score` is missing"),
        (
            |g| meta(g, "\"num_moves\":4", "\"num_moves\":\"4\""),
            "meta.json:1: `num_moves` is not an",
        ),
        (|g| meta(g, "max_tile\":2048", "max_tile\":null"), "meta.json:1: `max_tile` is not an"),
        (|g| meta(g, "seed\":77", "seed\":18446744073709551616"), "meta.json:1: `seed` is not an"),
        (|g| meta(g, ",", ",\n,"), "meta.json:2: broken JSON"),
        (
            |g| meta(g, "{", &" ".repeat(17 << 20)),
            "meta.json: metadata of more than 16777216 bytes",
        ),
    ];
    for (damage, said) in cases {
        let folder = Folder::new();
        let mut game = GameText::played(4);
        damage(&mut game);
        game.write(&folder, "b");
        assert_game_b_is_refused(&folder, &format!("b.{said}"));
    }
}

/// Values of a step that are none: the member, what it is instead, and the message.
#[test]
fn values_of_steps_are_named() {
    let sixteen = |last: &str| format!("[{}{last}]", "1,".repeat(15));
    let cases = [
        ("board", "[]", "`board` has 0 cells, not 16"),
        ("board", &sixteen("2").replacen("1,", "", 1), "`board` has 15 cells, not 16"),
        ("board", &sixteen("1,2"), "`board` has 17 cells, not 16"),
        ("board", "null", "`board` is not a list of 16 exponents: null"),
        ("branch_evs", "[1,2,3,4]", "`branch_evs` is not an object: [1,2,3,4]"),
        ("branch_evs", "{\"up\":1,\"up\":1}", "`branch_evs.up` stands twice"),
        ("valuation", "1e999", "`valuation` is no finite number: 1e999"),
        ("valuation_type", "1", "`valuation_type` is not a string: 1"),
        ("step_index", "-2", "`step_index` is not an unsigned integer: -2"),
        ("step_index", "4", "step_index jumps to 4 where 2 follows"),
        ("seed", "-77", "`seed` is not an unsigned integer: -77"),
        ("seed", "1.5", "`seed` is not an unsigned integer: 1.5"),
    ];
    let mut cases: Vec<(&str, String, String)> =
        cases.map(|(name, value, said)| (name, value.to_string(), said.to_string())).into();
    for exponent in ["18", "19", "20", "117", "99999999999999999999"] {
        let said = format!("`board` has exponent {exponent} in cell 15, over 17");
        cases.push(("board", sixteen(exponent), said));
    }
    for cell in ["-1", "1.5", "1e1"] {
        cases.push(("board", sixteen(cell), format!("`board` is not a list of exponents: {cell}")));
    }
    for (values, said) in [
        ("-3.5e38 1e999 340282366920938463463374607431768211456", "overflows f32"),
        ("Infinity -Infinity", "is no finite number"),
        ("\"1\" [] true", "is not a number"),
    ] {
        for value in values.split(' ') {
            let said = format!("`branch_evs.left` {said}: {value}");
            cases.push(("branch_evs", format!("{{\"left\":{value}}}"), said));
        }
    }
    for (name, value, said) in cases {
        let folder = Folder::new();
        let mut game = GameText::played(4);
        // The member stands first, and what it was has a name that means nothing.
        let others = game.steps[2].replace(&format!("\"{name}\":"), "\"other\":");
        game.steps[2] = format!("{{\"{name}\":{value},{}", &others[1..]);
        game.write(&folder, "b");
        assert_game_b_is_refused(&folder, &format!("b.jsonl.gz:3: {said}\n"));
    }
}

#[test]
fn files_that_do_not_pair_and_broken_gzip_are_named() {
    let check = |damage: &dyn Fn(&Folder, Vec<u8>), said: &str| {
        let folder = Folder::new();
        GameText::played(3).write(&folder, "b/g");
        let steps = fs::read(folder.path.join("b/g.jsonl.gz")).unwrap();
        damage(&folder, steps);
        assert_game_b_is_refused(&folder, said);
    };
    let remove = |folder: &Folder, name: &str| fs::remove_file(folder.path.join(name)).unwrap();
    let meta = GameText::played(3).meta;
    let changed = |mut bytes: Vec<u8>, from_end: usize| {
        let at = bytes.len() - from_end;
        bytes[at] ^= 1;
        bytes
    };
    let bad_crc = |bytes: Vec<u8>| changed(bytes, 8);
    check(
        &|f, _| remove(f, "b/g.jsonl.gz"),
        "b/g.meta.json: its steps file DIR/b/g.jsonl.gz is missing",
    );
    check(
        &|f, _| remove(f, "b/g.meta.json"),
        "b/g.jsonl.gz: its metadata DIR/b/g.meta.json (or .gz) is missing",
    );
    check(
        &|f, _| f.write("b/g.meta.json.gz", &gzip(meta.as_bytes())),
        "b/g.meta.json: the game has a second metadata file, DIR/b/g.meta.json.gz",
    );
    let rest = "broken gzip: the file ends inside it";
    for left in [1, 4, 8, 9] {
        check(
            &|f, steps| f.write("b/g.jsonl.gz", &steps[..steps.len() - left]),
            &format!("b/g.jsonl.gz:4: {rest}"),
        );
    }
    for begun in [0, 1, 9, 10] {
        check(
            &|f, steps| f.write("b/g.jsonl.gz", &steps[..begun]),
            &format!("b/g.jsonl.gz:1: {rest}"),
        );
    }
    let plain = GameText::played(3).steps_bytes();
    check(&|f, _| f.write("b/g.jsonl.gz", &plain), "b/g.jsonl.gz:1: broken gzip");
    check(&|f, steps| f.write("b/g.jsonl.gz", &bad_crc(steps)), "b/g.jsonl.gz:4: broken gzip");
    let bad_length = |f: &Folder, steps| f.write("b/g.jsonl.gz", &changed(steps, 4));
    check(&bad_length, "b/g.jsonl.gz:4: broken gzip");
    // A steps file that is not UTF-8.
    let text = String::from_utf8(plain.clone()).unwrap().replacen("77", "7\u{e9}", 1);
    let text: Vec<u8> = text.into_bytes().into_iter().filter(|&byte| byte != 0xc3).collect();
    check(
        &|f, _| f.write("b/g.jsonl.gz", &gzip(&text)),
        "b/g.jsonl.gz:1: broken JSON: the text is not UTF-8",
    );
    // The second member has the defect.
    let members = |second: Vec<u8>| [gzip(&plain[..70]), second].concat();
    let second = || gzip(&plain[70..]);
    let cut = second().len() - 9;
    let place = "b/g.jsonl.gz:4: broken gzip";
    let twice = [gzip(&plain), gzip(&plain)].concat();
    check(
        &|f, _| f.write("b/g.jsonl.gz", &twice),
        "b/g.jsonl.gz:4: step_index jumps to 0 where 3 follows",
    );
    check(&|f, _| f.write("b/g.jsonl.gz", &members(bad_crc(second()))), place);
    check(&|f, _| f.write("b/g.jsonl.gz", &members(second()[..cut].to_vec())), place);
    check(
        &|f, _| f.write("b/g.jsonl.gz", &members(b"no gzip at all".to_vec())),
        "b/g.jsonl.gz:1: broken gzip: there are other bytes behind the gzip data",
    );
    let behind = |other: &[u8]| [&gzip(&plain)[..], other].concat();
    check(
        &|f, _| f.write("b/g.jsonl.gz", &behind(b"\0\0junk")),
        "b/g.jsonl.gz:4: broken gzip: there are other bytes behind the gzip data",
    );
    // The metadata's gzip.
    let packed = gzip(meta.as_bytes());
    let place = "b/g.meta.json.gz:1: broken gzip";
    for bytes in [meta.as_bytes(), &packed[..packed.len() - 1], &bad_crc(packed.clone()), b""] {
        let damage = |f: &Folder, _| {
            remove(f, "b/g.meta.json");
            f.write("b/g.meta.json.gz", bytes);
        };
        check(&damage, place);
    }
    let large = |f: &Folder, _| {
        remove(f, "b/g.meta.json");
        f.write("b/g.meta.json.gz", &gzip(&vec![b' '; 17 << 20]));
    };
    check(&large, "b/g.meta.json.gz: metadata of more than 16777216 bytes");
    let lone = |f: &Folder, _| {
        ["b/g.meta.json", "b/g.jsonl.gz"].iter().for_each(|name| remove(f, name));
        f.write("b/g.meta.json.gz", &packed);
    };
    check(&lone, "b/g.meta.json.gz: its steps file DIR/b/g.jsonl.gz is missing");
}

#[test]
fn folders_and_links_are_followed_but_not_in_a_circle() {
    let run = |raw: &str| tool("mx-decode").args(&[raw]).run();
    let folder = Folder::new();
    let raw = folder.path.display().to_string();
    run(&raw).says(1, &format!("mx-decode: no games under {raw}"));
    folder.write("notes.txt", b"");
    folder.write("deep/empty/notes.txt", b"");
    run(&raw).says(1, &format!("mx-decode: no games under {raw}"));
    let none = format!("{raw}/none");
    run(&none).says(2, &format!("mx-decode: {none}: no such folder"));
    run(&format!("{raw}/notes.txt")).says(2, &format!("mx-decode: {raw}/notes.txt: not a folder"));
    let lone = Folder::new();
    GameText::played(1).write(&lone, "g");
    let lone_raw = lone.path.display().to_string();
    bash(&format!("mx-decode {lone_raw} {raw}"))
        .says(1, &format!("mx-decode: no games under {raw}"));
    // A file of a game that is a link to nothing.
    fs::remove_file(lone.path.join("g.jsonl.gz")).unwrap();
    std::os::unix::fs::symlink("nowhere", lone.path.join("g.jsonl.gz")).unwrap();
    run(&lone_raw).fails(2, &[&format!("mx-decode: {lone_raw}/g.jsonl.gz: No such file")]);
    // A folder and a file elsewhere, by links; metadata in gzip.
    let elsewhere = Folder::new();
    GameText::played(2).write(&elsewhere, "deep/x");
    let game = GameText::played(3);
    elsewhere.write("y.meta.json.gz", &gzip(game.meta.as_bytes()));
    elsewhere.write("y.jsonl.gz", &gzip(&game.steps_bytes()));
    let link =
        |to: &Path, name: &str| std::os::unix::fs::symlink(to, folder.path.join(name)).unwrap();
    link(&elsewhere.path.join("deep"), "b");
    // The same folder twice, but not inside itself.
    link(&folder.path.join("b"), "c");
    link(&elsewhere.path.join("y.meta.json.gz"), "a.meta.json.gz");
    link(&elsewhere.path.join("y.jsonl.gz"), "a.jsonl.gz");
    let games = run(&raw).silent().records();
    let lengths: Vec<_> =
        games.iter().map(|game| game["steps"].as_array().unwrap().len()).collect();
    assert_eq!(lengths, [3, 2, 2]);
    assert_eq!((&games[0]["run_id"], &games[1]["run_id"]), (&0.into(), &1.into()));
    link(Path::new(".."), "deep/up");
    let said = format!(
        "mx-decode: {raw}/deep/up: the link leads back to {raw}, a folder that it stands in"
    );
    for flags in ["", "--on-error skip"] {
        bash(&format!("mx-decode {raw} {flags}")).says(1, &said);
    }
}

/// As gzip reads them: tapes and disks pad files with zeros.
#[test]
fn zeros_behind_gzip_are_nothing() {
    let folder = Folder::new();
    GameText::played(3).write(&folder, "g");
    let decode = || tool("mx-decode").args(&[folder.path.to_str().unwrap()]).run();
    let plain = decode().ok().text();
    let steps = fs::read(folder.path.join("g.jsonl.gz")).unwrap();
    for zeros in [1, 511, 70_000] {
        folder.write("g.jsonl.gz", &[&steps[..], &vec![0; zeros]].concat());
        assert_eq!(decode().ok().text(), plain, "{zeros}");
    }
}
