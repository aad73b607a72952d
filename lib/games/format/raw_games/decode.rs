//! Turns a game's two files into a [`Game`]: reads them, checks each step against its board, the steps
//! before it and the sidecar, and fills the columns.

use std::io::Read;
use std::path::Path;

use super::inflate::{Content, Inflater, read_error};
use super::meta::{self, Meta};
use super::step::{RawStep, ValuationType};
use super::{Defect, Error, GameFile, Legality, fast, step};
use crate::files::open_member;
use crate::game2048::{Board, Game, KNOWN_VALUATIONS, MAX_EXPONENT, Step, survey};

/// The most bytes of a sidecar.
const MAX_META: usize = 16 << 20;
/// How many bytes of a stream are read at a time.
const CHUNK: usize = 1 << 18;
/// The bytes of the shortest step: a file has more bytes than this for each step.
const SHORTEST_STEP: usize = 60;

/// Decodes games one after another and keeps its buffers. Each thread has its own.
pub struct Decoder {
    legality: Legality,
    /// The most bytes of a line in a steps file.
    longest_line: usize,
    inflater: Inflater,
    buffer: Vec<u8>,
}

impl Decoder {
    pub fn new(legality: Legality) -> Decoder {
        let longest_line = usize::MAX;
        Decoder { legality, longest_line, inflater: Inflater::new(), buffer: Vec::new() }
    }

    /// Sets the longest line, in bytes; longer ones are refused.
    pub fn with_longest_line(self, bytes: u64) -> Decoder {
        Decoder { longest_line: usize::try_from(bytes).unwrap_or(usize::MAX), ..self }
    }

    /// Decodes `file` into `game`, whose content is replaced and whose memory is kept. After an
    /// error the content of `game` is not usable.
    ///
    /// Memory is bounded by the game's own columns: a small file is inflated whole, a larger one is
    /// streamed.
    pub fn decode(&mut self, file: &GameFile, game: &mut Game) -> Result<(), Error> {
        file.check()?;
        let meta = self.read_meta(file.meta())?;
        game.clear();
        game.run_id = file.run_id;
        game.seed = Some(meta.seed);
        game.depth = meta.depth;
        game.score = Some(meta.score);
        game.max_tile = Some(meta.max_tile);
        game.max_rank = meta.max_rank;
        game.num_moves = Some(meta.num_moves);
        game.seconds = meta.seconds;
        game.source = Some(file.name().to_string_lossy().into_owned());
        let path = file.steps();
        let legality = self.legality;
        let longest_line = self.longest_line;
        let mut steps = StepReader { longest_line, ..StepReader::new(&meta, legality, game) };
        let named = |line, defect| Error::bad(&path, Some(line), defect);
        match self.inflater.open(&path)? {
            Content::Whole(text) => {
                steps.reserve(text.len());
                let read = steps.read(text, true);
                read.map_err(|defect| named(steps.line, defect))?;
            }
            Content::Stream(mut stream) => {
                self.buffer.clear();
                loop {
                    let there = self.buffer.len();
                    let more = read_some(&mut stream, &mut self.buffer);
                    let came = self.buffer.get(there..).unwrap_or_default();
                    // A long line is not looked at again with every piece of it.
                    if matches!(more, Ok(true))
                        && there > 0
                        && self.buffer.len() <= longest_line
                        && memchr::memchr(b'\n', came).is_none()
                    {
                        continue;
                    }
                    // The text before the damage gives its line.
                    let ends = matches!(more, Ok(false));
                    let read = steps.read(&self.buffer, ends);
                    let taken = read.map_err(|defect| named(steps.line, defect))?;
                    let more = more.map_err(|error| read_error(&path, steps.line + 1, error))?;
                    self.buffer.drain(..taken);
                    if !more {
                        break;
                    }
                    if self.buffer.len() > longest_line {
                        let defect = Defect::LongLine { limit: longest_line };
                        return Err(named(steps.line + 1, defect));
                    }
                }
            }
        }
        steps.finish().map_err(|defect| named(steps.line.max(1), defect))?;
        game.meta = meta.rest;
        Ok(())
    }

    fn read_meta(&mut self, path: &Path) -> Result<Meta, Error> {
        let parse = |bytes: &[u8]| {
            meta::parse(bytes).map_err(|(line, defect)| Error::bad(path, Some(line), defect))
        };
        let large = || Error::bad(path, None, Defect::LargeMeta { limit: MAX_META });
        let limit = MAX_META as u64 + 1;
        self.buffer.clear();
        if path.extension().is_some_and(|extension| extension == "gz") {
            match self.inflater.open(path)? {
                Content::Whole(text) if text.len() > MAX_META => return Err(large()),
                Content::Whole(text) => return parse(text),
                Content::Stream(stream) => {
                    stream.take(limit).read_to_end(&mut self.buffer).map_err(|error| {
                        let line = memchr::memchr_iter(b'\n', &self.buffer).count() as u64 + 1;
                        read_error(path, line, error)
                    })?;
                }
            }
        } else {
            let file = open_member(path).map_err(|error| Error::io(path, error))?;
            let read = file.take(limit).read_to_end(&mut self.buffer);
            read.map_err(|error| Error::io(path, error))?;
        }
        if self.buffer.len() > MAX_META {
            return Err(large());
        }
        parse(&self.buffer)
    }
}

/// Appends up to [`CHUNK`] bytes; returns false at the end of the stream.
fn read_some(stream: &mut dyn Read, buffer: &mut Vec<u8>) -> std::io::Result<bool> {
    let mut limited = stream.take(CHUNK as u64);
    Ok(limited.read_to_end(buffer)? != 0)
}

/// Takes the text of a steps file in pieces and fills a game's columns.
struct StepReader<'a> {
    game: &'a mut Game,
    seed: u64,
    num_moves: u64,
    legality: Legality,
    longest_line: usize,
    /// How many lines have begun: the number of the line that is being read.
    line: u64,
    /// The game's index of each of [`KNOWN_VALUATIONS`], once it has been used.
    known_names: [Option<u16>; KNOWN_VALUATIONS.len()],
    scratch: String,
}

impl<'a> StepReader<'a> {
    fn new(meta: &Meta, legality: Legality, game: &'a mut Game) -> Self {
        StepReader {
            game,
            seed: meta.seed,
            num_moves: meta.num_moves,
            legality,
            longest_line: usize::MAX,
            line: 0,
            known_names: [None; KNOWN_VALUATIONS.len()],
            scratch: String::new(),
        }
    }

    /// Makes room for the steps that the sidecar states, if the text is long enough for them.
    fn reserve(&mut self, text: usize) {
        let most = text / SHORTEST_STEP + 1;
        let steps = usize::try_from(self.num_moves).map_or(most, |moves| moves.min(most));
        self.game.steps.reserve(steps);
    }

    /// Reads all complete lines; if the text ends there, also the last line without a newline.
    /// Returns the number of bytes read. After a defect, `line` is its line.
    fn read(&mut self, text: &[u8], ends: bool) -> Result<usize, Defect> {
        let mut at = 0;
        let mut guess = fast::Guess::default();
        while at < text.len() {
            if let Some((step, next)) = fast::compact(text, at, &mut guess) {
                self.line += 1;
                self.accept(&step)?;
                at = next;
            } else if let Some(next) = self.read_other(text, at, ends, &mut guess)? {
                at = next;
            } else {
                break;
            }
        }
        Ok(at)
    }

    /// Reads one line of any shape. Returns where the next one starts; `None` if the line continues
    /// after the text.
    #[inline(never)]
    fn read_other<'t>(
        &mut self,
        text: &'t [u8],
        at: usize,
        ends: bool,
        guess: &mut fast::Guess<'t>,
    ) -> Result<Option<usize>, Defect> {
        if let Some((step, next)) = fast::spaced(text, at, guess) {
            self.line += 1;
            self.accept(&step)?;
            return Ok(Some(next));
        }
        let end = match memchr::memchr(b'\n', &text[at..]) {
            Some(length) => at + length,
            None if ends => text.len(),
            None => return Ok(None),
        };
        self.line += 1;
        let line = &text[at..end];
        if line.len() > self.longest_line {
            return Err(Defect::LongLine { limit: self.longest_line });
        }
        if !line.trim_ascii().is_empty() {
            let mut scratch = std::mem::take(&mut self.scratch);
            let accepted = step::parse(line, &mut scratch).and_then(|step| self.accept(&step));
            self.scratch = scratch;
            accepted?;
        }
        Ok(Some((end + 1).min(text.len())))
    }

    #[inline(always)]
    fn accept(&mut self, step: &RawStep<'_>) -> Result<(), Defect> {
        let position = self.game.steps.len() as u64;
        let step_index = step.step_index.unwrap_or(position);
        if step_index != position {
            return Err(misplaced(position, step_index));
        }
        if position >= self.num_moves {
            return Err(Defect::MoreSteps { num_moves: self.num_moves });
        }
        let index = u32::try_from(position).map_err(|_| Defect::TooMany { what: "steps" })?;
        let seed = step.seed.unwrap_or(self.seed);
        if seed != self.seed {
            return Err(Defect::Seed { step: seed, meta: self.seed });
        }
        let board = Board::new(step.cells).ok_or_else(|| large_exponent(&step.cells))?;
        let max_rank = board.max_rank();
        if step.max_rank.is_some_and(|rank| rank != u64::from(max_rank)) {
            let step = step.max_rank.unwrap_or_default();
            return Err(Defect::MaxRank { step, board: max_rank });
        }
        let survey = survey(&board);
        if survey.legal & step.direction.bit() == 0 {
            return Err(Defect::IllegalMove { direction: step.direction });
        }
        let ev_legal = match self.legality {
            Legality::Board => step.branch_known & survey.legal,
            Legality::Values => step.branch_known,
        };
        let branch = |i: usize| (ev_legal >> i & 1 == 1).then_some(step.branch_evs[i]);
        let valuation_type = self.valuation_index(step.valuation_type)?;
        self.game.steps.push(Step {
            step_index: index,
            board,
            board_eval: Some(survey.board_eval),
            move_dir: Some(step.direction as u8),
            valuation_type: Some(valuation_type),
            valuation: step.valuation,
            ev_legal: Some(ev_legal),
            max_rank: Some(max_rank),
            seed: Some(seed),
            branch_evs: [branch(0), branch(1), branch(2), branch(3)],
        });
        Ok(())
    }

    #[inline]
    fn valuation_index(&mut self, name: ValuationType<'_>) -> Result<u16, Defect> {
        if let ValuationType::Known(known) = name
            && let Some(Some(index)) = self.known_names.get(usize::from(known))
        {
            return Ok(*index);
        }
        self.new_valuation_index(name)
    }

    #[cold]
    fn new_valuation_index(&mut self, name: ValuationType<'_>) -> Result<u16, Defect> {
        let (text, known) = match name {
            ValuationType::Known(known) => {
                let known = usize::from(known);
                (KNOWN_VALUATIONS.get(known).copied().unwrap_or_default(), Some(known))
            }
            ValuationType::Other(text) => (text, None),
        };
        let index = self.game.valuation_index(text);
        let index = index.ok_or(Defect::TooMany { what: "valuation names" })?;
        if let Some(slot) = known.and_then(|known| self.known_names.get_mut(known)) {
            *slot = Some(index);
        }
        Ok(index)
    }

    fn finish(&self) -> Result<(), Defect> {
        let steps = self.game.steps.len() as u64;
        if steps < self.num_moves {
            return Err(Defect::FewerSteps { steps, num_moves: self.num_moves });
        }
        Ok(())
    }
}

#[cold]
fn misplaced(expected: u64, step_index: u64) -> Defect {
    if expected == 0 {
        Defect::FirstStep { step_index }
    } else if step_index == expected - 1 {
        Defect::StepRepeat { step_index }
    } else {
        Defect::StepJump { expected, step_index }
    }
}

#[cold]
fn large_exponent(cells: &[u8]) -> Defect {
    let found = cells.iter().enumerate().find(|(_, exponent)| **exponent > MAX_EXPONENT);
    let (cell, exponent) = found.map_or((0, 0), |(cell, exponent)| (cell, *exponent));
    Defect::Exponent { cell, exponent: exponent.to_string() }
}
