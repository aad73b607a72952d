//! The two step parsers against each other and against serde_json.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::fast;
use super::*;
use crate::random::Random;

/// What serde_json makes of a line; numbers stay text, to be parsed by the standard library.
#[derive(Deserialize)]
struct Oracle<'a> {
    #[serde(borrow)]
    seed: Option<&'a RawValue>,
    #[serde(borrow)]
    step_index: Option<&'a RawValue>,
    #[serde(borrow)]
    max_rank: Option<&'a RawValue>,
    #[serde(rename = "move")]
    direction: String,
    valuation_type: Option<String>,
    #[serde(borrow)]
    valuation: Option<&'a RawValue>,
    #[serde(borrow)]
    board: Vec<&'a RawValue>,
    #[serde(borrow)]
    branch_evs: Option<Branches<'a>>,
}

#[derive(Deserialize)]
struct Branches<'a> {
    #[serde(borrow)]
    up: Option<&'a RawValue>,
    #[serde(borrow)]
    down: Option<&'a RawValue>,
    #[serde(borrow)]
    left: Option<&'a RawValue>,
    #[serde(borrow)]
    right: Option<&'a RawValue>,
}

/// A step in a form that is the same for both parsers, to compare them.
type Plain = ([Option<u64>; 3], Direction, String, Option<u64>, [u8; CELLS], [Option<u32>; 4]);

fn plain(step: &RawStep<'_>) -> Plain {
    let name = match step.valuation_type {
        ValuationType::Known(known) => KNOWN_VALUATIONS[usize::from(known)],
        ValuationType::Other(name) => name,
    };
    let branch = |i: usize| {
        let known = step.branch_known >> i & 1 == 1;
        assert!(known || step.branch_evs[i].to_bits() == 0);
        known.then_some(step.branch_evs[i].to_bits())
    };
    (
        [step.seed, step.step_index, step.max_rank],
        step.direction,
        name.to_owned(),
        step.valuation.map(f64::to_bits),
        step.cells,
        std::array::from_fn(branch),
    )
}

fn number<T: std::str::FromStr>(value: &RawValue) -> Option<T> {
    // RawValue is any JSON value; for the parsers `1e5` is not an integer and `"1"` not a number.
    value.get().parse().ok()
}

fn oracle(line: &str) -> Option<Plain> {
    let oracle: Oracle<'_> = serde_json::from_str(line).ok()?;
    let integer = |value: Option<&RawValue>| match value {
        None => Some(None),
        Some(value) if value.get() == "-0" => Some(Some(0)),
        Some(value) => number(value).map(Some),
    };
    let mut cells = [0; CELLS];
    if oracle.board.len() != CELLS {
        return None;
    }
    for (cell, value) in cells.iter_mut().zip(&oracle.board) {
        *cell = integer(Some(value))?.and_then(|n| u8::try_from(n).ok()).filter(|&n| n <= 17)?;
    }
    let valuation = match oracle.valuation {
        None => None,
        Some(value) => Some(number::<f64>(value).filter(|n| n.is_finite())?.to_bits()),
    };
    let branch = |value: Option<&RawValue>| match value {
        None => Some(None),
        Some(value) => Some(Some(number::<f32>(value).filter(|n| n.is_finite())?.to_bits())),
    };
    let evs = match oracle.branch_evs {
        None => [None; 4],
        Some(evs) => [branch(evs.up)?, branch(evs.down)?, branch(evs.left)?, branch(evs.right)?],
    };
    Some((
        [integer(oracle.seed)?, integer(oracle.step_index)?, integer(oracle.max_rank)?],
        Direction::from_name(&oracle.direction)?,
        oracle.valuation_type.unwrap_or_else(|| "search".to_owned()),
        valuation,
        cells,
        evs,
    ))
}

impl Random {
    fn of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Digits, at most `most`; a leading zero only for zero.
    fn digits(&mut self, most: u64) -> String {
        let length = 1 + self.below(most);
        let digits: String = (0..length).map(|_| char::from(b'0' + self.below(10) as u8)).collect();
        let trimmed = digits.trim_start_matches('0');
        if trimmed.is_empty() { "0".to_owned() } else { trimmed.to_owned() }
    }

    fn decimal(&mut self, wild: bool) -> String {
        let sign = if self.one_in(3) { "-" } else { "" };
        if !wild {
            let decimals = self.of(&["3", "6", "1", "7"]).parse().unwrap();
            let fraction = self.below(10u64.pow(decimals));
            let width = decimals as usize;
            return format!("{sign}{}.{fraction:0width$}", self.digits(5));
        }
        match self.below(6) {
            0 => format!("{sign}{}", self.digits(12)),
            1 => format!("{sign}{}.{}", self.digits(9), "0".repeat(self.below(9) as usize + 1)),
            2 => format!("{sign}{}e{}", self.digits(3), self.below(40)),
            3 => format!("{sign}{}.{}E-{}", self.digits(2), self.below(1000), self.below(60)),
            4 => format!("{sign}0.{}{}", "0".repeat(self.below(20) as usize), self.below(10_000)),
            _ => format!("{sign}{}.{}", self.digits(20), self.digits(20)),
        }
    }

    fn space(&mut self, out: &mut String, style: u64) {
        match style {
            0 => {}
            1 => out.push(' '),
            _ => (0..self.below(3)).for_each(|_| out.push_str(self.of(&[" ", "\t", "\r"]))),
        }
    }

    /// A string's text: sometimes with every character or some of them escaped.
    fn string(&mut self, value: &str, escapes: bool) -> String {
        let mut out = "\"".to_owned();
        for character in value.chars() {
            if escapes && self.one_in(3) {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    write!(out, "\\u{unit:04x}").unwrap();
                }
            } else if matches!(character, '"' | '\\') {
                out.extend(['\\', character]);
            } else {
                out.push(character);
            }
        }
        out + "\""
    }

    fn any_value(&mut self, depth: u64) -> String {
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => self.of(&["true", "false", "null", "{}", "[]", "[ ]"]).to_owned(),
            1 | 2 => self.decimal(true),
            3 | 4 => {
                let value = self.of(&["", "a\"b\\c", "{[,]}", "ü😀", "move", "\u{7f}"]);
                let escapes = self.one_in(2);
                self.string(value, escapes)
            }
            5 => {
                let values: Vec<String> =
                    (0..self.below(4)).map(|_| self.any_value(depth - 1)).collect();
                format!("[{}]", values.join(" ,"))
            }
            _ => {
                let values: Vec<String> = (0..self.below(4))
                    .map(|i| format!("\"move{i}\" :{}", self.any_value(depth - 1)))
                    .collect();
                format!("{{ {} }}", values.join(", "))
            }
        }
    }

    /// A line of a step. With `usual` it is of the shape that the fast path is made for.
    fn line(&mut self, usual: bool) -> String {
        let style = if usual { self.below(2) } else { self.below(3) };
        let wild = !usual;
        let escapes = wild && self.one_in(4);
        let mut fields: Vec<(&str, String)> = Vec::new();
        let mut field = |random: &mut Random, name, value: String| {
            if !random.one_in(8) {
                let null = wild && random.one_in(8);
                fields.push((name, if null { "null".to_owned() } else { value }));
            }
        };
        let (seed, index, rank) = (self.digits(19), self.digits(6), self.digits(2));
        field(self, "seed", seed);
        field(self, "step_index", index);
        field(self, "max_rank", rank);
        let name = self.of(&["search", "search", "tuple10", "tuple11", "tuple\"12", "größe"]);
        let name = self.string(name, escapes);
        let valuation = self.decimal(wild);
        field(self, "valuation_type", name);
        field(self, "valuation", valuation);
        let mut branches: Vec<String> = Vec::new();
        for name in ["up", "left", "right", "down"] {
            let absent = wild && self.one_in(6);
            let null = self.one_in(5);
            let value = if null { "null".to_owned() } else { self.decimal(wild) };
            let mut space = String::new();
            self.space(&mut space, style);
            if !absent {
                branches.push(format!("{}:{space}{value}", self.string(name, escapes)));
            }
        }
        if wild && self.one_in(3) {
            let at = self.below(branches.len() as u64 + 1) as usize;
            branches.insert(at, format!("\"middle\": {}", self.any_value(2)));
        }
        let mut separator = ",".to_owned();
        self.space(&mut separator, style);
        field(self, "branch_evs", format!("{{{}}}", branches.join(&separator)));
        let board: Vec<String> = (0..CELLS).map(|_| self.below(18).to_string()).collect();
        let direction = self.of(&["up", "down", "left", "right"]);
        let direction = self.string(direction, escapes);
        let at = fields.iter().position(|(name, _)| name.starts_with('v') || *name == "branch_evs");
        fields.insert(at.unwrap_or(fields.len()), ("move", direction));
        let at = fields.iter().position(|(name, _)| *name == "branch_evs");
        let board = format!("[{}]", board.join(&separator));
        fields.insert(at.unwrap_or(fields.len()), ("board", board));
        if wild {
            for _ in 0..self.below(3) {
                let value = self.any_value(3);
                let at = self.below(fields.len() as u64 + 1) as usize;
                fields.insert(at, (self.of(&["note", "mo", "Move", "", "seed "]), value));
            }
            for i in (1..fields.len()).rev() {
                fields.swap(i, self.below(i as u64 + 1) as usize);
            }
        }
        let mut out = "{".to_owned();
        for (i, (name, value)) in fields.iter().enumerate() {
            if i > 0 {
                out.push_str(&separator);
            }
            out.push_str(&self.string(name, escapes));
            if wild {
                self.space(&mut out, style);
            }
            out.push(':');
            self.space(&mut out, style);
            out.push_str(value);
            if wild {
                self.space(&mut out, style);
            }
        }
        out.push('}');
        out
    }
}

/// The fast path, knowing nothing and after a line of its own.
fn either(text: &[u8]) -> Option<(RawStep<'_>, usize)> {
    let mut guess = fast::Guess::default();
    let new = fast::compact(text, 0, &mut guess).or_else(|| fast::spaced(text, 0, &mut guess));
    let again = fast::compact(text, 0, &mut guess).or_else(|| fast::spaced(text, 0, &mut guess));
    assert_eq!(new, again);
    new
}

/// Parses with both parsers, which must agree if the fast one takes the line.
fn parsed(line: &str) -> (Option<Plain>, bool) {
    let mut scratch = String::new();
    let slow = parse(line.as_bytes(), &mut scratch).ok().map(|step| plain(&step));
    let text = format!("{line}\n{}", "\n".repeat(512));
    let fast = either(text.as_bytes()).map(|(step, next)| {
        assert_eq!(next, line.len() + 1, "{line}");
        plain(&step)
    });
    if let Some(fast) = &fast {
        // The fast path does not check that exponents are too large; its caller does.
        let large = fast.4.iter().any(|&exponent| exponent > MAX_EXPONENT);
        assert!(large || Some(fast) == slow.as_ref(), "{line}\n{fast:?}\n{slow:?}");
    }
    (slow, fast.is_some())
}

#[test]
fn steps_of_any_shape_equal_serde_jsons() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..60_000 {
        let line = random.line(false);
        let expected = oracle(&line);
        assert_eq!(parsed(&line).0, expected, "{line}");
    }
}

#[test]
fn usual_lines_take_the_fast_path_and_equal_serde_jsons() {
    let mut random = Random(0xfeed_5678_9abc_def1);
    let mut fast = 0;
    const LINES: usize = 60_000;
    for _ in 0..LINES {
        let line = random.line(true);
        let expected = oracle(&line);
        assert!(expected.is_some(), "{line}");
        let (step, is_fast) = parsed(&line);
        assert_eq!(step, expected, "{line}");
        fast += usize::from(is_fast);
    }
    // Names with quotes or beyond ASCII and a tenth of the seeds are for the slow path.
    assert!(fast * 10 > LINES * 5, "{fast} of {LINES} lines");
}

#[test]
fn damaged_lines_are_refused_where_serde_json_refuses_them() {
    let mut random = Random(0xdead_5678_9abc_def1);
    let (mut refused, mut accepted) = (0, 0);
    for i in 0..200_000 {
        let mut line = random.line(i % 2 == 0).into_bytes();
        for _ in 0..1 + random.below(2) {
            let at = random.below(line.len() as u64) as usize;
            let byte = *random.of(&[
                b"\"", b"{", b"}", b"[", b"]", b",", b":", b" ", b"0", b"1", b"9", b"-", b".",
                b"e", b"u", b"\\", b"n", b"\n", b"\x01", b"/",
            ]);
            match random.below(3) {
                0 => line[at] = byte[0],
                1 => line.insert(at, byte[0]),
                _ => drop(line.remove(at)),
            }
        }
        let Ok(line) = String::from_utf8(line) else { continue };
        if line.contains('\n') {
            continue;
        }
        let expected = oracle(&line);
        assert_eq!(parsed(&line).0, expected, "{line}");
        if expected.is_some() { accepted += 1 } else { refused += 1 }
    }
    assert!(refused > 50_000 && accepted > 5_000, "{refused} refused, {accepted} accepted");
}

/// Lines one after another, as in a file: what was like the line before and what was not.
#[test]
fn what_the_last_line_was_like_changes_nothing() {
    let mut random = Random(0xabcd_5678_9abc_def1);
    let mut lines: Vec<String> = (0..40).map(|_| random.line(true)).collect();
    let mut text = String::new();
    let mut expected = Vec::new();
    for _ in 0..60_000 {
        let i = random.below(40) as usize;
        if random.one_in(3) {
            // The same but for one digit.
            let line = &lines[i];
            let digits: Vec<usize> =
                (0..line.len()).filter(|&at| matches!(line.as_bytes()[at], b'1'..=b'9')).collect();
            if let Some(&at) = digits.get(random.below(digits.len().max(1) as u64) as usize) {
                let digit = (b'1' + random.below(8) as u8) as char;
                lines[i].replace_range(at..=at, &digit.to_string());
            }
        } else if random.one_in(3) {
            lines[i] = random.line(true);
        }
        if oracle(&lines[i]).is_none() {
            lines[i] = random.line(true);
        }
        for _ in 0..1 + random.below(3) {
            expected.push(oracle(&lines[i]));
            text.extend([&lines[i], "\n"]);
        }
    }
    text.push_str(&" ".repeat(512));
    let (mut at, mut fast) = (0, 0);
    let mut guess = fast::Guess::default();
    for expected in expected {
        let bytes = text.as_bytes();
        let step =
            fast::compact(bytes, at, &mut guess).or_else(|| fast::spaced(bytes, at, &mut guess));
        let length = text[at..].find('\n').unwrap() + 1;
        if let Some((step, next)) = step {
            assert_eq!(next, at + length);
            assert_eq!(Some(plain(&step)), expected, "{}", &text[at..at + length]);
            fast += 1;
        }
        at += length;
    }
    assert!(fast > 60_000, "{fast} lines took the fast path");
}

#[test]
fn decimals_equal_a_direct_parse() {
    let mut random = Random(0xbeef_5678_9abc_def1);
    let check = |text: &str| {
        let line = format!(
            "{{\"move\":\"up\",\"valuation\":{text},\"board\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],\
             \"branch_evs\":{{\"up\":{text},\"left\":null,\"right\":null,\"down\":null}}}}\n"
        );
        let padded = format!("{line}{}", " ".repeat(512));
        if let Some((step, _)) = either(padded.as_bytes()) {
            let (double, single): (f64, f32) = (text.parse().unwrap(), text.parse().unwrap());
            assert_eq!(step.valuation.map(f64::to_bits), Some(double.to_bits()), "{text}");
            assert_eq!(step.branch_evs[0].to_bits(), single.to_bits(), "{text}");
            return true;
        }
        false
    };
    for text in ["0", "-0", "0.0", "-0.000000", "9999999.9999999", "0.0000001"] {
        assert!(check(text), "{text}");
    }
    let mut fast = 0;
    for _ in 0..400_000 {
        let text = random.decimal(false);
        fast += u32::from(check(&text));
    }
    assert!(fast > 399_000);
    // Next to midpoints of floats, where rounding twice could differ: f32 has steps of 2 at
    // 2^24, 1/2 at 2^22, and 2^-17 at 64.
    for integer in [1u64 << 22, (1 << 22) + 3, (1 << 23) - 1, 64, 127, 1 << 19] {
        for fraction in 0..2000u64 {
            for text in [
                format!("{integer}.{fraction:04}"),
                format!("{integer}.{:07}", fraction * 5000 + 2500),
                format!("{integer}.{:07}", 2_500_000 + fraction),
                format!("{integer}.{:07}", 2_500_000 - fraction),
                format!("{integer}.{:06}", fraction * 500),
            ] {
                check(&text);
            }
        }
    }
}
