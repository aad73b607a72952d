//! The SYNTH pipeline against the Python original's way: CPU seconds (user + system) of whole
//! processes and their peak memory, after the bytes have been compared.
//!
//!     GRISTMILL_DATA=... GRISTMILL_PYTHON=... cargo bench --bench synth_kd
//!
//! The reference data has few rows, so that distinct ones are made of them (make_synth_rows.py):
//! many for `warm`, 1,000 for `cold`, start-up included. Both are run as three filters and with
//! `harmony-tok --mask`, which does span-mask's work too.

use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use base64::{Engine, engine::general_purpose::STANDARD};
use gristmill::tokenizer::token_bytes;

/// Distinct rows for the original, which is slow, and for ours.
const FEW: usize = 500;
const COLD: usize = 1000;
const MANY: usize = 100_000;
const FRACTION: &str = "0.1";

/// What processes have used.
#[derive(Clone, Copy, Default)]
struct Usage {
    cpu_seconds: f64,
    /// Sum of the peaks of the processes, which run side by side.
    peak_bytes: u64,
}

/// Waits for a process and reads what it has used.
fn wait(child: Child) -> Usage {
    let mut status = 0;
    // SAFETY: rusage is plain data, and wait4 fills it in for a child of ours that nobody else
    // waits for.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage);
        usage
    };
    assert!(ExitStatus::from_raw(status).success(), "a process failed");
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Usage {
        cpu_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak_bytes: usage.ru_maxrss as u64 * 1024,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    ThreeFilters,
    Fused,
}

/// The filters over one shard, as a shell would connect them.
fn pipeline(form: Form, shard: &Path, root: &Path) -> Usage {
    // What stood there would have to be forgotten by the system at our cost.
    let _ = std::fs::remove_dir_all(root);
    let spawn = |command: &mut Command, input: Stdio, output: Stdio| {
        command.env("GRISTMILL_TO", "arrow").stdin(input).stdout(output).spawn().unwrap()
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_harmony-tok"));
    command.arg(shard);
    let mut running = Vec::new();
    let mut tokens = spawn(
        if form == Form::Fused { command.arg("--mask") } else { &mut command },
        Stdio::null(),
        Stdio::piped(),
    );
    let mut masked = tokens.stdout.take().unwrap();
    running.push(tokens);
    if form == Form::ThreeFilters {
        let mut command = Command::new(env!("CARGO_BIN_EXE_span-mask"));
        let mut masks = spawn(&mut command, masked.into(), Stdio::piped());
        masked = masks.stdout.take().unwrap();
        running.push(masks);
    }
    let write = spawn(
        Command::new(env!("CARGO_BIN_EXE_mmidx-write"))
            .args(["--shard", "shard_00", "--valid-fraction", FRACTION, "--root"])
            .arg(root),
        masked.into(),
        Stdio::null(),
    );
    running.push(write);
    let used: Vec<Usage> = running.into_iter().map(wait).collect();
    Usage {
        cpu_seconds: used.iter().map(|usage| usage.cpu_seconds).sum(),
        peak_bytes: used.iter().map(|usage| usage.peak_bytes).sum(),
    }
}

fn median(mut usages: Vec<Usage>) -> Usage {
    usages.sort_by(|a, b| a.cpu_seconds.total_cmp(&b.cpu_seconds));
    usages[usages.len() / 2]
}

fn main() {
    let (Some(data), Some(python)) =
        (std::env::var_os("GRISTMILL_DATA"), std::env::var_os("GRISTMILL_PYTHON"))
    else {
        println!("skipped: GRISTMILL_DATA and GRISTMILL_PYTHON are not both set");
        return;
    };
    let place = std::env::temp_dir().join(format!("gristmill-bench-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("o200k_base.tiktoken"), vocabulary()).unwrap();
    let sample = Path::new(&data).join("synth_harmony/synth_harmony_shard_00.parquet");
    let script = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let made = |rows: usize| {
        let path = place.join(format!("rows_{rows}.parquet"));
        let maker = Command::new(&python)
            .arg(script("benches/make_synth_rows.py"))
            .args([&sample, &path])
            .args([rows.to_string(), "1".to_string()])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait(maker);
        (path, rows as f64)
    };

    let (few, few_rows) = made(FEW);
    let original = median(
        (0..3)
            .map(|_| {
                let child = Command::new(&python)
                    .env("TIKTOKEN_ENCODINGS_BASE", &place)
                    .arg(script("tests/oracle/synth_kd_original.py"))
                    .args([&few, &place.join("original")])
                    .args(["shard_00", FRACTION])
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap();
                wait(child)
            })
            .collect(),
    );
    for (form, name) in [(Form::ThreeFilters, "three"), (Form::Fused, "fused")] {
        pipeline(form, &few, &place.join(name));
        compare(&place.join("original"), &place.join(name));
    }
    println!("bytes equal on {few_rows} rows");

    let base = few_rows / original.cpu_seconds;
    let show = |name: &str, rows: f64, usage: Usage| {
        let rate = rows / usage.cpu_seconds;
        println!(
            "{name:24} {rows:7} rows  {rate:9.0} rows per CPU second  {:6.1} x  peak {} MB",
            rate / base,
            usage.peak_bytes / 1_000_000
        );
    };
    show("original", few_rows, original);
    for (name, (shard, rows)) in [("warm", made(MANY)), ("cold", made(COLD))] {
        // The forms take turns: the machine's speed drifts.
        let mut usages = [Vec::new(), Vec::new()];
        for _ in 0..5 {
            for (form, usages) in [Form::ThreeFilters, Form::Fused].into_iter().zip(&mut usages) {
                usages.push(pipeline(form, &shard, &place.join("out")));
            }
        }
        let [three, fused] = usages.map(median);
        show(&format!("three filters, {name}"), rows, three);
        show(&format!("harmony-tok --mask, {name}"), rows, fused);
    }
    std::fs::remove_dir_all(&place).unwrap();
}

/// Every file of the original is the same in ours.
fn compare(original: &Path, ours: &Path) {
    for split in ["train", "valid"] {
        for entry in std::fs::read_dir(original.join(split)).unwrap() {
            let entry = entry.unwrap();
            let twin = ours.join(split).join(entry.file_name());
            let same = std::fs::read(entry.path()).unwrap() == std::fs::read(&twin).unwrap();
            assert!(same, "{} differs", twin.display());
        }
    }
}

/// The vocabulary as the official package wants it, made from our own table.
fn vocabulary() -> String {
    let mut text = String::new();
    for rank in 0..199_998 {
        let _ = writeln!(text, "{} {rank}", STANDARD.encode(token_bytes(rank).unwrap()));
    }
    text
}
