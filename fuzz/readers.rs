//! The targets of `READERS`, as a program of libFuzzer.

#![no_main]

#[macro_use]
mod program;
#[allow(dead_code)] // each program uses its own table
mod targets;

fuzz_targets!(READERS);
