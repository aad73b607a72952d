pub mod metadata_db;
pub mod npy;
pub mod raw_games;
