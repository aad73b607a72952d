//! What `ds-view` does with whole inputs: it opens and checks them, and makes a page or a verdict of what it reads.
//!
//! | file | what |
//! |---|---|
//! | `args.rs` | the arguments that make a page, and the page in its file |
//! | `gather.rs` | one pass over the records: numbers, and the sample |
//! | `verdict.rs` | whether all is well, for a terminal |

mod args;
mod gather;
mod verdict;

pub use args::PageArgs;
