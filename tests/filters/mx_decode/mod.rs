//! The Macroxue pipeline as a user runs it: mx-decode into npy-pack, compared with the recorded
//! packs, with a slow pack in numpy, and with what must be refused.

mod defects;
mod library;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{
    Outcome, TempDir, assert_no_temporaries, assert_npyz_reads, bash, bin_dir, data, oracle, peak,
    python, tool,
};
use crate::games::{Folder, GameText, gzip};

/// Bytes of the header of every pack of ours.
const HEADER: usize = 384;

/// mx-decode and npy-pack in a pipe, with flags for each.
fn pack(decode: &str, pack: &str) -> Outcome {
    bash(&format!("set -o pipefail; mx-decode {decode} | npy-pack {pack}"))
}

#[track_caller]
fn assert_same(ours: &[u8], expected: &[u8]) {
    let at = ours.iter().zip(expected).position(|(a, b)| a != b);
    assert!(ours == expected, "{} bytes, not {}; differ at {at:?}", ours.len(), expected.len());
}

/// The rows of all shards of a pack, in order of their names.
fn shard_rows(directory: &TempDir, pack: &str) -> (usize, Vec<u8>) {
    let is_shard = |name: &String| name.starts_with(&format!("{pack}/steps-"));
    let names: Vec<String> = directory.files().into_iter().filter(is_shard).collect();
    let rows = names.iter().flat_map(|name| directory.read(name)[HEADER..].to_vec()).collect();
    (names.len(), rows)
}

#[test]
fn raw_small_is_the_recorded_pack_in_every_way() {
    let Some(data) = data("macroxue") else { return };
    let raw = data.join("raw_small").display().to_string();
    let out = TempDir::new();
    for (legality, recorded) in
        [("board", "expected_small.npy"), ("values", "expected_small_values.npy")]
    {
        let expected = fs::read(data.join(recorded)).unwrap();
        for flags in ["--to ndjson -j 1", "--to ndjson -j 2", "--to arrow -j 1", "--to arrow -j 2"]
        {
            let to = out.at("pack");
            pack(&format!("{raw} --legality {legality} {flags}"), &format!("-o {to} --overwrite"))
                .silent();
            assert_same(&out.read("pack/steps.npy"), &expected);
            assert_eq!(assert_npyz_reads(&out.path().join("pack")), 1);
        }
        let to = out.at("shards");
        for (most, count) in [(1000, 12), (5000, 3), (1_000_000, 1)] {
            pack(
                &format!("{raw} --legality {legality} --to arrow"),
                &format!("-o {to} --shard-rows {most} --overwrite"),
            )
            .silent();
            let (shards, rows) = shard_rows(&out, "shards");
            assert_same(&rows, &expected[HEADER..]);
            assert_eq!(shards, count, "{} rows", rows.len() / 48);
        }
    }
    assert_no_temporaries(out.path());
    let names = [
        "pack/manifest.json",
        "pack/metadata.db",
        "pack/steps.npy",
        "pack/valuation_types.json",
        "shards/manifest.json",
        "shards/metadata.db",
        "shards/steps-00000.npy",
        "shards/valuation_types.json",
    ];
    assert_eq!(out.files(), names);
}

#[test]
fn slices_are_the_whole_in_parts() {
    let Some(data) = data("macroxue") else { return };
    let raw = data.join("raw_small").display().to_string();
    let whole = tool("mx-decode").args(&[&raw]).run().silent();
    let games = whole.text().lines().count();
    for count in [1, 2, games + 2] {
        let part = |index: usize| {
            let slice = format!("{index}/{count}");
            tool("mx-decode").args(&[&raw, "--slice", &slice, "-j", "2"]).run().silent().stdout
        };
        assert!((0..count).flat_map(part).eq(whole.stdout.iter().copied()), "{count} slices");
    }
    let limited = tool("mx-decode").args(&[&raw, "--limit", "1"]).run().silent();
    assert_eq!(Some(limited.text().trim_end()), whole.text().lines().next());
}

#[test]
fn raw_bench_is_what_numpy_makes_of_it() {
    let (Some(data), Some(python)) = (data("macroxue"), python()) else { return };
    let out = TempDir::new();
    for (legality, runs) in [("board", "raw_bench"), ("values", "raw_small")] {
        let raw = data.join(runs).display().to_string();
        let expected = oracle(&python, "macroxue.py", &[&raw, legality]).silent().stdout;
        let to = out.at(legality);
        pack(&format!("{raw} --legality {legality} --to arrow -j 2"), &format!("-o {to}")).silent();
        assert_same(&out.read(&format!("{legality}/steps.npy")), &expected);
    }
    // Every board leads to the next one, and the scores add up.
    tool("ds-check").args(&[&out.at("board"), "--strict"]).run().ok();
}

#[test]
fn a_trainer_reads_the_pack() {
    let (Some(data), Some(python)) = (data("macroxue"), python()) else { return };
    let raw = data.join("raw_small").display().to_string();
    let out = TempDir::new();
    let to = out.at("pack");
    pack(&format!("{raw} --to arrow"), &format!("-o {to} --shard-rows 4000")).silent();
    let found = oracle(&python, "macroxue.py", &["--check", &to]).silent().records().remove(0);
    let first = &found["runs"][0];
    assert_eq!(*first, serde_json::json!([0, 1_781_025_990, 800, 13_916, 1024]));
    assert_eq!(found["types"], serde_json::json!({"search": 0, "tuple10": 1, "tuple11": 2}));
    let sidecar: serde_json::Value =
        serde_json::from_str(found["session"]["run.0"].as_str().unwrap()).unwrap();
    assert_eq!((&sidecar["depth"], &sidecar["sum_tile"]), (&2.into(), &1754.into()));
    assert!(found["chosen_rows"].as_u64() > Some(0));
}

#[test]
fn the_script_is_the_pipeline() {
    let Some(data) = data("macroxue") else { return };
    let raw = data.join("raw_small").display().to_string();
    let out = TempDir::new();
    let to = out.at("pack");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/macroxue.sh");
    let run = |rest: &str| bash(&format!("{script} {rest}"));
    // What ds-check warns of is told.
    let told = run(&format!("{raw} {to} --jobs 2 --legality values")).ok();
    assert!(told.stderr.contains("pool.step.ev_legal, 1,129 times"), "{told:?}");
    let text = told.text();
    let summary = text.strip_prefix("8 games, 11,400 rows\n").unwrap();
    assert!(summary.starts_with(&format!("{to}: 8 games read; 564.0 kB in ")), "{text}");
    let expected = fs::read(data.join("expected_small_values.npy")).unwrap();
    assert_same(&out.read("pack/steps.npy"), &expected);
    run(&format!("{raw} {to}")).fails(2, &["pack: is not empty; try: --resume, or --overwrite"]);
    run(&format!("{raw} {to} --overwrite --shard-rows=7000 --workers 2")).ok();
    assert_eq!(shard_rows(&out, "pack").0, 2);
    assert!(!out.files().contains(&"pack/steps.npy".to_string()));
    let missing = run(&format!("{} {}", out.at("none"), out.at("other")));
    missing.exits(2, &["no such folder"]);
    assert!(!Path::new(&out.at("other")).exists(), "a stream that never began is not a pack");
    run(&raw).fails(2, &["RAW_DIR and PACK_DIR are required"]);
}

#[test]
fn exponents_16_and_17_are_evaluated_as_they_are() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let mut game = GameText::played(4);
    let boards = ["16,1", "17,1", "16,17", "17,17"];
    for (step, cells) in game.steps.iter_mut().zip(boards) {
        let evs = r#"{"up":null,"down":1.5,"left":0.5,"right":2.5}"#;
        *step = format!(
            "{{\"move\":\"down\",\"board\":[{cells}{}],\"branch_evs\":{evs}}}",
            ",0".repeat(14)
        );
    }
    game.write(&folder, "g");
    let raw = folder.path.display().to_string();
    let out = TempDir::new();
    let to = out.at("pack");
    pack(&raw, &format!("-o {to}")).silent();
    assert_same(
        &out.read("pack/steps.npy"),
        &oracle(&python, "macroxue.py", &[&raw, "board"]).silent().stdout,
    );
    let games = tool("ds-cat").args(&[&to]).run().silent().records();
    let cells = |step: usize| {
        let step = &games[0]["steps"][step];
        [&step["board"][0], &step["board"][1], &step["max_rank"]].map(|n| n.as_u64().unwrap())
    };
    // A pack has one bit for both: what it tells apart is a single cell.
    assert_eq!(
        [cells(0), cells(1), cells(2), cells(3)],
        [[16, 1, 16], [17, 1, 17], [16, 16, 17], [16, 16, 17]]
    );
}

/// Numbers that no float holds and halves of surrogates are JSON, and stay as they are written.
#[test]
fn a_sidecar_that_is_kept_is_an_object_for_ds_check() {
    let folder = Folder::new();
    let mut game = GameText::played(3);
    game.meta = game.meta.replace("}", ",\"far\":1e999,\"note\":\"\\ud800\"}");
    game.write(&folder, "a");
    let out = TempDir::new();
    pack(&folder.path.display().to_string(), &format!("-q -o {}", out.at("pack"))).silent();
    let checked = || tool("ds-check").args(&[&out.at("pack")]).run().in_a_line();
    let found = checked();
    assert!(!found.contains("pool.session"), "{found}");
    let database = rusqlite::Connection::open(out.path().join("pack/metadata.db")).unwrap();
    for other in ["{\"far\":1e}", "{} {}", "[{}]", "{\"far\":1", ""] {
        database.execute("UPDATE session SET meta_value = ?1", [other]).unwrap();
        let found = checked();
        assert!(found.contains("run.0: is not a JSON object"), "{other}: {found}");
    }
}

#[test]
fn odd_games_are_packed_as_they_are() {
    let folder = Folder::new();
    let mut game = GameText::played(3);
    for text in game.steps.iter_mut().chain([&mut game.meta]) {
        *text = text.replace("\"seed\":77", "\"seed\":18446744073709551615");
    }
    // Two gzip members.
    folder.write("a.meta.json", game.meta.as_bytes());
    let steps = game.steps_bytes();
    folder.write("a.jsonl.gz", &[gzip(&steps[..50]), gzip(&steps[50..])].concat());
    let mut empty = GameText::played(0);
    empty.meta = empty.meta.replace("}", ",\"note\":\"é {\\\"a\\\": 1}\"}");
    empty.write(&folder, "b");
    let raw = folder.path.display().to_string();
    let out = TempDir::new();
    for to in ["ndjson", "arrow"] {
        pack(&format!("{raw} --to {to}"), &format!("-o {} --expect-records 2", out.at(to)))
            .silent();
        let rows = out.read(&format!("{to}/steps.npy"));
        assert_eq!(rows.len(), HEADER + 3 * 48);
        assert_eq!(rows[HEADER + 28..HEADER + 32], [0xff; 4], "the low bits of the seed");
    }
    for name in ["steps.npy", "metadata.db", "valuation_types.json"] {
        assert_same(&out.read(&format!("arrow/{name}")), &out.read(&format!("ndjson/{name}")));
    }
    let games = tool("ds-cat").args(&[&out.at("arrow")]).run().silent().records();
    assert_eq!(games[0]["seed"], u64::MAX);
    assert_eq!(games[0]["steps"][2]["seed"], u64::MAX, "the row's low bits are the run's seed");
    assert_eq!(games[1]["steps"], serde_json::json!([]));
    let Some(python) = python() else { return };
    let found = oracle(&python, "macroxue.py", &["--check", &out.at("arrow")]).silent();
    let found = found.records().remove(0);
    assert_eq!(found["runs"][0][1], -1, "the seed's 64 bits");
    assert_eq!(found["runs"][1], serde_json::json!([1, 77, 0, 100, 2048]));
    assert!(found["session"]["run.1"].as_str().unwrap().contains("\"note\":\"é {\\\"a\\\": 1}\""));
}

#[test]
fn valuation_names_are_numbered_by_row() {
    let named = |count: usize| {
        let folder = Folder::new();
        let mut game = GameText::played(count);
        for (index, step) in game.steps.iter_mut().enumerate() {
            *step = step.replace("\"search\"", &format!("\"kind-{index}\""));
        }
        game.write(&folder, "g");
        folder
    };
    let out = TempDir::new();
    let few = named(252);
    let run = pack(&few.path.display().to_string(), &format!("-o {}", out.at("few"))).ok();
    assert!(run.stderr.contains("npy-pack: warning: valuation types beyond"), "{run:?}");
    let types = out.json("few/valuation_types.json");
    assert_eq!((&types["kind-0"], &types["kind-251"]), (&3.into(), &254.into()));
    let many = named(300);
    for flags in ["", "--on-error skip"] {
        let to = format!("-o {} {flags}", out.at("many"));
        let run = pack(&many.path.display().to_string(), &to);
        run.fails(1, &["\"kind-252\" is one valuation name more than the 255 of a pack"]);
        assert!(!Path::new(&out.at("many")).exists());
    }
}

#[test]
fn bad_records_and_wrong_pipes_are_refused() {
    let folder = Folder::new();
    GameText::played(2).write(&folder, "g");
    let raw = folder.path.display().to_string();
    let line = tool("mx-decode").args(&[&raw]).run().silent().text();
    let out = TempDir::new();
    let to = out.at("pack");
    let refuse = |text: &str, code: i32, parts: &[&str]| {
        tool("npy-pack").args(&["-o", &to]).input(text).run().fails(code, parts);
        assert!(!Path::new(&to).exists(), "{parts:?}");
    };
    refuse("{\"id\":\"a\",\"tokens\":[1]}\n", 2, &["expected games of 2048, got token sequences"]);
    refuse(line.trim_end_matches(['}', '\n']), 75, &["stdin:1: the last record is cut"]);
    let edited = |from: &str, to: &str| {
        let text = line.replacen(from, to, 1);
        assert_ne!(text, line, "{from}");
        text
    };
    let place = "stdin:1:";
    refuse(&edited("\"board\":[", "\"board\":[1,"), 1, &[place, "step 0: board has 17 cells"]);
    refuse(&edited("\"move_dir\":", "\"move_dir\":9"), 1, &[place, "step 0: move_dir is 9"]);
    refuse(&edited("\"ev_legal\":", "\"x\":"), 1, &[place, "step 0: `ev_legal` is null"]);
    refuse(&edited("\"step_index\":0", "\"step_index\":-1"), 1, &[place, "-1 is not a uint32"]);
    let stream = tool("mx-decode").args(&[&raw, "--to", "arrow"]).run().silent().stdout;
    for length in [1, stream.len() / 2, stream.len() - 8, stream.len() - 1] {
        let run = tool("npy-pack").args(&["-o", &to]).input(&stream[..length]).run();
        run.fails(75, &["stdin"]);
        assert!(!Path::new(&to).exists(), "{length} bytes");
    }
    let expecting = |count: &str| {
        let flags = ["-o", &to, "--expect-records", count];
        tool("npy-pack").args(&flags).input(&line).run()
    };
    expecting("2").fails(75, &["expected 2 records, got 1"]);
    expecting("0").fails(1, &["expected 0 records, got 1"]);
    assert!(!Path::new(&to).exists());
    expecting("1").silent();
    expecting("1").fails(2, &["exists already; try: --overwrite"]);
    fs::write(out.at("pack/embeddings-00000.npy"), "").unwrap();
    let run = tool("npy-pack").args(&["-o", &to, "--overwrite"]).input(&line).run();
    run.fails(2, &["embeddings-00000.npy: belongs to the rows of another pool"]);
}

#[test]
fn full_disks_and_closed_pipes() {
    let folder = Folder::new();
    (0..20).for_each(|game| GameText::played(3000).write(&folder, &format!("g{game}")));
    let raw = folder.path.display().to_string();
    for to in ["ndjson", "arrow"] {
        let full = bash(&format!("mx-decode {raw} --to {to} > /dev/full"));
        full.says(75, "mx-decode: stdout: No space left on device");
        let closed = bash(&format!(
            "mx-decode {raw} --to {to} -j 2 | head -c 10 >/dev/null; exit ${{PIPESTATUS[0]}}"
        ));
        assert_eq!((closed.code(), closed.stderr.as_str()), (Some(141), ""), "{closed:?}");
    }
    // A file that is too large: the limit of 64 KiB acts as a full disk.
    let out = TempDir::new();
    let to = out.at("pack");
    let limited = bash(&format!(
        "trap '' XFSZ; mx-decode {raw} --to arrow > {0}; ulimit -f 64; npy-pack -o {to} {0}",
        out.at("games")
    ));
    limited.fails(75, &["npy-pack: ", "File too large"]);
    assert!(!Path::new(&to).exists());
}

#[test]
fn memory_is_that_of_a_few_games() {
    let Some(data) = data("macroxue/raw_bench") else { return };
    let out = TempDir::new();
    let peaks = |times: usize| {
        let raw = TempDir::new();
        for copy in 0..times {
            std::os::unix::fs::symlink(&data, raw.path().join(format!("{copy:02}"))).unwrap();
        }
        let mut decode = Command::new(bin_dir().join("mx-decode"))
            .arg(raw.path())
            .args(["--to", "arrow", "-j", "2"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pack = Command::new(bin_dir().join("npy-pack"))
            .args(["-o", &out.at("pack"), "--overwrite"])
            .stdin(decode.stdout.take().unwrap())
            .spawn()
            .unwrap();
        let decoded = std::thread::spawn(move || peak(&mut decode));
        let packed = peak(&mut pack);
        let reader = |name: &str, arguments: &[&str]| {
            let mut command = Command::new(bin_dir().join(name));
            let command = command.arg(out.at("pack")).args(arguments).stdout(Stdio::null());
            peak(&mut command.spawn().unwrap())
        };
        let [read, checked] = [reader("ds-cat", &["--to", "arrow"]), reader("ds-check", &[])];
        let peaks = [decoded.join().unwrap(), packed, read, checked];
        let mut head = vec![0; HEADER];
        let mut steps = fs::File::open(out.at("pack/steps.npy")).unwrap();
        steps.read_exact(&mut head).unwrap();
        let shape = format!("'shape': ({},)", 270_298 * times);
        assert!(String::from_utf8_lossy(&head).contains(&shape), "{shape}");
        peaks
    };
    let (once, often) = (peaks(1), peaks(20));
    println!(
        "peak memory in KiB of mx-decode, npy-pack, ds-cat, ds-check: once {once:?}, 20 times {often:?}"
    );
    for (once, often) in once.into_iter().zip(often) {
        assert!(often < once + once / 4 + 8192, "{once} KiB once, {often} KiB 20 times over");
    }
}
