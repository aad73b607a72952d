//! Conversations: how they are counted, shown, compared and checked.
//!
//! | file | what |
//! |---|---|
//! | `check.rs`, `diff.rs`, `stat.rs`, `view.rs` | what the frames ask for |
//! | `shown.rs` | messages in pieces of text, each with what its tokens are trained on |
//! | `training.rs` | how a token is trained on; whether masks fit the messages, or how they are shifted |
//! | `messages.rs` | messages in JSON as they are shown |
//! | `term.rs`, `page.rs` | the same drawn in a terminal and on a page |

mod chats;
mod check;
mod diff;
pub mod messages;
mod page;
mod shown;
mod stat;
mod term;
mod training;
mod view;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::record::conversation::Conversations;
use crate::record::{CONVERSATION, RecordKind, RecordType};

pub use chats::{holds_chats, refuse_chats};
pub use shown::{Border, Mark, Piece, PieceKind, ShownConversation, ShownMessage, TokenBorder};
pub use training::{MaskFit, SHIFTS, TokenTraining, TrainedCounts, span_name};

/// Conversations.
pub struct ConversationKind;

impl RecordKind for ConversationKind {
    const RECORD: &'static RecordType = &CONVERSATION;

    type Rows<'a> = Conversations<'a>;

    fn rows(batch: &RecordBatch) -> Result<Conversations<'_>, ArrowError> {
        Conversations::of(batch)
    }

    fn id<'r>(rows: &'r Conversations<'_>, row: usize) -> Option<&'r str> {
        rows.id(row)
    }
}
