//! What a record looks like to a person: conversations, games and puzzles as plain data. A terminal and a
//! page draw these data in their own ways. Nothing here knows colours, widths or markup.
//!
//! | file | what |
//! |---|---|
//! | `conversation.rs` | messages in pieces of text, each with what its tokens are trained on |
//! | `sequence.rs` | the same from tokens and masks |
//! | `messages.rs` | the same from messages in JSON, and from decoded sequences |
//! | `training.rs` | how a token is trained on; whether masks fit the messages, or how they are shifted |
//! | `game.rs` | boards with their moves and values |
//! | `puzzle.rs` | both sides of an example; `puzzle::picture` is drawn by the domains |
//! | `fields.rs` | records of any other type: names and values |
//! | `verdict.rs` | whether all is well, and the numbers that are asked for first |
//! | `term` | all of it as lines of a terminal |
//! | `page` | all of it on one HTML page |
//!
//! A [`Viewer`] makes them from the batches of a [`Reader`]. Texts are as in the data: code that writes
//! them out must use [`visible`](crate::visible) or escape them.

mod conversation;
mod fields;
mod game;
pub(crate) mod messages;
pub mod page;
mod puzzle;
pub(crate) mod sequence;
pub mod term;
mod texts;
mod training;
mod verdict;

use std::path::Path;

use arrow_array::RecordBatch;
use serde::Serialize;

use crate::batch::{Batch, Header};
use crate::error::{Error, Result};
use crate::format::token_rows::{HAS_EOD, PACKED};
use crate::harmony::{Alignment, Spans};
use crate::puzzle::picture::CellKind;
use crate::record::{DECODED, RecordType, Rows, TOKENS, each_kind, each_rows};
use crate::stream::Reader;

pub use conversation::{
    Border, Mark, Piece, PieceKind, ShownConversation, ShownMessage, TokenBorder,
};
pub use fields::{ShownField, ShownFields};
pub use game::{ShownBranch, ShownGame, ShownStep, tile};
pub use page::ExtraPlots;
pub use puzzle::ShownPuzzle;
pub use texts::TokenTexts;
pub use training::{MaskFit, TokenTraining};
pub use verdict::{Tone, Verdict, VerdictLine};

/// A record as it is shown.
#[derive(Debug, Clone)]
pub enum ShownRecord {
    Conversation(ShownConversation),
    Game(Box<ShownGame>),
    Puzzle(ShownPuzzle),
    Fields(ShownFields),
}

impl ShownRecord {
    /// Whether the record has masks.
    pub fn has_masks(&self) -> bool {
        matches!(self, ShownRecord::Conversation(shown) if shown.has_masks())
    }
}

/// Records that can be shown: implemented by the views of record types.
pub trait RecordView {
    /// The default number of records on a page, with which a typical record is shown whole.
    const SAMPLE: u64 = 50;
    /// Whether records have masks, which may be aligned in several ways.
    const IS_ALIGNED: bool = false;

    /// Returns what a dataset of such records is, in words.
    fn dataset(_: &Header) -> Option<String> {
        None
    }

    /// Returns the record in a row of `batch`; `self` is the view of that batch.
    fn show(&self, viewer: &Viewer, batch: &Batch, row: usize) -> Result<ShownRecord>;

    /// Adds the numbers that a page shows and ds-stat does not.
    fn add_to(&self, _extra: &mut ExtraPlots) {}
}

/// Records of a type without a view: their fields are shown.
impl RecordView for &RecordBatch {
    fn show(&self, viewer: &Viewer, _: &Batch, row: usize) -> Result<ShownRecord> {
        Ok(match viewer.kind() == Some(DECODED.name) {
            true => ShownRecord::Conversation(messages::of_decoded(self, row)?),
            false => ShownRecord::Fields(ShownFields::of(self, row)?),
        })
    }
}

/// The facts and functions of one record type that a viewer needs.
pub(crate) struct TypeView {
    name: &'static str,
    pub sample: u64,
    pub is_aligned: bool,
    pub dataset: fn(&Header) -> Option<String>,
}

impl TypeView {
    const fn of<T: RecordView>(name: &'static str) -> TypeView {
        TypeView { name, sample: T::SAMPLE, is_aligned: T::IS_ALIGNED, dataset: T::dataset }
    }
}

macro_rules! looks {
    ($($kind:ident $type:ident $module:ident $view:ident;)+) => {
        const TYPE_VIEWS: &[TypeView] =
            &[$(TypeView::of::<crate::record::$module::$view<'_>>(crate::record::$type.name)),+];
    };
}
each_kind!(looks);

/// The facts and functions for records of any other type.
const OTHER: &TypeView = &TypeView::of::<&RecordBatch>("");

/// Prepares the records of one reader to be shown.
pub struct Viewer {
    record: Option<&'static RecordType>,
    pub(crate) alignment: Alignment,
    /// `None` where the spans are not known.
    pub(crate) spans: Option<Spans>,
    pub(crate) texts: TokenTexts,
    /// Whether the end of a document is in the records and not in their file.
    pub(crate) lacks_eod: bool,
    /// The padding and the ignored label that a puzzle set states, with their kinds.
    pub(crate) padding: [Option<(i32, CellKind)>; 2],
}

impl Viewer {
    /// Makes the viewer of a reader that was asked for records of any type, and selects the columns
    /// that are shown.
    pub fn of(
        reader: &mut Reader,
        align: Option<Alignment>,
        model: Option<&Path>,
    ) -> Result<Viewer> {
        let viewer = Viewer::new(reader, align, model)?;
        viewer.select(reader);
        Ok(viewer)
    }

    /// Makes the viewer of a reader whose batches begin with the columns of the record type.
    /// `align` is the alignment of masks that a flag states, `model` the folder of the tokens' model.
    pub fn new(reader: &Reader, align: Option<Alignment>, model: Option<&Path>) -> Result<Viewer> {
        let record = reader.fitting_type();
        let header = reader.header();
        let alignment = Alignment::of(header.text("alignment"), align).map_err(Error::usage)?;
        let spans = header.parameters.get("spans");
        Ok(Viewer {
            record,
            alignment,
            spans: spans.map(Spans::from_json),
            texts: TokenTexts::of(header, model)?,
            lacks_eod: header.parameters.get(PACKED).is_some_and(|rows| rows[HAS_EOD] == false),
            padding: [
                named_token(header, "pad_id").map(|token| (token, CellKind::Padding)),
                named_token(header, "ignore_label_id").map(|token| (token, CellKind::Ignored)),
            ],
        })
    }

    /// Whether only the ids of tokens are known, not their texts.
    pub fn shows_ids(&self) -> bool {
        self.kind() == Some(TOKENS.name) && !self.texts.are_known()
    }

    /// Selects the columns that are shown.
    pub fn select(&self, reader: &mut Reader) {
        if let Some(record) = self.record {
            reader.select_whole(record);
        }
    }

    /// Returns the name of the record type; `None` for records of any other type.
    pub fn kind(&self) -> Option<&'static str> {
        self.record.map(|record| record.name)
    }

    pub(crate) fn look(&self) -> &'static TypeView {
        TYPE_VIEWS.iter().find(|look| Some(look.name) == self.kind()).unwrap_or(OTHER)
    }

    /// Returns a record of a batch.
    pub fn show(&self, batch: &Batch, row: usize) -> Result<ShownRecord> {
        let name = self.kind().unwrap_or_default();
        let rows = Rows::of(name, &batch.records)?;
        each_rows!(rows, rows => rows.show(self, batch, row))
    }
}

/// Returns a token that the header of a puzzle set names.
fn named_token(header: &Header, name: &str) -> Option<i32> {
    header.parameters.get(name)?.as_i64().and_then(|token| token.try_into().ok())
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
    fn remove(&mut self, trained: TokenTraining, tokens: usize) {
        let known = self.0.iter_mut().find(|(known, _)| *known == trained);
        known.into_iter().for_each(|(_, count)| *count = count.saturating_sub(tokens));
        self.0.retain(|(_, count)| *count > 0);
    }

    fn add(&mut self, trained: TokenTraining, tokens: usize) {
        match self.0.iter_mut().find(|(known, _)| *known == trained) {
            Some((_, count)) => *count += tokens,
            None => self.0.push((trained, tokens)),
        }
    }
}

#[cfg(test)]
mod tests;
