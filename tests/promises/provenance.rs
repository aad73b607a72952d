//! What is outside of `run` is the same wherever, whenever and with however many threads a dataset
//! is built.

use serde_json::Value;

use crate::common::{
    TempDir, bash, bash_with, conversations, copy_scripts, files_in, tool, write_shards,
};
use crate::faults::inputs;

/// Builds packs and sets of every source.
fn packs(input: &TempDir, first: &str, last: &str) -> String {
    format!(
        "set -eo pipefail; cd {input}/in; export GRISTMILL_TO=arrow
         mx-decode {first} -q raw {last} > games; npy-pack -q games -o $out/pack
         npy-pack -o $out/sharded --shard-rows 20 -q games
         puzzle-encode arc {first} arc --num-aug 2 {last} | npy-pack -o $out/arc
         for domain in sudoku maze; do
             puzzle-encode $domain {first} --train $domain/train.csv --test $domain/test.csv {last} \
                 | npy-pack -o $out/$domain; done
         npy-pack $out/arc -o $out/arc_again",
        input = input.path().display(),
    )
}

fn run(script: &str) -> TempDir {
    let dir = TempDir::new();
    bash(&format!("out={}; {script}", dir.path().display())).ok();
    dir
}

/// The same on a machine of another name, where names can be changed.
fn run_elsewhere(script: &str) -> TempDir {
    match bash("unshare -u hostname elsewhere").code() {
        Some(0) => run(&format!(
            "export out; unshare -u bash <<'END'\nhostname elsewhere; {script}\nEND\n"
        )),
        _ => run(script),
    }
}

#[test]
fn equal_packs_and_sets_are_equal() {
    let input = TempDir::new();
    inputs::make(&input.path().join("in"));
    let one = run(&packs(&input, "", "-j1"));
    let two = run_elsewhere(&packs(&input, "-j4", "-v"));
    assert_equal(&one, &two, 31);
    // A set that is packed again was made by one build, and has its own run.
    let build = one.json("arc_again/build.json");
    assert!(build.get("builds").is_none() && build["parameters"].get("run").is_none(), "{build}");
    assert_eq!(build["run"]["version"], env!("CARGO_PKG_VERSION"));
}

/// Builds a root, a prefix, puzzle sets and files in a directory of its own name.
fn build(jobs: &str) -> TempDir {
    let dir = TempDir::new();
    let input = TempDir::new();
    input.write("in.ndjson", conversations(30));
    let row =
        r#"{"synth_id": "a", "query": "?", "synthetic_reasoning": "r", "synthetic_answer": "a"}"#;
    input.write("raw.ndjson", format!("{row}\n").repeat(9));
    bash(&format!(
        "set -eo pipefail; cd {input}; export GRISTMILL_TO=arrow; out={out}
         harmony-tok in.ndjson {jobs} | span-mask \
             | mmidx-write --root $out/root --shard s --valid-fraction 0.3 -q
         ds-manifest $out/root -q
         harmony-tok in.ndjson {jobs} | span-mask | mmidx-write --prefix $out/p
         (cd $out; for form in rows trl megatron-bridge; do
             seq-pack p -o $form.parquet --form $form -n 2000 --columns id {jobs}; done
         seq-pack p --index index.parquet -n 2000 {jobs})
         puzzle-encode domino --num-games 9 --seed 3 {jobs} | npy-pack -o $out/domino
         for to in arrows ndjson parquet; do
             synth-harmony raw.ndjson {jobs} -o $out/raw.$to
             ds-cat in.ndjson -o $out/a.$to; done
         ds-cat in.ndjson -o $out/b.arrows",
        input = input.path().display(),
        out = dir.path().display(),
    ))
    .ok();
    dir
}

#[test]
fn equal_builds_are_equal() {
    let (one, two) = (build("-j1"), build("-qj4"));
    assert_equal(&one, &two, 37);
    assert_eq!(one.read("a.arrows"), one.read("b.arrows"));
}

/// Two directories have the same files, more than `least`, but for `run`.
fn assert_equal(one: &TempDir, two: &TempDir, least: usize) {
    assert_eq!(one.files(), two.files());
    assert!(one.files().len() > least, "{:?}", one.files());
    for name in one.files() {
        if one.read(&name) == two.read(&name) {
            continue;
        }
        assert!(name.ends_with(".json"), "{name} differs");
        let without_run = |dir: &TempDir| -> Value {
            let mut value = dir.json(&name);
            value.as_object_mut().and_then(|fields| fields.remove("run"));
            value
        };
        assert_eq!(without_run(one), without_run(two), "{name}");
    }
}

#[test]
fn a_run_says_how_long_and_with_what() {
    let dir = build("-j2");
    let (root, part) = (dir.json("root/manifest.json"), dir.json("root/parts/s.json"));
    for run in [&root["run"], &part["run"]] {
        assert_eq!(run["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(run["git_sha"].is_string(), run["git_dirty"].is_boolean(), "{run}");
    }
    let seconds = |manifest: &Value| manifest["run"]["seconds"].as_f64().unwrap();
    assert!(seconds(&root) >= seconds(&part), "{root} {part}");
}

/// Checks that what came without a header says the same as what came with one, or null.
fn assert_only_nulls(unknown: &Value, known: &Value, place: &str) {
    match (unknown, known) {
        (Value::Null, _) => {}
        (Value::Object(unknown), Value::Object(known)) => {
            for (name, value) in unknown.iter().filter(|(name, _)| *name != "run") {
                let known = known.get(name).unwrap_or(&Value::Null);
                assert_only_nulls(value, known, &format!("{place}.{name}"));
            }
            // (What is absent where it is the contract's is absent where it is not known.)
            let always =
                known.keys().filter(|name| !["spans", "id_field"].contains(&name.as_str()));
            always.for_each(|name| assert!(unknown.contains_key(name), "{place}.{name}"));
        }
        // A chain of which the filters before are not known.
        (Value::Array(unknown), Value::Array(known)) => {
            let own = unknown.iter().skip_while(|value| value.is_null());
            let own: Vec<&Value> = own.collect();
            assert!(own.len() == known.len() || own.len() < unknown.len(), "{place}");
            let tail = &known[known.len() - own.len()..];
            own.iter().zip(tail).for_each(|(a, b)| assert_only_nulls(a, b, place));
        }
        _ => assert_eq!(unknown, known, "{place}"),
    }
}

/// Chat with a tool and the commentary channel: what no default of a sink says.
fn chat() -> String {
    let call =
        r#"{"role":"assistant","channel":"commentary","recipient":"functions.f","content":"{}"}"#;
    let line = |number: usize| {
        format!(
            r#"{{"id":"c{number}","messages":[{{"role":"user","content":"q{number}"}},{call},{{"role":"tool","name":"functions.f","content":"r"}},{{"role":"assistant","channel":"final","content":"a"}}]}}"#
        ) + "\n"
    };
    (0..6).map(line).collect()
}

/// A manifest of records that came as NDJSON has nulls where that of Arrow knows something, and
/// nothing else.
#[test]
fn an_ndjson_pipe_loses_knowledge_and_invents_none() {
    let dir = TempDir::new();
    dir.write("synth.ndjson", conversations(60) + "{}\n");
    dir.write("chat.ndjson", chat());
    bash(&format!(
        "set -eo pipefail; cd {}
         head -30 synth.ndjson > good.ndjson; ds-cat good.ndjson -o synth.parquet
         for to in ndjson arrow; do export GRISTMILL_TO=$to
             harmony-tok synth.parquet --limit 20 | span-mask | mmidx-write --root $to.synth --shard s
             tail -31 synth.ndjson > tail.ndjson
             harmony-tok tail.ndjson --on-error skip -q | span-mask | mmidx-write --prefix $to.p/p
             harmony-tok good.ndjson | span-mask | mmidx-write --prefix $to.p/q
             harmony-tok chat.ndjson --policy chat | span-mask --span commentary=1 \
                 | mmidx-write --root $to.chat --shard s --valid-fraction 0.3
             mmidx-write --concat $to.p/p $to.p/q --prefix $to.p/two
             for root in $to.synth $to.chat; do ds-manifest $root -q; done
             ds-check --strict $to.synth $to.chat $to.p/p $to.p/two
         done",
        dir.path().display()
    ))
    .ok();
    for name in
        ["synth/manifest.json", "synth/parts/s.json", "chat/manifest.json", "chat/parts/s.json"]
            .iter()
            .chain(&["p/p.part.json", "p/two.part.json"])
    {
        let [mut unknown, mut known] =
            ["ndjson", "arrow"].map(|to| dir.json(&format!("{to}.{name}")));
        if name.contains("two") {
            // Chains of several parts, one after the other.
            assert_eq!(unknown["provenance"][0], Value::Null);
            for part in [&mut unknown, &mut known] {
                part["provenance"].take();
            }
        }
        assert_only_nulls(&unknown, &known, name);
        assert_eq!(unknown["records"]["read"], Value::Null, "{name}");
        assert_eq!(unknown["config_hash"], Value::Null, "{name}");
        assert!(known["records"]["read"].is_u64() && known["config_hash"].is_string(), "{name}");
    }
    let part = dir.json("ndjson.chat/parts/s.json");
    assert_eq!((&part["source"]["policy"], &part["source"]["spans"]), (&Value::Null, &Value::Null));
}

/// What NDJSON does not carry may be stated; not what the header denies.
#[test]
fn policy_and_spans_are_stated_or_unknown() {
    let dir = TempDir::new();
    dir.write("chat.ndjson", chat());
    let run = |line: &str| dir.bash(&format!("set -eo pipefail; {line}"));
    let source = |name: &str| dir.json(&format!("{name}/parts/s.json"))["source"].clone();
    let make = "harmony-tok chat.ndjson --policy chat | span-mask --span commentary=1 > m";
    run(make).ok();
    run(&format!("export GRISTMILL_TO=arrow; {make}.arrows")).ok();
    let write = |from: &str, root: &str, flags: &str| {
        run(&format!("mmidx-write {from} --root {root} --shard s {flags} && ds-manifest -q {root}"))
    };
    write("m.arrows", "known", "").ok();
    write("m", "stated", "--policy chat --span commentary=1").ok();
    for name in ["policy", "spans"] {
        assert_eq!(source("stated")[name], source("known")[name]);
    }
    let config = |name: &str| dir.json(&format!("{name}/manifest.json"))["config"].clone();
    assert_eq!(config("stated"), config("known"));
    write("m", "unknown", "").ok();
    run("ds-check --strict known stated unknown").ok();
    // The same flags agree with the header; others do not.
    write("m.arrows", "both", "--policy chat --span commentary=1").ok();
    for flags in ["--policy synth-kd-v1", "--span commentary=2", "--span analysis=1"] {
        let flag = flags.split(' ').next().unwrap();
        let cause = format!("{flag} is not what the stream's header says");
        write("m.arrows", "none", flags).fails(2, &[&cause]);
    }
    // The wrong policy is still found where it is stated, and damage where nothing is.
    let wrong = "--policy synth-kd-v1";
    write("m", "wrong", wrong).fails(1, &["\"commentary\" (kd.harmony.policy)"]);
    write("m", "wrong", &format!("{wrong} --no-check")).ok();
    let check = run("ds-check wrong");
    assert!(check.code() == Some(1) && check.text().contains("kd.harmony.policy"), "{check:?}");
    for (file, check) in [("span", "kd.mask"), ("lossmask", "kd.mask")] {
        let path = ["train", "valid"].map(|split| format!("unknown/{split}/s_{file}.bin"));
        let path = path.iter().find(|path| dir.path().join(path).exists()).unwrap();
        let kept = dir.read(path);
        let mut bytes = kept.clone();
        let place = bytes.iter().position(|byte| *byte != 0).unwrap();
        bytes[place] = 0;
        dir.write(path, &bytes);
        let found = run("ds-check unknown");
        assert!(found.code() == Some(1) && found.text().contains(check), "{found:?}");
        dir.write(path, kept);
    }
}

/// Whatever encoding the user's pipes have, and whenever and wherever it is: what the scripts make of
/// equal inputs is the same, but for `run` and the time on top of a manifest of conversations.
#[test]
fn scripts_give_the_same_by_every_way() {
    let made = [("ndjson", "2020-01-02"), ("arrow", "2021-03-04")].map(|(to, date)| {
        let dir = TempDir::new();
        inputs::make(&dir.path().join("in"));
        copy_scripts(&dir);
        let script = format!(
            "set -e; cd {}/in; echo '{row}' >> raw_rows/a.ndjson
             find . -type f -exec touch -d {date} {{}} +; S=../scripts
             bash $S/synth-raw.sh raw_rows ../o/conversations --on-error skip
             bash $S/synth-kd.sh ../o/conversations ../o/kd --valid-fraction 0.3 --on-error skip
             bash $S/synth-kd.sh raw_rows ../o/raw --raw --on-error skip --valid-fraction 0.3
             bash $S/macroxue.sh raw ../o/pack --no-check
             bash $S/merge-packs.sh --output ../o/merged pack ../o/pack --no-check
             bash $S/puzzles.sh ../o/sets --domino 3",
            dir.path().display(),
            row = r#"{"query":"q","synthetic_reasoning":"r","synthetic_answer":"no id"}"#,
        );
        bash_with(&script, &[("GRISTMILL_TO", to)]).ok();
        dir
    });
    let [one, two] = &made;
    let files = |dir: &TempDir| -> Vec<String> {
        dir.files().into_iter().filter(|name| name.starts_with("o/")).collect()
    };
    assert_eq!(files(one), files(two));
    assert!(files(one).len() > 30, "{:?}", files(one));
    for name in files(one).iter().filter(|name| one.read(name) != two.read(name)) {
        assert!(name.ends_with(".json"), "{name} differs");
        let [one, two] = [one, two].map(|dir| {
            let mut json = dir.json(name);
            let members = json.as_object_mut().unwrap();
            members.remove("run");
            if name == "o/conversations/manifest.json" {
                members.remove("created_unix_s");
            }
            json
        });
        assert_eq!(one, two, "{name}");
    }
    let root = one.json("o/raw/manifest.json");
    assert_eq!(root["records"]["rejected"], 1);
}

/// A limit of each shard is not one of all together.
#[test]
fn limits_have_their_own_names() {
    let dir = TempDir::new();
    write_shards(&dir, &[9, 9]);
    copy_scripts(&dir);
    for (flag, rows, each) in
        [("--max-rows", 7.into(), Value::Null), ("--max-rows-per-shard", Value::Null, 7.into())]
    {
        let root = flag.trim_start_matches('-');
        let line =
            format!("cd {}; bash scripts/synth-kd.sh in {root} {flag} 7", dir.path().display());
        bash(&line).ok();
        let limits = &dir.json(&format!("{root}/manifest.json"))["limits"];
        assert_eq!((&limits["rows"], &limits["rows_per_shard"]), (&rows, &each), "{flag}");
    }
}

/// The rows of the inputs and what was read are compared where both are known.
#[test]
fn what_was_read_is_what_the_inputs_have() {
    let dir = TempDir::new();
    write_shards(&dir, &[9]);
    copy_scripts(&dir);
    dir.bash("bash scripts/synth-kd.sh in root").ok();
    let (path, root) = ("root/parts/shard_00.json", dir.at("root"));
    let edit = |from: &str, to: &str| {
        for path in [path, "root/manifest.json"] {
            let text = dir.text(path);
            assert!(text.contains(from), "{text}");
            dir.write(path, text.replace(from, to));
        }
    };
    edit("\"rows\": 9,\n        \"footer", "\"rows\": 10,\n        \"footer");
    let run = bash(&format!("ds-check {root}"));
    assert!(run.code() == Some(1), "{run:?}");
    assert!(run.text().contains("records.read is 9; the inputs have 10 rows"), "{run:?}");
    // What was read is not known.
    edit("\"read\": 9", "\"read\": null");
    bash(&format!("ds-check {root}")).ok();
}

/// A root of raw rows names every raw file with its content, and each id leads back to its row.
#[test]
fn a_root_leads_back_to_the_raw_rows() {
    let dir = TempDir::new();
    inputs::make(&dir.path().join("in"));
    copy_scripts(&dir);
    let run = |script: &str| dir.bash(&format!("set -eo pipefail; {script}")).ok();
    run("mkdir parquet; cp in/rows.parquet parquet
         for raw in in/raw_rows parquet; do
             bash scripts/synth-kd.sh $raw $(basename $raw).root --raw --shards 2 --valid-fraction 0.2 -q || exit
         done");
    for (root, folder) in [("raw_rows.root", "in/raw_rows"), ("parquet.root", "parquet")] {
        let input = &dir.json(&format!("{root}/manifest.json"))["input"];
        assert_eq!(input["glob"], Value::Null);
        let mut named = Vec::new();
        for file in input["files"].as_array().unwrap() {
            let name = file["name"].as_str().unwrap();
            let sum = run(&format!("sha256sum {folder}/{name}")).text();
            assert_eq!(file["sha256"], sum[..64], "{file}");
            assert_eq!(file["bytes"], dir.read(&format!("{folder}/{name}")).len());
            assert_eq!(file["rows"], 9);
            named.push(name.to_string());
        }
        named.sort();
        assert_eq!(named, files_in(&dir.path().join(folder)));
        let records = tool("ds-cat").args(&[&dir.at(root)]).run().ok().records();
        assert!(records.len() > 4);
        for record in records {
            let (input, row) = (record["input"].as_str().unwrap(), record["row"].as_u64().unwrap());
            // (rows.parquet was made of a.ndjson.)
            let text =
                dir.text(&format!("in/raw_rows/{}", input.replace("rows.parquet", "a.ndjson")));
            let raw: Value = serde_json::from_str(text.lines().nth(row as usize).unwrap()).unwrap();
            assert_eq!(raw["synth_id"], record["id"]);
        }
    }
}
