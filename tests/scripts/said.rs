//! What scripts and filters say at their ends: what left, and for which reason.

use serde_json::json;

use super::chats::{chats, run};
use crate::common::{TempDir, copy_scripts};

fn place() -> TempDir {
    let dir = TempDir::new();
    copy_scripts(&dir);
    dir.write("all.jsonl", chats(0, 65));
    dir
}

/// The numbers of words of a text that differ, counted by hand: lengths of the sequences of a prefix.
fn lengths(dir: &TempDir, prefix: &str) -> Vec<u64> {
    let count = format!("GRISTMILL_TO=ndjson ds-cat {prefix} | jq '.tokens | length'");
    run(dir, &count).ok().text().lines().map(|line| line.parse().unwrap()).collect()
}

fn grouped(number: u64) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{thousands},{:03}", number % 1000),
    }
}

#[test]
fn what_is_in_no_row_is_said() {
    let dir = place();
    run(&dir, "bash $KD all.jsonl root --chat -q --valid-fraction 0 --span commentary=3").ok();
    // (The end of the document is in no row.)
    let lengths: Vec<u64> = lengths(&dir, "root/train").iter().map(|length| length - 1).collect();
    let mut sorted = lengths.clone();
    sorted.sort_unstable();
    let limit = sorted[sorted.len() / 2];
    let long: Vec<u64> = lengths.iter().copied().filter(|length| *length > limit).collect();
    assert!(!long.is_empty() && long.len() < lengths.len());
    let (some, all) = (long.len(), lengths.len());
    let dropped: u64 = long.iter().sum();
    let cut: u64 = long.iter().map(|length| length - limit).sum();
    for (how, tokens) in [("drop", dropped), ("cut", cut)] {
        let what = if how == "drop" { "dropped" } else { "cut" };
        let tokens = grouped(tokens);
        let said = format!(
            "seq-pack: {some} of {all} sequences longer than a row {what}: {tokens} tokens left out\n"
        );
        for input in ["root/train", "<(GRISTMILL_TO=arrow ds-cat root/train)"] {
            let pack = format!(
                "seq-pack {input} -o rows.parquet --form trl -n {limit} --overflow {how} --overwrite"
            );
            let told = run(&dir, &pack).ok().stderr;
            let ends = told.strip_suffix(&said).unwrap();
            let wrong = format!(
                "seq-pack: warning: {some} sequences are cut where a row ends, also within answers, "
            );
            assert_eq!(ends.starts_with(&wrong), how == "cut", "{ends}");
            assert_eq!(ends.lines().count(), usize::from(how == "cut"));
            run(&dir, &format!("{pack} -q")).silent();
        }
        let rows = format!(
            "bash $KD all.jsonl root --chat --valid-fraction 0 --span commentary=3 --overwrite --rows trl --seq-length {limit}"
        );
        let told = run(&dir, &format!("{rows} --overflow {how}")).ok();
        assert!(told.stderr.ends_with(&said), "{told:?}");
        let last = told.text().lines().last().unwrap().to_string();
        assert!(
            last.starts_with("root/rows/train.trl.parquet: ")
                && last.contains(" % of the positions used"),
            "{last}"
        );
    }
}

#[test]
fn counts_of_tasks_are_those_of_one_run() {
    let dir = place();
    let one = run(&dir, "bash $KD all.jsonl one --chat --turns all --valid-fraction 0").ok();
    let many =
        run(&dir, "bash $KD all.jsonl many --chat --turns all --valid-fraction 0 --shards 4").ok();
    let warnings = |stderr: &str| -> Vec<String> {
        stderr.lines().filter(|line| line.contains(": warning: ")).map(str::to_string).collect()
    };
    assert_eq!(warnings(&many.stderr), warnings(&one.stderr));
    assert!(warnings(&one.stderr).len() > 1, "{one:?}");
    // Rejected records have their reasons.
    let bad =
        |number: usize| format!("{}\n", json!({"id": number.to_string(), "messages": number % 2}));
    dir.write("bad.jsonl", (0..9).map(bad).collect::<String>() + &chats(0, 9) + "{\n");
    for shards in ["", "--shards 2"] {
        let told = run(
            &dir,
            &format!(
                "rm -rf root; bash $KD bad.jsonl root --chat --turns all --on-error skip {shards}"
            ),
        );
        let text = told.ok().text();
        assert!(text.contains("19 rows read, 10 rejected;"), "{text}");
        assert!(text.contains("\nrejected: 9 records: "), "{text}");
        assert!(text.contains("\nrejected: 1 record: invalid JSON"), "{text}");
    }
    // A limit of tokens lets fewer through than are read.
    let told =
        run(&dir, "bash $KD all.jsonl some --chat --max-tokens 300 --progress always 2>&1").ok();
    assert!(!told.text().contains("65 rows"), "{told:?}");
}

#[test]
fn what_is_made_again_is_said() {
    let dir = place();
    run(&dir, "bash $KD all.jsonl root --chat -q --shards 2").ok();
    run(&dir, "bash $KD all.jsonl root --chat -q --shards 2 --resume").silent();
    let told = run(&dir, "bash $KD all.jsonl root --chat -q --shards 2 --resume --turns all").ok();
    let said = "ds-plan: root: 2 finished shards: not kept, made again: shard_00 was made with other options\n";
    assert_eq!(told.stderr, said);
    dir.write("all.jsonl", chats(0, 66));
    let told = run(&dir, "bash $KD all.jsonl root --chat -q --shards 2 --resume --turns all").ok();
    assert!(told.stderr.contains("was made of another input"), "{told:?}");
    let old = run(&dir, "bash $KD all.jsonl x --chat --model m --thinking split");
    old.fails(2, &["--thinking is not for --model"]);
    let help = run(&dir, "bash $KD --help").ok().in_a_line();
    assert!(help.contains("--turns <WHICH>") && help.contains("--id-field"), "{help}");
}

/// What has not been finished does not look so.
#[test]
fn a_plan_that_is_not_finished_says_so() {
    let dir = place();
    run(&dir, "bash $KD plan all.jsonl root --chat --tasks 3 > tasks; head -2 tasks | bash; cp -r root other").ok();
    let said = "root: its plan is not finished (2 of 3 tasks done): these are its parts";
    for look in ["ds-view root", "ds-stat root", "ds-diff root root", "ds-cat root"] {
        let told = run(&dir, &format!("{look} > /dev/null")).ok();
        assert!(told.stderr.contains(said), "{look}: {told:?}");
    }
    run(&dir, "sed -n 3p tasks | bash; bash $KD finish root -q; ds-view root > /dev/null").silent();
    // A page of a bad dataset is one.
    run(&dir, "printf x | dd of=root/train/shard_00_tokens.bin conv=notrunc status=none").ok();
    run(&dir, "ds-view --check --html page.html root")
        .fails(1, &["root: has not passed ds-check: ", "; the page has them"]);
    assert!(dir.path().join("page.html").exists());
}

/// All records of an array may stand in one line.
#[test]
fn records_of_an_array_have_numbers() {
    let dir = place();
    run(&dir, "jq -cs '.[:4] + [{id: \"x\", messages: 5}] + .[4:]' all.jsonl > array.json").ok();
    assert_eq!(dir.text("array.json").lines().count(), 1);
    run(&dir, "chat-harmony array.json -q > out")
        .fails(1, &["chat-harmony: array.json: record 5 (x): "]);
    run(
        &dir,
        "bash $KD array.json root --chat -q --turns all --on-error skip --rejects bad.ndjson",
    )
    .ok();
    assert_eq!(dir.json("bad.ndjson")["record"], 5);
    let rows = run(&dir, "for split in train valid; do GRISTMILL_TO=ndjson ds-cat root/ids/$split/shard_00.parquet; done | jq .row").ok();
    let mut rows: Vec<u64> = rows.text().lines().map(|row| row.parse().unwrap()).collect();
    rows.sort_unstable();
    assert_eq!(rows, (0..66).filter(|row| *row != 4).collect::<Vec<u64>>());
}

/// What is read as chats is written as chats.
#[test]
fn chats_stay_chats() {
    let dir = place();
    dir.write(
        "more.jsonl",
        chats(0, 20).lines().filter(|line| line.contains("\"messages\"")).fold(String::new(), |all, line| all + line + "\n")
            + "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":\"ho\"}],\"tools\":[],\"score\":0.5}\n",
    );
    for name in ["chats.parquet", "chats.arrows"] {
        run(&dir, &format!("ds-cat more.jsonl -o {name}")).ok();
        run(&dir, &format!("cmp <(chat-harmony -q more.jsonl) <(chat-harmony -q {name})")).silent();
        run(&dir, &format!("cmp <(ds-cat {name}) <(ds-cat more.jsonl)")).silent();
        for report in ["ds-view", "ds-stat"] {
            run(&dir, &format!("{report} {name}"))
                .fails(2, &["expected Harmony conversations, got chats; try: chat-harmony"]);
        }
        run(
            &dir,
            &format!(
                "bash $KD {name} root-{name} --chat -q; bash $KD more.jsonl line-{name} --chat -q"
            ),
        )
        .ok();
    }
    for report in ["ds-view more.jsonl", "ds-stat more.jsonl", "ds-view --html x.html more.jsonl"] {
        run(&dir, report)
            .fails(2, &["expected Harmony conversations, got chats; try: chat-harmony"]);
    }
    // Conversations that state their policy are none.
    run(&dir, "chat-harmony -q more.jsonl -o made.parquet; chat-harmony made.parquet")
        .fails(2, &["expected chats, got conversations"]);
}
