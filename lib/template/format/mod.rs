//! Formats: `text % values` and `text.format(...)`.

mod braces;
mod number;
mod percent;

pub use braces::braces;
pub use percent::percent;
