//! The spans and masks of a token sequence: which tokens are trained on, and as what.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::batch::{Header, Parameters};
use crate::error::{Error, Result};
use crate::record::segment::Segment;
use crate::record::statements::{ALIGNMENT, SPANS};
use crate::wording::exactly;

/// Which assistant channels are supervised, and with which span id (1..255; 0 is ignored).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spans {
    channels: Vec<ChannelSpan>,
}

/// The argument `CHANNEL=ID`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelSpan {
    pub channel: String,
    pub id: u8,
}

impl FromStr for ChannelSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<ChannelSpan, String> {
        let parts = text.rsplit_once('=').filter(|(channel, _)| !channel.is_empty());
        let id = parts.and_then(|(_, id)| id.parse().ok());
        match (parts, id) {
            (Some((channel, _)), Some(id)) => Ok(ChannelSpan { channel: channel.to_string(), id }),
            _ => {
                Err("expected CHANNEL=ID with an ID from 0 to 255, as in commentary=1".to_string())
            }
        }
    }
}

/// Which token the masks describe at position t.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alignment {
    /// `tokens[t + 1]`, the label at t, for a trainer with `labels = tokens[1:]`.
    Label,
    /// `tokens[t]` itself.
    Token,
}

impl Alignment {
    /// Whether a header states that masks are about their own token.
    pub fn is_token_in(header: &Header) -> bool {
        header.get(&ALIGNMENT) == Some(Alignment::Token)
    }

    /// Refuses masks that are about their own token: the output would be shifted.
    pub fn refuse_token_in(header: &Header) -> Result<()> {
        if Alignment::is_token_in(header) {
            Err(Error::usage("the masks are token-aligned (span-mask --align token)")
                .hint("span-mask --align label"))
        } else {
            Ok(())
        }
    }

    /// Returns its name in a stream's header.
    pub fn name(self) -> &'static str {
        match self {
            Alignment::Label => "label",
            Alignment::Token => "token",
        }
    }

    /// Returns the alignment that the header or a flag states (NDJSON has no header); the two must not
    /// contradict each other. If neither states one, the alignment is the default of span-mask.
    pub fn of(header: &Header, flag: Option<Alignment>) -> Result<Alignment> {
        let stated = header.get(&ALIGNMENT);
        match (stated, flag) {
            (Some(stated), Some(flag)) if stated != flag => Err(Error::usage(format!(
                "--align {}: the header says that the masks are {}-aligned",
                flag.name(),
                stated.name()
            ))),
            _ => Ok(flag.or(stated).unwrap_or(Alignment::Label)),
        }
    }
}

impl Spans {
    /// Returns the contract's spans, analysis 1 and final 2, changed and extended by `named`.
    pub fn synth_kd_v1(named: &[ChannelSpan]) -> Spans {
        let mut spans = Spans { channels: Vec::new() };
        let contract = [("analysis", 1), ("final", 2)];
        let contract = contract.map(|(channel, id)| ChannelSpan { channel: channel.into(), id });
        for span in contract.iter().chain(named) {
            spans.channels.retain(|known| known.channel != span.channel);
            spans.channels.push(span.clone());
        }
        spans
    }

    /// Returns the contract's spans, changed and extended by an object `{"channel": id}`; values
    /// that are not ids are left out.
    pub fn from_json(object: &serde_json::Value) -> Spans {
        let named: Vec<ChannelSpan> = object
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(channel, id)| {
                let id = u8::try_from(id.as_u64()?).ok()?;
                Some(ChannelSpan { channel: channel.clone(), id })
            })
            .collect();
        Spans::synth_kd_v1(&named)
    }

    /// Returns the spans that are stated; `None` if they are not known.
    pub fn stated(parameters: &Parameters) -> Option<Spans> {
        parameters.value(&SPANS).map(Spans::from_json)
    }

    /// Returns the span id of each channel, as headers and manifests state it.
    pub fn to_json(&self) -> serde_json::Value {
        let ids = self.channels.iter().map(|span| (span.channel.clone(), span.id.into()));
        serde_json::Value::Object(ids.collect())
    }

    pub fn channels(&self) -> &[ChannelSpan] {
        &self.channels
    }

    /// Appends the span ids that follow from the messages of a sequence: the rule of all masks. `stated` are the span ids
    /// that it has, or its loss mask; without spans a message has the id that these have at its beginning.
    /// `is_weighted`: messages may have no span because of weights that are not known.
    pub fn derive<'a>(
        spans: Option<&Spans>,
        segments: impl Iterator<Item = Segment<'a>>,
        (stated, is_weighted): (&[u8], bool),
        alignment: Alignment,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        match spans {
            Some(spans) if is_weighted => spans.append_weighted(segments, stated, alignment, out),
            Some(spans) => spans.append(segments, stated.len(), alignment, out),
            None => Spans::append_stated(segments, stated, alignment, out),
        }
    }

    /// Returns the span id of a message by its role and channel.
    pub fn of(&self, segment: &Segment<'_>) -> u8 {
        let channel = segment.channel.filter(|_| segment.role == "assistant");
        let span = channel.and_then(|name| self.channels.iter().find(|s| s.channel == name));
        span.map_or(0, |span| span.id)
    }

    /// Appends the span id of each of `length` positions. Wrapper tokens belong to their message; a
    /// token in no segment (the EOD) has 0. The segments must follow one another within the
    /// sequence; on an error nothing is appended.
    pub fn append<'a>(
        &self,
        segments: impl Iterator<Item = Segment<'a>>,
        length: usize,
        alignment: Alignment,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        append(segments, length, alignment, out, |segment, _| {
            if segment.is_trained { self.of(segment) } else { 0 }
        })
    }

    /// Does the same as [`Spans::append`] if some messages are not trained on and it is not known which:
    /// a message gets no span if `stated` has none at its beginning.
    pub fn append_weighted<'a>(
        &self,
        segments: impl Iterator<Item = Segment<'a>>,
        stated: &[u8],
        alignment: Alignment,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        append(segments, stated.len(), alignment, out, |segment, first| {
            if stated.get(first) == Some(&0) { 0 } else { self.of(segment) }
        })
    }

    /// Does the same as [`Spans::append`] if the spans are not known: an assistant's message in a channel
    /// that may be trained on gets the id that `stated` has at its beginning.
    pub fn append_stated<'a>(
        segments: impl Iterator<Item = Segment<'a>>,
        stated: &[u8],
        alignment: Alignment,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        append(segments, stated.len(), alignment, out, |segment, first| {
            let is_in_channel = segment.role == "assistant" && segment.channel.is_some();
            let may_be = is_in_channel && segment.is_trained;
            stated.get(first).copied().filter(|_| may_be).unwrap_or(0)
        })
    }
}

/// `id_of` returns the span id of a segment; its second argument is the segment's first position in the
/// masks.
fn append<'a>(
    segments: impl Iterator<Item = Segment<'a>>,
    length: usize,
    alignment: Alignment,
    out: &mut Vec<u8>,
    id_of: impl Fn(&Segment<'a>, usize) -> u8,
) -> Result<(), String> {
    let start = out.len();
    // Spans are shifted left by one and padded with one 0: the span of token t+1 is at position t.
    let shift = match alignment {
        Alignment::Label => 1,
        Alignment::Token => 0,
    };
    let mut end = 0;
    for segment in segments {
        let range = usize::try_from(segment.start).ok().zip(usize::try_from(segment.end).ok());
        let Some((from, to)) =
            range.filter(|&(from, to)| end <= from && from <= to && to <= length)
        else {
            out.truncate(start);
            return Err(format!(
                "segment [{}, {}) does not lie after the one before it within {length}",
                segment.start,
                segment.end,
                length = exactly(length, "token")
            ));
        };
        end = to;
        let first = from.saturating_sub(shift);
        out.resize(start + first, 0);
        out.resize(start + to.saturating_sub(shift), id_of(&segment, first));
    }
    out.resize(start + length, 0);
    Ok(())
}

/// Whether a loss mask supervises nothing.
pub fn is_unsupervised(loss_mask: &[u8]) -> bool {
    // Most masks have a 1, which is found quickly; other values are another defect.
    memchr::memchr(1, loss_mask).is_none() && loss_mask.iter().all(|&value| value == 0)
}

/// Returns a warning if nothing is supervised in `without` of `all` sequences.
pub fn unsupervised(without: u64, all: u64) -> Option<String> {
    match (without, all) {
        (0, _) => None,
        (1, 1) => Some("nothing is supervised in its one sequence".to_string()),
        _ if without == all => Some(format!(
            "nothing is supervised in any of its {all}",
            all = exactly(all, "sequence")
        )),
        _ => Some(format!(
            "nothing is supervised in {without} of {all}",
            all = exactly(all, "sequence")
        )),
    }
}

/// Returns a mask that is 1 exactly where a span id is not 0.
pub fn loss_mask(span_id: &[u8]) -> Vec<u8> {
    span_id.iter().map(|&id| u8::from(id > 0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENTS: [Segment<'static>; 3] = [
        Segment { role: "user", channel: None, start: 0, end: 3, is_trained: true },
        Segment {
            role: "assistant",
            channel: Some("analysis"),
            start: 3,
            end: 7,
            is_trained: true,
        },
        Segment { role: "assistant", channel: Some("final"), start: 7, end: 10, is_trained: true },
    ];

    fn spans(alignment: Alignment, length: usize) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        let spans = Spans::synth_kd_v1(&[]);
        spans.append(SEGMENTS.into_iter(), length, alignment, &mut out).map(|()| out)
    }

    #[test]
    fn labels_are_one_ahead() {
        let token = spans(Alignment::Token, 11);
        assert_eq!(token, Ok(vec![0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 0]));
        let label = spans(Alignment::Label, 11);
        assert_eq!(label, Ok(vec![0, 0, 1, 1, 1, 1, 2, 2, 2, 0, 0]));
    }

    #[test]
    fn segments_must_fit() {
        assert!(spans(Alignment::Label, 9).is_err());
    }

    #[test]
    fn what_has_no_weight_has_no_span_whichever_is_stated() {
        let mut segments = SEGMENTS;
        segments[1].is_trained = false;
        let (stated, mut out) = ([0, 0, 1, 1, 1, 1, 2, 2, 2, 0, 0], Vec::new());
        let done = Spans::append_stated(segments.into_iter(), &stated, Alignment::Label, &mut out);
        assert_eq!((done, out), (Ok(()), vec![0, 0, 0, 0, 0, 0, 2, 2, 2, 0, 0]));
    }

    #[test]
    fn named_spans_replace_the_contract_s() {
        let named: Vec<ChannelSpan> =
            ["analysis=0", "commentary=3"].iter().filter_map(|s| s.parse().ok()).collect();
        let spans = Spans::synth_kd_v1(&named);
        let mut out = Vec::new();
        let done = spans.append(SEGMENTS.into_iter(), 11, Alignment::Token, &mut out);
        assert_eq!((done, out), (Ok(()), vec![0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 0]));
        for bad in ["analysis", "=1", "a=256", "a=-1", "a="] {
            assert!(bad.parse::<ChannelSpan>().is_err(), "{bad}");
        }
    }
}
