//! Lists that this code is handed, because it must not know who offers what: record types, families of checks, kinds of
//! records. The program sets each once, before anything is read (`subjects` does).

use std::ops::Deref;
use std::sync::OnceLock;

/// A list that is set once for the process. It is empty before.
pub struct Handed<T: 'static>(OnceLock<&'static [T]>);

impl<T> Handed<T> {
    #[expect(
        clippy::new_without_default,
        reason = "it is a static, and made by a constant function"
    )]
    pub const fn new() -> Handed<T> {
        Handed(OnceLock::new())
    }

    /// Sets the list. The first one stays: all filters of a chain know the same.
    pub fn set(&self, list: &'static [T]) {
        let _ = self.0.set(list);
    }
}

impl<T> Deref for Handed<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.get().copied().unwrap_or_default()
    }
}
