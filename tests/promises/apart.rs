//! What a run reads stays apart from what it writes, and from what others write meanwhile.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Stdio};

use crate::common::{TempDir, bash, bash_with, files_in, tool};
use crate::faults::inputs;
use crate::faults::preload::{self, Fault, Watch, What};

/// All kinds of inputs, in `in`.
fn place() -> TempDir {
    let dir = TempDir::new();
    inputs::make(&dir.path().join("in"));
    dir
}

fn content(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| (name.clone(), fs::read(directory.join(&name)).unwrap());
    files_in(directory).into_iter().map(read).collect()
}

/// Every sink, page and file of rejects, over what it reads or into it, by other names too.
#[test]
fn no_output_is_an_input_or_lies_in_one() {
    let dir = place();
    let input = dir.path().join("in");
    symlink("in", dir.path().join("link")).unwrap();
    symlink("rows.parquet", input.join("rows_link.parquet")).unwrap();
    fs::hard_link(input.join("masked.arrows"), input.join("hard.arrows")).unwrap();
    let before = content(&input);
    let skip = "--on-error skip --rejects";
    for (command, at) in [
        ("synth-harmony in/raw_rows -o in/raw_rows/x.parquet", "in/raw_rows/x.parquet"),
        ("synth-harmony in/raw_rows -o link/raw_rows/new/x.parquet", "link/raw_rows/new/x.parquet"),
        ("synth-harmony in/rows.parquet -o in/rows_link.parquet", "in/rows_link.parquet"),
        ("chat-harmony in/chats -o in/chats/x.parquet", "in/chats/x.parquet"),
        ("chat-harmony in/chats/a.jsonl -o in/chats/../chats/a.jsonl", "chats/a.jsonl"),
        ("ds-view in/root --html in/root/manifest.json", "in/root/manifest.json"),
        ("ds-view in/root/train --html in/root/parts/a.json", "in/root/parts/a.json"),
        ("ds-view in/p/a --html in/p/a_ids.parquet", "in/p/a_ids.parquet"),
        ("ds-view in/domino/train --html in/domino/build.json", "in/domino/build.json"),
        ("ds-view in/pack --html in/pack/new.html", "in/pack/new.html"),
        ("ds-view --html in/a.ndjson - < in/a.ndjson", "in/a.ndjson"),
        ("seq-pack in/root/train -o in/root/ids/train/a.parquet", "in/root/ids/train/a.parquet"),
        ("seq-pack in/root/train -o in/root/train/x.parquet", "in/root/train/x.parquet"),
        ("seq-pack in/root --index in/root/x.parquet -n 9000", "in/root/x.parquet"),
        ("seq-pack in/p/a -o in/p/a_ids.parquet", "in/p/a_ids.parquet"),
        ("ds-cat in/masked.arrows -o in/hard.arrows", "in/hard.arrows"),
        ("npy-pack in/pack -o in/pack", "in/pack/"),
        ("npy-pack in/pack -o link/pack/below", "link/pack/below"),
        ("npy-pack in/domino -o in/domino", "in/domino/"),
        ("mmidx-write in/root --root in/root --shard a", "in/root/"),
        ("mmidx-write in/root/train --root link/root --shard c", "link/root/train/"),
        ("mmidx-write --concat in/p/a in/p/b --prefix in/p/../p/a", "in/p/../p/a"),
        ("mx-decode in/raw SKIP in/raw/rejects.ndjson", "in/raw/rejects.ndjson"),
        ("harmony-tok in/a.ndjson SKIP in/a.ndjson", "in/a.ndjson"),
        ("span-mask in/a.masked SKIP link/a.masked", "link/a.masked"),
        ("synth-harmony in/raw_rows SKIP in/raw_rows/r", "in/raw_rows/r"),
    ] {
        let command = command.replace("SKIP", skip);
        let overwrite = if command.contains("--rejects") { "" } else { "--overwrite" };
        let (head, tail) =
            command.split_once(" < ").map_or((&*command, ""), |(a, _)| (a, "< in/a.ndjson"));
        let run =
            bash(&format!("cd '{}' && {head} {overwrite} {tail} >/dev/null", dir.path().display()));
        run.exits(2, &["input of this run"]);
        assert!(run.stderr.contains(at), "{run:?}");
        assert!(content(&input) == before, "{command}");
    }
    // Beside the input there is room.
    let near = "cd 'DIR' && synth-harmony -q in/raw_rows -o in/new.parquet && ds-view in/root --html in/new.html &&
         seq-pack -q in/p/a -o in/p/rows.parquet && npy-pack -q in/pack -o in/pack2";
    bash(&near.replace("DIR", dir.path().to_str().unwrap())).ok();
}

/// Stops a command at a call, or lets it end before.
fn stopped(dir: &TempDir, tool: &str, script: &str, fault: Fault) -> Option<Child> {
    let watch = Watch { process: tool.into(), under: dir.path().join("now") };
    let variables = preload::variables(dir.path(), &watch, Some(fault));
    let mut command = std::process::Command::new("bash");
    command.args(["-c", &format!("exec {script}")]).current_dir(dir.path());
    let path = format!("{}:{}", crate::common::bin_dir().display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).envs(variables);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    loop {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        if state == Some('T') {
            return Some(child);
        }
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// A dataset is replaced at every place of a run: what comes out is of the old one, of the new one, or an
/// error; never of both.
#[test]
fn what_is_replaced_while_it_is_read_is_never_mixed() {
    if preload::library().is_none() {
        return;
    }
    let dir = TempDir::new();
    inputs::make_of(&dir.path().join("old"), 0);
    inputs::make_of(&dir.path().join("new"), 3);
    for (tool, script) in [
        ("ds-cat", "ds-cat --count now/root"),
        ("ds-cat", "ds-cat --count now/pack"),
        ("ds-view", "ds-view --limit 1 now/root"),
        ("ds-view", "ds-view now/sharded --limit 1"),
        ("ds-stat", "ds-stat -q now/root"),
        ("ds-stat", "ds-stat -q now/shards"),
        ("seq-pack", "seq-pack -q now/root/train -o out.parquet --columns id --overwrite"),
        ("seq-pack", "seq-pack -q now/p/a --index out.parquet -n 9000 --overwrite"),
    ] {
        let lay = |from: &str| {
            let script = "rm -rf $D/now $D/out.parquet; cp -r $D/$FROM $D/now";
            bash_with(script, &[("D", dir.path().to_str().unwrap()), ("FROM", from)]).ok();
        };
        let result = |stdout: Vec<u8>| (stdout, fs::read(dir.path().join("out.parquet")).ok());
        let whole = |from: &str| {
            lay(from);
            let here = format!("cd '{}' && {script}", dir.path().display());
            result(bash(&here).ok().stdout)
        };
        let (old, new) = (whole("old"), whole("new"));
        let mut seen = 0;
        for call in ["open", "read"] {
            for at in (1..).step_by(7) {
                lay("old");
                let fault = Fault { call, at, what: What::Signal(libc::SIGSTOP) };
                let Some(child) = stopped(&dir, tool, script, fault) else { break };
                seen += 1;
                let replace =
                    "cd $D && mv now before && mkdir now && cp -r new/. now && rm -r before";
                bash_with(replace, &[("D", dir.path().to_str().unwrap())]).ok();
                let id = child.id() as i32;
                // SAFETY: a signal to a child of this test.
                unsafe { libc::kill(id, libc::SIGCONT) };
                let output = child.wait_with_output().unwrap();
                let stderr = String::from_utf8_lossy(&output.stderr);
                match output.status.code() {
                    Some(0) => {
                        let made = result(output.stdout);
                        assert!(made == old || made == new, "{script}: {call} {at}: a mixture");
                    }
                    // (What is gone for a moment is missing.)
                    code => {
                        assert!(matches!(code, Some(75 | 2 | 1)), "{script}: {code:?} {stderr}")
                    }
                }
                assert_ne!(output.status.code(), Some(1), "{script}: {call} {at}: {stderr}");
            }
        }
        assert!(seen > 2, "{script}");
    }
}

/// Parts of other spans, or whose ids are of another field, are of two datasets.
#[test]
fn parts_of_other_spans_or_ids_are_not_joined() {
    let dir = place();
    let here =
        |script: &str| bash(&format!("set -o pipefail; cd '{}' && {script}", dir.path().display()));
    let part = |name: &str, tok: &str, mask: &str| {
        here(&format!(
            "sed 's/\"id\":/\"other\": \"x\", \"id\":/' in/a.ndjson > c.ndjson && harmony-tok -q c.ndjson --to arrow {tok} |
             span-mask -q --to arrow {mask} | mmidx-write -q --root {name} --shard {name}"
        ))
        .ok();
        dir.json(&format!("{name}/parts/{name}.json"))["config_hash"].clone()
    };
    let hash = part("plain", "", "");
    let hashes = [
        hash.clone(),
        part("one", "", "--span commentary=1"),
        part("two", "", "--span commentary=2"),
        part("three", "", "--span commentary=3"),
        part("field", "--id-field other", ""),
    ];
    for (at, hash) in hashes.iter().enumerate() {
        assert!(hash.is_string() && !hashes[..at].contains(hash), "{hashes:?}");
    }
    for (other, cause) in [("two", "spans"), ("three", "spans"), ("field", "id field")] {
        let joined =
            format!("rm -rf both && cp -r one both && cp -r {other}/. both && ds-manifest -q both");
        let cause =
            format!("its {} is not that of", if other == "field" { "spans" } else { cause });
        here(&joined).fails(1, &[&cause]);
        here(&format!("mmidx-write -q --concat one/train/one {other}/train/{other} --prefix c/c"))
            .fails(1, &[&cause]);
    }
    here("rm -rf both && cp -r plain both && cp -r field/. both && ds-manifest -q both")
        .fails(1, &["its id field is not that of"]);
}

/// The vocabulary is the same, from a file or from the program.
#[test]
fn parts_of_one_tokenizer_are_joined_wherever_it_was() {
    let dir = place();
    let here = |script: &str| bash(&format!("cd '{}' && {script}", dir.path().display()));
    here("cp -r in/root root && rm root/manifest.json").ok();
    let mut part = dir.json("root/parts/b.json");
    part["source"]["tokenizer"]["model_path"] = "o200k_base.tiktoken".into();
    dir.write("root/parts/b.json", part.to_string());
    here("ds-manifest -q root && ds-check -q --strict root").ok();
    here("mmidx-write -q --concat root/train/a root/train/b --prefix c/c").ok();
    assert!(dir.json("c/c.part.json")["source"]["tokenizer"]["model_sha256"].is_string());
    part["source"]["tokenizer"]["model_sha256"] = "00".into();
    dir.write("root/parts/b.json", part.to_string());
    here("ds-manifest -q root").fails(1, &["its tokenizer is not that of"]);
}

/// Without its manifest nobody misses a shard of a root.
#[test]
fn a_root_without_its_manifest_is_not_finished() {
    let dir = place();
    let root = dir.at("in/root");
    tool("ds-check").args(&[&root, "--strict"]).run().ok();
    fs::remove_file(dir.path().join("in/root/manifest.json")).unwrap();
    let note = "no manifest.json in the root: whether all shards are there is not known";
    let run = tool("ds-check").args(&[&root]).run().ok();
    assert!(run.text().contains(note), "{run:?}");
    let strict = tool("ds-check").args(&[&root, "--strict"]).run();
    assert!(strict.code() == Some(1) && strict.text().contains("kd.root.manifest"), "{strict:?}");
    // Nor a shard that is lost with its part.
    bash(&format!("cd '{root}' && rm -r parts/b* ids/*/b* */b_*")).ok();
    let strict = tool("ds-check").args(&[&root, "--strict"]).run();
    assert!(strict.code() == Some(1) && strict.text().contains("kd.root.manifest"), "{strict:?}");
    assert!(tool("mmidx-write").args(&["--help"]).run().ok().text().contains("ds-manifest ROOT"));
}

/// A folder of a root that is a link leads to data that are not the root's.
#[test]
fn nothing_is_replaced_through_a_linked_folder() {
    let dir = place();
    let here = |script: &str| bash(&format!("cd '{}' && {script}", dir.path().display()));
    here("cp -r in/root root && mv root/train elsewhere && ln -s ../elsewhere root/train").ok();
    let before = content(&dir.path().join("elsewhere"));
    let write = "mmidx-write -q in/b.masked --root root --shard a --overwrite";
    here(write).fails(2, &["root/train: is a link: nothing is written or removed through it"]);
    assert!(content(&dir.path().join("elsewhere")) == before);
}

/// What was killed is swept, but nothing that a link in its place leads to.
#[test]
fn a_sweep_follows_no_link() {
    let dir = place();
    let here = |script: &str| bash(&format!("cd '{}' && {script}", dir.path().display()));
    here("mkdir out kept && echo x > kept/data && ln -s ../kept out/.gristmill-tmp.0123456789abcdef &&
          mkdir out/.gristmill-tmp.1123456789abcdef && echo y > out/.gristmill-tmp.1123456789abcdef/z").ok();
    here("ds-cat -q in/a.masked -o out/f").ok();
    assert_eq!(dir.text("kept/data"), "x\n");
    assert!(!dir.path().join("out/.gristmill-tmp.1123456789abcdef").exists());
}

/// A file that is replaced keeps its permissions; new ones have those of the umask.
#[test]
fn permissions_are_kept_and_the_umask_holds() {
    let dir = place();
    let here = |script: &str| bash(&format!("cd '{}' && {script}", dir.path().display()));
    let mode =
        |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777;
    here("umask 022; ds-cat -q in/a.masked -o f && chmod 600 f && ds-cat -q in/b.masked -o f --overwrite").ok();
    assert_eq!(mode("f"), 0o600);
    here("umask 022; cp -r in/pack pack && chmod 600 pack/* && npy-pack -q in/sharded -o pack --overwrite").ok();
    for name in ["pack/metadata.db", "pack/steps.npy", "pack/manifest.json"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    here("umask 002; npy-pack -q in/pack -o group").ok();
    here("umask 077; npy-pack -q in/pack -o own").ok();
    for name in files_in(&dir.path().join("group")) {
        assert_eq!(mode(&format!("group/{name}")), 0o664, "{name}");
        assert_eq!(mode(&format!("own/{name}")), 0o600, "{name}");
    }
}

/// What waits for ever, or has another cause than it seems to have.
#[test]
fn locks_names_and_folders_that_cannot_be_had() {
    let dir = place();
    let here = |script: &str| bash(&format!("cd '{}' && {script}", dir.path().display()));
    here("mkfifo fifo && timeout 20 ds-manifest fifo")
        .fails(2, &["ds-manifest: fifo: Not a directory"]);
    let long = "n".repeat(300);
    here(&format!("ds-cat -q in/a.masked -o {long}")).fails(2, &["File name too long"]);
    // The lock of a root cannot be opened.
    here("mkdir -p root/tasks/here && timeout 30 $SCRIPTS/synth-kd.sh in/shards root 2>err; test $? = 75 && cat err >&2; false"
        .replace("$SCRIPTS", concat!(env!("CARGO_MANIFEST_DIR"), "/scripts")).as_str())
        .fails(1, &["root/tasks/here: Is a directory"]);
}

/// Who runs has left nothing behind.
#[test]
fn the_staging_of_a_running_writer_is_not_left_behind() {
    let dir = place();
    let staging = dir.at("in/root/train/.gristmill-tmp.0123456789abcdef");
    fs::create_dir(&staging).unwrap();
    let lock = fs::File::create(format!("{staging}/.gristmill-lock")).unwrap();
    lock.lock().unwrap();
    let says = |cause: &str| {
        let run = tool("ds-check").args(&[&dir.at("in/root")]).run();
        assert!(run.text().contains(cause), "{run:?}");
    };
    says("is of a writer that is running");
    // (A process that another test starts has the file, too, until it runs its program.)
    lock.unlock().unwrap();
    says("was left behind");
}

/// A part that is a link, or has other names, is copied: who deletes it deletes no data of others.
#[test]
fn only_a_file_of_one_name_is_adopted() {
    let dir = TempDir::new();
    let here = |script: &str| {
        let script = script.replace("$SCRIPTS", concat!(env!("CARGO_MANIFEST_DIR"), "/scripts"));
        bash(&format!("set -e; cd '{}'; {script}", dir.path().display()))
    };
    inputs::make(&dir.path().join("in"));
    here("$SCRIPTS/synth-kd.sh plan in/shards root > lines; bash -e lines").ok();
    let tokens = here("find root/tasks -name '*_tokens.bin' -size +0 | head -1").ok().text();
    let tokens = tokens.trim();
    here(&format!("mv {tokens} data.bin && ln -s \"$PWD/data.bin\" {tokens}")).ok();
    let before = dir.read("data.bin");
    here("$SCRIPTS/synth-kd.sh finish root --delete-parts").ok();
    assert!(dir.read("data.bin") == before);
    let name = Path::new(tokens).file_name().unwrap().to_str().unwrap();
    let made = dir.path().join("root/train").join(name);
    let found = fs::symlink_metadata(&made).unwrap();
    assert!(found.is_file() && found.nlink() == 1, "{found:?}");
    assert!(fs::read(&made).unwrap() == before);
}

/// A plan runs our scripts, and makes what is below its root; what receipts say moves no cursor.
#[test]
fn a_plan_stays_in_its_root() {
    let dir = TempDir::new();
    inputs::make(&dir.path().join("in"));
    let here = |script: &str| {
        let script = script.replace("$SCRIPTS", concat!(env!("CARGO_MANIFEST_DIR"), "/scripts"));
        bash(&format!("set -e; cd '{}'; {script}", dir.path().display()))
    };
    here("$SCRIPTS/synth-kd.sh plan in/shards root > lines").ok();
    let plan = dir.json("root/tasks/plan.json");
    let damaged = |damage: &dyn Fn(&mut serde_json::Value), what: &str, cause: &str| {
        let mut other = plan.clone();
        damage(&mut other);
        dir.write("root/tasks/plan.json", other.to_string());
        let run = here(what);
        assert!(run.code() != Some(0) && run.stderr.contains(cause), "{run:?}");
    };
    damaged(
        &|plan| plan["pipeline"][0][0] = "/tmp/other.sh".into(),
        "ds-plan status root --todo",
        "\"/tmp/other.sh\" is none of gristmill's filters",
    );
    for name in ["../x", "/x", "", "a/../../x"] {
        damaged(
            &|plan| plan["sources"][0]["name"] = name.into(),
            "ds-plan status root",
            "is no name below the root",
        );
    }
    dir.write("root/tasks/plan.json", plan.to_string());
    here("$SCRIPTS/synth-kd.sh plan in/shards root --overwrite > lines; head -1 lines | bash").ok();
    for receipt in files_in(&dir.path().join("root/tasks")) {
        if receipt.ends_with(".json") && receipt.contains("part-") {
            let text = dir.text(&format!("root/tasks/{receipt}"));
            let text = text.replace("\"host\": \"", "\"host\": \"\\u001b[31m");
            dir.write(&format!("root/tasks/{receipt}"), text);
        }
    }
    let run = here("ds-plan status root || true");
    assert!(!run.text().contains('\x1b') && !run.stderr.contains('\x1b'), "{run:?}");
}
