//! Preference data into pairs: the prompt that both answers have, as the model gets it, and what it would generate for
//! each of them.

use arrow_array::RecordBatch;

use super::chat_tok::{ChatTok, Renderer};
use super::lengths::{Length, LengthCounts, TooLong};
use crate::chat::{Json, LeftOutCounts, SAME};
use crate::error::Result;
use crate::record::pairs::{Identity, PairBuilder};
use crate::stage::FromChats;
use crate::wording::exactly;

/// A prompt, and the chosen and the rejected answer.
#[derive(Debug, Default)]
pub struct TokenPair {
    pub prompt: Vec<i32>,
    pub answers: [Vec<i32>; 2],
    /// How many control tokens the texts spell that are encoded as text.
    pub spelled: u64,
}

/// Why a pair is refused whose prompts are not the same.
pub const TWO_PROMPTS: &str = "the model gets another prompt for the rejected answer than for the chosen one: the \
     template writes what comes before by the answer (by its reasoning, or its calls); --take chosen in place of pair trains on the chosen one";

/// Makes the pairs of a batch.
pub struct PairMaker<'t> {
    renderer: Box<dyn Renderer + 't>,
    stage: &'t ChatTok,
    pair: TokenPair,
    builder: PairBuilder,
}

impl<'t> PairMaker<'t> {
    pub fn new(renderer: Box<dyn Renderer + 't>, stage: &'t ChatTok) -> PairMaker<'t> {
        PairMaker { renderer, stage, pair: TokenPair::default(), builder: PairBuilder::default() }
    }

    /// Whether the pair is short enough. (Without a part of its prompt or answer it would be another one.)
    fn fits(&self) -> Result<bool, String> {
        let TokenPair { prompt, answers, .. } = &self.pair;
        let tokens = prompt.len() + answers.iter().map(Vec::len).max().unwrap_or(0);
        let Some(limit) = self.stage.limit().filter(|limit| tokens > limit.tokens) else {
            return Ok(true);
        };
        if limit.too_long == TooLong::Refuse {
            return Err(format!(
                "a prompt and an answer of {}, more than --max-length {}; try: --too-long drop",
                exactly(tokens, "token"),
                limit.tokens
            ));
        }
        let trained = answers.iter().map(Vec::len).sum();
        let mut lengths = LengthCounts::default();
        let before = Length { tokens: prompt.len() + trained, trained };
        lengths.drop_one(before);
        self.stage.count_lengths(&lengths);
        Ok(false)
    }
}

impl FromChats for PairMaker<'_> {
    fn make(&mut self, record: Json<'_>, left_out: &mut LeftOutCounts) -> Result<usize, String> {
        let TokenPair { prompt, answers, spelled } = &mut self.pair;
        prompt.clear();
        answers.iter_mut().for_each(Vec::clear);
        *spelled = 0;
        if !self.renderer.pair(record, left_out, &mut self.pair)? {
            return Ok(0);
        }
        let [chosen, rejected] = &self.pair.answers;
        if chosen == rejected {
            return Err(format!("{SAME}, as the model writes them"));
        }
        let fits = self.fits()?;
        if fits {
            self.stage.count_spelled(self.pair.spelled);
        }
        Ok(usize::from(fits))
    }

    fn add(&mut self, _: usize, identity: Identity<'_>) -> Result<()> {
        let TokenPair { prompt, answers: [chosen, rejected], .. } = &self.pair;
        Ok(self.builder.push(identity, [prompt, chosen, rejected])?)
    }

    fn with_way_on(&self, reason: String) -> String {
        self.renderer.with_way_on(reason)
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        Ok(self.builder.finish()?)
    }
}
