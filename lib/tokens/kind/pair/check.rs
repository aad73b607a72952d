//! Checks pairs of answers in streams and files.

use super::PairKind;
use crate::batch::Header;
use crate::check::{
    BatchCheck, Check, CheckKind, ModelSaid, PAIR_CHECKS, PairChecker, PairRules, RecordChecker,
    RecordRules,
};
use crate::error::Result;
use crate::record::PAIR;
use crate::record::pairs::Pairs;
use crate::said::Said;

impl CheckKind for PairKind {
    fn name(&self) -> &'static str {
        PAIR.name
    }

    fn checks(&self) -> Vec<&'static Check> {
        PAIR_CHECKS.to_vec()
    }

    fn rules(&self, header: &Header, said: &Said) -> Result<Box<dyn RecordRules>> {
        let named = said.get().map(|ModelSaid(folder)| folder.as_path());
        Ok(Box::new(PairRules::of(header, named)?))
    }
}

impl RecordRules for PairRules {
    fn checker(&self) -> Box<dyn RecordChecker> {
        Box::new(PairChecker::new(self))
    }

    fn remark(&self) -> Option<&'static str> {
        self.not_checked()
    }
}

impl RecordChecker for PairChecker {
    fn check(&mut self, batch: &mut BatchCheck<'_, '_>) -> Result<()> {
        let pairs = Pairs::of(&batch.batch.records)?;
        for row in 0..pairs.len() {
            let id = pairs.id(row);
            let at = batch.at(row).id(id);
            if let Some(id) = id {
                batch.id(row, id);
            }
            self.pair(at, pairs.parts(row), batch.findings);
        }
        Ok(())
    }
}
