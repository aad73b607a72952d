//! Work on several threads with the results in the order of the input: the output is the same for
//! every number of threads.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crossbeam_channel::bounded;

/// How many results of an item may wait for their turn.
const QUEUE: usize = 2;
/// How many items may wait for each worker.
const ITEMS: usize = 2;
/// How many items with results may wait for each worker until it is their turn. (With half of both numbers, two
/// workers would be idle for 10 % of the time instead of 7 %, which would save 10 MB: `chat-harmony -j 2`.)
const WAITING: usize = 4;
/// The most threads that are started: no machine of ours has more processors.
const MOST_THREADS: usize = 1024;

/// How many threads work, and how many items may wait after the one whose results are handed on.
#[derive(Debug, Clone, Copy)]
pub struct Threads {
    pub jobs: NonZeroUsize,
    pub waiting: usize,
}

impl Threads {
    /// Returns threads; `waiting` items may wait for each of them.
    pub fn with_waiting(jobs: NonZeroUsize, waiting: usize) -> Threads {
        Threads { jobs, waiting: waiting * jobs.get().min(MOST_THREADS) }
    }
}

impl From<NonZeroUsize> for Threads {
    fn from(jobs: NonZeroUsize) -> Threads {
        Threads::with_waiting(jobs, WAITING)
    }
}

/// Returns a worker that makes one result of each item.
pub fn one<Item, Out>(
    mut make: impl FnMut(Item) -> Out + Send,
) -> impl FnMut(Item, &mut dyn FnMut(Out) -> Flow) + Send {
    move |item, send| {
        send(make(item));
    }
}

/// Sends the items of `source` through workers made by `make_worker` (one for each thread) and
/// hands the results to `sink`, in order, on this thread. The first error of `source` or `sink`
/// ends everything; a worker's errors are part of its result.
///
/// A worker may make any number of results from one item. Each is handed on as it is made, so that only a few are
/// in memory, however many an item has. The worker stops when the answer is `Flow::Stop`. With one job everything
/// runs on this thread.
pub fn ordered_map<Item, Out, Worker, E>(
    threads: impl Into<Threads>,
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
    let threads = threads.into();
    let mut source = source;
    if threads.jobs.get() > 1 {
        // If the system gives no threads, the output is the same without them.
        if let Some(outcome) = on_threads(threads, &mut source, &make_worker, &mut sink) {
            return outcome;
        }
    }
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
    Ok(())
}

/// Returns `None`, having done nothing, if no threads can be started. The function is long, but one piece: the
/// owners of the ends of the channels decide who stops when.
fn on_threads<Item, Out, Worker, E>(
    Threads { jobs, waiting }: Threads,
    source: &mut (impl Iterator<Item = Result<Item, E>> + Send),
    make_worker: &impl Fn() -> Worker,
    sink: &mut impl FnMut(Out) -> Result<Flow, E>,
) -> Option<Result<(), E>>
where
    Item: Send,
    Out: Send,
    E: Send,
    Worker: FnMut(Item, &mut dyn FnMut(Out) -> Flow) + Send,
{
    let jobs = jobs.get().min(MOST_THREADS);
    // The channel of each item's results is announced in the order of the items, and the next free
    // worker takes the next item: order needs no sorting and no unbounded buffer, and no worker
    // waits for another's long item. (These are channels of std, which drop their content when the
    // receiver is dropped. Channels of crossbeam keep it, and a worker whose results are still
    // announced would wait for ever.)
    let (announce, announced) = sync_channel::<Receiver<Result<Out, E>>>(waiting);
    // The workers share the items, and the last of them to end closes the channel.
    let (give, given) = bounded::<(Item, SyncSender<Result<Out, E>>)>(ITEMS * jobs);
    thread::scope(|scope| {
        // Moved in, so that it is dropped, and all workers stop, when the sink wants no more.
        let announced = announced;
        let mut workers = 0;
        for _ in 0..jobs {
            let mut worker = make_worker();
            let given = given.clone();
            let work = move || {
                for (item, send) in given {
                    worker(item, &mut |result| match send.send(Ok(result)) {
                        Ok(()) => Flow::Continue,
                        Err(_) => Flow::Stop,
                    });
                }
            };
            match thread::Builder::new().spawn_scoped(scope, work) {
                Ok(_) => workers += 1,
                // The threads that were started do the work.
                Err(_) => break,
            }
        }
        drop(given);
        if workers == 0 {
            return None;
        }
        let feed = move || {
            for item in source {
                let (send, results) = sync_channel(QUEUE);
                // A channel without a receiver means that the sink wants no more.
                if announce.send(results).is_err() {
                    return;
                }
                match item {
                    Ok(item) => {
                        if give.send((item, send)).is_err() {
                            return;
                        }
                    }
                    Err(error) => {
                        let _ = send.send(Err(error));
                        return;
                    }
                }
            }
        };
        thread::Builder::new().spawn_scoped(scope, feed).ok()?;
        Some(drain(announced, sink))
    })
}

/// Hands the results of each item to the sink.
fn drain<Out, E>(
    announced: Receiver<Receiver<Result<Out, E>>>,
    sink: &mut impl FnMut(Out) -> Result<Flow, E>,
) -> Result<(), E> {
    for results in announced {
        for result in results {
            if let Flow::Stop = sink(result?)? {
                return Ok(());
            }
        }
    }
    Ok(())
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
            || one(|n: u64| n * n),
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
        let result = ordered_map(jobs, items, worker, |n| {
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
