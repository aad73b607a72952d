//! `cargo bench --bench encode [-- PATH...]`: ours beside tiktoken-rs, equality first. The texts
//! are the files of the paths (each directory is a group); without any, and with
//! `GRISTMILL_DATA` set, the distinct messages of its SYNTH shards and Harmony cases, else
//! generated ones. Medians of five passes, taken in turn in one run.
//!
//! `-- --pathological`: texts that some encoders need quadratic time for, at three sizes.

use std::collections::HashSet;
use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use arrow_array::{Array, StringArray};
use gristmill::tokenizer::{Encoder, decode_into};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

const PASSES: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    // cargo adds `--bench`.
    let mut arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("--pathological") => return pathological(),
        Some("--first-pass") => {
            let texts = texts_of(&arguments.pop().unwrap_or_default())?;
            println!("{}", pass(&mut Encoder::new(), &texts).as_nanos());
            return Ok(());
        }
        Some(_) => {}
        None if std::env::var_os("GRISTMILL_DATA").is_some() => {
            arguments = [SYNTH, CASES].map(String::from).to_vec();
        }
        None => arguments = vec![GENERATED.to_string()],
    }
    arguments.iter().try_for_each(|group| measure(group))
}

const SYNTH: &str = "SYNTH messages";
const CASES: &str = "Harmony cases";
const GENERATED: &str = "generated texts";

fn texts_of(group: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let data = || std::env::var_os("GRISTMILL_DATA").map(PathBuf::from).unwrap_or_default();
    match group {
        SYNTH => synth_texts(&data().join("synth_harmony")),
        CASES => case_texts(&data().join("harmony/cases.jsonl")),
        GENERATED => Ok(generated_texts()),
        path => {
            let mut texts = Vec::new();
            file_texts(Path::new(path), &mut texts)?;
            Ok(texts)
        }
    }
}

/// Files that are not UTF-8 are left out.
fn file_texts(path: &Path, texts: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    if path.is_dir() {
        let mut entries: Vec<_> = fs::read_dir(path)?.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        return entries.iter().try_for_each(|entry| file_texts(entry, texts));
    }
    texts.extend(String::from_utf8(fs::read(path)?));
    Ok(())
}

fn measure(group: &str) -> Result<(), Box<dyn Error>> {
    let texts = &texts_of(group)?[..];
    let bytes: usize = texts.iter().map(String::len).sum();
    let oracle = tiktoken_rs::o200k_base_singleton();
    let mut tokens = 0;
    let mut encoders = [Encoder::new(), Encoder::portable()];
    for text in texts {
        let theirs: Vec<i32> = oracle.encode_ordinary(text).iter().map(|&id| id as i32).collect();
        for encoder in &mut encoders {
            let mut ours = Vec::new();
            encoder.encode(text, &mut ours);
            if ours != theirs {
                return Err(format!("not what tiktoken-rs makes of {text:?}").into());
            }
        }
        tokens += theirs.len();
    }
    println!("{group}: {} texts, {bytes} bytes, {tokens} tokens, equal", texts.len());

    let [mut first, mut cold, mut warm] = [const { Vec::new() }; 3];
    let [mut portable_cold, mut portable_warm, mut theirs] = [const { Vec::new() }; 3];
    for _ in 0..PASSES {
        first.push(first_pass(group)?);
        let mut encoder = Encoder::new();
        cold.push(pass(&mut encoder, texts));
        warm.push(pass(&mut encoder, texts));
        let mut encoder = Encoder::portable();
        portable_cold.push(pass(&mut encoder, texts));
        portable_warm.push(pass(&mut encoder, texts));
        let start = Instant::now();
        for text in texts {
            std::hint::black_box(oracle.encode_ordinary(text));
        }
        theirs.push(start.elapsed());
    }
    let theirs = median(theirs);
    let line = |name: &str, time: Duration| {
        let speed = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
        println!("  {name:<22}{:>8.1} MB/s {:>8.2} x", speed(time), speed(time) / speed(theirs));
    };
    line("tiktoken-rs", theirs);
    line("first of a process", median(first));
    line("cold (new encoder)", median(cold));
    line("warm", median(warm));
    line("cold, portable", median(portable_cold));
    line("warm, portable", median(portable_warm));
    Ok(())
}

/// What a process pays that encodes these texts before anything has touched the tables.
fn first_pass(group: &str) -> Result<Duration, Box<dyn Error>> {
    let output =
        Command::new(std::env::current_exe()?).args(["--first-pass", group]).output()?.stdout;
    Ok(Duration::from_nanos(String::from_utf8(output)?.trim().parse()?))
}

fn pass(encoder: &mut Encoder, texts: &[String]) -> Duration {
    let mut out = Vec::new();
    let start = Instant::now();
    for text in texts {
        out.clear();
        encoder.encode(text, &mut out);
        std::hint::black_box(&out);
    }
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Every text is one string; an encoder that is linear needs the same time for each byte at
/// every size.
fn pathological() -> Result<(), Box<dyn Error>> {
    const SIZES: [usize; 3] = [1 << 16, 1 << 20, 1 << 23];
    /// tiktoken-rs is quadratic for some of these.
    const COMPARED: usize = 20_000;
    let digits = |alphabet: &'static str| {
        move |random: &mut Random| char::from(alphabet.as_bytes()[random.below(alphabet.len())])
    };
    let base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letters = &base64[26..52];
    let between = |first: u32, last: u32| {
        move |random: &mut Random| {
            char::from_u32(first + random.below((last - first) as usize) as u32).unwrap_or('?')
        }
    };
    let turns = |unit: &'static str| {
        let mut characters = unit.chars().cycle();
        move |_: &mut Random| characters.next().unwrap_or_default()
    };
    let mut place = 0;
    let words = move |random: &mut Random| {
        place += 1;
        if place % 100_000 == 0 { ' ' } else { letters.as_bytes()[random.below(26)].into() }
    };
    type Kind<'a> = (&'a str, Box<dyn FnMut(&mut Random) -> char>);
    let kinds: [Kind; 24] = [
        ("one letter", Box::new(turns("a"))),
        ("one capital", Box::new(turns("A"))),
        ("spaces", Box::new(turns(" "))),
        ("newlines", Box::new(turns("\n"))),
        ("blank lines with spaces", Box::new(turns(" \n  "))),
        ("one digit", Box::new(turns("7"))),
        ("equals signs", Box::new(turns("="))),
        ("slashes and newlines", Box::new(turns("./\n"))),
        ("apostrophes", Box::new(turns("'s"))),
        ("Aa", Box::new(turns("Aa"))),
        ("aA in turns of three", Box::new(turns("aaaAAA"))),
        ("combining marks", Box::new(turns("\u{301}"))),
        ("one ideograph", Box::new(turns("日"))),
        ("emoji joined", Box::new(turns("👩\u{200d}👩\u{200d}👧\u{200d}👦"))),
        ("random digits", Box::new(digits("0123456789"))),
        ("hex", Box::new(digits("0123456789abcdef"))),
        ("DNA", Box::new(digits("ACGT"))),
        ("base64", Box::new(digits(base64))),
        ("punctuation", Box::new(digits("=-_.*#!?<>{}()[]"))),
        ("random letters", Box::new(digits(letters))),
        ("words of 100 kB", Box::new(words)),
        ("CJK without spaces", Box::new(between(0x4e00, 0x9f00))),
        ("random code points", Box::new(between(0, 0x11_0000))),
        // About what is left of random bytes when they are made valid.
        (
            "bytes made valid",
            Box::new(|random| match random.below(256) {
                byte @ 0..0x80 => char::from(byte as u8),
                byte @ 0xc2..0xc8 => char::from_u32(byte as u32).unwrap_or_default(),
                _ => '\u{fffd}',
            }),
        ),
    ];
    println!("ns per byte, best of three; {SIZES:?} bytes");
    let mut encoder = Encoder::new();
    for (name, mut next) in kinds {
        let mut random = Random(1);
        let mut text = String::new();
        while text.len() < SIZES[2] {
            text.push(next(&mut random));
        }
        let up_to = |mut size: usize| {
            while !text.is_char_boundary(size) {
                size -= 1;
            }
            &text[..size]
        };
        let mut tokens = Vec::new();
        encoder.encode(up_to(COMPARED), &mut tokens);
        let theirs = tiktoken_rs::o200k_base_singleton().encode_ordinary(up_to(COMPARED));
        if !theirs.iter().map(|&id| id as i32).eq(tokens.iter().copied()) {
            return Err(format!("{name}: not what tiktoken-rs makes of it").into());
        }
        let mut line = format!("  {name:<26}");
        for size in SIZES {
            let text = up_to(size);
            let mut best = f64::MAX;
            for _ in 0..3 {
                let mut encoder = Encoder::new();
                tokens.clear();
                let start = Instant::now();
                encoder.encode(text, &mut tokens);
                best = best.min(start.elapsed().as_secs_f64());
            }
            let mut decoded = Vec::new();
            decode_into(&tokens, &mut decoded)?;
            if decoded != text.as_bytes() {
                return Err(format!("{name}: decoding gives another text").into());
            }
            line += &format!("{:>10.2}", best * 1e9 / text.len() as f64);
        }
        println!("{line}");
    }
    Ok(())
}

/// A linear congruential generator: the same texts in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }
}

fn case_texts(file: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let (mut seen, mut texts) = (HashSet::new(), Vec::new());
    for line in fs::read_to_string(file)?.lines() {
        // Some cases are bad on purpose (a lone surrogate): they have no text.
        if let Ok(case) = serde_json::from_str::<Value>(line) {
            collect(&case["messages"], &mut seen, &mut texts);
        }
    }
    Ok(texts)
}

fn synth_texts(directory: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut shards: Vec<_> = fs::read_dir(directory)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "parquet"))
        .collect();
    shards.sort();
    let (mut seen, mut texts) = (HashSet::new(), Vec::new());
    for shard in shards {
        for batch in ParquetRecordBatchReaderBuilder::try_new(File::open(shard)?)?.build()? {
            let batch = batch?;
            let column = batch
                .column_by_name("messages_json")
                .and_then(|column| column.as_any().downcast_ref::<StringArray>())
                .ok_or("a shard without messages_json")?;
            for row in column.iter().flatten() {
                collect(&serde_json::from_str(row)?, &mut seen, &mut texts);
            }
        }
    }
    Ok(texts)
}

/// Every distinct string that is a message's text.
fn collect(value: &Value, seen: &mut HashSet<String>, texts: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, seen, texts)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text)
                        if ["text", "content", "instructions"].contains(&name.as_str()) =>
                    {
                        if seen.insert(text.clone()) {
                            texts.push(text.clone());
                        }
                    }
                    _ => collect(field, seen, texts),
                }
            }
        }
        _ => {}
    }
}

/// Sentences of made-up words, the frequent ones short, with the punctuation of prose.
fn generated_texts() -> Vec<String> {
    const SYLLABLES: [&str; 16] = [
        "ta", "re", "in", "the", "of", "con", "er", "al", "mis", "tion", "ed", "pre", "ing", "so",
        "é", "lum",
    ];
    let mut random = Random(1);
    (0..1000)
        .map(|_| {
            let mut text = String::new();
            for _ in 0..600 {
                for _ in 0..1 + random.below(3) {
                    text.push_str(SYLLABLES[random.below(SYLLABLES.len())]);
                }
                text.push_str(
                    [" ", " ", " ", " ", ", ", ". ", "\n\n", " 42 ", "'s "][random.below(9)],
                );
            }
            text
        })
        .collect()
}
