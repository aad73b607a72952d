//! The five arrays of one set of one split, written as examples come. Nothing but the current
//! group and puzzle stays in memory.

use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::Array;
use crate::cli::{Error, PendingFile, Result, shown};
use crate::format::{npy, sha256};
use crate::record::puzzle::Puzzle;

/// A part being written.
pub(super) struct PartWriter {
    pub set: String,
    columns: [Column; 5],
    /// The names of the group and the puzzle to which the last example belongs; `None` where the
    /// next example begins new ones.
    current: Option<(String, String)>,
    /// The place of that puzzle's identifier.
    identifier: i32,
    row: Vec<u8>,
    pub examples: i32,
    pub puzzles: i32,
    pub groups: i32,
}

/// A file of int32.
struct Column {
    writer: npy::Writer<BufWriter<PendingFile>>,
    path: std::path::PathBuf,
}

impl Column {
    fn create(path: &Path, row_shape: &[u64]) -> Result<Column> {
        let out = BufWriter::with_capacity(1 << 18, PendingFile::create(path)?);
        let writer = npy::Writer::new(out, <i32 as npy::AutoSerialize>::default_dtype(), row_shape)
            .map_err(|error| Error::from(error).at(path))?;
        Ok(Column { writer, path: path.to_path_buf() })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.writer.write_rows(bytes);
        written.map_err(|error| Error::from(error).at(&*self.path))
    }

    /// The whole file, and where its data begins.
    fn finish(self) -> Result<(PendingFile, u64)> {
        let Column { writer, path } = self;
        let data = writer.bytes() - writer.data_bytes();
        let out = writer.finish().map_err(|error| Error::from(error).at(&*path))?;
        let file = out.into_inner().map_err(|e| Error::write(shown(&path), e.error()))?;
        Ok((file, data))
    }
}

impl PartWriter {
    pub fn create(directory: &Path, set: &str, seq_len: u64) -> Result<PartWriter> {
        let create = |array: Array| {
            let row = [seq_len];
            let row_shape = match array {
                Array::Inputs | Array::Labels => &row[..],
                _ => &[],
            };
            Column::create(&array.path(directory, set), row_shape)
        };
        let [inputs, labels, identifiers, puzzles, groups] = Array::ALL.map(create);
        Ok(PartWriter {
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

    /// The next example begins a new group, whatever its names.
    pub fn end_source(&mut self) {
        self.current = None;
    }

    /// The place of the identifier of the puzzle that goes on with this example; `None` where the
    /// example begins a puzzle.
    pub fn identifier_of(&self, example: &Puzzle<'_>) -> Option<i32> {
        let (group, puzzle) = self.current.as_ref()?;
        (group == example.group && puzzle == example.puzzle).then_some(self.identifier)
    }

    /// Writes an example of a puzzle whose identifier has this place.
    pub fn push(&mut self, example: &Puzzle<'_>, identifier: i32) -> Result<()> {
        if self.identifier_of(example).is_none() {
            let same_group = self.current.as_ref().is_some_and(|(group, _)| group == example.group);
            if !same_group {
                self.index(Array::GroupIndices, self.puzzles)?;
                self.groups += 1;
            }
            self.index(Array::PuzzleIndices, self.examples)?;
            self.index(Array::PuzzleIdentifiers, identifier)?;
            self.puzzles += 1;
            self.identifier = identifier;
            self.current = Some((example.group.to_string(), example.puzzle.to_string()));
        }
        let full = || Error::data(format!("set {}: more examples than an int32 counts", self.set));
        self.examples = self.examples.checked_add(1).ok_or_else(full)?;
        for (array, tokens) in [(Array::Inputs, example.inputs), (Array::Labels, example.labels)] {
            self.row.clear();
            self.row.extend(tokens.iter().flat_map(|token| token.to_le_bytes()));
            self.columns[array as usize].write(&self.row)?;
        }
        Ok(())
    }

    fn index(&mut self, array: Array, value: i32) -> Result<()> {
        self.columns[array as usize].write(&value.to_le_bytes())
    }

    /// Ends the indices; puts `number` of each identifier's place into its file, in order; and
    /// adds the files, and their entries in `build.json`, under their names below the root.
    pub fn finish(
        mut self,
        split: &str,
        mut number: impl FnMut(i32) -> i32,
        files: &mut Vec<PendingFile>,
        entries: &mut Vec<Value>,
    ) -> Result<()> {
        self.index(Array::PuzzleIndices, self.examples)?;
        self.index(Array::GroupIndices, self.puzzles)?;
        let mut finished = Vec::new();
        for (array, column) in Array::ALL.into_iter().zip(self.columns) {
            let (mut file, data) = column.finish()?;
            if array == Array::PuzzleIdentifiers {
                let mapped = map_in_place(&mut file, data, &mut number);
                mapped.map_err(|e| Error::write(shown(file.path()), &e))?;
            }
            finished.push(file);
        }
        // Each file is read once more for its hash, the two large ones side by side.
        let hashes: Vec<Result<Value>> = std::thread::scope(|scope| {
            let threads: Vec<_> = finished
                .iter_mut()
                .map(|file| {
                    scope.spawn(move || {
                        let name = file.path().file_name().unwrap_or_default().to_string_lossy();
                        let name = format!("{split}/{name}");
                        let entry = file_entry(&name, file);
                        entry.map_err(|e| Error::write(shown(file.path()), &e))
                    })
                })
                .collect();
            let ended = |_| Err(Error::unavailable("a thread that hashes has ended"));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(ended)).collect()
        });
        for (hash, mut file) in hashes.into_iter().zip(finished) {
            entries.push(hash?);
            file.close()?;
            files.push(file);
        }
        Ok(())
    }
}

/// How much of a file is held at a time.
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

/// The entry of a file in `build.json`.
pub(super) fn file_entry(name: &str, file: &mut PendingFile) -> std::io::Result<Value> {
    file.rewind()?;
    let sha256 = sha256(file)?;
    Ok(json!({"name": name, "bytes": file.stream_position()?, "sha256": sha256}))
}
