//! Chats as the masked sequences that `chat-tok | span-mask` make of them, read like a dataset.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use clap::Args;

use super::{ChatArgs, ChatTok, LengthArgs, MaskRules, ModelArgs};
use crate::batch::{Batch, DroppedRecords, Header, RecordSource, WantedRecords};
use crate::chat::SESSIONS;
use crate::cli::{CommonArgs, FileForms, InputArgs, OnErrorArgs, Rejects, Tool};
use crate::error::{Error, Result};
use crate::format::foreign_rows::is_foreign;
use crate::harmony::{Alignment, ChannelSpan};
use crate::record::tokens::{Tokens, TokensBuilder};
use crate::record::{RecordType, TOKENS};
use crate::stream::{Reader, Request};
use crate::tokenizer::EOD;

/// How chats are prepared, to be compared with rows.
#[derive(Debug, Clone, Args)]
pub struct PreparationArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    chat: ChatArgs,
    #[command(flatten)]
    lengths: LengthArgs,

    /// Train on an assistant channel under this span id; 0 ignores it (repeatable) [default: on all that the model
    /// writes, also on calls: commentary=3]
    #[arg(long, value_name = "CHANNEL=ID", help_heading = "Conversations")]
    span: Vec<ChannelSpan>,

    #[command(flatten, next_help_heading = "Conversations")]
    on_error: OnErrorArgs,
}

/// The span of calls if the user names none: other tools train on them.
const CALLS: u8 = 3;

/// Chats that will be prepared for a model.
pub struct Preparation {
    stage: ChatTok,
    masks: MaskRules,
    header: Header,
    wanted: WantedRecords,
    rejects: Mutex<Rejects>,
    /// Whether the end of a document of o200k, which other tools do not write, is left out.
    without_end: bool,
}

impl PreparationArgs {
    /// Opens the model. The sequences will be compared with records of this header.
    pub fn open(&self, compared: &Header) -> Result<Arc<Preparation>> {
        self.lengths.check(&TOKENS)?;
        let model = self.model.open(&self.chat)?;
        if model.rendering.read_settings().takes_pairs() {
            let cause = "--take pair: rows are compared with sequences";
            return Err(Error::usage(cause).hint("--take chosen"));
        }
        let named = match self.span.is_empty() {
            true => vec![ChannelSpan { channel: "commentary".to_string(), id: CALLS }],
            false => self.span.clone(),
        };
        let (wanted, masks) = (model.wanted(), MaskRules::new(&named, Alignment::Label));
        let mut header = Header::of_record(&TOKENS);
        model.tokens.state_tokenizer(&mut header);
        masks.describe(&mut header);
        let stage = ChatTok::new(model.rendering, model.chats, self.lengths.limit());
        let (rejects, without_end) =
            (Mutex::new(Rejects::open(&self.on_error)?), is_foreign(compared));
        Ok(Arc::new(Preparation { stage, masks, header, wanted, rejects, without_end }))
    }
}

impl Preparation {
    /// Returns what to ask an input for: chats, or sequences that were prepared already.
    pub fn request(&self) -> Request {
        Request::OneOf(vec![self.wanted.clone(), WantedRecords::records(&TOKENS)])
    }

    /// Returns how inputs of chats are read.
    pub fn input() -> InputArgs {
        InputArgs { file_forms: FileForms(SESSIONS), ..InputArgs::default() }
    }

    /// Reads sequences from a reader of what was asked for: chats are prepared.
    pub fn read(self: &Arc<Preparation>, reader: Reader, name: String) -> Result<Reader> {
        if reader.record().is_some_and(|record| record.name == TOKENS.name) {
            return Ok(reader);
        }
        let chats = PreparedChats { chats: reader, preparation: self.clone() };
        Reader::of_datasets(Box::new(chats), name, Request::Any)
    }

    /// Publishes the chats that were refused, and says what was left out and what a user should know.
    pub fn finish(&self, tool: &Tool, common: &CommonArgs) -> Result<()> {
        let mut rejects = self.rejects();
        rejects.publish()?;
        rejects.report(tool.name());
        tool.warn(&self.stage.warnings(), common);
        self.stage.told().filter(|_| !common.quiet).for_each(|line| tool.tell(&line));
        Ok(())
    }

    fn rejects(&self) -> MutexGuard<'_, Rejects> {
        self.rejects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct PreparedChats {
    chats: Reader,
    preparation: Arc<Preparation>,
}

impl RecordSource for PreparedChats {
    fn record(&mut self, _: &'static RecordType) -> Result<Option<&'static RecordType>> {
        Ok(Some(&TOKENS))
    }

    fn begin(&mut self, _: Option<&WantedRecords>) -> Result<(Header, SchemaRef)> {
        Ok((self.preparation.header.clone(), TOKENS.schema()))
    }

    fn next(
        &mut self,
        _wanted: Option<&WantedRecords>,
        _schema: &SchemaRef,
        _most: u64,
    ) -> Result<Option<Batch>> {
        let Some(chats) = self.chats.next_batch()? else { return Ok(None) };
        let Preparation { stage, masks, without_end, .. } = &*self.preparation;
        let mut batch = masks.mask(stage.worker().convert(chats)?)?;
        self.preparation.rejects().take(std::mem::take(&mut batch.rejected))?;
        if *without_end {
            batch.records = without_ends(&batch.records)?;
        }
        Ok(Some(batch))
    }

    fn encoding(&self) -> String {
        format!("chats ({})", self.chats.encoding())
    }

    fn dropped(&self) -> DroppedRecords {
        self.chats.dropped()
    }

    fn notes(&self) -> Vec<String> {
        self.chats.notes().to_vec()
    }
}

/// Returns masked sequences without the end of a document. (Their segments are lost.)
fn without_ends(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let view = Tokens::of(batch)?;
    let mut builder = TokensBuilder::masked();
    for row in 0..view.len() {
        let tokens = view.tokens(row);
        let kept = tokens.strip_suffix(&[EOD]).unwrap_or(tokens);
        let masks = [view.loss_mask(row), view.span_id(row)];
        let [mask, span] = masks.map(|of| &of.unwrap_or_default()[..kept.len()]);
        builder.tokens.extend_from_slice(kept);
        builder.loss_mask.extend_from_slice(mask);
        builder.span_id.extend_from_slice(span);
        builder.finish_record_without_segments(view.identity(row))?;
    }
    builder.finish()
}
