//! Chooses records as they come, if they cannot be found without reading the others. Memory holds only
//! what is chosen: for `--tail` and `--sample` the records themselves.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::Schema;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;

use super::ids::IdFilter;
use crate::batch::{Batch, Entry, Origin};
use crate::cli::{Choice, Rejection, SelectArgs, all_there, draw};
use crate::error::{Place, Result};

/// The most rows of a batch of sampled records.
const SAMPLED_ROWS: usize = 1024;

/// Chooses among the batches of a stream that is read for another purpose, as
/// [`Reader::selected`](super::Reader::selected) does.
pub struct StreamChooser {
    ids: Option<IdFilter>,
    chooser: Chooser,
}

impl StreamChooser {
    /// Chooses among records of a schema.
    pub fn new(args: &SelectArgs, schema: &Schema) -> Result<StreamChooser> {
        let filter = || IdFilter::new(&args.id, schema);
        let ids = (!args.id.is_empty()).then(filter).transpose()?;
        Ok(StreamChooser { ids, chooser: Chooser::new(args.choice()) })
    }

    /// Returns the records of a batch that are chosen at once, if any are.
    pub fn take(&mut self, batch: &Batch) -> Result<Option<Batch>> {
        if self.chooser.is_done() {
            return Ok(None);
        }
        let mut batch = Batch::of_records(batch.records.clone(), batch.origin.clone());
        if let Some(ids) = &mut self.ids {
            ids.apply(&mut batch)?;
        }
        self.chooser.take(batch)
    }

    /// Returns the records that are left after the last batch; it must be called until it returns
    /// `None`.
    pub fn finish(&mut self) -> Result<Option<Batch>> {
        self.ids.iter().try_for_each(IdFilter::finish)?;
        self.chooser.finish()
    }
}

pub(super) struct Chooser {
    how: ChoiceState,
    /// How many records have come.
    came: u64,
}

enum ChoiceState {
    /// These runs; `named`: all of their records must come.
    Runs { runs: Vec<Range<u64>>, named: bool },
    /// The batches that hold the last records.
    Last { most: u64, held: VecDeque<Batch>, records: u64 },
    Sample {
        count: usize,
        seed: u64,
        drawn: BinaryHeap<SampleEntry>,
        sorted: Option<VecDeque<SampleEntry>>,
    },
}

impl Chooser {
    pub fn new(choice: Choice) -> Chooser {
        let runs = |runs, named| ChoiceState::Runs { runs, named };
        let how = match choice {
            Choice::All => runs(std::iter::once(0..u64::MAX).collect(), false),
            Choice::Within(range) => runs(vec![range], false),
            Choice::Named(named) => runs(named, true),
            Choice::Last(most) => ChoiceState::Last { most, held: VecDeque::new(), records: 0 },
            Choice::Sample { count, seed } => ChoiceState::Sample {
                count: usize::try_from(count).unwrap_or(usize::MAX),
                seed,
                drawn: BinaryHeap::new(),
                sorted: None,
            },
        };
        Chooser { how, came: 0 }
    }

    /// Whether no later record can be chosen.
    pub fn is_done(&self) -> bool {
        match &self.how {
            ChoiceState::Runs { runs, .. } => {
                runs.iter().all(|run| run.is_empty() || run.end <= self.came)
            }
            ChoiceState::Last { most, .. } => *most == 0,
            ChoiceState::Sample { count, .. } => *count == 0,
        }
    }

    /// Returns the records of a batch that are chosen at once, if any are.
    pub fn take(&mut self, mut batch: Batch) -> Result<Option<Batch>> {
        let first = self.came;
        let count = (batch.len() + batch.rejected.len()) as u64;
        self.came += count;
        match &mut self.how {
            ChoiceState::Runs { runs, .. } => {
                let chosen = |number: u64| {
                    let run = runs.get(runs.partition_point(|run| run.end <= number));
                    run.is_some_and(|run| run.contains(&number))
                };
                keep(&mut batch, |offset| chosen(first + offset))?;
                let is_empty = batch.is_empty() && batch.rejected.is_empty();
                Ok((!is_empty).then_some(batch))
            }
            ChoiceState::Last { most, held, records } => {
                held.push_back(batch);
                *records += count;
                while let Some(size) = held.front().map(size_of)
                    && *records - size >= *most
                {
                    held.pop_front();
                    *records -= size;
                }
                Ok(None)
            }
            ChoiceState::Sample { count, seed, drawn, .. } => {
                let entries: Vec<Entry> = batch.entries().collect();
                let mut rejected: Vec<Option<Rejection>> =
                    std::mem::take(&mut batch.rejected).into_iter().map(Some).collect();
                for (number, entry) in (first..).zip(entries) {
                    let place = draw(*seed, number);
                    if drawn.len() >= *count {
                        if drawn.peek().is_none_or(|last| place >= last.place) {
                            continue;
                        }
                        drawn.pop();
                    }
                    let what = match entry {
                        Entry::Row(row) => Some(EntryContent::row(&batch, row)?),
                        Entry::Rejected(index) => {
                            rejected[index].take().map(EntryContent::Rejected)
                        }
                    };
                    drawn.extend(what.map(|what| SampleEntry { place, what }));
                }
                Ok(None)
            }
        }
    }

    /// Returns the records that are left after the last one was read; it must be called until it
    /// returns `None`.
    pub fn finish(&mut self) -> Result<Option<Batch>> {
        match &mut self.how {
            ChoiceState::Runs { runs, named } => {
                if *named {
                    all_there(runs, self.came)?;
                }
                Ok(None)
            }
            ChoiceState::Last { most, held, records } => {
                let Some(mut batch) = held.pop_front() else { return Ok(None) };
                let (size, surplus) = (size_of(&batch), records.saturating_sub(*most));
                keep(&mut batch, |offset| offset >= surplus)?;
                *records -= size;
                *most -= size - surplus;
                Ok(Some(batch))
            }
            ChoiceState::Sample { drawn, sorted, .. } => {
                let sorted = sorted.get_or_insert_with(|| {
                    let mut all = std::mem::take(drawn).into_vec();
                    all.sort_unstable_by_key(|drawn| drawn.place.1);
                    all.into()
                });
                next_sampled(sorted)
            }
        }
    }
}

fn size_of(batch: &Batch) -> u64 {
    (batch.len() + batch.rejected.len()) as u64
}

/// Keeps the records of a batch, rejected ones too, whose numbers in it pass a test.
fn keep(batch: &mut Batch, mut wanted: impl FnMut(u64) -> bool) -> Result<()> {
    let (mut rows, mut rejected) = (Vec::new(), Vec::new());
    for (offset, entry) in (0..).zip(batch.entries()) {
        match (wanted(offset), entry) {
            (true, Entry::Row(row)) => rows.push(row),
            (is_kept, Entry::Rejected(_)) => rejected.push(is_kept),
            (false, Entry::Row(_)) => {}
        }
    }
    let mut is_kept = rejected.into_iter();
    batch.rejected.retain(|_| is_kept.next().unwrap_or(false));
    batch.keep_rows(&rows)
}

/// A record of the sample, and its place in the order of the draw.
struct SampleEntry {
    place: (u64, u64),
    what: EntryContent,
}

enum EntryContent {
    /// A batch of one row, with memory of its own.
    Row(RecordBatch, Place),
    Rejected(Rejection),
}

impl EntryContent {
    fn row(batch: &Batch, row: usize) -> Result<EntryContent> {
        let records = take_record_batch(&batch.records, &UInt64Array::from(vec![row as u64]))?;
        Ok(EntryContent::Row(records, batch.origin.place(row)))
    }
}

impl Ord for SampleEntry {
    fn cmp(&self, other: &SampleEntry) -> Ordering {
        self.place.cmp(&other.place)
    }
}

impl PartialOrd for SampleEntry {
    fn partial_cmp(&self, other: &SampleEntry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SampleEntry {
    fn eq(&self, other: &SampleEntry) -> bool {
        self.place == other.place
    }
}

impl Eq for SampleEntry {}

/// Returns the next records of a sample as one batch.
fn next_sampled(sorted: &mut VecDeque<SampleEntry>) -> Result<Option<Batch>> {
    let (mut rows, mut rejected, mut origin) = (Vec::new(), Vec::new(), Origin::default());
    while rows.len() < SAMPLED_ROWS
        && let Some(drawn) = sorted.pop_front()
    {
        match drawn.what {
            EntryContent::Row(row, place) => {
                origin.add(rows.len(), place);
                rows.push(row);
            }
            EntryContent::Rejected(rejection) => rejected.push(rejection),
        }
    }
    let records = match rows.first() {
        Some(first) => concat_batches(&first.schema(), &rows)?,
        None if rejected.is_empty() => return Ok(None),
        None => RecordBatch::new_empty(Schema::empty().into()),
    };
    Ok(Some(Batch { rejected, ..Batch::of_records(records, origin) }))
}
