//! Filters in one process (`gristmill A '|' B`): each runs on a thread of its own, and hands its batches to the
//! next one as they are. Through pipes each batch is written, copied twice and read, which takes a quarter of the
//! processor time from games to a pack, and a tenth to a sixth from conversations to a root (2026-11-27).
//!
//! A filter asks this module for its command line, stdin and stdout, on its own thread, before it asks the process.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::failure::Failure;

/// What goes from one filter to the next, as in an Arrow stream.
pub enum Part {
    /// A stream begins: every batch up to its end has this schema.
    Schema(SchemaRef),
    Batch(RecordBatch),
    End,
    /// The stream ends with the failure of the filter that wrote it.
    Failed(Failure),
}

/// What stands between the filters of a chain.
pub const PIPE: &str = "|";

/// A filter of a chain: its command line, its name first, and its `main`.
pub type Filter = (Vec<OsString>, fn() -> ExitCode);

/// The stdin of a filter.
#[derive(Default)]
pub enum Stdin {
    /// The stdin of the process.
    #[default]
    OfProcess,
    /// The stream of the filter before it.
    Linked(Receiver<Part>),
    /// A stream of the filter before it that was taken already.
    Taken,
}

impl Stdin {
    /// Returns it; only the stdin of a process can be taken again.
    pub fn take(&mut self) -> Stdin {
        let left = match self {
            Stdin::OfProcess => Stdin::OfProcess,
            Stdin::Linked(_) | Stdin::Taken => Stdin::Taken,
        };
        std::mem::replace(self, left)
    }
}

/// The filter that runs on a thread.
struct RunningFilter {
    command_line: Vec<OsString>,
    stdin: Stdin,
    stdout: Option<SyncSender<Part>>,
    exit_code: u8,
}

thread_local! {
    static RUNNING: RefCell<Option<RunningFilter>> = const { RefCell::new(None) };
}

/// The stack of a filter in bytes: as much as the first thread of a process has.
const STACK: usize = 8 << 20;
/// The exit code of a filter whose reader has gone, as if SIGPIPE had ended it.
pub const CLOSED: u8 = 141;

/// Runs a chain of filters, all at the same time; returns the exit code of the first cause of failure. Fails if
/// the system gives no thread.
pub fn run(filters: Vec<Filter>) -> io::Result<u8> {
    let last = filters.len().saturating_sub(1);
    let mut stdin = Stdin::OfProcess;
    let (mut threads, mut failed) = (Vec::new(), Ok(()));
    for (place, (command_line, main)) in filters.into_iter().enumerate() {
        // Only one batch waits, so that memory holds only a few batches.
        let (sender, receiver) = sync_channel(1);
        let stdout = (place < last).then_some(sender);
        let running = RunningFilter { command_line, stdin, stdout, exit_code: 0 };
        stdin = Stdin::Linked(receiver);
        let filter = move || {
            RUNNING.set(Some(running));
            main();
            RUNNING.take().map_or(0, |running| running.exit_code)
        };
        match thread::Builder::new().stack_size(STACK).spawn(filter) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                failed = Err(error);
                break;
            }
        }
    }
    let codes: Vec<u8> = threads.into_iter().map(|thread| thread.join().unwrap_or(101)).collect();
    failed.map(|()| first_cause(&codes))
}

/// Returns the first exit code of a cause, not of a lost reader or writer. (A filter that stops reading when it has
/// enough closes the stream before it, which is no failure.)
pub fn first_cause(codes: &[u8]) -> u8 {
    let failed = codes.iter().copied().filter(|code| ![0, CLOSED].contains(code));
    failed.clone().find(|code| *code != 75).or(failed.clone().next()).unwrap_or(0)
}

/// Returns the command line of the filter of this thread, if it is one of a chain.
pub fn command_line() -> Option<Vec<OsString>> {
    RUNNING.with_borrow(|running| Some(running.as_ref()?.command_line.clone()))
}

/// Takes the stdin of the filter of this thread.
pub fn take_stdin() -> Stdin {
    RUNNING.with_borrow_mut(|running| {
        running.as_mut().map_or(Stdin::OfProcess, |running| running.stdin.take())
    })
}

/// Whether the filter of this thread reads the stdin of the process.
pub fn reads_stdin() -> bool {
    RUNNING.with_borrow(|running| {
        running.as_ref().is_none_or(|running| matches!(running.stdin, Stdin::OfProcess))
    })
}

/// Returns the link to the next filter of the chain, if there is one.
pub fn stdout() -> Option<SyncSender<Part>> {
    RUNNING.with_borrow(|running| running.as_ref()?.stdout.clone())
}

/// Notes the exit code of the filter of this thread.
pub fn note_exit_code(code: u8) {
    RUNNING.with_borrow_mut(|running| {
        running.iter_mut().for_each(|running| running.exit_code = code);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cause_counts() {
        for (codes, expected) in [
            (&[0, 0][..], 0),
            (&[CLOSED, 0], 0),
            (&[CLOSED, 1, 75], 1),
            (&[75, 0], 75),
            (&[75, 2], 2),
            (&[1, 2], 1),
        ] {
            assert_eq!(first_cause(codes), expected, "{codes:?}");
        }
    }
}
