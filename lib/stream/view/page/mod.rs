//! One self-contained HTML page of a dataset: the numbers of ds-stat, with plots; the findings of
//! ds-check, if asked for; the origin of the dataset; and a sample of its records to step through. The
//! page loads nothing, and needs at most [`MOST_BYTES`] whatever the dataset's size.
//!
//! | file | what |
//! |---|---|
//! | `numbers.rs`, `plots.rs` | numbers as tables and SVG |
//! | `report.rs` | findings and provenance |
//! | `sample.rs` | the records as JSON for the script |
//! | `room.rs` | what is cut so that all fits |
//! | `escape.rs` | text of the data, which is never markup |
//! | `page.css`, `draw.js`, `page.js` | the style, and the script in two parts |

mod escape;
mod numbers;
pub mod plots;
mod report;
mod room;
mod sample;

use std::fmt::{Debug, Write as _};

use arrow_array::RecordBatch;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

pub use escape::visible;
pub use report::without_folders;
pub use room::limit;
pub(super) use sample::fields as fields_parts;
pub use sample::{Parts, SampleRecord, beginning, short};

use self::escape::{cut, escaped, script_json};
use crate::batch::Header;
use crate::check::Outcome;
use crate::error::Result;
use crate::record::plural_of;
use crate::stat::Answer;
use crate::wording::{counted, grouped, size};

/// The most bytes of a page.
pub const MOST_BYTES: usize = 2_000_000;
/// Bytes that are kept free.
const SPARE: usize = 10_000;
/// The bytes that the sample has at least, even if the numbers need much.
const SAMPLE_BYTES: usize = 500_000;
/// The most bytes of each other part.
const PART_BYTES: usize = 400_000;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(include_str!("draw.js"), "\n", include_str!("page.js"));

/// All that was read for a page.
#[derive(Debug)]
pub struct PageData {
    pub answer: Answer,
    pub by: Option<String>,
    pub extra: Option<Box<dyn ExtraPlots>>,
    pub header: Header,
    pub sample: Vec<SampleRecord>,
    /// How the sample was chosen, in words.
    pub how: String,
    /// Paths and contents of manifests.
    pub manifests: Vec<(String, Value)>,
}

/// Plots on the page of numbers that ds-stat does not have. A kind of records makes them.
pub trait ExtraPlots: Debug + Send {
    /// Adds the records of a batch; batches come in order.
    fn add(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes the plots of all that was added.
    fn write(&mut self, out: &mut String);
}

/// Writes the page.
pub fn write(data: &mut PageData, findings: Option<&[Outcome]>) -> String {
    let mut numbers = String::new();
    numbers::cards(&mut numbers, &data.answer.sections(data.by.as_deref()));
    if let Some(extra) = &mut data.extra {
        extra.write(&mut numbers);
    }
    let mut facts = String::new();
    if let Some(findings) = findings {
        report::findings(&mut facts, findings, PART_BYTES);
    }
    report::provenance(&mut facts, data, PART_BYTES);
    let head = head(data, findings);
    let fixed = head.len() + numbers.len() + facts.len() + STYLE.len() + SCRIPT.len() + SPARE;
    let room = MOST_BYTES.saturating_sub(fixed).max(SAMPLE_BYTES);
    let records = sample::to_json(&data.sample, room);
    let mut out = head;
    sample_part(&mut out, data, records.len());
    let _ = write!(
        out,
        "<section id=\"numbers\" aria-labelledby=\"numbers-head\">\
         <h2 id=\"numbers-head\">Numbers</h2><div class=\"cards\">{numbers}</div></section>\n{facts}\
         </main>\n<script type=\"application/json\" id=\"data\">{}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        script_json(&Value::Array(records))
    );
    out
}

/// Returns the hash by which the page's content policy allows an element.
fn hash(content: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content)))
}

/// Writes everything before the sample. The page may run its own script and style and load nothing
/// at all.
fn head(data: &PageData, findings: Option<&[Outcome]>) -> String {
    let (inputs, kind) = data.answer.title();
    let (style, script) = (hash(STYLE), hash(SCRIPT));
    let inputs = cut(&inputs, 200);
    let what = plural_of(kind);
    let size_on_disk = data.answer.size_on_disk.map(|bytes| size(bytes as f64));
    let size_on_disk = size_on_disk.map_or(String::new(), |size| format!(" · {size}"));
    let link = if findings.is_some() { "<a href=\"#findings\">Findings</a>" } else { "" };
    let (verdict, headline) = (report::verdict(&data.answer, findings), headline(data));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src {style}; script-src {script}; img-src data:; base-uri 'none'; \
         form-action 'none'\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{inputs} · {what}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>{inputs}</h1><p class=\"soft\">{what}{size_on_disk}</p>{verdict}{headline}\
         <nav aria-label=\"Parts of the page\"><a href=\"#sample\">Sample</a>\
         <a href=\"#numbers\">Numbers</a>{link}<a href=\"#provenance\">Provenance</a></nav>\
         </header>\n<main>\n"
    )
}

/// Writes the three most important numbers.
fn headline(data: &PageData) -> String {
    let numbers = data.answer.headline();
    let number =
        |(name, value): &(&str, String)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>");
    format!("<dl class=\"headline\">{}</dl>", numbers.iter().map(number).collect::<String>())
}

fn sample_part(out: &mut String, data: &PageData, shown: usize) {
    out.push_str(
        "<section id=\"sample\" aria-labelledby=\"sample-head\"><h2 id=\"sample-head\">Sample</h2>",
    );
    let left = data.sample.len() - shown;
    let mut sentence = match shown as u64 == data.answer.all.records {
        true => "All records.".to_string(),
        false => {
            let (shown, all) = (grouped(shown as u64), grouped(data.answer.all.records));
            format!("{shown} of {all} records: {}.", data.how)
        }
    };
    if left > 0 {
        sentence += &format!(" {} more do not fit the page.", grouped(left as u64));
    }
    let _ = write!(out, "<p class=\"soft\">{}</p>", escaped(&sentence));
    if shown > 0 {
        let records = counted(shown, "record");
        let these = if shown == 1 { "this record".to_string() } else { format!("these {records}") };
        let _ = write!(
            out,
            "<noscript><p>Stepping through the sample needs JavaScript; nothing is loaded from \
             elsewhere.</p></noscript><div class=\"tools\">\
             <button type=\"button\" id=\"previous\">← Previous</button>\
             <button type=\"button\" id=\"next\">Next →</button>\
             <select id=\"which\" aria-label=\"Record\"></select>\
             <input type=\"search\" id=\"search\" placeholder=\"Search {these}\" \
             aria-label=\"Search the {records} of this page\"></div>\
             <p id=\"status\" role=\"status\"></p><div id=\"record\" data-all=\"{}\"></div>\
             <details><summary>Keys</summary><p>← and → step, Home and End go to the first and the \
             last record, / searches, Enter goes to the next record found; t shows the borders of \
             tokens; , and . step through a game, p plays it.</p></details>",
            grouped(data.answer.all.records)
        );
    }
    out.push_str("</section>\n");
}
