//! Conversations: how they are counted, shown, compared and checked.

mod check;
mod diff;
mod stat;
mod view;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::record::conversation::Conversations;
use crate::record::{CONVERSATION, RecordKind, RecordType};

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
