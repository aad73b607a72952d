//! A conversation: messages, their texts in pieces, and what each piece is trained on.

use serde::Serialize;

use super::TrainedCounts;
use super::fit::MaskFit;

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
    /// Where it stands, if that is more than its number.
    pub place: Option<String>,
    /// What is wrong with it, as a person would say it.
    pub notes: Vec<String>,
}

/// A message, or what is in none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ShownMessage {
    /// `None` for tokens that are in no message, as the end of the document.
    pub role: Option<String>,
    pub channel: Option<String>,
    pub recipient: Option<String>,
    pub content_type: Option<String>,
    /// In their order, none of them empty.
    pub pieces: Vec<Piece>,
    pub counts: TrainedCounts,
}

/// Text whose tokens are of one kind and trained on in one way.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Piece {
    pub kind: PieceKind,
    pub text: String,
    pub trained: Trained,
    /// What the masks ought to say, where they say something else.
    pub expected: Option<Trained>,
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
    /// `<|endoftext|>`
    Eod,
    /// An id that no text is encoded to.
    Unknown,
}

/// What a token is trained on as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Trained {
    /// There are no masks.
    #[default]
    Unknown,
    Not,
    /// Not, though its channel is: a weight says so.
    ByWeight,
    /// As this span id.
    As(u8),
    /// Masks that contradict each other (1 and span 0, 0 and span 1), or are neither 0 nor 1.
    Odd {
        mask: u8,
        span: u8,
    },
}

/// A token of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TokenBorder {
    pub id: i32,
    /// Where it ends in the piece's text, in bytes. A character of several tokens belongs to the
    /// last of them.
    pub end: usize,
}

/// A border of a message, where masks begin or end: what stands at this position of the masks, which
/// is about the token after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Mark {
    pub border: Border,
    pub next: Trained,
    /// What ought to stand there, if it is something else.
    pub expected: Option<Trained>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Border {
    /// The last token before a message.
    Before,
    /// The last token of a message, and none follows.
    Last,
}

impl Trained {
    /// What masks say at one position.
    pub fn of(mask: u8, span: u8) -> Trained {
        match (mask, span) {
            (0, 0) => Trained::Not,
            (1, 1..) => Trained::As(span),
            _ => Trained::Odd { mask, span },
        }
    }

    /// One character for it: R reasoning, F final, the digit of another span, W for what a weight keeps
    /// from it, `!` for what contradicts itself.
    pub fn letter(self) -> char {
        match self {
            Trained::Unknown => ' ',
            Trained::Not => '·',
            Trained::ByWeight => 'W',
            Trained::As(1) => 'R',
            Trained::As(2) => 'F',
            Trained::As(span @ 0..=9) => char::from(b'0' + span),
            Trained::As(_) => '+',
            Trained::Odd { .. } => '!',
        }
    }

    /// The same in words.
    pub fn name(self) -> String {
        match self {
            Trained::Unknown => "not known".to_string(),
            Trained::Not => "not trained on".to_string(),
            Trained::ByWeight => "not trained on, by weight".to_string(),
            Trained::As(span) => super::span_name(span),
            Trained::Odd { mask, span } => format!("odd (mask {mask}, span {span})"),
        }
    }
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

    /// Whether it says what of it is trained on.
    pub fn has_masks(&self) -> bool {
        let mut pieces = self.messages.iter().flat_map(|message| &message.pieces);
        pieces.any(|piece| piece.trained != Trained::Unknown)
    }
}

impl ShownMessage {
    /// Role, channel, recipient and content type in one line; no more than that.
    pub fn title(&self) -> String {
        let Some(role) = &self.role else { return "in no message".to_string() };
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
    /// Text without tokens.
    pub fn plain(text: impl Into<String>) -> Piece {
        Piece {
            kind: PieceKind::Text,
            text: text.into(),
            trained: Trained::Unknown,
            expected: None,
            tokens: Vec::new(),
            mark: None,
        }
    }
}
