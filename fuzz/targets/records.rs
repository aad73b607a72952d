//! Streams and files of records, through what a filter does with them.

use std::io::{self, Read};
use std::path::PathBuf;

use gristmill::batch::{Batch, Counts, WantedRecords};
use gristmill::cli::{Encoding, InputArgs, RejectedContent, Slice};
use gristmill::error::{Error, Result};
use gristmill::game2048::Game;
use gristmill::harmony::{Alignment, Policy, Renderer};
use gristmill::puzzle::grids;
use gristmill::record::game::Games;
use gristmill::record::raw_synth::METADATA_FIELDS;
use gristmill::record::{CONVERSATION, GAME, PUZZLE, RAW_SYNTH, RECORD_TYPES, RecordType, TOKENS};
use gristmill::stage::{
    MaskRules, ReasoningEffort, Reference, SynthHarmony, SynthSettings, decode, render,
};
use gristmill::stream::{Reader, Request, Writer, open_bytes};

use super::place::Place;
use super::{datasets, input, one_line};

/// More records than a small input has, unless each takes no bytes.
const MOST_RECORDS: u64 = 10_000;

/// What a filter does to a batch.
type Stage<'a> = &'a mut dyn FnMut(Batch) -> Result<Batch>;

pub fn tokens(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let path = place.file("in", bytes);
    let alignment = if bytes.len().is_multiple_of(2) { Alignment::Label } else { Alignment::Token };
    let masking = MaskRules::new(&[], alignment);
    records(&path, &TOKENS, &mut |batch| masking.mask(batch))?;
    records(&path, &TOKENS, &mut |batch| decode(batch, alignment, (None, false)))
}

pub fn conversations(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let mut renderer = Renderer::new(Policy::Chat);
    let path = place.file("in", bytes);
    records(&path, &CONVERSATION, &mut |batch| render(&mut renderer, batch))
}

pub fn games(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let mut game = Game::default();
    let mut seen = Vec::new();
    let read = records(&place.file("in", bytes), &GAME, &mut |batch| {
        let games = Games::of(&batch.records)?;
        for row in 0..games.len() {
            if let Err(reason) = games.read(row, &mut game) {
                one_line(&Error::data(reason).to_string());
            }
        }
        seen.push(batch.records.clone());
        Ok(batch)
    });
    // With white space, which only the general reader of steps knows, the same is read of lines.
    const STEP: &str = "{\"step_index\"";
    let Some(spaced) = std::str::from_utf8(bytes).ok().filter(|text| text.contains(STEP)) else {
        return read;
    };
    let spaced = place.file("spaced", spaced.replace(STEP, "{ \"step_index\"").as_bytes());
    let mut same = Vec::new();
    let again = records(&spaced, &GAME, &mut |batch| {
        same.push(batch.records.clone());
        Ok(batch)
    });
    assert_eq!(read.is_ok(), again.is_ok());
    assert!(read.is_err() || seen == same);
    read
}

pub fn puzzles(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let path = place.file("in", bytes);
    records(&path, &PUZZLE, &mut Ok)?;
    records(&path, &PUZZLE, &mut |mut batch| {
        batch.records = grids(&batch.records, 0)?;
        Ok(batch)
    })
}

/// NDJSON, Arrow or Parquet of any record, or of none; whole, and a part of it twice.
pub fn any(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let whole = input(place.file("in", bytes));
    let files = [&whole.files[..], &whole.files[..]].concat();
    let slice =
        InputArgs { files, slice: Some(Slice::Part { index: 1, count: 3 }), ..whole.clone() };
    let slice = copy(|| Reader::open(&slice, Request::Any), &mut Ok);
    copy(|| Reader::open(&whole, Request::Any), &mut Ok).and(slice)
}

/// Parquet of any schema, and as each record.
pub fn parquet(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let path = place.file("in", bytes);
    let mut last = any(place, bytes);
    for record in RECORD_TYPES.iter() {
        last = records(&path, record, &mut Ok);
    }
    last
}

/// gzip and zstd, and what is in them.
pub fn packed(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let path = place.file("in", bytes);
    let inside = open_bytes(&path).map_err(|error| Error::io(path.as_path(), &error))?;
    let read = io::copy(&mut inside.take(1 << 26), &mut io::sink());
    read.map_err(|error| Error::io(path.as_path(), &error))?;
    let whole = input(path);
    copy(|| Reader::open(&whole, Request::Any), &mut Ok)
}

/// Raw rows of SYNTH, of any types, into conversations.
pub fn synth(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let settings = SynthSettings {
        model_identity: "M".to_string(),
        reasoning_effort: ReasoningEffort::High,
        conversation_start_date: "2026-01-01".to_string(),
        knowledge_cutoff: "2024-06".to_string(),
        developer_instructions: None,
        metadata_fields: METADATA_FIELDS.map(str::to_string).to_vec(),
        keep_without_reasoning: bytes.len().is_multiple_of(2),
        reference: Reference::Append,
    };
    let schema = settings.wanted_columns();
    let wanted = WantedRecords { schema, any_types: true, ..WantedRecords::records(&RAW_SYNTH) };
    let harmony = SynthHarmony::new(settings, false);
    let whole = input(place.file("in", bytes));
    copy(|| Reader::open(&whole, wanted.clone()), &mut |batch| harmony.convert(batch))
}

/// Files and streams as ds-check reads them.
pub fn checked(place: &mut Place, bytes: &[u8]) -> Result<()> {
    datasets::check(&place.file("in", bytes))
}

/// The bytes as records of a type, whichever encoding they are in.
fn records(path: &std::path::Path, record: &'static RecordType, stage: Stage<'_>) -> Result<()> {
    let wanted = WantedRecords::records(record);
    let whole = input(PathBuf::from(path));
    copy(|| Reader::open(&whole, wanted.clone()), stage)
}

/// Reads all, and writes it in both encodings. As many records must come as `--count` says.
pub fn copy(open: impl Fn() -> Result<Reader>, stage: Stage<'_>) -> Result<()> {
    let reader = open()?.first(Some(MOST_RECORDS));
    let header = reader.header().clone();
    // Without a total, to count is to read all.
    let has_total = reader.total().is_some();
    let mut records = 0;
    let mut writers = None;
    for batch in reader {
        let batch = batch?;
        records += (batch.len() + batch.rejected.len()) as u64;
        let batch = stage(batch)?;
        for rejection in batch.rejected {
            one_line(&rejection.to_error().to_string());
            if let RejectedContent::Json(make) = rejection.input {
                one_line(&make());
            }
        }
        let writers = match &mut writers {
            Some(writers) => writers,
            None => {
                let schema = batch.records.schema();
                let open = |to| Writer::new(io::sink(), "out", to, &schema, &header);
                writers.insert([open(Encoding::Ndjson)?, open(Encoding::Arrow)?])
            }
        };
        writers.iter_mut().try_for_each(|writer| writer.write(&batch.records))?;
    }
    if has_total {
        let counted = open()?.first(Some(MOST_RECORDS)).count_records()?;
        assert!(counted == records, "{records} records, not {counted}");
    }
    writers.into_iter().flatten().try_for_each(|writer| writer.finish(&Counts::default()).map(drop))
}
