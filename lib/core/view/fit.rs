//! Whether the masks of a sequence fit its messages.

use serde::Serialize;

use super::conversation::TokenTraining;
use crate::wording::exactly;

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
