//! Each sequence once; an index against the datasets that it names.

use std::path::{Path, PathBuf};

use super::{COUNTS, compare, readable};
use crate::check::{CheckContext, FindingPlace, Findings, checks};
use crate::error::{Kind, Result};
use crate::format::token_rows::{IndexedPiece, OpenedRows, PrefixStore, RowsManifest, read_index};
use crate::packing::Overflow;
use crate::wording::exactly;

checks! {
    SEQUENCE: Error Content "rows.sequence",
        "pieces that do not cover their sequence exactly once: tokens are trained on twice, or not at all";
    DATA: Error Structure "rows.index.data",
        "the datasets that an index names are others, were changed, or are not there",
        hint "seq-pack --index, once more";
    PIECE: Error Content "rows.index.piece",
        "a row of an index that is no piece of a sequence, or rows that are not in order or too long";
}

/// The pieces of all rows, if the rows state their sequences.
#[derive(Debug, Default)]
pub(super) struct Pieces(Vec<Place>);

/// A piece in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub sequence: i64,
    pub start: i32,
    pub length: u32,
    /// How many tokens follow after it.
    pub left: i32,
    pub row: u64,
}

impl Pieces {
    pub fn extend(&mut self, places: Vec<Place>) {
        self.0.extend(places);
    }

    /// Checks that each sequence is there exactly once, from its first token to its last token or to the
    /// place of a cut.
    pub fn check(mut self, path: &Path, manifest: &RowsManifest, findings: &mut Findings<'_>) {
        if self.0.is_empty() {
            return;
        }
        self.0.sort_unstable();
        let mut sequences = 0;
        for pieces in self.0.chunk_by(|a, b| a.sequence == b.sequence) {
            sequences += 1;
            let mut end = 0i64;
            let mut wrong = None;
            for piece in pieces {
                if i64::from(piece.start) != end {
                    wrong = wrong.or(Some((piece.row, "starts", i64::from(piece.start), end)));
                }
                end = i64::from(piece.start) + i64::from(piece.length);
            }
            if let Some(last) = pieces.last()
                && last.left != 0
                && manifest.overflow != Overflow::Cut
            {
                wrong = wrong.or(Some((last.row, "ends", end, end + i64::from(last.left))));
            }
            if let (Some((row, what, found, wanted)), Some(piece)) = (wrong, pieces.first()) {
                let at = FindingPlace::file(path).record("row", row);
                let message = format_args!(
                    "a piece of sequence {} {what} at {found}, not {wanted}",
                    piece.sequence
                );
                findings.add(&SEQUENCE, at, message);
            }
        }
        compare(path, &[("sequences", sequences, manifest.records.written)], findings);
    }
}

/// Checks an index.
pub(super) fn index(
    opened: &OpenedRows,
    manifest: &RowsManifest,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let path = opened.path.as_path();
    compare(path, &[("pieces", opened.file.rows(), manifest.pieces)], findings);
    let store = data(path, manifest, findings)?;
    if !context.selection.wants_contents() {
        return Ok(());
    }
    let mut checker = IndexChecker {
        path,
        manifest,
        store: store.as_ref(),
        row: None,
        used: 0,
        sums: (0, 0, 0),
        pieces: Pieces::default(),
        read: 0,
    };
    let read = read_index(path, &opened.file, |pieces, bytes| {
        for piece in pieces {
            checker.piece(piece, findings);
        }
        context.progress.add(pieces.len() as u64, bytes);
        Ok(())
    });
    if readable(path, read, findings)?.is_none() {
        return Ok(());
    }
    checker.end_row(findings);
    let (rows, tokens, used) = checker.sums;
    let pairs = [
        ("rows", rows, manifest.rows),
        ("tokens", tokens, manifest.tokens.in_rows),
        ("positions that are taken", used, manifest.used),
    ];
    compare(path, &pairs, findings);
    if let Some(store) = store.as_ref().filter(|_| !manifest.keep_eod) {
        ends(path, store, &checker.pieces, findings)?;
    }
    checker.pieces.check(path, manifest, findings);
    Ok(())
}

/// Opens the datasets that an index names, if they are the ones from which it was made.
fn data(
    path: &Path,
    manifest: &RowsManifest,
    findings: &mut Findings<'_>,
) -> Result<Option<PrefixStore>> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let Some(stated) = &manifest.inputs else {
        findings.add(&COUNTS, path, "names no datasets");
        return Ok(None);
    };
    let paths: Vec<PathBuf> = stated.iter().map(|input| folder.join(&input.path)).collect();
    let opened = PrefixStore::open(&paths, (false, false)).and_then(|store| {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        store.inputs(folder).map(|inputs| (store, inputs))
    });
    let (store, found) = match opened {
        Ok(opened) => opened,
        Err(error) if matches!(error.kind(), Kind::Data | Kind::Usage) => {
            findings.add(&DATA, path, error);
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let before = findings.has(&DATA);
    for ((stated, found), path) in stated.iter().zip(&found).zip(&paths) {
        if stated.idx_sha256 != found.idx_sha256 || stated.sequences != found.sequences {
            findings.add(&DATA, path, "its sequences are others (the .idx has another hash)");
        } else if let Some(at) =
            stated.bin_samples.iter().zip(&found.bin_samples).position(|(a, b)| a != b)
        {
            let name = ["tokens", "lossmask", "span"][at];
            findings.add(&DATA, path, format_args!("its {name}.bin was changed"));
        }
    }
    Ok((before == findings.has(&DATA)).then_some(store))
}

/// Checks that the token that is left out at the end of each sequence is an end of document. (An index
/// may be of a slice.)
fn ends(
    path: &Path,
    store: &PrefixStore,
    pieces: &Pieces,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let sequences = || pieces.0.iter().filter_map(|piece| u64::try_from(piece.sequence).ok());
    let end = sequences().max().map_or(0, |last| last + 1).min(store.sequences());
    let range = sequences().min().unwrap_or(0)..end;
    if let Some(sequence) = store.without_end(range, 1)? {
        let message = format_args!("sequence {sequence} does not end in <|endoftext|>");
        findings.add(&DATA, path, message);
    }
    Ok(())
}

struct IndexChecker<'a> {
    path: &'a Path,
    manifest: &'a RowsManifest,
    store: Option<&'a PrefixStore>,
    /// The row to which pieces belong, and the positions that they take.
    row: Option<i64>,
    used: u64,
    /// The sums of rows, tokens and positions.
    sums: (u64, u64, u64),
    pieces: Pieces,
    read: u64,
}

impl IndexChecker<'_> {
    fn piece(&mut self, piece: &IndexedPiece, findings: &mut Findings<'_>) {
        let at = FindingPlace::file(self.path).record("piece", self.read);
        self.read += 1;
        let IndexedPiece { row, sequence, start, length } = *piece;
        if self.row != Some(row) {
            self.end_row(findings);
            let wanted = self.row.map_or(0, |row| row + 1);
            if row != wanted {
                findings.add(&PIECE, at, format_args!("of row {row}, not {wanted}"));
            }
            self.row = Some(row);
        }
        let length_of = |store: &PrefixStore| {
            let length = store.lengths.get(usize::try_from(sequence).ok()?).copied()?;
            Some(length.saturating_sub(u32::from(!self.manifest.keep_eod)))
        };
        let all = self.store.map(length_of);
        let end = i64::from(start) + i64::from(length);
        let is_inside = all.is_none_or(|all| all.is_some_and(|all| end <= i64::from(all)));
        let (Ok(tokens), true, true) = (u32::try_from(length), start >= 0 && length > 0, is_inside)
        else {
            let message = format_args!(
                "tokens {start} to {end} of sequence {sequence}, which it does not have"
            );
            findings.add(&PIECE, at, message);
            return;
        };
        let weight = u64::from(self.manifest.packing().weight(tokens));
        self.used += weight;
        self.sums.1 += u64::from(tokens);
        let left = all.flatten().map_or(0, |all| (i64::from(all) - end) as i32);
        self.pieces.0.push(Place { sequence, start, length: tokens, left, row: row as u64 });
    }

    fn end_row(&mut self, findings: &mut Findings<'_>) {
        let Some(row) = self.row else { return };
        let used = std::mem::take(&mut self.used);
        self.sums.0 += 1;
        self.sums.2 += used;
        let most = self.manifest.seq_length.map_or(u64::MAX, u64::from);
        if used > most {
            let at = FindingPlace::file(self.path).record("row", row as u64);
            findings.add(
                &PIECE,
                at,
                format_args!("{}, more than {most}", exactly(used, "position")),
            );
        }
    }
}
