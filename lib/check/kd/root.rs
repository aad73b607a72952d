//! A place of Megatron datasets as a whole: its prefixes one after another, its manifests, what is
//! repeated, what lies around.

use std::fs;
use std::path::Path;

use super::manifest::{Manifests, Seen};
use super::{Place, Prefix, contents, frames, sequences};
use crate::check::inventory;
use crate::check::repeats::Repeats;
use crate::check::{At, Check, Context, Findings, Outcome};
use crate::cli::{Result, shown};
use crate::format::mmidx::{Dataset, Dtype, Layout};

static OVERLAP: Check = Check::warning(
    "kd.root.overlap",
    "the same sequence in train and valid: what is validated was trained on",
)
.hint("the split is by id: equal texts under two ids are legal, but repeat nothing new");
static REPEATED: Check = Check::warning(
    "kd.root.repeated",
    "a sequence that stands in its split before: it counts double",
);
static FRACTION: Check = Check::warning(
    "kd.root.fraction",
    "the valid split is far larger or smaller than its fraction makes likely",
)
.structure();
static TEMPORARY: Check = Check::warning(
    "kd.root.temporary",
    "a temporary file of a writer that is running, or was killed",
)
.structure()
.hint("the next run of the writer sweeps those whose process is gone");

pub(super) static CHECKS: &[&Check] = &[&OVERLAP, &REPEATED, &FRACTION, &TEMPORARY];

/// Where a sequence is, in one number: the prefix in the upper bits.
const SEQUENCE_BITS: u32 = 44;

pub(super) fn check(path: &Path, place: &Place, context: &mut Context<'_>) -> Result<Outcome> {
    let mut findings = context.findings();
    let mut notes = Vec::new();
    let manifests = Manifests::read(place, &mut findings)?;
    if !manifests.any {
        notes.push("no manifest: hashes and counts cannot be compared".to_string());
    }
    let wants_repeats = context.selection.wants_any(&[&OVERLAP, &REPEATED]);
    let wants_contents = wants_repeats || context.selection.wants_any(sequences::CHECKS);
    let mut repeats = Repeats::default();
    let mut seen: Vec<(&Prefix, Seen)> = Vec::new();
    let mut opened: Vec<Option<Dataset>> = Vec::new();
    let mut bytes = 0;
    for (number, prefix) in place.prefixes.iter().enumerate() {
        let sound = frames::check(prefix, &mut findings)?;
        bytes += bytes_of(prefix);
        let Some(sound) = sound else {
            notes.push(format!("{}: contents not looked at", shown(&prefix.path)));
            opened.push(None);
            continue;
        };
        let is_tokens = match prefix.layout {
            Layout::Triple => true,
            Layout::Single => {
                let int32 = sound.datasets.first().is_some_and(|d| d.index.dtype == Dtype::Int32);
                int32 && manifests.any && manifests.is_harmony()
            }
        };
        if !is_tokens {
            notes.push(format!(
                "{}: nothing says that these are o200k tokens; values not looked at",
                shown(&prefix.path)
            ));
        }
        let mut spans = None;
        if is_tokens && wants_contents {
            let rules = manifests.rules(&prefix.path, context.options.policy);
            let repeats = wants_repeats.then_some(&mut repeats);
            let place = |sequence| (number as u64) << SEQUENCE_BITS | sequence;
            let counted = contents::check(&sound, &rules, repeats, place, context, &mut findings)?;
            spans = (prefix.layout == Layout::Triple).then_some(counted);
        }
        let dtype = sound.datasets.first().map_or("", |dataset| dataset.index.dtype.name());
        let (rows, tokens) = (sound.sequences, sound.values);
        seen.push((prefix, Seen { rows, tokens, dtype, spans }));
        opened.push(sound.datasets.into_iter().next());
    }
    manifests.compare(&seen, context, &mut findings)?;
    repeated(repeats, place, &opened, &mut findings)?;
    fraction(path, &seen, manifests.valid_fraction(), &mut findings);
    temporaries(place, &mut findings)?;
    let what = match (place.is_root, place.prefixes.as_slice()) {
        (true, prefixes) => format!("Megatron root, {} prefixes", prefixes.len()),
        (false, [Prefix { layout: Layout::Single, .. }]) => "Megatron dataset".to_string(),
        (false, [_]) => "Megatron triple".to_string(),
        (false, prefixes) => format!("directory of {} Megatron prefixes", prefixes.len()),
    };
    Ok(Outcome {
        path: path.to_path_buf(),
        what,
        records: ("sequences", seen.iter().map(|(_, seen)| seen.rows).sum()),
        bytes,
        notes,
        kinds: findings.into_kinds(),
    })
}

fn bytes_of(prefix: &Prefix) -> u64 {
    let members = prefix.layout.members().iter();
    let files =
        members.flat_map(|(suffix, ..)| [".bin", ".idx"].map(|end| format!("{suffix}{end}")));
    let paths = files.map(|end| crate::format::mmidx::with_suffix(&prefix.path, &end));
    paths.filter_map(|path| fs::metadata(path).ok()).map(|metadata| metadata.len()).sum()
}

/// Sequences that are there more than once; equal hashes are looked at again.
fn repeated(
    repeats: Repeats,
    place: &Place,
    opened: &[Option<Dataset>],
    findings: &mut Findings<'_>,
) -> Result<()> {
    let prefix_of = |at: u64| (at >> SEQUENCE_BITS) as usize;
    let sequence_of = |at: u64| at & ((1 << SEQUENCE_BITS) - 1);
    let read = |at: u64| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if let Some(dataset) = &opened[prefix_of(at)] {
            let (mut lengths, mut offsets) = (Vec::new(), Vec::new());
            let index = &dataset.index;
            index
                .read_lengths(sequence_of(at), 1, &mut lengths)
                .and_then(|()| index.read_offsets(sequence_of(at), 1, &mut offsets))
                .map_err(|e| dataset.index_error(e))?;
            if let (Some(length), Some(offset)) = (lengths.first(), offsets.first()) {
                dataset.read_sequence(*offset, *length, &mut bytes)?;
            }
        }
        Ok(bytes)
    };
    repeats.candidates(|places| {
        let mut left = places.to_vec();
        while let [first, others @ ..] = left.as_slice() {
            let bytes = read(*first)?;
            let (mut same, mut different) = (vec![*first], Vec::new());
            for &other in others {
                if read(other)? == bytes { same.push(other) } else { different.push(other) }
            }
            tell_repeats(&same, place, prefix_of, sequence_of, findings);
            left = different;
        }
        Ok(())
    })
}

fn tell_repeats(
    same: &[u64],
    place: &Place,
    prefix_of: impl Fn(u64) -> usize,
    sequence_of: impl Fn(u64) -> u64,
    findings: &mut Findings<'_>,
) {
    let split = |at: u64| place.prefixes[prefix_of(at)].split;
    let name = |at: u64| {
        let prefix = &place.prefixes[prefix_of(at)];
        let split = prefix.split.map_or(String::new(), |split| format!("{split}/"));
        let name = prefix.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{split}{name}, sequence {}", sequence_of(at))
    };
    for (number, &at) in same.iter().enumerate().skip(1) {
        let earlier = &same[..number];
        let of_split = earlier.iter().find(|&&other| split(other) == split(at));
        let (check, other) = match of_split {
            Some(other) => (&REPEATED, *other),
            None => (&OVERLAP, same[0]),
        };
        let file = &place.prefixes[prefix_of(at)].path;
        let at = At::file(file).record("sequence", sequence_of(at));
        findings.add(check, at, || format!("is that of {}", name(other)));
    }
}

/// The share of the valid split. The split is by hash, so its size is binomial; six standard
/// deviations happen once in a billion roots.
fn fraction(path: &Path, seen: &[(&Prefix, Seen)], told: Option<f64>, findings: &mut Findings<'_>) {
    let rows = |name: &str| -> u64 {
        let of = seen.iter().filter(|(prefix, _)| prefix.split == Some(name));
        of.map(|(_, seen)| seen.rows).sum()
    };
    let (train, valid) = (rows("train"), rows("valid"));
    let total = (train + valid) as f64;
    match told {
        Some(fraction) => {
            let expected = total * fraction;
            let deviation = (total * fraction * (1.0 - fraction)).sqrt();
            if (valid as f64 - expected).abs() > 6.0 * deviation + 1.0 {
                findings.add(&FRACTION, At::file(path), || {
                    format!(
                        "{valid} of {total} sequences are valid; {fraction} of them is asked for"
                    )
                });
            }
        }
        None if valid > train && train + valid > 20 => {
            findings.add(&FRACTION, At::file(path), || {
                format!("{valid} sequences are valid, only {train} are for training")
            })
        }
        None => {}
    }
}

fn temporaries(place: &Place, findings: &mut Findings<'_>) -> Result<()> {
    let below = ["", "train", "valid", "parts"].map(|name| place.base.join(name));
    let directories = if place.is_root { &below[..] } else { &below[..1] };
    for directory in directories.iter().filter(|directory| directory.is_dir()) {
        inventory::temporaries(&inventory::paths_in(directory)?, &TEMPORARY, findings);
    }
    Ok(())
}
