//! `cargo bench --bench encode`: ours beside tiktoken-rs, equality first. With
//! `GRISTMILL_DATA` set the texts are the distinct messages of its Harmony cases and SYNTH
//! shards, else generated ones. Medians of five passes, taken in turn in one run.

use std::collections::HashSet;
use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use arrow_array::{Array, StringArray};
use gristmill::tokenizer::Encoder;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

const PASSES: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::var_os("GRISTMILL_DATA") {
        Some(directory) => {
            let directory = Path::new(&directory);
            measure("SYNTH messages", &synth_texts(&directory.join("synth_harmony"))?)?;
            measure("Harmony cases", &case_texts(&directory.join("harmony/cases.jsonl"))?)
        }
        None => measure("generated texts", &generated_texts()),
    }
}

fn measure(name: &str, texts: &[String]) -> Result<(), Box<dyn Error>> {
    let bytes: usize = texts.iter().map(String::len).sum();
    // The first group of a process is encoded before anything has touched the tables: what a
    // short-lived process pays.
    let start = Instant::now();
    let mut encoder = Encoder::new();
    let made = start.elapsed();
    let first = pass(&mut encoder, texts);

    let oracle = tiktoken_rs::o200k_base_singleton();
    let mut tokens = 0;
    let mut new = Encoder::new();
    for text in texts {
        let theirs: Vec<i32> = oracle.encode_ordinary(text).iter().map(|&id| id as i32).collect();
        for encoder in [&mut new, &mut encoder] {
            let mut ours = Vec::new();
            encoder.encode(text, &mut ours);
            if ours != theirs {
                return Err(format!("not what tiktoken-rs makes of {text:?}").into());
            }
        }
        tokens += theirs.len();
    }
    println!("{name}: {} texts, {bytes} bytes, {tokens} tokens, equal", texts.len());

    let mut cold = Vec::new();
    let mut warm = Vec::new();
    let mut theirs = Vec::new();
    for _ in 0..PASSES {
        let mut encoder = Encoder::new();
        cold.push(pass(&mut encoder, texts));
        warm.push(pass(&mut encoder, texts));
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
    println!("  Encoder::new() {made:?}");
    line("tiktoken-rs", theirs);
    line("first pass", first);
    line("cold (new encoder)", median(cold));
    line("warm", median(warm));
    Ok(())
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
    let mut state = 1u64;
    let mut below = |end: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % end
    };
    (0..1000)
        .map(|_| {
            let mut text = String::new();
            for _ in 0..600 {
                for _ in 0..1 + below(3) {
                    text.push_str(SYLLABLES[below(SYLLABLES.len())]);
                }
                text.push_str([" ", " ", " ", " ", ", ", ". ", "\n\n", " 42 ", "'s "][below(9)]);
            }
            text
        })
        .collect()
}
