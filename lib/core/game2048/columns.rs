//! Columns of the values of steps, and [`step_columns!`], which declares a set of them.

/// A column that has one item for each step.
pub trait ItemColumn {
    /// The value of one step.
    type Item;

    fn push(&mut self, item: Self::Item);
    /// The item at `index`; `None` past the end.
    fn item(&self, index: usize) -> Option<Self::Item>;
    /// Whether any item is not null.
    fn is_filled(&self) -> bool;
    /// Makes the column empty and keeps its memory.
    fn clear(&mut self);
    fn reserve(&mut self, additional: usize);
}

/// Declares columns of equal length (`Steps`) and the values of one step (`Step`): a line
/// `name: C` is a column `C` in `Steps` and its [`ItemColumn::Item`] in `Step`. The length of the
/// first column is the number of steps.
macro_rules! step_columns {
    (
        $(#[$steps_attribute:meta])* $steps:ident, $(#[$step_attribute:meta])* $step:ident {
            $(#[$first_doc:meta])* $first:ident: $first_column:ty,
            $($(#[$doc:meta])* $name:ident: $column:ty,)*
        }
    ) => {
        $(#[$steps_attribute])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $steps {
            $(#[$first_doc])* pub $first: $first_column,
            $($(#[$doc])* pub $name: $column,)*
        }

        $(#[$step_attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $step {
            $(#[$first_doc])* pub $first: <$first_column as ItemColumn>::Item,
            $($(#[$doc])* pub $name: <$column as ItemColumn>::Item,)*
        }

        impl $steps {
            pub fn len(&self) -> usize {
                self.$first.len()
            }

            pub fn is_empty(&self) -> bool {
                self.$first.is_empty()
            }

            #[inline(always)]
            pub fn push(&mut self, step: $step) {
                ItemColumn::push(&mut self.$first, step.$first);
                $(ItemColumn::push(&mut self.$name, step.$name);)*
            }

            /// The step at `index`, or `None` past the end.
            pub fn get(&self, index: usize) -> Option<$step> {
                Some($step {
                    $first: self.$first.item(index)?,
                    $($name: self.$name.item(index)?,)*
                })
            }

            /// The names of the columns that have a value.
            pub fn filled(&self) -> Vec<&'static str> {
                let columns = [
                    (stringify!($first), self.$first.is_filled()),
                    $((stringify!($name), self.$name.is_filled()),)*
                ];
                columns.into_iter().filter(|(_, filled)| *filled).map(|(name, _)| name).collect()
            }

            /// Makes the columns empty and keeps their memory.
            pub fn clear(&mut self) {
                self.$first.clear();
                $(self.$name.clear();)*
            }

            pub fn reserve(&mut self, additional: usize) {
                self.$first.reserve(additional);
                $(self.$name.reserve(additional);)*
            }
        }
    };
}

pub(super) use step_columns;

impl<T: Copy> ItemColumn for Vec<T> {
    type Item = T;

    #[inline(always)]
    fn push(&mut self, item: T) {
        Vec::push(self, item);
    }

    fn item(&self, index: usize) -> Option<T> {
        self.get(index).copied()
    }

    fn is_filled(&self) -> bool {
        !self.is_empty()
    }

    fn clear(&mut self) {
        Vec::clear(self);
    }

    fn reserve(&mut self, additional: usize) {
        Vec::reserve(self, additional);
    }
}

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

impl<T: Copy + Default> ItemColumn for NullableColumn<T> {
    type Item = Option<T>;

    #[inline(always)]
    fn push(&mut self, item: Option<T>) {
        NullableColumn::push(self, item);
    }

    fn item(&self, index: usize) -> Option<Option<T>> {
        (index < self.len()).then(|| self.get(index))
    }

    fn is_filled(&self) -> bool {
        (0..self.len()).any(|index| self.is_known(index))
    }

    fn clear(&mut self) {
        self.truncate(0);
    }

    fn reserve(&mut self, additional: usize) {
        self.values.reserve(additional);
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

/// The values of a step's four branches; any may be null.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BranchColumn {
    /// Values in the order up, down, left, right: finite, and 0.0 for a null.
    pub values: Vec<[f32; 4]>,
    /// Bit i: direction i has a value.
    pub known: Vec<u8>,
}

/// The bits in [`BranchColumn::known`] of a step whose branches all have values.
pub const ALL_BRANCHES: u8 = 15;

impl ItemColumn for BranchColumn {
    type Item = [Option<f32>; 4];

    #[inline(always)]
    fn push(&mut self, item: [Option<f32>; 4]) {
        let mut known = 0;
        for (i, value) in item.iter().enumerate() {
            known |= u8::from(value.is_some()) << i;
        }
        self.values.push(item.map(Option::unwrap_or_default));
        self.known.push(known);
    }

    fn item(&self, index: usize) -> Option<[Option<f32>; 4]> {
        let (values, known) = (self.values.get(index)?, self.known.get(index)?);
        Some(std::array::from_fn(|i| (known >> i & 1 == 1).then_some(values[i])))
    }

    fn is_filled(&self) -> bool {
        self.known.iter().any(|&known| known != 0)
    }

    fn clear(&mut self) {
        self.values.clear();
        self.known.clear();
    }

    fn reserve(&mut self, additional: usize) {
        self.values.reserve(additional);
        self.known.reserve(additional);
    }
}

/// For each set of branches, the bits of the values in it.
pub(super) const BRANCH_MASKS: [[u32; 4]; 16] = {
    let mut masks = [[0; 4]; 16];
    let mut place = 0;
    while place < 64 {
        if (place / 4) >> (place % 4) & 1 == 1 {
            masks[place / 4][place % 4] = u32::MAX;
        }
        place += 1;
    }
    masks
};

/// Returns the values of the branches whose bit is set, and 0.0 for the others.
#[inline]
pub fn known_values(values: &[f32; 4], known: u8) -> [f32; 4] {
    let masks = &BRANCH_MASKS[usize::from(known & ALL_BRANCHES)];
    std::array::from_fn(|i| f32::from_bits(values[i].to_bits() & masks[i]))
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
