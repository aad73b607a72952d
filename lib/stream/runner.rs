//! The one loop of all filters: it reads a batch, works on it (on several threads) and writes it. It counts, drops
//! rejected records, shows progress, and finishes the output only if all went well.

use std::num::NonZeroUsize;

use arrow_array::cast::AsArray;

use crate::batch::{Batch, Counts, DroppedRecords, Sink, SkippedRecords};
use crate::cli::{self, CommonArgs, OnErrorArgs, Rejects, Tool};
use crate::error::Result;
use crate::ordered::{Flow, one, ordered_map};
use crate::stream::Reader;
use crate::wording::of_plural;

/// The source of the items on which a filter works.
pub trait Feed: Iterator<Item = Result<Self::Input>> + Send {
    type Input: Send;

    /// Returns how many records there will be, if known.
    fn total(&self) -> Option<u64>;

    /// Returns how many records earlier filters dropped; known after the last item.
    fn dropped(&self) -> DroppedRecords {
        DroppedRecords::default()
    }

    /// See [`Reader::take_spooled`].
    fn take_spooled(&mut self) -> Vec<String> {
        Vec::new()
    }
}

impl Feed for Reader {
    type Input = Batch;

    fn total(&self) -> Option<u64> {
        Reader::total(self)
    }

    fn dropped(&self) -> DroppedRecords {
        Reader::dropped(self)
    }

    fn take_spooled(&mut self) -> Vec<String> {
        Reader::take_spooled(self)
    }
}

/// Items that no reader reads: files, puzzles to be made.
pub struct Items<I> {
    pub items: I,
    pub total: u64,
}

impl<I: Iterator> Iterator for Items<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.items.next()
    }
}

impl<T: Send, I: Iterator<Item = Result<T>> + Send> Feed for Items<I> {
    type Input = T;

    fn total(&self) -> Option<u64> {
        Some(self.total)
    }
}

/// One run of a filter.
pub struct Runner<'a> {
    tool: &'a Tool,
    common: &'a CommonArgs,
    /// The name of the unit that is counted, in the plural.
    unit: &'static str,
    on_error: OnErrorArgs,
    jobs: NonZeroUsize,
    expected: Option<u64>,
    rejects: Option<Rejects>,
}

impl<'a> Runner<'a> {
    pub fn new(tool: &'a Tool, common: &'a CommonArgs, unit: &'static str) -> Runner<'a> {
        let (on_error, jobs) = (OnErrorArgs::default(), NonZeroUsize::MIN);
        Runner { tool, common, unit, on_error, jobs, expected: None, rejects: None }
    }

    /// Sets what happens to bad records; without this the first one ends the run.
    pub fn on_error(self, on_error: &OnErrorArgs) -> Runner<'a> {
        Runner { on_error: on_error.clone(), ..self }
    }

    /// Continues with rejects that are open already, because opening the input has added to them.
    pub fn rejects(self, rejects: Rejects) -> Runner<'a> {
        Runner { rejects: Some(rejects), ..self }
    }

    /// Sets the number of threads; the output is the same for every number.
    pub fn jobs(self, jobs: NonZeroUsize) -> Runner<'a> {
        Runner { jobs, ..self }
    }

    /// Sets the number of records that must be read, if given.
    pub fn expect(self, records: Option<u64>) -> Runner<'a> {
        Runner { expected: records, ..self }
    }

    /// Writes the batches unchanged.
    pub fn copy(self, reader: Reader, sink: impl Sink) -> Result<()> {
        self.run(reader, || |batch| Ok(batch), sink)
    }

    /// Makes one batch of each item. `make_stage` makes a worker for each thread.
    pub fn run<F: Feed, Stage>(
        self,
        feed: F,
        make_stage: impl Fn() -> Stage,
        sink: impl Sink,
    ) -> Result<()>
    where
        Stage: FnMut(F::Input) -> Result<Batch> + Send,
    {
        self.run_many(feed, || one(make_stage()), sink)
    }

    /// Makes any number of batches of each item.
    pub fn run_many<F: Feed, Stage>(
        mut self,
        mut feed: F,
        make_stage: impl Fn() -> Stage,
        sink: impl Sink,
    ) -> Result<()>
    where
        Stage: FnMut(F::Input, &mut dyn FnMut(Result<Batch>) -> Flow) + Send,
    {
        let mut state = State::open(&mut self, feed.total(), sink)?;
        self.tell_spooled(feed.take_spooled());
        ordered_map(self.jobs, &mut feed, make_stage, |batch| state.take(batch))?;
        self.tell_spooled(feed.take_spooled());
        state.finish(&self, feed.dropped())
    }
}

impl Runner<'_> {
    fn tell_spooled(&self, spooled: Vec<String>) {
        spooled.iter().filter(|_| self.common.verbose).for_each(|line| self.tool.tell(line));
    }
}

/// The state of a run between its batches.
struct State<S> {
    sink: S,
    rejects: Rejects,
    progress: cli::Progress,
    read: u64,
    skipped: SkippedRecords,
}

impl<S: Sink> State<S> {
    fn open(runner: &mut Runner<'_>, total: Option<u64>, sink: S) -> Result<State<S>> {
        let rejects = match runner.rejects.take() {
            Some(rejects) => rejects,
            None => Rejects::open(&runner.on_error)?,
        };
        let progress =
            runner.common.progress(runner.tool, runner.unit, total, sink.uses_stdout())?;
        Ok(State { sink, rejects, progress, read: 0, skipped: SkippedRecords::default() })
    }

    fn take(&mut self, batch: Result<Batch>) -> Result<Flow> {
        let batch = batch?;
        let (records, bytes) = (batch.len() as u64, batch.bytes);
        let progress = batch.progress.unwrap_or(records);
        self.read += records + batch.rejected.len() as u64 + batch.skipped.records();
        self.skipped.add(&batch.skipped);
        if let Some((what, count)) = self.progress.is_reporting().then(|| inside(&batch)).flatten()
        {
            self.progress.add_inside(what, count);
        }
        let flow = self.sink.write(batch, &mut self.rejects)?;
        self.progress.add(progress, bytes);
        Ok(flow)
    }

    fn finish(mut self, runner: &Runner<'_>, before: DroppedRecords) -> Result<()> {
        cli::expect_records(runner.expected, self.read)?;
        self.sink.end(&mut self.rejects)?;
        let own = DroppedRecords {
            rejected: Some(self.rejects.count()),
            skipped: Some(self.skipped.clone()),
        };
        let counts = Counts::of_run(self.read, &before, &own);
        self.rejects.publish()?;
        let summary = self.sink.finish(counts)?;
        self.progress.finish();
        summary.tell(runner.tool, runner.common, self.rejects);
        if !self.skipped.is_empty() && !runner.common.quiet {
            let (skipped, unit) = (self.skipped.records(), of_plural(self.read, runner.unit));
            let line = format!("{skipped} of {} {unit} skipped: {}", self.read, self.skipped);
            runner.tool.tell(&line);
        }
        Ok(())
    }
}

/// Returns the unit of the lists in the records of a batch (tokens, steps), and how many there are.
fn inside(batch: &Batch) -> Option<(&'static str, u64)> {
    ["tokens", "steps"].into_iter().find_map(|name| {
        let list = batch.records.column_by_name(name)?.as_list_opt::<i32>()?;
        let (first, last) = (list.value_offsets().first()?, list.value_offsets().last()?);
        Some((name, u64::try_from(last - first).unwrap_or(0)))
    })
}
