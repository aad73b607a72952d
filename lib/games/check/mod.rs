//! The checks of pools of games.

mod pool;

pub use gristmill_stream::check::*;
pub use pool::games::game as check_game;
pub use pool::{GameGate, PoolFamily};
