//! A program of libFuzzer.

/// Makes a program of libFuzzer of one of the tables: `GRISTMILL_FUZZ` names the target.
macro_rules! fuzz_targets {
    ($table:ident) => {
        extern "C" fn report() {
            eprintln!("stat::most_memory_of_an_input: {}", targets::most_memory());
        }

        libfuzzer_sys::fuzz_target!(
            init: {
                // SAFETY: the function takes nothing and only prints.
                unsafe { libc::atexit(report) };
            },
            |bytes: &[u8]| {
                static TARGET: std::sync::LazyLock<targets::Target> = std::sync::LazyLock::new(|| {
                    let name = std::env::var("GRISTMILL_FUZZ").unwrap_or_default();
                    let target = targets::$table.iter().find(|(known, _)| *known == name);
                    target.expect("GRISTMILL_FUZZ is the name of a target").1
                });
                targets::run(*TARGET, bytes);
            }
        );
    };
}
