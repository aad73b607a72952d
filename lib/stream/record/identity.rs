//! Which record this is.

/// The identity of a record: its id, and its place in its source file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Identity<'a> {
    pub id: Option<&'a str>,
    /// The file's name, without the directories above it.
    pub input: Option<&'a str>,
    /// The row in the file, from 0.
    pub row: Option<u64>,
}
