//! Writes the five arrays of one set of one split as examples come. Only the current group and puzzle
//! are in memory.

use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::num::NonZeroUsize;
use std::path::Path;

use super::{PuzzleSetFile, SetArray};
use crate::error::{Error, Result, shown};
use crate::npy;
use crate::ordered::{Flow, one, ordered_map};
use crate::publish::PendingFile;
use crate::record::puzzle::Puzzle;

/// A set of one split that is being written.
pub(super) struct SetWriter {
    pub set: String,
    columns: [ArrayFile; 5],
    /// The names of the group and the puzzle of the last example; `None` if the next example begins
    /// new ones.
    current: Option<(String, String)>,
    /// The place of that puzzle's identifier.
    identifier: i32,
    row: Vec<u8>,
    pub examples: i32,
    pub puzzles: i32,
    pub groups: i32,
}

/// A file of int32 values.
struct ArrayFile {
    writer: npy::Writer<BufWriter<PendingFile>>,
    path: std::path::PathBuf,
}

impl ArrayFile {
    fn create(path: &Path, row_shape: &[u64]) -> Result<ArrayFile> {
        let out = BufWriter::with_capacity(1 << 18, PendingFile::create(path)?);
        let writer = npy::Writer::new(out, <i32 as npy::AutoSerialize>::default_dtype(), row_shape)
            .map_err(|error| Error::from(error).at(path))?;
        Ok(ArrayFile { writer, path: path.to_path_buf() })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.writer.write_rows(bytes);
        written.map_err(|error| Error::from(error).at(&*self.path))
    }

    /// Returns the complete file, and where its data begins.
    fn finish(self) -> Result<(PendingFile, u64)> {
        let ArrayFile { writer, path } = self;
        let data = writer.bytes() - writer.data_bytes();
        let out = writer.finish().map_err(|error| Error::from(error).at(&*path))?;
        let file = out.into_inner().map_err(|e| Error::write(shown(&path), e.error()))?;
        Ok((file, data))
    }
}

impl SetWriter {
    pub fn create(directory: &Path, set: &str, seq_len: u64) -> Result<SetWriter> {
        let create = |array: SetArray| {
            let row = [seq_len];
            let row_shape = match array {
                SetArray::Inputs | SetArray::Labels => &row[..],
                _ => &[],
            };
            ArrayFile::create(&array.path(directory, set), row_shape)
        };
        let [inputs, labels, identifiers, puzzles, groups] = SetArray::ALL.map(create);
        Ok(SetWriter {
            set: set.to_string(),
            columns: [inputs?, labels?, identifiers?, puzzles?, groups?],
            current: None,
            identifier: 0,
            row: Vec::new(),
            examples: 0,
            puzzles: 0,
            groups: 0,
        })
    }

    /// Makes the next example begin a new group, whatever its names are.
    pub fn end_source(&mut self) {
        self.current = None;
    }

    /// Returns the place of the identifier of the puzzle that this example continues; `None` if the
    /// example begins a puzzle.
    pub fn identifier_of(&self, example: &Puzzle<'_>) -> Option<i32> {
        let (group, puzzle) = self.current.as_ref()?;
        (group == example.group && puzzle == example.puzzle).then_some(self.identifier)
    }

    /// Writes an example of the puzzle whose identifier has this place.
    pub fn push(&mut self, example: &Puzzle<'_>, identifier: i32) -> Result<()> {
        if self.identifier_of(example).is_none() {
            let same_group = self.current.as_ref().is_some_and(|(group, _)| group == example.group);
            if !same_group {
                self.index(SetArray::GroupIndices, self.puzzles)?;
                self.groups += 1;
            }
            self.index(SetArray::PuzzleIndices, self.examples)?;
            self.index(SetArray::PuzzleIdentifiers, identifier)?;
            self.puzzles += 1;
            self.identifier = identifier;
            self.current = Some((example.group.to_string(), example.puzzle.to_string()));
        }
        let full = || Error::data(format!("set {}: more examples than an int32 counts", self.set));
        self.examples = self.examples.checked_add(1).ok_or_else(full)?;
        for (array, tokens) in
            [(SetArray::Inputs, example.inputs), (SetArray::Labels, example.labels)]
        {
            self.row.clear();
            self.row.extend(tokens.iter().flat_map(|token| token.to_le_bytes()));
            self.columns[array as usize].write(&self.row)?;
        }
        Ok(())
    }

    fn index(&mut self, array: SetArray, value: i32) -> Result<()> {
        self.columns[array as usize].write(&value.to_le_bytes())
    }

    /// Ends the indices, and writes `number` of each identifier's place into its file, in order.
    /// Appends the files, and their entries in `build.json`, under their names below the root.
    pub fn finish(
        mut self,
        split: &str,
        mut number: impl FnMut(i32) -> i32,
        files: &mut Vec<PendingFile>,
        entries: &mut Vec<PuzzleSetFile>,
    ) -> Result<()> {
        self.index(SetArray::PuzzleIndices, self.examples)?;
        self.index(SetArray::GroupIndices, self.puzzles)?;
        let mut finished = Vec::new();
        for (array, column) in SetArray::ALL.into_iter().zip(self.columns) {
            let (mut file, data) = column.finish()?;
            if array == SetArray::PuzzleIdentifiers {
                let mapped = map_in_place(&mut file, data, &mut number);
                mapped.map_err(|e| Error::write(shown(file.path()), &e))?;
            }
            finished.push(file);
        }
        // Each file is read once more for its hash, and synced to the disk, two at a time.
        let describe = || {
            one(|mut file: PendingFile| -> Result<(PendingFile, PuzzleSetFile)> {
                let name = file.path().file_name().unwrap_or_default().to_string_lossy();
                let entry = PuzzleSetFile::describe(format!("{split}/{name}"), &mut file)?;
                file.close()?;
                Ok((file, entry))
            })
        };
        ordered_map(THREADS, finished.into_iter().map(Ok), describe, |described| {
            let (file, entry) = described?;
            files.push(file);
            entries.push(entry);
            Ok(Flow::Continue)
        })
    }
}

/// Only two of the files are large.
const THREADS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

/// How many bytes of a file are in memory at a time.
const BLOCK: usize = 1 << 18;

/// Replaces every int32 from `data` on.
fn map_in_place(
    file: &mut PendingFile,
    data: u64,
    number: &mut impl FnMut(i32) -> i32,
) -> std::io::Result<()> {
    let mut block = Vec::new();
    let mut at = data;
    loop {
        file.seek(SeekFrom::Start(at))?;
        block.clear();
        file.take(BLOCK as u64).read_to_end(&mut block)?;
        if block.is_empty() {
            return Ok(());
        }
        for bytes in block.as_chunks_mut::<4>().0 {
            *bytes = number(i32::from_le_bytes(*bytes)).to_le_bytes();
        }
        file.seek(SeekFrom::Start(at))?;
        file.write_all(&block)?;
        at += block.len() as u64;
    }
}
