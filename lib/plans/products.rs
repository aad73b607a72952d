//! What pipelines make: each product answers the questions of plans in a file of its own.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::recipe::Recipe;
use super::{conversations, packs, roots, sets};

/// What a pipeline makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Product {
    /// A root of Megatron datasets, from Parquet shards or raw rows: a task is some rows of one shard
    KdRoot,
    /// A folder of conversations, from raw rows: a task is some rows of one shard
    Conversations,
    /// A pack, from folders of raw games: a task is some games of one folder
    Pack,
    /// Puzzle sets, each in a folder of its own, one for each source (its name is the domain): a task
    /// is one whole set
    Puzzles,
}

impl Product {
    /// Whether seq-pack makes rows of it.
    pub fn has_rows(self) -> bool {
        self == Product::KdRoot
    }

    /// Whether ds-check looks at it at the end. (Conversations may lack ids, which it would not let pass.)
    pub fn is_checked(self) -> bool {
        self != Product::Conversations
    }

    pub(super) fn recipe(self) -> &'static Recipe {
        match self {
            Product::KdRoot => &roots::RECIPE,
            Product::Conversations => &conversations::RECIPE,
            Product::Pack => &packs::RECIPE,
            Product::Puzzles => &sets::RECIPE,
        }
    }
}
