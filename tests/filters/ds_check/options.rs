//! ds-check: what its options change, and how it says what it found.

use std::fs;

use serde_json::json;

use crate::checks::defects::DEFECTS;
use crate::checks::edit::{Triple, edit};
use crate::checks::{Good, catalogue, ds_check, found};
use crate::common::{TempDir, bash, conversation, installed};

/// A triple whose every sequence has a wrong mask, under `kd/p`.
fn unmasked() -> TempDir {
    let dir = Good::new().copy();
    Triple::change(&dir, "kd/p", |triple| {
        for mask in triple.mask.iter_mut() {
            mask[0] = 1;
        }
    });
    dir
}

/// The defect of a check, and the arguments that name it.
fn defective(id: &str) -> (TempDir, Vec<String>) {
    let dir = Good::new().copy();
    let defect = DEFECTS.iter().copied().flatten().find(|defect| defect.id == id).unwrap();
    let arguments = defect.make(&dir);
    (dir, arguments)
}

#[test]
fn the_list_says_what_every_check_is_for() {
    let list = ds_check(&["--list", "--format", "json"]).run().silent().records();
    for check in &list {
        let keys: Vec<&String> = check.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["check", "level", "structure", "meaning", "hint"]);
        assert!(check["meaning"].as_str().unwrap().len() > 20, "{check}");
    }
    let mut ids: Vec<&str> = list.iter().map(|check| check["check"].as_str().unwrap()).collect();
    let text = ds_check(&["--list"]).run().silent().text();
    assert!(ids.iter().all(|id| text.contains(&format!("  {id}\n"))), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), list.len(), "an id is there twice");
}

#[test]
fn strict_takes_warnings_as_errors() {
    let (_dir, arguments) = defective("kd.root.repeated");
    let path = arguments[0].as_str();
    let lenient = found(&[path]);
    assert_eq!((lenient.code, &lenient.summary["warnings"]), (Some(0), &json!(1)));
    assert_eq!(lenient.findings[0]["level"], "warning");
    let strict = found(&[path, "--strict"]);
    assert_eq!((strict.code, &strict.summary["warnings"]), (Some(1), &json!(0)));
    assert_eq!(strict.findings[0]["level"], "error");
    assert_eq!(strict.summary["errors_by_check"], json!({"kd.root.repeated": 1}));
}

#[test]
fn checks_are_chosen_by_their_names() {
    let dir = unmasked();
    let path = dir.at("kd/p");
    for (arguments, expected) in [
        (&["--only", "kd.mask.span"][..], &["kd.mask.span"][..]),
        (&["--only", "kd.mask"], &["kd.mask.span"]),
        (&["--only", "kd.idx,kd.mask"], &["kd.mask.span"]),
        (&["--only", "kd.idx", "--only", "kd"], &["kd.mask.span"]),
        (&["--only", "kd.idx"], &[]),
        (&["--skip", "kd.mask"], &[]),
        (&["--skip", "kd.mask.span"], &[]),
        (&["--skip", "kd.token"], &["kd.mask.span"]),
        (&["--only", "kd", "--skip", "kd.mask"], &[]),
    ] {
        let found = found(&[&[path.as_str()], arguments].concat());
        assert_eq!(found.ids(), expected, "{:?}", found.run);
    }
    for wrong in ["kd.mas", "kd.mask.unshiftd", "mask", ""] {
        for option in ["--only", "--skip"] {
            ds_check(&[&path, option, wrong])
                .run()
                .fails(2, &["ds-check: ", &format!("{wrong:?}")]);
        }
    }
    ds_check(&[&path, "--only", "kd.mask", "--structure"]).run().fails(2, &["no check is left"]);
}

#[test]
fn structure_reads_no_values() {
    let good = Good::new();
    let dir = unmasked();
    found(&[&dir.at("kd/p"), "--structure"]).nothing();
    edit(&dir, "kd/p_tokens.idx", |idx| idx.truncate(idx.len() - 8));
    assert_eq!(found(&[&dir.at("kd/p"), "--structure"]).ids(), ["kd.idx.length"]);
    // No content check is run, and no structure check is left out.
    let list = ds_check(&["--list", "--format", "json"]).run().silent().records();
    for defect in DEFECTS.iter().copied().flatten() {
        let check = list.iter().find(|check| check["check"] == defect.id).unwrap();
        let dir = good.copy();
        let mut arguments = defect.make(&dir);
        arguments.push("--structure".to_string());
        let found = found(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let made = found.ids().iter().any(|id| id == defect.id);
        assert_eq!(made, check["structure"] == true, "{:?}", found.run);
    }
}

#[test]
fn the_first_findings_are_shown_and_all_counted() {
    let dir = unmasked();
    let path = dir.at("kd/p");
    for (most, shown) in [("0", 0), ("1", 1), ("7", 7), ("20", 20), ("1000", crate::checks::ROWS)] {
        let found = found(&[&path, "--max-findings", most]);
        assert_eq!(found.findings.len(), shown);
        assert_eq!(found.counts()["kd.mask.span"], crate::checks::ROWS as u64);
        let sequences: Vec<u64> =
            found.findings.iter().map(|finding| finding["record"].as_u64().unwrap()).collect();
        assert_eq!(sequences, (0..shown as u64).collect::<Vec<_>>());
    }
    let text = |most: &str| ds_check(&[&path, "--max-findings", most]).run().text();
    assert!(text("0").contains("kd.mask.span, 40 times") && !text("0").contains("sequence 0"));
    assert!(text("3").contains("... and 37 more"), "{}", text("3"));
}

#[test]
fn json_has_one_form() {
    let good = Good::new();
    for defect in DEFECTS.iter().copied().flatten() {
        let dir = good.copy();
        let arguments = defect.make(&dir);
        let found = found(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        for finding in &found.findings {
            let keys: Vec<&str> = finding.as_object().unwrap().keys().map(String::as_str).collect();
            let known = ["check", "level", "file", "record", "unit", "id", "message", "hint"];
            assert!(keys == known || keys == known[..7], "{finding}");
            assert_eq!(finding["record"].is_null(), finding["unit"].is_null(), "{finding}");
            let path = finding["file"].as_str().unwrap();
            assert!(path.starts_with(dir.path().to_str().unwrap()), "{finding}");
            assert!(!finding["message"].as_str().unwrap().is_empty(), "{finding}");
        }
        let of_level =
            |level: &str| found.findings.iter().filter(|finding| finding["level"] == level).count();
        // Only the defects of all sequences are found more often than is shown.
        if found.counts().values().all(|&count| count <= 20) {
            assert_eq!(found.summary["errors"], of_level("error"), "{:?}", found.run);
            assert_eq!(found.summary["warnings"], of_level("warning"), "{:?}", found.run);
        }
        let keys: Vec<&String> = found.summary.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "datasets",
                "records",
                "bytes",
                "errors",
                "warnings",
                "errors_by_check",
                "warnings_by_check",
                "seconds"
            ]
        );
    }
}

#[test]
fn several_paths_are_one_report() {
    let dir = unmasked();
    let names = ["kd/p", "in", "root", "m.arrows"].map(|name| dir.at(name));
    let paths: Vec<&str> = names.iter().map(String::as_str).collect();
    let all = found(&paths);
    assert_eq!(all.ids(), ["kd.mask.span"]);
    assert_eq!(all.summary["datasets"], 4);
    let sum = |key: &str| -> u64 {
        paths.iter().map(|path| found(&[path]).summary[key].as_u64().unwrap()).sum()
    };
    assert_eq!(
        (&all.summary["records"], &all.summary["bytes"]),
        (&json!(sum("records")), &json!(sum("bytes")))
    );
    let text = ds_check(&paths).run().text();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('/')).collect();
    let verdicts = lines.iter().map(|line| line.rsplit_once(": ").unwrap().1);
    assert_eq!(verdicts.collect::<Vec<_>>(), ["40 errors", "ok", "ok", "ok"], "{text}");
    // An input that cannot be read ends the run, whatever was found before.
    ds_check(&[paths[0], "/nonexistent", "--format", "json"])
        .run()
        .fails(2, &["ds-check: /nonexistent: No such file or directory"]);
}

#[test]
fn what_is_no_dataset() {
    let dir = TempDir::new();
    fs::create_dir(dir.path().join("empty")).unwrap();
    ds_check(&[&dir.at("empty")]).run().fails(2, &["empty: is a directory without a dataset"]);
    ds_check(&[&dir.at("nothing")]).run().fails(2, &["nothing: No such file or directory"]);
    ds_check(&[&dir.at("nothing_tokens.idx")]).run().fails(2, &["No such file or directory"]);
    let text = dir.write("a.txt", "no data\n");
    assert_eq!(found(&[&text]).ids(), ["stream.form"]);
}

/// An input that may not be read is not bad data: it can be tried again.
#[test]
fn unreadable_files_are_not_findings() {
    let good = Good::new();
    for (name, path) in
        [("kd/p_tokens.idx", "kd"), ("m.arrows", "m.arrows"), ("in/manifest.json", "in")]
    {
        let dir = good.copy();
        // A file whose reading fails for the superuser too.
        fs::remove_file(dir.at(name)).unwrap();
        std::os::unix::fs::symlink("/proc/self/mem", dir.at(name)).unwrap();
        let run = ds_check(&[&dir.at(path), "--format", "json"]).run();
        run.fails(75, &["ds-check: ", "Input/output error"]);
    }
}

#[test]
fn the_report_is_the_same_for_any_number_of_threads() {
    let good = Good::new();
    let compare = |arguments: &[&str]| {
        let run = |jobs: &str| {
            let run = ds_check(arguments).args(&["--format", "json", "-j", jobs]).run();
            let mut lines = run.records();
            lines.last_mut().unwrap()["summary"]["seconds"].take();
            (run.code(), lines)
        };
        let one = run("1");
        for jobs in ["2", "5"] {
            assert_eq!(one, run(jobs), "{arguments:?}");
        }
        one.1.last().unwrap()["summary"]["errors"].as_u64().unwrap()
    };
    for defect in DEFECTS.iter().copied().flatten() {
        let dir = good.copy();
        let arguments = defect.make(&dir);
        compare(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    }
    // Enough for many batches and chunks, with something wrong in each.
    let dir = TempDir::new();
    let line = |number: usize| {
        let mut line = conversation(number % 7000);
        if number.is_multiple_of(50) {
            line["messages"][3]["role"] = json!("nobody");
        }
        line.to_string() + "\n"
    };
    dir.write("c", (0..9000).map(line).collect::<String>());
    dir.bash(
        "set -eo pipefail; harmony-tok c --on-error skip -q -j 2 --to arrow > t
         span-mask t --align token --to arrow > m
         span-mask t --to arrow | mmidx-write --prefix k/p",
    )
    .ok();
    Triple::change(&dir, "k/p", |triple| {
        triple.mask.iter_mut().step_by(70).for_each(|mask| mask[0] = 1);
    });
    assert_eq!(compare(&[&dir.at("c")]), 9000 / 50);
    assert_eq!(compare(&[&dir.at("m")]), 1);
    assert!(compare(&[&dir.at("k")]) > 100);
}

#[test]
fn the_input_manifest_is_compared() {
    let good = Good::new();
    let dir = good.dir();
    let (root, other) = (dir.at("root"), dir.write("other.json", "{}"));
    found(&[&root, "--input-manifest", &dir.at("in/manifest.json")]).nothing();
    let wrong = found(&[&root, "--input-manifest", &other]);
    // The root's, and one of each part.
    assert_eq!(wrong.counts()["kd.manifest.input"], 3, "{:?}", wrong.run);
    ds_check(&[&root, "--input-manifest", "/nonexistent"]).run().fails(2, &["/nonexistent"]);
}

#[test]
fn a_report_that_cannot_be_written() {
    let dir = unmasked();
    let path = dir.at("kd/p");
    for arguments in [path.clone(), format!("{path} --format json"), "--list".to_string()] {
        bash(&format!("ds-check {arguments} > /dev/full"))
            .says(75, "ds-check: stdout: No space left on device");
    }
    // Longer than a pipe holds.
    let path = format!("{path} {path} {path} {path} {path} {path} {path} {path}");
    let run = bash(&format!(
        "for i in 1 2 3 4 5 6 7 8 9 10; do set -- \"$@\" {path}; done
         ds-check \"$@\" --max-findings 100 | head -1; exit ${{PIPESTATUS[0]}}"
    ));
    assert_eq!(run.code(), Some(141), "{run:?}");
    assert_eq!((run.text().lines().count(), run.stderr.as_str()), (1, ""), "{run:?}");
}

/// No line for people is wider than a terminal, except a single long word.
#[test]
fn text_fits_a_terminal() {
    let good = Good::new();
    for defect in DEFECTS.iter().copied().flatten() {
        let dir = good.copy();
        let arguments = defect.make(&dir);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let text = ds_check(&arguments).run().text();
        assert!(text.contains(&format!("  {}", defect.id)), "{text}");
        for line in text.lines() {
            let long = line.chars().count() > 80;
            let words = line.split_whitespace().count();
            assert!(!long || words == 1 || line.starts_with('/'), "{line:?} in\n{text}");
            assert_eq!(line, line.trim_end(), "{text}");
        }
        assert!(!text.contains('\x1b'), "{text}");
    }
}

#[test]
fn colour_on_a_terminal_only() {
    if !installed("script") {
        return;
    }
    let dir = unmasked();
    let command = format!("ds-check {}", dir.at("kd/p"));
    for (variable, coloured) in [("", true), ("NO_COLOR= ", true), ("NO_COLOR=1 ", false)] {
        let run = bash(&format!("script -qec '{variable}{command}' /dev/null < /dev/null"));
        assert_eq!(run.code(), Some(1), "{run:?}");
        assert_eq!(run.text().contains("\x1b[31m"), coloured, "{run:?}");
    }
}

/// Ids of checks are stable: users name them in --skip and in scripts.
#[test]
fn ids_have_one_form() {
    for (id, _) in catalogue() {
        let parts: Vec<&str> = id.split('.').collect();
        assert!((2..=4).contains(&parts.len()), "{id}");
        let is_name = |part: &&str| {
            part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        assert!(parts.iter().all(is_name), "{id}");
    }
}
