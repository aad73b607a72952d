//! Plans: a build in tasks gives the bytes of one machine, whatever engine runs them, however often
//! and beside itself; what is done is known from the parts, and bad input joins nothing.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::Path;

use gristmill::digest::{sha256_hex, sha256_of};
use serde_json::Value;

use crate::common::{
    Edit, Outcome, TempDir, assert_same_roots, bash_with, bin_dir, copy_scripts, data, files_in,
    installed, wrap, write_shard, write_shards,
};

/// What a plan may say: that there are fewer tasks than were asked for.
fn is_plans(stderr: &str) -> bool {
    let ends = [": the inputs cannot be divided into more", "; try: --shards 5"];
    stderr.lines().all(|line| ends.iter().any(|end| line.ends_with(end)))
}

/// The name of a task in its line.
fn name(line: &str) -> &str {
    line.split(' ').find(|word| word.contains(".part-")).unwrap()
}

/// A directory with an input and a copy of the scripts.
struct Place {
    dir: TempDir,
    variables: Vec<(&'static str, &'static str)>,
}

impl Place {
    /// With shards of so many rows in `in`.
    fn new(rows: &[usize]) -> Place {
        let place = Place { dir: TempDir::new(), variables: Vec::new() };
        copy_scripts(&place.dir);
        write_shards(&place.dir, rows);
        place
    }

    /// A script in the directory; KD is the pipeline.
    fn run(&self, script: &str) -> Outcome {
        let script = format!("cd {}; KD=scripts/synth-kd.sh; {script}", self.dir.path().display());
        bash_with(&script, &self.variables).without_shards()
    }

    fn plan(&self, arguments: &str) -> Vec<String> {
        let planned =
            self.run(&format!("bash $KD plan {arguments} > tasks.txt; cat tasks.txt")).ok();
        assert!(is_plans(&planned.stderr), "{planned:?}");
        planned.text().lines().map(str::to_string).collect()
    }

    /// The states by name, and the exit code.
    fn states(&self, root: &str) -> (BTreeMap<String, String>, i32) {
        let run = self.run(&format!("bash $KD status {root} tasks.txt"));
        let text = run.text();
        let states = text.lines().map(|line| line.split_once(' ').unwrap());
        let states = states.map(|(name, state)| (name.to_string(), state.to_string())).collect();
        (states, run.code().unwrap())
    }

    /// The state of the only task of a shard.
    fn state(&self, shard: &str) -> String {
        let (states, _) = self.states("many");
        let of = |name: &&String| name.starts_with(shard);
        let name = states.keys().find(of).unwrap_or_else(|| panic!("{shard}: {states:?}"));
        states[name].clone()
    }

    fn finish(&self, arguments: &str) -> Outcome {
        self.run(&format!("bash $KD finish {arguments}"))
    }

    /// Both roots have the same files with the same bytes, but for `run` in their manifests.
    #[track_caller]
    fn assert_same_roots(&self, ours: &str, theirs: &str) {
        assert_same_roots(&self.dir.path().join(ours), &self.dir.path().join(theirs));
    }
}

const ROWS: [usize; 4] = [23, 40, 12, 31];

/// Builds `one` on one machine, and `many` in 40 tasks, which `run` runs.
fn forty_tasks(run: &str) {
    let place = Place::new(&ROWS);
    place.run("bash $KD in one --valid-fraction 0.3").silent();
    let tasks = place.plan("in many --valid-fraction 0.3 --tasks 40");
    assert_eq!(tasks.len(), 40);
    place.run(run).ok();
    let (states, code) = place.states("many");
    assert!(states.len() == 40 && states.values().all(|state| state == "done"), "{states:?}");
    assert_eq!(code, 0);
    // What is done is not done again, and says nothing.
    place.run("bash tasks.txt; bash $KD status many --todo").silent();
    let made = place.finish("many tasks.txt").silent().text();
    assert!(made.starts_with("train ") && made.contains("\nvalid "), "{made}");
    place.assert_same_roots("many", "one");
    place.finish("many tasks.txt --delete-parts").silent();
    assert_eq!(files_in(&place.dir.path().join("many")), files_in(&place.dir.path().join("one")));
    place.assert_same_roots("many", "one");
    // Again, as a scheduler may: all is done.
    place.finish("many tasks.txt --delete-parts").silent();
    assert_eq!(place.states("many").1, 0);
    let todo = place.run("bash $KD status many tasks.txt --todo").silent();
    assert_eq!(todo.text(), "", "nothing is to be run again");
    // But what is no task of it, or not there any more, is not done.
    place.run("sed 's|/many |/one |' tasks.txt > others.txt; echo echo hello > hello.txt").ok();
    for command in ["status", "finish"] {
        let run = |list: &str| place.run(&format!("bash $KD {command} many {list}"));
        run("others.txt").fails(2, &["others.txt:1: is a task of ", "/one"]);
        run("hello.txt").fails(2, &["hello.txt:1: is not the line of a task"]);
        place.run("mv many/train/shard_00_span.bin kept").silent();
        run("tasks.txt").fails(1, &["many", "shard_00_span.bin"]);
        place.run("head -c 9 kept > many/train/shard_00_span.bin").silent();
        run("tasks.txt").fails(1, &["shard_00_span.bin: is not as it was finished"]);
        place.run("mv kept many/train/shard_00_span.bin").silent();
        run("tasks.txt").ok();
    }
}

/// The shell that runs the list is killed, and the filters of its task run on beside the retry.
#[test]
fn a_plan_run_by_bash_that_is_killed() {
    forty_tasks(
        "setsid bash tasks.txt & \
         until (($(ls many/tasks/*/done.json 2>/dev/null | wc -l) >= 5)); do sleep 0.02; done; \
         kill -KILL -- -$!; bash tasks.txt",
    );
}

#[test]
fn a_plan_run_twice_at_once() {
    forty_tasks(
        "xargs -d '\\n' -P 2 -n 1 sh -c < tasks.txt & xargs -d '\\n' -P 2 -n 1 sh -c < tasks.txt || exit; \
         wait $!",
    );
}

#[test]
fn a_plan_run_by_parallel() {
    if installed("parallel") {
        forty_tasks("parallel --will-cite -j 2 --joblog log --retries 2 < tasks.txt");
    }
}

/// Real conversations in row groups of their own, in both encodings.
#[test]
fn slices_of_the_original_shard() {
    let Some(data) = data("synth_harmony") else { return };
    for to in ["arrow", "ndjson"] {
        let mut place = Place::new(&[]);
        place.variables.push(("GRISTMILL_TO", to));
        fs::remove_dir_all(place.dir.path().join("in")).unwrap();
        symlink(&data, place.dir.path().join("in")).unwrap();
        place.run("bash $KD in one --valid-fraction 0.1").silent();
        let tasks = place.plan("in many --valid-fraction 0.1 --rows-per-task 60");
        assert_eq!(tasks.len(), 5);
        assert_eq!(name(&tasks[4]), "shard_00.part-00004-of-00005");
        assert!(tasks[4].starts_with(&format!("{}/ds-plan run /", bin_dir().display())));
        place.run("bash tasks.txt").silent();
        place.finish("many tasks.txt --jobs 1").silent();
        place.assert_same_roots("many", "one");
    }
}

/// Every limit and option of one machine.
#[test]
fn limits_and_options_are_those_of_one_machine() {
    let place = Place::new(&[9, 1, 7]);
    for (number, options) in [
        "--max-rows 12",
        "--max-rows 4",
        "--max-rows-per-shard 3 --valid-fraction 1",
        "--max-tokens 500",
        "--on-error skip --no-input-check --valid-fraction 0",
    ]
    .into_iter()
    .enumerate()
    {
        let (one, many) = (format!("one{number}"), format!("many{number}"));
        place.run(&format!("bash $KD in {one} {options}")).silent();
        let size = if number < 2 { "--tasks 7" } else { "--rows-per-task 2" };
        let tasks = place.plan(&format!("in {many} {options} {size}"));
        assert!(number != 3 || tasks.len() == 3, "--max-tokens: a task is a shard: {tasks:?}");
        place.run("bash tasks.txt").silent();
        place.finish(&format!("{many} tasks.txt")).silent();
        place.assert_same_roots(&many, &one);
    }
}

#[test]
fn wrong_plans_exit_2_and_write_nothing() {
    let place = Place::new(&[3]);
    for (arguments, message) in [
        ("in many --resume", "plan --resume"),
        ("in", "INPUT and ROOT are required"),
        ("nothing many", "nothing: no such file or directory"),
        ("in in", "in: is not empty, and has no plan; try: --overwrite"),
    ] {
        place.run(&format!("bash $KD plan {arguments}")).fails(2, &[message]);
    }
    for (arguments, message) in [
        ("in many --tasks 0", "invalid value '0' for '--tasks <N>'"),
        ("in many --valid-fraction 2", "expected a decimal number from 0 to 1"),
        ("in many --on-error ignore", "invalid value 'ignore' for '--on-error <fail|skip>'"),
    ] {
        place.run(&format!("bash $KD plan {arguments}")).exits(2, &[message]);
    }
    assert!(!place.dir.path().join("many").exists());
    place.run("bash $KD status in").fails(2, &["in: has no plan (tasks/plan.json)"]);
    place.finish("in").fails(2, &["in: has no plan"]);
    place.finish("").exits(2, &["<ROOT>"]);
    place.plan("in many --tasks 2");
    place.finish("many --delete-parts --no-check").fails(2, &["exclude each other"]);
}

/// A ds-plan with a harmony-tok beside it that does `script` first.
fn with_harmony_tok(place: &Place, script: &str) {
    wrap(&place.dir, "harmony-tok", script);
}

/// The only task of a shard, by the ds-plan of [`with_harmony_tok`].
fn task(tasks: &[String], shard: &str) -> String {
    let line = tasks.iter().find(|line| line.contains(&format!(" {shard}."))).unwrap();
    line.replace(&bin_dir().display().to_string(), "bin")
}

#[test]
fn every_state_is_seen() {
    let place = Place::new(&[5, 6, 7, 8]);
    let plan = "in many --valid-fraction 0.5 --tasks 4";
    let tasks = place.plan(plan);
    with_harmony_tok(&place, "true");
    place.run(&task(&tasks, "shard_00")).silent();
    let (states, code) = place.states("many");
    let names: Vec<String> =
        (0..4).map(|shard| format!("shard_{shard:02}.part-00000-of-00001")).collect();
    let expected: BTreeMap<String, String> = names
        .iter()
        .zip(["done", "missing", "missing", "missing"])
        .map(|(name, state)| (name.clone(), state.to_string()))
        .collect();
    assert_eq!((states, code), (expected, 1));
    let todo = place.run("bash $KD status many tasks.txt --todo").silent().text();
    assert_eq!(todo.lines().collect::<Vec<_>>(), tasks[1..]);

    // Failed: with its exit code and cause; a pipeline that is killed may be tried again.
    with_harmony_tok(&place, "echo 'harmony-tok: no luck' >&2; exit 1");
    let failed = place.run(&task(&tasks, "shard_01"));
    failed.exits(1, &["harmony-tok: no luck\n"]);
    assert!(place.state("shard_01").starts_with("failed: exit 1 on "));
    with_harmony_tok(&place, "kill -KILL $$");
    assert_eq!(place.run(&task(&tasks, "shard_01")).code(), Some(75));
    let state = place.state("shard_01");
    assert!(state.starts_with("failed: exit 75 on "), "{state}");

    // Running, as long as one of its filters is there, even if its shell is killed.
    with_harmony_tok(&place, "touch started; until [ -e go ]; do sleep 0.02; done");
    let running = task(&tasks, "shard_01");
    place
        .run(&format!(
            "setsid {running} & until [ -e started ]; do sleep 0.02; done; \
             bash $KD status many > seen; kill -KILL $!; bash $KD status many >> seen; touch go; \
             until [ $(bash $KD status many | grep -c running) = 0 ]; do sleep 0.02; done; cat seen"
        ))
        .ok();
    let seen = place.dir.text("seen");
    assert_eq!(seen.matches("shard_01.part-00000-of-00001 running\n").count(), 2, "{seen}");
    // Its part is whole, but nobody has looked: the retry finds it there.
    assert_eq!(place.state("shard_01"), "missing");
    with_harmony_tok(&place, "true");
    place.run(&running).silent();
    assert_eq!(place.state("shard_01"), "done");

    // A task that is told to stop stops its filters, and dies of the signal.
    with_harmony_tok(&place, "echo $$ > started; exec sleep 60");
    let stopped = place.run(&format!(
        "rm -f started; {} & until [ -s started ]; do sleep 0.02; done; SECONDS=0; kill -TERM $!; \
         wait $!; echo $?; ((SECONDS < 40)) || echo late; \
         i=0; while grep -qs 'State:.[^Z]' /proc/$(cat started)/status; do \
         ((i++ < 100)) || {{ echo alive; break; }}; sleep 0.05; done",
        task(&tasks, "shard_02")
    ));
    assert_eq!(stopped.text(), "143\n", "{stopped:?}");
    assert_eq!(place.state("shard_02"), "missing");

    // Stale: another input under the same name; then what is there is replaced.
    write_shard(&place.dir, "shard_00", 100..109);
    assert_eq!(place.state("shard_00"), "stale: its input has changed since the plan");
    place.run("head -1 tasks.txt | bash").exits(1, &["is not what it was when the plan was made"]);
    let again = place.plan(plan);
    assert_eq!(again[0], tasks[0], "its name stays");
    assert_eq!(place.state("shard_00"), "stale: made of another input");
    assert_eq!(place.state("shard_01"), "done");
    place.run("bash tasks.txt").silent();
    assert_eq!(place.states("many").1, 0);

    // Stale: other options.
    place
        .run("bash $KD plan in many --valid-fraction 0.25 --tasks 4")
        .fails(2, &["many: has a plan with other options: --valid-fraction 0.5", "--overwrite"]);
    assert_eq!(place.states("many").1, 0);
    let other = place.plan("in many --valid-fraction 0.25 --tasks 4 --overwrite");
    assert!(other[0] != tasks[0]);
    assert_eq!(place.state("shard_03"), "stale: made with other options (another plan)");
    // A line of the plan before does nothing.
    place.run(&tasks[0]).fails(2, &["is a task of plan ", "; the plan here is "]);
    place.run("bash tasks.txt").silent();
    place.finish("many tasks.txt").silent();
    place.run("bash $KD in one --valid-fraction 0.25").silent();
    place.assert_same_roots("many", "one");
}

#[test]
fn a_new_shard_gets_tasks_of_its_own() {
    let place = Place::new(&[0, 9, 14]);
    fs::rename(
        place.dir.path().join("in/synth_harmony_shard_00.parquet"),
        place.dir.path().join("in/synth_harmony_shard_03.parquet"),
    )
    .unwrap();
    let tasks = place.plan("in many --valid-fraction 0.5 --tasks 8");
    assert_eq!(tasks.len(), 8);
    let half = tasks[..4].join("\n");
    place.run(&half).silent();
    // It sorts first, and the manifest beside the shards names it: all there is changes but the old
    // shards.
    write_shard(&place.dir, "shard_00", 200..210);
    place.dir.write("in/manifest.json", "{\"of\": \"one more\"}\n");
    place.finish("many tasks.txt").fails(1, &["not done: 4 of 8 tasks"]);
    fs::copy(place.dir.path().join("tasks.txt"), place.dir.path().join("old.txt")).unwrap();
    let more = place.plan("in many --valid-fraction 0.5 --tasks 8");
    let new = more.len() - 8;
    assert!(new > 1 && more[..new].iter().all(|line| line.contains(" shard_00.")), "{more:?}");
    assert_eq!(more[new..], tasks, "old tasks keep their names");
    let (states, _) = place.states("many");
    assert_eq!(states.values().filter(|state| *state == "done").count(), 4);
    place.run("bash tasks.txt").silent();
    place.finish("many old.txt").fails(2, &["old.txt: lacks ", " of the plan's "]);
    let old = place.run("bash $KD status many old.txt");
    assert!(old.code() == Some(2) && old.text().lines().count() == 8, "{old:?}");
    place.finish("many tasks.txt").silent();
    place.run("bash $KD in one --valid-fraction 0.5").silent();
    place.assert_same_roots("many", "one");
    // Other sizes would rename old tasks.
    place
        .run("bash $KD plan in many --valid-fraction 0.5 --tasks 9")
        .fails(2, &["has a plan with tasks of another size (--tasks 8)"]);
}

#[test]
fn bad_input_joins_nothing() {
    let place = Place::new(&[5, 6]);
    place.plan("in other --valid-fraction 0.5 --tasks 4");
    place.run("bash tasks.txt; mv tasks.txt other.txt").silent();
    let tasks = place.plan("in many --valid-fraction 0.25 --tasks 4");
    place.run("bash tasks.txt").silent();
    let before = files_in(&place.dir.path().join("many"));
    let refused = |arguments: &str, code: i32, parts: &[&str]| {
        place.finish(arguments).fails(code, parts);
        let named = |name: &&String| !name.starts_with("tasks/");
        let joined = files_in(&place.dir.path().join("many"));
        assert_eq!(joined.iter().find(named), None);
    };
    // A task list of another plan, in part or as a whole.
    refused("many other.txt", 2, &["other.txt:1: is a task of plan ", "; that of /"]);
    place.run("(cat tasks.txt other.txt) > both.txt");
    refused("many both.txt", 2, &["both.txt:5: is a task of plan "]);
    place.run("bash $KD status many other.txt").fails(2, &["other.txt:1: is a task of plan "]);
    place.run("(cat tasks.txt; echo make all) > more.txt");
    refused("many more.txt", 2, &["more.txt:5: is not the line of a task"]);
    place.run("head -3 tasks.txt > less.txt");
    refused("many less.txt", 2, &["less.txt: lacks 1 of the plan's 4 tasks"]);
    place.run("sed s/00000-of/00007-of/ tasks.txt > none.txt");
    refused("many none.txt", 2, &["none.txt:1: the plan has no task shard_00.part-00007-of-0000"]);
    // Two plans in one root.
    place.run("cp -r in in2");
    place.run("bash $KD plan in2 many --valid-fraction 0.25 --tasks 4").fails(
        2,
        &["/many: has a plan of another input, ", "/in; try: another root, or --overwrite"],
    );
    assert_eq!(files_in(&place.dir.path().join("many")), before);
    // A part of another run, and one of another task.
    let names: Vec<&str> = tasks.iter().map(|line| name(line)).collect();
    let [first, second] = [names[0], names[1]];
    place.run(&format!("cd many/tasks; mv {first} ../../first; cp -r ../../other/tasks/{first} ."));
    let cause = format!("not done: 1 of 4 tasks: {first} (stale: made with other options");
    refused("many tasks.txt", 1, &[&cause]);
    place.run(&format!("cd many/tasks; rm -r {first}; cp -r {second} {first}"));
    refused("many tasks.txt", 1, &["(stale: its receipt is that of another task)"]);
    // Only the part, beside the right receipt.
    place.run(&format!(
        "cd many/tasks; rm -r {first}; cp -r ../../first {first}; rm -r {first}/part; \
         cp -r ../../other/tasks/{first}/part {first}"
    ));
    refused("many tasks.txt", 1, &[&format!("{first} (stale: ")]);
    // A part removed by hand, and its directory; a file that is cut.
    place.run(&format!("rm -r many/tasks/{first}/part"));
    refused("many tasks.txt", 1, &[&format!("{first} (stale: "), " is gone)"]);
    place.run(&format!("rm -r many/tasks/{first}"));
    refused("many tasks.txt", 1, &[&format!("not done: 1 of 4 tasks: {first} (missing)")]);
    place.run(&format!(
        "cp -r first many/tasks/{first}; truncate -s -1 many/tasks/{second}/part/*/*_tokens.bin"
    ));
    refused("many tasks.txt", 1, &[&format!("{second} (stale: "), "_tokens.bin has "]);
    // Bytes that changed, which only reading finds.
    place.run(&format!(
        "rm -r many/tasks/{second}; grep {second} tasks.txt | bash; \
         f=$(ls many/tasks/{second}/part/*/*_lossmask.bin | head -1); \
         printf '\\007' | dd of=$f bs=1 seek=3 conv=notrunc status=none"
    ));
    let damaged = place.finish("many tasks.txt");
    damaged.fails(1, &["lossmask.bin is not the one of its manifest (sha256)"]);
    assert!(!place.dir.path().join("many/manifest.json").exists());
    place.run(&format!("rm -r many/tasks/{second}; bash tasks.txt")).silent();
    place.finish("many tasks.txt").silent();
    place.run("bash $KD in one --valid-fraction 0.25").silent();
    place.assert_same_roots("many", "one");
}

/// A file of so many bytes that takes no space, but for its last byte.
fn sparse(path: &Path, bytes: u64, last: u8) {
    let file = fs::File::create(path).unwrap();
    file.write_all_at(&[last], bytes - 1).unwrap();
}

/// Makes the only sequence of a part this long, and its manifest and receipt say so.
/// (Two files of one length are equal.)
fn stretch(task: &Path, tokens: u64, digests: &mut BTreeMap<u64, String>) {
    let part = task.join("part");
    let at = part.join("parts/shard_00.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&at).unwrap()).unwrap();
    let split = &mut manifest["splits"]["train"];
    split["tokens"] = tokens.into();
    for (member, size) in [("tokens", 4), ("lossmask", 1), ("span", 1)] {
        let prefix = part.join(format!("train/shard_00_{member}"));
        let [bin, idx] = ["bin", "idx"].map(|ending| prefix.with_extension(ending));
        sparse(&bin, tokens * size, 1);
        let file = fs::OpenOptions::new().write(true).open(&idx).unwrap();
        file.write_all_at(&(tokens as i32).to_le_bytes(), 34).unwrap();
        for (key, path) in [(format!("{member}_bin"), bin), (format!("{member}_idx"), idx)] {
            let digest = || sha256_of(fs::File::open(&path).unwrap()).unwrap().1;
            let bytes = fs::metadata(&path).unwrap().len();
            let large = bytes > 1 << 20;
            let sha256 = match large {
                true => digests.entry(bytes).or_insert_with(digest).clone(),
                false => digest(),
            };
            split["bytes"][&key] = bytes.into();
            split["sha256"][&key] = sha256.into();
        }
    }
    for of in ["paths", "bytes", "sha256"] {
        split[of].as_object_mut().unwrap().remove("ids");
    }
    fs::remove_file(part.join("ids/train/shard_00.parquet")).unwrap();
    fs::write(&at, manifest.to_string()).unwrap();
    let at = task.join("done.json");
    let mut receipt: Value = serde_json::from_slice(&fs::read(&at).unwrap()).unwrap();
    receipt["manifest_sha256"] = sha256_hex(manifest.to_string().as_bytes()).into();
    let files = receipt["files"].as_array_mut().unwrap();
    files.retain(|file| !file["path"].as_str().unwrap().starts_with("ids/"));
    for file in files {
        let path = part.join(file["path"].as_str().unwrap());
        file["bytes"] = fs::metadata(path).unwrap().len().into();
    }
    fs::write(&at, receipt.to_string()).unwrap();
}

/// Pointers past 2^31 and 2^32, into a `.bin` whose parts are holes.
#[test]
fn pointers_into_large_files() {
    let place = Place::new(&[3]);
    let tasks = place.plan("in many --valid-fraction 0 --rows-per-task 1");
    place.run("bash tasks.txt").silent();
    let lengths = [(1 << 29) + 7; 2];
    let mut digests = BTreeMap::new();
    for line in &tasks[..2] {
        let name = name(line);
        stretch(&place.dir.path().join("many/tasks").join(name), lengths[0], &mut digests);
    }
    let name = name(&tasks[2]);
    let last = place.dir.read(&format!("many/tasks/{name}/part/train/shard_00_tokens.bin"));
    place.finish("many tasks.txt --no-check").silent();
    for (member, size) in [("tokens", 4), ("lossmask", 1), ("span", 1)] {
        let idx = place.dir.read(&format!("many/train/shard_00_{member}.idx"));
        let mut expected = b"MMIDIDX\0\0\x01\0\0\0\0\0\0\0".to_vec();
        expected.push(if size == 4 { 4 } else { 1 });
        let lengths = [lengths[0], lengths[1], last.len() as u64 / 4];
        expected.extend([3u64, 4].map(u64::to_le_bytes).concat());
        expected.extend(lengths.map(|length| (length as i32).to_le_bytes()).concat());
        let offsets = [0, lengths[0] * size, (lengths[0] + lengths[1]) * size];
        expected.extend(offsets.map(u64::to_le_bytes).concat());
        expected.extend([0u64, 1, 2, 3].map(u64::to_le_bytes).concat());
        assert!(idx == expected, "{member}");
        let bin = place.dir.path().join(format!("many/train/shard_00_{member}.bin"));
        let bin = fs::File::open(bin).unwrap();
        assert_eq!(bin.metadata().unwrap().len(), lengths.iter().sum::<u64>() * size);
        assert!(bin.metadata().unwrap().blocks() < 1 << 14, "holes stay holes");
        for end in &offsets[1..] {
            let mut byte = [0];
            bin.read_exact_at(&mut byte, end - 1).unwrap();
            assert_eq!(byte, [1]);
        }
        if size == 4 {
            assert!(offsets[1] > 1 << 31 && offsets[2] > 1 << 32);
            let mut sequence = vec![0; last.len()];
            bin.read_exact_at(&mut sequence, offsets[2]).unwrap();
            assert!(sequence == last);
        }
    }
    assert_eq!(place.dir.json("many/manifest.json")["splits"]["train"]["rows"], 3);
}

/// Packs of games: what is merged is what one machine packs, its manifest included.
#[test]
fn a_pack_in_tasks() {
    let Some(data) = data("macroxue") else { return };
    let place = Place::new(&[]);
    fs::remove_dir_all(place.dir.path().join("in")).unwrap();
    fs::create_dir(place.dir.path().join("in")).unwrap();
    for copy in 0..5 {
        symlink(data.join("raw_small"), place.dir.path().join(format!("in/{copy}"))).unwrap();
    }
    let mx = |script: &str| place.run(&format!("MX=scripts/macroxue.sh; {script}"));
    for (tasks, options) in [(40, ""), (5, "--shard-rows 1000 --legality values")] {
        assert_eq!(mx(&format!("bash $MX in one --overwrite {options} -q")).ok().text(), "");
        mx(&format!("bash $MX plan in many {options} --tasks {tasks} > tasks.txt")).silent();
        assert_eq!(place.dir.text("tasks.txt").lines().count(), tasks);
        mx("xargs -d '\\n' -P 2 -n 1 sh -c < tasks.txt").silent();
        let said =
            mx("bash $MX status many tasks.txt && bash $MX finish many tasks.txt --delete-parts");
        assert!(said.ok().text().contains(" rows\nmany: 40 games read; "));
        let files = files_in(&place.dir.path().join("one"));
        assert_eq!(files_in(&place.dir.path().join("many")), files);
        for name in files {
            let [a, b] = ["one", "many"].map(|pack| place.dir.read(&format!("{pack}/{name}")));
            assert!(a == b, "{name} differs");
        }
        fs::remove_dir_all(place.dir.path().join("many")).unwrap();
    }
    mx("bash $MX plan in many --games-per-task 15 > tasks.txt; bash tasks.txt; \
        rm -r many/tasks/games.part-00001-of-00003; bash $MX finish many tasks.txt")
    .fails(1, &["not done: 1 of 3 tasks: games.part-00001-of-00003 (missing)"]);
    assert!(!place.dir.path().join("many/manifest.json").exists());
}

/// Raw rows, to conversations and to a root: slices of shards of whole files, with rows that are left out
/// in each, joined to the bytes of one machine. A shard of NDJSON is one task.
#[test]
fn raw_rows_in_tasks() {
    let Some(data) = data("synth_raw") else { return };
    let place = Place::new(&[]);
    place.run(&format!("mkdir text; cp {}/raw.ndjson text/a.ndjson", data.display()));
    symlink(data.join("raw_files"), place.dir.path().join("raw")).unwrap();
    for (number, (script, options, size, count)) in [
        ("synth-raw.sh raw", "--shards 2 --row-group-rows 50", "--rows-per-task 37", 13),
        ("synth-raw.sh raw", "--shards 7 --omit-developer", "--tasks 9", 9),
        ("synth-raw.sh raw", "--max-rows 30 --on-error skip", "--rows-per-task 7", 5),
        ("synth-raw.sh text", "--max-rows 90", "--tasks 5", 1),
        ("synth-kd.sh raw", "--raw --shards 2 --on-error skip", "--rows-per-task 37", 13),
        ("synth-kd.sh raw", "--raw --shards 3 --on-error skip --max-rows 200", "--tasks 5", 5),
        ("synth-kd.sh text", "--raw --on-error skip --max-rows-per-shard 40", "", 1),
    ]
    .into_iter()
    .enumerate()
    {
        let (script, input) = script.split_once(' ').unwrap();
        let run = |line: &str| place.run(&format!("S=scripts/{script}; {line}"));
        run(&format!("bash $S {input} at/one{number} {options} -q")).ok();
        let planned =
            run(&format!("bash $S plan {input} many{number} {options} {size} > tasks.txt"));
        let planned = planned.ok();
        assert!(is_plans(&planned.stderr), "{planned:?}");
        assert_eq!(place.dir.text("tasks.txt").lines().count(), count, "{script} {options}");
        run(&format!("bash tasks.txt && bash $S status many{number} tasks.txt")).silent();
        run(&format!("bash $S finish many{number} tasks.txt --delete-parts -q")).ok();
        place.run(&format!("mkdir to; mv many{number} to/one{number}")).silent();
        let manifest = |place_of: &str| {
            let mut json = place.dir.json(&format!("{place_of}/one{number}/manifest.json"));
            for name in ["run", "created_unix_s", "dataset_dir"] {
                json.as_object_mut().unwrap().remove(name);
            }
            json.to_string().replace(&format!("many{number}/"), &format!("at/one{number}/"))
        };
        assert_eq!(manifest("to"), manifest("at"));
        place.run(&format!("rm {{at,to}}/one{number}/manifest.json")).silent();
        if script == "synth-raw.sh" {
            place.run(&format!("diff -r at/one{number} to/one{number}")).silent();
        } else {
            place.assert_same_roots(&format!("to/one{number}"), &format!("at/one{number}"));
        }
        place.run("rm -r to").silent();
    }
    place
        .run("bash scripts/synth-kd.sh plan text none --raw --max-rows 40")
        .fails(2, &["the rows of NDJSON are not counted", "a limit of rows of each shard"]);
    assert!(!place.dir.path().join("none").exists());
}

/// A part that another call has made, under the receipt of this one, and what is joined already.
#[test]
fn only_parts_of_the_plan_are_joined_and_once() {
    let place = Place::new(&[5, 6]);
    let tasks = place.plan("in many --valid-fraction 0.25 --tasks 4");
    place.run("bash tasks.txt").silent();
    let name = name(&tasks[1]);
    place.run(&format!("cp -r many/tasks/{name} saved")).silent();
    let forge = |edit: Edit| {
        let at = format!("many/tasks/{name}");
        let mut part = place.dir.json(&format!("{at}/part/parts/shard_00.json"));
        edit(&mut part);
        place.dir.write(&format!("{at}/part/parts/shard_00.json"), part.to_string());
        let mut receipt = place.dir.json(&format!("{at}/done.json"));
        receipt["manifest_sha256"] = sha256_hex(part.to_string().as_bytes()).into();
        for file in receipt["files"].as_array_mut().unwrap() {
            let path = place.dir.path().join(&at).join("part").join(file["path"].as_str().unwrap());
            file["bytes"] = fs::metadata(path).unwrap().len().into();
        }
        place.dir.write(&format!("{at}/done.json"), receipt.to_string());
    };
    let restore = || place.run(&format!("rm -r many/tasks/{name}; cp -r saved many/tasks/{name}"));
    let last = |part: &Value| part["provenance"].as_array().unwrap().len() - 1;
    let cases: [(Edit, &str); 5] = [
        (
            &|part| {
                let last = last(part);
                part["provenance"][last]["arguments"] = serde_json::json!([]);
            },
            "was made with other options: not with --valid-fraction 0.25",
        ),
        (&|part| part["run"]["git_sha"] = "0123456789abcdef".into(), "was made by gristmill "),
        (&|part| part["source"]["limits"]["slice"] = "0..1".into(), "is another slice"),
        (&|part| part["source"]["inputs"][0]["rows"] = 7.into(), "is of another input"),
        (&|part| part["config_hash"] = "00".into(), "its config is not that of"),
    ];
    for (edit, cause) in cases {
        forge(edit);
        let at = format!("tasks/{name}/part/parts/shard_00.json: ");
        place.finish("many tasks.txt").fails(1, &[&at, cause]);
        let files = files_in(&place.dir.path().join("many"));
        assert!(files.iter().all(|name| name.starts_with("tasks/")), "{cause}: {files:?}");
        restore().silent();
    }
    place.finish("many tasks.txt --no-check").silent();
    place.run("bash $KD in one --valid-fraction 0.25").silent();
    place.assert_same_roots("many", "one");
    // What is joined stays; what was lost is joined again.
    let inode = |name: &str| fs::metadata(place.dir.path().join(name)).unwrap().ino();
    let of = |shard: &str| inode(&format!("many/parts/{shard}.json"));
    let before = [of("shard_00"), of("shard_01")];
    fs::remove_file(place.dir.path().join("many/train/shard_01_span.bin")).unwrap();
    place.finish("many tasks.txt --no-check").silent();
    assert!(of("shard_00") == before[0] && of("shard_01") != before[1]);
    place.assert_same_roots("many", "one");
}

/// More packs than may be open at once are joined in steps.
#[test]
fn more_parts_than_open_files() {
    let Some(data) = data("macroxue") else { return };
    let place = Place::new(&[]);
    let games = data.join("raw_small/nested").display().to_string();
    // One game under many names.
    let link = format!(
        "rm -r in; mkdir in; m=$(find {games} -name '*.meta.json' | sort | head -1); \
         for i in {{10..79}}; do ln -s $m in/g$i.meta.json; \
         ln -s ${{m%.meta.json}}.jsonl.gz in/g$i.jsonl.gz; done"
    );
    place.run(&link).silent();
    let mx = |script: &str| place.run(&format!("MX=scripts/macroxue.sh; {script}"));
    mx("bash $MX in one --no-check -q").silent();
    mx("bash $MX plan in many --games-per-task 1 > tasks.txt; xargs -d '\\n' -P 2 -n 1 sh -c < tasks.txt").silent();
    mx("ulimit -n 32; bash $MX finish many tasks.txt --no-check -q").silent();
    // What a `finish` has merged and could not remove, the next one removes.
    place.run("cd many/tasks && mkdir joining joining-70-00001 && cp ../*.npy joining").silent();
    mx("bash $MX finish many tasks.txt --no-check -q").silent();
    place.run("rm -r many/tasks/games.part-*; ls many/tasks | grep -v plan.json").exits(1, &[""]);
    place.run("rm -r many/tasks; diff -r one many").silent();
}

/// What a Slurm array runs: its lines, and the exit code that says whether to try again.
#[test]
fn lines_of_a_slurm_array() {
    let place = Place::new(&[4]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/slurm/task.sbatch");
    place.plan("in many --valid-fraction 0.5 --rows-per-task 1");
    for index in 0..2 {
        place.run(&format!("SLURM_ARRAY_TASK_ID={index} PER=3 bash {script} tasks.txt")).silent();
    }
    assert_eq!(place.states("many").1, 0);
    for (lines, restarts, code, message) in [
        ("exit 75;true", 0, 75, "exit 75: exit 75\n"),
        ("exit 75;exit 1", 0, 1, "exit 1: exit 1\n"),
        ("exit 2;exit 75", 0, 2, "exit 2: exit 2\n"),
        ("kill -TERM $$;true", 0, 75, "exit 143: kill -TERM $$\n"),
        ("true;exit 75", 9, 75, "exit 75: exit 75\n"),
        ("true;exit 75", 10, 1, " given up after 10 restarts\n"),
        ("true;true", 10, 0, ""),
    ] {
        place.dir.write("some.txt", lines.replace(';', "\n") + "\n");
        let run = place.run(&format!(
            "SLURM_RESTART_COUNT={restarts} SLURM_ARRAY_TASK_ID=0 PER=9 bash {script} some.txt"
        ));
        run.exits(code, &[message]);
    }
}

/// An input of which a file is gone, cut, doubled, renamed, copied or of another one is not planned, as it is
/// not read (tests/formats/members.rs).
#[test]
fn a_damaged_input_is_not_planned() {
    let place = Place::new(&[]);
    let row = |number: usize| {
        format!(
            "{{\"synth_id\":\"s{number}\",\"query\":\"q\",\"synthetic_reasoning\":\"r {number}\",\
             \"synthetic_answer\":\"a\",\"language\":\"en\",\"exercise\":\"x\",\"model\":\"m\"}}\n"
        )
    };
    place.dir.write("raw/rows.ndjson", (0..31).map(row).collect::<String>());
    place.run("rm -rf in; mkdir other; bash scripts/synth-raw.sh raw in --shards 2 -q").ok();
    let plan = || place.run("rm -rf root; bash $KD plan in root --tasks 2");
    let whole = plan().ok().text();
    let shards = place.run("cd in; ls *.parquet").text();
    let (first, second) = shards.trim().split_once('\n').unwrap();
    let damages = [
        "rm in/$F",
        "head -c 400 other/$F > in/$F",
        "> in/$F",
        "cat other/$F other/$F > in/$F",
        "mv in/$F in/synth_harmony_shard_09.parquet",
        "cp in/$F in/synth_harmony_shard_09.parquet",
        "cp in/$OF in/$F",
    ];
    for (file, of) in [(first, second), (second, first), ("manifest.json", first)] {
        for damage in damages {
            // Another manifest beside it is nobody's.
            if file == "manifest.json" && damage.ends_with("shard_09.parquet") {
                continue;
            }
            let damage = format!("F={file} OF={of}; cp in/$F other; {damage}");
            place.run(&damage).ok();
            let run = plan();
            assert!(matches!(run.code(), Some(1 | 2)), "{damage}: {run:?}");
            assert_eq!((run.stderr.lines().count(), run.text()), (1, String::new()), "{damage}");
            place.run(&format!("rm -f in/synth_harmony_shard_09.parquet; cp other/{file} in")).ok();
        }
    }
    assert_eq!(plan().ok().text(), whole);
}
