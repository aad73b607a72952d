//! Columns of the values of steps, and [`step_columns!`], which declares a set of them.

use crate::record::nullable::NullableColumn;

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
        NullableColumn::reserve(self, additional);
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
