//! Writes steps as JSON, one after another into a piece of memory that stays in the cache, without checking for
//! room before each value.

use std::ops::Range;

use arrow_array::{Array, StructArray};

use super::super::steps::{list_items, same_bytes};
use super::super::{BRANCHES, StepColumns};
use crate::game2048::{BOARD_TEXT, CELLS, write_board};
use crate::json::{self, FLOAT_TEXT, Float};
use crate::record::quick::QuickTexts;

/// How many bytes are written together.
const TOGETHER: usize = 1 << 15;
/// More than the bytes of the longest step here.
const LONGEST: usize = 512;
/// The most bytes of a name with its keys, or of a seed with its keys.
const PIECE: usize = 64;

/// Steps that can be written.
pub struct StepTexts<'a> {
    steps: StepColumns<'a>,
}

impl<'a> StepTexts<'a> {
    /// Returns the steps of an array.
    pub fn of(array: &'a StructArray) -> Option<StepTexts<'a>> {
        Some(StepTexts { steps: StepColumns::of_columns(array.columns()).ok()? })
    }
}

impl QuickTexts for StepTexts<'_> {
    fn write(&self, out: &mut Vec<u8>, range: Range<usize>) -> usize {
        let Some(usual) = NonNullSteps::of(&self.steps, range.clone()) else { return 0 };
        let mut text = Text { bytes: vec![0; TOGETHER], at: 0 };
        let mut memory = LastStepText::default();
        for index in 0..range.len() {
            let start = text.at;
            if usual.write(index, &mut text, &mut memory).is_none() {
                out.extend_from_slice(text.bytes.get(..start).unwrap_or_default());
                return index;
            }
            if text.at > TOGETHER - LONGEST {
                out.extend_from_slice(text.bytes.get(..text.at).unwrap_or_default());
                text.at = 0;
            }
        }
        out.extend_from_slice(text.bytes.get(..text.at).unwrap_or_default());
        range.len()
    }
}

/// The values of consecutive steps; only branches may be null.
struct NonNullSteps<'a> {
    step_index: &'a [u32],
    cells: &'a [[u8; CELLS]],
    board_eval: &'a [i32],
    move_dir: &'a [u8],
    /// The ends of the names in their text.
    names: &'a [i32],
    name_text: &'a [u8],
    valuation: &'a [f64],
    ev_legal: &'a [u8],
    max_rank: &'a [u8],
    seed: &'a [u64],
    branches: &'a [[f32; BRANCHES]],
    /// Which of the branches of all steps are not null, and the index at which these steps begin.
    known: Option<&'a arrow_buffer::NullBuffer>,
    first_branch: usize,
}

impl<'a> NonNullSteps<'a> {
    /// `None` if any value is null, or a list does not have its usual length.
    fn of(steps: &StepColumns<'a>, range: Range<usize>) -> Option<NonNullSteps<'a>> {
        let names = steps.valuation_type.0;
        let lists = [names.nulls(), steps.board.array.nulls(), steps.branch_evs.array.nulls()];
        let is_null = |nulls: &arrow_buffer::NullBuffer| {
            nulls.slice(range.start, range.len()).null_count() > 0
        };
        let cells_known = steps.board.items.null_count() == 0;
        if !cells_known || lists.into_iter().flatten().any(is_null) {
            return None;
        }
        macro_rules! known {
            ($column:ident) => {{
                let column = steps.$column.slice(range.clone());
                if column.null_count() > 0 {
                    return None;
                }
                column.values()
            }};
        }
        let boards = steps.board.array.value_offsets().get(range.start..=range.end)?;
        let cells = steps.board.items.values().get(list_items(boards, CELLS)?)?;
        let lists = steps.branch_evs.array.value_offsets().get(range.start..=range.end)?;
        let branches = list_items(lists, BRANCHES)?;
        let first_branch = branches.start;
        let branches = steps.branch_evs.items.values().get(branches)?;
        Some(NonNullSteps {
            step_index: known!(step_index),
            cells: cells.as_chunks().0,
            board_eval: known!(board_eval),
            move_dir: known!(move_dir),
            names: names.value_offsets().get(range.start..=range.end)?,
            name_text: names.value_data(),
            valuation: known!(valuation),
            ev_legal: known!(ev_legal),
            max_rank: known!(max_rank),
            seed: known!(seed),
            branches: branches.as_chunks().0,
            known: steps.branch_evs.array.values().nulls(),
            first_branch,
        })
    }

    /// Writes a step and a comma. `None` if it has a value that JSON does not have, or one that is
    /// longer than usual; the text is then not valid.
    #[inline(always)]
    fn write(&self, index: usize, text: &mut Text, memory: &mut LastStepText) -> Option<()> {
        let place = *self.names.get(index)? as usize..*self.names.get(index + 1)? as usize;
        memory.name(self.name_text, place)?;
        memory.seed(*self.seed.get(index)?)?;
        text.put(b"{\"step_index\":")?;
        text.integer(*self.step_index.get(index)?)?;
        text.put(b",\"board\":[")?;
        text.board(self.cells.get(index)?)?;
        text.put(b"],\"board_eval\":")?;
        let board_eval = *self.board_eval.get(index)?;
        text.sign(board_eval < 0)?;
        text.integer(board_eval.unsigned_abs())?;
        text.put(b",\"move_dir\":")?;
        text.integer(u32::from(*self.move_dir.get(index)?))?;
        text.piece(&memory.name_text, memory.name_length)?;
        text.float(*self.valuation.get(index)?)?;
        text.put(b",\"ev_legal\":")?;
        text.integer(u32::from(*self.ev_legal.get(index)?))?;
        text.put(b",\"max_rank\":")?;
        text.integer(u32::from(*self.max_rank.get(index)?))?;
        text.piece(&memory.seed_text, memory.seed_length)?;
        for (branch, &value) in self.branches.get(index)?.iter().enumerate() {
            let place = self.first_branch + index * BRANCHES + branch;
            match self.known.is_some_and(|known| known.is_null(place)) {
                true => text.put(b"null")?,
                false => text.float(value)?,
            }
            text.put(b",")?;
        }
        // The brace replaces the last comma.
        text.at -= 1;
        text.put(b"]},")
    }
}

/// The last name and the last seed as text, to be used again: few games have more than one seed, and few
/// steps have another name than the step before.
struct LastStepText {
    name: Option<Range<usize>>,
    /// The keys around the name, and the name.
    name_text: [u8; PIECE],
    name_length: usize,
    seed: Option<u64>,
    seed_text: [u8; PIECE],
    seed_length: usize,
}

impl Default for LastStepText {
    fn default() -> LastStepText {
        let (name_text, seed_text) = ([0; PIECE], [0; PIECE]);
        LastStepText {
            name: None,
            name_text,
            name_length: 0,
            seed: None,
            seed_text,
            seed_length: 0,
        }
    }
}

impl LastStepText {
    /// Sets the name from the text of all names. `None` if it is too long.
    #[inline(always)]
    fn name(&mut self, names: &[u8], place: Range<usize>) -> Option<()> {
        if self.name.as_ref().is_some_and(|last| same_bytes(names, last, &place)) {
            return Some(());
        }
        let name = std::str::from_utf8(names.get(place.clone())?).ok()?;
        let mut text = b",\"valuation_type\":".to_vec();
        json::write_string(&mut text, name);
        text.extend_from_slice(b",\"valuation\":");
        self.name_text.get_mut(..text.len())?.copy_from_slice(&text);
        self.name_length = text.len();
        self.name = Some(place);
        Some(())
    }

    #[inline(always)]
    fn seed(&mut self, seed: u64) -> Option<()> {
        if self.seed == Some(seed) {
            return Some(());
        }
        let text = format!(",\"seed\":{seed},\"branch_evs\":[");
        self.seed_text.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        self.seed_length = text.len();
        self.seed = Some(seed);
        Some(())
    }
}

/// Text that is being written. There is always room for a step.
struct Text {
    bytes: Vec<u8>,
    at: usize,
}

impl Text {
    #[inline(always)]
    fn room<const N: usize>(&mut self) -> Option<&mut [u8; N]> {
        self.bytes.get_mut(self.at..)?.first_chunk_mut()
    }

    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: &[u8; N]) -> Option<()> {
        self.piece(bytes, N)
    }

    /// Writes the first bytes of a piece; the bytes after them are overwritten.
    #[inline(always)]
    fn piece<const N: usize>(&mut self, bytes: &[u8; N], length: usize) -> Option<()> {
        *self.room()? = *bytes;
        self.at += length;
        Some(())
    }

    #[inline(always)]
    fn sign(&mut self, is_negative: bool) -> Option<()> {
        self.piece(b"-", usize::from(is_negative))
    }

    #[inline(always)]
    fn integer(&mut self, value: u32) -> Option<()> {
        self.at += json::write_integer(self.room::<16>()?, value);
        Some(())
    }

    #[inline(always)]
    fn board(&mut self, cells: &[u8; CELLS]) -> Option<()> {
        self.at += write_board(self.room::<BOARD_TEXT>()?, cells)?;
        Some(())
    }

    /// Writes a finite number.
    #[inline(always)]
    fn float<T: Float + Into<f64>>(&mut self, value: T) -> Option<()> {
        if !value.into().is_finite() {
            return None;
        }
        self.at += value.write(self.room::<FLOAT_TEXT>()?);
        Some(())
    }
}
