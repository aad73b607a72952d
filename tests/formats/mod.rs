//! The formats on disk and in pipes: read, written, merged, damaged.

mod beside;
mod databases;
mod ids;
mod inputs;
mod json_forms;
mod layouts;
mod members;
mod merge;
mod merge_pools;
mod mmidx;
mod ndjson;
mod npy;
mod pools;
mod row_groups;
mod streams;
mod values;
mod variety;
