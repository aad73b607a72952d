//! What is run: every reader, sink and script.

use super::drive::Case;

/// Commands whose inputs cannot be read.
pub fn readers() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, arguments) in [
        ("root", "$IN/root"),
        ("prefix", "$IN/p/a"),
        ("single", "$IN/single/a"),
        ("pack", "$IN/pack"),
        ("sharded pack", "$IN/sharded"),
        ("selfplay pool", "$IN/selfplay"),
        ("puzzle set", "$IN/domino"),
        ("parquet", "$IN/shards/synth_harmony_shard_00.parquet"),
        ("folder of parquet", "$IN/shards"),
        ("arrow", "$IN/masked.arrows"),
        ("ndjson", "$IN/a.ndjson"),
        ("gzip", "$IN/a.ndjson.gz"),
        ("slice", "--slice 1/2 $IN/shards $IN/shards/synth_harmony_shard_00.parquet"),
    ] {
        cases.push(Case::reader(
            &format!("ds-cat {name}"),
            "ds-cat",
            &format!("ds-cat {arguments}"),
        ));
    }
    cases.push(Case::reader("ds-cat stdin", "ds-cat", "ds-cat < <(cat $IN/a.masked)"));
    for (name, path) in [
        ("root", "root"),
        ("prefix", "p/a"),
        ("pack", "pack"),
        ("sharded pack", "sharded"),
        ("selfplay pool", "selfplay"),
        ("puzzle set", "arc_set"),
        ("folder of parquet", "shards"),
        ("arrow", "masked.arrows"),
    ] {
        cases.push(Case::reader(
            &format!("ds-check {name}"),
            "ds-check",
            &format!("ds-check -q --skip pool.step.next $IN/{path}"),
        ));
    }
    for (name, path) in
        [("root", "root"), ("pack", "pack"), ("puzzle set", "domino"), ("parquet", "shards")]
    {
        cases.push(Case::reader(
            &format!("ds-stat {name}"),
            "ds-stat",
            &format!("ds-stat -q $IN/{path}"),
        ));
    }
    for (name, flags) in [
        ("root", "--limit 3 $IN/root"),
        ("pack", "--sample 2 $IN/pack"),
        ("stream", "--tail 3 $IN/masked.arrows"),
    ] {
        let command = format!("ds-view {flags}");
        cases.push(Case::reader(&format!("ds-view {name}"), "ds-view", &command));
    }
    for (name, a, b) in [("roots", "root", "root"), ("packs", "pack", "sharded")] {
        let command = format!("ds-diff $IN/{a} $IN/{b}");
        cases.push(Case::reader(&format!("ds-diff {name}"), "ds-diff", &command));
    }
    for (name, flags) in [("nth", "--nth 1,3 $IN/root"), ("tail", "--tail 2 $IN/masked.arrows")] {
        let command = format!("ds-cat {flags}");
        cases.push(Case::reader(&format!("ds-cat {name}"), "ds-cat", &command));
    }
    let others = [
        (
            "harmony-tok parquet",
            "harmony-tok",
            "harmony-tok -j 2 $IN/shards/synth_harmony_shard_00.parquet",
        ),
        ("synth-harmony parquet", "synth-harmony", "synth-harmony -q -j 2 $IN/rows.parquet"),
        ("synth-harmony folder", "synth-harmony", "synth-harmony -q $IN/raw_rows"),
        ("chat-harmony folder", "chat-harmony", "chat-harmony -q $IN/chats"),
        ("chat-tok folder", "chat-tok", "chat-tok -q -j 2 --model $IN/model $IN/chats"),
        ("ds-check model's root", "ds-check", "ds-check -q $IN/of_model"),
        ("ds-view model's root", "ds-view", "ds-view --limit 3 $IN/of_model"),
        (
            "harmony-tok --decode model's root",
            "harmony-tok",
            "harmony-tok -q --decode < <(ds-cat -q $IN/of_model --to arrow)",
        ),
        ("mx-decode raw", "mx-decode", "mx-decode -q $IN/raw"),
        (
            "puzzle-encode sudoku",
            "puzzle-encode",
            "puzzle-encode sudoku --train $IN/sudoku/train.csv --test $IN/sudoku/test.csv --num-aug 1",
        ),
        ("puzzle-encode arc", "puzzle-encode", "puzzle-encode arc $IN/arc --num-aug 1"),
        ("npy-pack pools", "npy-pack", "npy-pack -q $IN/pack $IN/sharded -o $OUT"),
        ("npy-pack puzzle sets", "npy-pack", "npy-pack -q $IN/arc_set -o $OUT"),
        (
            "mmidx-write --concat",
            "mmidx-write",
            "mmidx-write -q --concat $IN/p/a $IN/p/b --prefix $OUT/p",
        ),
        ("seq-pack triples", "seq-pack", "seq-pack -q $IN/root/train -o $OUT/r.parquet"),
        ("seq-pack index", "seq-pack", "seq-pack -q $IN/p/a --index $OUT/i.parquet -n 9000"),
        ("seq-pack arrow", "seq-pack", "seq-pack -q $IN/masked.arrows -o $OUT/r.parquet"),
        (
            "seq-pack folder",
            "seq-pack",
            "seq-pack -q $IN/masked.arrows --form llama-factory -o $OUT/f",
        ),
        ("seq-pack arrays", "seq-pack", "seq-pack -q $IN/masked.arrows --form olmo-core -o $OUT/f"),
        ("seq-pack pairs", "seq-pack", "seq-pack -q $IN/a.pairs --form trl-kto -o $OUT/r.parquet"),
        ("mmidx-write arrow", "mmidx-write", "mmidx-write -q $IN/masked.arrows --prefix $OUT/p"),
    ];
    cases.extend(others.map(|(name, process, command)| Case::reader(name, process, command)));
    cases
}

/// What reads a model's folder that has every file it may have.
pub fn of_model() -> Vec<Case> {
    [
        ("chat-tok", "chat-tok -q -j 1 --model $IN/whole $IN/chats/a.jsonl"),
        ("mmidx-write", "mmidx-write -q --root $OUT/r --shard s < <(cat $IN/whole.chats)"),
    ]
    .map(|(tool, command)| Case::reader(&format!("{tool} whole model"), tool, command))
    .into()
}

/// What looks at every kind of dataset, to find out which it is.
pub fn recognitions() -> Vec<Case> {
    let mut cases = Vec::new();
    let paths = "root root/train p/a single/a pack sharded selfplay domino domino/train shards \
    shards/synth_harmony_shard_00.parquet rows/plain.parquet rows/trl.parquet rows/dpo.parquet \
    p/a_ids.parquet masked.arrows a.ndjson a.ndjson.gz";
    for path in paths.split(' ') {
        for (tool, flags) in [
            ("ds-check", "-q --structure"),
            ("ds-view", "--limit 1"),
            ("ds-stat", "-q"),
            ("ds-cat", "-q"),
        ] {
            let command = format!("{tool} {flags} $IN/{path}");
            cases.push(Case::reader(&format!("{tool} {path}"), tool, &command));
        }
    }
    let index = "ds-check -q $IN/rows/index.parquet";
    cases.push(Case::reader("ds-check rows/index.parquet", "ds-check", index));
    cases
}

/// Commands that write; each into nothing, over another dataset, and over what a killed run left.
pub fn sinks() -> Vec<Case> {
    let mut cases = Vec::new();
    // Name, process, the command, and one that makes another dataset in the same place.
    let sinks = [
        (
            "mmidx-write --root",
            "mmidx-write",
            "mmidx-write -q $IN/a.masked --root $OUT --shard s --valid-fraction 0.3",
            "mmidx-write -q $IN/b.masked --root $OUT --shard s --valid-fraction 0.5",
        ),
        (
            "mmidx-write --root of a model",
            "mmidx-write",
            "mmidx-write -q $IN/a.chats --root $OUT --shard s",
            "mmidx-write -q $IN/b.chats --root $OUT --shard s",
        ),
        (
            "mmidx-write --prefix",
            "mmidx-write",
            "mmidx-write -q $IN/a.masked --prefix $OUT/p",
            "mmidx-write -q $IN/b.masked --prefix $OUT/p",
        ),
        (
            "mmidx-write --tokens-only",
            "mmidx-write",
            "mmidx-write -q $IN/a.masked --prefix $OUT/p --tokens-only",
            "mmidx-write -q $IN/b.masked --prefix $OUT/p --tokens-only",
        ),
        (
            "mmidx-write --concat",
            "mmidx-write",
            "mmidx-write -q --concat $IN/p/a $IN/p/b --prefix $OUT/p",
            "mmidx-write -q --concat $IN/p/b $IN/p/a --prefix $OUT/p",
        ),
        (
            "mmidx-write --rejects",
            "mmidx-write",
            "mmidx-write -q --on-error skip --rejects $OUT/r $IN/bad.masked --prefix $OUT/p",
            "mmidx-write -q --on-error skip --rejects $OUT/r $IN/b.masked --prefix $OUT/p",
        ),
        (
            "seq-pack",
            "seq-pack",
            "seq-pack -q $IN/p/a -o $OUT/r.parquet --index $OUT/i.parquet --form trl -n 9000",
            "seq-pack -q $IN/p/b -o $OUT/r.parquet --index $OUT/i.parquet --form trl -n 8000",
        ),
        (
            "seq-pack windows",
            "seq-pack",
            "seq-pack -q $IN/a.masked -o $OUT/r.parquet --window 2",
            "seq-pack -q $IN/b.masked -o $OUT/r.parquet --window 2",
        ),
        (
            "seq-pack pairs",
            "seq-pack",
            "seq-pack -q $IN/a.pairs -o $OUT/r.parquet --form trl-kto",
            "seq-pack -q $IN/b.pairs -o $OUT/r.parquet --form trl-dpo",
        ),
        (
            "npy-pack games",
            "npy-pack",
            "npy-pack -q $IN/games.ndjson -o $OUT",
            "npy-pack -q $IN/pack $IN/pack -o $OUT",
        ),
        (
            "npy-pack sharded",
            "npy-pack",
            "npy-pack -q $IN/games.ndjson -o $OUT --shard-rows 20",
            "npy-pack -q $IN/pack $IN/pack -o $OUT --shard-rows 10",
        ),
        (
            "npy-pack puzzles",
            "npy-pack",
            "npy-pack -q $IN/domino.ndjson -o $OUT",
            "npy-pack -q $IN/arc_set -o $OUT",
        ),
        (
            "ds-cat ndjson",
            "ds-cat",
            "ds-cat -q $IN/a.masked -o $OUT/f",
            "ds-cat -q $IN/b.masked -o $OUT/f",
        ),
        (
            "ds-cat arrow",
            "ds-cat",
            "ds-cat -q $IN/a.masked --to arrow -o $OUT/f",
            "ds-cat -q $IN/b.masked -o $OUT/f",
        ),
        (
            "synth-harmony parquet",
            "synth-harmony",
            "synth-harmony -q $IN/raw_rows/a.ndjson --to parquet -o $OUT/f",
            "synth-harmony -q $IN/raw_rows/b.ndjson --to parquet -o $OUT/f",
        ),
        (
            "chat-harmony parquet",
            "chat-harmony",
            "chat-harmony -q $IN/chats/a.jsonl --to parquet -o $OUT/f",
            "chat-harmony -q $IN/chats/b.jsonl --to parquet -o $OUT/f",
        ),
        (
            "ds-cat parquet",
            "ds-cat",
            "ds-cat -q $IN/a.masked --to parquet -o $OUT/f",
            "ds-cat -q $IN/b.masked -o $OUT/f",
        ),
    ];
    for (name, process, command, other) in sinks {
        cases.push(Case::sink(&format!("{name}, new"), process, "", command));
        let over = format!("{command} --overwrite");
        cases.push(Case::sink(&format!("{name}, over another"), process, other, &over));
    }
    let parts = "cp -r $IN/root $OUT; rm $OUT/manifest.json";
    cases.push(Case::sink("ds-manifest, new", "ds-manifest", parts, "ds-manifest -q $OUT"));
    let again = "cp -r $IN/root $OUT; rm $OUT/manifest.json; ds-manifest -q $OUT --max-rows 99";
    cases.push(Case::sink("ds-manifest, again", "ds-manifest", again, "ds-manifest -q $OUT"));
    cases
}

/// The pipelines: every filter in them, in turn.
pub fn scripts() -> Vec<Case> {
    let mut cases = Vec::new();
    let synth = "$SCRIPTS/synth-kd.sh $IN/shards $OUT --valid-fraction 0.3 --jobs 1";
    let macroxue = "$SCRIPTS/macroxue.sh $IN/raw $OUT --jobs 1 --no-check";
    let puzzles = "$SCRIPTS/puzzles.sh $OUT --arc $IN/arc --domino 3 --num-aug 1 --jobs 1";
    let merge = "$SCRIPTS/merge-packs.sh --output $OUT $IN/pack $IN/sharded --no-check";
    for process in ["gristmill", "ds-plan", "ds-check"] {
        let case = |state: &str, before: &str, flags: &str| {
            let name = format!("synth-kd.sh {process}, {state}");
            Case::script(&name, process, before, &format!("{synth} {flags}"))
        };
        cases.push(case("new", "", "--resume"));
        let half = format!("{synth} --no-check; rm $OUT/manifest.json $OUT/parts/shard_01.json");
        cases.push(case("resumed", &half, "--resume"));
        let other = "$SCRIPTS/synth-kd.sh $IN/shards $OUT --valid-fraction 0.5 --jobs 1 --no-check";
        cases.push(case("over another", other, "--overwrite"));
    }
    let raw = "$SCRIPTS/synth-raw.sh $IN/raw_rows $OUT --shards 2 --jobs 1";
    for process in ["synth-harmony", "ds-plan"] {
        let name = |state: &str| format!("synth-raw.sh {process}, {state}");
        cases.push(Case::script(&name("new"), process, "", &format!("{raw} --resume")));
        let other = "$SCRIPTS/synth-raw.sh $IN/raw_rows $OUT --shards 1 --jobs 1 --omit-developer";
        cases.push(Case::script(
            &name("over another"),
            process,
            other,
            &format!("{raw} --overwrite"),
        ));
    }
    let process = "gristmill";
    let other = "npy-pack -q $IN/sharded $IN/pack -o $OUT --shard-rows 10";
    let over = format!("{macroxue} --overwrite");
    cases.push(Case::script("macroxue.sh, new", process, "", macroxue));
    cases.push(Case::script("macroxue.sh, over another", process, other, &over));
    let other = "$SCRIPTS/puzzles.sh $OUT --arc $IN/arc --domino 2 --num-aug 0 --jobs 1 --no-check";
    let over = format!("{puzzles} --overwrite");
    cases.push(Case::script("puzzles.sh, new", process, "", &over));
    cases.push(Case::script("puzzles.sh, over another", process, other, &over));
    cases.push(Case::script("merge-packs.sh, new", "npy-pack", "", merge));
    let other = "npy-pack -q $IN/sharded -o $OUT --shard-rows 10";
    cases.push(Case::script(
        "merge-packs.sh, over another",
        "npy-pack",
        other,
        &format!("{merge} --overwrite"),
    ));
    cases
}

/// Pipelines as tasks for many machines: planned, made, finished, the parts deleted.
pub fn plans() -> Vec<Case> {
    // The script, what is planned, the sink of its tasks.
    let plans = [
        ("synth-kd.sh", "$IN/shards $OUT --tasks 3 --valid-fraction 0.3", "gristmill"),
        ("synth-kd.sh", "$IN/raw_rows $OUT --raw --shards 2 --valid-fraction 0.3", "gristmill"),
        ("synth-kd.sh", "$IN/chats $OUT --chat --model $IN/model --shards 2", "gristmill"),
        ("synth-raw.sh", "$IN/raw_rows $OUT --shards 2", "synth-harmony"),
        ("macroxue.sh", "$IN/raw $OUT --tasks 2", "gristmill"),
    ];
    let mut cases = Vec::new();
    for (script, arguments, sink) in plans {
        let raw = ["--raw", "--chat"].into_iter().find(|flag| arguments.contains(flag));
        let raw = raw.map_or(String::new(), |flag| format!(" {flag}"));
        let mut case = |what: &str, process, before: &str, command: &str| {
            let name = format!("{script}{raw} {what} {process}");
            cases.push(Case::script(&name, process, before, command));
        };
        let plan = format!("$SCRIPTS/{script} plan {arguments}");
        // (One after another, with the code of the first that fails.)
        let make = format!(
            "{plan} > $OUT.tasks || exit; \
             while IFS= read -r task; do sh -c \"$task\" </dev/null || exit; done < $OUT.tasks"
        );
        let finish = format!("$SCRIPTS/{script} finish $OUT --jobs 1");
        case("plan", "ds-plan", "", &plan);
        case("tasks", sink, "", &make);
        case("finish", "ds-plan", &make, &format!("{finish} --no-check"));
        // The games made here do not follow from one another, which ds-check finds.
        if script != "macroxue.sh" {
            let finish = format!("{finish} --delete-parts");
            case("finish --delete-parts", "ds-plan", &make, &finish);
            case("finish --delete-parts", "ds-check", &make, &finish);
        }
    }
    cases
}
