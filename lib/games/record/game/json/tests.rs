//! Steps of games through NDJSON: the quick writer beside serde_json, the quick reader beside the general
//! one and the standard library.

use std::fmt::Write;

use arrow_array::RecordBatch;

use gristmill_stream::stream::{NdjsonDecoder, NdjsonEncoder};

use crate::game2048::{Board, CELLS, Game, Step};
use crate::random::Random;
use crate::record::game::{GAME, Games, GamesBuilder};
use crate::record::{RECORD_TYPES, RecordType, quick_items};

/// Makes the quick reader and the quick writer known, as the program does.
fn with_quick_steps() {
    static GAMES: [&RecordType; 1] = [&GAME];
    RECORD_TYPES.set(&GAMES);
    assert!(quick_items(super::step_fields()).is_some());
}

impl Random {
    /// A value as in games, or sometimes any value.
    fn value(&mut self) -> f64 {
        let size = 10_u64.pow(self.below(8) as u32);
        let decimals = [1e1, 1e3, 1e6, 1e6, 1e7][self.below(5) as usize];
        let value = match self.below(12) {
            0 => f64::from_bits(self.below(1 << 53) << 11 | self.below(1 << 11)),
            1 => f64::from(f32::from_bits(self.below(1 << 32) as u32)),
            _ => self.below(size) as f64 / decimals,
        };
        let value = if self.one_in(4) { -value } else { value };
        if value.is_finite() { value } else { 0.5 }
    }

    /// A step of the usual form, or with `odd` any.
    fn step(&mut self, game: &mut Game, odd: bool) -> Step {
        let names =
            ["search", "search", "tuple11", "a name of more than sixteen", "größe", "\"\\\n"];
        let name = names[self.below(if odd { 6 } else { 3 }) as usize];
        let mut branches = || {
            let value = Some(self.value() as f32).filter(|value| value.is_finite());
            value.filter(|_| !self.one_in(6))
        };
        let branch_evs = [branches(), branches(), branches(), branches()];
        let cells = std::array::from_fn(|_| self.below(18) as u8);
        let most = if self.one_in(9) { 1 << 32 } else { 30_000 };
        let step_index = self.below(most) as u32;
        let board_eval = self.below(1 << 13) as i32 - (1 << 12);
        let mut maybe = |known: bool| known && !(odd && self.one_in(5));
        Step {
            step_index,
            board: Board::new(cells).unwrap(),
            board_eval: maybe(true).then_some(board_eval),
            move_dir: maybe(true).then_some(2),
            valuation_type: game.valuation_index(name).filter(|_| maybe(true)),
            valuation: maybe(true).then_some(0.0),
            ev_legal: maybe(true).then_some(15),
            max_rank: maybe(true).then_some(9),
            seed: maybe(true).then_some(980_000_100),
            branch_evs,
        }
    }

    fn game(&mut self, odd: bool) -> Game {
        let mut game = Game { run_id: self.below(9), ..Game::default() };
        let seed = [17, 1_000_000_007, u64::MAX][self.below(3) as usize];
        for _ in 0..self.below(150) {
            let mut step = self.step(&mut game, odd);
            step.seed = step.seed.map(|_| if self.one_in(40) { self.below(1 << 53) } else { seed });
            step.valuation = step.valuation.map(|_| self.value());
            step.move_dir = step.move_dir.map(|_| self.below(4) as u8);
            step.ev_legal = step.ev_legal.map(|_| self.below(16) as u8);
            step.max_rank = step.max_rank.map(|_| self.below(18) as u8);
            game.steps.push(step);
        }
        game
    }

    fn games(&mut self, odd: bool) -> Vec<Game> {
        (0..1 + self.below(3)).map(|_| self.game(odd)).collect()
    }
}

fn batch(games: &[Game]) -> RecordBatch {
    let mut builder = GamesBuilder::default();
    games.iter().for_each(|game| builder.push(game).unwrap());
    builder.finish().unwrap()
}

fn written(batch: &RecordBatch) -> String {
    let mut text = Vec::new();
    NdjsonEncoder::new(GAME.schema()).encode(batch, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// What is read of lines, or why they are none. Offsets are left out.
fn read(lines: &str) -> Result<RecordBatch, String> {
    let mut decoder = NdjsonDecoder::new(GAME.schema()).unwrap();
    for line in lines.split_inclusive('\n') {
        decoder.line(line.as_bytes()).map_err(|reason| match reason.split_once(" at byte") {
            Some((reason, _)) => reason.to_string(),
            None => reason,
        })?;
    }
    Ok(decoder.finish().unwrap())
}

/// The same by the general reader alone: the quick one knows no white space.
fn read_generally(lines: &str) -> Result<RecordBatch, String> {
    read(&lines.replace("{\"step_index\"", "{ \"step_index\""))
}

fn json<T: serde::Serialize>(value: T) -> String {
    serde_json::to_string(&value).unwrap()
}

/// The line of a game as serde_json writes each value of it.
fn expected(game: &Game) -> String {
    let mut line = format!("{{\"run_id\":{}", game.run_id);
    for name in ["seed", "depth", "score", "max_tile", "max_rank", "num_moves", "seconds", "source"]
    {
        write!(line, ",\"{name}\":null").unwrap();
    }
    line += ",\"meta\":null,\"session\":null,\"steps\":[";
    for index in 0..game.steps.len() {
        let step = game.steps.get(index).unwrap();
        let known = step.branch_evs != [None; 4] || step.ev_legal.is_some();
        let fields = [
            ("{\"step_index\":", json(step.step_index)),
            (",\"board\":", json(step.board.cells())),
            (",\"board_eval\":", json(step.board_eval)),
            (",\"move_dir\":", json(step.move_dir)),
            (",\"valuation_type\":", json(game.valuation_name(index))),
            (",\"valuation\":", json(step.valuation)),
            (",\"ev_legal\":", json(step.ev_legal)),
            (",\"max_rank\":", json(step.max_rank)),
            (",\"seed\":", json(step.seed)),
            (",\"branch_evs\":", json(known.then_some(step.branch_evs))),
        ];
        line += if index > 0 { "," } else { "" };
        fields.iter().for_each(|(key, value)| line += &format!("{key}{value}"));
        line.push('}');
    }
    line + "]}\n"
}

#[test]
fn steps_are_written_as_serde_json_writes_them_and_read_again() {
    with_quick_steps();
    let mut random = Random(0x1234_5678_9abc_def1);
    for round in 0..300 {
        let games = random.games(round % 3 == 0);
        let records = batch(&games);
        let lines: String = games.iter().map(expected).collect();
        assert_eq!(written(&records), lines);
        // A part of a batch begins at any place of its columns.
        let part = records.slice(1, games.len() - 1);
        assert_eq!(written(&part), games[1..].iter().map(expected).collect::<String>());
        let back = read(&lines).unwrap();
        assert_eq!(Ok(&back), read_generally(&lines).as_ref());
        // To the bit: arrays of floats are equal if their bytes are.
        assert!(back == records, "{lines}");
    }
}

/// Numbers in other forms than ours: what is read is what the standard library reads.
#[test]
fn numbers_of_any_form_are_read_as_the_general_reader_reads_them() {
    with_quick_steps();
    let mut random = Random(0xfeed_5678_9abc_def1);
    let forms = |random: &mut Random| -> String {
        let sign = if random.one_in(3) { "-" } else { "" };
        let digits = |random: &mut Random, most: u64| -> String {
            (0..1 + random.below(most)).map(|_| char::from(b'0' + random.below(10) as u8)).collect()
        };
        let (whole, fraction) = (digits(random, 9), digits(random, 9));
        match random.below(8) {
            0 => format!("{sign}{whole}"),
            1 => format!("{sign}{whole}e{}", random.below(60)),
            2 => format!("{sign}{whole}.{fraction}E-{}", random.below(60)),
            3 => format!("{sign}{whole}.{fraction}{}", digits(random, 20)),
            4 => format!("{sign}0.{fraction}"),
            5 => ["null", "1.", ".5", "-", "1e", "+1", "1e999", "NaN", "\"1\"", "0.1 ", "-0.0"]
                [random.below(11) as usize]
                .to_string(),
            _ => format!("{sign}{}.{fraction}", whole.trim_start_matches('0').len()),
        }
    };
    let (mut right, mut wrong) = (0, 0);
    for _ in 0..20_000 {
        let values: Vec<String> = (0..5).map(|_| forms(&mut random)).collect();
        let step = |values: &[String]| {
            format!(
                "{{\"step_index\":1,\"board\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],\"board_eval\":-7,\
                 \"move_dir\":0,\"valuation_type\":\"search\",\"valuation\":{},\"ev_legal\":1,\
                 \"max_rank\":1,\"seed\":1,\"branch_evs\":[{},{},{},{}]}}",
                values[0], values[1], values[2], values[3], values[4]
            )
        };
        let plain = ["0.5", "0.5", "-12.25", "null", "3.0"].map(str::to_string);
        let rest = step(&plain);
        let line = format!("{{\"steps\":[{},{rest},{rest},{rest}]}}\n", step(&values));
        let (quick, general) = (read(&line), read_generally(&line));
        assert_eq!(quick, general, "{line}");
        let Ok(records) = quick else {
            wrong += 1;
            continue;
        };
        right += 1;
        let steps = Games::of(&records).unwrap().steps.items;
        let double = values[0].trim().parse::<f64>().map(f64::to_bits).ok();
        assert_eq!(steps.valuation.get(0).map(f64::to_bits), double, "{}", values[0]);
        for (index, value) in values[1..].iter().enumerate() {
            let single = value.trim().parse::<f32>().map(f32::to_bits).ok();
            assert_eq!(steps.branch_evs.items.get(index).map(f32::to_bits), single, "{value}");
        }
    }
    assert!(right > 3_000 && wrong > 3_000, "{right} right, {wrong} wrong");
}

#[test]
fn damaged_steps_are_read_or_refused_as_the_general_reader_does() {
    with_quick_steps();
    let mut random = Random(0xdead_5678_9abc_def1);
    let (mut right, mut wrong) = (0, 0);
    let others = [
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        " ",
        "0",
        "1",
        "9",
        "-",
        ".",
        "e",
        "n",
        "\\",
        "\u{442}",
        "null",
        ",\"note\":[1,{}]",
        ",\"seed\":5",
        "\"seed\":6,",
        "\\u0061",
        "18446744073709551616",
        "[0,1,2]",
        "255",
        "256",
        "20,",
    ];
    for round in 0..5_000 {
        let mut line = expected(&random.game(round % 4 == 0));
        let start = line.find("[{").unwrap_or(0);
        for _ in 0..1 + random.below(2) {
            let mut at = start + random.below((line.len() - start) as u64) as usize;
            // Mostly among the first steps, which others follow.
            if random.one_in(2) {
                at = (start + random.below(600) as usize).min(line.len() - 1);
            }
            let places = line.char_indices().map(|(place, _)| place);
            let at = places.take_while(|place| *place <= at).last().unwrap_or(0);
            let other = others[random.below(others.len() as u64) as usize];
            match random.below(3) {
                0 => drop(line.remove(at)),
                1 => line.insert_str(at, other),
                _ => {
                    line.remove(at);
                    line.insert_str(at, other);
                }
            }
        }
        let (quick, general) = (read(&line), read_generally(&line));
        assert_eq!(quick, general, "{line}");
        if quick.is_ok() { right += 1 } else { wrong += 1 }
    }
    assert!(right > 300 && wrong > 1_500, "{right} right, {wrong} wrong");
}

/// Games of any length of board text, so that a cut falls everywhere.
#[test]
fn cells_and_lists_of_other_lengths_are_left_to_the_general_reader() {
    with_quick_steps();
    let step = |board: &str, branches: &str| {
        format!(
            "{{\"step_index\":1,\"board\":{board},\"board_eval\":-7,\"move_dir\":0,\
             \"valuation_type\":\"search\",\"valuation\":0.5,\"ev_legal\":1,\"max_rank\":1,\
             \"seed\":1,\"branch_evs\":{branches}}}"
        )
    };
    let sixteen = format!("[{}]", ["17"; CELLS].join(","));
    let plain = step(&sixteen, "[0.5,null,1.0,-2.25]");
    for board in ["[]", "[1]", &format!("[{}]", ["1"; 17].join(",")), "[255,99,20,19]"] {
        for branches in ["[]", "[0.5]", "null", "[1.0,2.0,3.0,4.0,5.0]", "[1.0,2.0,null,4.0]"] {
            for odd in [step(board, branches), step(&sixteen, branches)] {
                let line = format!("{{\"steps\":[{plain},{odd},{plain},{plain},{plain}]}}\n");
                let records = read(&line).unwrap();
                assert_eq!(Ok(&records), read_generally(&line).as_ref());
                // The members that the line does not have are written as null.
                assert!(written(&records).ends_with(&line["{".len()..]), "{line}");
            }
        }
    }
}
