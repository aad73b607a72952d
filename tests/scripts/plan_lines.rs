//! JSONL in shards and tasks: cut at lines into about equal bytes, and joined to the bytes of one run.

use std::fmt::Write as _;

use serde_json::json;

use super::chats::{chats, run};
use crate::common::{TempDir, assert_same_roots, copy_scripts, python, python_code};

/// Two files, with ids and without, blank lines, a byte order mark, and bad records in both.
fn place() -> TempDir {
    let dir = TempDir::new();
    copy_scripts(&dir);
    let mut all = String::from("\u{feff}");
    for (number, line) in chats(0, 300).lines().enumerate() {
        let mut chat: serde_json::Value = serde_json::from_str(line).unwrap();
        if number % 3 == 0 {
            chat.as_object_mut().unwrap().remove("id");
        }
        if number % 71 == 70 {
            chat = json!({"id": number.to_string(), "messages": 5});
        }
        chat["padding"] = json!("x".repeat(number % 90));
        let blank = if number % 17 == 0 { "\n\n" } else { "" };
        writeln!(all, "{chat}{blank}").unwrap();
    }
    let half = all.find("What is 201?").unwrap();
    let half = half + all[half..].find('\n').unwrap() + 1;
    dir.write("in/a.jsonl", &all[..half]);
    dir.write("in/b.jsonl", &all[half..]);
    dir
}

const OPTIONS: &str =
    "--chat --valid-fraction 0.2 --on-error skip --ignore-field padding --turns all -q";

#[test]
fn any_number_of_tasks_gives_the_bytes_of_one_run() {
    let dir = place();
    run(&dir, &format!("bash $KD in one {OPTIONS} --rejects one.rejects")).ok();
    let rejects = dir.text("one.rejects");
    assert_eq!(rejects.lines().count(), 4, "{rejects}");
    for tasks in [1, 2, 3, 7, 40] {
        let plan = format!("rm -rf many; bash $KD plan in many {OPTIONS} --tasks {tasks} > tasks");
        run(&dir, &plan).ok();
        let lines = dir.text("tasks");
        assert_eq!(lines.lines().count(), tasks, "{lines}");
        run(&dir, "bash tasks; bash $KD finish many tasks -q --rejects many.rejects").ok();
        assert_same_roots(&dir.path().join("many"), &dir.path().join("one"));
        assert_eq!(dir.text("many.rejects"), rejects);
    }
    // The raw half has no manifests of roots.
    let row = |number: usize| {
        json!({
            "synth_id": format!("s{number}"), "query": "q", "synthetic_reasoning": "r",
            "synthetic_answer": "a".repeat(number), "language": "en", "exercise": "x", "model": "m",
        })
    };
    let rows: String = (0..90).map(|number| format!("{}\n", row(number))).collect();
    dir.write("raw/rows.jsonl", rows);
    for shards in ["", "--shards 4"] {
        run(
            &dir,
            &format!(
                "rm -rf whole cut; bash scripts/synth-raw.sh raw whole -q {shards}
                 bash scripts/synth-raw.sh plan raw cut --tasks 9 {shards} > tasks
                 bash tasks && bash scripts/synth-raw.sh finish cut tasks --delete-parts -q
                 test $(wc -l < tasks) = 9; cd whole; sha256sum *.parquet > ../sums
                 cd ../cut; sha256sum -c --quiet ../sums"
            ),
        )
        .silent();
    }
}

/// Each shard has the lines whose first bytes are in its share of the bytes.
#[test]
fn shards_have_equal_bytes() {
    let Some(python) = python() else { return };
    let dir = place();
    run(&dir, &format!("bash $KD in one {OPTIONS} --valid-fraction 0")).ok();
    for shards in [3, 8] {
        run(
            &dir,
            &format!(
                "rm -rf many; bash $KD in many {OPTIONS} --valid-fraction 0 --shards {shards}"
            ),
        )
        .ok();
        let cut = r#"
import json, sys
files, shards = sys.argv[2:], int(sys.argv[1])
texts = [open(f, 'rb').read() for f in files]
total, at, place = sum(map(len, texts)), 0, {}
for name, text in zip('ab', texts):
    for number, line in enumerate(text.split(b'\n')[:-1], 1):
        start = at + (3 if line.startswith(b'\xef\xbb\xbf') else 0)
        if line.strip() and json.loads(line.decode('utf-8-sig')).get('messages') != 5:
            shard = next(i for i in range(shards) if start < (i + 1) * total // shards)
            place.setdefault(shard, []).append(f'{name}:{number}')
        at += len(line) + 1
print(json.dumps([place.get(i, []) for i in range(shards)]))
"#;
        let [count, a, b] = [
            shards.to_string(),
            dir.path().join("in/a.jsonl").display().to_string(),
            dir.path().join("in/b.jsonl").display().to_string(),
        ];
        let wanted = python_code(&python, cut, &[&count, &a, &b]).ok().text();
        let wanted: Vec<Vec<String>> = serde_json::from_str(&wanted).unwrap();
        let of_shards = |root: &str, number: usize| -> Vec<String> {
            let path = format!("{root}/ids/train/shard_{number:02}.parquet");
            let ids = run(&dir, &format!("GRISTMILL_TO=ndjson ds-cat {path}")).ok().text();
            let place = |line: &str| {
                let id: serde_json::Value = serde_json::from_str(line).unwrap();
                let file = id["input"].as_str().unwrap().strip_suffix(".jsonl").unwrap();
                format!("{file}:{}", id["row"].as_u64().unwrap() + 1)
            };
            ids.lines().map(place).collect()
        };
        for (number, wanted) in wanted.iter().enumerate() {
            assert_eq!(&of_shards("many", number), wanted, "shard {number} of {shards}");
        }
        let prefixes: String =
            (0..shards).map(|shard| format!("many/train/shard_{shard:02} ")).collect();
        let concat = format!("mmidx-write --concat {prefixes} --prefix joined/shard_00 -q");
        run(&dir, &format!("rm -rf joined; {concat} && ds-check -q joined/shard_00")).ok();
        let same = |what: &str| {
            let [ours, theirs] = ["joined", "one/train"]
                .map(|root| dir.read(&format!("{root}/shard_00_{what}.bin")));
            assert!(ours == theirs, "{what}");
        };
        ["tokens", "lossmask", "span"].into_iter().for_each(same);
        // What is finished is kept, and only by as many shards.
        run(
            &dir,
            &format!("bash $KD in many {OPTIONS} --valid-fraction 0 --shards {shards} --resume"),
        )
        .ok();
    }
    // Tasks of shards that are cut already.
    let options = format!("{OPTIONS} --shards 3");
    run(&dir, &format!("rm -rf many; bash $KD in many {options}")).ok();
    run(&dir, &format!("bash $KD plan in tasks --tasks 10 {options} > list; bash list; bash $KD finish tasks list -q")).ok();
    assert_eq!(dir.text("list").lines().count(), 10);
    assert_same_roots(&dir.path().join("tasks"), &dir.path().join("many"));
}

#[test]
fn what_cannot_be_cut_says_so() {
    let dir = place();
    let files =
        "jq -cs . in/a.jsonl > array.json; gzip -c in/b.jsonl > b.gz; jq . in/b.jsonl > long.json";
    run(&dir, files).ok();
    for (file, why, way) in [
        ("array.json", "it is JSON without a record a line", "try: jq -c '.[]' array.json > "),
        ("long.json", "it is JSON without a record a line", "try: jq -c . long.json > "),
        ("b.gz", "only regular files that are not compressed can", "try: gzip -dc b.gz > "),
    ] {
        let refused = format!("{file}: cannot be cut into slices");
        let shards = run(&dir, &format!("bash $KD {file} root {OPTIONS} --shards 2"));
        shards.fails(2, &[&refused, why, way]);
        assert!(!dir.path().join("root").exists());
        let plan = run(&dir, &format!("bash $KD plan {file} root {OPTIONS} --tasks 3; rm -r root"));
        let plan = plan.ok();
        assert_eq!(plan.text().lines().count(), 1);
        assert!(plan.stderr.contains(&refused) && plan.stderr.contains(way), "{plan:?}");
        // What it says works.
        let command = way.trim_start_matches("try: ").trim_end_matches("> ");
        run(&dir, &format!("{command} > cut.ndjson; bash $KD cut.ndjson root {OPTIONS} --shards 2; bash $KD {file} whole {OPTIONS}")).ok();
        run(&dir, "cat root/*/shard_0[01]_tokens.bin | wc -c > ours; cat whole/*/shard_00_tokens.bin | wc -c | cmp - ours").silent();
        run(&dir, "rm -r root whole").silent();
    }
    let rows = run(&dir, &format!("bash $KD plan in root {OPTIONS} --rows-per-task 9")).ok();
    assert!(
        rows.stderr.contains("in: is one task: the rows of NDJSON are not counted; try: --tasks N"),
        "{rows:?}"
    );
    // Files that are one task each, and more shards than Parquet files: rows.
    run(&dir, &format!("bash $KD in/a.jsonl b.gz two {OPTIONS} --shards 2")).ok();
    run(&dir, "ds-cat in/b.jsonl --allow-empty > /dev/null; bash $KD in/b.jsonl rows -q --chat --on-error skip --ignore-field padding").ok();
}

/// What the plan knows of a file, its hash and where its lines are, holds while size and time stay.
#[test]
fn a_plan_knows_its_files() {
    let dir = place();
    // The second half is of blank lines, so that the plan's counts decide the number of the bad line.
    let chat = chats(2, 1);
    let blank = "\n".repeat(20 << 20);
    dir.write("long.jsonl", format!("{chat}{blank}{{\"id\": 5}}\n{}", blank));
    run(&dir, "bash $KD plan long.jsonl root --chat --tasks 2 > tasks").ok();
    let line = (20 << 20) + 2;
    for tasks in [
        "sed -n 2p tasks | bash",
        "sed -i 's/\"newlines\": \\[/&7, /' root/tasks/plan.json; sed -n 2p tasks | bash",
    ] {
        let told = run(&dir, tasks);
        let says = told.stderr.contains(&format!("long.jsonl:{line}: "));
        assert_eq!(says, !tasks.contains("sed -i"), "{told:?}");
    }
    // Touched, it is the same file; changed, it is another.
    run(&dir, &format!("rm -r root; bash $KD plan in root {OPTIONS} --tasks 2 > tasks")).ok();
    run(&dir, "touch in/a.jsonl; sed -n 1p tasks | bash; bash $KD status root")
        .fails(1, &["1 of 2 tasks are not done: 1 missing"]);
    run(&dir, "sed -i 's/What is 7?/What is 8?/' in/a.jsonl; sed -n 2p tasks | bash")
        .fails(1, &["is not what it was when the plan was made"]);
}
