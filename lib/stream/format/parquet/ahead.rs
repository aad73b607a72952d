//! Decodes row groups side by side, ahead of the reader, and hands them on in their order.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{Builder, JoinHandle};

use arrow_array::RecordBatch;

use super::rows::{Group, Rows, next_of};
use crate::batch::row_sizes;
use crate::ordered::{Flow, Threads, ordered_map};
use crate::panics::caught;

/// The most bytes of row groups that are decoded side by side: several are in memory at once.
const MOST_BYTES: u64 = 16 << 20;
/// The most rows that are decoded at once.
const DECODED_ROWS: u64 = 512;

type Chunk = Result<Vec<RecordBatch>, String>;

/// The rows of row groups, decoded on threads of its own; the threads end when it is dropped.
pub(super) struct ReadAhead {
    /// `None` at the end.
    chunks: Option<Receiver<Chunk>>,
    thread: Option<JoinHandle<()>>,
    ready: VecDeque<RecordBatch>,
}

impl ReadAhead {
    /// `None` if it would not be faster, would take much memory, or if there are no threads.
    pub fn of(rows: Rows, jobs: NonZeroUsize) -> Option<ReadAhead> {
        let is_large = |group: &Group| group.bytes > MOST_BYTES;
        let jobs = jobs.min(NonZeroUsize::new(rows.groups.len())?);
        if jobs.get() < 2 || rows.groups.iter().any(is_large) {
            return None;
        }
        let (send, chunks) = sync_channel(1);
        let work = move || {
            let worker = || {
                |group: &Group, send: &mut dyn FnMut(Chunk) -> Flow| {
                    if let Err(cause) = decode(&rows, group, send) {
                        send(Err(cause));
                    }
                }
            };
            let sink = |chunk| match send.send(chunk) {
                Ok(()) => Ok(Flow::Continue),
                Err(_) => Ok(Flow::Stop),
            };
            let groups = rows.groups.iter().map(Ok::<_, Infallible>);
            // The results of an item are large.
            let threads = Threads { jobs, waiting: jobs.get() - 1 };
            let Ok(()) = ordered_map(threads, groups, worker, sink);
        };
        let thread = Builder::new().spawn(work).ok()?;
        Some(ReadAhead { chunks: Some(chunks), thread: Some(thread), ready: VecDeque::new() })
    }

    /// Returns the next rows; `None` at the end. An error is the end too.
    pub fn next(&mut self) -> Result<Option<RecordBatch>, String> {
        while self.ready.is_empty() {
            let Some(chunk) = self.chunks.as_ref().and_then(|chunks| chunks.recv().ok()) else {
                return Ok(None);
            };
            match chunk {
                Ok(batches) => self.ready.extend(batches),
                Err(cause) => {
                    self.chunks = None;
                    return Err(cause);
                }
            }
        }
        Ok(self.ready.pop_front())
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        // A worker stops when nobody takes its results.
        self.chunks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Decodes a row group as one chunk, or as several if it has more rows than its footer states.
fn decode(rows: &Rows, group: &Group, send: &mut dyn FnMut(Chunk) -> Flow) -> Result<(), String> {
    let groups = std::slice::from_ref(group);
    let decoder = caught(|| rows.decoder(groups, DECODED_ROWS))?;
    let mut decoder = decoder.map_err(|error| error.to_string())?;
    let (mut chunk, mut bytes) = (Vec::new(), 0);
    while let Some(batch) = next_of(&mut decoder)? {
        bytes += size_of(&batch);
        chunk.push(batch);
        if bytes >= MOST_BYTES {
            if let Flow::Stop = send(Ok(std::mem::take(&mut chunk))) {
                return Ok(());
            }
            bytes = 0;
        }
    }
    send(Ok(chunk));
    Ok(())
}

/// Returns the bytes of the values of a batch.
pub(super) fn size_of(batch: &RecordBatch) -> u64 {
    row_sizes(batch).into_iter().fold(0, u64::saturating_add)
}
