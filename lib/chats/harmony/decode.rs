//! From the tokens of a rendered conversation back to its messages.

use std::ops::Range;

use super::Role;
use super::header::{self, StructureError, messages};

/// A conversation read from tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedConversation {
    /// All tokens as text, with control tokens by their names: nothing is left out.
    pub text: String,
    pub messages: Vec<DecodedMessage>,
}

/// A message read from tokens. `header.rs` explains which parts of a header are ambiguous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedMessage {
    pub role: Role,
    /// The name of a tool, or the name after another role.
    pub name: Option<String>,
    pub channel: Option<String>,
    pub recipient: Option<String>,
    pub content_type: Option<String>,
    /// The content; its parts are joined.
    pub text: String,
    /// Its tokens, with its header and its end.
    pub tokens: Range<usize>,
}

/// Decodes one rendered conversation; one EOD may follow it.
///
/// # Errors
///
/// Tokens that are not a whole conversation, ids outside the vocabulary, and text that is not UTF-8 (rendering
/// makes none). Invalid text is never replaced by other characters.
pub fn decode(tokens: &[i32]) -> Result<DecodedConversation, StructureError> {
    let mut bytes = Vec::new();
    let mut list = Vec::new();
    messages(tokens, |found| {
        let header = header::header(tokens, &found, &mut bytes)?;
        list.push(DecodedMessage {
            role: header.role.unwrap_or(Role::Tool),
            name: header.name,
            channel: header.channel,
            recipient: header.recipient,
            content_type: header.content_type,
            text: header::text(tokens, found.content.clone(), &mut bytes)?.to_owned(),
            tokens: found.tokens.clone(),
        });
        Ok(())
    })?;
    let text = header::text(tokens, 0..tokens.len(), &mut bytes)?.to_owned();
    Ok(DecodedConversation { text, messages: list })
}
