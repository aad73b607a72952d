//! Numbers of token sequences.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::TokensKind;
use crate::batch::Header;
use crate::error::Result;
use crate::kinds::conversation::span_name;
use crate::record::statements::{PACKED, StatedRows};
use crate::record::tokens::Tokens;
use crate::stat::{
    Answer, Distribution, LongestRecords, Messages, Numbers, PackedRows, Parts, Sections,
    StatOptions, StatView, key, share,
};
use crate::wording::grouped;

/// How many span ids (none, reasoning, final) are counted fast, many positions at once.
const FEW: usize = 3;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TokensStat {
    pub tokens: u64,
    /// The lengths of the sequences, in tokens.
    pub lengths: Distribution,
    /// Sequences that have loss masks.
    pub masked: u64,
    /// Sequences that have span ids.
    pub spanned: u64,
    /// Positions whose loss mask is not 0.
    pub supervised: u64,
    /// Positions by span id, without id 0.
    pub spans: BTreeMap<u8, u64>,
    /// Messages, with their lengths in tokens, including header and end.
    pub messages: Messages,
    /// Tokens in no message, such as the end of a document.
    pub outside: u64,
    /// Sequences whose messages are not known.
    pub without_messages: u64,
    /// Sequences without a message of an assistant in this channel; if the messages are not known,
    /// sequences without its span (1, 2). (A sequence with neither messages nor spans is not
    /// counted.)
    pub no_reasoning: u64,
    pub no_final: u64,
    /// Sequences with masks that are 0 everywhere.
    pub nothing_supervised: u64,
    /// Sequences of more tokens than `--seq-length`.
    pub longer: u64,
    #[serde(default)]
    pub longest: LongestRecords,
}

impl TokensStat {
    fn add(&mut self, rows: &Tokens<'_>, row: usize, options: &StatOptions) -> Result<()> {
        let length = rows.tokens(row).len() as u64;
        self.tokens += length;
        self.lengths.add(length);
        self.longest.add(length, rows.id(row));
        self.longer += u64::from(options.seq_length.is_some_and(|most| length > most));
        let spans = self.add_masks(rows, row);
        let parts = match rows.segments(row) {
            None => {
                self.without_messages += 1;
                self.outside += length;
                spans.map(|[_, reasoning, answer]| Parts { reasoning, answer })
            }
            Some(segments) => {
                let mut parts = Parts::default();
                let mut inside = 0;
                for segment in segments {
                    let tokens = u64::try_from(segment.end - segment.start).unwrap_or(0);
                    inside += tokens;
                    self.messages.add((segment.role, segment.channel), tokens, &mut parts)?;
                }
                self.outside += length.saturating_sub(inside);
                Some(parts)
            }
        };
        self.no_reasoning += u64::from(parts.is_some_and(|parts| !parts.reasoning));
        self.no_final += u64::from(parts.is_some_and(|parts| !parts.answer));
        Ok(())
    }

    /// Counts the masks of a sequence; returns which of the first span ids it has, if that is
    /// known.
    fn add_masks(&mut self, rows: &Tokens<'_>, row: usize) -> Option<[bool; FEW]> {
        let mask = rows.loss_mask(row)?;
        let supervised = mask.len() as u64 - occurrences(mask, 0);
        self.masked += 1;
        self.supervised += supervised;
        self.nothing_supervised += u64::from(supervised == 0);
        let span = rows.span_id(row)?;
        self.spanned += 1;
        let few: [u64; FEW] = std::array::from_fn(|id| occurrences(span, id as u8));
        let ids = (1..).zip(&few[1..]);
        ids.filter(|(_, times)| **times > 0).for_each(|(id, times)| self.add_span(id, *times));
        // Almost always there are no others.
        if few.iter().sum::<u64>() < span.len() as u64 {
            let others = span.iter().filter(|id| usize::from(**id) >= FEW);
            others.for_each(|id| self.add_span(*id, 1));
        }
        Some(few.map(|times| times > 0))
    }

    fn add_span(&mut self, id: u8, times: u64) {
        *self.spans.entry(id).or_default() += times;
    }
}

impl StatView for TokensKind {
    type Numbers = TokensStat;

    fn bytes(rows: &Tokens<'_>, row: usize) -> usize {
        let masks = [rows.loss_mask(row), rows.span_id(row)];
        4 * rows.tokens(row).len() + masks.into_iter().flatten().map(<[u8]>::len).sum::<usize>()
    }

    fn count(
        rows: &Tokens<'_>,
        row: usize,
        numbers: &mut TokensStat,
        options: &StatOptions,
    ) -> Result<()> {
        numbers.add(rows, row, options)
    }

    fn text_key(rows: &Tokens<'_>, row: usize) -> Option<u128> {
        Some(key(rows.tokens(row)))
    }

    fn packed(header: &Header) -> Option<PackedRows> {
        let StatedRows { rows, seq_length, used, padding, .. } = header.get(&PACKED)?;
        Some(PackedRows { rows: rows?, seq_length, used: used?, padding })
    }
}

impl Numbers for TokensStat {
    fn merge(&mut self, other: TokensStat) -> Result<()> {
        let TokensStat { lengths, spans, messages, .. } = &mut *self;
        lengths.merge(other.lengths);
        for (id, count) in other.spans {
            let own = spans.entry(id).or_default();
            *own = own.saturating_add(count);
        }
        messages.merge(other.messages)?;
        self.longest.merge(&other.longest);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.masked = self.masked.saturating_add(other.masked);
        self.spanned = self.spanned.saturating_add(other.spanned);
        self.supervised = self.supervised.saturating_add(other.supervised);
        self.outside = self.outside.saturating_add(other.outside);
        self.without_messages = self.without_messages.saturating_add(other.without_messages);
        self.no_reasoning = self.no_reasoning.saturating_add(other.no_reasoning);
        self.no_final = self.no_final.saturating_add(other.no_final);
        self.nothing_supervised = self.nothing_supervised.saturating_add(other.nothing_supervised);
        self.longer = self.longer.saturating_add(other.longer);
        Ok(())
    }

    fn messages(&self) -> Option<(&Messages, &'static str)> {
        Some((&self.messages, "tokens"))
    }

    fn unsupervised(&self) -> Option<u64> {
        (self.masked > 0).then_some(self.nothing_supervised)
    }

    fn lengths(&self) -> (&'static str, &Distribution) {
        ("tokens", &self.lengths)
    }

    fn headline(&self, records: String) -> [(&'static str, String); 3] {
        let trained = match self.masked {
            0 => "no masks".to_string(),
            _ => share(self.supervised, self.tokens),
        };
        [("sequences", records), ("tokens", grouped(self.tokens)), ("trained on", trained)]
    }

    fn sections<'a>(&'a self, out: &mut Sections<'a>, answer: &Answer) {
        out.number("tokens", self.tokens);
        if let Some(PackedRows { rows, seq_length, used, padding }) = answer.packed {
            out.head("rows for trainers");
            out.number("rows", rows);
            if let Some(length) = seq_length {
                out.number("positions of a row", length);
                out.share("positions used", used, rows.saturating_mul(length));
            }
            if let Some(padding) = padding {
                out.share("of them padding", padding, used);
            }
        }
        out.head("sequences");
        let all = answer.all.records;
        out.share("no reasoning", self.no_reasoning, all);
        out.share("no final", self.no_final, all);
        if self.masked > 0 {
            out.share("nothing supervised", self.nothing_supervised, all);
        }
        if self.masked < all {
            out.share("without masks", all - self.masked, all);
        }
        if self.spanned < self.masked {
            out.share("span ids not known", self.masked - self.spanned, all);
        }
        if self.without_messages > 0 {
            out.share("without known messages", self.without_messages, all);
        }
        if let Some(most) = answer.seq_length {
            out.share(&format!("longer than {most}"), self.longer, all);
        }
        out.repeated(answer, "repeated texts");
        out.distribution("tokens of a sequence", &self.lengths);
        out.longest("tokens of the longest sequences", &self.longest);
        if self.masked > 0 {
            let spans = self.spans.iter().map(|(id, count)| (named_span(*id), *count));
            let loss = ("loss mask".to_string(), self.supervised);
            out.shares("positions by span", self.tokens, spans.chain([loss]));
        }
        out.messages(&self.messages, "tokens", self.tokens);
        if self.outside > 0 {
            out.share("(outside of messages)", self.outside, self.tokens);
        }
    }
}

/// Counts how often a value occurs.
fn occurrences(values: &[u8], wanted: u8) -> u64 {
    // A byte counts up to 255: so the compiler compares and adds many values at once.
    let of = |part: &[u8]| part.iter().map(|&value| u8::from(value == wanted)).sum::<u8>();
    values.chunks(255).map(|part| u64::from(of(part))).sum()
}

/// Returns a span id with its meaning.
fn named_span(id: u8) -> String {
    let name = span_name(id);
    if name.starts_with("span ") { id.to_string() } else { format!("{id} {name}") }
}
