//! Tests of the crate: real models beside the reference engine, folders, and files that are broken.

mod damaged;
mod folders;
mod models;
mod small;
