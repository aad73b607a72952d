//! What the filters of chats have in common, whatever they make of them: ids, places, refusals, and what is counted.

use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;

use super::chat_ids::ChatIds;
use crate::batch::Batch;
use crate::chat::{
    Json, KnownTools, LeftOutCounts, ReadSettings, SharedLeftOutCounts, with_true_way,
};
use crate::error::Result;
use crate::record::conversation::turn_id;
use crate::record::identity::Identity;

/// The chats that a run reads.
pub struct Chats {
    pub ids: ChatIds,
    left_out: SharedLeftOutCounts,
    /// The chats that became records, and the records.
    counts: [AtomicU64; 2],
}

/// Makes records of chats, on one thread.
pub trait FromChats {
    /// Makes the records of a chat, and returns how many. The error says why it is refused.
    fn make(&mut self, chat: Json<'_>, left_out: &mut LeftOutCounts) -> Result<usize, String>;

    /// Adds a record of the last chat to the batch, by its number from 0.
    fn add(&mut self, number: usize, identity: Identity<'_>) -> Result<()>;

    /// Adds the options that help against a refusal.
    fn with_way_on(&self, reason: String) -> String {
        reason
    }

    /// Returns the batch.
    fn finish(&mut self) -> Result<RecordBatch>;
}

impl Chats {
    pub fn new(id_field: Option<String>) -> Chats {
        let (left_out, counts) = Default::default();
        Chats { ids: ChatIds::new(id_field), left_out, counts }
    }

    /// Converts a batch of chats. The settings are those with which they are read; `known` are the tools of earlier
    /// ones.
    pub fn convert(
        &self,
        mut batch: Batch,
        settings: &ReadSettings,
        known: &mut KnownTools,
        maker: &mut (impl FromChats + ?Sized),
    ) -> Result<Batch> {
        let records = batch.records.clone();
        let texts = records.column(0).as_string::<i32>();
        let mut all_left_out = LeftOutCounts::default();
        // The row of each record: a chat may become several.
        let mut rows = Vec::new();
        batch.progress = Some(records.num_rows() as u64);
        for row in 0..records.num_rows() {
            let (mut left_out, mut id) = (LeftOutCounts::default(), None);
            let chat = Json::parse_record(texts.value(row), known);
            let chat = chat.map_err(|error| format!("invalid JSON: {error}"));
            let made = chat.and_then(|chat| {
                id = Some(self.ids.of(&chat)?);
                maker.make(chat, &mut left_out)
            });
            match (made, &id) {
                (Ok(made), Some(id)) => {
                    all_left_out.extend(&left_out);
                    self.count(made);
                    let (input, in_file) = batch.origin.in_file(row).unzip();
                    let input = input.as_deref();
                    for number in 0..made {
                        let of_turn = (made > 1).then(|| turn_id(id, number + 1));
                        let id = Some(of_turn.as_deref().unwrap_or(id));
                        maker.add(number, Identity { id, input, row: in_file })?;
                        rows.push(row);
                    }
                }
                (made, id) => {
                    let reason = made.err().unwrap_or_default();
                    let reason = true_reason(reason, texts.value(row), settings);
                    let reason = maker.with_way_on(reason);
                    batch.reject_row((&records, row), id.as_deref(), reason, raw_json);
                }
            }
        }
        self.left_out.add(&all_left_out);
        if rows.windows(2).any(|pair| pair[0] == pair[1]) {
            batch.origin = batch.origin.of_rows(&rows);
        }
        batch.records = maker.finish()?;
        Ok(batch)
    }

    fn count(&self, made: usize) {
        let [chats, records] = &self.counts;
        chats.fetch_add(u64::from(made > 0), Ordering::Relaxed);
        records.fetch_add(made as u64, Ordering::Relaxed);
    }

    /// Returns the numbers of chats that became records, and of these records, if these are more.
    pub fn divided(&self) -> Option<[u64; 2]> {
        let [chats, records] = self.counts.each_ref().map(|of| of.load(Ordering::Relaxed));
        (records > chats).then_some([chats, records])
    }

    /// Returns a warning for each kind of data that did not become part of the records; `way_on` returns what to add
    /// for a name.
    pub fn warnings(&self, way_on: impl Fn(&str) -> &'static str) -> Vec<String> {
        self.left_out.counts().warnings(way_on)
    }

    /// Returns the line that names what was not read.
    pub fn unread(&self) -> Option<String> {
        self.left_out.counts().unread()
    }
}

/// Returns why a record is refused, with options that help.
fn true_reason(reason: String, record: &str, settings: &ReadSettings) -> String {
    match Json::parse(record) {
        Ok(record) => with_true_way(reason, &record, settings),
        Err(_) => reason,
    }
}

/// Returns a record as it is written to the rejects.
fn raw_json(batch: &RecordBatch, row: usize) -> String {
    batch.column(0).as_string::<i32>().value(row).to_string()
}
