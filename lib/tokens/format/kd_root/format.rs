//! Megatron datasets as a format: what they have, and how they are known and opened.

use std::path::{Path, PathBuf};

use super::tokenizer::{TEMPLATES, TOKENIZER};
use super::{
    KdListing, KdPart, KdReader, ROOT_SCHEMA, find_ids, ids_beside, manifests_of, prefix_of,
};
use crate::error::Result;
use crate::files;
use crate::format::mmidx::PrefixLayout;
use crate::format::whole::{all_there, understood};
use crate::format::{Format, Opener};
use crate::publish::refuse_half_published;

/// Roots, directories and prefixes of Megatron datasets.
pub const FORMAT: Format = Format {
    name: "Megatron datasets",
    owner: "Megatron datasets",
    signs: "train/ or valid/ with shards",
    folders: &["", "train", "valid", "parts", "ids/train", "ids/valid", TOKENIZER, TEMPLATES],
    endings: &["bin", "idx", "jinja", "json", "parquet"],
    is_sign: |folder, name| match folder {
        "parts" => name.ends_with(".json"),
        _ => name.ends_with(".idx"),
    },
    schema: Some(ROOT_SCHEMA),
    knows: |path| Ok(KdListing::of(path)?.is_some()),
    open: Opener::Records(|paths, slice| Ok(Box::new(KdReader::open(paths, slice)?))),
    stated: |path| KdListing::of(path)?.map_or(Ok(Vec::new()), |listing| listing.stated()),
    members: |prefix| {
        let layouts = [PrefixLayout::Triple, PrefixLayout::Single];
        let files = layouts.map(|layout| layout.files(prefix));
        files.concat().into_iter().chain([ids_beside(prefix)]).collect()
    },
    beside,
    refuse_missing,
};

/// Returns the files of a prefix, and its manifests and ids, which may be in other folders of its root.
fn beside(path: &Path) -> Result<Vec<PathBuf>> {
    let of_prefix = |prefix: &Path| -> Result<Vec<PathBuf>> {
        Ok(manifests_of(prefix)?.into_iter().chain(find_ids(prefix)?).collect())
    };
    if files::is_directory(path)? {
        let listing = KdListing::of(path)?.filter(|listing| !listing.is_root);
        let prefixes = listing.iter().flat_map(|listing| &listing.prefixes);
        let all: Result<Vec<_>> = prefixes.map(|prefix| of_prefix(&prefix.path)).collect();
        return Ok(all?.concat());
    }
    let prefix = prefix_of(path)?;
    manifests_of(&prefix)?.iter().try_for_each(|manifest| refuse_half_published(manifest))?;
    let Some(layout) = PrefixLayout::found(&prefix)? else { return Ok(Vec::new()) };
    Ok([layout.files(&prefix), of_prefix(&prefix)?].concat())
}

/// The folder of the part manifests of a root or of prefixes, the ending of their names, and the
/// folder to which their paths are relative, below the dataset's directory.
const PARTS: [(&str, &str, &str); 4] = [
    ("parts", ".json", ""),
    ("", ".part.json", ""),
    ("train", ".part.json", "train"),
    ("valid", ".part.json", "valid"),
];

fn refuse_missing(dataset: &Path) -> Result<()> {
    if !files::is_directory(dataset)? {
        return Ok(());
    }
    for (place, ending, base) in PARTS {
        for manifest in files::paths_if_there(&dataset.join(place))? {
            let name = manifest.file_name().unwrap_or_default().as_encoded_bytes();
            if name.ends_with(ending.as_bytes()) && !name.starts_with(b".") {
                let part = understood(KdPart::read(&manifest))?;
                let splits = part.iter().flat_map(|part| part.splits.values());
                let kept = part.iter().flat_map(|part| &part.tokenizer_files);
                let names =
                    splits.map(|split| &split.files).chain(kept.filter(|_| place == "parts"));
                let names = names.flat_map(|files| files.paths.values());
                all_there(&dataset.join(base), names, &manifest)?;
            }
        }
    }
    Ok(())
}
