//! Reads the fields of games from the bytes of a row. Fields are found by their names in the row's type,
//! in any pool and at any offset. Fields with other names are ignored.

use crate::game2048::{
    ALIGNED_ROW, Board, CELLS, Direction, MAX_EXPONENT, PACKED_ROW, PackedBoard, Step, unpack,
};
use crate::npy::{DType, Field, Scalar, TypeChar, descr, elements, field, is_padding};

/// The fields of a row.
#[derive(Debug)]
pub(super) struct Columns {
    pub run_id: Option<Number>,
    pub step: Option<Number>,
    cells: Cells,
    board_eval: Option<Number>,
    move_dir: Option<Move>,
    valuation_type: Option<Number>,
    valuation: Option<Number>,
    ev_legal: Option<Number>,
    max_rank: Option<Number>,
    seed: Option<Number>,
    branch_evs: Option<Number>,
    /// Names of fields that are not read.
    pub unread: Vec<String>,
}

#[derive(Debug)]
enum Cells {
    /// Nibbles, and the `tile_65536_mask` if the pool has it.
    Packed(Number, Option<Number>),
    /// Sixteen exponents.
    Exponents(Number),
}

#[derive(Debug)]
enum Move {
    /// Numbers: 0 up, 1 down, 2 left, 3 right.
    Number(Number),
    /// Names `up`, `down`, `left`, `right` in a field of fixed width.
    Name(Number),
}

/// The type of `run_id` in a pack.
const ROW_ID: Scalar = Scalar { kind: TypeChar::Uint, is_big_endian: false, bytes: 4 };

/// A field of numbers: its offset, and how a number is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    offset: usize,
    scalar: Scalar,
}

/// A row's values, and the parts that its run must complete.
#[derive(Debug)]
pub(super) struct Row {
    /// The step, without its valuation name, and without its index if the row has none.
    pub step: Step,
    pub valuation_type: Option<u64>,
    /// Whether the seed's field has only the low 32 bits.
    pub seed_is_low: bool,
}

/// The names of the known fields in the three kinds of pools.
const KNOWN: [&str; 15] = [
    "run_id",
    "step_index",
    "step_idx",
    "board",
    "exps",
    "board_eval",
    "tile_65536_mask",
    "move_dir",
    "move",
    "valuation_type",
    "valuation",
    "ev_legal",
    "max_rank",
    "seed",
    "branch_evs",
];

impl Columns {
    /// Finds the fields of a row's type. The error says which field is missing or has a type that
    /// is not read.
    pub fn of(dtype: &DType) -> Result<Columns, String> {
        let fields = match dtype {
            DType::Record(fields) => fields.as_slice(),
            // The oldest pools hold only packed boards.
            _ => match Scalar::of(dtype).filter(is_packed) {
                Some(scalar) => return Ok(Columns::boards(Number { offset: 0, scalar })),
                None => return Err(format!("rows of {} are not steps of games", descr(dtype))),
            },
        };
        let integer = |name| number(dtype, name, 1, Scalar::is_integer);
        let float = |name, items| number(dtype, name, items, is_float);
        let mask = integer("tile_65536_mask")?;
        let exponents = |name| {
            number(dtype, name, CELLS, Scalar::is_integer).map(|cells| cells.map(Cells::Exponents))
        };
        let cells = match (field(dtype, "exps"), field(dtype, "board")) {
            (Some(_), _) => exponents("exps")?,
            (None, Some((_, DType::Array(..)))) => exponents("board")?,
            (None, _) => {
                number(dtype, "board", 1, is_packed)?.map(|board| Cells::Packed(board, mask))
            }
        };
        let Some(cells) = cells else {
            return Err("no field `board` or `exps`: these are not steps of games".to_string());
        };
        let step = match integer("step_index")? {
            None => integer("step_idx")?,
            found => found,
        };
        let move_dir = match integer("move_dir")? {
            Some(number) => Some(Move::Number(number)),
            None => number(dtype, "move", 1, is_text)?.map(Move::Name),
        };
        // A numeric `move` alone has no known meaning.
        let is_read = |name: &str| KNOWN.contains(&name) && (name != "move" || move_dir.is_some());
        let unread = |field: &&Field| !is_padding(field) && !is_read(&field.name);
        Ok(Columns {
            run_id: integer("run_id")?,
            step,
            cells,
            board_eval: integer("board_eval")?,
            unread: fields.iter().filter(unread).map(|field| field.name.clone()).collect(),
            move_dir,
            valuation_type: integer("valuation_type")?,
            valuation: float("valuation", 1)?,
            ev_legal: integer("ev_legal")?,
            max_rank: integer("max_rank")?,
            seed: integer("seed")?,
            branch_evs: float("branch_evs", 4)?,
        })
    }

    fn boards(board: Number) -> Columns {
        Columns {
            run_id: None,
            step: None,
            cells: Cells::Packed(board, None),
            board_eval: None,
            move_dir: None,
            valuation_type: None,
            valuation: None,
            ev_legal: None,
            max_rank: None,
            seed: None,
            branch_evs: None,
            unread: Vec::new(),
        }
    }

    /// Whether these are rows of a legacy pool: packed boards, but not all of a Macroxue row.
    pub fn is_legacy(&self) -> bool {
        let macroxue = self.ev_legal.is_some() && self.branch_evs.is_some();
        !macroxue && matches!(self.cells, Cells::Packed(..))
    }

    /// Whether a tile over 2^15 is stored as 2^15, as in packed boards without a mask.
    pub fn loses_large_tiles(&self) -> bool {
        matches!(self.cells, Cells::Packed(_, None))
    }

    /// Reads a row.
    pub fn read(&self, row: &[u8]) -> Result<Row, String> {
        let max_rank = narrow::<u8>(self.max_rank, row, "max_rank")?;
        let mut step = Step { board: self.board(row, max_rank)?, max_rank, ..Step::default() };
        if let Some(number) = self.step {
            let index = number.unsigned(row).and_then(|index| u32::try_from(index).ok());
            step.step_index = index.ok_or("its step is not u32")?;
        }
        if let Some(number) = self.board_eval {
            let score = i32::try_from(number.integer(row)).map_err(|_| "board_eval is not i32")?;
            step.board_eval = Some(score);
        }
        step.move_dir = self.direction(row)?;
        step.ev_legal = narrow::<u8>(self.ev_legal, row, "ev_legal")?;
        if let Some(legal) = step.ev_legal.filter(|&legal| legal > 15) {
            return Err(format!("ev_legal is {legal}, over 15"));
        }
        step.seed = self.seed.map(|number| number.bits(row, 0));
        step.valuation = self.valuation.map(|number| number.float(row, 0));
        if let Some(value) = step.valuation.filter(|value| !value.is_finite()) {
            return Err(format!("valuation is {value}"));
        }
        if let Some(number) = self.branch_evs {
            let mut values = [None; 4];
            for (i, name) in Direction::NAMES.into_iter().enumerate() {
                let value = number.float(row, i) as f32;
                // Packs store 0.0 where there is no value; any other value is kept.
                let legal = step.ev_legal.map(|bits| bits >> i & 1 == 1);
                if legal == Some(true) && !value.is_finite() {
                    return Err(format!("branch_evs has {value} for {name}"));
                }
                let there = legal != Some(false) || value.to_bits() != 0;
                values[i] = (there && value.is_finite()).then_some(value);
            }
            step.branch_evs = values;
        }
        let valuation_type = match self.valuation_type {
            Some(number) => Some(number.unsigned(row).ok_or("valuation_type is negative")?),
            None => None,
        };
        let seed_is_low = self.seed.is_some_and(|number| number.scalar.bytes <= 4);
        Ok(Row { step, valuation_type, seed_is_low })
    }

    fn board(&self, row: &[u8], max_rank: Option<u8>) -> Result<Board, String> {
        match self.cells {
            Cells::Packed(board, mask) => {
                let mask = narrow::<u16>(mask, row, "tile_65536_mask")?.unwrap_or_default();
                let packed = PackedBoard { nibbles: board.bits(row, 0), tile_65536_mask: mask };
                if !packed.mask_is_sound() {
                    return Err("tile_65536_mask has the bit of a cell that is not 15".to_string());
                }
                Ok(unpack(packed, max_rank.unwrap_or_default()))
            }
            Cells::Exponents(number) => {
                let mut cells = [0; CELLS];
                for (i, cell) in cells.iter_mut().enumerate() {
                    let exponent = number.bits(row, i);
                    *cell = u8::try_from(exponent)
                        .ok()
                        .filter(|&exponent| exponent <= MAX_EXPONENT)
                        .ok_or_else(|| format!("cell {i} has the exponent {exponent}, over 17"))?;
                }
                Board::new(cells).ok_or_else(|| "an exponent is over 17".to_string())
            }
        }
    }

    fn direction(&self, row: &[u8]) -> Result<Option<u8>, String> {
        match &self.move_dir {
            None => Ok(None),
            Some(Move::Number(number)) => {
                let value = number.bits(row, 0);
                let known = u8::try_from(value).ok().and_then(Direction::from_index);
                let direction = known.ok_or_else(|| format!("move_dir is {value}, over 3"))?;
                Ok(Some(direction as u8))
            }
            Some(Move::Name(number)) => {
                let name = number.text(row).ok_or("move is not text")?;
                if name.is_empty() {
                    return Ok(None);
                }
                let lower = name.to_lowercase();
                // Some names are the first letter alone.
                let named = Direction::NAMES.iter().find(|name| name[..1] == lower);
                let known = Direction::from_name(named.unwrap_or(&lower.as_str()));
                Ok(Some(known.ok_or_else(|| format!("move {name:?} is not a direction"))? as u8))
            }
        }
    }
}

/// Returns the field with this name, if there is one; fails unless it has `items` items that
/// satisfy `fits`.
fn number(
    dtype: &DType,
    name: &str,
    items: usize,
    fits: impl Fn(&Scalar) -> bool,
) -> Result<Option<Number>, String> {
    let Some((offset, found)) = field(dtype, name) else { return Ok(None) };
    let (shape, element) = elements(found);
    let count = shape.iter().try_fold(1u64, |count, &axis| count.checked_mul(axis));
    match Scalar::of(element) {
        Some(scalar) if count == Some(items as u64) && fits(&scalar) => {
            Ok(Some(Number { offset, scalar }))
        }
        // The order of directions of a numeric `move` is not known.
        Some(_) if name == "move" => Ok(None),
        _ => Err(format!("the field `{name}` of {}, {shape:?}, is not read", descr(element))),
    }
}

fn is_packed(scalar: &Scalar) -> bool {
    scalar.is_integer() && scalar.bytes == 8
}

fn is_float(scalar: &Scalar) -> bool {
    scalar.kind == TypeChar::Float && matches!(scalar.bytes, 4 | 8)
}

fn is_text(scalar: &Scalar) -> bool {
    matches!(scalar.kind, TypeChar::ByteStr | TypeChar::UnicodeStr)
}

/// Returns the value of a field that may be missing, in a smaller type.
fn narrow<T: TryFrom<u64>>(
    number: Option<Number>,
    row: &[u8],
    name: &str,
) -> Result<Option<T>, String> {
    let Some(number) = number else { return Ok(None) };
    let value = number.bits(row, 0);
    T::try_from(value).map(Some).map_err(|_| format!("{name} is {value}, which is too large"))
}

impl Number {
    fn bytes<'a>(&self, row: &'a [u8], item: usize) -> &'a [u8] {
        let size = self.scalar.bytes;
        row.get(self.offset + item * size..).and_then(|rest| rest.get(..size)).unwrap_or_default()
    }

    /// Returns the bits of an item, sign-extended if it is signed.
    #[inline]
    fn bits(&self, row: &[u8], item: usize) -> u64 {
        self.scalar.bits(self.bytes(row, item))
    }

    /// Returns the value of an integer that is not negative.
    #[inline]
    pub fn unsigned(&self, row: &[u8]) -> Option<u64> {
        let value = self.bits(row, 0);
        (self.scalar.kind != TypeChar::Int || value as i64 >= 0).then_some(value)
    }

    /// Whether all of these rows have this value.
    pub fn is_everywhere(&self, value: u64, rows: &[u8], row_bytes: usize) -> bool {
        let as_in_packs = (self.offset, self.scalar) == (0, ROW_ID);
        match (u32::try_from(value), row_bytes) {
            (Ok(value), ALIGNED_ROW) if as_in_packs => all_begin::<ALIGNED_ROW>(rows, value),
            (Ok(value), PACKED_ROW) if as_in_packs => all_begin::<PACKED_ROW>(rows, value),
            _ => rows.chunks_exact(row_bytes.max(1)).all(|row| self.unsigned(row) == Some(value)),
        }
    }

    fn integer(&self, row: &[u8]) -> i64 {
        self.scalar.integer(self.bytes(row, 0))
    }

    fn float(&self, row: &[u8], item: usize) -> f64 {
        let bits = self.bits(row, item);
        if self.scalar.bytes == 4 {
            f64::from(f32::from_bits(bits as u32))
        } else {
            f64::from_bits(bits)
        }
    }

    /// Returns the text of a field of fixed width, without the zeros at its end.
    fn text(&self, row: &[u8]) -> Option<String> {
        let bytes = self.bytes(row, 0);
        let mut text = match self.scalar.kind {
            TypeChar::UnicodeStr => {
                let read =
                    if self.scalar.is_big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
                let characters = bytes.as_chunks::<4>().0.iter();
                characters.map(|quad| char::from_u32(read(*quad))).collect::<Option<String>>()?
            }
            _ => String::from_utf8(bytes.to_vec()).ok()?,
        };
        text.truncate(text.trim_end_matches('\0').len());
        Some(text)
    }
}

/// Whether all rows begin with this number.
fn all_begin<const N: usize>(rows: &[u8], value: u32) -> bool {
    let mut different = 0;
    for row in rows.as_chunks::<N>().0 {
        if let Some(field) = row.first_chunk() {
            different |= u32::from_le_bytes(*field) ^ value;
        }
    }
    different == 0
}
