//! Which records are read: --nth, --sample, --skip, --tail, --limit, the same for every dataset and
//! stream, whether the others are read or not.

use std::fs;
use std::path::Path;

use gristmill::format::FORMATS;

use crate::common::{TempDir, bash, bin_dir, conversations, data, tool, write_saved};

/// One dataset of every kind, with the arguments of ds-cat that name it.
fn inputs(dir: &TempDir) -> Vec<(&'static str, Vec<String>)> {
    dir.write("0.ndjson", conversations(23));
    dir.write("1.ndjson", conversations(31));
    for (name, count) in [("q0.jsonl", 23), ("q1.jsonl", 31)] {
        let pair = |n| {
            format!(
                "{{\"id\":\"{name}-{n}\",\"prompt\":\"q{n}\",\"chosen\":\"a\",\"rejected\":\"b\"}}\n"
            )
        };
        dir.write(name, (0..count).map(pair).collect::<String>());
    }
    dir.bash(
        "set -eo pipefail; export GRISTMILL_TO=arrow
         for i in 0 1; do harmony-tok $i.ndjson | span-mask > $i.arrows
             mmidx-write --root root --shard s$i --valid-fraction 0.4 $i.arrows
             mmidx-write --prefix p$i $i.arrows; mmidx-write --tokens-only --prefix t$i $i.arrows
             seq-pack $i.arrows -o rows$i.parquet -n 400 --form trl
             chat-tok --model gpt-oss --take pair q$i.jsonl | seq-pack --form trl-kto --columns id -o pairs$i.parquet
             ds-cat $i.ndjson -o shards/$i.parquet; done
         puzzle-encode domino --num-games 6 --seed 1 | npy-pack -o set",
    )
    .ok();
    write_saved(dir, "saved", "0.arrows");
    let at = |names: &[&str]| names.iter().map(|name| dir.at(name)).collect::<Vec<String>>();
    vec![
        ("root", at(&["root"])),
        ("prefixes", at(&["p1", "p0"])),
        ("tokens alone", at(&["t0", "t1"])),
        ("puzzle set", at(&["set"])),
        ("rows for trainers", at(&["rows0.parquet", "rows1.parquet"])),
        ("pairs for trainers", at(&["pairs0.parquet", "pairs1.parquet"])),
        ("folder of Parquet", at(&["shards"])),
        ("ids of a root", at(&["root/ids"])),
        ("folder of datasets", at(&["saved"])),
        ("NDJSON", at(&["0.ndjson", "1.ndjson"])),
        ("Arrow", at(&["0.arrows", "1.arrows"])),
    ]
}

/// A pack of games whose rows are together, the same in shards, and one whose rows are mixed.
fn pools(dir: &TempDir) -> Vec<(&'static str, Vec<String>)> {
    let Some(raw) = data("macroxue/raw_small") else { return Vec::new() };
    dir.bash(&format!(
        "set -eo pipefail; mx-decode {} > games.ndjson; npy-pack games.ndjson -o pack
         npy-pack games.ndjson --shard-rows 100 -o sharded
         npy-pack games.ndjson --layout selfplay-v1 --lossy -o selfplay",
        raw.display()
    ))
    .ok();
    mix_rows(dir);
    ["pack", "sharded", "selfplay", "mixed"].map(|name| (name, vec![dir.at(name)])).to_vec()
}

/// The pack, with the first row of its first run in exchange for the last of its last.
fn mix_rows(dir: &TempDir) {
    bash(&format!("cp -r {} {}", dir.at("pack"), dir.at("mixed"))).silent();
    let path = dir.at("mixed/steps.npy");
    let mut bytes = fs::read(&path).unwrap();
    let header = 10 + u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
    let (first, last) = (header, bytes.len() - 48);
    for offset in 0..48 {
        bytes.swap(first + offset, last + offset);
    }
    fs::write(path, bytes).unwrap();
    fs::remove_file(dir.at("mixed/manifest.json")).unwrap();
}

fn lines(files: &[String], flags: &[&str]) -> Vec<String> {
    let run = tool("ds-cat").args(files).args(flags).run().ok();
    run.text().lines().map(str::to_string).collect()
}

#[test]
fn every_choice_is_that_part_of_the_whole() {
    let dir = TempDir::new();
    let inputs: Vec<_> = inputs(&dir).into_iter().chain(pools(&dir)).collect();
    // (Without the data of others there are no pools.)
    for format in FORMATS.iter().filter(|format| format.name != "pools of games") {
        let is_there =
            |(_, files): &(&str, Vec<String>)| (format.knows)(Path::new(&files[0])).unwrap();
        assert!(inputs.iter().any(is_there), "no input is of the {}", format.name);
    }
    for (name, files) in inputs {
        let all = lines(&files, &[]);
        let count = all.len();
        assert!(count > 4, "{name}: {count}");
        let (half, last) = (count / 2, count - 1);
        let nth = format!("{last},{half}-{},0,{half}", half + 1);
        let range = format!("1-{last}");
        let cases: Vec<(Vec<&str>, Vec<usize>)> = vec![
            (vec!["--nth", &nth], vec![0, half, half + 1, last]),
            (vec!["--nth", &range], (1..count).collect()),
            (vec!["--nth", "2"], vec![2]),
            (vec!["--skip", "2"], (2..count).collect()),
            (vec!["--skip", "2", "--limit", "2"], vec![2, 3]),
            (vec!["--skip", "1000000"], vec![]),
            (vec!["--limit", "0"], vec![]),
            (vec!["--tail", "3"], (count - 3..count).collect()),
            (vec!["--tail", "0"], vec![]),
            (vec!["--tail", "1000000"], (0..count).collect()),
            (vec!["--sample", "1000000"], (0..count).collect()),
            (vec!["--sample", "0"], vec![]),
        ];
        for (flags, rows) in cases {
            let part: Vec<String> = rows.iter().map(|&row| all[row].clone()).collect();
            assert_eq!(lines(&files, &flags), part, "{name} {flags:?}");
            let counted = tool("ds-cat").args(&files).args(&flags).args(&["--count"]).run().ok();
            assert_eq!(counted.text(), format!("{}\n", part.len()), "{name} {flags:?}");
        }
        let beyond = format!("1,{count}");
        let run = tool("ds-cat").args(&files).args(&["--nth", &beyond]).run();
        assert_eq!(run.code(), Some(1), "{name}: {run:?}");
        let cause = format!("there is no record {count}, there are {count} (from 0)");
        assert!(run.stderr.contains(&cause), "{name}: {run:?}");
    }
}

/// A sample depends on its seed and on the number of records, not on how they are stored.
#[test]
fn a_sample_is_the_same_in_every_encoding() {
    let dir = TempDir::new();
    dir.write("a.ndjson", conversations(500));
    dir.bash("set -e; ds-cat a.ndjson -o a.parquet; ds-cat a.ndjson -o a.arrows").silent();
    let sample = |file: &str, flags: &[&str]| lines(&[dir.at(file)], flags);
    let all = sample("a.ndjson", &[]);
    let mut seen = Vec::new();
    for seed in ["0", "1", "18446744073709551615"] {
        let flags = ["--sample", "40", "--seed", seed];
        let drawn = sample("a.ndjson", &flags);
        assert_eq!(drawn.len(), 40);
        let places: Vec<usize> =
            drawn.iter().map(|line| all.iter().position(|other| other == line).unwrap()).collect();
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
        for file in ["a.parquet", "a.arrows"] {
            assert_eq!(sample(file, &flags), sample("a.ndjson", &flags), "{file} {seed}");
        }
        let piped = bash(&format!("cat {} | ds-cat {}", dir.at("a.ndjson"), flags.join(" ")));
        assert_eq!(piped.silent().text().lines().collect::<Vec<_>>(), drawn);
        assert!(!seen.contains(&places), "the seed does not matter");
        seen.push(places);
    }
    assert_eq!(
        sample("a.ndjson", &["--sample", "40"]),
        sample("a.ndjson", &["--sample", "40", "--seed", "0"])
    );
    // Slices are chosen from by themselves.
    let part = sample("a.parquet", &["--slice", "1/2", "--nth", "0,249"]);
    assert_eq!(part, [all[250].clone(), all[499].clone()]);
}

#[test]
fn places_of_chosen_records_are_their_own() {
    let dir = TempDir::new();
    let lines: Vec<String> = conversations(9).lines().map(str::to_string).collect();
    let bad = format!("{}\nnot json\n{}\n", lines[..4].join("\n"), lines[4..].join("\n"));
    dir.write("a.ndjson", bad);
    let cat = |flags: &[&str]| tool("ds-cat").args(&[dir.at("a.ndjson")]).args(flags).run();
    for flags in [&["--nth", "4"][..], &["--tail", "6"], &["--skip", "3"], &["--sample", "10"]] {
        cat(flags).fails(1, &["a.ndjson:5: "]);
    }
    for flags in [&["--nth", "3,5"][..], &["--tail", "5"], &["--limit", "4"], &["--skip", "5"]] {
        cat(flags).silent();
    }
}

/// Neither what is before nor what is after is read: here it is damaged.
#[test]
fn what_is_not_chosen_is_not_read() {
    let dir = TempDir::new();
    inputs(&dir);
    let cat = |file: &str, flags: &[&str]| tool("ds-cat").args(&[dir.at(file)]).args(flags).run();
    let nth = ["--nth", "15"];
    // The offsets of the sequences of a triple, but one.
    let wanted = cat("p1", &nth).silent().text();
    for kind in ["tokens", "lossmask", "span"] {
        let mut idx = dir.read(&format!("p1_{kind}.idx"));
        let offsets = 34 + 4 * 31;
        for row in (0..31).filter(|row| *row != 15) {
            idx[offsets + 8 * row..][..8].fill(0xff);
        }
        dir.write(&format!("p1_{kind}.idx"), idx);
    }
    assert_eq!(cat("p1", &nth).silent().text(), wanted);
    cat("p1", &[]).fails(1, &["is not in the .bin"]);
    // The rows of a pack's games, but one.
    if pools(&dir).is_empty() {
        return;
    }
    let steps: Vec<usize> = (cat("pack", &[]).silent().records().iter())
        .map(|game| game["steps"].as_array().unwrap().len())
        .collect();
    let wanted = cat("pack", &["--nth", "1"]).silent().text();
    let mut rows = dir.read("pack/steps.npy");
    let end = rows.len() - 48 * steps[2..].iter().sum::<usize>();
    let start = end - 48 * steps[1];
    let header = 10 + u16::from_le_bytes([rows[8], rows[9]]) as usize;
    for place in [header..start, end..rows.len()] {
        rows[place].fill(0xee);
    }
    dir.write("pack/steps.npy", rows);
    assert_eq!(cat("pack", &["--nth", "1"]).silent().text(), wanted);
    assert_ne!(cat("pack", &[]).code(), Some(0));
}

/// An array with so many rows in place of those it has: these, and then holes.
fn lengthen(dir: &TempDir, name: &str, rows: usize, values: impl Iterator<Item = i32>) {
    let old = dir.read(name);
    let header = 10 + u16::from_le_bytes([old[8], old[9]]) as usize;
    let text = String::from_utf8(old[10..header].to_vec()).unwrap();
    let (before, rest) = text.split_once("'shape': (").unwrap();
    let (_, rest) = rest.split_once(',').unwrap();
    let columns = rest.split(')').next().unwrap().trim().parse().unwrap_or(1);
    let text = format!("{before}'shape': ({rows},{}", rest.trim_end());
    let mut bytes = old[..10].to_vec();
    bytes.extend(format!("{text:<width$}\n", width = header - 11).as_bytes());
    values.for_each(|value| bytes.extend(value.to_le_bytes()));
    dir.write(name, bytes);
    let file = fs::File::options().write(true).open(dir.at(name)).unwrap();
    file.set_len((header + 4 * rows * columns) as u64).unwrap();
}

/// How many pages of memory a command has touched.
fn pages(command: &str) -> i64 {
    let script = format!("exec {}/{command} > /dev/null", bin_dir().display());
    // (It is waited for below, where its pages are counted.)
    #[allow(clippy::zombie_processes)]
    let child = std::process::Command::new("bash").args(["-c", &script]).spawn().unwrap();
    let mut status = 0;
    // SAFETY: numbers alone, for which 0 is a value.
    let mut usage = unsafe { std::mem::zeroed::<libc::rusage>() };
    // SAFETY: a child of this test's own, and two places that live longer than the call.
    let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) };
    assert_eq!((waited, status), (child.id() as i32, 0), "{command}");
    usage.ru_minflt
}

/// Of a large puzzle set, too: the last example costs what the first does.
#[test]
fn the_last_example_is_as_near_as_the_first() {
    let dir = TempDir::new();
    bash(&format!("puzzle-encode domino --num-games 6 --seed 1 | npy-pack -o {}", dir.at("set")))
        .ok();
    let rows = 500_000;
    for (name, rows, last) in [
        ("inputs", rows, 0),
        ("labels", rows, 0),
        ("puzzle_identifiers", rows, 0),
        ("puzzle_indices", rows + 1, rows as i32 + 1),
        ("group_indices", rows + 1, rows as i32 + 1),
    ] {
        lengthen(&dir, &format!("set/train/all__{name}.npy"), rows, 0..last);
    }
    fs::remove_file(dir.at("set/build.json")).unwrap();
    let set = dir.at("set");
    let count = tool("ds-cat").args(&["--count", &set]).run().silent().text();
    assert_eq!(count, format!("{}\n", rows + 6));
    let last = tool("ds-cat").args(&[&set, "--nth", "500005"]).run().silent().records();
    let test = tool("ds-cat").args(&[&set, "--tail", "1"]).run().silent().records();
    assert_eq!((last.len(), &last), (1, &test));
    let [first, middle, last, all] = ["--nth 0", "--nth 250000", "--nth 499999", ""]
        .map(|n| pages(&format!("ds-cat {set} {n}")));
    assert!(middle < first + 500 && last < first + 500, "{first} {middle} {last}");
    assert!(all > first + 2000, "{first} {all}");
}

/// From one record to another counts examples, also within a group; parts of a set are cut between groups.
#[test]
fn slices_of_puzzle_sets_count_what_they_say() {
    let dir = TempDir::new();
    let (set, made) = (dir.at("set"), "puzzle-encode domino --num-games 6 --num-aug 2 --seed 1");
    bash(&format!("set -o pipefail; {made} | npy-pack -q -o {set}")).ok();
    let cat = |slice: &[&str]| {
        let flags = [&[set.as_str(), "--to", "ndjson"][..], slice].concat();
        tool("ds-cat").args(&flags).run().silent().records()
    };
    let all = cat(&[]);
    let last = all.len();
    for (from, to) in [(0, 1), (1, 2), (2, 5), (last - 2, last), (3, 3), (0, last), (1, last + 9)] {
        let slice = format!("{from}..{to}");
        assert_eq!(cat(&["--slice", &slice]), all[from..to.min(last)], "{slice}");
    }
    assert_eq!(cat(&["--slice", "2..9", "--nth", "1"]), all[3..4]);
    let parts: Vec<_> = (0..3).flat_map(|part| cat(&["--slice", &format!("{part}/3")])).collect();
    assert_eq!(parts, all);
}

/// Whatever is chosen: a full disk, a closed pipe and an input that was cut end it as any filter.
#[test]
fn a_choice_ends_as_every_filter() {
    let dir = TempDir::new();
    let file = dir.write("a.ndjson", conversations(3000));
    let cut = dir.write("cut.ndjson", &dir.read("a.ndjson")[..100_000]);
    dir.bash("ds-cat a.ndjson -o a.parquet; ds-cat a.ndjson -o a.arrows").silent();
    let damaged = dir.read("a.parquet");
    let damaged = dir.write("cut.parquet", &damaged[..damaged.len() - 1]);
    for flags in ["--tail 2900", "--sample 2900", "--nth 1-2900", "--skip 2"] {
        for input in [&file, &dir.at("a.parquet"), &dir.at("a.arrows")] {
            let filter = format!("ds-cat {input} {flags}");
            bash(&format!("{filter} > /dev/full"))
                .says(75, "ds-cat: stdout: No space left on device");
            let closed =
                bash(&format!("{filter} | head -n 1 > /dev/null; echo ${{PIPESTATUS[0]}}"));
            assert_eq!(closed.silent().text(), "141\n", "{filter}");
        }
        let filter = format!("ds-cat {flags}");
        bash(&format!("{filter} {cut}")).fails(1, &["cut.ndjson", "the last record is cut"]);
        bash(&format!("{filter} < {cut}")).fails(75, &["the last record is cut"]);
        bash(&format!("{filter} {damaged}")).fails(1, &["cut.parquet"]);
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    for flags in [
        "--nth 1 --sample 2",
        "--nth 1 --limit 2",
        "--tail 1 --skip 2",
        "--sample 1 --id a",
        "--seed 1",
        "--nth 3-1",
        "--nth -1",
        "--nth 1-",
        "--nth a",
        "--nth 1,,2",
    ] {
        let flags: Vec<&str> = flags.split(' ').collect();
        let run = tool("ds-cat").args(&flags).input("{}\n").run();
        assert_eq!(run.code(), Some(2), "{run:?}");
    }
}
