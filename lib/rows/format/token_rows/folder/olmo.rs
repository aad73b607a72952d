//! Arrays of OLMo-core, without headers in spite of their names: tokens (uint32, little-endian), whether each is trained
//! on (a byte, 0 or 1; about the token itself), and lines of the first token of each document and the one behind its
//! last. Source: `numpy_dataset.py`, `data/utils.py` of ai2-olmo-core 3.0.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use byteorder::{LittleEndian, WriteBytesExt};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Block, FolderWriter, finished, part};
use crate::error::{Error, Result, shown};
use crate::format::token_rows::IGNORED;
use crate::publish::PendingFile;

const TOKENS: (&str, &str) = ("token_ids_part_", ".npy");
const MASKS: (&str, &str) = ("labels_mask_part_", ".npy");
const ENDS: (&str, &str) = ("token_ids_part_", ".csv.gz");

/// The tokens after which a part ends: 1 GiB.
const PART_TOKENS: usize = 1 << 28;

pub fn is_member(name: &str) -> bool {
    let is = |(before, ending): (&str, &str)| name.starts_with(before) && name.ends_with(ending);
    is(TOKENS) || is(MASKS) || is(ENDS)
}

pub struct OlmoWriter {
    folder: PathBuf,
    done: Vec<PendingFile>,
    open: Part,
    number: usize,
}

/// The files of a part.
struct Part {
    tokens: BufWriter<PendingFile>,
    masks: BufWriter<PendingFile>,
    ends: GzEncoder<BufWriter<PendingFile>>,
    /// The tokens in it.
    length: usize,
}

impl OlmoWriter {
    pub fn create(folder: &Path) -> Result<OlmoWriter> {
        let open = Part::create(folder, 0)?;
        Ok(OlmoWriter { folder: folder.to_path_buf(), done: Vec::new(), open, number: 0 })
    }
}

impl FolderWriter for OlmoWriter {
    fn write(&mut self, block: &Block) -> Result<()> {
        if self.open.length >= PART_TOKENS {
            self.number += 1;
            let next = Part::create(&self.folder, self.number)?;
            self.done.extend(std::mem::replace(&mut self.open, next).finish()?);
        }
        self.open.write(block).map_err(|error| Error::write(shown(&self.folder), &error))
    }

    fn finish(self: Box<Self>) -> Result<Vec<PendingFile>> {
        let OlmoWriter { mut done, open, .. } = *self;
        done.extend(open.finish()?);
        Ok(done)
    }
}

impl Part {
    fn create(folder: &Path, number: usize) -> Result<Part> {
        let file = |(before, ending): (&str, &str)| -> Result<BufWriter<PendingFile>> {
            Ok(BufWriter::new(PendingFile::create(&part(folder, before, number, ending))?))
        };
        let ends = GzEncoder::new(file(ENDS)?, Compression::default());
        Ok(Part { tokens: file(TOKENS)?, masks: file(MASKS)?, ends, length: 0 })
    }

    fn write(&mut self, block: &Block) -> std::io::Result<()> {
        let Block { tokens, labels, ends, .. } = block;
        for token in tokens {
            self.tokens.write_u32::<LittleEndian>(*token as u32)?;
        }
        for label in labels {
            self.masks.write_u8(u8::from(*label != IGNORED))?;
        }
        let mut start = self.length;
        for end in ends {
            let end = self.length + end;
            writeln!(self.ends, "{start},{end}")?;
            start = end;
        }
        self.length = start;
        Ok(())
    }

    fn finish(self) -> Result<Vec<PendingFile>> {
        let path = shown(self.ends.get_ref().get_ref().path());
        let ends = self.ends.finish().map_err(|error| Error::write(path, &error))?;
        [self.tokens, self.masks, ends].into_iter().map(finished).collect()
    }
}
