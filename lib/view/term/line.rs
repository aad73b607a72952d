//! Lines of styled text, cut to a width.

use unicode_width::UnicodeWidthChar;

use crate::view::{Visible, visible};

/// How text looks: the numbers of an SGR sequence. Colours are those of the 256 that a theme does not
/// change, of middling brightness: their contrast is at least 3.5 on black and on white, bold or not
/// (many terminals draw the first sixteen brighter where they are bold). Whatever they say is also said
/// without them.
#[derive(Debug, Clone, Copy, Eq, Default)]
pub struct Style(&'static str);

impl PartialEq for Style {
    /// Every character is compared with the one before it. A C library may need hundreds of cycles to
    /// compare no bytes (its masked load of an address that is none is an assist of the processor).
    fn eq(&self, other: &Style) -> bool {
        self.0.len() == other.0.len() && (self.0.is_empty() || self.0 == other.0)
    }
}

impl Style {
    pub const PLAIN: Style = Style("");
    pub const DIM: Style = Style("2");
    pub const BOLD: Style = Style("1");
    pub const BAD: Style = Style("1;38;5;160");
    pub const REASONING: Style = Style("38;5;133");
    pub const FINAL: Style = Style("38;5;28");
    pub const OTHER: Style = Style("38;5;30");
    pub const REASONING_TITLE: Style = Style("1;38;5;133");
    pub const FINAL_TITLE: Style = Style("1;38;5;28");
    pub const SYSTEM_TITLE: Style = Style("1;38;5;30");
    pub const DEVELOPER_TITLE: Style = Style("38;5;30");
    pub const USER_TITLE: Style = Style("1;38;5;27");
    pub const COMMENTARY_TITLE: Style = Style("1;4;38;5;133");
    pub const TOOL_TITLE: Style = Style("1;4;38;5;30");

    /// The colours of ARC, exactly: these numbers are the same in every theme.
    pub const ARC: [Style; 10] = [
        Style("97;48;5;16"),
        Style("97;48;5;26"),
        Style("30;48;5;203"),
        Style("30;48;5;41"),
        Style("30;48;5;220"),
        Style("30;48;5;247"),
        Style("97;48;5;199"),
        Style("30;48;5;208"),
        Style("30;48;5;117"),
        Style("97;48;5;88"),
    ];
}

/// A line in parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    parts: Vec<(Style, String)>,
    width: usize,
}

impl Line {
    pub fn new() -> Line {
        Line::default()
    }

    /// Text of ours and names of the data: control characters are shown.
    pub fn add(mut self, style: Style, text: &str) -> Line {
        for character in text.chars() {
            let (text, width) = shown(character);
            text.with(|text| self.push(style, text, width));
        }
        self
    }

    /// Text that is known to be safe, and its width.
    pub fn push(&mut self, style: Style, text: &str, width: usize) {
        match self.parts.last_mut().filter(|(last, _)| *last == style) {
            Some((_, last)) => *last += text,
            None => self.parts.push((style, text.to_string())),
        }
        self.width += width;
    }

    /// Spaces up to a column.
    pub fn pad(mut self, column: usize) -> Line {
        let missing = column.saturating_sub(self.width);
        if missing > 0 {
            self.push(Style::PLAIN, &" ".repeat(missing), missing);
        }
        self
    }

    /// Another line after this one.
    pub fn join(mut self, other: Line) -> Line {
        for (style, text) in &other.parts {
            self.push(*style, text, 0);
        }
        self.width += other.width;
        self
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// The line as it is written out: no wider than `width`, a cut is shown.
    pub fn finish(&self, width: usize, colour: bool) -> String {
        let mut out = String::new();
        let mut left = if self.width > width { width.saturating_sub(1) } else { width };
        for (style, text) in &self.parts {
            let text = fitting(text, &mut left);
            match colour && *style != Style::PLAIN && !text.is_empty() {
                true => out += &format!("\x1b[{}m{text}\x1b[0m", style.0),
                false => out += text,
            }
        }
        if self.width > width {
            out.push('…');
        } else if !colour || out.ends_with(' ') {
            out.truncate(out.trim_end_matches(' ').len());
        }
        out
    }
}

/// The beginning of a text that fits; what it takes is taken off `left`. Once something is cut
/// nothing fits any more.
fn fitting<'a>(text: &'a str, left: &mut usize) -> &'a str {
    for (at, character) in text.char_indices() {
        let width = columns_of(character);
        if width > *left {
            *left = 0;
            return &text[..at];
        }
        *left -= width;
    }
    text
}

/// How many columns a character takes, or more: a selector may make the symbol before it wide.
fn columns_of(character: char) -> usize {
    match character {
        '\u{fe0f}' => 1,
        _ => character.width().unwrap_or(0),
    }
}

/// A character as it is written out, and how many columns it takes.
pub fn shown(character: char) -> (Visible, usize) {
    let text = visible(character);
    let width = text.with(|text| text.chars().map(columns_of).sum());
    (text, width)
}

/// How many columns a text takes.
pub fn width_of(text: &str) -> usize {
    text.chars().map(|character| shown(character).1).sum()
}

/// Joins facts: `a · b · c`.
pub fn facts(facts: &[String]) -> String {
    let there: Vec<&str> =
        facts.iter().map(String::as_str).filter(|fact| !fact.is_empty()).collect();
    there.join(" · ")
}

/// "1 token", "2 tokens".
pub fn counted(number: u64, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {what}{s}", crate::cli::grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_by_columns() {
        let line = Line::new().add(Style::BOLD, "ab漢字").add(Style::PLAIN, "\x1b[31mé");
        assert_eq!(line.width(), 6 + 6);
        assert_eq!(line.finish(12, false), "ab漢字␛[31mé");
        assert_eq!(line.finish(6, false), "ab漢…");
        assert_eq!(line.finish(5, false), "ab漢…");
        assert_eq!(line.finish(4, true), "\x1b[1mab\x1b[0m…");
        assert_eq!(Line::new().add(Style::PLAIN, "a").pad(4).finish(9, false), "a");
        // A heart that some terminals draw in two columns.
        assert_eq!(
            Line::new().add(Style::PLAIN, "\u{2764}\u{fe0f}b").finish(2, false),
            "\u{2764}…"
        );
    }
}
