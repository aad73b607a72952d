//! Encodes texts with one encoder in a process of its own, several passes over the same texts.
//!
//!     encode ENCODER TEXTS.ndjson PASSES
//!     encode vocabulary > o200k_base.tiktoken
//!
//! ENCODER is gristmill, gristmill-portable (without the instructions that only some processors
//! have), tiktoken-rs, bpe-openai, tiktoken or fastokens. Prints a line of JSON: seconds to load
//! the vocabulary, CPU seconds of each pass (in the first one all caches are empty), bytes, tokens,
//! and a hash of all tokens and text ends, by which encoders are compared.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::hint::black_box;
use std::time::Instant;

use base64::{Engine, engine::general_purpose::STANDARD};
use fastokens::{TiktokenConfig, Tokenizer};
use gristmill::tokenizer::{Encoder, token_bytes};

/// Appends the tokens of a text.
type Encode = Box<dyn FnMut(&str, &mut Vec<u32>)>;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["vocabulary"] {
        print!("{}", vocabulary()?);
        return Ok(());
    }
    let [name, file, passes] = &arguments[..] else {
        return Err("encode ENCODER TEXTS.ndjson PASSES".into());
    };
    let texts: Vec<String> =
        fs::read_to_string(file)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let bytes: usize = texts.iter().map(String::len).sum();

    // The input of an encoder's vocabulary is made before its clock starts.
    let vocabulary = if name == "fastokens" { vocabulary()? } else { String::new() };
    let start = Instant::now();
    let mut encode = encoder(name, vocabulary)?;
    encode("a", &mut Vec::new());
    let load = start.elapsed().as_secs_f64();

    let mut seconds = Vec::new();
    let mut tokens = Vec::new();
    for _ in 0..passes.parse()? {
        let start = cpu_seconds();
        for text in &texts {
            tokens.clear();
            encode(text, &mut tokens);
            black_box(&tokens);
        }
        seconds.push(cpu_seconds() - start);
    }

    let (mut count, mut hash) = (0, DefaultHasher::new());
    for text in &texts {
        tokens.clear();
        encode(text, &mut tokens);
        count += tokens.len();
        tokens.iter().for_each(|&token| hash.write_u32(token));
        hash.write_u8(0);
    }
    println!(
        "{{\"load\": {load}, \"passes\": {seconds:?}, \"bytes\": {bytes}, \"tokens\": {count}, \
         \"hash\": \"{:016x}\"}}",
        hash.finish()
    );
    Ok(())
}

fn encoder(name: &str, vocabulary: String) -> Result<Encode, Box<dyn Error>> {
    Ok(match name {
        "gristmill" | "gristmill-portable" => {
            let is_portable = name != "gristmill";
            let mut encoder = if is_portable { Encoder::portable() } else { Encoder::new() };
            let mut ids = Vec::new();
            Box::new(move |text, out| {
                ids.clear();
                encoder.encode(text, &mut ids);
                out.extend(ids.iter().map(|&id| id as u32));
            })
        }
        "tiktoken-rs" => {
            let encoder = tiktoken_rs::o200k_base()?;
            Box::new(move |text, out| out.extend(encoder.encode_ordinary(text)))
        }
        "bpe-openai" => {
            let encoder = bpe_openai::o200k_base();
            Box::new(move |text, out| out.extend(encoder.encode(text)))
        }
        "tiktoken" => {
            let encoder = tiktoken::get_encoding("o200k_base").ok_or("no o200k_base")?;
            Box::new(move |text, out| out.extend(encoder.encode(text)))
        }
        "fastokens" => {
            let config = TiktokenConfig { special_tokens: vec![], ..TiktokenConfig::o200k_base() };
            let encoder = Tokenizer::from_tiktoken_str(&vocabulary, config)?;
            Box::new(move |text, out| {
                // An encoder that fails has no tokens, which the hash shows.
                out.extend(encoder.encode_ordinary(text).unwrap_or_default());
            })
        }
        _ => return Err(format!("{name}: no such encoder").into()),
    })
}

/// The vocabulary in the official file's form: base64 of each token and its rank.
fn vocabulary() -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    for rank in 0..199_998 {
        let bytes = token_bytes(rank).ok_or("a rank without bytes")?;
        writeln!(text, "{} {rank}", STANDARD.encode(bytes))?;
    }
    Ok(text)
}

/// CPU seconds that this process has used.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec, and the clock exists on every system we build for.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
