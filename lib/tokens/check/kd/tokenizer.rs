//! The tokenizer that a root keeps: whether it is the one of the tokens.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gristmill_models::Tokenizer;

use super::manifest::Manifests;
use super::sequences;
use crate::check::{CheckContext, Findings, ModelSaid, checks};
use crate::error::{Kind, Result};
use crate::format::kd_root::{KdListing, kept_files, tokenizer_beside, tokenizer_of_root};
use crate::model::open_stated;

checks! {
    OTHER: Error Structure "kd.tokenizer.other",
        "a root keeps a tokenizer that is not the one of its tokens: texts read with it are wrong",
        hint "put the model's files, byte for byte, into ROOT/tokenizer/";
}

/// Checks the tokenizer that a root keeps. Returns the tokenizer with which texts are checked, if it is not o200k: the
/// kept one, or the tokenizer of the model that the user names.
pub(super) fn check(
    set: &KdListing,
    manifests: &Manifests,
    context: &CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<Option<Tokenizer>> {
    let Some((manifest, stated)) = manifests.other_tokenizer() else {
        if set.is_root
            && manifests.any
            && let Some(path) = kept_files(&set.base)?.first()
        {
            findings.add(&OTHER, path, "its tokens are of o200k");
        }
        return Ok(None);
    };
    let kept = match set.prefixes.first().filter(|_| !set.is_root) {
        Some(prefix) => tokenizer_beside(&prefix.path)?,
        None => tokenizer_of_root(&set.base)?,
    };
    if set.is_root {
        surplus(&set.base, manifests, findings)?;
    }
    let is_wanted = context.selection.wants_any(&sequences::all());
    if let Some(ModelSaid(model)) = context.options.said.get() {
        return Ok(Some(open_stated(model, Some(stated))?.tokenizer().clone()));
    }
    let Some(kept) = kept.filter(|_| is_wanted || findings.wants(&OTHER)) else { return Ok(None) };
    match open_stated(&kept, Some(stated)) {
        Ok(folder) => Ok(Some(folder.tokenizer().clone())),
        Err(error) if [Kind::Data, Kind::Usage].contains(&error.kind()) => {
            let place = error.place().map(|place| place.source.to_string());
            let place = place.map_or_else(|| manifest.to_path_buf(), PathBuf::from);
            findings.add(&OTHER, &place, error.without_place());
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Reports files that no manifest states: readers would take a template among them for the template of the tokens.
fn surplus(root: &Path, manifests: &Manifests, findings: &mut Findings<'_>) -> Result<()> {
    let stated: BTreeSet<&Path> = manifests.tokenizer_files().map(|file| &*file.path).collect();
    for path in kept_files(root)?.iter().filter(|path| !stated.contains(path.as_path())) {
        findings.add(&OTHER, path, "no manifest names it");
    }
    Ok(())
}
