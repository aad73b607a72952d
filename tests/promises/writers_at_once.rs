//! Two writers of one place at the same time: each ends well, is refused, or may be tried again, and what stands is
//! the whole of one of them.

use std::fs::{self, File};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use crate::common::models::{CHATML, write_model, write_model_with};
use crate::common::samples::Random;
use crate::common::{TempDir, Tool, assert_no_temporaries, conversations, tool};
use crate::games::{Folder, GameText};

/// Inputs of each kind, two of each: `a` and `b` are tokens of two models, `o` and `p` those of gpt-oss.
fn place() -> TempDir {
    let dir = TempDir::new();
    let a = write_model(&dir, "model-a", CHATML);
    let b = write_model_with(&dir, "model-b", CHATML, &[("o", "o")]);
    let chat = |number| {
        format!(
            "{{\"id\":\"i{number}\",\"messages\":[{{\"role\":\"user\",\"content\":\"hello {number}\"}},\
             {{\"role\":\"assistant\",\"content\":\"too cool\"}}]}}\n"
        )
    };
    dir.write("chats.jsonl", (0..40).map(chat).collect::<String>());
    dir.write("o.ndjson", conversations(40));
    dir.write("p.ndjson", conversations(30));
    let folder = Folder::new();
    GameText::played(40).write(&folder, "game");
    dir.bash(&format!(
        "set -eo pipefail; export GRISTMILL_TO=arrow
         chat-tok -q --model {a} chats.jsonl | span-mask > a.arrows
         chat-tok -q --model {b} chats.jsonl | span-mask > b.arrows
         for i in o p; do harmony-tok $i.ndjson | span-mask > $i.arrows; mmidx-write -q --prefix in/$i $i.arrows; done
         mx-decode -q {} > g.arrows",
        folder.path.display()
    ))
    .ok();
    dir
}

fn writer(dir: &TempDir, command: &str) -> Child {
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(format!("set -o pipefail; {command}"));
    Tool::new(bash, command).in_directory(dir.path()).spawn()
}

#[track_caller]
fn end(child: Child, command: &str) -> (i32, String) {
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let code = output.status.code().unwrap_or(-1);
    assert!([0, 2, 75].contains(&code) && told.lines().count() <= 1, "{command}: {code} {told}");
    (code, told)
}

/// The commands of a group write to the same names.
const GROUPS: [&[&str]; 4] = [
    &[
        "mmidx-write -q --root out --shard s0 --valid-fraction 0.5 a.arrows",
        "mmidx-write -q --root out --shard s1 --valid-fraction 0.5 a.arrows",
        "mmidx-write -q --root out --shard s1 --valid-fraction 0.5 b.arrows",
        "mmidx-write -q --root out --shard s0 --valid-fraction 0.5 o.arrows",
        "mmidx-write -q --root out --shard s1 --valid-fraction 0.5 p.arrows",
    ],
    &[
        "mmidx-write -q --prefix out/p o.arrows",
        "mmidx-write -q --prefix out/p p.arrows",
        "mmidx-write -q --prefix out/p --tokens-only o.arrows",
    ],
    &[
        "seq-pack -q in/o -o out/r.parquet",
        "seq-pack -q in/p -o out/r.parquet --form trl -n 900",
        "seq-pack -q in/p -o out/r.parquet --index out/i.parquet --form trl -n 900",
        "seq-pack -q o.arrows -o out/r.parquet",
    ],
    &[
        "puzzle-encode domino --num-games 20 --seed 1 -q | npy-pack -q -o out",
        "puzzle-encode domino --num-games 20 --seed 2 -q | npy-pack -q -o out",
        "npy-pack -q -o out g.arrows",
        "mmidx-write -q --root out --shard s0 --valid-fraction 0 o.arrows",
    ],
];

#[test]
fn each_of_two_writers_ends_well_or_is_refused() {
    let dir = place();
    let mut random = Random(55);
    let mut codes = [0; 3];
    for round in 0..80 {
        let group = GROUPS[round % GROUPS.len()];
        drop(fs::remove_dir_all(dir.path().join("out")));
        let mut any = || {
            let how = ["", " --overwrite"][random.below(2)];
            (format!("{}{how}", group[random.below(group.len())]), random.below(12) as u64)
        };
        let [(first, _), (second, pause)] = [any(), any()];
        let one = writer(&dir, &first);
        sleep(Duration::from_millis(pause));
        let other = writer(&dir, &second);
        let what = format!("{first}\n{second}");
        let ended = [end(one, &what), end(other, &what)];
        for (code, _) in &ended {
            codes[[0, 2, 75].iter().position(|known| known == code).unwrap()] += 1;
        }
        assert!(ended.iter().any(|(code, _)| *code == 0), "{what}: {ended:?}");
        assert_no_temporaries(dir.path());
        let run = tool("ds-check").args(&[&dir.at("out")]).run();
        assert_eq!(run.code(), Some(0), "{what}: {ended:?} {run:?}");
    }
    assert!(codes[0] > 80 && codes[1] > 10, "{codes:?}");
}

/// Holds what publishing waits for.
fn held(dir: &TempDir) -> File {
    let lock = File::open(dir.path().join("out")).unwrap();
    lock.lock().unwrap();
    lock
}

/// Both have read all of their input when one of them gets the lock.
#[test]
fn two_tokenizers_never_come_into_one_root() {
    let dir = place();
    let of = |input: &str, shard: &str| {
        format!("mmidx-write -q --root out --shard {shard} --valid-fraction 0 {input}.arrows")
    };
    for (first, second) in [("a", "o"), ("o", "a"), ("a", "b")] {
        for how in ["", " --overwrite"] {
            drop(fs::remove_dir_all(dir.path().join("out")));
            fs::create_dir_all(dir.path().join("out/train")).unwrap();
            let lock = held(&dir);
            let commands = [of(first, "s0"), of(second, "s1")].map(|line| line + how);
            let writers = commands.each_ref().map(|command| writer(&dir, command));
            sleep(Duration::from_millis(300));
            drop(lock);
            let mut codes = Vec::new();
            for (child, command) in writers.into_iter().zip(&commands) {
                let (code, told) = end(child, command);
                assert!(code == 0 || told.contains("another root"), "{told}");
                codes.push(code);
            }
            codes.sort();
            assert_eq!(codes, [0, 2], "{commands:?}");
            tool("ds-check").args(&[&dir.at("out")]).run().ok();
        }
    }
}

/// While a shard is being published, its files have no manifest: only under the lock is it seen that all of them are
/// replaced.
#[test]
fn what_another_writer_is_publishing_is_waited_for() {
    let dir = place();
    dir.bash("mmidx-write -q --root out --shard s0 --valid-fraction 0 a.arrows").ok();
    let lock = held(&dir);
    let [manifest, aside] = ["out/parts/s0.json", "s0.json"].map(|name| dir.path().join(name));
    fs::rename(&manifest, &aside).unwrap();
    let command = "mmidx-write -q --root out --shard s0 --valid-fraction 0 o.arrows --overwrite";
    let child = writer(&dir, command);
    sleep(Duration::from_millis(300));
    fs::rename(&aside, &manifest).unwrap();
    drop(lock);
    let (code, told) = end(child, command);
    assert_eq!(code, 0, "{told}");
    assert!(!dir.path().join("out/tokenizer").exists(), "{:?}", dir.files());
    tool("ds-check").args(&[&dir.at("out")]).run().ok();
}
