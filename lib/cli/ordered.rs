//! Work on several threads with the results in the order of the input: the bytes that leave are
//! the same for every number of threads.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// How many items may wait before and after each worker: enough to keep it busy, few enough that
/// memory stays bounded by a handful of batches.
const QUEUE: usize = 2;

/// Sends the items of `source` through workers made by `make_worker` (one for each thread) and
/// hands the results to `sink`, in order, on this thread. The first error of `source` or `sink`
/// ends everything; what a worker finds wrong travels in its result.
///
/// With one job everything runs on this thread.
pub fn ordered_map<Item, Out, Worker, E>(
    jobs: NonZeroUsize,
    source: impl Iterator<Item = Result<Item, E>> + Send,
    make_worker: impl Fn() -> Worker,
    mut sink: impl FnMut(Out) -> Result<Flow, E>,
) -> Result<(), E>
where
    Item: Send,
    Out: Send,
    E: Send,
    Worker: FnMut(Item) -> Out + Send,
{
    if jobs.get() == 1 {
        let mut worker = make_worker();
        for item in source {
            if let Flow::Stop = sink(worker(item?))? {
                break;
            }
        }
        return Ok(());
    }
    thread::scope(|scope| {
        // Item k goes to worker k mod N, and the results are collected in the same turn: order
        // needs no sorting and no unbounded buffer.
        let mut inputs: Vec<SyncSender<Result<Item, E>>> = Vec::new();
        let mut outputs: Vec<Receiver<Result<Out, E>>> = Vec::new();
        for _ in 0..jobs.get() {
            let (to_worker, from_source) = sync_channel::<Result<Item, E>>(QUEUE);
            let (to_sink, from_worker) = sync_channel(QUEUE);
            let mut worker = make_worker();
            scope.spawn(move || {
                for item in from_source {
                    if to_sink.send(item.map(&mut worker)).is_err() {
                        break;
                    }
                }
            });
            inputs.push(to_worker);
            outputs.push(from_worker);
        }
        scope.spawn(move || {
            for (turn, item) in source.enumerate() {
                let failed = item.is_err();
                // A receiver that is gone means that the sink has stopped.
                if inputs[turn % inputs.len()].send(item).is_err() || failed {
                    break;
                }
            }
        });
        for turn in 0.. {
            match outputs[turn % outputs.len()].recv() {
                Ok(result) => {
                    if let Flow::Stop = sink(result?)? {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        Ok(())
    })
}

/// Whether the sink wants more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Continue,
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(jobs: usize, stop_after: usize) -> (Vec<u64>, Result<(), String>) {
        let mut out = Vec::new();
        let items = (0..1000u64).map(|n| if n == 700 { Err("bad".to_string()) } else { Ok(n) });
        let result = ordered_map(
            NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN),
            items,
            || |n: u64| n * n,
            |n| {
                out.push(n);
                Ok(if out.len() == stop_after { Flow::Stop } else { Flow::Continue })
            },
        );
        (out, result)
    }

    #[test]
    fn any_number_of_threads_gives_the_same() {
        for jobs in [1, 2, 3, 7] {
            let (out, result) = squares(jobs, usize::MAX);
            assert_eq!(out, (0..700).map(|n| n * n).collect::<Vec<_>>());
            assert_eq!(result, Err("bad".to_string()));
            let (out, result) = squares(jobs, 10);
            assert_eq!((out.len(), result), (10, Ok(())));
        }
    }
}
