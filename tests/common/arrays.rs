//! npyz as a second reader of the arrays that our filters write: its own header, its own values.

use std::io::Read;
use std::path::Path;

use gristmill::format::npy::ArrayHeader;
use gristmill::game2048::{SelfplayRow, StepRow};
use gristmill::game2048::{aligned_step_row, packed_step_row, selfplay_row};
use npyz::{DType, DTypeError, Deserialize, NpyFile, TypeRead};

/// A row with padding, which npyz's derived reader does not know.
struct AlignedRow(StepRow);

struct AlignedReader(<StepRow as Deserialize>::TypeReader);

impl Deserialize for AlignedRow {
    type TypeReader = AlignedReader;

    fn reader(dtype: &DType) -> Result<AlignedReader, DTypeError> {
        assert_eq!(dtype, &aligned_step_row());
        StepRow::reader(&packed_step_row()).map(AlignedReader)
    }
}

impl TypeRead for AlignedReader {
    type Value = AlignedRow;

    fn read_one<R: Read>(&self, mut reader: R) -> std::io::Result<AlignedRow> {
        let mut row = [0; 48];
        reader.read_exact(&mut row)?;
        assert_eq!(row[26..28], [0, 0], "padding");
        self.0.read_one(&[&row[..26], &row[28..]].concat()[..]).map(AlignedRow)
    }
}

/// Reads every `.npy` file below a directory with npyz and as the library does, and compares type,
/// shape and values; gives their number.
#[track_caller]
pub fn assert_npyz_reads(directory: &Path) -> usize {
    let names = super::files_in(directory);
    let arrays = names.iter().filter(|name| name.ends_with(".npy"));
    arrays.map(|name| assert_npyz_reads_file(&directory.join(name))).count()
}

#[track_caller]
fn assert_npyz_reads_file(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    let (header, start) = ArrayHeader::read(&mut &bytes[..]).unwrap();
    let data = &bytes[start as usize..];
    let theirs = || NpyFile::new(&bytes[..]).unwrap();
    assert_eq!(theirs().dtype(), header.dtype, "{}", path.display());
    assert_eq!(theirs().shape(), header.shape, "{}", path.display());
    let is_same = if header.dtype == aligned_step_row() {
        let rows = theirs().into_vec::<AlignedRow>().unwrap();
        data.as_chunks().0.iter().map(StepRow::from_aligned).eq(rows.into_iter().map(|row| row.0))
    } else if header.dtype == packed_step_row() {
        let rows = theirs().into_vec::<StepRow>().unwrap();
        data.as_chunks().0.iter().map(StepRow::from_packed).eq(rows)
    } else if header.dtype == selfplay_row() {
        let rows = theirs().into_vec::<SelfplayRow>().unwrap();
        data.as_chunks().0.iter().map(SelfplayRow::from_bytes).eq(rows)
    } else {
        let values = theirs().into_vec::<i32>().unwrap();
        data.as_chunks().0.iter().map(|value| i32::from_le_bytes(*value)).eq(values)
    };
    assert!(is_same, "{}", path.display());
}
