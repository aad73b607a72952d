//! A dataset that is replaced while it is read, at every file that is opened: 75, or the whole of it was read before.

use std::fs;
use std::process::{Command, Stdio};

use super::inputs;
use super::preload::{self, Fault, Watch, What, counts, variables};
use crate::common::writers::{send, wait_until};
use crate::common::{TempDir, bash_with, bin_dir};

#[test]
fn an_input_that_is_replaced_is_neither_bad_nor_missing() {
    if preload::library().is_none() {
        return;
    }
    let dir = TempDir::new();
    inputs::make(&dir.path().join("in"));
    let (old, input) = (dir.at("old"), dir.at("in"));
    fs::rename(dir.path().join("in/root"), &old).unwrap();
    let scratch = dir.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let root = format!("{input}/root");
    let place = format!("rm -rf {root} {input}/out; cp -r {old} {root}");
    // Another dataset of the same names, whose sequences come in another order; and one of another name, so that files
    // are missing.
    let write = |from: &str, shard: &str| {
        let flags = "--valid-fraction 0.3 -q";
        format!("cat {input}/{from}.masked | mmidx-write --root {root} --shard {shard} {flags}\n")
    };
    let replacements = [write("b", "a") + &write("a", "b"), write("a", "c")]
        .map(|made| format!("set -e; rm -rf {root}\n{made}"));
    for (tool, arguments) in [
        (
            "seq-pack",
            vec![
                format!("{root}/train"),
                "-q".into(),
                "-o".into(),
                format!("{input}/out/r.parquet"),
            ],
        ),
        ("ds-stat", vec![root.clone(), "-q".into()]),
        ("ds-cat", vec![format!("{root}/train/a")]),
    ] {
        let watch = Watch { process: tool.to_string(), under: root.clone().into() };
        let command = |fault: Option<Fault>| {
            let mut command = Command::new(bin_dir().join(tool));
            command.args(&arguments).stdin(Stdio::null());
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.envs(variables(&scratch, &watch, fault));
            command
        };
        bash_with(&place, &[]).ok();
        assert!(command(None).output().unwrap().status.success());
        let opens = counts(&scratch).into_iter().find(|(call, _)| *call == "open").unwrap().1;
        let mut refused = 0;
        for (at, replace) in (1..=opens).flat_map(|at| replacements.iter().map(move |r| (at, r))) {
            bash_with(&place, &[]).ok();
            let what = What::Signal(libc::SIGSTOP);
            let child = command(Some(Fault { call: "open", at, what })).spawn().unwrap();
            let status = format!("/proc/{}/stat", child.id());
            wait_until("it stops", || {
                fs::read_to_string(&status)
                    .is_ok_and(|stat| stat.contains(") T ") || stat.contains(") Z "))
            });
            bash_with(replace, &[]).ok();
            send(child.id(), libc::SIGCONT);
            let run = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&run.stderr);
            let code = run.status.code();
            assert!(matches!(code, Some(0 | 75)), "{tool}, open {at} of {opens}: {code:?}: {said}");
            refused += usize::from(code == Some(75));
        }
        assert!(refused > 1, "{tool}: {refused} of {opens}");
    }
}
