//! Encodes texts with one encoder in a process of its own, several passes over the same texts.
//!
//!     encode ENCODER TEXTS.ndjson PASSES [DIGESTS]
//!     encode vocabulary > o200k_base.tiktoken
//!
//! ENCODER is gristmill, gristmill-portable (without the instructions that only some processors
//! have), tiktoken-rs, bpe-openai, tiktoken or fastokens. Prints a line of JSON: seconds to load
//! the vocabulary, CPU seconds of each pass (in the first one all caches are empty), those of the
//! last fifth of the first pass and its bytes, peak memory over that of the texts, bytes, tokens,
//! and a hash of all tokens and text ends, by which encoders are compared. DIGESTS, a file, gets
//! eight bytes for each text: the beginning of the SHA-256 of its tokens as 32-bit integers.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::hint::black_box;
use std::io::{BufWriter, Write as _};
use std::time::Instant;

use base64::{Engine, engine::general_purpose::STANDARD};
use fastokens::{TiktokenConfig, Tokenizer};
use gristmill::tokenizer::{Encoder, token_bytes};
use sha2::{Digest, Sha256};

/// Appends the tokens of a text.
type Encode = Box<dyn FnMut(&str, &mut Vec<u32>)>;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["vocabulary"] {
        print!("{}", vocabulary()?);
        return Ok(());
    }
    let ([name, file, passes], digests) = match &arguments[..] {
        [name, file, passes] => ([name, file, passes], None),
        [name, file, passes, digests] => ([name, file, passes], Some(digests)),
        _ => return Err("encode ENCODER TEXTS.ndjson PASSES [DIGESTS]".into()),
    };
    let texts: Vec<String> =
        fs::read_to_string(file)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let bytes: usize = texts.iter().map(String::len).sum();

    // The input of an encoder's vocabulary is made before its clock starts.
    let vocabulary = if name == "fastokens" { vocabulary()? } else { String::new() };
    let before = memory("VmRSS:")?;
    // From here on the peak is counted anew: reading the texts took more than they do.
    fs::write("/proc/self/clear_refs", "5")?;
    let start = Instant::now();
    let mut encode = encoder(name, vocabulary)?;
    encode("a", &mut Vec::new());
    let load = start.elapsed().as_secs_f64();

    let rest = texts.len() - texts.len() / 5;
    let steady_bytes: usize = texts[rest..].iter().map(String::len).sum();
    let (mut seconds, mut steady) = (Vec::new(), 0.0);
    let mut tokens = Vec::new();
    for pass in 0..passes.parse()? {
        let start = cpu_seconds();
        for (at, text) in texts.iter().enumerate() {
            if pass == 0 && at == rest {
                steady = cpu_seconds();
            }
            tokens.clear();
            encode(text, &mut tokens);
            black_box(&tokens);
        }
        let end = cpu_seconds();
        seconds.push(end - start);
        if pass == 0 {
            steady = end - steady;
        }
    }
    let memory = memory("VmHWM:")?.saturating_sub(before);

    let mut digests = digests.map(File::create).transpose()?.map(BufWriter::new);
    let (mut count, mut hash) = (0, DefaultHasher::new());
    for text in &texts {
        tokens.clear();
        encode(text, &mut tokens);
        count += tokens.len();
        tokens.iter().for_each(|&token| hash.write_u32(token));
        hash.write_u8(0);
        if let Some(file) = &mut digests {
            let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
            file.write_all(&Sha256::digest(bytes)[..8])?;
        }
    }
    digests.map(|mut file| file.flush()).transpose()?;
    println!(
        "{{\"load\": {load}, \"passes\": {seconds:?}, \"steady\": {steady}, \
         \"steady_bytes\": {steady_bytes}, \"memory\": {memory}, \"bytes\": {bytes}, \
         \"tokens\": {count}, \"hash\": \"{:016x}\"}}",
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

/// Bytes of memory that this process has, by a line of its status.
fn memory(line: &str) -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let value = status.lines().find_map(|found| found.strip_prefix(line)).ok_or("no such line")?;
    let kilobytes: u64 = value.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}

/// CPU seconds that this process has used.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec, and the clock exists on every system we build for.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
