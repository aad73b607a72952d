//! Tests of the crate: real models beside the reference engine, folders, and files that are broken.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // a test may end so

mod characters;
mod damaged;
mod folders;
mod hostile;
mod models;
mod small;
