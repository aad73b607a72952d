//! Numbers of pairs of answers.

use serde::{Deserialize, Serialize};

use super::PairKind;
use crate::error::Result;
use crate::record::pairs::Pairs;
use crate::stat::{
    Answer, Distribution, LongestRecords, Numbers, Sections, StatOptions, StatView, key,
};
use crate::wording::grouped;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PairStat {
    pub tokens: u64,
    /// The lengths of prompts with the longer answer.
    pub lengths: Distribution,
    /// The lengths of prompts, chosen and rejected answers.
    pub prompt: Distribution,
    pub chosen: Distribution,
    pub rejected: Distribution,
    /// Pairs whose chosen answer is longer than the rejected one, and the reverse.
    pub chosen_is_longer: u64,
    pub rejected_is_longer: u64,
    /// Pairs that are longer than `--seq-length`, with one of their answers.
    pub longer: u64,
    #[serde(default)]
    pub longest: LongestRecords,
}

impl PairStat {
    fn parts(&self) -> [&Distribution; 3] {
        [&self.prompt, &self.chosen, &self.rejected]
    }
}

impl StatView for PairKind {
    type Numbers = PairStat;

    fn bytes(rows: &Pairs<'_>, row: usize) -> usize {
        rows.parts(row).iter().map(|tokens| 4 * tokens.len()).sum()
    }

    fn count(
        rows: &Pairs<'_>,
        row: usize,
        numbers: &mut PairStat,
        options: &StatOptions,
    ) -> Result<()> {
        let lengths @ [_, chosen, rejected] = rows.parts(row).map(|tokens| tokens.len() as u64);
        let longest = rows.longest(row) as u64;
        numbers.tokens += lengths.iter().sum::<u64>();
        numbers.lengths.add(longest);
        let of = [&mut numbers.prompt, &mut numbers.chosen, &mut numbers.rejected];
        of.into_iter().zip(lengths).for_each(|(of, length)| of.add(length));
        numbers.chosen_is_longer += u64::from(chosen > rejected);
        numbers.rejected_is_longer += u64::from(rejected > chosen);
        numbers.longer += u64::from(options.seq_length.is_some_and(|most| longest > most));
        numbers.longest.add(longest, rows.id(row));
        Ok(())
    }

    fn text_key(rows: &Pairs<'_>, row: usize) -> Option<u128> {
        let parts = rows.parts(row);
        // (The lengths say where each part begins.)
        let lengths = parts.map(|part| part.len() as i32);
        let all = [&lengths[..], parts[0], parts[1], parts[2]].concat();
        Some(key(&all[..]))
    }
}

impl Numbers for PairStat {
    fn merge(&mut self, other: PairStat) -> Result<()> {
        self.lengths.merge(other.lengths);
        self.prompt.merge(other.prompt);
        self.chosen.merge(other.chosen);
        self.rejected.merge(other.rejected);
        self.longest.merge(&other.longest);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.chosen_is_longer = self.chosen_is_longer.saturating_add(other.chosen_is_longer);
        self.rejected_is_longer = self.rejected_is_longer.saturating_add(other.rejected_is_longer);
        self.longer = self.longer.saturating_add(other.longer);
        Ok(())
    }

    fn lengths(&self) -> (&'static str, &Distribution) {
        ("tokens", &self.lengths)
    }

    fn headline(&self, records: String) -> [(&'static str, String); 3] {
        let answers = self.chosen.sum().saturating_add(self.rejected.sum());
        [("pairs", records), ("tokens", grouped(self.tokens)), ("of answers", grouped(answers))]
    }

    fn sections<'a>(&'a self, out: &mut Sections<'a>, answer: &Answer) {
        out.number("tokens", self.tokens);
        out.head("pairs");
        let all = answer.all.records;
        out.share("longer chosen answer", self.chosen_is_longer, all);
        out.share("longer rejected answer", self.rejected_is_longer, all);
        if let Some(most) = answer.seq_length {
            out.share(&format!("longer than {most}"), self.longer, all);
        }
        out.repeated(answer, "repeated pairs");
        out.distribution("tokens of a prompt with its longer answer", &self.lengths);
        const NAMES: [&str; 3] =
            ["tokens of a prompt", "tokens of a chosen answer", "tokens of a rejected answer"];
        NAMES.into_iter().zip(self.parts()).for_each(|(name, of)| out.distribution(name, of));
        out.longest("tokens of the longest pairs", &self.longest);
    }
}
