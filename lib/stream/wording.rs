//! Numbers as people read them.

use indicatif::HumanCount;

/// Writes 12345678 as "12,345,678".
pub fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

/// Writes a count with its noun: "1 prefix", "12,345 prefixes". (A number that does not fit 64 bits
/// is shown as the largest.)
pub fn counted(number: impl TryInto<u64>, one: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{} {}", grouped(number), noun(number, one))
}

/// Writes a count with its noun and without grouped digits, for messages about a mismatch, so that numbers look as
/// in the files.
pub fn exactly(number: impl TryInto<u64>, one: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{number} {}", noun(number, one))
}

/// Returns the noun for a number, from its plural: "records checked", "token sequences".
pub fn of_plural(number: u64, plural: &str) -> String {
    let mut words: Vec<&str> = plural.split(' ').collect();
    let noun = words.iter_mut().filter(|_| number == 1).find(|word| word.ends_with('s'));
    if let Some(noun) = noun {
        *noun = &noun[..noun.len() - 1];
    }
    words.join(" ")
}

/// Returns the noun for a number.
fn noun(number: u64, one: &str) -> String {
    let ending = match one {
        _ if number == 1 => "",
        _ if one.ends_with(['s', 'x', 'h']) => "es",
        _ => "s",
    };
    match one.strip_suffix("index").filter(|_| number != 1) {
        Some(before) => format!("{before}indices"),
        None => format!("{one}{ending}"),
    }
}

/// Writes 2 as "2nd".
pub fn ordinal(number: u64) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{}{ending}", grouped(number))
}

/// Writes 1234567 bytes as "1.2 MB".
pub fn size(bytes: f64) -> String {
    let mut value = bytes;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 1000.0 {
            return if unit == "B" {
                format!("{value:.0} B")
            } else {
                format!("{value:.1} {unit}")
            };
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

/// Returns how often something happened.
pub fn times(count: u64) -> String {
    if count == 1 { "once".to_string() } else { format!("{count} times") }
}

/// Quotes a word for a POSIX shell.
pub fn shell_word(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./+:@%,=".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Breaks a text into lines of at most `width` characters; a longer word has its own line.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(size(999.0), "999 B");
        assert_eq!(counted(1, "prefix"), "1 prefix");
        assert_eq!(counted(12_345, "prefix"), "12,345 prefixes");
        assert_eq!(counted(0, "row"), "0 rows");
        assert_eq!(of_plural(1, "records checked"), "record checked");
        assert_eq!(of_plural(1, "token sequences"), "token sequence");
        assert_eq!(of_plural(2, "token sequences"), "token sequences");
        assert_eq!((of_plural(0, "rows"), of_plural(1, "rows")), ("rows".into(), "row".into()));
        assert_eq!(exactly(12_345, "document index"), "12345 document indices");
        assert_eq!(
            (exactly(1, "row"), exactly(2, "branch")),
            ("1 row".into(), "2 branches".into())
        );
        let ordinals = [1, 2, 3, 4, 11, 12, 21, 1_113].map(ordinal);
        assert_eq!(ordinals, ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "1,113th"]);
    }
}
