//! Tokens of a rendered conversation back to what it says.

use super::Role;
use super::header::{self, StructureError, messages};

/// A conversation as it stands in tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// All tokens as text, control tokens by their names: nothing is left out.
    pub text: String,
    pub messages: Vec<DecodedMessage>,
}

/// A message as it stands in tokens. What a header leaves unclear is told in `header.rs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedMessage {
    pub role: Role,
    /// The name of a tool, or the one behind another role.
    pub name: Option<String>,
    pub channel: Option<String>,
    pub recipient: Option<String>,
    pub content_type: Option<String>,
    /// The content, its parts in one.
    pub text: String,
}

/// Decodes one rendered conversation; one EOD may stand at its end.
///
/// # Errors
///
/// Tokens that are no whole conversation, ids outside the vocabulary, and text that is not
/// UTF-8 (rendering makes none): nothing is replaced.
pub fn decode(tokens: &[i32]) -> Result<Decoded, StructureError> {
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
            text: header::text(tokens, found.content, &mut bytes)?.to_owned(),
        });
        Ok(())
    })?;
    let text = header::text(tokens, 0..tokens.len(), &mut bytes)?.to_owned();
    Ok(Decoded { text, messages: list })
}
