//! Tokens records: the same rules as for the sequences of a Megatron dataset, and the segments.

use std::path::Path;

use super::{Looked, position};
use crate::batch::{Batch, Header};
use crate::check::kd::sequences::{Rules, Sequences};
use crate::check::{At, Check, Findings};
use crate::cli::Result;
use crate::harmony::{Alignment, Policy, Segments, Spans, segments_of};
use crate::record::tokens::Tokens;

static NULL: Check =
    Check::error("stream.tokens.null", "a sequence without tokens, or with one mask of the two");
static LENGTHS: Check = Check::error(
    "stream.tokens.lengths",
    "a mask that is longer or shorter than its tokens: all behind it would be shifted",
);
static ALIGNMENT: Check = Check::error(
    "stream.tokens.alignment",
    "masks that speak of their own token: a Megatron dataset wants those of the next",
)
.structure()
.hint("try: span-mask without --align token");
static SEGMENTS: Check = Check::error(
    "stream.tokens.segments",
    "segments that are not those of the messages in the tokens: masks are made from them",
);

pub(super) static CHECKS: &[&Check] = &[&NULL, &LENGTHS, &ALIGNMENT, &SEGMENTS];

/// What is wrong with the header itself.
pub(super) fn header(path: &Path, header: &Header, findings: &mut Findings<'_>) {
    if is_misaligned(header) {
        findings.add(&ALIGNMENT, At::file(path), || {
            "the header says that the masks are token-aligned".to_string()
        });
    }
}

fn is_misaligned(header: &Header) -> bool {
    header.text("alignment") == Some(Alignment::Token.name())
}

pub(super) struct Judge {
    sequences: Sequences,
    segments: Segments,
}

impl Judge {
    /// `said` is the policy where the header has none.
    pub fn new(header: &Header, said: Option<Policy>) -> Judge {
        let policy = header.text("policy").and_then(Policy::from_name).or(said);
        let spans = header.parameters.get("spans");
        let spans = spans.map_or_else(|| Spans::synth_kd_v1(&[]), Spans::from_json);
        let alignment = match is_misaligned(header) {
            true => Alignment::Token,
            false => Alignment::Label,
        };
        Judge {
            sequences: Sequences::new(&Rules { policy, spans: Some(spans), alignment }),
            segments: Segments::default(),
        }
    }

    pub fn look(&mut self, path: &Path, batch: &Batch, looked: &mut Looked<'_>) -> Result<()> {
        let view = Tokens::of(&batch.records)?;
        for row in 0..view.len() {
            let id = view.id(row);
            let at = position(At::file(path), batch.origin.place(row).position).id(id);
            if let Some(id) = id {
                looked.id(row, id);
            }
            let tokens = view.tokens(row);
            if tokens.is_empty() {
                looked.findings.add(&NULL, at, || "has no tokens".to_string());
                continue;
            }
            let masks = match (view.loss_mask(row), view.span_id(row)) {
                (Some(mask), Some(span)) => {
                    let lengths = [mask.len(), span.len()];
                    if lengths != [tokens.len(); 2] {
                        let [mask, span] = lengths;
                        looked.findings.add(&LENGTHS, at, || {
                            let tokens = tokens.len();
                            format!("{tokens} tokens, {mask} in the loss mask, {span} span ids")
                        });
                    }
                    (lengths == [tokens.len(); 2]).then_some((mask, span))
                }
                (None, None) => None,
                _ => {
                    looked.findings.add(&NULL, at, || "has one mask of the two".to_string());
                    None
                }
            };
            self.sequences.check(at, tokens, masks, &mut looked.findings);
            self.segments.clear();
            let known = segments_of(tokens, &mut self.segments).is_ok();
            if let (true, Some(told)) = (known, view.segments(row)) {
                let derived = self.segments.list.iter().map(|segment| {
                    (
                        segment.role.as_str(),
                        self.segments.channel(segment),
                        segment.start,
                        segment.end,
                    )
                });
                let same = told.len() == derived.len()
                    && told.zip(derived).all(|(a, b)| (a.role, a.channel, a.start, a.end) == b);
                if !same {
                    looked
                        .findings
                        .add(&SEGMENTS, at, || "its segments are not its messages".to_string());
                }
            }
        }
        Ok(())
    }
}
