pub mod raw_games;
