//! A column of plain values, any of which may be null, while it is built.

/// A column whose values may be null.
#[derive(Clone, Debug, Default)]
pub struct NullableColumn<T> {
    values: Vec<T>,
    /// Which values are not null; empty as long as none is null.
    known: Vec<bool>,
}

impl<T: Copy + Default> NullableColumn<T> {
    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value at `index`; `None` if it is null or not there.
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        if self.is_known(index) { self.values.get(index).copied() } else { None }
    }

    /// Whether the value at `index` is not null.
    #[inline]
    pub fn is_known(&self, index: usize) -> bool {
        self.known.is_empty() || self.known.get(index) == Some(&true)
    }

    /// Whether no value is null.
    pub fn all_known(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns all values; a null is the default value.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    #[inline(always)]
    pub fn push(&mut self, value: Option<T>) {
        match value {
            Some(value) if self.known.is_empty() => self.values.push(value),
            _ => self.push_among_nulls(value),
        }
    }

    #[cold]
    fn push_among_nulls(&mut self, value: Option<T>) {
        self.known.resize(self.values.len(), true);
        self.known.push(value.is_some());
        self.values.push(value.unwrap_or_default());
    }

    /// Appends values that are not null.
    pub fn extend_known(&mut self, values: impl IntoIterator<Item = T>) {
        self.values.extend(values);
        if !self.known.is_empty() {
            self.known.resize(self.values.len(), true);
        }
    }

    /// Appends values; `known` says which of them are not null. A null is the default value.
    pub fn extend_some(&mut self, values: &[T], known: impl IntoIterator<Item = bool>) {
        self.known.resize(self.values.len(), true);
        self.values.extend_from_slice(values);
        self.known.extend(known.into_iter().take(values.len()));
    }

    /// Appends this many nulls.
    pub fn extend_null(&mut self, count: usize) {
        if count > 0 {
            self.known.resize(self.values.len(), true);
            self.known.resize(self.values.len() + count, false);
            self.values.resize(self.values.len() + count, T::default());
        }
    }

    /// Appends another column.
    pub fn append(&mut self, other: &NullableColumn<T>) {
        if !other.all_known() {
            self.known.resize(self.values.len(), true);
            self.known.extend_from_slice(&other.known);
            self.values.extend_from_slice(&other.values);
        } else {
            self.extend_known(other.values.iter().copied());
        }
    }

    /// Makes room for this many more values.
    pub fn reserve(&mut self, additional: usize) {
        self.values.reserve(additional);
    }

    /// Keeps the first `length` values.
    pub fn truncate(&mut self, length: usize) {
        self.values.truncate(length);
        self.known.truncate(length);
    }

    /// Returns the values, and which of them are not null (empty if none is null).
    pub fn into_parts(self) -> (Vec<T>, Vec<bool>) {
        (self.values, self.known)
    }
}

impl<T> From<Vec<T>> for NullableColumn<T> {
    /// Makes a column of values without nulls.
    fn from(values: Vec<T>) -> Self {
        NullableColumn { values, known: Vec::new() }
    }
}

impl<T: Copy + Default + PartialEq> PartialEq for NullableColumn<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|i| self.get(i) == other.get(i))
    }
}

impl<T: Copy + Default> FromIterator<Option<T>> for NullableColumn<T> {
    fn from_iter<I: IntoIterator<Item = Option<T>>>(values: I) -> Self {
        let mut column = NullableColumn::default();
        values.into_iter().for_each(|value| column.push(value));
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_keeps_nulls_apart_from_defaults() {
        let values = [Some(1), Some(0), None, Some(3), None];
        let column: NullableColumn<i32> = values.into_iter().collect();
        assert_eq!((0..6).map(|i| column.get(i)).collect::<Vec<_>>()[..5], values);
        assert_eq!(column.get(5), None);
        assert_eq!(column.values(), [1, 0, 0, 3, 0]);
        assert!(!column.all_known());
        let all: NullableColumn<i32> = [Some(1), Some(2)].into_iter().collect();
        assert!(all.all_known());
        assert_eq!(all.get(2), None);
        assert_ne!(column, values.iter().map(|v| Some(v.unwrap_or(0))).collect());
    }
}
