//! Work on two threads.

use std::thread;

/// Runs `first` on another thread while `second` runs on this one. If the other thread cannot be started or ends with a
/// panic, runs `first` here, after `second`.
pub fn both<A: Send, B>(first: impl Fn() -> A + Sync, second: impl FnOnce() -> B) -> (A, B) {
    let first = &first;
    thread::scope(|scope| {
        let running = thread::Builder::new().spawn_scoped(scope, first).ok();
        let done = second();
        let other = running.and_then(|running| running.join().ok()).unwrap_or_else(first);
        (other, done)
    })
}
