//! The columns of a batch of records of any type.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::conversation::Conversations;
use super::game::Games;
use super::puzzle::Puzzles;
use super::tokens::Tokens;

/// A view of a batch.
pub enum Rows<'a> {
    Tokens(Tokens<'a>),
    Conversation(Conversations<'a>),
    Game(Box<Games<'a>>),
    Puzzle(Puzzles<'a>),
    Other(&'a RecordBatch),
}

impl<'a> Rows<'a> {
    /// A batch in the schema of the record type of this name, or of a type that has no view here.
    pub fn of(name: &str, batch: &'a RecordBatch) -> Result<Rows<'a>, ArrowError> {
        Ok(match name {
            "tokens" => Rows::Tokens(Tokens::of(batch)?),
            "conversation" => Rows::Conversation(Conversations::of(batch)),
            "game" => Rows::Game(Box::new(Games::of(batch)?)),
            "puzzle" => Rows::Puzzle(Puzzles::of(batch)?),
            _ => Rows::Other(batch),
        })
    }

    /// The id of a record, if records of its type have one.
    pub fn id(&self, row: usize) -> Option<&'a str> {
        match self {
            Rows::Tokens(rows) => rows.id(row),
            Rows::Conversation(rows) => rows.id(row),
            Rows::Game(_) | Rows::Puzzle(_) | Rows::Other(_) => None,
        }
    }
}
