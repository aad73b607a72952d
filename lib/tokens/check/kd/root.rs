//! A directory of Megatron datasets as a whole: its prefixes one after another, its manifests,
//! repeated sequences, leftover files.

use std::path::Path;

use super::frames::ValidPrefix;
use super::ids::{IdChecker, with_segments};
use super::manifest::{Manifests, SeenPrefix};
use super::{FolderCheck, caches, contents, frames, sequences, tokenizer};
use crate::check::inventory;
use crate::check::repeats::{RecordPlace, Repeats, first_and_others};
use crate::check::{CheckContext, FindingPlace, Findings, Outcome, checks};
use crate::error::{At, Result, shown};
use crate::files;
use crate::format::kd_root::{self, KdListing, KdPrefix, TOKENIZER};
use crate::format::mmidx::{MmidxDataset, MmidxDtype, PrefixLayout};
use crate::model::NOT_CHECKED;
use crate::wording::{counted, exactly};

checks! {
    OVERLAP: Warning Content "kd.root.overlap",
        "the same sequence in train and valid: the model is validated on what it was trained on",
        hint "the split is by id: equal texts under two ids are legal, but teach nothing new";
    REPEATED: Warning Content "kd.root.repeated",
        "a sequence that is in its split already: it counts double";
    FRACTION: Warning Structure "kd.root.fraction",
        "the valid split is much larger or smaller than its fraction makes likely";
    UNSUPERVISED: Error Content "kd.root.unsupervised",
        "nothing in the dataset is supervised: training on it teaches nothing",
        hint "no assistant message is in a supervised channel; try: span-mask --span CHANNEL=ID";
    STRAY: Error Structure "kd.root.stray",
        "a dataset in a root, but in none of its splits: readers of the root refuse it",
        hint "another place for it";
    MANIFEST: Warning Structure "kd.root.manifest",
        "with --strict: a root without manifest.json, so that nobody knows whether a shard is missing",
        hint "ds-manifest ROOT, if its parts are all there";
    TEMPORARY: Warning Structure "kd.root.temporary",
        "a temporary file of a writer that is running, or was killed",
        hint "the next run of the writer removes those whose process has ended";
}

/// The folder of a root in which the scripts put rows for trainers.
const ROWS: &str = "rows";

pub(super) fn check(
    path: &Path,
    set: &KdListing,
    rows: FolderCheck,
    context: &mut CheckContext<'_>,
) -> Result<Outcome> {
    let mut findings = context.findings();
    let mut notes = Vec::new();
    let manifests = Manifests::read(set, &mut findings)?;
    if set.is_root && !manifests.has_root {
        let cause = "no manifest.json in the root: whether all shards are there is not known";
        notes.push(format!("{cause}; try: ds-manifest {}", shown(path)));
        if context.options.strict {
            findings.add(&MANIFEST, path, "no manifest.json");
        }
    }
    if !manifests.any {
        notes.push("no manifest: hashes and counts cannot be compared".to_string());
    } else if manifests.lacks_hashes() {
        notes.push("the manifest has no sha256: only sizes and counts are compared".to_string());
    }
    let mut repeats = context.selection.wants_any(&[&OVERLAP, &REPEATED]).then(Repeats::default);
    let mut ids = IdChecker::new(manifests.valid_fraction(), &findings);
    let mut seen: Vec<(&KdPrefix, SeenPrefix)> = Vec::new();
    let mut opened: Vec<Option<MmidxDataset>> = Vec::new();
    let policy = context.options.said.get().copied();
    let tokenizer = tokenizer::check(set, &manifests, context, &mut findings)?;
    for (number, prefix) in set.prefixes.iter().enumerate() {
        let vocabulary = manifests.rules(&prefix.path, None, None).vocabulary;
        let Some(valid) = frames::check(prefix, vocabulary, &mut findings)? else {
            notes.push(format!("{}: contents not checked", shown(&prefix.path)));
            opened.push(None);
            continue;
        };
        ids.check(prefix, &valid, &mut findings)?;
        caches::check(prefix, valid.sequences, &mut findings)?;
        let mut spans = None;
        if !holds_tokens(prefix, &valid, &manifests) {
            let cause = "nothing says that these are o200k tokens; values not checked";
            notes.push(format!("{}: {cause}", shown(&prefix.path)));
        } else if repeats.is_some() || context.selection.wants_any(&sequences::all()) {
            let rules = manifests.rules(&prefix.path, policy, tokenizer.clone());
            let is_unchecked = !rules.vocabulary.is_o200k() && rules.tokenizer.is_none();
            if is_unchecked && !notes.iter().any(|note| note == NOT_CHECKED) {
                notes.push(NOT_CHECKED.to_string());
            }
            let repeats = repeats.as_mut();
            let stored = with_segments(prefix, &valid)?;
            let of = (number, stored.as_ref());
            let found = contents::check(&valid, of, &rules, repeats, context, &mut findings)?;
            spans = (prefix.layout == PrefixLayout::Triple).then_some(found);
        }
        let dtype = valid.datasets.first().map_or("", |dataset| dataset.index.dtype.name());
        seen.push((
            prefix,
            SeenPrefix { rows: valid.sequences, tokens: valid.values, dtype, spans },
        ));
        opened.push(valid.datasets.into_iter().next());
    }
    ids.finish(set, &mut notes, &mut findings)?;
    manifests.compare(&seen, context, &mut findings)?;
    report_repeats(repeats.unwrap_or_default(), set, &opened, &mut findings)?;
    if let Some(prefix) = set.stray() {
        findings.add(&STRAY, &prefix.path, kd_root::STRAY);
    }
    unsupervised(path, &seen, &mut findings);
    if set.is_root {
        rows(&set.base.join(ROWS), context, &mut notes, &mut findings)?;
    }
    fraction(path, &seen, manifests.valid_fraction(), &mut findings);
    temporaries(set, &mut findings)?;
    let what = match (set.is_root, set.prefixes.as_slice()) {
        (true, prefixes) => format!("Megatron root, {}", counted(prefixes.len() as u64, "prefix")),
        (false, [KdPrefix { layout: PrefixLayout::Single, .. }]) => "Megatron dataset".to_string(),
        (false, [_]) => "Megatron triple".to_string(),
        (false, prefixes) => {
            format!("directory of {}", counted(prefixes.len() as u64, "Megatron prefix"))
        }
    };
    Ok(Outcome {
        path: path.to_path_buf(),
        what,
        records: ("sequences", seen.iter().map(|(_, seen)| seen.rows).sum()),
        notes,
        groups: findings.into_groups(),
        ..Outcome::default()
    })
}

/// Whether the values of a prefix are tokens of the vocabulary that is known here.
fn holds_tokens(prefix: &KdPrefix, valid: &ValidPrefix, manifests: &Manifests) -> bool {
    let is_int32 = valid.datasets.first().is_some_and(|d| d.index.dtype == MmidxDtype::Int32);
    prefix.layout == PrefixLayout::Triple || (is_int32 && manifests.any && manifests.is_harmony())
}

/// Reports sequences that occur more than once.
fn report_repeats(
    repeats: Repeats,
    set: &KdListing,
    opened: &[Option<MmidxDataset>],
    findings: &mut Findings<'_>,
) -> Result<()> {
    let read = |at: RecordPlace| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if let Some(dataset) = &opened[at.set] {
            let (mut lengths, mut offsets) = (Vec::new(), Vec::new());
            let index = &dataset.index;
            index
                .read_lengths(at.number, 1, &mut lengths)
                .and_then(|()| index.read_offsets(at.number, 1, &mut offsets))
                .at(dataset.idx_path())?;
            if let (Some(length), Some(offset)) = (lengths.first(), offsets.first()) {
                dataset.read_sequence(*offset, *length, &mut bytes)?;
            }
        }
        Ok(bytes)
    };
    repeats.equal(read, |earlier, same| {
        let split = |at: &RecordPlace| set.prefixes[at.set].split;
        let Some((first, others)) = first_and_others(earlier, same) else { return };
        let mut firsts = vec![first];
        for at in earlier {
            if !firsts.iter().any(|first| split(first) == split(at)) {
                firsts.push(at);
            }
        }
        for at in others {
            let of_split = firsts.iter().find(|first| split(first) == split(at));
            let (check, other) = match of_split {
                Some(other) => (&REPEATED, *other),
                None => {
                    firsts.push(at);
                    (&OVERLAP, first)
                }
            };
            let name = inventory::name_of(&set.prefixes[other.set].path);
            let split = split(other).map_or(String::new(), |split| format!("{split}/"));
            let message = format_args!("is that of {split}{name}, sequence {}", other.number);
            let file = FindingPlace::file(&set.prefixes[at.set].path);
            findings.add(check, file.record("sequence", at.number), message);
        }
    })
}

/// Reports a dataset with masks if all of them were read and they supervise nothing.
fn unsupervised(path: &Path, seen: &[(&KdPrefix, SeenPrefix)], findings: &mut Findings<'_>) {
    let spans: Option<Vec<&[u64; 256]>> =
        seen.iter().map(|(_, seen)| seen.spans.as_ref()).collect();
    let Some(spans) = spans.filter(|spans| !spans.is_empty()) else { return };
    let is_supervised = |spans: &&[u64; 256]| spans.iter().skip(1).any(|&positions| positions > 0);
    let rows = seen.iter().any(|(_, seen)| seen.rows > 0);
    if rows && !spans.iter().any(is_supervised) {
        findings.add(&UNSUPERVISED, path, "no position has a span id over 0");
    }
}

/// Checks the share of the valid split. The split is by hash, so its size is binomial; six standard
/// deviations happen once in a billion roots.
fn fraction(
    path: &Path,
    seen: &[(&KdPrefix, SeenPrefix)],
    wanted: Option<f64>,
    findings: &mut Findings<'_>,
) {
    let rows = |name: &str| -> u64 {
        let of = seen.iter().filter(|(prefix, _)| prefix.split == Some(name));
        of.map(|(_, seen)| seen.rows).sum()
    };
    let (train, valid) = (rows("train"), rows("valid"));
    let total = (train + valid) as f64;
    match wanted {
        Some(fraction) => {
            let expected = total * fraction;
            let deviation = (total * fraction * (1.0 - fraction)).sqrt();
            if (valid as f64 - expected).abs() > 6.0 * deviation + 1.0 {
                let share = format_args!("{valid} of {total} sequences are valid");
                let message = format_args!("{share}; the stated fraction is {fraction}");
                findings.add(&FRACTION, path, message);
            }
        }
        None if valid > train && train + valid > 20 => {
            let valid = exactly(valid, "sequence");
            let message = format_args!("valid has {valid}, training only {train}");
            findings.add(&FRACTION, path, message);
        }
        None => {}
    }
}

fn temporaries(set: &KdListing, findings: &mut Findings<'_>) -> Result<()> {
    let below = ["", "train", "valid", "parts", "ids/train", "ids/valid", TOKENIZER, ROWS];
    let below = below.map(|name| set.base.join(name));
    let directories = if set.is_root { &below[..] } else { &below[..1] };
    for directory in directories {
        inventory::temporaries(&files::paths_if_there(directory)?, &TEMPORARY, findings);
    }
    Ok(())
}
