//! One step by itself, and with the one before it: the rules of the game.

use std::fmt;

use crate::check::{At, Check, Findings, Level};
use crate::game2048::{Board, Direction, Slide, survey};

static MASK: Check = Check::error(
    "pool.step.mask",
    "tile_65536_mask has the bit of a cell that is not 15: the board cannot be unpacked",
);
static EVAL: Check =
    Check::error("pool.step.board_eval", "board_eval is not the heuristic's value of the board");
static MAX_RANK: Check =
    Check::error("pool.step.max_rank", "max_rank is not the largest exponent on the board");
static MOVE: Check = Check::error(
    "pool.step.move",
    "move_dir is no direction, or one that the board cannot go: the label is impossible",
);
static EV_LEGAL: Check = Check::error(
    "pool.step.ev_legal",
    "ev_legal has the bit of a direction that the board cannot go: its value is trained on",
)
.hint("in packs of other programs, or of --legality values, this is a warning");
static EV_FINITE: Check = Check::error(
    "pool.step.ev.finite",
    "a branch EV that is no finite number: the loss becomes NaN",
);
static EV_ZERO: Check =
    Check::error("pool.step.ev.zero", "a branch EV that is not 0.0 where ev_legal has no bit")
        .hint("in packs of other programs this is a warning");
static INDEX: Check = Check::error(
    "pool.step.index",
    "step_index does not run from 0 without gaps: steps were lost, or stand twice",
)
.hint("in sampled and legacy pools this is a warning");
static NEXT: Check = Check::error(
    "pool.step.next",
    "the move, and one new 2 or 4, do not lead to the next board: steps of two games are mixed",
);
static SEED: Check =
    Check::error("pool.step.seed", "a seed that is not the one of its run's steps before");
static VALUATION: Check =
    Check::error("pool.step.valuation", "a valuation_type that valuation_types.json does not name");

pub(super) static ROW: Check = Check::error(
    "pool.step.row",
    "a row that is no step of a game: an exponent over 17, a field out of its range",
);

pub(super) static CHECKS: &[&Check] = &[
    &ROW, &MASK, &EVAL, &MAX_RANK, &MOVE, &EV_LEGAL, &EV_FINITE, &EV_ZERO, &INDEX, &NEXT, &SEED,
    &VALUATION,
];

/// How strict the rules are in this pool.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    /// Of what only packs of ours keep.
    pub ours: Level,
    /// Of gaps between steps.
    pub gaps: Level,
    /// The valuation ids that are named, up to 255; `None`: all are.
    pub valuations: Option<Box<[bool; 256]>>,
}

/// Which step a message is about, where the finding's place does not say it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Told {
    Nothing,
    Step(u32),
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Told::Nothing => Ok(()),
            Told::Step(index) => write!(f, "step {index}: "),
        }
    }
}

/// A step, as far as its source knows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub step_index: u32,
    pub board: Board,
    /// Whether the board is known: which of its cells are 16 and which 17.
    pub exact: bool,
    pub board_eval: Option<i32>,
    pub move_dir: Option<u8>,
    pub valuation_type: Option<u8>,
    pub ev_legal: Option<u8>,
    pub max_rank: Option<u8>,
    pub seed: Option<u64>,
    /// 0.0 where there is none.
    pub branch_evs: [f32; 4],
    /// The board after the move, before a new tile, and what the move gains.
    pub slide: Option<Slide>,
}

impl Step {
    fn direction(&self) -> Option<Direction> {
        self.move_dir.and_then(Direction::from_index)
    }

    /// The same step, its board slid.
    #[inline(always)]
    pub fn slid(self) -> Step {
        let slide = self.direction().map(|direction| self.board.slide(direction));
        Step { slide, ..self }
    }
}

impl Rules {
    /// Tells a mask that is over cells that are not 15.
    pub fn mask(&self, at: At<'_>, mask: u16, findings: &mut Findings<'_>) {
        findings.add(&MASK, at, || format!("the mask is {mask:#06x}"));
    }

    /// The rules of a step by itself. `told` is put before each message.
    #[inline]
    pub fn step(&self, at: At<'_>, told: Told, step: &Step, findings: &mut Findings<'_>) {
        let survey = survey(&step.board);
        let max_rank = step.board.max_rank();
        let legal = survey.legal;
        let eval_is_good = step.board_eval.is_none_or(|eval| eval == survey.board_eval);
        let rank_is_good = step.max_rank.is_none_or(|rank| rank == max_rank);
        let move_is_good = step.move_dir.is_none_or(|m| m < 4 && legal >> m & 1 == 1);
        let bits = step.ev_legal.unwrap_or(legal);
        if !(eval_is_good && rank_is_good && move_is_good && bits & !legal == 0) {
            self.tell_board(at, told, step, survey.board_eval, max_rank, legal, findings);
        }
        for (i, value) in step.branch_evs.iter().enumerate() {
            let is_told = step.ev_legal.is_none() || bits >> i & 1 == 1;
            if !value.is_finite() && is_told {
                findings.add(&EV_FINITE, at, || {
                    format!("{told}branch_evs has {value} for {}", Direction::NAMES[i])
                });
            } else if !is_told && value.to_bits() != 0 {
                findings.add_as(&EV_ZERO, self.ours, at, || {
                    format!("{told}branch_evs has {value} for {}", Direction::NAMES[i])
                });
            }
        }
        if let (Some(known), Some(id)) = (&self.valuations, step.valuation_type)
            && !known[usize::from(id)]
        {
            findings.add(&VALUATION, at, || format!("{told}valuation_type is {id}"));
        }
    }

    #[cold]
    #[allow(clippy::too_many_arguments)] // one place, and all of it is what was found
    fn tell_board(
        &self,
        at: At<'_>,
        told: Told,
        step: &Step,
        eval: i32,
        max_rank: u8,
        legal: u8,
        findings: &mut Findings<'_>,
    ) {
        let names = |bits: u8| {
            let set = (0..4).filter(|i| bits >> i & 1 == 1).map(|i| Direction::NAMES[i]);
            set.collect::<Vec<_>>().join(", ")
        };
        if let Some(found) = step.board_eval.filter(|&found| step.exact && found != eval) {
            findings.add(&EVAL, at, || format!("{told}is {found}, not {eval}"));
        }
        if let Some(found) = step.max_rank.filter(|&found| step.exact && found != max_rank) {
            findings.add(&MAX_RANK, at, || format!("{told}is {found}, not {max_rank}"));
        }
        match step.move_dir {
            Some(found) if found > 3 => {
                findings.add(&MOVE, at, || format!("{told}move_dir is {found}"));
            }
            Some(found) if step.exact && legal >> found & 1 == 0 => findings.add(&MOVE, at, || {
                let found = Direction::NAMES[usize::from(found)];
                format!("{told}the move is {found}; the board can go {}", names(legal))
            }),
            _ => {}
        }
        match step.ev_legal {
            Some(bits) if bits > 15 => {
                findings.add(&EV_LEGAL, at, || format!("{told}ev_legal is {bits}, over 15"));
            }
            Some(bits) if step.exact && bits & !legal != 0 => {
                findings.add_as(&EV_LEGAL, self.ours, at, || {
                    format!(
                        "{told}ev_legal has {}; the board cannot go there",
                        names(bits & !legal)
                    )
                });
            }
            _ => {}
        }
    }

    /// The rules of the first step of a run.
    pub fn first(&self, at: At<'_>, told: Told, step: &Step, findings: &mut Findings<'_>) {
        if step.step_index != 0 {
            findings.add_as(&INDEX, self.gaps, at, || {
                format!("{told}the first step_index of its run is {}", step.step_index)
            });
        }
    }

    /// The rules of a step and the one before it in its run.
    #[inline]
    pub fn next(
        &self,
        at: At<'_>,
        told: Told,
        before: &Step,
        step: &Step,
        findings: &mut Findings<'_>,
    ) {
        if step.seed != before.seed {
            findings.add(&SEED, at, || {
                format!("{told}the seed is {:?}, before {:?}", step.seed, before.seed)
            });
        }
        if u64::from(step.step_index) != u64::from(before.step_index) + 1 {
            findings.add_as(&INDEX, self.gaps, at, || {
                format!("{told}step_index {} comes behind {}", step.step_index, before.step_index)
            });
            return;
        }
        if !(step.exact && before.exact) {
            return;
        }
        let leads = match &before.slide {
            Some(slide) => step.board.follows_slide(&before.board, slide),
            // Without a move, any that leads here will do.
            None if before.move_dir.is_none() => (0..4)
                .filter_map(Direction::from_index)
                .any(|direction| step.board.follows(&before.board, direction)),
            // A move that is none was told with its step.
            None => true,
        };
        if !leads {
            findings.add(&NEXT, at, || {
                let moved = before.direction().map_or("no move", Direction::name);
                format!("{told}the board before, moved {moved}, does not lead to this one")
            });
        }
    }
}
