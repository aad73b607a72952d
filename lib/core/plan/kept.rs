//! What the root holds already: a source that was made with this plan's options, of this input, by
//! this build, and whose files are there, is not made or joined again.

use std::path::Path;

use super::{Plan, PlanSource};
use crate::error::{Kind, Result};
use crate::provenance::Made;

impl PlanSource {
    /// What a manifest says of it.
    pub(super) fn made(&self, plan: &Plan) -> Made {
        Made {
            input: self.identity.clone(),
            rows: self.rows,
            tokens: self.tokens,
            options: plan.options.clone(),
            build: plan.build.clone(),
        }
    }

    /// Whether the root holds it.
    pub fn is_kept(&self, plan: &Plan, root: &Path) -> Result<bool> {
        match (plan.product.recipe().is_kept)(self, plan, root) {
            // What cannot be read is made again.
            Err(error) if error.kind() == Kind::Data => Ok(false),
            kept => kept,
        }
    }
}
