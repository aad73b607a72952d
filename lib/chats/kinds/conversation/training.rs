//! How each token of a sequence is trained on, and whether the masks fit its messages.

use serde::Serialize;

use crate::wording::exactly;

/// How a token is trained on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenTraining {
    /// The record has no masks.
    #[default]
    Unknown,
    Not,
    /// Not trained on because of a weight, though its channel is.
    ByWeight,
    /// Trained on; with which span id is not known.
    Trained,
    /// Trained on with this span id.
    As(u8),
    /// Masks that contradict each other (1 and span 0, 0 and span 1), or are neither 0 nor 1.
    Odd {
        mask: u8,
        span: u8,
    },
}

impl TokenTraining {
    /// Returns what the masks say at one position.
    pub fn of(mask: u8, span: u8) -> TokenTraining {
        match (mask, span) {
            (0, 0) => TokenTraining::Not,
            (1, 1..) => TokenTraining::As(span),
            _ => TokenTraining::Odd { mask, span },
        }
    }

    /// Returns how a token is trained on if the spans are not known, only the loss mask.
    pub fn without_span(self) -> TokenTraining {
        match self {
            TokenTraining::As(_) => TokenTraining::Trained,
            other => other,
        }
    }

    /// Returns one character: R for reasoning, F for final, the digit of another span, T if the span is not known, W for a
    /// token that is not trained on because of a weight, `!` for masks that contradict themselves.
    pub fn letter(self) -> char {
        match self {
            TokenTraining::Unknown => ' ',
            TokenTraining::Not => '·',
            TokenTraining::ByWeight => 'W',
            TokenTraining::Trained => 'T',
            TokenTraining::As(1) => 'R',
            TokenTraining::As(2) => 'F',
            TokenTraining::As(span @ 0..=9) => char::from(b'0' + span),
            TokenTraining::As(_) => '+',
            TokenTraining::Odd { .. } => '!',
        }
    }

    /// Returns how the token is trained on, in words.
    pub fn name(self) -> String {
        match self {
            TokenTraining::Unknown => "not known".to_string(),
            TokenTraining::Not => "not trained on".to_string(),
            TokenTraining::ByWeight => "not trained on, by weight".to_string(),
            TokenTraining::Trained => "trained on, span not known".to_string(),
            TokenTraining::As(span) => span_name(span),
            TokenTraining::Odd { mask, span } => format!("odd (mask {mask}, span {span})"),
        }
    }
}

/// How masks relate to the messages of their sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MaskFit {
    Fits,
    /// The masks fit if they are moved `by` tokens to the left (to the right if it is below 0).
    Shifted {
        by: i32,
    },
    /// The masks differ in this many tokens, from this one on.
    Differs {
        tokens: usize,
        first: usize,
    },
    /// The messages are not known, so the masks cannot be compared.
    Unknown,
}

/// The shifts that are tried: by one in either direction, and by two.
pub const SHIFTS: [i32; 4] = [1, -1, 2, -2];

impl MaskFit {
    /// Compares how each token is trained on with how it should be.
    pub fn of(found: &[TokenTraining], expected: &[TokenTraining]) -> MaskFit {
        let differs = |(found, expected): (&TokenTraining, &TokenTraining)| found != expected;
        let mut pairs = found.iter().zip(expected);
        let Some(first) = pairs.clone().position(differs) else { return MaskFit::Fits };
        let fits = |by: &i32| {
            let length = found.len() as i32;
            // A shift brings nothing in at the ends. Label-aligned masks have no position before
            // the first token.
            let inside = (1..length).filter(|at| (1..length).contains(&(at - by)));
            let mut pairs = inside.map(|at| (found[at as usize], expected[(at - by) as usize]));
            pairs.all(|(found, expected)| found == expected)
        };
        match SHIFTS.iter().find(|by| fits(by)) {
            Some(&by) => MaskFit::Shifted { by },
            None => {
                MaskFit::Differs { tokens: pairs.by_ref().filter(|&p| differs(p)).count(), first }
            }
        }
    }

    /// Returns the message; `None` if the masks need none.
    pub fn message(self) -> Option<String> {
        match self {
            MaskFit::Fits | MaskFit::Unknown => None,
            MaskFit::Shifted { by } => {
                let (tokens, where_to) = (by.unsigned_abs(), if by > 0 { "late" } else { "early" });
                let plural = if tokens == 1 { "" } else { "s" };
                Some(format!("the masks are shifted: {tokens} token{plural} too {where_to}"))
            }
            MaskFit::Differs { tokens, first } => {
                let tokens = match tokens {
                    1 => format!("token {first}"),
                    _ => format!(
                        "{tokens}, first in token {first}",
                        tokens = exactly(tokens, "token")
                    ),
                };
                Some(format!("the masks do not fit the messages in {tokens}"))
            }
        }
    }
}

/// Returns the meaning of a span id in one word. 3 is commentary, as in all our pages (`--span commentary=3`).
pub fn span_name(id: u8) -> String {
    match id {
        1 => "reasoning".to_string(),
        2 => "final".to_string(),
        3 => "commentary".to_string(),
        other => format!("span {other}"),
    }
}

/// Counts of tokens by how they are trained on, in the order of first occurrence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TrainedCounts(pub Vec<(TokenTraining, usize)>);

impl TrainedCounts {
    pub fn remove(&mut self, trained: TokenTraining, tokens: usize) {
        let known = self.0.iter_mut().find(|(known, _)| *known == trained);
        known.into_iter().for_each(|(_, count)| *count = count.saturating_sub(tokens));
        self.0.retain(|(_, count)| *count > 0);
    }

    pub fn add(&mut self, trained: TokenTraining, tokens: usize) {
        match self.0.iter_mut().find(|(known, _)| *known == trained) {
            Some((_, count)) => *count += tokens,
            None => self.0.push((trained, tokens)),
        }
    }
}
