//! Checks one sequence: its tokens and its masks. Masks are derived again from the roles and
//! channels in the tokens; if they differ, the most likely cause is reported, once.

use gristmill_models::Tokenizer;

use super::texts::{ModelTexts, Targets, TextFault};
use crate::check::{Check, FindingPlace, Findings, Severity, checks};
use crate::harmony::{
    Alignment, Channel, Policy, Role, Segment, Segments, Spans, is_unsupervised, loss_mask,
    places_from, segments_of,
};
use crate::model::Vocabulary;
use crate::record::tokens;
use crate::tokenizer::{
    EOD, Encoder, MESSAGE, PADDED_VOCABULARY_SIZE, RETURN, START_OF_TEXT, decode_into, is_produced,
    token_bytes,
};
use crate::wording::exactly;

checks! {
    RANGE: Error Content "kd.token.range",
        "a token is outside the vocabulary ([0, 201088) of o200k): the embedding reads beyond its table";
    RESERVED: Error Content "kd.token.reserved",
        "a reserved token, which no text or message contains: its embedding was never trained";
    EOD_MISSING: Error Content "kd.eod.missing",
        "a sequence does not end in <|endoftext|> (199999), or what was appended: two documents become one";
    EOD_MIDDLE: Error Content "kd.eod.middle",
        "<|endoftext|> within a sequence: the trainer cuts the document there";
    STRUCTURE: Error Content "kd.harmony.structure",
        "the tokens are not a Harmony conversation: a control token is missing or in a wrong place";
    TEXT: Error Content "kd.token.text",
        "the tokens of a message together are not UTF-8: no text encodes to them";
    END: Error Content "kd.harmony.return",
        "<|return|> must end a last final message, and no other: it teaches the model when to stop";
    POLICY: Error Content "kd.harmony.policy",
        "a message does not follow the SYNTH policy (its roles, the channels analysis and final)";
    CANONICAL: Warning Content "kd.token.canonical",
        "text that the tokenizer would encode differently: the model never meets these again";
    UNSHIFTED: Error Content "kd.mask.unshifted",
        "masks are aligned to their own token, not to the next: training is off by one",
        hint "masks are for labels: position t is about tokens[t+1]; try: span-mask";
    DOUBLE_SHIFT: Error Content "kd.mask.double_shift",
        "the masks are shifted twice: training is off by one the other way",
        hint "span-mask shifts already; do not shift again in the pipeline or the trainer";
    SWAPPED: Error Content "kd.mask.swapped",
        "loss mask and span ids are swapped: losses are weighted wrongly";
    MASK_VALUE: Error Content "kd.mask.value",
        "a loss mask value that is neither 0 nor 1: the loss is multiplied by it";
    SPAN_VALUE: Error Content "kd.span.value",
        "a span id that no channel has: its loss is counted nowhere";
    LAST: Error Content "kd.mask.last",
        "the last position, or the one before <|endoftext|>, is supervised: it labels no message";
    MASK_SPAN: Error Content "kd.mask.span",
        "the loss mask is not 1 exactly where the span id is over 0: one of them is wrong";
    pub(crate) DERIVED: Error Content "kd.mask.derived",
        "the masks do not follow from the roles and channels in the tokens";
    UNSUPERVISED: Warning Content "kd.mask.unsupervised",
        "a sequence in which nothing is supervised: it costs time and teaches nothing",
        hint "no assistant message is in a supervised channel; try: span-mask --span CHANNEL=ID";
}

/// The checks of the end of a document, and of what may stand before it.
pub(super) const ENDS: &[&Check] = &[&EOD_MISSING, &EOD_MIDDLE, &LAST];

/// How the sequences were made, as far as it is known.
#[derive(Clone)]
pub(crate) struct SequenceRules {
    /// `None` if no policy is stated: then SYNTH is assumed, and a violation is a warning.
    pub policy: Option<Policy>,
    /// The supervised channels with their span ids; `None` if they are not known.
    pub spans: Option<Spans>,
    /// [`Alignment::Label`] for a Megatron dataset.
    pub alignment: Alignment,
    /// Whether messages may have no span because of weights that are not known: a message is then
    /// trained on as a whole or not at all.
    pub is_weighted: bool,
    /// If it is not o200k, only ids and masks are checked, and the texts if the tokenizer is at hand.
    pub vocabulary: Vocabulary,
    pub tokenizer: Option<Tokenizer>,
    /// The last token of each sequence, if the tokenizer is not o200k and one is stated.
    pub end: Option<i32>,
}

impl SequenceRules {
    /// Returns the rules for a dataset without a manifest; the user may state its policy.
    pub fn assumed(policy: Option<Policy>) -> SequenceRules {
        let spans = Some(Spans::synth_kd_v1(&[]));
        SequenceRules {
            policy,
            spans,
            alignment: Alignment::Label,
            is_weighted: false,
            vocabulary: Vocabulary::O200k,
            tokenizer: None,
            end: None,
        }
    }

    /// Whether every channel of the model's own output has a span: then the masks show each place at which the text
    /// may have been cut.
    fn span_everything(&self) -> bool {
        let has_span = |name: &str, spans: &Spans| {
            spans.channels().iter().any(|span| span.channel == name && span.id > 0)
        };
        let named = ["analysis", "commentary", "final"];
        self.spans.as_ref().is_some_and(|spans| named.iter().all(|name| has_span(name, spans)))
    }

    fn is_span(&self, id: u8) -> bool {
        let named = |spans: &Spans| spans.channels().iter().any(|span| span.id == id);
        id == 0 || self.spans.as_ref().is_none_or(named)
    }
}

/// The loss mask and the span ids of a sequence.
pub(crate) type Masks<'a> = (&'a [u8], &'a [u8]);

/// Checks one sequence after another; each thread has one.
pub(crate) struct SequenceChecker {
    rules: SequenceRules,
    /// The segments of the last sequence.
    segments: Segments,
    /// Whether each of its messages may be trained on; empty if all may.
    weights: Vec<bool>,
    /// Whether its tokens could be divided into messages.
    is_conversation: bool,
    encoder: Encoder,
    text: Vec<u8>,
    encoded: Vec<i32>,
    derived: Vec<u8>,
    known: KnownContents,
    whole: Utf8Tokens,
    /// The texts of another tokenizer's tokens.
    texts: Option<ModelTexts>,
    /// What of them is trained on.
    targets: Targets,
}

impl SequenceChecker {
    pub fn new(rules: &SequenceRules) -> SequenceChecker {
        SequenceChecker {
            rules: rules.clone(),
            segments: Segments::default(),
            weights: Vec::new(),
            is_conversation: false,
            encoder: Encoder::new(),
            text: Vec::new(),
            encoded: Vec::new(),
            derived: Vec::new(),
            known: KnownContents::default(),
            whole: Utf8Tokens::default(),
            texts: rules.tokenizer.as_ref().map(ModelTexts::new),
            targets: Targets::default(),
        }
    }

    /// Sets the segments of the next sequence of another tokenizer, which state where its text may have been cut.
    pub fn expect_targets<'a>(
        &mut self,
        segments: Option<impl Iterator<Item = tokens::Segment<'a>>>,
    ) {
        self.targets.clear();
        let Some(segments) = segments.filter(|_| self.texts.is_some()) else { return };
        for segment in segments {
            let is_target = segment.channel.is_some() && segment.is_trained;
            self.targets.push(usize::try_from(segment.start).unwrap_or(0), is_target);
        }
        self.targets.are_all = true;
    }

    /// Sets the segments of the next sequence, which state its weights.
    pub fn expect_weights<'a>(
        &mut self,
        segments: Option<impl Iterator<Item = tokens::Segment<'a>>>,
    ) {
        self.weights.clear();
        self.weights.extend(segments.into_iter().flatten().map(|segment| segment.is_trained));
        if self.weights.iter().all(|is_trained| *is_trained) {
            self.weights.clear();
        }
    }

    /// Checks a sequence. Masks, if there are any, must be as long as the tokens.
    pub fn check(
        &mut self,
        at: FindingPlace<'_>,
        tokens: &[i32],
        masks: Option<Masks<'_>>,
        findings: &mut Findings<'_>,
    ) {
        self.is_conversation = false;
        let known = match self.rules.vocabulary {
            Vocabulary::O200k => {
                self.tokens(at, tokens, findings) && self.conversation(at, tokens, findings)
            }
            other => {
                if let Some(place) = tokens.iter().position(|&id| !other.has(id)) {
                    findings.add(&RANGE, at, format_args!("token {place} is {}", tokens[place]));
                } else {
                    self.end_of_model(at, tokens, findings);
                    self.texts_of_model(at, tokens, masks, findings);
                }
                false
            }
        };
        let Some(masks) = masks else { return };
        if is_unsupervised(masks.0) {
            findings.add(&UNSUPERVISED, at, "nothing is supervised");
        }
        let (rules, segments) = (&self.rules, &self.segments);
        let derived = known && derive(rules, segments, masks.1, rules.alignment, &mut self.derived);
        let differs = |all: u8, (&mask, &span): (&u8, &u8)| all | (mask ^ u8::from(span > 0));
        let is_mask = || masks.0.iter().zip(masks.1).fold(0, differs) == 0;
        if derived && masks.1 == self.derived && is_mask() {
            return;
        }
        let misplaced = if derived { self.misplaced(masks) } else { None };
        if let Some((check, message)) = misplaced.or_else(|| self.wrong_value(masks, derived)) {
            findings.add(check, at, message);
        }
    }

    /// Checks the end of a sequence of another tokenizer, if it has one.
    fn end_of_model(&self, at: FindingPlace<'_>, tokens: &[i32], findings: &mut Findings<'_>) {
        if let (Some(end), Some(&last)) = (self.rules.end, tokens.last())
            && last != end
        {
            let length = exactly(tokens.len(), "token");
            findings.add(
                &EOD_MISSING,
                at,
                format_args!("the last of its {length} is {last}, not {end}"),
            );
        }
    }

    /// Checks the text of another tokenizer's tokens. (Its findings are warnings: another program may have cut the
    /// text off, which is no error of the tokens.)
    fn texts_of_model(
        &mut self,
        at: FindingPlace<'_>,
        tokens: &[i32],
        masks: Option<Masks<'_>>,
        findings: &mut Findings<'_>,
    ) {
        let wanted = [&RESERVED, &TEXT, &CANONICAL].map(|check| findings.wants(check));
        let Some(texts) = self.texts.as_mut().filter(|_| wanted.contains(&true)) else { return };
        if let Some((_, span)) = masks.filter(|_| !self.targets.are_all) {
            self.targets.push_spans(span, self.rules.alignment);
            self.targets.are_all = self.rules.span_everything();
        }
        // (What was appended is not part of the text.)
        let tokens = match tokens.split_last() {
            Some((last, others)) if Some(*last) == self.rules.end => others,
            _ => tokens,
        };
        let fault = texts.fault(tokens, &self.targets, findings.wants(&CANONICAL));
        self.targets.clear();
        match fault {
            None => {}
            Some(TextFault::Unknown(place)) => {
                let message = format_args!("token {place} is {}", tokens[place]);
                findings.add_as(&RESERVED, Severity::Warning, at, message);
            }
            Some(TextFault::NotText) => {
                findings.add_as(&TEXT, Severity::Warning, at, "its tokens together are not UTF-8");
            }
            Some(TextFault::Different(place)) => {
                let message = format_args!("is encoded differently from token {place} on");
                findings.add(&CANONICAL, at, message);
            }
        }
    }

    /// Whether these segments are the messages of the sequence that was checked last; true if its
    /// messages are not known.
    pub fn are_its_segments<'a>(
        &self,
        stated: impl ExactSizeIterator<Item = tokens::Segment<'a>>,
    ) -> bool {
        let list = &self.segments.list;
        let is_same = |(a, b): (tokens::Segment<'_>, &Segment)| {
            (a.role, a.channel, a.start, a.end)
                == (b.role.as_str(), self.segments.channel(b), b.start, b.end)
        };
        !self.is_conversation || (stated.len() == list.len() && stated.zip(list).all(is_same))
    }

    /// Checks each token by itself, and the end of the sequence; returns whether all is good.
    fn tokens(&self, at: FindingPlace<'_>, tokens: &[i32], findings: &mut Findings<'_>) -> bool {
        let inside = |id: &i32| (0..PADDED_VOCABULARY_SIZE).contains(id);
        let is_reserved = |id: i32| id == START_OF_TEXT || !is_produced(id);
        let (mut reserved, mut middle) = (None, None);
        let last = tokens.len().saturating_sub(1);
        // (Tokens below 199998 are text.)
        for place in places_from(tokens, START_OF_TEXT) {
            let id = tokens[place];
            if !inside(&id) {
                findings.add(&RANGE, at, format_args!("token {place} is {id}"));
                return false;
            }
            if reserved.is_none() && is_reserved(id) {
                reserved = Some(place);
            }
            if middle.is_none() && id == EOD && place < last {
                middle = Some(place);
            }
        }
        if let Some(place) = reserved {
            findings.add(&RESERVED, at, format_args!("token {place} is {}", tokens[place]));
            return false;
        }
        let Some(&end) = tokens.last() else { return false };
        let length = tokens.len();
        if end != EOD {
            let message = format_args!("the last of its {} is {end}", exactly(length, "token"));
            findings.add(&EOD_MISSING, at, message);
        }
        if let Some(place) = middle {
            findings.add(&EOD_MIDDLE, at, format_args!("token {place} of {length} is {EOD}"));
        }
        end == EOD && middle.is_none()
    }

    /// Checks the messages; returns whether their spans can be derived.
    fn conversation(
        &mut self,
        at: FindingPlace<'_>,
        tokens: &[i32],
        findings: &mut Findings<'_>,
    ) -> bool {
        self.segments.clear();
        if let Err(error) = segments_of(tokens, &mut self.segments) {
            findings.add(&STRUCTURE, at, error);
            return false;
        }
        self.is_conversation = true;
        for (segment, is_trained) in self.segments.list.iter_mut().zip(&self.weights) {
            segment.is_trained = *is_trained;
        }
        self.end(at, tokens, findings);
        if findings.wants(&TEXT) || findings.wants(&CANONICAL) {
            self.texts(at, tokens, findings);
        }
        let severity = match self.rules.policy {
            Some(Policy::Chat) => return true,
            Some(Policy::SynthKdV1) => Severity::Error,
            None => Severity::Warning,
        };
        let breach = self.breach();
        if let Some(cause) = &breach {
            findings.add_as(&POLICY, severity, at, cause);
        }
        breach.is_none()
    }

    fn end(&self, at: FindingPlace<'_>, tokens: &[i32], findings: &mut Findings<'_>) {
        let last = self.segments.list.len().saturating_sub(1);
        for (number, segment) in self.segments.list.iter().enumerate() {
            let is_final =
                segment.role == Role::Assistant && segment.channel == Some(Channel::Final);
            let returns = tokens.get(segment.end as usize - 1) == Some(&RETURN);
            let cause = match (number == last && is_final, returns) {
                (true, false) => ", the last and a final one, does not end in <|return|>",
                (false, true) => " ends in <|return|> and is not a last final one",
                _ => continue,
            };
            findings.add(&END, at, format_args!("message {number}{cause}"));
        }
    }

    /// Returns what violates the SYNTH policy.
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

    /// Checks that the contents of the messages are text, and that encoding them again gives the
    /// same tokens.
    fn texts(&mut self, at: FindingPlace<'_>, tokens: &[i32], findings: &mut Findings<'_>) {
        let encodes = findings.wants(&CANONICAL);
        for (number, segment) in self.segments.list.iter().enumerate() {
            let message = &tokens[segment.start as usize..segment.end as usize - 1];
            let header = message.iter().position(|&id| id == MESSAGE).unwrap_or(0);
            let content = &message[header + 1..];
            if self.known.contains(content)
                || (!encodes && self.whole.is_text(content, &mut self.text))
            {
                continue;
            }
            self.text.clear();
            let text = match decode_into(content, &mut self.text) {
                Ok(()) => str::from_utf8(&self.text).ok(),
                Err(_) => None,
            };
            let Some(text) = text else {
                findings.add(&TEXT, at, format_args!("message {number} is not UTF-8"));
                return;
            };
            if !encodes {
                continue;
            }
            self.encoded.clear();
            self.encoder.encode(text, &mut self.encoded);
            if self.encoded != content {
                let same = self.encoded.iter().zip(content).take_while(|(a, b)| a == b).count();
                let place = segment.start as usize + header + 1 + same;
                let cause = format_args!("is encoded differently from token {place} on");
                findings.add(&CANONICAL, at, format_args!("message {number} {cause}"));
            } else if matches!(segment.role, Role::System | Role::Developer) {
                self.known.add(content);
            }
        }
    }

    /// Returns the check and the cause if the masks are the derived ones, but shifted or swapped.
    fn misplaced(&self, (mask, span): Masks<'_>) -> Option<(&'static Check, String)> {
        let is = |span_id: &[u8]| span == span_id && mask == loss_mask(span_id);
        if mask == self.derived && span == loss_mask(&self.derived) {
            return Some((&SWAPPED, "the loss mask holds the span ids".to_string()));
        }
        if self.rules.alignment != Alignment::Label {
            return None;
        }
        let (rules, segments) = (&self.rules, &self.segments);
        let mut unshifted = Vec::new();
        let known = derive(rules, segments, span, Alignment::Token, &mut unshifted);
        let twice: Vec<u8> = self.derived.iter().skip(1).copied().chain([0]).collect();
        let (check, sign) = if known && is(&unshifted) {
            (&UNSHIFTED, '-')
        } else {
            is(&twice).then_some((&DOUBLE_SHIFT, '+'))?
        };
        let first = span.iter().position(|&id| id > 0).unwrap_or(0);
        let message = "supervised from position";
        Some((check, format!("{message} {first} on; it should be from {first} {sign} 1")))
    }

    /// Returns the first wrong position, in masks that differ from the derived ones or could not be
    /// derived.
    fn wrong_value(
        &self,
        (mask, span): Masks<'_>,
        derived: bool,
    ) -> Option<(&'static Check, String)> {
        if let Some(place) = mask.iter().position(|&value| value > 1) {
            return Some((&MASK_VALUE, format!("position {place} is {}", mask[place])));
        }
        if let Some(place) = span.iter().position(|&id| !self.rules.is_span(id)) {
            return Some((&SPAN_VALUE, format!("position {place} is {}", span[place])));
        }
        let length = mask.len();
        let both = |place: usize| format!("loss mask {} and span id {}", mask[place], span[place]);
        // (Before the end of a document nothing is supervised; another tokenizer may have no such end.)
        let has_end = self.rules.vocabulary.is_o200k() || self.rules.end.is_some();
        let last = if has_end { 2 } else { 1 };
        let end = match self.rules.alignment {
            Alignment::Label => length.saturating_sub(last)..length,
            Alignment::Token => 0..0,
        };
        if let Some(place) = end.into_iter().find(|&place| mask[place] > 0 || span[place] > 0) {
            return Some((&LAST, format!("position {place} of {length} has {}", both(place))));
        }
        let mut positions = mask.iter().zip(span);
        if let Some(place) = positions.position(|(&mask, &span)| (mask > 0) != (span > 0)) {
            return Some((&MASK_SPAN, format!("position {place} has {}", both(place))));
        }
        if !derived {
            return None;
        }
        let place = span.iter().zip(&self.derived).position(|(a, b)| a != b).unwrap_or(0);
        let (found, expected) = (span[place], self.derived[place]);
        let expected = format!("its label's message has {expected}");
        Some((&DERIVED, format!("position {place} has span id {found}; {expected}")))
    }
}

/// Tokens of contents that were encoded again and found right. The sequences of a dataset share a few
/// system and developer messages, which are a quarter of their tokens.
#[derive(Default)]
struct KnownContents {
    list: Vec<Vec<i32>>,
    oldest: usize,
}

impl KnownContents {
    /// How many contents are kept; a new one replaces the oldest.
    const MOST: usize = 8;
    /// The most tokens of a content that is kept.
    const LONGEST: usize = 2048;

    fn contains(&self, content: &[i32]) -> bool {
        self.list.iter().any(|known| known == content)
    }

    fn add(&mut self, content: &[i32]) {
        if content.len() > Self::LONGEST {
            return;
        }
        if self.list.len() < Self::MOST {
            self.list.push(content.to_vec());
        } else if let Some(known) = self.list.get_mut(self.oldest) {
            self.oldest = (self.oldest + 1) % Self::MOST;
            content.clone_into(known);
        }
    }
}

/// Which tokens are UTF-8 by themselves, so that only the tokens between these must be decoded. The state
/// of each token is found once. (0.5 ns a token; 12 if all are decoded, which is twice the time of
/// everything else in mmidx-write: rustc -O, 2026-11-26.)
#[derive(Default)]
struct Utf8Tokens {
    /// The state by id, with room for every id of 18 bits, so that no id has to be compared with a
    /// length; `None` until the first use.
    states: Option<Box<[Utf8State; Utf8Tokens::IDS]>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Utf8State {
    Unknown,
    Yes,
    No,
}

impl Utf8Tokens {
    const IDS: usize = 1 << 18;

    /// Whether these tokens, all in the vocabulary, are UTF-8; `bytes` is a buffer.
    fn is_text(&mut self, tokens: &[i32], bytes: &mut Vec<u8>) -> bool {
        const BLOCK: usize = 8;
        bytes.clear();
        let states = self.states.get_or_insert_with(|| Box::new([Utf8State::Unknown; Self::IDS]));
        let (blocks, rest) = tokens.as_chunks::<BLOCK>();
        for block in blocks {
            // Nearly all tokens are looked up without a branch for each.
            let state = |&id: &i32| states[id as usize % Self::IDS] == Utf8State::Yes;
            let all_whole = block.iter().fold(true, |all, id| all & state(id));
            if !(all_whole && bytes.is_empty() || is_block_text(states, block, bytes)) {
                return false;
            }
        }
        is_block_text(states, rest, bytes) && str::from_utf8(bytes).is_ok()
    }
}

/// Whether some tokens are UTF-8 when they follow the incomplete character in `bytes`. Leaves the next
/// incomplete character in `bytes`.
fn is_block_text(
    states: &mut [Utf8State; Utf8Tokens::IDS],
    tokens: &[i32],
    bytes: &mut Vec<u8>,
) -> bool {
    for &id in tokens {
        let state = &mut states[id as usize % Utf8Tokens::IDS];
        if *state != Utf8State::Yes {
            let Some(token) = token_bytes(id) else { return false };
            if *state == Utf8State::Unknown {
                *state = if str::from_utf8(token).is_ok() { Utf8State::Yes } else { Utf8State::No };
            }
            if *state == Utf8State::No {
                bytes.extend_from_slice(token);
                continue;
            }
        }
        if !bytes.is_empty() {
            if str::from_utf8(bytes).is_err() {
                return false;
            }
            bytes.clear();
        }
    }
    true
}

/// Derives the span ids of a sequence from its messages; returns whether that is possible. If the
/// spans are not known, a message has the id that `stated` has at its beginning.
fn derive(
    rules: &SequenceRules,
    segments: &Segments,
    stated: &[u8],
    alignment: Alignment,
    span_ids: &mut Vec<u8>,
) -> bool {
    span_ids.clear();
    let list = segments.records();
    let done = match &rules.spans {
        Some(spans) if rules.is_weighted => {
            spans.append_weighted(list, stated, alignment, span_ids)
        }
        Some(spans) => spans.append(list, stated.len(), alignment, span_ids),
        None => Spans::append_stated(list, stated, alignment, span_ids),
    };
    done.is_ok()
}
