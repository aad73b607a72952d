//! One game as plain data: what its source says about it, and its steps as columns.
//!
//! What a source does not know is null. The pools' layouts are in `rows`; where games come
//! from is no concern of this module.

use super::board::Board;

/// One game, whatever pool it came from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Game {
    /// The game's number in its source.
    pub run_id: u64,
    pub seed: Option<u64>,
    /// Search depth.
    pub depth: Option<u32>,
    pub score: Option<u64>,
    /// The largest tile itself (32768), not its exponent.
    pub max_tile: Option<u64>,
    /// The largest exponent, as the sidecar has it.
    pub max_rank: Option<u8>,
    pub num_moves: Option<u64>,
    pub seconds: Option<f64>,
    /// Where the game came from, for people.
    pub source: Option<String>,
    /// The other fields of the sidecar: the text of a JSON object, its values as they were
    /// written. Empty for none.
    pub meta: String,
    /// A pool's own keys: the text of a JSON object, on the first game of a pool.
    pub session: Option<String>,
    /// The valuation names of this game, in order of first appearance;
    /// [`Steps::valuation_type`] counts in them.
    pub valuation_names: Vec<String>,
    pub steps: Steps,
}

/// The steps of one game as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    pub step_index: Vec<u32>,
    /// The board before the move.
    pub boards: Vec<Board>,
    pub board_eval: Column<i32>,
    /// The number of a [`Direction`](super::Direction).
    pub move_dir: Column<u8>,
    /// Index into [`Game::valuation_names`].
    pub valuation_type: Column<u16>,
    pub valuation: Column<f64>,
    /// Bit i: the move in direction i is legal and has a value.
    pub ev_legal: Column<u8>,
    pub max_rank: Column<u8>,
    pub seed: Column<u64>,
    /// Values of up, down, left, right: finite, and 0.0 where there is none.
    pub branch_evs: Vec<[f32; 4]>,
    /// Bit i: direction i has a value.
    pub branch_known: Vec<u8>,
}

/// [`Steps::branch_known`] of a step whose branches all have values.
pub const ALL_BRANCHES: u8 = 15;

/// The values of the branches that have their bit, and 0.0 for the others.
#[inline]
pub fn known_values(values: &[f32; 4], known: u8) -> [f32; 4] {
    const MASKS: [[u32; 4]; 16] = {
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
    let masks = &MASKS[usize::from(known & ALL_BRANCHES)];
    std::array::from_fn(|i| f32::from_bits(values[i].to_bits() & masks[i]))
}

/// One step, to be put into [`Steps`] or taken out of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    pub step_index: u32,
    pub board: Board,
    pub board_eval: Option<i32>,
    pub move_dir: Option<u8>,
    pub valuation_type: Option<u16>,
    pub valuation: Option<f64>,
    pub ev_legal: Option<u8>,
    pub max_rank: Option<u8>,
    pub seed: Option<u64>,
    /// Up, down, left, right. Finite: whoever fills it in has checked that.
    pub branch_evs: [Option<f32>; 4],
}

/// A column in which values may be null.
#[derive(Clone, Debug, Default)]
pub struct Column<T> {
    values: Vec<T>,
    /// Which values are known; empty as long as all are.
    known: Vec<bool>,
}

impl<T: Copy + Default> Column<T> {
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

    /// All values, the default standing for null.
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

    /// Appends values of which none is null.
    pub fn extend_known(&mut self, values: impl IntoIterator<Item = T>) {
        self.values.extend(values);
        if !self.known.is_empty() {
            self.known.resize(self.values.len(), true);
        }
    }

    /// Appends so many nulls.
    pub fn extend_null(&mut self, count: usize) {
        if count > 0 {
            self.known.resize(self.values.len(), true);
            self.known.resize(self.values.len() + count, false);
            self.values.resize(self.values.len() + count, T::default());
        }
    }

    /// Appends another column.
    pub fn append(&mut self, other: &Column<T>) {
        if !other.all_known() {
            self.known.resize(self.values.len(), true);
            self.known.extend_from_slice(&other.known);
            self.values.extend_from_slice(&other.values);
        } else {
            self.extend_known(other.values.iter().copied());
        }
    }

    /// The values, and which of them are known (empty where all are).
    pub fn into_parts(self) -> (Vec<T>, Vec<bool>) {
        (self.values, self.known)
    }

    pub fn clear(&mut self) {
        self.values.clear();
        self.known.clear();
    }

    pub fn reserve(&mut self, additional: usize) {
        self.values.reserve(additional);
    }
}

impl<T: Copy + Default + PartialEq> PartialEq for Column<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|i| self.get(i) == other.get(i))
    }
}

impl<T: Copy + Default> FromIterator<Option<T>> for Column<T> {
    fn from_iter<I: IntoIterator<Item = Option<T>>>(values: I) -> Self {
        let mut column = Column::default();
        values.into_iter().for_each(|value| column.push(value));
        column
    }
}

impl Steps {
    pub fn len(&self) -> usize {
        self.step_index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.step_index.is_empty()
    }

    #[inline(always)]
    pub fn push(&mut self, step: Step) {
        self.step_index.push(step.step_index);
        self.boards.push(step.board);
        self.board_eval.push(step.board_eval);
        self.move_dir.push(step.move_dir);
        self.valuation_type.push(step.valuation_type);
        self.valuation.push(step.valuation);
        self.ev_legal.push(step.ev_legal);
        self.max_rank.push(step.max_rank);
        self.seed.push(step.seed);
        let mut known = 0;
        for (i, value) in step.branch_evs.iter().enumerate() {
            known |= u8::from(value.is_some()) << i;
        }
        self.branch_evs.push(step.branch_evs.map(Option::unwrap_or_default));
        self.branch_known.push(known);
    }

    /// The step at `index`, or `None` past the end.
    pub fn get(&self, index: usize) -> Option<Step> {
        Some(Step {
            step_index: *self.step_index.get(index)?,
            board: *self.boards.get(index)?,
            board_eval: self.board_eval.get(index),
            move_dir: self.move_dir.get(index),
            valuation_type: self.valuation_type.get(index),
            valuation: self.valuation.get(index),
            ev_legal: self.ev_legal.get(index),
            max_rank: self.max_rank.get(index),
            seed: self.seed.get(index),
            branch_evs: self.branch_values(index)?,
        })
    }

    /// The branch values at `index`: up, down, left, right.
    pub fn branch_values(&self, index: usize) -> Option<[Option<f32>; 4]> {
        let (values, known) = (self.branch_evs.get(index)?, self.branch_known.get(index)?);
        Some(std::array::from_fn(|i| (known >> i & 1 == 1).then_some(values[i])))
    }

    pub fn clear(&mut self) {
        self.step_index.clear();
        self.boards.clear();
        self.board_eval.clear();
        self.move_dir.clear();
        self.valuation_type.clear();
        self.valuation.clear();
        self.ev_legal.clear();
        self.max_rank.clear();
        self.seed.clear();
        self.branch_evs.clear();
        self.branch_known.clear();
    }

    pub fn reserve(&mut self, additional: usize) {
        self.step_index.reserve(additional);
        self.boards.reserve(additional);
        self.board_eval.reserve(additional);
        self.move_dir.reserve(additional);
        self.valuation_type.reserve(additional);
        self.valuation.reserve(additional);
        self.ev_legal.reserve(additional);
        self.max_rank.reserve(additional);
        self.seed.reserve(additional);
        self.branch_evs.reserve(additional);
        self.branch_known.reserve(additional);
    }
}

impl Game {
    /// Makes the game empty and keeps what its steps have allocated.
    pub fn clear(&mut self) {
        let mut steps = std::mem::take(&mut self.steps);
        steps.clear();
        *self = Game { steps, ..Game::default() };
    }

    /// The game's seed; where only its steps have one, that of the first.
    pub fn known_seed(&self) -> Option<u64> {
        self.seed.or_else(|| self.steps.seed.get(0))
    }

    /// The index of a valuation name in this game, which is given one if it is new. `None`
    /// if the game has as many names as u16 can count.
    pub fn valuation_index(&mut self, name: &str) -> Option<u16> {
        let known = self.valuation_names.iter().position(|known| known == name);
        let index = u16::try_from(known.unwrap_or(self.valuation_names.len())).ok()?;
        if known.is_none() {
            self.valuation_names.push(name.to_owned());
        }
        Some(index)
    }

    /// The valuation name of the step at `index`.
    pub fn valuation_name(&self, index: usize) -> Option<&str> {
        let name = self.steps.valuation_type.get(index)?;
        self.valuation_names.get(usize::from(name)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_keeps_nulls_apart_from_defaults() {
        let values = [Some(1), Some(0), None, Some(3), None];
        let column: Column<i32> = values.into_iter().collect();
        assert_eq!((0..6).map(|i| column.get(i)).collect::<Vec<_>>()[..5], values);
        assert_eq!(column.get(5), None);
        assert_eq!(column.values(), [1, 0, 0, 3, 0]);
        assert!(!column.all_known());
        let all: Column<i32> = [Some(1), Some(2)].into_iter().collect();
        assert!(all.all_known());
        assert_eq!(all.get(2), None);
        assert_ne!(column, values.iter().map(|v| Some(v.unwrap_or(0))).collect());
    }

    #[test]
    fn a_step_comes_out_as_it_went_in() {
        let full = Step {
            step_index: 7,
            board_eval: Some(-5),
            move_dir: Some(3),
            valuation_type: Some(1),
            valuation: Some(0.25),
            ev_legal: Some(9),
            max_rank: Some(4),
            seed: Some(u64::MAX),
            branch_evs: [Some(-0.0), None, None, Some(1.5)],
            ..Step::default()
        };
        let mut steps = Steps::default();
        for step in [Step::default(), full, Step::default(), full] {
            steps.push(step);
        }
        assert_eq!(steps.get(0), Some(Step::default()));
        assert_eq!(steps.get(1), Some(full));
        assert_eq!(steps.get(3), Some(full));
        assert_eq!(steps.get(4), None);
        assert_eq!(steps.len(), 4);
        steps.clear();
        assert_eq!(steps, Steps::default());
    }

    #[test]
    fn valuation_names_are_numbered_by_first_appearance() {
        let mut game = Game::default();
        assert_eq!(game.valuation_index("tuple11"), Some(0));
        assert_eq!(game.valuation_index("search"), Some(1));
        assert_eq!(game.valuation_index("tuple11"), Some(0));
        game.steps.push(Step { valuation_type: Some(1), ..Step::default() });
        game.steps.push(Step::default());
        assert_eq!(game.valuation_name(0), Some("search"));
        assert_eq!(game.valuation_name(1), None);
    }

    #[test]
    fn more_names_than_u16_counts_are_refused() {
        let mut game = Game { valuation_names: vec![String::new(); 65_536], ..Game::default() };
        assert_eq!(game.valuation_index("new"), None);
        assert_eq!(game.valuation_index(""), Some(0));
    }
}
