//! Text of messages in lines of a width. All tokens of a line are trained on as the same, so that the column
//! before the line says it for every character.

use super::line::{Line, Style, shown};
use crate::view::{Piece, PieceKind, ShownMessage, TokenTraining};
use crate::visible::Visible;
use crate::wording::counted;

/// A line of a message.
pub struct Row {
    pub trained: TokenTraining,
    /// Whether the masks should say something else.
    pub is_bad: bool,
    pub line: Line,
}

/// A character or a mark as it is written.
struct Glyph {
    text: Visible,
    width: usize,
    style: Style,
    trained: TokenTraining,
    is_bad: bool,
    kind: GlyphKind,
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum GlyphKind {
    Ink,
    Space,
    LineFeed,
    /// A sign that is not in the text.
    Mark,
}

/// The spaces that stand for a tab.
const TAB: &str = "    ";

/// Returns the style of text that is trained on in this way.
pub fn style_of(trained: TokenTraining) -> Style {
    match trained {
        TokenTraining::Unknown | TokenTraining::Not | TokenTraining::ByWeight => Style::PLAIN,
        TokenTraining::As(1) => Style::REASONING,
        TokenTraining::As(2) => Style::FINAL,
        TokenTraining::Trained | TokenTraining::As(_) => Style::OTHER,
        TokenTraining::Odd { .. } => Style::BAD,
    }
}

/// Returns the style of a piece.
pub fn piece_style(piece: &Piece) -> Style {
    let style = style_of(piece.trained);
    match piece.kind {
        PieceKind::Unknown => Style::BAD,
        PieceKind::Control | PieceKind::Eod if style == Style::PLAIN => Style::DIM,
        _ => style,
    }
}

fn glyphs(message: &ShownMessage) -> impl DoubleEndedIterator<Item = Glyph> {
    message.pieces.iter().flat_map(glyphs_of)
}

fn glyphs_of(piece: &Piece) -> impl DoubleEndedIterator<Item = Glyph> {
    let style = piece_style(piece);
    let (trained, is_bad) = (piece.trained, piece.expected.is_some());
    let glyph = move |character: char| {
        let ((text, width), kind) = match character {
            '\n' => ((Visible::Text("".into()), 0), GlyphKind::LineFeed),
            '\t' => ((Visible::Text(TAB.into()), TAB.len()), GlyphKind::Space),
            ' ' => ((Visible::Character(' '), 1), GlyphKind::Space),
            other => (shown(other), GlyphKind::Ink),
        };
        Glyph { text, width, style, trained, is_bad, kind }
    };
    let mark = piece.mark.map(|mark| {
        let style = if mark.expected.is_some() { Style::BAD } else { Style::BOLD };
        let text = Visible::Text(format!("→{}", mark.next.letter()).into());
        Glyph { text, width: 2, style, trained, is_bad, kind: GlyphKind::Mark }
    });
    piece.text.chars().map(glyph).chain(mark)
}

/// Returns the lines of a message, each at most `width` wide. If there are clearly more than `most`,
/// returns the first lines, a note of what is left out, and the end of the text; if `most` is 0, these
/// three in one line.
pub fn rows(message: &ShownMessage, width: usize, most: Option<usize>) -> Vec<Row> {
    let width = width.max(8);
    let (whole, _) = layout(glyphs(message), width, most.map_or(usize::MAX, |most| most + 4));
    let Some(most) = most.filter(|most| whole.len() > most + 1) else { return whole };
    let all: usize = message.pieces.iter().map(|piece| piece.text.chars().count()).sum();
    let room = width.saturating_sub(left_out(all).chars().count());
    let (mut rows, taken) = match most {
        0 => beginning(message, room / 2),
        _ => layout(glyphs(message), width, most),
    };
    let used = if most == 0 { rows.iter().map(|row| row.line.width()).sum() } else { 0 };
    let tail = ending(message, room.saturating_sub(used));
    let mut shown = tail.iter().filter(|glyph| glyph.kind != GlyphKind::Mark).count();
    let (tail, _) = layout(tail.into_iter(), width, usize::MAX);
    // Lines where masks are wrong are always shown.
    if !rows.iter().chain(&tail).any(|row| row.is_bad) {
        let has_glyphs = |piece: &&Piece| !piece.text.is_empty() || piece.mark.is_some();
        let wrong = message.pieces.iter().filter(has_glyphs);
        let wrong = wrong.skip_while(|piece| piece.expected.is_none());
        let wrong = wrong.take_while(|piece| piece.expected.is_some()).flat_map(glyphs_of);
        let (wrong, taken) = layout(wrong, width - 2, 1);
        shown += taken;
        let dots = Line::new().add(Style::DIM, "… ");
        rows.extend(wrong.into_iter().map(|row| Row { line: dots.clone().join(row.line), ..row }));
    }
    let mut tail = tail.into_iter();
    if let Some(first) = tail.next() {
        let hidden = all.saturating_sub(taken + shown);
        // The note would take more room than the text.
        if hidden < 24 && whole.len() < most + 4 {
            return whole;
        }
        let text = left_out(hidden);
        let last = rows.last_mut().filter(|row| most == 0 && !row.is_bad);
        let line = last.as_ref().map(|row| row.line.clone()).unwrap_or_default();
        let line = line.add(Style::DIM, &text).join(first.line);
        match last {
            Some(row) if (row.trained, row.is_bad) == (first.trained, first.is_bad) => {
                row.line = line;
            }
            _ => rows.push(Row { line, ..first }),
        }
    }
    rows.extend(tail);
    rows
}

fn left_out(characters: usize) -> String {
    format!("… {} …", counted(characters as u64, "character"))
}

/// Returns the first line of a message in fewer columns; line feeds become spaces.
fn beginning(message: &ShownMessage, width: usize) -> (Vec<Row>, usize) {
    let mut glyphs = glyphs(message).peekable();
    let first = glyphs.peek().map(|first| (first.trained, first.is_bad));
    let mut columns = 0;
    let fits = |glyph: &Glyph| {
        columns += glyph.width.max(usize::from(glyph.kind == GlyphKind::LineFeed));
        columns <= width && Some((glyph.trained, glyph.is_bad)) == first
    };
    let spaced = |glyph: Glyph| match glyph.kind {
        GlyphKind::LineFeed => {
            Glyph { text: Visible::Character(' '), width: 1, kind: GlyphKind::Space, ..glyph }
        }
        _ => glyph,
    };
    let found: Vec<Glyph> = glyphs.take_while(fits).map(spaced).collect();
    let taken = found.len();
    (row(found).into_iter().collect(), taken)
}

/// Returns the last characters of the message's last line that fit.
fn ending(message: &ShownMessage, width: usize) -> Vec<Glyph> {
    let (mut tail, mut columns) = (Vec::new(), 0);
    for glyph in glyphs(message).rev() {
        columns += glyph.width;
        if columns > width || (glyph.kind == GlyphKind::LineFeed && !tail.is_empty()) {
            break;
        }
        tail.push(glyph);
    }
    tail.reverse();
    tail
}

/// Lays out at most `most` lines; returns them and how many characters they have.
fn layout(glyphs: impl Iterator<Item = Glyph>, width: usize, most: usize) -> (Vec<Row>, usize) {
    let mut rows: Vec<Row> = Vec::new();
    // `open` is the line that is being filled; it may be broken after glyph number `space`.
    let (mut open, mut columns, mut space) = (Vec::<Glyph>::new(), 0, 0);
    let mut taken = 0;
    let mut close = |open: &mut Vec<Glyph>, count: usize| {
        let rest = open.split_off(count);
        let line = std::mem::replace(open, rest);
        taken += line.iter().filter(|glyph| glyph.kind != GlyphKind::Mark).count();
        rows.extend(row(line));
        rows.len() < most
    };
    for glyph in glyphs {
        let before = open.last().map(|last| (last.trained, last.is_bad));
        if before.is_some_and(|before| before != (glyph.trained, glyph.is_bad)) {
            let count = open.len();
            (columns, space) = (0, 0);
            if !close(&mut open, count) {
                return (rows, taken);
            }
        }
        if columns + glyph.width > width && !open.is_empty() {
            // A line is broken after a space, unless this would leave much of it empty.
            let count = if space > open.len() / 2 { space } else { open.len() };
            let goes_on = close(&mut open, count);
            columns = open.iter().map(|glyph| glyph.width).sum();
            space = 0;
            if !goes_on {
                return (rows, taken);
            }
        }
        columns += glyph.width;
        let kind = glyph.kind;
        open.push(glyph);
        match kind {
            GlyphKind::Space => space = open.len(),
            GlyphKind::LineFeed => {
                let count = open.len();
                (columns, space) = (0, 0);
                if !close(&mut open, count) {
                    return (rows, taken);
                }
            }
            _ => {}
        }
    }
    let count = open.len();
    if count > 0 {
        close(&mut open, count);
    }
    (rows, taken)
}

fn row(glyphs: Vec<Glyph>) -> Option<Row> {
    let (trained, is_bad) = glyphs.first().map(|first| (first.trained, first.is_bad))?;
    let mut line = Line::new();
    for Glyph { text, width, style, .. } in glyphs {
        text.with(|text| line.push(style, text, width));
    }
    Some(Row { trained, is_bad, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> ShownMessage {
        ShownMessage { pieces: vec![Piece::plain(text)], ..ShownMessage::default() }
    }

    fn lines(rows: &[Row]) -> Vec<String> {
        rows.iter().map(|row| row.line.finish(80, false)).collect()
    }

    #[test]
    fn words_are_kept_and_long_ones_cut() {
        let text = "one two three\n\nabcdefghijklmn 漢字漢字漢字";
        let expected = ["one two", "three", "", "abcdefghij", "klmn", "漢字漢字漢", "字"];
        assert_eq!(lines(&rows(&message(text), 10, None)), expected);
        let hostile = message("a\x1b[2Jb\tc\u{202e}");
        assert_eq!(lines(&rows(&hostile, 20, None)), ["a␛[2Jb    c<U+202E>"]);
    }

    #[test]
    fn a_long_text_shows_its_beginning_and_its_end() {
        let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let shown = |most| lines(&rows(&message(&text), 60, Some(most)));
        assert_eq!(shown(2), ["line 0", "line 1", "… 768 characters …line 99"]);
        assert_eq!(shown(0), ["line 0 line 1 line 2 … 761 characters …line 99"]);
        // What fits in a line more is shown.
        assert_eq!(lines(&rows(&message("a\nb\nc"), 20, Some(2))), ["a", "b", "c"]);
    }
}
