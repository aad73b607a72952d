//! What the `manifest.json` of a pack says of where its games come from. Other pools have none.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::format::pack::{MANIFEST, SCHEMA};

/// Where the games of a pool come from, as far as it says.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Origin {
    schema_version: String,
    /// How `ev_legal` was decided.
    pub legality: Option<String>,
    /// The chain of the filters that have made the pool.
    #[serde(default)]
    pub provenance: Vec<Value>,
}

impl Origin {
    /// Reads a pool's manifest. One that cannot be read, or is none of ours, says nothing: games
    /// are read without it, and what is wrong with it is ds-check's business.
    pub fn of_pool(directory: &Path) -> Origin {
        let text = fs::read(directory.join(MANIFEST)).unwrap_or_default();
        let origin = serde_json::from_slice::<Origin>(&text).ok();
        origin.filter(|origin| origin.schema_version == SCHEMA).unwrap_or_default()
    }
}
