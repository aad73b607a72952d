//! One step by itself, and with the one before it: the rules of the game.

use std::fmt;

use crate::check::{FindingPlace, Findings, Severity, checks};
use crate::game2048::{Board, Direction, Slide, survey};

checks! {
    pub(super) ROW: Error Content "pool.step.row",
        "a row that is not a step of a game: an exponent over 17, or a field out of its range";
    MASK: Error Content "pool.step.mask",
        "tile_65536_mask has the bit of a cell that is not 15: the board cannot be unpacked";
    EVAL: Error Content "pool.step.board_eval",
        "board_eval is not the heuristic's value of the board";
    MAX_RANK: Error Content "pool.step.max_rank",
        "max_rank is not the largest exponent on the board";
    MOVE: Error Content "pool.step.move",
        "move_dir is not a direction, or the board cannot move there: the label is impossible";
    EV_LEGAL: Error Content "pool.step.ev_legal",
        "ev_legal has the bit of a direction that the board cannot move: training uses its value",
        hint "in packs of other programs, or of --legality values, this is a warning";
    EV_FINITE: Error Content "pool.step.ev.finite",
        "a branch EV that is not a finite number: the loss becomes NaN";
    EV_ZERO: Error Content "pool.step.ev.zero",
        "a branch EV that is not 0.0 where ev_legal has no bit",
        hint "in packs of other programs this is a warning";
    INDEX: Error Content "pool.step.index",
        "step_index does not run from 0 without gaps: steps were lost, or are there twice",
        hint "in sampled and legacy pools this is a warning";
    NEXT: Error Content "pool.step.next",
        "the move, and one new 2 or 4, do not lead to the next board: steps of two games are mixed";
    pub(super) LOST: Warning Content "pool.step.lost",
        "a tile passed 32768 in a pool without overflow mask: the rows after it cannot be followed",
        hint "nothing after it is checked against the rules; train on the rows before it";
    SEED: Error Content "pool.step.seed", "a seed that differs from the earlier steps of its run";
    VALUATION: Error Content "pool.step.valuation",
        "a valuation_type that valuation_types.json does not name";
}

/// The directions whose bits are set, for messages: formatted only if the message is kept.
struct Names(u8);

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut set = (0..4).filter(|i| self.0 >> i & 1 == 1).map(|i| Direction::NAMES[i]);
        f.write_str(set.next().unwrap_or_default())?;
        set.try_for_each(|name| write!(f, ", {name}"))
    }
}

/// A seed, for messages.
struct Seed(Option<u64>);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(seed) => write!(f, "the seed {seed}"),
            None => f.write_str("no seed"),
        }
    }
}

/// How strict the rules are in this pool.
#[derive(Debug, Clone)]
pub(super) struct StepRules {
    /// The severity of rules that only our packs keep.
    pub ours: Severity,
    /// The severity of gaps between steps.
    pub gaps: Severity,
    /// The valuation ids that have names, up to 255; `None` means all.
    pub valuations: Option<Box<[bool; 256]>>,
}

/// Names the step of a message, if the finding's place does not.
#[derive(Debug, Clone, Copy)]
pub(super) enum StepLabel {
    None,
    Step(u32),
}

impl fmt::Display for StepLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepLabel::None => Ok(()),
            StepLabel::Step(index) => write!(f, "step {index}: "),
        }
    }
}

/// A step; a value that its source does not have is `None`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub step_index: u32,
    pub board: Board,
    /// Whether the board is exact: whether it is known which cells are 16 and which 17.
    pub exact: bool,
    pub board_eval: Option<i32>,
    pub move_dir: Option<u8>,
    pub valuation_type: Option<u8>,
    pub ev_legal: Option<u8>,
    pub max_rank: Option<u8>,
    pub seed: Option<u64>,
    /// Values of the branches; 0.0 where there is none.
    pub branch_evs: [f32; 4],
    /// The board after the move, before a new tile, and the score that the move gains.
    pub slide: Option<Slide>,
}

impl Step {
    fn direction(&self) -> Option<Direction> {
        self.move_dir.and_then(Direction::from_index)
    }

    /// Returns the effect of its move, if its board is known.
    #[inline(always)]
    pub fn exact_slide(&self) -> Option<&Slide> {
        self.slide.as_ref().filter(|_| self.exact)
    }

    /// Returns the same step with its board slid.
    #[inline(always)]
    pub fn slid(self) -> Step {
        let slide = self.direction().map(|direction| self.board.slide(direction));
        Step { slide, ..self }
    }
}

/// The exponent of 32768.
pub(super) const LARGEST: u8 = 15;

/// Whether a tile over 2^15 is on a board that cannot store it: the move before makes one, or
/// `max_rank` says so.
pub(super) fn is_past_32768(before: Option<&Step>, step: &Step) -> bool {
    let makes = |slide: &Slide| slide.cells.iter().any(|&cell| cell > LARGEST);
    let of_rank = step.max_rank.is_some_and(|rank| rank > LARGEST);
    of_rank
        || before.is_some_and(|before| match (&before.slide, before.move_dir) {
            (Some(slide), _) => makes(slide),
            // Without its move: no other move leads here.
            (None, None) => {
                let all = || (0..4).filter_map(Direction::from_index);
                let leads = |direction| step.board.follows(&before.board, direction);
                let largest = |direction| makes(&before.board.slide(direction));
                all().any(largest) && !all().any(leads)
            }
            (None, Some(_)) => false,
        })
}

impl StepRules {
    /// Reports a mask that has bits of cells which are not 15.
    pub fn mask(&self, at: FindingPlace<'_>, mask: u16, findings: &mut Findings<'_>) {
        findings.add(&MASK, at, format_args!("the mask is {mask:#06x}"));
    }

    /// Checks the rules of a step by itself. `label` is put before each message.
    #[inline]
    pub fn step(
        &self,
        at: FindingPlace<'_>,
        label: StepLabel,
        step: &Step,
        findings: &mut Findings<'_>,
    ) {
        let survey = survey(&step.board);
        let max_rank = step.board.max_rank();
        let legal = survey.legal;
        let eval_is_good = step.board_eval.is_none_or(|eval| eval == survey.board_eval);
        let rank_is_good = step.max_rank.is_none_or(|rank| rank == max_rank);
        let move_is_good = step.move_dir.is_none_or(|m| m < 4 && legal >> m & 1 == 1);
        let bits = step.ev_legal.unwrap_or(legal);
        if !(eval_is_good && rank_is_good && move_is_good && bits & !legal == 0) {
            self.report_board(at, label, step, survey.board_eval, max_rank, legal, findings);
        }
        for (i, value) in step.branch_evs.iter().enumerate() {
            let is_set = step.ev_legal.is_none() || bits >> i & 1 == 1;
            let (check, severity) = match is_set {
                true if !value.is_finite() => (&EV_FINITE, EV_FINITE.severity),
                false if value.to_bits() != 0 => (&EV_ZERO, self.ours),
                _ => continue,
            };
            let name = Direction::NAMES[i];
            let message = format_args!("{label}branch_evs has {value} for {name}");
            findings.add_as(check, severity, at, message);
        }
        if let (Some(known), Some(id)) = (&self.valuations, step.valuation_type)
            && !known[usize::from(id)]
        {
            findings.add(&VALUATION, at, format_args!("{label}valuation_type is {id}"));
        }
    }

    #[cold]
    #[allow(clippy::too_many_arguments)] // one place, and all of it is what was found
    fn report_board(
        &self,
        at: FindingPlace<'_>,
        label: StepLabel,
        step: &Step,
        eval: i32,
        max_rank: u8,
        legal: u8,
        findings: &mut Findings<'_>,
    ) {
        if let Some(found) = step.board_eval.filter(|&found| step.exact && found != eval) {
            findings.add(&EVAL, at, format_args!("{label}is {found}, not {eval}"));
        }
        if let Some(found) = step.max_rank.filter(|&found| step.exact && found != max_rank) {
            findings.add(&MAX_RANK, at, format_args!("{label}is {found}, not {max_rank}"));
        }
        match step.move_dir {
            Some(found) if found > 3 => {
                findings.add(&MOVE, at, format_args!("{label}move_dir is {found}"));
            }
            Some(found) if step.exact && legal >> found & 1 == 0 => {
                let (found, legal) = (Direction::NAMES[usize::from(found)], Names(legal));
                let message = format_args!("{label}the move is {found}; the board can go {legal}");
                findings.add(&MOVE, at, message);
            }
            _ => {}
        }
        match step.ev_legal {
            Some(bits) if bits > 15 => {
                findings.add(&EV_LEGAL, at, format_args!("{label}ev_legal is {bits}, over 15"));
            }
            Some(bits) if step.exact && bits & !legal != 0 => {
                let extra = Names(bits & !legal);
                let message =
                    format_args!("{label}ev_legal has {extra}; the board cannot go there");
                findings.add_as(&EV_LEGAL, self.ours, at, message);
            }
            _ => {}
        }
    }

    /// Checks the rules of the first step of a run.
    pub fn first(
        &self,
        at: FindingPlace<'_>,
        label: StepLabel,
        step: &Step,
        findings: &mut Findings<'_>,
    ) {
        if step.step_index != 0 {
            let message =
                format_args!("{label}the first step_index of its run is {}", step.step_index);
            findings.add_as(&INDEX, self.gaps, at, message);
        }
    }

    /// Checks the rules of a step and the one before it in its run.
    #[inline]
    pub fn next(
        &self,
        at: FindingPlace<'_>,
        label: StepLabel,
        before: &Step,
        step: &Step,
        findings: &mut Findings<'_>,
    ) {
        if step.seed != before.seed {
            let (seed, earlier) = (Seed(step.seed), Seed(before.seed));
            let message = format_args!("{label}it has {seed}, the step before {earlier}");
            findings.add(&SEED, at, message);
        }
        let (index, last) = (step.step_index, before.step_index);
        if u64::from(index) != u64::from(last) + 1 {
            let message = format_args!("{label}step_index {index} comes after {last}");
            findings.add_as(&INDEX, self.gaps, at, message);
            return;
        }
        if !(step.exact && before.exact) {
            return;
        }
        let leads = match &before.slide {
            Some(slide) => step.board.follows_slide(&before.board, slide),
            // If the move is not known, any move that leads here is accepted.
            None if before.move_dir.is_none() => (0..4)
                .filter_map(Direction::from_index)
                .any(|direction| step.board.follows(&before.board, direction)),
            // An invalid move was reported with its step.
            None => true,
        };
        if !leads {
            let moved = before.direction().map_or("no move", Direction::name);
            let message =
                format_args!("{label}the board before, moved {moved}, does not lead to this one");
            findings.add(&NEXT, at, message);
        }
    }
}
