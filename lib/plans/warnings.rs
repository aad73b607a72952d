//! Warnings of the tasks of a plan, as if one run had made all: their counts are summed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::wording::{grouped, times};

/// The warnings, in the order in which they came first.
#[derive(Default)]
pub(super) struct Warnings {
    all: Vec<Warning>,
    places: HashMap<String, usize>,
    /// What each filter did not read: columns, and fields of messages.
    unread: BTreeMap<String, [BTreeSet<String>; 2]>,
}

/// What stands before the names that a filter did not read.
pub(super) const NOT_READ: &str = ": not read: ";
const OF_MESSAGES: &str = "of messages: ";

struct Warning {
    /// The text with the largest count.
    text: String,
    largest: u64,
    /// The sum of each count in the text.
    sums: Vec<u64>,
    tasks: u64,
}

impl Warnings {
    pub fn add(&mut self, text: &str) {
        if let Some((filter, names)) = text.split_once(NOT_READ) {
            let [columns, fields] = self.unread.entry(filter.to_string()).or_default();
            for part in names.split("; ") {
                let (part, names) = match part.strip_prefix(OF_MESSAGES) {
                    Some(part) => (part, &mut *fields),
                    None => (part, &mut *columns),
                };
                names.extend(part.split(", ").map(str::to_string));
            }
            return;
        }
        let counts: Vec<u64> = text.split(' ').filter_map(count).collect();
        let largest = counts.first().copied().unwrap_or(0);
        let place = *self.places.entry(key(text)).or_insert(self.all.len());
        let Some(warning) = self.all.get_mut(place) else {
            self.all.push(Warning { text: text.to_string(), largest, sums: counts, tasks: 1 });
            return;
        };
        warning.tasks += 1;
        for (sum, count) in warning.sums.iter_mut().zip(counts) {
            *sum = sum.saturating_add(count);
        }
        if largest > warning.largest {
            (warning.text, warning.largest) = (text.to_string(), largest);
        }
    }

    /// Returns the lines to be printed.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let joined = |names: &BTreeSet<String>| {
            names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
        };
        let unread = self.unread.iter().map(move |(filter, [columns, fields])| {
            let of_messages =
                (!fields.is_empty()).then(|| format!("{OF_MESSAGES}{}", joined(fields)));
            let columns = Some(joined(columns)).filter(|columns| !columns.is_empty());
            let both: Vec<String> = columns.into_iter().chain(of_messages).collect();
            format!("{filter}{NOT_READ}{}", both.join("; "))
        });
        self.all.iter().map(Warning::line).chain(unread)
    }
}

impl Warning {
    fn line(&self) -> String {
        let Warning { text, largest, sums, tasks } = self;
        // (Its words are in the singular.)
        if *largest == 1 && *tasks > 1 && !text.split(' ').any(is_once) {
            return format!("{text} (in each of {} tasks)", grouped(*tasks));
        }
        let mut sums = sums.iter();
        let word = |word: &str| match count(word).and_then(|_| sums.next()) {
            Some(sum) if is_once(word) => word.replace("once", &times(*sum)),
            Some(sum) => word.replace(digits(word), &grouped(*sum)),
            None => word.to_string(),
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }
}

/// Returns what two warnings have in common that differ in their counts, and in what is singular or plural.
fn key(text: &str) -> String {
    let word = |word| match count(word) {
        Some(_) => "#",
        None => match word {
            "is" | "are" => "are",
            "does" | "do" => "do",
            "times" | "times;" => "",
            word => word.trim_end_matches([',', ';', ':']).trim_end_matches('s'),
        },
    };
    text.split(' ').map(word).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns the number of a word that is a count; no option and no name is one.
fn count(word: &str) -> Option<u64> {
    if is_once(word) {
        return Some(1);
    }
    let digits = digits(word);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    is_number.then(|| digits.replace(',', "").parse().ok()).flatten()
}

fn is_once(word: &str) -> bool {
    digits(word) == "once"
}

fn digits(word: &str) -> &str {
    word.trim_matches(['(', ')', ',', ';', ':', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_summed() {
        let of = |texts: &[&str]| {
            let mut warnings = Warnings::default();
            texts.iter().for_each(|text| warnings.add(text));
            warnings.lines().collect::<Vec<_>>()
        };
        let left = ["a: x: left out 6,252 times; --y keeps", "a: x: left out once; --y keeps"];
        assert_eq!(of(&[left[0], left[1], left[0]]), ["a: x: left out 12,505 times; --y keeps"]);
        assert_eq!(of(&[left[1], left[1]]), ["a: x: left out 2 times; --y keeps"]);
        let turns = ["a: 1 turn of b does not end", "a: 2 turns of b do not end"];
        assert_eq!(of(&[turns[0], turns[1]]), ["a: 3 turns of b do not end"]);
        assert_eq!(of(&[turns[0], turns[0]]), [format!("{} (in each of 2 tasks)", turns[0])]);
        let some = ["3 of 40 are not; try: --span c=3", "4 of 50 are not; try: --span c=3"];
        assert_eq!(of(&some), ["7 of 90 are not; try: --span c=3"]);
        assert_eq!(of(&["one", "two", "one"]), ["one", "two"]);
        let unread = [
            "a: not read: c, b",
            "a: not read: b; of messages: y, x",
            "b: not read: of messages: z",
        ];
        let lines = ["a: not read: b, c; of messages: x, y", "b: not read: of messages: z"];
        assert_eq!(of(&unread), lines);
    }
}
