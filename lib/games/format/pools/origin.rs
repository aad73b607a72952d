//! What the `manifest.json` of a pack says about the origin of its games. Other pools have no manifest.

use std::path::Path;

use serde_json::Value;

use crate::batch::DroppedRecords;
use crate::error::{Kind, Result};
use crate::files;
use crate::format::pack::{LARGE_TILES, MANIFEST, PackManifest};
use crate::format::raw_games::Legality;

/// The origin of a pool's games, as far as the pool states it.
#[derive(Debug, Clone, Default)]
pub(super) struct PoolOrigin {
    /// How `ev_legal` was decided.
    pub legality: Option<Legality>,
    /// The chain of the filters that made the pool.
    pub provenance: Vec<Value>,
    /// The pool's manifest.
    pub manifest: Option<PackManifest>,
}

impl PoolOrigin {
    /// Returns what was dropped when the pool was made; a pool without a manifest of ours does not
    /// state it.
    pub fn dropped(&self) -> DroppedRecords {
        let counts = self.manifest.as_ref().map(|manifest| manifest.records.counts());
        counts.map_or(DroppedRecords::UNKNOWN, |counts| counts.dropped())
    }

    /// Whether tiles over 2^15 were lost when the pool was made.
    pub fn lacks_large_tiles(&self) -> bool {
        self.manifest.iter().flat_map(|manifest| &manifest.lost).any(|name| name == LARGE_TILES)
    }

    /// Reads a pool's manifest, if it has one. A manifest that is damaged, or not ours, is ignored:
    /// games are read without it, and ds-check reports what is wrong with it.
    pub fn of_pool(directory: &Path) -> Result<PoolOrigin> {
        if !files::is_member(&directory.join(MANIFEST))? {
            return Ok(PoolOrigin::default());
        }
        match PackManifest::read(directory) {
            Ok(manifest) => Ok(PoolOrigin {
                legality: manifest.legality,
                provenance: manifest.provenance.clone().unwrap_or_default(),
                manifest: Some(manifest),
            }),
            Err(error) if error.kind() == Kind::Data => Ok(PoolOrigin::default()),
            Err(error) => Err(error),
        }
    }
}
