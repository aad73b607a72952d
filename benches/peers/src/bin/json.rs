//! Reads NDJSON of tokens or conversation records with one JSON reader, several passes over the
//! same lines in memory.
//!
//!     json gristmill|serde_json|jiter FILE.ndjson PASSES
//!
//! Each line is read as a filter reads it: the id as text; the numbers of `tokens`, or the text of
//! `messages` as it is. Prints a line of JSON: bytes, the least CPU seconds of a pass, MB/s, and a
//! sum by which the readers are compared.

use std::error::Error;

use gristmill::json::{Error as JsonError, Reader, integer_i64};
use jiter::{Jiter, NumberInt, Peek};
use serde::Deserialize;
use serde_json::value::RawValue;

type Failure = Box<dyn Error>;

#[derive(Deserialize)]
struct Line<'a> {
    id: String,
    tokens: Option<Vec<i32>>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
}

fn with_serde(line: &str) -> Result<u64, Failure> {
    let line: Line<'_> = serde_json::from_str(line)?;
    let tokens: i64 = line.tokens.iter().flatten().map(|&token| i64::from(token)).sum();
    Ok((line.id.len() + line.messages.map_or(0, |raw| raw.get().len())) as u64 + tokens as u64)
}

fn with_jiter(line: &str) -> Result<u64, Failure> {
    let mut reader = Jiter::new(line.as_bytes());
    let mut sum = 0;
    let mut key = reader.next_object()?.map(str::to_string);
    while let Some(name) = key {
        match name.as_str() {
            "id" => sum += reader.next_str()?.len() as u64,
            "tokens" => {
                let mut next = reader.next_array()?;
                while let Some(peek) = next {
                    match reader.known_int(peek)? {
                        NumberInt::Int(token) => sum += token as u64,
                        NumberInt::BigInt(_) => return Err("too large".into()),
                    }
                    next = reader.array_step()?;
                }
            }
            "messages" => {
                let start = reader.current_index();
                let peek: Peek = reader.peek()?;
                let start = start.max(reader.current_index());
                reader.known_skip(peek)?;
                sum += (reader.current_index() - start) as u64;
            }
            _ => reader.next_skip()?,
        }
        key = reader.next_key()?.map(str::to_string);
    }
    reader.finish()?;
    Ok(sum)
}

fn with_gristmill(line: &str) -> Result<u64, Failure> {
    let mut reader = Reader::lenient(line);
    let (mut sum, mut scratch) = (0, String::new());
    reader.object(|reader, key| -> Result<(), JsonError> {
        match key.plain() {
            Some("id") => sum += reader.string()?.decode(&mut scratch)?.len() as u64,
            Some("tokens") => reader.array(|reader| -> Result<(), JsonError> {
                let add = |tokens: &[u32]| {
                    sum += tokens.iter().map(|&token| u64::from(token)).sum::<u64>();
                    true
                };
                if reader.plain_integers(add) {
                    return Ok(());
                }
                let token = integer_i64(reader.number()?);
                sum += token.ok_or_else(|| reader.error("not an integer"))? as u64;
                Ok(())
            })?,
            Some("messages") => sum += reader.raw()?.len() as u64,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    reader.end()?;
    Ok(sum)
}

fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes into the struct that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [reader, file, passes] = arguments.as_slice() else {
        return Err("usage: json gristmill|serde_json|jiter FILE.ndjson PASSES".into());
    };
    let read = match reader.as_str() {
        "gristmill" => with_gristmill,
        "serde_json" => with_serde,
        "jiter" => with_jiter,
        other => return Err(format!("no reader {other}").into()),
    };
    let text = std::fs::read_to_string(file)?;
    let mut best = f64::INFINITY;
    let mut sum = 0;
    for _ in 0..passes.parse::<usize>()? {
        let start = cpu_seconds();
        sum = text.lines().try_fold(0, |sum, line| read(line).map(|more| sum + more))?;
        best = best.min(cpu_seconds() - start);
    }
    let rate = text.len() as f64 / 1e6 / best;
    println!(
        "{{\"reader\":\"{reader}\",\"bytes\":{},\"seconds\":{best:.4},\"mb_per_second\":{rate:.0},\"sum\":{sum}}}",
        text.len()
    );
    Ok(())
}
