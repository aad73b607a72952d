//! The targets of `MODELS`, as a program of libFuzzer, without the library of the filters.

#![no_main]

#[path = "targets/memory.rs"]
mod memory;
#[macro_use]
mod program;
#[path = "targets/models.rs"]
mod targets;

fuzz_targets!(MODELS);
