//! Checks one sequence: its tokens, its messages and its masks.
//!
//! | file | what |
//! |---|---|
//! | `rules.rs` | what is known of the sequences |
//! | `masks.rs` | the checks of masks |
//! | `contents.rs` | contents that need not be encoded or decoded once more |

mod contents;
mod masks;
mod rules;

pub use rules::SequenceRules;

use self::contents::{KnownContents, Utf8Tokens};
use self::masks::{MaskChecker, Masks};
use super::texts::{ModelTexts, Targets, TextFault};
use crate::check::{Check, FindingPlace, Findings, Severity, checks};
use crate::harmony::{Channel, Policy, Role, Segment, Segments, places_from, segments_of};
use crate::record::tokens;
use crate::tokenizer::{
    EOD, Encoder, MESSAGE, PADDED_VOCABULARY_SIZE, RETURN, START_OF_TEXT, decode_into, is_produced,
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
    pub(super) TEXT: Error Content "kd.token.text",
        "the tokens of a message together are not UTF-8: no text encodes to them";
    END: Error Content "kd.harmony.return",
        "<|return|> must end a last final message, and no other: it teaches the model when to stop";
    POLICY: Error Content "kd.harmony.policy",
        "a message does not follow the SYNTH policy (its roles, the channels analysis and final)";
    pub(crate) SEGMENTS: Error Content "stream.tokens.segments",
        "segments that are not the messages in the tokens, or do not cover them: masks are made from segments";
    CANONICAL: Warning Content "kd.token.canonical",
        "text that the tokenizer would encode differently: the model never meets these again";
}

/// Returns all checks of one sequence.
pub(crate) fn all() -> Vec<&'static Check> {
    [CHECKS, masks::CHECKS].concat()
}

/// The checks of the end of a document, and of what may stand before it.
pub(super) const ENDS: &[&Check] = &[&EOD_MISSING, &EOD_MIDDLE, &masks::LAST];

/// Checks one sequence after another; each thread has one.
pub struct SequenceChecker {
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
    masks: MaskChecker,
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
            masks: MaskChecker::default(),
            known: KnownContents::default(),
            whole: Utf8Tokens::default(),
            texts: rules.tokenizer.as_ref().map(ModelTexts::new),
            targets: Targets::default(),
        }
    }

    /// Checks a sequence. Masks, if there are any, must be as long as the tokens. `stated` are the segments that come
    /// with it; o200k's tokens show them, too.
    pub fn check<'a>(
        &mut self,
        at: FindingPlace<'_>,
        tokens: &[i32],
        masks: Option<Masks<'_>>,
        stated: Option<impl ExactSizeIterator<Item = tokens::Segment<'a>> + Clone>,
        findings: &mut Findings<'_>,
    ) {
        if !self.rules.vocabulary.is_o200k() {
            self.check_of_model(at, tokens, masks, stated, findings);
            return;
        }
        self.weights.clear();
        self.weights.extend(stated.iter().cloned().flatten().map(|segment| segment.is_trained));
        if self.weights.iter().all(|is_trained| *is_trained) {
            self.weights.clear();
        }
        self.is_conversation = false;
        let known = self.tokens(at, tokens, findings) && self.conversation(at, tokens, findings);
        if let Some(masks) = masks {
            let segments = known.then(|| self.segments.records());
            self.masks.check(at, &self.rules, segments, masks, findings);
        }
        let are_its = |stated| self.are_its_segments(stated);
        if !stated.is_none_or(are_its) {
            findings.add(&SEGMENTS, at, "its segments are not its messages");
        }
    }

    /// Checks a sequence of another tokenizer, whose tokens do not show the messages.
    fn check_of_model<'a>(
        &mut self,
        at: FindingPlace<'_>,
        tokens: &[i32],
        masks: Option<Masks<'_>>,
        stated: Option<impl ExactSizeIterator<Item = tokens::Segment<'a>> + Clone>,
        findings: &mut Findings<'_>,
    ) {
        let vocabulary = self.rules.vocabulary;
        if let Some(place) = tokens.iter().position(|&id| !vocabulary.has(id)) {
            findings.add(&RANGE, at, format_args!("token {place} is {}", tokens[place]));
        } else {
            self.end_of_model(at, tokens, findings);
            self.expect_targets(stated.clone());
            self.texts_of_model(at, tokens, masks, findings);
        }
        if let Some(masks) = masks {
            self.masks.check(at, &self.rules, stated.clone(), masks, findings);
        }
        if let Some(cause) = stated.and_then(|stated| self.uncovered(tokens, stated)) {
            findings.add(&SEGMENTS, at, cause);
        }
    }

    /// Returns the first token that is in no segment, or in two. (Only the appended end is in none.)
    fn uncovered<'a>(
        &self,
        tokens: &[i32],
        stated: impl Iterator<Item = tokens::Segment<'a>>,
    ) -> Option<String> {
        let mut end = 0;
        for segment in stated {
            if segment.start != end || segment.end < end {
                let (start, to) = (segment.start, segment.end);
                return Some(format!("segment [{start}, {to}) does not begin at token {end}"));
            }
            end = segment.end;
        }
        let all = tokens.len() as i32;
        let has_end = self.rules.may_have_end && end + 1 == all;
        (end != all && !has_end).then(|| format!("the segments end at token {end} of {all}"))
    }

    /// Sets the segments of the next sequence of another tokenizer, which state where its text may have been cut.
    fn expect_targets<'a>(&mut self, segments: Option<impl Iterator<Item = tokens::Segment<'a>>>) {
        self.targets.clear();
        let Some(segments) = segments.filter(|_| self.texts.is_some()) else { return };
        for segment in segments {
            let is_target = segment.channel.is_some() && segment.is_trained;
            self.targets.push(usize::try_from(segment.start).unwrap_or(0), is_target);
        }
        self.targets.are_all = true;
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
    fn are_its_segments<'a>(
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
}
