//! ds-check: every check finds its defect, and nothing is found in good datasets.

mod mutations;
mod options;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::checks::defects::DEFECTS;
use crate::checks::{Good, catalogue, ds_check, found, found_on_stdin};
use crate::common::{TempDir, bash, conversation, data, files_in, tool};

/// Each check has a defect that it alone finds. If others must find it too, the table of the
/// defects says so.
#[test]
fn every_check_finds_its_defect_alone() {
    let good = Good::new();
    let levels = catalogue();
    let mut left: BTreeSet<&str> = levels.iter().map(|(id, _)| id.as_str()).collect();
    let mut wrong = Vec::new();
    for defect in DEFECTS.iter().copied().flatten() {
        let dir = good.copy();
        let arguments = defect.make(&dir);
        let found = found(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let mut expected: Vec<&str> = [&[defect.id], defect.also].concat();
        expected.sort();
        if found.ids() != expected {
            wrong.push(format!("{}: {:?}\n{:?}", defect.id, found.ids(), found.run));
        }
        let (_, level) = levels.iter().find(|(id, _)| id == defect.id).unwrap();
        let is_strict = arguments.iter().any(|argument| argument == "--strict");
        let level = if is_strict { "error" } else { level };
        if found.summary[format!("{level}s_by_check")][defect.id].is_null() {
            wrong.push(format!("{}: no {level}\n{:?}", defect.id, found.run));
        }
        left.remove(defect.id);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(left.is_empty(), "no defect is made for {left:?}");
}

/// What ds-check calls an error in one sequence, mmidx-write refuses, by the same check; `--no-check`
/// writes what the format can hold.
#[test]
fn the_sink_refuses_what_is_an_error_in_one_record() {
    let good = Good::new();
    let errors: Vec<String> =
        catalogue().into_iter().filter(|(_, level)| level == "error").map(|(id, _)| id).collect();
    let families = ["kd.token.", "kd.eod.", "kd.harmony.", "kd.mask.", "kd.span."];
    let of_records = |id: &&str| {
        families.iter().any(|family| id.starts_with(family)) && errors.iter().any(|e| e == id)
    };
    // These the format itself has its own words for.
    let by_the_format = [
        ("kd.token.range", "token 201088 at "),
        ("kd.mask.unshifted", "the masks are token-aligned"),
        ("kd.mask.swapped", "loss_mask is 2 at "),
        ("kd.mask.value", "loss_mask is 255 at "),
        ("kd.mask.last", "the masks are token-aligned"),
        ("kd.mask.span", "loss_mask is 1 at "),
    ];
    let mut left: BTreeSet<&str> = errors.iter().map(String::as_str).filter(of_records).collect();
    for defect in DEFECTS.iter().copied().flatten().filter(|defect| of_records(&defect.id)) {
        left.remove(defect.id);
        let dir = good.copy();
        let prefix = defect.make(&dir).remove(0);
        let told = by_the_format.iter().find(|(id, _)| *id == defect.id).map(|(_, told)| *told);
        for to in ["ndjson", "arrow"] {
            let records = tool("ds-cat").args(&[&prefix, "--to", to]).run().stdout;
            let write = |flags: &[&str]| {
                let all = ["--prefix", &dir.at(&format!("out/{to}/p"))];
                tool("mmidx-write").args(&all).args(flags).input(&records).run()
            };
            let stated = ["--policy", "synth-kd-v1", "--span", "analysis=1"];
            let id = format!("({})\n", defect.id);
            write(&stated).fails(1, &[told.unwrap_or(&id)]);
            assert!(!dir.path().join("out").join(to).exists(), "{}", defect.id);
            // Where nothing is stated, what is wrong by itself still is.
            if !["kd.harmony.policy", "kd.span.value"].contains(&defect.id) {
                write(&[]).fails(1, &[]);
            }
            if told.is_none() {
                write(&["--no-check"]).ok();
            }
        }
    }
    assert!(left.is_empty(), "no sequence has {left:?}");
    let is_refused = |line: &str, told: &str| {
        let prefix = good.dir().at("none/p");
        tool("mmidx-write").args(&["--prefix", &prefix]).input(line).run().fails(1, &[told]);
    };
    let mut record: Value = serde_json::from_slice(
        good.dir().read("m.ndjson").split(|&byte| byte == b'\n').next().unwrap(),
    )
    .unwrap();
    record["segments"][0]["role"] = "user".into();
    is_refused(
        &format!("{record}\n"),
        "its segments are not its messages (stream.tokens.segments)",
    );
}

/// A dataset in which nothing is trained is refused, whatever it is made of; some sequences of it are
/// counted.
#[test]
fn nothing_supervised_is_refused() {
    let dir = TempDir::new();
    let run = |line: &str| dir.bash(&format!("set -eo pipefail; {line}"));
    let of = |id: &str, roles: &[&str]| {
        let messages: Vec<Value> =
            roles.iter().map(|role| json!({"role": role, "content": "a b"})).collect();
        json!({"id": id, "messages": messages}).to_string() + "\n"
    };
    let untrained = of("a", &["user", "assistant"]) + &of("b", &["user"]);
    dir.write("none", &untrained);
    let final_one = json!({"role": "assistant", "channel": "final", "content": "c"});
    let trained = json!({"id": "c", "messages": [{"role": "user", "content": "q"}, final_one]});
    dir.write("some", untrained + &trained.to_string() + "\n");
    dir.write("one", of("a", &["user"]));
    for to in ["ndjson", "arrow"] {
        let pipe = |file: &str, flags: &str| {
            run(&format!(
                "export GRISTMILL_TO={to}; harmony-tok {file} --policy chat | span-mask -q |
                 mmidx-write --root {to}/{file} --shard s {flags}"
            ))
        };
        let way = "; try: span-mask --span CHANNEL=ID\n";
        let cause = format!("nothing is supervised in any of its 2 sequences{way}");
        assert_eq!(pipe("none", "").fails(1, &[&cause]).stderr.lines().count(), 1);
        pipe("one", "").fails(1, &["nothing is supervised in its one sequence"]);
        assert!(!dir.path().join(to).exists());
        let told = pipe("none", "--allow-unsupervised").ok().stderr;
        assert!(told.contains("warning: nothing is supervised in any of its 2"), "{told}");
        let told = pipe("some", "").ok().stderr;
        assert!(told.contains("warning: nothing is supervised in 2 of 3 sequences"), "{told}");
        run(&format!("ds-manifest {to}/none; ds-manifest {to}/some")).ok();
        let ids = ["kd.mask.unsupervised", "kd.root.unsupervised"];
        assert_eq!(found(&[&dir.at(&format!("{to}/none"))]).ids(), ids);
        let some = found(&[&dir.at(&format!("{to}/some"))]);
        assert_eq!(some.ids(), ids[..1]);
        assert_eq!(some.run.code(), Some(0));
        run(&format!("ds-check --strict {to}/some")).fails(1, &[]);
    }
    let told = run("harmony-tok some --policy chat | span-mask > /dev/null").ok().stderr;
    assert!(
        told.contains("span-mask: warning: nothing is supervised in 2 of 3 sequences"),
        "{told}"
    );
}

#[test]
fn nothing_is_found_in_what_our_filters_make() {
    let good = Good::new();
    let dir = good.dir();
    let directories = ["in", "root", "part", "pack", "v1", "domino", "sudoku", "maze", "arc"];
    let others =
        ["part/p", "kd/p", "kd/p_span.idx", "root/train/shard_00", "maze/train", "arc/test"];
    for name in directories.into_iter().chain(others) {
        found(&[&dir.at(name)]).nothing();
    }
    let input = dir.at("in/manifest.json");
    found(&[&dir.at("root"), "--input-manifest", &input, "--strict", "-j", "2"]).nothing();
    for name in files_in(dir.path()).iter().filter(|name| !name.contains('/')) {
        found(&[&dir.at(name)]).nothing();
        if !name.ends_with(".parquet") {
            found_on_stdin(&[], &dir.read(name)).nothing();
        }
    }
    let text = |name: &str| ds_check(&[&dir.at(name)]).run().silent().text();
    assert!(!text("root").contains("note:"), "{}", text("root"));
    assert!(text("kd").contains("note: no manifest"), "{}", text("kd"));
}

/// Compressed, and of decoded text.
#[test]
fn streams_in_every_guise() {
    let good = Good::new();
    let dir = good.dir();
    dir.bash(
        "gzip -k m.arrows m.ndjson; zstd -q -k c.ndjson
         harmony-tok --decode t.arrows > d.ndjson",
    )
    .silent();
    for name in ["m.arrows.gz", "m.ndjson.gz", "c.ndjson.zst", "d.ndjson"] {
        found(&[&dir.at(name)]).nothing();
        found_on_stdin(&[], &dir.read(name)).nothing();
    }
    // A cut file is reported, however it is compressed.
    for name in ["m.arrows", "m.arrows.gz", "m.ndjson.gz", "c.ndjson.zst"] {
        let bytes = dir.read(name);
        let found = found_on_stdin(&[], &bytes[..bytes.len() * 2 / 3]);
        assert_eq!(found.ids(), ["stream.end"], "{:?}", found.run);
    }
    let lines = dir.read("c.ndjson");
    for cut in [lines.len() - 2, 1000] {
        let found = found_on_stdin(&[], &lines[..cut]);
        assert_eq!(found.ids(), ["stream.end"], "{:?}", found.run);
        assert_eq!(found.findings[0]["unit"], "line");
        let message = found.findings[0]["message"].as_str().unwrap();
        assert!(message.starts_with("the last record is cut"), "{message}");
    }
    let empty = found_on_stdin(&[], b"");
    assert_eq!((empty.code, empty.ids()), (Some(1), vec!["stream.end".to_string()]));
    let blank = found_on_stdin(&[], b"\n");
    assert_eq!((blank.code, blank.ids()), (Some(0), vec!["stream.type".to_string()]));
    assert_eq!(blank.findings[0]["message"], "it is empty");
}

/// What must be found in the folders of data/malformed/kd: one of these checks, or both.
const MALFORMED_KD: [(&str, &[&str]); 31] = [
    ("ok", &[]),
    ("single_sequence", &[]),
    ("bin_trailing", &["kd.bin.length"]),
    ("bin_truncated_half", &["kd.bin.length"]),
    ("doc_first_not0", &["kd.idx.documents", "kd.triple.documents"]),
    ("doc_merged", &["kd.triple.documents"]),
    ("doccount_minus1", &["kd.idx.length"]),
    ("eod_in_middle", &["kd.eod.middle"]),
    ("harmony_structure", &["kd.harmony.structure"]),
    ("idx_dtype_wrong_uint16", &["kd.bin.length", "kd.idx.pointer", "kd.triple.dtype"]),
    ("idx_trailing_modes", &["kd.idx.modes"]),
    ("idx_truncated", &["kd.idx.length"]),
    ("idx_version_2", &["kd.idx.version"]),
    ("last_position_supervised", &["kd.mask.last"]),
    (
        "len_negative",
        &["kd.bin.length", "kd.idx.pointer", "kd.idx.sequence_length", "kd.triple.lengths"],
    ),
    ("len_plus10_overlap", &["kd.bin.length", "kd.idx.pointer", "kd.triple.lengths"]),
    ("mask1_span0", &["kd.mask.span"]),
    ("mask_double_shift", &["kd.mask.double_shift"]),
    ("mask_fewer", &["kd.triple.count"]),
    ("mask_int32", &["kd.triple.dtype"]),
    ("mask_one_longer", &["kd.triple.lengths"]),
    ("mask_permuted", &["kd.triple.lengths"]),
    ("mask_span_swapped", &["kd.mask.swapped"]),
    ("mask_unshifted", &["kd.mask.unshifted"]),
    ("mask_value_255", &["kd.mask.value"]),
    ("no_document_indices", &["kd.idx.documents"]),
    ("ptr_past_eof", &["kd.idx.pointer"]),
    ("ptr_swapped", &["kd.idx.pointer"]),
    ("span_missing", &["kd.triple.missing"]),
    ("tok_negative", &["kd.token.range"]),
    ("tok_reserved", &["kd.token.reserved"]),
];

#[test]
fn malformed_megatron_datasets_get_their_verdicts() {
    let Some(data) = data("malformed/kd") else { return };
    let verdicts: Value =
        serde_json::from_slice(&std::fs::read(data.join("verdicts.json")).unwrap()).unwrap();
    for (name, verdict) in verdicts.as_object().unwrap() {
        let row = MALFORMED_KD.iter().find(|(folder, _)| folder == name);
        let (_, expected) = row.unwrap_or_else(|| panic!("{name} is not in the table"));
        let found = found(&[data.join(name).to_str().unwrap()]);
        assert_eq!(found.ids(), *expected, "{name}: {:?}", found.run);
        match verdict["verdict"].as_str() {
            Some("bad") => assert_eq!(found.code, Some(1), "{name}: {:?}", found.run),
            Some("ok") => found.nothing(),
            _ => assert!(!expected.is_empty(), "{name}: {:?}", found.run),
        }
    }
}

/// What must be found in the folders of data/malformed/hrm, beside `puzzle.dtype`, which all of
/// them have (the builder's masks are booleans).
const MALFORMED_HRM: [(&str, &[&str]); 32] = [
    ("ok", &[]),
    ("dtype_indices_int64", &[]),
    ("dtype_int64", &[]),
    ("dtype_big_endian", &[]),
    ("fortran_order", &[]),
    ("file_trailing", &["puzzle.npy"]),
    ("gidx_last_short", &["puzzle.indices.end"]),
    ("gidx_missing_last", &["puzzle.dataset.total_groups", "puzzle.indices.end"]),
    ("gidx_nonmonotonic", &["puzzle.indices.order"]),
    ("ignore_null", &["puzzle.dataset.ignore_label_id"]),
    ("ignore_out_of_vocab", &["puzzle.dataset.ignore_label_id"]),
    ("inputs_3d", &["puzzle.shape"]),
    ("json_missing_key", &["puzzle.dataset.form"]),
    ("json_string_ints", &["puzzle.dataset.form"]),
    ("label_minus100", &["puzzle.label.minus_100"]),
    ("labels_fewer_rows", &["puzzle.rows"]),
    ("mean_meta", &["puzzle.dataset.mean_puzzle_examples"]),
    ("npy_bad_magic", &["puzzle.npy"]),
    ("num_ids_meta", &["puzzle.dataset.num_puzzle_identifiers", "puzzle.identifier.range"]),
    ("pad_id_wrong", &["puzzle.dataset.pad_id"]),
    ("pad_label_mismatch", &["puzzle.arc.grid"]),
    ("pid_negative", &["puzzle.identifier.range"]),
    (
        "pid_short",
        &["puzzle.dataset.mean_puzzle_examples", "puzzle.indices.end", "puzzle.indices.length"],
    ),
    ("pidx_empty_puzzle", &["puzzle.indices.empty_puzzle"]),
    ("pidx_extra", &["puzzle.indices.empty_puzzle", "puzzle.indices.length"]),
    ("pidx_first_not0", &["puzzle.indices.empty_puzzle", "puzzle.indices.start"]),
    ("pidx_last_long", &["puzzle.indices.end"]),
    ("seq_len_meta_wrong", &["puzzle.dataset.seq_len"]),
    ("sets_missing_set", &["puzzle.file.missing"]),
    ("token_255", &["puzzle.token.range"]),
    ("token_ge_vocab", &["puzzle.token.range"]),
    ("zero_examples", &["puzzle.dataset.total_groups", "puzzle.empty"]),
];

#[test]
fn malformed_puzzle_sets_get_their_verdicts() {
    let Some(data) = data("malformed/hrm") else { return };
    let verdicts: Value =
        serde_json::from_slice(&std::fs::read(data.join("verdicts.json")).unwrap()).unwrap();
    for (name, verdict) in verdicts.as_object().unwrap() {
        let row = MALFORMED_HRM.iter().find(|(folder, _)| folder == name);
        let (_, expected) = row.unwrap_or_else(|| panic!("{name} is not in the table"));
        let found = found(&[data.join(name).to_str().unwrap()]);
        let mut ids = found.ids();
        ids.retain(|id| id != "puzzle.dtype");
        assert_eq!(ids, *expected, "{name}: {:?}", found.run);
        match verdict["verdict"].as_str() {
            Some("bad") => assert_eq!(found.code, Some(1), "{name}: {:?}", found.run),
            Some("ok") => assert_eq!(found.code, Some(0), "{name}: {:?}", found.run),
            _ => assert!(!found.ids().is_empty(), "{name}: {:?}", found.run),
        }
    }
}

/// Sets of other builders differ from ours, and can be trained on.
#[test]
fn wild_puzzle_sets_have_warnings_only() {
    let Some(data) = data("hrm/wild") else { return };
    let sets: BTreeSet<String> =
        files_in(&data).iter().filter_map(|name| Some(name.split_once('/')?.0.into())).collect();
    assert!(sets.len() >= 3);
    for set in sets {
        let path = data.join(&set).display().to_string();
        let found = found(&[&path]);
        assert_eq!(found.code, Some(0), "{:?}", found.run);
        // Every example is drawn without a mark of what cannot stand there, and decoded.
        let drawn = tool("ds-view").args(&[path.as_str(), "--limit", "2000"]).run().ok().text();
        let mut cells = drawn.lines().filter(|line| !line.starts_with("! "));
        assert!(cells.all(|line| !line.contains(['!', '?'])), "{set}");
        tool("ds-cat").args(&[path.as_str(), "--grid"]).run().ok();
        // Chains of the published Domino builder do not always match; all else follows the rules.
        let domain = format!("puzzle.{}.", set.split('-').next().unwrap());
        let of_rules = found.counts().into_iter().filter(|(id, _)| id.starts_with(&domain));
        let [chain, ends] =
            [("chain", 516), ("ends", 384)].map(|(id, n)| (format!("{domain}{id}"), n));
        let expected = if set.starts_with("domino") { vec![chain, ends] } else { vec![] };
        assert_eq!(of_rules.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn nothing_is_found_in_the_real_data() {
    let Some(data) = data("") else { return };
    for name in ["synth_kd/valid_0.1", "synth_kd/valid_0.001", "synth_harmony"] {
        found(&[data.join(name).to_str().unwrap()]).nothing();
    }
    let dir = TempDir::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/synth-kd.sh");
    bash(&format!(
        "cp {script} {dir}; bash {dir}/synth-kd.sh {input} {dir}/root --valid-fraction 0.1",
        dir = dir.path().display(),
        input = data.join("synth_harmony").display(),
    ))
    .ok();
    bash(&format!(
        "set -o pipefail; mx-decode {raw} --to arrow | npy-pack -o {dir}/pack",
        raw = data.join("macroxue/raw_small").display(),
        dir = dir.path().display(),
    ))
    .ok();
    let pack = found(&[&dir.at("pack")]);
    // Two of its games say another score than their moves add up to.
    assert_eq!((pack.code, pack.ids()), (Some(0), vec!["pool.run.score".to_string()]));
    let manifest = data.join("synth_harmony/manifest.json");
    let arguments = [&dir.at("root"), "--strict", "--input-manifest", manifest.to_str().unwrap()];
    found(&arguments).nothing();
    let report = ds_check(&arguments).run().silent().text();
    assert!(report.contains("250 sequences") && !report.contains("note"), "{report}");
}

/// Parquet as other programs write it: good where harmony-tok takes it.
#[test]
fn parquet_of_other_programs() {
    let Some(data) = data("parquet_variants") else { return };
    for name in files_in(&data).iter().filter(|name| name.ends_with(".parquet")) {
        let path = data.join(name);
        let found = found(&[path.to_str().unwrap()]);
        let taken = tool("harmony-tok").args(&[path.to_str().unwrap()]).run();
        assert_eq!(found.code == Some(0), taken.code() == Some(0), "{name}: {:?}", found.run);
    }
}

/// A directory of prefixes: each is judged by its own part manifest.
#[test]
fn prefixes_of_different_policies_side_by_side() {
    let dir = TempDir::new();
    let mut chat = conversation(1);
    chat["messages"][2]["channel"] = serde_json::json!("commentary");
    dir.write("chat", format!("{chat}\n"));
    dir.write("synth", conversation(2).to_string() + "\n");
    dir.bash(
        "set -eo pipefail; harmony-tok synth | span-mask | mmidx-write --prefix d/a
         harmony-tok --policy chat chat --to arrow | span-mask --span commentary=3 --to arrow |
         mmidx-write --prefix d/b",
    )
    .ok();
    found(&[&dir.at("d")]).nothing();
}

/// Slices joined split by split: each states what was read for both splits.
#[test]
fn concatenated_roots_are_good() {
    let good = Good::new();
    bash(&format!(
        "set -eo pipefail; cd {}; for i in 0 1; do
             harmony-tok c.ndjson --slice $i/2 --to arrow | span-mask --to arrow |
             mmidx-write --root s$i --shard p --valid-fraction 0.3; done
         for split in train valid; do
             mmidx-write --concat s0/$split/p s1/$split/p --prefix both/$split/all; done
         ds-manifest both",
        good.dir().path().display()
    ))
    .ok();
    for name in ["s0", "both", "both/train/all", "both/valid/all_tokens.bin"] {
        found(&[&good.dir().at(name)]).nothing();
    }
}

/// Loaders divide by it.
#[test]
fn a_mean_of_nothing_is_an_error() {
    let good = Good::new();
    for mean in ["0", "0.0", "-1.0"] {
        let dir = good.copy();
        let path = "domino/test/dataset.json";
        let mut fields = dir.json(path);
        fields["mean_puzzle_examples"] = serde_json::from_str(mean).unwrap();
        dir.write(path, fields.to_string());
        let arguments = [dir.at("domino/test"), "--only".into(), "puzzle.dataset".into()];
        let run = tool("ds-check").args(&arguments).run();
        assert!(run.code() == Some(1) && run.text().contains("mean_puzzle_examples"), "{run:?}");
    }
}
