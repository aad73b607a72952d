//! What the user says about the records on the command line. Code that is common to all subjects hands it on and does
//! not know what it is.

use std::any::Any;

/// What is said, one value of each type: the value of an option that belongs to a subject.
#[derive(Debug, Default)]
pub struct Said(Vec<Box<dyn Any + Send + Sync>>);

impl Said {
    /// Adds a value, if it is said.
    pub fn with<T: Any + Send + Sync>(mut self, said: Option<T>) -> Said {
        self.0.extend(said.map(|said| Box::new(said) as _));
        self
    }

    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.iter().find_map(|said| said.downcast_ref())
    }
}
