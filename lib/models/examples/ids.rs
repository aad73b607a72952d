//! The ids of texts, for comparison with other programs and for measurements:
//!
//!     ids MODEL fastest|reference tokens|text <TEXTS >IDS
//!
//! Each text in `TEXTS` ends with a zero byte. For each text `IDS` has the number of ids, the ids, and the end of
//! each id in the text, all in four bytes, little-endian. The processor time of opening the model goes to stderr;
//! if `AGAIN` is set, also the time of each of four passes.

use std::error::Error;
use std::io::{Read, Write};

use gristmill_models::{EngineChoice, Folder, Special};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, engine, special] = &arguments[..] else {
        return Err("usage: ids MODEL fastest|reference tokens|text".into());
    };
    let choice = match &**engine {
        "fastest" => EngineChoice::Fastest,
        _ => EngineChoice::Reference,
    };
    let special = if special == "text" { Special::Text } else { Special::Tokens };
    let begin = processor_time();
    let folder = Folder::open_with(model.as_ref(), choice)?;
    let tokenizer = folder.tokenizer();
    let mut encoder = tokenizer.encoder();
    let ready = processor_time() - begin;
    let mut texts = Vec::new();
    std::io::stdin().read_to_end(&mut texts)?;
    let texts = String::from_utf8(texts)?;
    let mut ids = Vec::new();
    let mut times = Vec::new();
    for _ in 0..if std::env::var_os("AGAIN").is_some() { 4 } else { 1 } {
        let begin = processor_time();
        for text in texts.split_terminator('\0') {
            ids.clear();
            encoder.encode(text, special, &mut ids)?;
        }
        times.push(texts.len() as f64 / 1e6 / (processor_time() - begin));
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let (mut ids, mut ends, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for text in texts.split_terminator('\0').filter(|_| std::env::var_os("AGAIN").is_none()) {
        ids.clear();
        again.clear();
        ends.clear();
        encoder.encode_with_ends(text, special, &mut ids, &mut ends)?;
        encoder.encode(text, special, &mut again)?;
        if ids != again || ids.len() != ends.len() {
            return Err(format!("other ids with ends: {text:?}").into());
        }
        out.write_all(&(ids.len() as u32).to_le_bytes())?;
        ids.iter().try_for_each(|id| out.write_all(&id.to_le_bytes()))?;
        ends.iter().try_for_each(|&end| out.write_all(&(end as u32).to_le_bytes()))?;
    }
    out.flush()?;
    let mut error = std::io::stderr().lock();
    let (kind, note) = (tokenizer.engine(), tokenizer.engine_note());
    writeln!(error, "{kind:?} ({note}): open {ready:.3} s, MB/s {times:.1?}")?;
    Ok(())
}

/// Seconds that the processor has worked for this thread.
fn processor_time() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = times.split(' ').next().and_then(|time| time.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e9
}
