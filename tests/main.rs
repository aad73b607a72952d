//! All tests of the filters, as a user runs them: one program, so that it is linked once.
//! `cargo test NAME` runs what has NAME in its path, as in `cargo test ds_check`.
//!
//! | room | tests |
//! |---|---|
//! | [`filters`] | one filter, by its name; what all filters have (help, selection, rejects, progress) |
//! | [`formats`] | a format on disk or in a pipe: read, written, merged, damaged |
//! | [`scripts`] | pipelines, plans, packages, and the pages' commands |
//! | [`promises`] | what holds for everything: bounds, counts, provenance, publishing, failures |
//! | [`faults`] | calls that fail and runs that are stopped |
//! | [`common`], [`checks`], [`games`] | helpers |

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)] // a test may end so

mod checks;
mod common;
mod faults;
mod filters;
mod formats;
mod games;
mod promises;
mod scripts;
