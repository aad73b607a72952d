//! How fast ds-check is: structure alone, every rule, and every rule with the hashes of the
//! manifest, on a pack, a KD root and a puzzle set; beside `sha256sum` of the same files, which is
//! what anyone would do without rules.
//!
//!     GRISTMILL_DATA=... cargo bench --bench check
//!
//! CPU seconds (user + system) of whole processes, medians of five interleaved runs. The sets are
//! made from the reference data, repeated with changes so that nothing is equal.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// How often the raw games and the conversations are repeated.
const PACKS: usize = 8;
const SHARDS: usize = 40;
const RUNS: usize = 5;

/// CPU seconds and peak memory (bytes) of a process.
#[expect(clippy::zombie_processes, reason = "wait4 waits for it")]
fn measure(command: &mut Command) -> (f64, u64) {
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    let mut status = 0;
    // SAFETY: rusage is plain data, and wait4 fills it in for a child of ours that nobody else
    // waits for.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage);
        usage
    };
    assert!(ExitStatus::from_raw(status).success(), "{command:?} failed");
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss as u64 * 1024)
}

/// A pipeline in bash, our filters first.
fn bash(script: &str) {
    let bin = Path::new(env!("CARGO_BIN_EXE_ds-check")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let status = Command::new("bash")
        .args(["-c", &format!("set -euo pipefail; {script}")])
        .env("PATH", path)
        .env("GRISTMILL_TO", "arrow")
        .status()
        .unwrap();
    assert!(status.success(), "{script}");
}

/// Sets to be checked: name, unit, how many there are.
fn make(data: &Path, dir: &Path) -> Vec<(&'static str, &'static str, u64)> {
    let (data, at) = (data.display(), dir.display());
    bash(&format!(
        "mkdir -p {at}/raw; for i in $(seq {PACKS}); do ln -sfn {data}/macroxue/raw_bench \
         {at}/raw/r$i; done; mx-decode -q {at}/raw | npy-pack -q -o {at}/pack"
    ));
    let lines = Command::new(env!("CARGO_BIN_EXE_ds-cat"))
        .arg(data.to_string() + "/synth_harmony/synth_harmony_shard_00.parquet")
        .args(["--to", "ndjson", "--columns", "synth_id,messages_json"])
        .output()
        .unwrap();
    let lines = String::from_utf8(lines.stdout).unwrap();
    // Memory that this process holds would count as a child's peak.
    let mut all = BufWriter::new(File::create(dir.join("c.ndjson")).unwrap());
    for (copy, line) in (0..SHARDS).flat_map(|copy| lines.lines().map(move |line| (copy, line))) {
        // Another id, and another text of the user.
        let line = line.replacen("\"synth_id\":\"", &format!("\"synth_id\":\"{copy}-"), 1);
        let text = "\\\"text\\\": \\\"";
        let line = line.replacen(text, &format!("{text}{copy} "), 1);
        writeln!(all, "{line}").unwrap();
    }
    all.flush().unwrap();
    bash(&format!(
        "harmony-tok -q {at}/c.ndjson | span-mask -q |
         mmidx-write -q --root {at}/root --shard shard_00 --valid-fraction 0.01 && ds-manifest -q {at}/root
         puzzle-encode sudoku -q --train {data}/hrm/raw/sudoku/train.csv \
             --test {data}/hrm/raw/sudoku/test.csv --num-aug 200 | npy-pack -q -o {at}/sudoku
         puzzle-encode arc -q {data}/hrm/raw/arc --num-aug 50 | npy-pack -q -o {at}/arc"
    ));
    let count = |set: &str| -> u64 {
        let output = Command::new(env!("CARGO_BIN_EXE_ds-check"))
            .args(["--format", "json", "--structure"])
            .arg(dir.join(set))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let summary: serde_json::Value =
            serde_json::from_str(text.lines().last().unwrap()).unwrap();
        summary["summary"]["records"].as_u64().unwrap()
    };
    [("pack", "rows"), ("root", "sequences"), ("sudoku", "examples"), ("arc", "examples")]
        .map(|(set, unit)| (set, unit, count(set)))
        .to_vec()
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn main() {
    let Some(data) = std::env::var_os("GRISTMILL_DATA") else {
        println!("GRISTMILL_DATA is not set; nothing to check");
        return;
    };
    let dir = std::env::temp_dir().join(format!("gristmill-bench-check-{}", std::process::id()));
    let sets = make(Path::new(&data), &dir);
    println!(
        "{:8} {:28} {:>9} {:>12} {:>14} {:>9} {:>8}",
        "set", "", "CPU s", "MB/s", "", "x sha256", "peak MB"
    );
    for (set, unit, records) in sets {
        let path = dir.join(set);
        let files = files(&path);
        let bytes: u64 = files.iter().map(|file| fs::metadata(file).unwrap().len()).sum();
        let ds_check = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_ds-check"));
            command.arg("-q").arg(&path).args(arguments);
            command
        };
        let mut sha256sum = Command::new("sha256sum");
        sha256sum.args(&files);
        let mut commands = [
            ("sha256sum", sha256sum),
            ("ds-check --structure", ds_check(&["--structure"])),
            ("ds-check, rules", ds_check(&["--skip", "pool.manifest,kd.manifest,puzzle.build"])),
            ("ds-check, rules and hashes", ds_check(&[])),
        ];
        let mut runs = vec![Vec::new(); commands.len()];
        for _ in 0..RUNS {
            for ((_, command), runs) in commands.iter_mut().zip(&mut runs) {
                runs.push(measure(command));
            }
        }
        let medians: Vec<(f64, u64)> = runs
            .into_iter()
            .map(|mut runs| {
                runs.sort_by(|a, b| a.0.total_cmp(&b.0));
                runs[RUNS / 2]
            })
            .collect();
        for ((name, _), (seconds, peak)) in commands.iter().zip(&medians) {
            let seconds = seconds.max(1e-3);
            let rate = format!("{:.1} M {unit}/s", records as f64 / seconds / 1e6);
            let megabytes = bytes as f64 / seconds / 1e6;
            let ratio = medians[0].0 / seconds;
            let peak = *peak as f64 / 1e6;
            println!(
                "{set:8} {name:28} {seconds:9.3} {megabytes:12.0} {rate:>18} {ratio:5.1} {peak:8.0}"
            );
        }
    }
    let _ = fs::remove_dir_all(&dir);
}
