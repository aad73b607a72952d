//! Domino, a double-six scenario of 72 tokens: the table (28 pairs), the hand (7 pairs) and the
//! two ends are the input; the tile to play and its place are the output. PAD 0, v pips as v + 1.
//! Reads no files: the states come from games that are played here.

mod game;

use self::game::play;
pub use self::game::{DominoState, HAND, PIPS, TILES, TablePlace, Tile, fits};
use crate::puzzle::picture::{Cell, CellKind, Picture, PictureLine};
use crate::puzzle::random::Key;
use crate::puzzle::{
    AugmentedPuzzle, BrokenRule, BrokenRules, BuildContext, Constants, Domain, Error, Example,
    GroupSource, PuzzleGroup, PuzzleGroups, PuzzleSource, Result, Rule, SeqLen, Side, Split,
};
use crate::wording::exactly;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Value, json};
use std::ops::Range;

pub struct Domino;

/// Domino: states of games that are played here, with the tile to play
#[derive(Debug, Clone, Default, Args)]
pub struct DominoArgs {
    /// States in each split, each from another game
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub num_games: u64,

    /// Augmentations of each train state: pips shifted modulo 7
    #[arg(long, value_name = "K", default_value = "0")]
    pub num_aug: u64,
}

impl DominoArgs {
    pub fn open(&self, build: &BuildContext<'_>) -> Result<PuzzleSource> {
        let (seed, &DominoArgs { num_games, num_aug }) = (build.seed, self);
        if num_games == 0 {
            return Err(Error::Usage("--num-games must be 1 or more".to_string()));
        }
        let group_count = num_games.saturating_mul(2);
        Ok(PuzzleSource {
            domain: &Domino,
            seed,
            seq_len: TOKENS,
            parameters: json!({"num_games": num_games, "num_aug": num_aug}),
            inputs: Vec::new(),
            notes: Vec::new(),
            group_count,
            groups: Box::new(SelfplayGames { seed, num_aug, num_games }),
        })
    }
}

const TOKENS: usize = 72;
/// Where the hand and the two ends start.
const HAND_START: usize = 2 * TILES;
const ENDS_START: usize = HAND_START + 2 * HAND;

rules! {
    SHAPE: error "shape", "both sides have 72 tokens";
    TOKEN: error "token", "every token is empty or a number of pips";
    TILE: error "tile", "tiles have two halves and no gaps between them";
    DISTINCT: error "distinct", "no tile appears twice on the table and in the hand";
    CHAIN: ours "chain", "neighbours on the table match";
    ENDS: ours "ends", "the ends are the table's, or empty if the table is empty";
    REST: error "rest", "labels after the third are ignored";
    TARGET: error "target", "the tile to play is in the hand";
    FITS: error "fits", "the tile to play fits where it says";
    NO_MOVE: error "no_move", "the answer is no move only when nothing fits";
}

impl Domain for Domino {
    fn constants(&self) -> Constants {
        Constants::new("domino", SeqLen::Fixed(TOKENS), 8)
    }

    fn command(&self) -> Command {
        DominoArgs::augment_args(Command::new("domino"))
    }

    fn meaning(&self, side: Side, token: i32) -> Option<String> {
        match token {
            0 => Some("padding".to_string()),
            // In the answer one token is a place.
            _ if side == Side::Labels => None,
            1..=7 => Some(exactly(token - 1, "pip")),
            _ => None,
        }
    }

    fn reads_inputs(&self) -> bool {
        false
    }

    fn open(&self, arguments: &ArgMatches, build: &mut BuildContext<'_>) -> Result<PuzzleSource> {
        DominoArgs::from_arg_matches(arguments)?.open(build)
    }

    /// The six shifts, in an order that is drawn for the group.
    fn augment(&self, puzzle: &[Example], key: Key<'_>, number: u64) -> Option<AugmentedPuzzle> {
        let mut shifts = [1, 2, 3, 4, 5, 6];
        key.draws(1).shuffle(&mut shifts);
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        let shift = *shifts.get(index)?;
        let shifted = |example: &Example| {
            let state = DominoInputs::read(&example.inputs).state;
            encode(&state.shifted(shift), example.split)
        };
        let examples = puzzle.iter().map(shifted).collect();
        Some(AugmentedPuzzle { suffix: format!("_s{shift}"), examples })
    }

    fn rules(&self) -> &'static [&'static Rule] {
        RULES
    }

    fn check(&self, inputs: &[i32], labels: &[i32], _split: Option<Split>) -> Vec<BrokenRule> {
        let mut broken = BrokenRules::new();
        if inputs.len() != TOKENS || labels.len() != TOKENS {
            let (state, answer) = (inputs.len(), labels.len());
            broken.add(&SHAPE, || {
                format!(
                    "{state} and {answer}",
                    state = exactly(state, "token"),
                    answer = exactly(answer, "label")
                )
            });
            return broken.0;
        }
        for (what, tokens, most) in
            [("input", inputs, 7), ("label", &labels[..2], 7), ("label", &labels[2..3], 3)]
        {
            if let Some(token) = tokens.iter().find(|token| !(0..=most).contains(*token)) {
                broken.add(&TOKEN, || format!("{what} {token} is not in 0..{most}"));
            }
        }
        if let Some(at) = labels[3..].iter().position(|&label| label != 0) {
            let (at, label) = (at + 3, labels[at + 3]);
            broken.add(&REST, || format!("label {at} is {label}, expected 0"));
        }
        if !broken.0.is_empty() {
            return broken.0;
        }
        let DominoInputs { state, ends, gap } = DominoInputs::read(inputs);
        if let Some(at) = gap {
            broken.add(&TILE, || format!("no whole tile at input {at}, or an empty one before"));
        }
        check_tiles(&state, ends, &mut broken);
        check_target(&state, ends, labels, &mut broken);
        broken.0
    }

    fn decode(&self, side: Side, tokens: &[i32]) -> Result<Value, String> {
        check_tokens(tokens)?;
        Ok(match side {
            Side::Inputs => {
                let DominoInputs { state, ends: [left, right], .. } = DominoInputs::read(tokens);
                json!({"table": state.table, "hand": state.hand, "left": left, "right": right})
            }
            Side::Labels => {
                let tile = match (pips(tokens[0]), pips(tokens[1])) {
                    (Some(a), Some(b)) => Some([a, b]),
                    _ => None,
                };
                json!({"tile": tile, "where": place_name(tokens[2])})
            }
        })
    }

    fn picture(&self, side: Side, inputs: &[i32], labels: &[i32]) -> Option<Picture> {
        let tokens = [inputs, labels][side as usize];
        if tokens.len() != TOKENS {
            return None;
        }
        let line = |name, cells| PictureLine { name, cells };
        Some(Picture::Lines(match side {
            Side::Inputs => {
                let ends = tokens[ENDS_START..].iter().map(|&token| half(token));
                let end = |symbol: String| Cell::new(symbol, CellKind::Given);
                let chain = drawn_tiles(&tokens[..HAND_START], CellKind::Given);
                let hand = drawn_tiles(&tokens[HAND_START..ENDS_START], CellKind::Given);
                let ends = line("ends", ends.map(end).collect());
                vec![line("chain", chain), ends, line("hand", hand)]
            }
            Side::Labels => {
                let rest = tokens[3..].iter().filter(|&&label| label != 0);
                let mut play = drawn_tiles(&tokens[..2], CellKind::Target);
                match tokens[2] {
                    0 if tokens[..2] == [0, 0] => play.push(Cell::new("no move", CellKind::Target)),
                    place => play.push(match place_name(place) {
                        Some(name) => Cell::new(name, CellKind::Filled),
                        None => Cell::wrong(place),
                    }),
                }
                play.extend(rest.map(|&label| Cell::wrong(label)));
                let ignored = tokens[3..].iter().filter(|&&label| label == 0).count();
                let ignored = Cell::new(exactly(ignored, "label"), CellKind::Ignored);
                vec![line("play", play), line("ignored", vec![ignored])]
            }
        }))
    }
}

/// Draws tiles; empty places at the end are left out.
fn drawn_tiles(tokens: &[i32], kind: CellKind) -> Vec<Cell> {
    let used = tokens.iter().rposition(|&token| token != 0).map_or(0, |last| last / 2 + 1);
    let tile = |pair: &[i32]| {
        let is_valid = pair.iter().all(|&token| pips(token).is_some());
        let symbol: Vec<String> = pair.iter().map(|&token| half(token)).collect();
        Cell::new(symbol.join("|"), if is_valid { kind } else { CellKind::Wrong })
    };
    tokens.chunks(2).take(used).map(tile).collect()
}

/// Returns the pips of one half; a token that is not pips stays a number.
fn half(token: i32) -> String {
    match (token, pips(token)) {
        (_, Some(pips)) => pips.to_string(),
        (0, _) => "-".to_string(),
        _ => format!("?{token}"),
    }
}

fn check_tiles(state: &DominoState, ends: [Option<u8>; 2], broken: &mut BrokenRules) {
    let mut seen = [false; 64];
    for &[a, b] in state.table.iter().chain(&state.hand) {
        let slot = &mut seen[usize::from(a.min(b) * 8 + a.max(b)) % 64];
        if std::mem::replace(slot, true) {
            broken.add(&DISTINCT, || format!("{a}|{b} appears twice"));
        }
    }
    if let Some(at) = state.table.windows(2).position(|pair| pair[0][1] != pair[1][0]) {
        broken.add(&CHAIN, || {
            let neighbours = tiles(&state.table[at..at + 2]);
            format!("tiles {} and {} do not match: {neighbours}", at + 1, at + 2)
        });
    }
    let expected = state.ends().map_or([None; 2], |ends| ends.map(Some));
    if ends != expected {
        broken.add(&ENDS, || {
            format!("ends are {}, the table ends in {}", shown_ends(ends), shown_ends(expected))
        });
    }
}

fn check_target(
    state: &DominoState,
    ends: [Option<u8>; 2],
    labels: &[i32],
    broken: &mut BrokenRules,
) {
    // The ends are compared as written, since the table of another builder may be no chain and still
    // have the right ends.
    let ends = match ends {
        [Some(left), Some(right)] if !state.table.is_empty() => Some([left, right]),
        _ => state.ends(),
    };
    let places = [TablePlace::Left, TablePlace::Right, TablePlace::First];
    if labels[..3] == [0, 0, 0] {
        let fitting = |tile: &&Tile| places.iter().any(|&place| fits(**tile, place, ends));
        if let Some([a, b]) = state.hand.iter().find(fitting) {
            broken.add(&NO_MOVE, || format!("no move, but {a}|{b} fits"));
        }
        return;
    }
    let (Some(a), Some(b)) = (pips(labels[0]), pips(labels[1])) else {
        broken.add(&TARGET, || "the tile to play is not a whole tile".to_string());
        return;
    };
    if !state.hand.iter().any(|&tile| tile == [a, b] || tile == [b, a]) {
        broken.add(&TARGET, || format!("{a}|{b} is not in the hand {}", tiles(&state.hand)));
    }
    let place = places.into_iter().find(|&place| place as i32 == labels[2]);
    if !place.is_some_and(|place| fits([a, b], place, ends)) {
        broken.add(&FITS, || {
            let place = place_name(labels[2]).unwrap_or("nowhere");
            let ends = ends.map_or("an empty table".to_string(), |[l, r]| format!("{l} and {r}"));
            format!("{a}|{b} does not fit {place}: the ends are {ends}")
        });
    }
}

/// The inputs of one example, as they are written.
struct DominoInputs {
    state: DominoState,
    ends: [Option<u8>; 2],
    /// The index of the first half tile, or of the first tile after an empty place.
    gap: Option<usize>,
}

impl DominoInputs {
    fn read(tokens: &[i32]) -> DominoInputs {
        let mut gap = None;
        let mut tiles = |start: usize, end: usize| {
            let mut tiles = Vec::new();
            let mut empty = false;
            for (index, pair) in
                tokens.get(start..end).unwrap_or_default().chunks_exact(2).enumerate()
            {
                match (pips(pair[0]), pips(pair[1])) {
                    (Some(a), Some(b)) if !empty => tiles.push([a, b]),
                    (None, None) => empty = true,
                    (a, b) => {
                        gap = gap.or(Some(start + 2 * index));
                        tiles.extend(a.zip(b).map(|(a, b)| [a, b]));
                    }
                }
            }
            tiles
        };
        let (table, hand) = (tiles(0, HAND_START), tiles(HAND_START, ENDS_START));
        let end = |index: usize| tokens.get(ENDS_START + index).and_then(|&token| pips(token));
        DominoInputs { state: DominoState { table, hand }, ends: [end(0), end(1)], gap }
    }
}

fn encode(state: &DominoState, split: Split) -> Example {
    let mut inputs = vec![0; TOKENS];
    let mut labels = vec![0; TOKENS];
    for (start, tiles) in [(0, &state.table), (HAND_START, &state.hand)] {
        for (token, &pip) in inputs.iter_mut().skip(start).zip(tiles.as_flattened()) {
            *token = i32::from(pip) + 1;
        }
    }
    for (token, pip) in inputs.iter_mut().skip(ENDS_START).zip(state.ends().iter().flatten()) {
        *token = i32::from(*pip) + 1;
    }
    if let Some((index, place)) = state.target() {
        let [a, b] = state.hand[index].map(|pip| i32::from(pip) + 1);
        labels[..3].copy_from_slice(&[a, b, place as i32]);
    }
    Example { split, inputs, labels }
}

fn pips(token: i32) -> Option<u8> {
    u8::try_from(token).ok().and_then(|token| token.checked_sub(1)).filter(|&pips| pips < PIPS)
}

fn place_name(label: i32) -> Option<&'static str> {
    match label {
        1 => Some("left"),
        2 => Some("right"),
        3 => Some("first"),
        _ => None,
    }
}

fn tiles(tiles: &[Tile]) -> String {
    let shown: Vec<_> = tiles.iter().map(|[a, b]| format!("{a}|{b}")).collect();
    shown.join(" ")
}

fn shown_ends(ends: [Option<u8>; 2]) -> String {
    ends.map(|end| end.map_or("-".to_string(), |pip| pip.to_string())).join(" ")
}

fn check_tokens(tokens: &[i32]) -> Result<(), String> {
    if tokens.len() != TOKENS {
        return Err(format!("{}, expected {TOKENS}", exactly(tokens.len(), "token")));
    }
    match tokens.iter().find(|token| !(0..=7).contains(*token)) {
        Some(token) => Err(format!("token {token} is not a number of pips")),
        None => Ok(()),
    }
}

/// Games numbered from 1 in each split; each gives one state.
struct SelfplayGames {
    seed: u64,
    num_aug: u64,
    num_games: u64,
}

impl SelfplayGames {
    fn group(&self, number: u64) -> PuzzleGroup {
        let (split, game) = match number.checked_sub(self.num_games) {
            None => (Split::Train, number + 1),
            Some(number) => (Split::Test, number + 1),
        };
        let name = game.to_string();
        let key = Key { seed: self.seed, domain: "domino", split: split.name(), group: &name };
        let example = encode(&play(&mut key.draws(0)), split);
        PuzzleGroup::of_one(&Domino, self.seed, self.num_aug, name, example)
    }
}

impl GroupSource for SelfplayGames {
    fn groups(&self, range: Range<u64>) -> PuzzleGroups<'_> {
        let end = range.end.min(self.num_games.saturating_mul(2));
        Box::new((range.start..end).map(|number| Ok(self.group(number))))
    }
}

#[cfg(test)]
mod tests;
