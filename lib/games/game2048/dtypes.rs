//! The types of rows as NumPy writes them.

use npyz::{AutoSerialize, DType, Field};

use super::rows::{SelfplayRow, StepRow};

/// Returns the type of the 48-byte row of a Macroxue pack, with its padding.
pub fn aligned_step_row() -> DType {
    let mut row = packed_step_row();
    if let (DType::Record(fields), Ok(padding)) = (&mut row, "|V2".parse()) {
        let seed = fields.iter().position(|field| field.name == "seed").unwrap_or_default();
        fields.insert(seed, Field { name: String::new(), dtype: DType::Plain(padding) });
    }
    row
}

/// Returns the type of the same row packed to 46 bytes.
pub fn packed_step_row() -> DType {
    StepRow::default_dtype()
}

/// Returns the type of the 28-byte row of a self-play v1 pool.
pub fn selfplay_row() -> DType {
    SelfplayRow::default_dtype()
}
