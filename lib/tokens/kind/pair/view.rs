//! How pairs of answers are shown: the prompt, and below it the chosen and the rejected answer, side by side where there
//! is room.

use super::PairKind;
use crate::batch::{Batch, Header};
use crate::check::ModelSaid;
use crate::error::Result;
use crate::kind::TokenTexts;
use crate::kind::sequence::pieces_of;
use crate::kinds::conversation::{ShownConversation, ShownMessage, TokenTraining};
use crate::record::PAIR;
use crate::record::pairs::{PARTS, Pairs};
use crate::said::Said;
use crate::view::{Look, Shown, ViewKind};

impl ViewKind for PairKind {
    fn name(&self) -> &'static str {
        PAIR.name
    }

    /// The user may say the model of the tokens.
    fn look(&self, header: &Header, said: &Said) -> Result<Box<dyn Look>> {
        let model = said.get().map(|ModelSaid(folder)| folder.as_path());
        Ok(Box::new(PairLook(TokenTexts::of(header, model)?)))
    }
}

struct PairLook(TokenTexts);

impl Look for PairLook {
    fn show(&self, batch: &Batch, row: usize) -> Result<Box<dyn Shown>> {
        let pairs = Pairs::of(&batch.records)?;
        let texts = self.0.of_harmony(pairs.may_be_harmony(row));
        let parts = pairs.parts(row);
        let mut shown = ShownConversation {
            id: pairs.id(row).map(str::to_string),
            tokens: Some(parts.iter().map(|tokens| tokens.len()).sum()),
            place: batch.origin.remark(row).map(str::to_string),
            ..ShownConversation::default()
        };
        for (name, tokens) in PARTS.into_iter().zip(parts) {
            let mut message = ShownMessage {
                role: Some(name.to_string()),
                pieces: pieces_of(tokens, texts),
                is_beside: name == PARTS[2],
                ..ShownMessage::default()
            };
            message.counts.add(TokenTraining::Unknown, tokens.len());
            shown.counts.add(TokenTraining::Unknown, tokens.len());
            shown.messages.push(message);
        }
        Ok(Box::new(shown))
    }

    fn remark(&self) -> Option<&'static str> {
        self.0.remark()
    }
}
