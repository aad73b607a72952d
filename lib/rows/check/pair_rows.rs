//! Files of pairs for trainers.

use std::path::Path;

use super::{
    CheckContext, CheckedChunk, Family, FindingPlace, Findings, Outcome, PairChecker, PairRules,
    checks, inventory,
};
use crate::batch::Header;
use crate::check::{Check, ModelSaid};
use crate::error::{At, Error, Result};
use crate::format::pair_rows::{self, OpenedPairRows, PairRowsManifest, PartTokens, pair_hash};
use crate::record::PAIR;
use crate::record::pairs::Pairs;
use crate::wording::of_plural;

checks! {
    FORM: Error Structure "pairs.form",
        "no pairs of seq-pack: damaged, a manifest that cannot be read, or other columns than its form has";
    COUNTS: Error Content "pairs.counts",
        "the numbers of rows, pairs or tokens are not the manifest's: cut, or made otherwise";
    HASH: Error Content "pairs.hash",
        "tokens were changed after they were written";
}

pub struct PairRowsFamily;

impl Family for PairRowsFamily {
    fn checks(&self) -> Vec<&'static Check> {
        CHECKS.to_vec()
    }

    fn knows(&self, path: &Path) -> Result<bool> {
        (pair_rows::FORMAT.knows)(path)
    }

    fn check(&self, path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome> {
        let mut findings = context.findings();
        let opened = OpenedPairRows::if_rows(path)?;
        let opened = opened.ok_or_else(|| Error::usage("is no file of pairs").at(path))?;
        let mut outcome = Outcome {
            path: path.to_path_buf(),
            what: "pairs for trainers".to_string(),
            records: ("rows", opened.file.rows()),
            bytes: opened.file.bytes(),
            ..Outcome::default()
        };
        if let Some(manifest) = readable(path, opened.manifest(), &mut findings)? {
            outcome.what = format!("pairs for trainers ({})", manifest.form.name());
            outcome.notes.push(manifest.summary());
            let pages = opened.file.check_pages().at(path);
            readable(path, pages, &mut findings)?;
            let remark = pairs(opened, &manifest, context, &mut findings)?;
            outcome.notes.extend(remark.map(str::to_string));
        }
        outcome.groups = findings.into_groups();
        Ok(outcome)
    }
}

/// Returns what was read. If it cannot be decoded, adds a finding and returns `None`.
fn readable<T>(path: &Path, read: Result<T>, findings: &mut Findings<'_>) -> Result<Option<T>> {
    inventory::readable(read, path, findings, || Ok(&FORM))
}

/// Checks every pair, and the numbers of all; returns what is to be said of them.
fn pairs(
    opened: OpenedPairRows,
    manifest: &PairRowsManifest,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<Option<&'static str>> {
    let path = opened.path.clone();
    let path = path.as_path();
    let rows = opened.file.rows();
    let mut counts = vec![("rows", rows, manifest.rows)];
    let mut remark = None;
    if context.selection.wants_contents() {
        let parameters = manifest.parameters.clone();
        let header = Header { parameters, ..Header::of_record(&PAIR) };
        let named = context.options.said.get().map(|ModelSaid(folder)| folder.as_path());
        let rules = PairRules::of(&header, named)?;
        remark = rules.not_checked();
        let make_worker = || {
            let mut checker = PairChecker::new(&rules);
            move |(first, batch), findings: &mut Findings<'_>| {
                let pairs = Pairs::of(&batch)?;
                let (mut tokens, mut hash) = (PartTokens::default(), 0u64);
                for row in 0..pairs.len() {
                    let parts = pairs.parts(row);
                    let at = FindingPlace::file(path).record("row", first + row as u64);
                    checker.pair(at.id(pairs.id(row)), parts, findings);
                    tokens.add(parts);
                    hash = hash.wrapping_add(pair_hash(parts));
                }
                let PartTokens { prompt, chosen, rejected } = tokens;
                let (records, bytes) = (pairs.len() as u64, 8 * (prompt + chosen + rejected));
                Ok(CheckedChunk { records, bytes, summary: (tokens, hash) })
            }
        };
        let (mut all, mut sum, mut count) = (PartTokens::default(), 0u64, 0);
        let blocks = opened.blocks(manifest.form);
        let checked = context.check_chunks(blocks, make_worker, findings, |chunk, _| {
            let (own, hash) = chunk.summary;
            count += chunk.records;
            all.prompt += own.prompt;
            all.chosen += own.chosen;
            all.rejected += own.rejected;
            sum = sum.wrapping_add(hash);
            Ok(())
        });
        if readable(path, checked, findings)?.is_some() {
            let PartTokens { prompt, chosen, rejected } = manifest.tokens;
            counts.extend([
                ("pairs", count, manifest.pairs),
                ("tokens of prompts", all.prompt, prompt),
                ("tokens of chosen answers", all.chosen, chosen),
                ("tokens of rejected answers", all.rejected, rejected),
            ]);
            let hash = format!("{sum:016x}");
            if hash != manifest.hash {
                let message = format_args!("the pairs have the hash {hash}, not the manifest's");
                findings.add(&HASH, path, message);
            }
        }
    }
    for (what, found, stated) in counts.into_iter().filter(|(_, found, stated)| found != stated) {
        let what = of_plural(found, what);
        findings.add(&COUNTS, path, format_args!("{found} {what}; the manifest states {stated}"));
    }
    if let Some(cause) = manifest.records.wrong_read() {
        findings.add(&COUNTS, path, cause);
    }
    Ok(remark)
}
