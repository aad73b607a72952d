//! The format of conversations on disk, beside what formats share.

pub mod synth_shards;

pub use gristmill_stream::format::*;
