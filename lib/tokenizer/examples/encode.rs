//! Encodes texts a number of times, for measurements: `encode TIMES <TEXTS`. Each text ends with a zero byte.

use std::error::Error;
use std::io::{Read, Write};
use std::time::Instant;

use gristmill_tokenizer::Encoder;

fn main() -> Result<(), Box<dyn Error>> {
    let times: usize = std::env::args().nth(1).ok_or("usage: encode TIMES")?.parse()?;
    let mut texts = String::new();
    std::io::stdin().read_to_string(&mut texts)?;
    let mut encoder = Encoder::new();
    let mut tokens = Vec::new();
    let mut count = 0;
    for _ in 0..times {
        let begin = Instant::now();
        for text in texts.split_terminator('\0') {
            tokens.clear();
            encoder.encode(text, &mut tokens);
            count += tokens.len();
        }
        let speed = texts.len() as f64 / 1e6 / begin.elapsed().as_secs_f64();
        writeln!(std::io::stdout(), "tokens: {count}, {speed:.1} MB/s")?;
    }
    Ok(())
}
