//! `str.isalpha` and the like, with the characters of Unicode 16. (Python 3.11 has Unicode 14.)

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

use crate::text::{is_cased, is_space, is_title_case};

/// A set of characters, as ranges in ascending order.
struct Characters(Vec<(char, char)>);

impl Characters {
    /// The characters that a class of a regular expression matches.
    fn of_class(class: &str) -> Characters {
        match regex_syntax::parse(class).map(|class| class.into_kind()) {
            Ok(HirKind::Class(Class::Unicode(class))) => {
                Characters(class.iter().map(|range| (range.start(), range.end())).collect())
            }
            _ => Characters(Vec::new()),
        }
    }

    fn contains(&self, c: char) -> bool {
        let after = self.0.partition_point(|(start, _)| *start <= c);
        after > 0 && c <= self.0[after - 1].1
    }
}

static LETTERS: LazyLock<Characters> = LazyLock::new(|| Characters::of_class(r"\p{L}"));
static DECIMALS: LazyLock<Characters> = LazyLock::new(|| Characters::of_class(r"\p{Nd}"));
static STARTS: LazyLock<Characters> = LazyLock::new(|| Characters::of_class(r"[\p{XID_Start}_]"));
static PARTS: LazyLock<Characters> = LazyLock::new(|| Characters::of_class(r"\p{XID_Continue}"));

/// Ideographs that are numbers: Unihan's kPrimaryNumeric, kAccountingNumeric and kOtherNumeric.
const NUMBERS: &str = "㐅㒃㠪㭍一七万三九二五亖亿什仟仨伍佰億兆兩八六十千卄卅卌叁参參叄四壱壹幺廾廿弌弍弎弐拾捌柒漆玖百肆\
    萬貮貳贰阡陆陌陸零\u{f96b}\u{f973}\u{f978}\u{f9b2}\u{f9d1}\u{f9d3}\u{f9fd}\u{20001}\u{20064}\u{200e2}\u{20121}\
    \u{2092a}\u{20983}\u{2098c}\u{2099c}\u{20aea}\u{20afd}\u{20b19}\u{22390}\u{22998}\u{23b1b}\u{2626d}\u{2f890}";

/// The result of a method that tests all characters; none if there is no such method.
pub fn test(name: &str, text: &str) -> Option<bool> {
    let all = |test: fn(char) -> bool| !text.is_empty() && text.chars().all(test);
    let is_title = |c: char| c.is_uppercase() || is_title_case(c);
    Some(match name {
        "isascii" => text.is_ascii(),
        "isspace" => all(is_space),
        "isalpha" => all(is_letter),
        "isdecimal" => all(is_decimal),
        "isdigit" => all(|c| is_decimal(c) || is_other_digit(c)),
        "isnumeric" => all(is_numeric),
        "isalnum" => all(|c| is_letter(c) || is_numeric(c)),
        "islower" => text.chars().any(is_cased) && !text.chars().any(is_title),
        "isupper" => {
            let is_other = |c: char| c.is_lowercase() || is_title_case(c);
            text.chars().any(is_cased) && !text.chars().any(is_other)
        }
        "istitle" => is_title_text(text),
        "isidentifier" => {
            let mut chars = text.chars();
            chars.next().is_some_and(|c| STARTS.contains(c)) && chars.all(|c| PARTS.contains(c))
        }
        "isprintable" => {
            let mut quoted = String::new();
            text.chars().all(|c| {
                quoted.clear();
                crate::value::print::quoted(&mut quoted, c.encode_utf8(&mut [0; 4]));
                c == '\\' || !quoted[1..].starts_with('\\')
            })
        }
        _ => return None,
    })
}

fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { LETTERS.contains(c) }
}

fn is_decimal(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { DECIMALS.contains(c) }
}

fn is_numeric(c: char) -> bool {
    c.is_numeric() || NUMBERS.contains(c)
}

/// Whether a character is a digit that is not decimal (Numeric_Type=Digit): superscripts, circled ones.
fn is_other_digit(c: char) -> bool {
    matches!(c, '²' | '³' | '¹' | '\u{1369}'..='\u{1371}' | '\u{19da}' | '\u{2070}'
        | '\u{2074}'..='\u{2079}' | '\u{2080}'..='\u{2089}' | '\u{2460}'..='\u{2468}'
        | '\u{2474}'..='\u{247c}' | '\u{2488}'..='\u{2490}' | '\u{24ea}' | '\u{24f5}'..='\u{24fd}'
        | '\u{24ff}' | '\u{2776}'..='\u{277e}' | '\u{2780}'..='\u{2788}' | '\u{278a}'..='\u{2792}'
        | '\u{10a40}'..='\u{10a43}' | '\u{10e60}'..='\u{10e68}' | '\u{11052}'..='\u{1105a}'
        | '\u{1f100}'..='\u{1f10a}')
}

/// Whether every word of a text begins with a capital, and has no other.
fn is_title_text(text: &str) -> bool {
    let (mut is_after_cased, mut has_cased) = (false, false);
    for c in text.chars() {
        let is_capital = c.is_uppercase() || is_title_case(c);
        if is_capital && is_after_cased || c.is_lowercase() && !is_after_cased {
            return false;
        }
        is_after_cased = is_cased(c);
        has_cased |= is_after_cased;
    }
    has_cased
}
