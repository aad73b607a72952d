//! Makes characters visible that a terminal, or a reader, would not take for text. Data and names are printed by
//! these rules in messages, reports and views, so that an id cannot move the cursor or look like a message of its
//! own.

use std::borrow::Cow;

/// The text that is written for a character. (Nearly always this is one character, which needs no memory of its
/// own; texts have millions of characters.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visible {
    Character(char),
    Text(Cow<'static, str>),
}

impl Visible {
    /// Calls `each` with the text.
    pub fn with<R>(&self, each: impl FnOnce(&str) -> R) -> R {
        match self {
            Visible::Character(character) => each(character.encode_utf8(&mut [0; 4])),
            Visible::Text(text) => each(text),
        }
    }

    pub fn push_to(&self, out: &mut String) {
        match self {
            Visible::Character(character) => out.push(*character),
            Visible::Text(text) => *out += text,
        }
    }
}

/// Returns a character as it may be written. Control characters, also line feeds and tabs, become their pictures
/// (`␛`); characters that change the direction of text or are invisible become their number (`<U+202E>`). Callers
/// that lay out text remove line feeds and tabs before.
pub fn visible(character: char) -> Visible {
    match character {
        '\0'..='\x1f' => {
            let picture = char::from_u32(0x2400 + character as u32);
            Visible::Character(picture.unwrap_or(char::REPLACEMENT_CHARACTER))
        }
        ' '..='~' => Visible::Character(character),
        '\x7f' => Visible::Character('␡'),
        _ if is_unseen(character) => Visible::Text(format!("<U+{:04X}>", character as u32).into()),
        _ => Visible::Character(character),
    }
}

/// Returns a text from data or names as it may stand in one line of a message.
pub fn line(text: &str) -> Cow<'_, str> {
    written(text, |_| false)
}

/// Returns a text of several lines of ours as it may be printed: line feeds stay.
pub fn lines(text: &str) -> Cow<'_, str> {
    written(text, |character| character == '\n')
}

fn written(text: &str, stays: fn(char) -> bool) -> Cow<'_, str> {
    let is_plain =
        |character: char| stays(character) || !(character.is_control() || is_unseen(character));
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if stays(character) { out.push(character) } else { visible(character).push_to(&mut out) }
    }
    Cow::Owned(out)
}

/// Whether a character is a C1 control, a line or paragraph separator, a control of direction, or
/// has no glyph. (Zero width joiners stay: scripts and emoji need them.)
pub fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{fffe}'..='\u{ffff}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_line_stays_one_line() {
        let hostile = "a\x1b[2J\r\nds-check: ok\u{202e}\u{9b}m";
        assert_eq!(super::line(hostile), "a␛[2J␍␊ds-check: ok<U+202E><U+009B>m");
        assert_eq!(super::lines("a\nb\x1b\n"), "a\nb␛\n");
        assert!(matches!(super::line("a: größer 漢 😀"), std::borrow::Cow::Borrowed(_)));
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let visible = |character| super::visible(character).with(str::to_string);
        assert_eq!(visible('\x1b'), "␛");
        assert_eq!(visible('\x7f'), "␡");
        assert_eq!(visible('\u{9b}'), "<U+009B>");
        assert_eq!(visible('\u{202e}'), "<U+202E>");
        assert_eq!(visible('\u{e0041}'), "<U+E0041>");
        for same in ['a', 'ß', '漢', '\u{301}', '\u{200d}', '😀', '\u{fe0f}', '\u{fffd}'] {
            assert_eq!(visible(same), same.to_string());
        }
        for character in '\0'..=char::MAX {
            assert!(!visible(character).contains(char::is_control), "{character:?}");
        }
    }
}
