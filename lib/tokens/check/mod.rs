//! The checks of token sequences: in roots, in `.bin/.idx`, in files of ids.

mod kd;
mod pairs;

pub use gristmill_stream::check::*;
pub use kd::sequences::{SequenceChecker, SequenceRules};
pub use kd::texts::{ModelTexts, Targets, TextFault};
pub use kd::{FolderCheck, IdsFamily, MegatronFamily, ModelSaid, SequenceGate, if_ids};
pub use pairs::{PAIR_CHECKS, PairChecker, PairGate, PairRules};
