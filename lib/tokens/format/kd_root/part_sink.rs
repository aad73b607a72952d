//! Writes masked token sequences as one part: first its datasets, then its manifest, which says where
//! the records came from.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::caches::{is_cache, remove_empty_folders};
use super::tokenizer::{refuse_another, remove_kept};
use super::{
    KdConfig, KdPart, KdSink, KdSource, KdTarget, KeptTokenizer, PART_SCHEMA, RowRule, SourceLimits,
};
use crate::batch::{Batch, CUT_SHARD, Counts, Header, Sink, SinkSummary, Statement};
use crate::cli::Rejects;
use crate::error::{At, Error, Result, shown};
use crate::files;
use crate::format::RecordCounts;
use crate::format::mmidx::{MmidxDtype, PrefixLayout};
use crate::harmony::{Alignment, ChannelSpan, Policy, Spans, unsupervised};
use crate::model::{Vocabulary, end_of, o200k};
use crate::ordered::Flow;
use crate::provenance::{BuildRun, git_sha};
use crate::publish::{PendingFile, Target, TargetLock, prepare, publish, publish_prepared};
use crate::record::statements::{
    CONVERSION, ID_FIELD, INPUT_MANIFEST, INPUTS, LIMITS, POLICY, SPANS, TOKENIZER,
};
use crate::record::tokens::Tokens;
use crate::stream::row_json;
use crate::tokenizer::EOD;

/// What an Arrow stream's header says about its masks. NDJSON has no header, so flags may say it there.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "What the header of an Arrow stream says, for NDJSON")]
pub struct AssertedSource {
    /// The records were accepted under this policy: synth-kd-v1 or chat; without it the part states none
    #[arg(long, value_enum)]
    #[arg(value_name = "POLICY", hide_possible_values = true)]
    pub policy: Option<Policy>,

    /// An assistant channel was trained on under this span id (repeatable; analysis is then 1 and final
    /// 2 unless you say otherwise; without --span the part states no spans)
    #[arg(long, value_name = "CHANNEL=ID")]
    pub span: Vec<ChannelSpan>,
}

impl AssertedSource {
    /// States in a header what the flags say; it must not say anything else.
    pub fn state(&self, header: &mut Header) -> Result<()> {
        let policy = self.policy.map(|policy| policy.name().to_string());
        state("--policy", header, &POLICY, policy)?;
        // (As span-mask states them.)
        let spans = (!self.span.is_empty()).then(|| Spans::synth_kd_v1(&self.span).to_json());
        state("--span", header, &SPANS, spans)
    }
}

/// States in a header what a flag says, if it is given. Fails if the header states another value.
fn state<T: Serialize + DeserializeOwned + PartialEq>(
    flag: &str,
    header: &mut Header,
    of: &Statement<T>,
    asserted: Option<T>,
) -> Result<()> {
    let Some(asserted) = asserted else { return Ok(()) };
    if header.get(of).is_some_and(|stated| stated != asserted) {
        return Err(Error::usage(format!("{flag} is not what the stream's header says")));
    }
    header.set(of, asserted);
    Ok(())
}

/// Returns where records with this header came from.
fn source(header: &Header) -> Result<KdSource> {
    let of_chats = || Some(header.get(&CONVERSION)?.get("id_field")?.as_str()?.to_string());
    let limits = header.get(&LIMITS).unwrap_or_default();
    let shard = header.get(&CUT_SHARD).or(limits.shard);
    Ok(KdSource {
        inputs: header.get(&INPUTS),
        manifest: header.parameters.read(&INPUT_MANIFEST)?,
        policy: header.get(&POLICY),
        limits: SourceLimits { rows_per_shard: None, shard, ..limits },
        tokenizer: Some(header.get(&TOKENIZER).unwrap_or_else(|| o200k(None))),
        spans: header.get(&SPANS),
        id_field: header.get(&ID_FIELD).or_else(of_chats),
    })
}

/// Returns the config of the contract, with the roles of the policy and the supervised channels, as
/// far as these are known.
fn config(target: &KdTarget, source: &KdSource, header: &Header) -> KdConfig {
    let mut config = KdConfig::synth_kd_v1(target.valid_fraction());
    // (Documents of another tokenizer have an end if one was appended.)
    let is_o200k = Vocabulary::of(source.tokenizer.as_ref()).is_o200k();
    config.eod_token_id = if is_o200k { Some(EOD) } else { end_of(header) };
    config.roles_preserved = config.roles_preserved.filter(|_| source.policy.is_some());
    if source.policy.as_deref() == Some(Policy::Chat.name()) {
        config.roles_preserved.iter_mut().for_each(|roles| roles.push("tool".to_string()));
    }
    config.id_field.clone_from(&source.id_field);
    let spans = source.spans.as_ref().and_then(Value::as_object);
    let by_contract = Some(Spans::synth_kd_v1(&[]).to_json());
    config.spans = spans.filter(|_| source.spans != by_contract).map(|spans| {
        let ids = spans.iter().filter_map(|(channel, id)| Some((channel.clone(), id.as_i64()?)));
        ids.collect()
    });
    config.assistant_channels = spans.map(|spans| {
        let supervised = spans.iter().filter(|(_, id)| id.as_u64() != Some(0));
        supervised.map(|(channel, _)| channel.clone()).collect()
    });
    config
}

/// Writes one part.
pub struct PartSink {
    target: KdTarget,
    layout: PrefixLayout,
    dtype: MmidxDtype,
    overwrite: bool,
    sequences: KdSink,
    rule: Option<RowRule>,
    allow_unsupervised: bool,
    written: u64,
    /// The tokenizer that the root keeps.
    kept: Option<KeptTokenizer>,
    /// The header; its provenance chain goes into the manifest.
    header: Header,
    source: KdSource,
    start: Instant,
}

impl PartSink {
    /// `header` is the header of the records, with what the user says about them; its provenance chain goes into the
    /// manifest.
    pub fn create(
        target: KdTarget,
        layout: PrefixLayout,
        dtype: MmidxDtype,
        ids: bool,
        overwrite: bool,
        header: Header,
    ) -> Result<PartSink> {
        Alignment::refuse_token_in(&header)?;
        let source = source(&header)?;
        let vocabulary = Vocabulary::of(source.tokenizer.as_ref());
        let sequences = KdSink::new(&target, layout, dtype, ids, vocabulary);
        Ok(PartSink {
            target,
            layout,
            dtype,
            overwrite,
            sequences,
            rule: None,
            allow_unsupervised: false,
            written: 0,
            kept: None,
            header,
            source,
            start: Instant::now(),
        })
    }

    /// Refuses rows that break this rule.
    pub fn rule(self, rule: RowRule) -> PartSink {
        PartSink { rule: Some(rule), ..self }
    }

    /// Keeps the tokenizer in the root, unless it is o200k. The user names its model, or else the stream does. A root
    /// that keeps another tokenizer is refused, unless it holds only a part that is replaced.
    pub fn keeping(self, model: Option<&Path>, template: Option<&Path>) -> Result<PartSink> {
        let KdTarget::Root { root, .. } = &self.target else { return Ok(self) };
        let kept = KeptTokenizer::of_header(&self.header, model, template)?;
        // (What somebody else publishes just now is looked at when this is published.)
        if files::is_directory(root)?
            && let Some(lock) = TargetLock::take_if_free(root)?
        {
            refuse_another(root, kept.as_ref(), &self.replaced(), &lock)?;
        }
        Ok(PartSink { kept, ..self })
    }

    /// Returns whether the part of a name is replaced.
    fn replaced(&self) -> impl Fn(&str) -> bool + use<> {
        let (overwrite, own) = (self.overwrite, self.target.name());
        move |name| overwrite && name == own
    }

    /// Sets whether a part may be published in which nothing is supervised.
    pub fn allow_unsupervised(self, allow_unsupervised: bool) -> PartSink {
        PartSink { allow_unsupervised, ..self }
    }

    /// Returns warnings about sequences in which nothing is supervised.
    fn unsupervised(&self) -> Result<Vec<String>> {
        let (without, all) = (self.sequences.unsupervised(), self.written);
        let Some(cause) = unsupervised(without, all) else { return Ok(Vec::new()) };
        if without == all && !self.allow_unsupervised {
            Err(Error::data(cause).hint("span-mask --span CHANNEL=ID"))
        } else {
            Ok(vec![cause])
        }
    }
}

impl Sink for PartSink {
    fn write(&mut self, mut batch: Batch, rejects: &mut Rejects) -> Result<Flow> {
        let records = batch.records.clone();
        let view = Tokens::of(&records)?;
        self.written += self.sequences.write(&view, &mut self.rule, |row, reason| {
            batch.reject_row((&records, row), view.id(row), reason, row_json);
        })?;
        rejects.take(batch.rejected)?;
        Ok(Flow::Continue)
    }

    fn finish(self, counts: Counts) -> Result<SinkSummary> {
        let mut warnings = self.unsupervised().at(self.target.name())?;
        let replaced = self.replaced();
        let PartSink { target, layout, dtype, kept, header, source, .. } = self;
        let (mut files, splits) = self.sequences.finish(&target)?;
        let config = (layout == PrefixLayout::Triple).then(|| config(&target, &source, &header));
        let part = KdPart {
            schema_version: PART_SCHEMA.to_string(),
            name: target.name(),
            git_sha: git_sha(),
            config_hash: config.as_ref().map(KdConfig::known_sha256).transpose()?.flatten(),
            config,
            dtype: dtype.name().to_string(),
            source,
            tokenizer_files: kept.as_ref().map(KeptTokenizer::stated),
            records: RecordCounts::written(self.written, counts),
            splits,
            provenance: header.provenance,
            made: None,
            run: BuildRun::since(self.start),
        };
        files.push(part.pending(&target.manifest())?);
        prepare(&files)?;
        let lock = TargetLock::take(&target.directory())?;
        let root = matches!(target, KdTarget::Root { .. }).then(|| target.root());
        if let Some(root) = root {
            // (Another writer may have been here meanwhile.)
            refuse_another(root, kept.as_ref(), &replaced, &lock)?;
            let keep = |kept: &KeptTokenizer| kept.publish_locked(root, self.overwrite, &lock);
            kept.as_ref().map_or(Ok(()), keep)?;
        }
        let withdrawn = publish_prepared(&target, files, self.overwrite, &lock)?;
        warnings.extend(clean_up_withdrawn(&withdrawn));
        if let Some(root) = root.filter(|_| kept.is_none() && self.overwrite) {
            remove_kept(root, &lock)?;
        }
        Ok(SinkSummary { made: Some(part.summary()), warnings, left: None })
    }
}

/// Publishes a part, its manifest last. Returns notes for the user.
pub fn publish_part(
    target: &KdTarget,
    files: Vec<PendingFile>,
    overwrite: bool,
) -> Result<Vec<String>> {
    Ok(clean_up_withdrawn(&publish(target, files, overwrite)?))
}

/// Removes the folders that are empty after files were withdrawn. Returns notes for the user.
pub(super) fn clean_up_withdrawn(withdrawn: &[PathBuf]) -> Vec<String> {
    let (caches, manifests): (Vec<&PathBuf>, Vec<&PathBuf>) =
        withdrawn.iter().partition(|path| is_cache(path));
    remove_empty_folders(&caches);
    let was_of_others = |path: &&PathBuf| {
        format!("{} was made before this part and is removed; try: ds-manifest", shown(path))
    };
    let mut warnings: Vec<String> = manifests.iter().map(was_of_others).collect();
    if let Some(first) = caches.first() {
        let count = caches.len();
        let (plural, first) = (if count == 1 { "file" } else { "files" }, shown(first));
        warnings.push(format!(
            "{count} {plural} of Megatron's index caches of the old data are removed: {first}, ..."
        ));
    }
    warnings
}
