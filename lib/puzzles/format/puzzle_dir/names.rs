//! The table of identifiers of a set being written.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::puzzle::BLANK_IDENTIFIER;
use crate::wording::exactly;

/// Names by their place in the stream; place 0 is the blank one. Numbers in the set are assigned at
/// the end, so that names of train have lower numbers than names of test, whatever the order of the
/// records.
#[derive(Debug)]
pub(super) struct Names {
    places: HashMap<Arc<str>, i32>,
    names: Vec<Arc<str>>,
    /// The number of each name in the set, once it has one.
    numbers: Vec<Option<i32>>,
    blank: i32,
    next: i32,
}

impl Names {
    /// The blank identifier has the number `blank`.
    pub fn new(blank: i32) -> Names {
        let name: Arc<str> = BLANK_IDENTIFIER.into();
        let places = HashMap::from([(Arc::clone(&name), 0)]);
        Names { places, names: vec![name], numbers: Vec::new(), blank, next: 0 }
    }

    /// Returns the place of a name, if it has come before.
    pub fn find(&self, name: &str) -> Option<i32> {
        self.places.get(name).copied()
    }

    /// Returns the place of a name; a new name gets the next place.
    pub fn place(&mut self, name: &str) -> Result<i32> {
        if let Some(place) = self.find(name) {
            return Ok(place);
        }
        let place = i32::try_from(self.names.len())
            .map_err(|_| Error::data("more identifiers than an int32 can number"))?;
        let name: Arc<str> = name.into();
        self.places.insert(Arc::clone(&name), place);
        self.names.push(name);
        Ok(place)
    }

    /// Returns how many names there are, with the blank one.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns the number of the name at a place; the first call assigns the next free number.
    pub fn number(&mut self, place: i32) -> i32 {
        let index = usize::try_from(place).unwrap_or_default();
        if index == 0 {
            return self.blank;
        }
        self.numbers.resize(self.names.len(), None);
        if let Some(number) = self.numbers[index] {
            return number;
        }
        if self.next == self.blank {
            self.next += 1;
        }
        let number = self.next;
        self.next += 1;
        self.numbers[index] = Some(number);
        number
    }

    /// Returns all names by their numbers; every place must have one. Fails if the number of the
    /// blank name leaves a gap.
    pub fn by_number(&self) -> Result<Vec<&str>> {
        let mut list = vec![BLANK_IDENTIFIER; self.len()];
        if usize::try_from(self.blank).is_ok_and(|blank| blank >= list.len()) {
            return Err(Error::usage(format!(
                "--blank-identifier-id {}: there are only {}",
                self.blank,
                exactly(list.len(), "identifier")
            ))
            .hint("0"));
        }
        for (name, number) in self.names.iter().zip(&self.numbers) {
            let slot = number.and_then(|number| list.get_mut(usize::try_from(number).ok()?));
            if let Some(slot) = slot {
                *slot = name;
            }
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_in_the_order_asked_and_leave_out_the_blank_one() -> Result<()> {
        let mut names = Names::new(1);
        let [a, b] = [names.place("a")?, names.place("b")?];
        assert_eq!((names.place("a")?, names.place(BLANK_IDENTIFIER)?, names.len()), (a, 0, 3));
        assert_eq!([b, a, 0, b].map(|place| names.number(place)), [0, 2, 1, 0]);
        assert_eq!(names.by_number()?, ["b", BLANK_IDENTIFIER, "a"]);
        assert!(Names::new(1).by_number().is_err());
        Ok(())
    }
}
