//! One sequence: its tokens, and the masks that follow from them. Masks are derived again from the
//! roles and channels in the tokens; where they differ, what is most likely the cause is told, once.

use crate::check::{At, Check, Findings, Level};
use crate::harmony::{
    Alignment, Channel, Policy, Role, Segment, Segments, Spans, loss_mask, segments_of,
};
use crate::record::tokens;
use crate::tokenizer::{
    EOD, Encoder, MESSAGE, PADDED_VOCABULARY_SIZE, RETURN, START_OF_TEXT, decode_into, is_produced,
};

static RANGE: Check = Check::error(
    "kd.token.range",
    "a token is outside the vocabulary [0, 201088): the embedding reads beyond its table",
);
static RESERVED: Check = Check::error(
    "kd.token.reserved",
    "a token that no text and no message encodes to: its embedding was never trained",
);
static EOD_MISSING: Check = Check::error(
    "kd.eod.missing",
    "a sequence does not end in <|endoftext|> (199999): two documents run into one",
);
static EOD_MIDDLE: Check = Check::error(
    "kd.eod.middle",
    "<|endoftext|> within a sequence: the trainer cuts the document there",
);
static STRUCTURE: Check = Check::error(
    "kd.harmony.structure",
    "the tokens are no Harmony conversation: a control token is missing or in a wrong place",
);
static TEXT: Check = Check::error(
    "kd.token.text",
    "the tokens of a message are not UTF-8 together: no text encodes to them",
);
static END: Check = Check::error(
    "kd.harmony.return",
    "a last final message ends in <|return|>, and no other does: the model learns when to stop",
);
static POLICY: Check = Check::error(
    "kd.harmony.policy",
    "a message is not of the SYNTH policy (its roles, the channels analysis and final)",
);
static CANONICAL: Check = Check::warning(
    "kd.token.canonical",
    "text that the tokenizer would encode otherwise: the model sees what it never meets again",
);
static UNSHIFTED: Check = Check::error(
    "kd.mask.unshifted",
    "the masks speak of their own token, not of the next: training is off by one",
)
.hint("masks are for labels: position t speaks of tokens[t+1]; try: span-mask");
static DOUBLE_SHIFT: Check = Check::error(
    "kd.mask.double_shift",
    "the masks are shifted twice: training is off by one the other way",
)
.hint("span-mask shifts by itself; shift no more in the pipeline or the trainer");
static SWAPPED: Check = Check::error(
    "kd.mask.swapped",
    "loss mask and span ids stand in one another's place: losses are weighted wrongly",
);
static MASK_VALUE: Check = Check::error(
    "kd.mask.value",
    "a loss mask that is neither 0 nor 1: the loss is multiplied by it",
);
static SPAN_VALUE: Check =
    Check::error("kd.span.value", "a span id that no channel has: its loss is counted nowhere");
static LAST: Check = Check::error(
    "kd.mask.last",
    "the last position, or the one before <|endoftext|>, is supervised: its label is of no message",
);
static MASK_SPAN: Check = Check::error(
    "kd.mask.span",
    "the loss mask is not 1 exactly where the span id is over 0: one of them is wrong",
);
static DERIVED: Check = Check::error(
    "kd.mask.derived",
    "the masks are not those that follow from the roles and channels in the tokens",
);

pub(in crate::check) static CHECKS: &[&Check] = &[
    &RANGE,
    &RESERVED,
    &EOD_MISSING,
    &EOD_MIDDLE,
    &STRUCTURE,
    &TEXT,
    &END,
    &POLICY,
    &CANONICAL,
    &UNSHIFTED,
    &DOUBLE_SHIFT,
    &SWAPPED,
    &MASK_VALUE,
    &SPAN_VALUE,
    &LAST,
    &MASK_SPAN,
    &DERIVED,
];

/// What is known of how the sequences were made.
#[derive(Debug, Clone)]
pub(in crate::check) struct Rules {
    /// `None` where nobody says: then SYNTH is taken for granted, and its breach a warning.
    pub policy: Option<Policy>,
    /// Which channels are supervised, and as what; `None` where that is not known.
    pub spans: Option<Spans>,
    /// That of a Megatron dataset is [`Alignment::Label`].
    pub alignment: Alignment,
}

impl Rules {
    /// Those of a dataset that says nothing of itself; the user may say its policy.
    pub fn assumed(policy: Option<Policy>) -> Rules {
        let spans = Some(Spans::synth_kd_v1(&[]));
        Rules { policy, spans, alignment: Alignment::Label }
    }

    fn is_span(&self, id: u8) -> bool {
        let named = |spans: &Spans| spans.channels().iter().any(|span| span.id == id);
        id == 0 || self.spans.as_ref().is_none_or(named)
    }
}

/// The loss mask and the span ids of a sequence.
pub(in crate::check) type Masks<'a> = (&'a [u8], &'a [u8]);

/// Checks one sequence after another; a thread has one.
pub(in crate::check) struct Sequences {
    rules: Rules,
    segments: Segments,
    encoder: Encoder,
    text: Vec<u8>,
    encoded: Vec<i32>,
    derived: Vec<u8>,
}

impl Sequences {
    pub fn new(rules: &Rules) -> Sequences {
        Sequences {
            rules: rules.clone(),
            segments: Segments::default(),
            encoder: Encoder::new(),
            text: Vec::new(),
            encoded: Vec::new(),
            derived: Vec::new(),
        }
    }

    /// Masks, where there are any, are as long as the tokens.
    pub fn check(
        &mut self,
        at: At<'_>,
        tokens: &[i32],
        masks: Option<Masks<'_>>,
        findings: &mut Findings<'_>,
    ) {
        let known = self.tokens(at, tokens, findings) && self.conversation(at, tokens, findings);
        let Some(masks) = masks else { return };
        let derived = known && self.derive(tokens.len(), self.rules.alignment);
        if !(derived && masks.1 == self.derived && masks.0 == loss_mask(&self.derived)) {
            self.masks(at, tokens, masks, derived, findings);
        }
    }

    /// Each token by itself, and the end of the sequence; whether all is well.
    fn tokens(&self, at: At<'_>, tokens: &[i32], findings: &mut Findings<'_>) -> bool {
        let inside = |&id: &i32| (0..PADDED_VOCABULARY_SIZE).contains(&id);
        // Most sequences are good: one pass without a branch for each token finds that out.
        let largest = tokens.iter().map(|&id| id as u32).max().unwrap_or(0);
        if largest >= PADDED_VOCABULARY_SIZE as u32 {
            let place = tokens.iter().position(|id| !inside(id)).unwrap_or(0);
            findings.add(&RANGE, at, || format!("token {place} is {}", tokens[place]));
            return false;
        }
        let produced = |&id: &i32| id < START_OF_TEXT || (id != START_OF_TEXT && is_produced(id));
        if let Some(place) = tokens.iter().position(|id| !produced(id)) {
            findings.add(&RESERVED, at, || format!("token {place} is {}", tokens[place]));
            return false;
        }
        let Some((&last, body)) = tokens.split_last() else { return false };
        let mut good = true;
        if last != EOD {
            findings.add(&EOD_MISSING, at, || {
                format!("the last of its {} tokens is {last}", tokens.len())
            });
            good = false;
        }
        if let Some(place) = body.iter().position(|&id| id == EOD) {
            let length = tokens.len();
            findings.add(&EOD_MIDDLE, at, || format!("token {place} of {length} is {EOD}"));
            good = false;
        }
        good
    }

    /// The messages; whether their spans can be derived.
    fn conversation(&mut self, at: At<'_>, tokens: &[i32], findings: &mut Findings<'_>) -> bool {
        self.segments.clear();
        if let Err(error) = segments_of(tokens, &mut self.segments) {
            findings.add(&STRUCTURE, at, || error.to_string());
            return false;
        }
        self.end(at, tokens, findings);
        if findings.wants(&TEXT) || findings.wants(&CANONICAL) {
            self.texts(at, tokens, findings);
        }
        let breach = self.breach();
        match (&breach, self.rules.policy) {
            (None, _) | (Some(_), Some(Policy::Chat)) => {}
            (Some(cause), Some(Policy::SynthKdV1)) => {
                findings.add(&POLICY, at, || cause.clone());
            }
            (Some(cause), None) => findings.add_as(&POLICY, Level::Warning, at, || cause.clone()),
        }
        breach.is_none() || self.rules.policy == Some(Policy::Chat)
    }

    fn end(&self, at: At<'_>, tokens: &[i32], findings: &mut Findings<'_>) {
        let last = self.segments.list.len().saturating_sub(1);
        for (number, segment) in self.segments.list.iter().enumerate() {
            let is_final =
                segment.role == Role::Assistant && segment.channel == Some(Channel::Final);
            let returns = tokens.get(segment.end as usize - 1) == Some(&RETURN);
            match (number == last && is_final, returns) {
                (true, false) => findings.add(&END, at, || {
                    format!(
                        "message {number}, the last and a final one, does not end in <|return|>"
                    )
                }),
                (false, true) => findings.add(&END, at, || {
                    format!("message {number} ends in <|return|> and is no last final one")
                }),
                _ => {}
            }
        }
    }

    /// What is against the SYNTH policy.
    fn breach(&self) -> Option<String> {
        let list = &self.segments.list;
        let of = |(number, segment): (usize, &Segment)| match (segment.role, segment.channel) {
            (Role::Tool, _) => {
                Some(format!("message {number} has an unknown role, or is a tool's"))
            }
            (Role::Assistant, Some(Channel::Analysis | Channel::Final)) => None,
            (Role::Assistant, channel) => {
                let name = channel.and_then(|_| self.segments.channel(segment));
                Some(match name {
                    Some(name) => format!("message {number} is in the channel {name:?}"),
                    None => format!("message {number}, the assistant's, has no channel"),
                })
            }
            _ => None,
        };
        list.iter().enumerate().find_map(of).or_else(|| {
            let assistant = list.iter().any(|segment| segment.role == Role::Assistant);
            (!assistant).then(|| "it has no assistant message".to_string())
        })
    }

    /// The contents of the messages as text, and encoded again.
    fn texts(&mut self, at: At<'_>, tokens: &[i32], findings: &mut Findings<'_>) {
        for (number, segment) in self.segments.list.iter().enumerate() {
            let message = &tokens[segment.start as usize..segment.end as usize - 1];
            let header = message.iter().position(|&id| id == MESSAGE).unwrap_or(0);
            let content = &message[header + 1..];
            self.text.clear();
            let text = match decode_into(content, &mut self.text) {
                Ok(()) => str::from_utf8(&self.text).ok(),
                Err(_) => None,
            };
            let Some(text) = text else {
                findings.add(&TEXT, at, || format!("message {number} is no UTF-8"));
                return;
            };
            self.encoded.clear();
            self.encoder.encode(text, &mut self.encoded);
            if self.encoded != content {
                let same = self.encoded.iter().zip(content).take_while(|(a, b)| a == b).count();
                let place = segment.start as usize + header + 1 + same;
                findings.add(&CANONICAL, at, || {
                    format!("message {number} is encoded otherwise from token {place} on")
                });
            }
        }
    }

    /// Derives the span ids into `self.derived`; whether that can be done.
    fn derive(&mut self, length: usize, alignment: Alignment) -> bool {
        self.derived.clear();
        let Some(spans) = &self.rules.spans else { return false };
        let segments = self.segments.list.iter().map(|segment| tokens::Segment {
            role: segment.role.as_str(),
            channel: self.segments.channel(segment),
            start: segment.start,
            end: segment.end,
        });
        spans.append(segments, length, alignment, &mut self.derived).is_ok()
    }

    /// Says what is wrong with masks that are not the derived ones, or could not be derived.
    fn masks(
        &mut self,
        at: At<'_>,
        tokens: &[i32],
        (mask, span): Masks<'_>,
        derived: bool,
        findings: &mut Findings<'_>,
    ) {
        let length = tokens.len();
        let shifted = self.rules.alignment == Alignment::Label;
        if derived {
            let expected = self.derived.clone();
            let is = |span_id: &[u8]| span == span_id && mask == loss_mask(span_id);
            if mask == expected && span == loss_mask(&expected) {
                return findings
                    .add(&SWAPPED, at, || "span ids stand in the loss mask".to_string());
            }
            if shifted && self.derive(length, Alignment::Token) && is(&self.derived) {
                return findings.add(&UNSHIFTED, at, || {
                    let first = span.iter().position(|&id| id > 0).unwrap_or(0);
                    format!("supervised from position {first} on; from {first} - 1 it should be")
                });
            }
            let twice: Vec<u8> = expected.iter().skip(1).copied().chain([0]).collect();
            if shifted && is(&twice) {
                return findings.add(&DOUBLE_SHIFT, at, || {
                    let first = span.iter().position(|&id| id > 0).unwrap_or(0);
                    format!("supervised from position {first} on; from {first} + 1 it should be")
                });
            }
            self.derived = expected;
        }
        if let Some(place) = mask.iter().position(|&value| value > 1) {
            return findings
                .add(&MASK_VALUE, at, || format!("position {place} is {}", mask[place]));
        }
        if let Some(place) = span.iter().position(|&id| !self.rules.is_span(id)) {
            return findings
                .add(&SPAN_VALUE, at, || format!("position {place} is {}", span[place]));
        }
        let end = if shifted { length - length.min(2)..length } else { 0..0 };
        if let Some(place) = end.into_iter().find(|&place| mask[place] > 0 || span[place] > 0) {
            let (mask, span) = (mask[place], span[place]);
            return findings.add(&LAST, at, || {
                format!("position {place} of {length} has loss mask {mask} and span id {span}")
            });
        }
        if let Some(place) =
            mask.iter().zip(span).position(|(&mask, &span)| (mask > 0) != (span > 0))
        {
            let (mask, span) = (mask[place], span[place]);
            return findings.add(&MASK_SPAN, at, || {
                format!("position {place} has loss mask {mask} and span id {span}")
            });
        }
        if derived {
            let differs = span.iter().zip(&self.derived).position(|(a, b)| a != b).unwrap_or(0);
            let (found, expected) = (span[differs], self.derived[differs]);
            findings.add(&DERIVED, at, || {
                format!(
                    "position {differs} has span id {found}; its label's message has {expected}"
                )
            });
        }
    }
}
