//! A conversation: messages, their texts in pieces, and what each piece is trained on as.

use serde::Serialize;

use super::training::{MaskFit, TokenTraining, TrainedCounts};
use super::{page, term};
use crate::view::Shown;
use crate::view::page::Parts;
use crate::view::term::{Artist, Line};

/// A conversation, or a token sequence that may be one.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ShownConversation {
    pub id: Option<String>,
    /// How many tokens it has, if it is tokenized.
    pub tokens: Option<usize>,
    pub messages: Vec<ShownMessage>,
    /// Whether its masks fit its messages; `None` if it has none.
    pub fit: Option<MaskFit>,
    pub counts: TrainedCounts,
    /// The place of the record, if that is more than its number.
    pub place: Option<String>,
    /// What is wrong with the record, in words.
    pub notes: Vec<String>,
}

/// A message, or tokens outside any message.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ShownMessage {
    /// `None` for tokens outside any message, such as the end of the document.
    pub role: Option<String>,
    pub channel: Option<String>,
    pub recipient: Option<String>,
    pub content_type: Option<String>,
    /// Pieces in their order; none is empty.
    pub pieces: Vec<Piece>,
    pub counts: TrainedCounts,
    /// Whether it is another answer in place of the message before, and stands beside it.
    #[serde(skip)]
    pub is_beside: bool,
}

/// Text whose tokens are all of one kind and trained on as the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Piece {
    pub kind: PieceKind,
    pub text: String,
    pub trained: TokenTraining,
    /// What the masks should say, if they say something else.
    pub expected: Option<TokenTraining>,
    /// The tokens of the text, if it is tokenized.
    pub tokens: Vec<TokenBorder>,
    pub mark: Option<Mark>,
}

/// A control token is a piece of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PieceKind {
    #[default]
    Text,
    Control,
    /// The token `<|endoftext|>`.
    Eod,
    /// An id to which no text is encoded.
    Unknown,
}

/// A token of a piece.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenBorder {
    pub id: i32,
    /// Its bytes, if it is of another tokenizer than o200k.
    #[serde(skip)]
    pub bytes: Option<Vec<u8>>,
    /// The end of the token in the piece's text, in bytes. A character of several tokens belongs to
    /// the last of them.
    pub end: usize,
}

/// A border of a message, where masks begin or end. The mask at this position is about the token
/// after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Mark {
    pub border: Border,
    pub next: TokenTraining,
    /// What should stand there, if it is something else.
    pub expected: Option<TokenTraining>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Border {
    /// The last token before a message.
    Before,
    /// The last token of a message, and none follows.
    Last,
}

impl ShownConversation {
    /// Leaves out the end of the document, if it is in no message.
    pub fn drop_eod(&mut self) {
        let is_eod = |last: &mut ShownMessage| {
            last.role.is_none() && last.pieces.iter().all(|piece| piece.kind == PieceKind::Eod)
        };
        let Some(last) = self.messages.pop_if(is_eod) else { return };
        for (trained, count) in last.counts.0 {
            self.counts.remove(trained, count);
            self.tokens = self.tokens.map(|tokens| tokens.saturating_sub(count));
        }
    }

    /// Whether the record has masks.
    pub fn has_masks(&self) -> bool {
        let mut pieces = self.messages.iter().flat_map(|message| &message.pieces);
        pieces.any(|piece| piece.trained != TokenTraining::Unknown)
    }
}

impl Shown for ShownConversation {
    fn lines(self: Box<Self>, number: &str, artist: &mut Artist) -> Vec<Line> {
        term::lines(&self, number, artist)
    }

    fn parts(&self, bytes: usize) -> Parts {
        page::parts(self, bytes)
    }

    fn legend(&self) -> Option<Line> {
        self.has_masks().then(term::legend)
    }
}

impl ShownMessage {
    /// Returns role, channel, recipient and content type as one line.
    pub fn title(&self) -> String {
        let Some(role) = &self.role else { return "outside of messages".to_string() };
        let mut title = role.clone();
        if let Some(channel) = &self.channel {
            title += &format!(" {channel}");
        }
        if let Some(recipient) = &self.recipient {
            title += &format!(" to={recipient}");
        }
        if let Some(content_type) = &self.content_type {
            title += &format!(" {content_type}");
        }
        title
    }
}

impl Piece {
    /// Makes a piece of text without tokens.
    pub fn plain(text: impl Into<String>) -> Piece {
        Piece {
            kind: PieceKind::Text,
            text: text.into(),
            trained: TokenTraining::Unknown,
            expected: None,
            tokens: Vec::new(),
            mark: None,
        }
    }
}
