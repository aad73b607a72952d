//! Lines of styled text, cut to a width.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use crate::visible::{Visible, visible};

/// The look of a text: the numbers of an SGR sequence. The colours are among those of the 256 that a theme
/// does not change. Their brightness is in the middle: the contrast is at least 3.5 on black and on white,
/// bold or not (many terminals draw the first sixteen colours brighter if they are bold). No information
/// is in the colour alone.
#[derive(Debug, Clone, Copy, Eq, Default)]
pub struct Style(&'static str);

impl PartialEq for Style {
    /// Every character is compared with the one before it. A C library may need hundreds of cycles
    /// to compare zero bytes (its masked load of an invalid address is an assist of the processor).
    fn eq(&self, other: &Style) -> bool {
        self.0.len() == other.0.len() && (self.0.is_empty() || self.0 == other.0)
    }
}

impl Style {
    pub const PLAIN: Style = Style("");
    pub const DIM: Style = Style("2");
    pub const BOLD: Style = Style("1");
    pub const BAD: Style = Style("1;38;5;160");
    pub const WARNING: Style = Style("1;38;5;130");
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

    /// The exact colours of ARC: these numbers are the same in every theme.
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

/// Columns before a line that continues another.
const CONTINUED: usize = 4;

/// A line in parts, each with its style.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    parts: Vec<(Style, String)>,
    width: usize,
}

impl Line {
    pub fn new() -> Line {
        Line::default()
    }

    /// Adds a text of ours or a name of the data; control characters become visible.
    pub fn add(mut self, style: Style, text: &str) -> Line {
        for character in text.chars() {
            let (text, width) = shown(character);
            text.with(|text| self.push(style, text, width));
        }
        self
    }

    /// Adds a text that is known to be safe, and its width in columns.
    pub fn push(&mut self, style: Style, text: &str, width: usize) {
        match self.parts.last_mut().filter(|(last, _)| *last == style) {
            Some((_, last)) => *last += text,
            None => self.parts.push((style, text.to_string())),
        }
        self.width += width;
    }

    /// Adds spaces up to a column.
    pub fn pad(mut self, column: usize) -> Line {
        let missing = column.saturating_sub(self.width);
        if missing > 0 {
            self.push(Style::PLAIN, &" ".repeat(missing), missing);
        }
        self
    }

    /// Appends another line.
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

    /// Breaks the line into lines of at most this width, if its facts or words are short enough (our own text
    /// is not cut). All lines after the first are indented.
    pub fn wrapped(self, width: usize) -> Vec<Line> {
        let (mut lines, mut rest) = (Vec::new(), self);
        while rest.width > width
            && let Some((end, next)) = rest.border(width)
        {
            lines.push(rest.range(0..end));
            rest = Line::new().pad(CONTINUED).join(rest.range(next..usize::MAX));
        }
        lines.push(rest);
        lines
    }

    /// Returns the last place where the line can end within a width, and where the next line
    /// begins: between two facts, or else between two words.
    fn border(&self, width: usize) -> Option<(usize, usize)> {
        let text: String = self.parts.iter().map(|(_, text)| text.as_str()).collect();
        let fits = fitting(&text, &mut { width }).len();
        let last = |(between, kept): (&str, usize)| {
            let ends = text.match_indices(between).map(|(at, _)| (at + kept, at + between.len()));
            // Each line must take something.
            let is_line = |&(end, _): &(usize, usize)| {
                end <= fits && width_of(text[..end].trim_end()) > CONTINUED
            };
            ends.filter(is_line).last()
        };
        [("  ", 0), (" · ", 0), (", ", 1)]
            .into_iter()
            .filter_map(last)
            .max()
            .or_else(|| last((" ", 0)))
    }

    /// Returns a part of the line, given in bytes of its text.
    fn range(&self, range: Range<usize>) -> Line {
        let (mut out, mut start) = (Line::new(), 0);
        for (style, text) in &self.parts {
            let of = |at: usize| at.saturating_sub(start).min(text.len());
            let part = &text[of(range.start)..of(range.end)];
            if !part.is_empty() {
                out.push(*style, part, part.chars().map(columns_of).sum());
            }
            start += text.len();
        }
        out
    }

    /// Writes the line in at most `width` columns; a cut is marked.
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

/// Returns the beginning of a text that fits into `left`, and reduces `left` by its width. After a cut,
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

/// Returns how many columns a character takes at most: a selector may make the symbol before it
/// wide.
fn columns_of(character: char) -> usize {
    match character {
        '\u{fe0f}' => 1,
        _ => character.width().unwrap_or(0),
    }
}

/// Returns a character as it is written, and how many columns it takes.
pub fn shown(character: char) -> (Visible, usize) {
    let text = visible(character);
    let width = text.with(|text| text.chars().map(columns_of).sum());
    (text, width)
}

/// Returns how many columns a text takes.
pub fn width_of(text: &str) -> usize {
    text.chars().map(|character| shown(character).1).sum()
}

/// Joins facts: `a · b · c`.
pub fn facts(facts: &[String]) -> String {
    let there: Vec<&str> =
        facts.iter().map(String::as_str).filter(|fact| !fact.is_empty()).collect();
    there.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_go_on_in_the_next_line() {
        let line = || {
            Line::new()
                .add(Style::BOLD, "#0 漢字")
                .add(Style::PLAIN, "  12 steps · score 7, all legal")
        };
        let wrapped = |line: Line, width: usize| -> Vec<String> {
            line.wrapped(width).iter().map(|line| line.finish(width, false)).collect()
        };
        assert_eq!(wrapped(line(), 38), ["#0 漢字  12 steps · score 7, all legal"]);
        assert_eq!(wrapped(line(), 37), ["#0 漢字  12 steps · score 7,", "    all legal"]);
        assert_eq!(wrapped(line(), 27), ["#0 漢字  12 steps", "    score 7, all legal"]);
        assert_eq!(
            wrapped(line(), 16),
            ["#0 漢字", "    12 steps", "    score 7,", "    all legal"]
        );
        let words = || Line::new().add(Style::BAD, "  ! the masks are shifted");
        assert_eq!(wrapped(words(), 18), ["  ! the masks are", "    shifted"]);
        // What is too long for a line is cut.
        assert_eq!(wrapped(words(), 9), ["  ! the", "    masks", "    are", "    shif…"]);
        let colours =
            line().wrapped(16).iter().map(|line| line.finish(16, true)).collect::<Vec<_>>();
        assert_eq!(colours[..2], ["\x1b[1m#0 漢字\x1b[0m", "    12 steps"]);
    }

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
