//! `gristmill::panics` turns the panics of decoders into errors. Those of our own code that happen
//! within a decoder's call must not hide behind it.

use std::panic;
use std::sync::Once;

/// From now on, a panic in our own code ends the process even where it would be caught.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // This hook has to stand before that of the library.
        let _ = gristmill::panics::caught(|| ());
        let caught = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            caught(panic);
            let is_ours = panic.location().is_some_and(|place| {
                let file = place.file();
                let is_of_a_crate = file.contains("/registry/") || file.contains("/rustlib/");
                file.starts_with("lib/") || (file.contains("/lib/") && !is_of_a_crate)
            });
            if is_ours {
                eprintln!("{panic}");
                std::process::abort();
            }
        }));
    });
}
