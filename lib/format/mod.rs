//! The formats on disk, one file each, with its page beside it.

pub mod kd_root;
pub mod metadata_db;
pub mod mmidx;
pub mod npy;
pub mod pack;
pub mod parquet;
pub mod pools;
pub mod puzzle_dir;
pub mod raw_games;

/// Bytes as lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
