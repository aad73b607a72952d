//! Decoded sequences: how they are shown. They are counted and compared as columns.

mod view;

pub use view::of_decoded;

/// Decoded sequences.
pub struct DecodedKind;
