//! Catches panics of the crates that decode inputs, where these are called, so that damaged input becomes an error
//! of that input. Our own code does not panic on input, and no other panics are caught.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread will be caught, and must not be printed.
    static CATCHES: Cell<bool> = const { Cell::new(false) };
}

/// Returns the result of `work`, or the message of its panic. After a panic, values that it changed
/// must not be used.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    silence_caught_panics();
    let before = CATCHES.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    CATCHES.set(before);
    outcome.map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        format!("the decoder cannot go on ({})", text.as_deref().unwrap_or("no message"))
    })
}

/// Panics that are not caught here are printed as before.
fn silence_caught_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let printed = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !CATCHES.get() {
                printed(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::caught;

    #[test]
    fn a_panic_becomes_its_message() {
        let empty: &[u8] = &[];
        assert_eq!(caught(|| empty.len()), Ok(0));
        let outcome = caught(|| empty[std::hint::black_box(3)]);
        assert!(outcome.is_err_and(|cause| cause.contains("index out of bounds")));
        assert!(caught(|| caught(|| empty[std::hint::black_box(1)]).is_err()).unwrap_or(false));
    }
}
