//! `str.isalpha` and the like. The properties are those of Rust's Unicode; Python's may be older.

use crate::text::{is_space, is_title_case};

fn is_cased(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || is_title_case(c)
}

/// One of the tests of all characters; false for an empty text but for `isascii` and `isprintable`.
pub fn test(name: &str, text: &str) -> Option<bool> {
    let all = |test: fn(char) -> bool| !text.is_empty() && text.chars().all(test);
    Some(match name {
        "isascii" => text.is_ascii(),
        "isspace" => all(is_space),
        "isalpha" => all(is_letter),
        "isdecimal" => all(is_decimal),
        "isdigit" => all(|c| is_decimal(c) || is_digit(c)),
        "isnumeric" => all(|c| c.is_numeric()),
        "isalnum" => all(|c| is_letter(c) || c.is_numeric()),
        "islower" => {
            text.chars().any(is_cased)
                && !text.chars().any(|c| c.is_uppercase() || is_title_case(c))
        }
        "isupper" => {
            text.chars().any(is_cased)
                && !text.chars().any(|c| c.is_lowercase() || is_title_case(c))
        }
        "istitle" => is_title(text),
        "isidentifier" => {
            let mut chars = text.chars();
            chars.next().is_some_and(|c| c == '_' || is_letter(c))
                && chars.all(|c| c == '_' || c.is_alphanumeric())
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

/// Letters, which do not include the marks that Rust counts as alphabetic.
fn is_letter(c: char) -> bool {
    c.is_alphabetic() && !c.is_numeric() && !is_mark(c)
}

/// Marks with the property Other_Alphabetic of the usual scripts.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{345}' | '\u{363}'..='\u{36f}' | '\u{5b0}'..='\u{5bd}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{657}' | '\u{900}'..='\u{903}' | '\u{93e}'..='\u{94c}'
        | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e4d}' | '\u{24b6}'..='\u{24e9}')
}

fn is_decimal(c: char) -> bool {
    // A decimal digit is the one of ten that stand in a row.
    c.is_ascii_digit()
        || matches!(c, '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}' | '\u{7c0}'..='\u{7c9}'
            | '\u{966}'..='\u{96f}' | '\u{9e6}'..='\u{9ef}' | '\u{a66}'..='\u{a6f}'
            | '\u{ae6}'..='\u{aef}' | '\u{b66}'..='\u{b6f}' | '\u{be6}'..='\u{bef}'
            | '\u{c66}'..='\u{c6f}' | '\u{ce6}'..='\u{cef}' | '\u{d66}'..='\u{d6f}'
            | '\u{e50}'..='\u{e59}' | '\u{ed0}'..='\u{ed9}' | '\u{f20}'..='\u{f29}'
            | '\u{1040}'..='\u{1049}' | '\u{17e0}'..='\u{17e9}' | '\u{1810}'..='\u{1819}'
            | '\u{ff10}'..='\u{ff19}' | '\u{1d7ce}'..='\u{1d7ff}')
}

/// Digits that are not decimal: superscripts, circled ones.
fn is_digit(c: char) -> bool {
    matches!(c, '²' | '³' | '¹' | '\u{2070}' | '\u{2074}'..='\u{2079}' | '\u{2080}'..='\u{2089}'
        | '\u{2460}'..='\u{2468}' | '\u{2474}'..='\u{247c}' | '\u{2488}'..='\u{2490}'
        | '\u{24ea}' | '\u{24f5}'..='\u{24fd}' | '\u{24ff}' | '\u{2776}'..='\u{277e}'
        | '\u{2780}'..='\u{2788}' | '\u{278a}'..='\u{2792}')
}

fn is_title(text: &str) -> bool {
    let (mut is_after_cased, mut has_cased) = (false, false);
    for c in text.chars() {
        if c.is_uppercase() || is_title_case(c) {
            if is_after_cased {
                return false;
            }
            (is_after_cased, has_cased) = (true, true);
        } else if c.is_lowercase() {
            if !is_after_cased {
                return false;
            }
            has_cased = true;
        } else {
            is_after_cased = false;
        }
    }
    has_cased
}
