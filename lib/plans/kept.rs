//! What the root holds already. A source is not made or joined again if its files are there and were
//! made with this plan's options, from this input, by this build.

use std::path::{Path, PathBuf};

use super::{Plan, PlanSource};
use crate::error::{Error, Kind, Result};
use crate::provenance::DatasetOrigin;

impl PlanSource {
    /// Returns what a manifest states about this source.
    pub(super) fn made(&self, plan: &Plan) -> DatasetOrigin {
        DatasetOrigin {
            input: self.identity.clone(),
            rows: self.rows,
            tokens: self.tokens,
            options: plan.options.clone(),
            model: plan.model.clone(),
            build: plan.build.clone(),
        }
    }

    /// Whether the root holds the source as the plan would make it.
    pub fn is_kept(&self, plan: &Plan, root: &Path) -> Result<bool> {
        match (plan.product.recipe().is_kept)(self, plan, root) {
            // A dataset that cannot be read is made again.
            Err(error) if error.kind() == Kind::Data => Ok(false),
            kept => kept,
        }
    }

    /// Returns the path at which the source becomes a dataset.
    pub(super) fn target(&self, plan: &Plan, root: &Path) -> PathBuf {
        if plan.product.recipe().is_apart { root.join(&self.name) } else { root.to_path_buf() }
    }

    /// Fails if the dataset at the source's path was not made as the plan would make it, since such a
    /// dataset must not be replaced silently.
    pub(super) fn check_resumed(&self, plan: &Plan, root: &Path) -> Result<()> {
        if plan.product.recipe().makes_again {
            return Ok(());
        }
        let cause = match self.found(plan, root)? {
            Some(found) => self.differs(plan, &found),
            None => Some("was not made by this command"),
        };
        let Some(cause) = cause else { return Ok(()) };
        Err(Error::usage(cause).at(self.target(plan, root).as_path()).hint("--overwrite"))
    }

    /// Returns why what the root has of the source is made again.
    pub(super) fn is_replaced(&self, plan: &Plan, root: &Path) -> Result<Option<&'static str>> {
        Ok(self.found(plan, root)?.and_then(|found| self.differs(plan, &found)))
    }

    fn found(&self, plan: &Plan, root: &Path) -> Result<Option<DatasetOrigin>> {
        match (plan.product.recipe().made)(self, root) {
            // A dataset that cannot be read has no known origin.
            Err(error) if error.kind() == Kind::Data => Ok(None),
            found => found,
        }
    }

    fn differs(&self, plan: &Plan, found: &DatasetOrigin) -> Option<&'static str> {
        match () {
            _ if *found == self.made(plan) => None,
            _ if found.input != self.identity => Some("was made of another input"),
            _ if found.build != plan.build => Some("was made by another build"),
            _ => Some("was made with other options"),
        }
    }
}
