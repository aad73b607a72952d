//! The SYNTH pipeline against the Python original's way: CPU seconds (user + system) of whole
//! processes and their peak memory, after the bytes have been compared.
//!
//!     GRISTMILL_DATA=... GRISTMILL_PYTHON=... cargo bench --bench synth_kd
//!
//! The reference data has few rows, so they are repeated: the first number is warm. `cold` is one
//! pass over the sample, start-up included.

use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use base64::{Engine, engine::general_purpose::STANDARD};
use gristmill::tokenizer::token_bytes;

/// Repetitions of the sample for the original, which is slow, and for ours.
const FEW: usize = 2;
const MANY: usize = 400;
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

/// The three filters over one shard, as a shell would connect them.
fn pipeline(shard: &Path, root: &Path) -> Usage {
    let spawn = |command: &mut Command, input: Stdio, output: Stdio| {
        command.env("GRISTMILL_TO", "arrow").stdin(input).stdout(output).spawn().unwrap()
    };
    let mut tokens = spawn(
        Command::new(env!("CARGO_BIN_EXE_harmony-tok")).arg(shard),
        Stdio::null(),
        Stdio::piped(),
    );
    let mut masks = spawn(
        &mut Command::new(env!("CARGO_BIN_EXE_span-mask")),
        tokens.stdout.take().unwrap().into(),
        Stdio::piped(),
    );
    let write = spawn(
        Command::new(env!("CARGO_BIN_EXE_mmidx-write"))
            .args(["--overwrite", "--shard", "shard_00", "--valid-fraction", FRACTION, "--root"])
            .arg(root),
        masks.stdout.take().unwrap().into(),
        Stdio::null(),
    );
    let used = [tokens, masks, write].map(wait);
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
    let repeated = |times: usize| {
        let path = place.join(format!("rows_{times}.parquet"));
        let script = "import sys, pyarrow as pa, pyarrow.parquet as pq\n\
                      table = pq.read_table(sys.argv[1])\n\
                      w = pq.ParquetWriter(sys.argv[2], table.schema, compression='zstd')\n\
                      for _ in range(int(sys.argv[3])): w.write_table(table)\n\
                      w.close()\n\
                      print(table.num_rows * int(sys.argv[3]))";
        let output = Command::new(&python)
            .args(["-c", script])
            .args([&sample, &path, &PathBuf::from(times.to_string())])
            .output()
            .unwrap();
        let rows: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
        (path, rows)
    };

    let (few, few_rows) = repeated(FEW);
    let original = median(
        (0..3)
            .map(|_| {
                let script =
                    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/synth_kd_original.py");
                let child = Command::new(&python)
                    .env("TIKTOKEN_ENCODINGS_BASE", &place)
                    .arg(script)
                    .args([&few, &place.join("original")])
                    .args(["shard_00", FRACTION])
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap();
                wait(child)
            })
            .collect(),
    );
    pipeline(&few, &place.join("ours"));
    compare(&place.join("original"), &place.join("ours"));
    println!("bytes equal on {few_rows} rows");

    let (many, many_rows) = repeated(MANY);
    let warm = median((0..5).map(|_| pipeline(&many, &place.join("warm"))).collect());
    let (once, once_rows) = repeated(1);
    let cold = median((0..5).map(|_| pipeline(&once, &place.join("cold"))).collect());
    let base = few_rows / original.cpu_seconds;
    for (name, rows, usage) in [
        ("original", few_rows, original),
        ("ours, warm", many_rows, warm),
        ("ours, cold", once_rows, cold),
    ] {
        let rate = rows / usage.cpu_seconds;
        println!(
            "{name:10} {rows:7} rows  {rate:9.0} rows per CPU second  {:6.1} x  peak {} MB",
            rate / base,
            usage.peak_bytes / 1_000_000
        );
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
