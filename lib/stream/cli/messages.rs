//! What a filter tells its user, as far as `--quiet` and `--progress` let it.

use std::io::IsTerminal;

use super::args::CommonArgs;
use super::progress::When;
use super::tool::Tool;

impl Tool {
    /// Tells a user at a terminal that NDJSON did not carry what earlier filters know.
    pub fn advise_arrow(&self, common: &CommonArgs) {
        if !common.quiet && std::io::stderr().is_terminal() {
            let lost = "NDJSON does not carry what earlier filters dropped, nor their options";
            self.tell(&format!("{lost}; try: export GRISTMILL_TO=arrow"));
        }
    }

    /// Prints what was made, if somebody looks: on a terminal, or with `--progress always`.
    pub fn tell_made(&self, made: Option<&str>, common: &CommonArgs) {
        let is_told = match common.progress.unless(common.quiet) {
            When::Auto => std::io::stderr().is_terminal(),
            When::Always => true,
            When::Never => false,
        };
        made.filter(|_| is_told).into_iter().for_each(|made| self.tell(made));
    }

    /// Says what was left out on purpose, unless only errors are wanted.
    pub fn tell_left(&self, left: Option<&str>, common: &CommonArgs) {
        left.filter(|_| !common.quiet).into_iter().for_each(|left| self.tell(left));
    }

    /// Prints warnings, unless only errors are wanted.
    pub fn warn(&self, warnings: &[String], common: &CommonArgs) {
        for warning in warnings.iter().filter(|_| !common.quiet) {
            self.tell(&format!("warning: {warning}"));
        }
    }
}
