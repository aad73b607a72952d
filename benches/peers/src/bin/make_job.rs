//! Raw SYNTH rows at the size of the real job: files of Parquet, all rows distinct.
//!
//!     make_job SAMPLE.parquet TEXTS.ndjson DIR FILES ROWS
//!
//! FILES files of ROWS rows each, `synth_001.parquet` and on. A row has the columns of a row of the sample,
//! an id of its own, and each of its texts drawn anew: as many sentences as the text there, in runs of three
//! from the texts of the same column in all rows, one run in four from TEXTS (a JSON string a line), so that
//! words go on being new. Row groups of 2,000, zstd. The same arguments make the same bytes.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Columns whose texts are drawn anew.
const DRAWN: [&str; 4] = ["query", "query_seed_text", "synthetic_reasoning", "synthetic_answer"];
/// Consecutive sentences that stay together.
const RUN: usize = 3;
const GROUP: usize = 2000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [sample, texts, directory, files, rows] = &arguments[..] else {
        return Err("make_job SAMPLE.parquet TEXTS.ndjson DIR FILES ROWS".into());
    };
    let (files, rows): (usize, usize) = (files.parse()?, rows.parse()?);
    let job = Job::read(sample.as_ref(), texts.as_ref())?;
    std::fs::create_dir_all(directory)?;
    let next = AtomicUsize::new(1);
    let work = || -> Result<()> {
        loop {
            let file = next.fetch_add(1, Ordering::Relaxed);
            if file > files {
                return Ok(());
            }
            job.write(&Path::new(directory).join(format!("synth_{file:03}.parquet")), file, rows)?;
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a panic")?)
    })
}

/// What rows are drawn from.
struct Job {
    sample: RecordBatch,
    /// Of each drawn column the runs of all its texts.
    runs: Vec<Vec<String>>,
    /// Of each drawn column the number of sentences in each row.
    counts: Vec<Vec<usize>>,
    others: Vec<String>,
}

impl Job {
    fn read(sample: &Path, texts: &Path) -> Result<Job> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(sample)?)?
            .with_batch_size(usize::MAX >> 1)
            .build()?
            .next();
        let sample = reader.ok_or("the sample has no rows")??;
        let (mut runs, mut counts) = (Vec::new(), Vec::new());
        for name in DRAWN {
            let pieces: Vec<Vec<&str>> =
                strings(&sample, name)?.iter().map(|text| pieces(text.unwrap_or(""))).collect();
            counts.push(pieces.iter().map(Vec::len).collect());
            runs.push(
                pieces.iter().flat_map(|pieces| pieces.chunks(RUN)).map(<[_]>::concat).collect(),
            );
        }
        let mut others = Vec::new();
        for line in BufReader::new(File::open(texts)?).lines() {
            let text: String = serde_json::from_str(&line?)?;
            others.extend(pieces(&text).chunks(RUN).map(<[_]>::concat));
        }
        Ok(Job { sample, runs, counts, others })
    }

    fn write(&self, path: &Path, file: usize, rows: usize) -> Result<()> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_max_row_group_row_count(Some(GROUP))
            .build();
        let schema = self.sample.schema();
        let mut writer = ArrowWriter::try_new(File::create(path)?, schema, Some(properties))?;
        let mut chance = Chance((file as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut first = 0;
        while first < rows {
            let group = GROUP.min(rows - first);
            let numbers = (first..first + group).map(|row| format!("{file}_{row}"));
            writer.write(&self.group(&numbers.collect::<Vec<_>>(), &mut chance)?)?;
            first += group;
        }
        writer.close()?;
        Ok(())
    }

    /// Rows with these numbers at the end of their ids.
    fn group(&self, numbers: &[String], chance: &mut Chance) -> Result<RecordBatch> {
        let rows: Vec<usize> =
            numbers.iter().map(|_| chance.below(self.sample.num_rows())).collect();
        let schema = self.sample.schema();
        let columns = schema.fields().iter().map(|field| -> Result<ArrayRef> {
            let name = field.name();
            if name == "words" {
                let words = self.sample.column_by_name(name).ok_or("no words")?;
                let words =
                    words.as_any().downcast_ref::<Int64Array>().ok_or("words are no int64")?;
                return Ok(Arc::new(
                    rows.iter().map(|&row| words.value(row)).collect::<Int64Array>(),
                ));
            }
            let texts = strings(&self.sample, name)?;
            let drawn = DRAWN.iter().position(|drawn| drawn == name);
            let made = rows.iter().zip(numbers).map(|(&row, number)| match drawn {
                Some(column) => self.text(column, self.counts[column][row], chance),
                None if name == "synth_id" => format!("{}_{number}", texts.value(row)),
                None => texts.value(row).to_string(),
            });
            Ok(Arc::new(made.map(Some).collect::<StringArray>()))
        });
        Ok(RecordBatch::try_new(schema.clone(), columns.collect::<Result<_>>()?)?)
    }

    /// A text of so many sentences.
    fn text(&self, column: usize, sentences: usize, chance: &mut Chance) -> String {
        let mut text = String::new();
        for _ in 0..sentences.div_ceil(RUN) {
            let runs = if chance.below(4) == 0 { &self.others } else { &self.runs[column] };
            text += &runs[chance.below(runs.len())];
        }
        text
    }
}

fn strings<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a StringArray> {
    let column = batch.column_by_name(name).ok_or_else(|| format!("no column {name}"))?;
    Ok(column.as_any().downcast_ref().ok_or_else(|| format!("{name} is no column of strings"))?)
}

/// A text cut after sentences and lines.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut may_end) = (0, false);
    let mut blank_before = false;
    for (at, letter) in text.char_indices() {
        if may_end && blank_before && !letter.is_whitespace() {
            pieces.push(&text[start..at]);
            (start, may_end) = (at, false);
        }
        blank_before = letter.is_whitespace();
        may_end = matches!(letter, '.' | '!' | '?' | '\n') || may_end && blank_before;
    }
    pieces.push(&text[start..]);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Numbers as splitmix64 makes them (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * end as u128) >> 64) as usize
    }
}
