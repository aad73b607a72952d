//! Statistics of records: what `ds-stat` prints about a dataset or stream, in one pass and memory that
//! does not grow with it. What is counted for each record type is in `lib/chats/kinds`.
//!
//! | file | what |
//! |---|---|
//! | `kind.rs` | the interface of every record type, and its numbers |
//! | `messages.rs` | messages by role and channel, of sequences and conversations |
//! | `longest.rs` | the longest records, by their ids |
//! | `distribution.rs` | how often each length (score, tile) occurs |
//! | `plot.rs` | the same as bars on an axis |
//! | `keys.rs` | ids and texts that occur more than once |
//! | `answer.rs` | all numbers of one dataset: made from batches, written, merged |
//! | `written.rs` | reads an answer |
//! | `sections.rs` | what is printed of an answer, in order |
//! | `report.rs` | the same as text for people |
//!
//! The numbers of the parts of a whole add up to the numbers of the whole. They depend only on the
//! records, not on the encoding. The number of names (roles, channels, values of a column) is bounded.

mod answer;
mod distribution;
mod keys;
mod kind;
mod longest;
mod messages;
mod plot;
mod report;
mod sections;
mod written;

use std::collections::BTreeMap;

use crate::error::{Error, Result};

pub use answer::{Answer, PackedRows, StatOptions, measure, measure_seen, merge};
pub use distribution::Distribution;
pub use keys::key;
pub use kind::{CountedRows, Group, KINDS, KindNumbers, KindStat, Numbers, StatKind, StatView};
pub use longest::LongestRecords;
pub use messages::Messages;
pub use messages::Parts;
pub use plot::{Bar, Plot};
pub use report::report;
pub use sections::{Line, NamedLengths, QUANTILES, Section, Sections, quantiles};
pub use sections::{plain, share};

/// The most different names of one sort.
const NAMES: usize = 4096;
/// The most different tokens.
const TOKENS: usize = 1 << 18;

/// Returns the number of a name; fails if there are too many names. `what` is their noun in errors.
pub fn named<'a, T: Default>(
    numbers: &'a mut BTreeMap<String, T>,
    what: &str,
    name: &str,
) -> Result<&'a mut T> {
    if !numbers.contains_key(name) {
        if numbers.len() >= NAMES {
            return Err(Error::data(format!("more than {NAMES} different {what}")));
        }
        numbers.insert(name.to_string(), T::default());
    }
    numbers.get_mut(name).ok_or_else(|| Error::data(format!("{what}: {name}")))
}

/// Adds to the count of a token; fails if there are too many different tokens.
pub fn add_tokens(counts: &mut BTreeMap<i32, u64>, token: i32, times: u64) -> Result<()> {
    let count = counts.entry(token).or_default();
    *count = count.saturating_add(times);
    if counts.len() > TOKENS {
        Err(Error::data(format!("more than {TOKENS} different tokens")))
    } else {
        Ok(())
    }
}
