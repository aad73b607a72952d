//! What the root holds already: a source that was made with this plan's options, of this input, by
//! this build, and whose files are there, is not made or joined again.

use std::path::Path;

use serde_json::Value;

use super::{Plan, PlanSource, Product};
use crate::error::{Kind, Result};
use crate::files;
use crate::format::kd_root::{KdPart, MANIFEST, manifest_in_root};
use crate::format::pack::PackManifest;
use crate::format::{json_file, synth_shards};
use crate::provenance::Made;

impl PlanSource {
    /// What a manifest says of it.
    pub(super) fn made(&self, plan: &Plan) -> Made {
        Made {
            input: self.identity.clone(),
            rows: self.rows,
            tokens: self.tokens,
            options: plan.options.clone(),
            build: plan.build.clone(),
        }
    }

    /// Whether the root holds it.
    pub fn is_kept(&self, plan: &Plan, root: &Path) -> Result<bool> {
        let kept = match plan.product {
            Product::KdRoot => self.is_kept_shard(plan, root),
            Product::Conversations => self.is_kept_file(plan, root),
            Product::Pack => self.is_kept_pack(plan, root),
            Product::Puzzles => self.is_kept_set(plan, root),
        };
        match kept {
            // What cannot be read is made again.
            Err(error) if error.kind() == Kind::Data => Ok(false),
            kept => kept,
        }
    }

    fn is_kept_shard(&self, plan: &Plan, root: &Path) -> Result<bool> {
        let path = manifest_in_root(root, &self.name);
        let Some(part) = json_file::if_there(&path, KdPart::read)? else { return Ok(false) };
        let manifest = plan.input_manifest.as_ref().map(|manifest| manifest.sha256.as_str());
        if part.made.as_ref() != Some(&self.made(plan)) || part.source.manifest_sha256() != manifest
        {
            return Ok(false);
        }
        let missing = |split: &crate::format::kd_root::KdSplit| split.files.missing(root);
        let missing = part.splits.values().map(missing).collect::<Result<Vec<_>>>()?;
        Ok(missing.iter().all(Option::is_none))
    }

    /// The manifest of a folder of conversations says how each shard was made.
    fn is_kept_file(&self, plan: &Plan, root: &Path) -> Result<bool> {
        let manifest: Option<Value> =
            json_file::if_there(&root.join(MANIFEST), json_file::read_all)?;
        let Some(manifest) = manifest else { return Ok(false) };
        let made = serde_json::from_value(manifest["made"][&self.name].clone());
        if made.ok() != Some(self.made(plan)) {
            return Ok(false);
        }
        let name = synth_shards::file_name(&self.name);
        let is_it = |shard: &&Value| {
            let path = shard["path"].as_str().map(Path::new);
            path.and_then(Path::file_name).is_some_and(|own| own == name.as_str())
        };
        let shards = manifest["storage"]["shards"].as_array();
        let stated = shards.and_then(|shards| shards.iter().find(is_it)?["bytes"].as_u64());
        let found = files::size(&root.join(&name))?;
        Ok(found.is_some() && found == stated)
    }

    fn is_kept_pack(&self, plan: &Plan, root: &Path) -> Result<bool> {
        if !files::is_file(&root.join(MANIFEST))? {
            return Ok(false);
        }
        let manifest = PackManifest::read(root)?;
        if manifest.made.as_ref() != Some(&self.made(plan)) {
            return Ok(false);
        }
        for file in &manifest.files {
            if files::size(&root.join(&file.path))? != Some(file.bytes) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
