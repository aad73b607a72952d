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
    let make_worker = || {
        let mut worker = make_worker();
        move |item: Item, send: &mut dyn FnMut(Piece<Out>) -> Flow| {
            send(Piece { result: Some(worker(item)), is_last: true });
        }
    };
    on_threads(jobs, source, make_worker, &mut sink)
}

/// The same for workers that make any number of results of one item, each handed on as it is made:
/// memory is that of a few results, however many an item has. A worker stops where `Flow::Stop`
/// is the answer.
pub fn ordered_flat_map<Item, Out, Worker, E>(
    jobs: NonZeroUsize,
    source: impl Iterator<Item = Result<Item, E>> + Send,
    make_worker: impl Fn() -> Worker,
    mut sink: impl FnMut(Out) -> Result<Flow, E>,
) -> Result<(), E>
where
    Item: Send,
    Out: Send,
    E: Send,
    Worker: FnMut(Item, &mut dyn FnMut(Out) -> Flow) + Send,
{
    if jobs.get() == 1 {
        let mut worker = make_worker();
        let mut outcome = Ok(Flow::Continue);
        for item in source {
            worker(item?, &mut |result| {
                if let Ok(Flow::Continue) = outcome {
                    outcome = sink(result);
                }
                if let Ok(Flow::Continue) = outcome { Flow::Continue } else { Flow::Stop }
            });
            match outcome {
                Ok(Flow::Continue) => {}
                Ok(Flow::Stop) => break,
                Err(error) => return Err(error),
            }
        }
        return Ok(());
    }
    let make_worker = || {
        let mut worker = make_worker();
        move |item: Item, send: &mut dyn FnMut(Piece<Out>) -> Flow| {
            worker(item, &mut |result| send(Piece { result: Some(result), is_last: false }));
            send(Piece { result: None, is_last: true });
        }
    };
    on_threads(jobs, source, make_worker, &mut sink)
}

/// A result of an item, and whether it is the item's last.
struct Piece<Out> {
    result: Option<Out>,
    is_last: bool,
}

fn on_threads<Item, Out, Worker, E>(
    jobs: NonZeroUsize,
    source: impl Iterator<Item = Result<Item, E>> + Send,
    make_worker: impl Fn() -> Worker,
    sink: &mut dyn FnMut(Out) -> Result<Flow, E>,
) -> Result<(), E>
where
    Item: Send,
    Out: Send,
    E: Send,
    Worker: FnMut(Item, &mut dyn FnMut(Piece<Out>) -> Flow) + Send,
{
    thread::scope(|scope| {
        // Item k goes to worker k mod N, and the results are collected in the same turn: order
        // needs no sorting and no unbounded buffer.
        let mut inputs: Vec<SyncSender<Result<Item, E>>> = Vec::new();
        let mut outputs: Vec<Receiver<Result<Piece<Out>, E>>> = Vec::new();
        for _ in 0..jobs.get() {
            let (to_worker, from_source) = sync_channel::<Result<Item, E>>(QUEUE);
            let (to_sink, from_worker) = sync_channel(QUEUE);
            let mut worker = make_worker();
            scope.spawn(move || {
                for item in from_source {
                    let mut flow = Flow::Continue;
                    let mut send = |piece| {
                        // A receiver that is gone means that the sink has stopped.
                        if to_sink.send(piece).is_err() {
                            flow = Flow::Stop;
                        }
                        flow
                    };
                    match item {
                        Ok(item) => worker(item, &mut |piece| send(Ok(piece))),
                        Err(error) => {
                            send(Err(error));
                        }
                    }
                    if flow == Flow::Stop {
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
        let mut turn = 0;
        while let Ok(piece) = outputs[turn % outputs.len()].recv() {
            let Piece { result, is_last } = piece?;
            if let Some(result) = result
                && let Flow::Stop = sink(result)?
            {
                break;
            }
            turn += usize::from(is_last);
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

    /// Item n becomes n mod 4 results.
    fn repeated(jobs: usize, stop_after: usize) -> (Vec<u64>, Result<(), String>) {
        let mut out = Vec::new();
        let items = (0..1000u64).map(|n| if n == 700 { Err("bad".to_string()) } else { Ok(n) });
        let worker = || {
            |n: u64, send: &mut dyn FnMut(u64) -> Flow| {
                for _ in 0..n % 4 {
                    if send(n) == Flow::Stop {
                        return;
                    }
                }
            }
        };
        let jobs = NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN);
        let result = ordered_flat_map(jobs, items, worker, |n| {
            out.push(n);
            match out.len() {
                length if length == stop_after => Ok(Flow::Stop),
                99 if stop_after == 0 => Err("sink".to_string()),
                _ => Ok(Flow::Continue),
            }
        });
        (out, result)
    }

    #[test]
    fn an_item_may_have_many_results_or_none() {
        let expected: Vec<u64> = (0..700).flat_map(|n| vec![n; n as usize % 4]).collect();
        for jobs in [1, 2, 3, 7] {
            assert_eq!(repeated(jobs, usize::MAX), (expected.clone(), Err("bad".to_string())));
            assert_eq!(repeated(jobs, 10), (expected[..10].to_vec(), Ok(())));
            assert_eq!(repeated(jobs, 0), (expected[..99].to_vec(), Err("sink".to_string())));
        }
    }
}
