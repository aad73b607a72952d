//! Text in lines of a width. All characters of a line belong to one group, such as what they are trained on as, so that
//! what stands before the line says it for every character.

use super::line::{Line, Style, shown, width_of};
use crate::visible::Visible;
use crate::wording::counted;

/// Text of one style and one group.
pub struct Run<'a, G> {
    pub text: &'a str,
    pub style: Style,
    pub group: G,
    /// Whether something is wrong with it: a line of it is always shown.
    pub is_bad: bool,
    /// A sign after the text that is not in it.
    pub mark: Option<(String, Style)>,
}

impl<'a> Run<'a, ()> {
    /// Makes a run of text and nothing else.
    pub fn plain(text: &'a str) -> Run<'a, ()> {
        Run { text, style: Style::PLAIN, group: (), is_bad: false, mark: None }
    }
}

/// A line of text.
pub struct Row<G> {
    pub group: G,
    /// See [`Run::is_bad`].
    pub is_bad: bool,
    pub line: Line,
}

/// A character or a mark as it is written.
struct Glyph<G> {
    text: Visible,
    width: usize,
    style: Style,
    group: G,
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

fn glyphs<G: Copy>(runs: &[Run<'_, G>]) -> impl DoubleEndedIterator<Item = Glyph<G>> {
    runs.iter().flat_map(glyphs_of)
}

fn glyphs_of<G: Copy>(run: &Run<'_, G>) -> impl DoubleEndedIterator<Item = Glyph<G>> {
    let Run { text, style, group, is_bad, ref mark } = *run;
    let glyph = move |character: char| {
        let ((text, width), kind) = match character {
            '\n' => ((Visible::Text("".into()), 0), GlyphKind::LineFeed),
            '\t' => ((Visible::Text(TAB.into()), TAB.len()), GlyphKind::Space),
            ' ' => ((Visible::Character(' '), 1), GlyphKind::Space),
            other => (shown(other), GlyphKind::Ink),
        };
        Glyph { text, width, style, group, is_bad, kind }
    };
    let mark = mark.as_ref().map(|(mark, style)| {
        let (text, width) = (Visible::Text(mark.clone().into()), width_of(mark));
        Glyph { text, width, style: *style, group, is_bad, kind: GlyphKind::Mark }
    });
    text.chars().map(glyph).chain(mark)
}

/// Returns the lines of a text, each at most `width` wide. If there are clearly more than `most`,
/// returns the first lines, a note of what is left out, and the end of the text; if `most` is 0, these
/// three in one line.
pub fn rows<G: Copy + PartialEq>(
    runs: &[Run<'_, G>],
    width: usize,
    most: Option<usize>,
) -> Vec<Row<G>> {
    let width = width.max(8);
    let (whole, _) = layout(glyphs(runs), width, most.map_or(usize::MAX, |most| most + 4));
    let Some(most) = most.filter(|most| whole.len() > most + 1) else { return whole };
    let all: usize = runs.iter().map(|run| run.text.chars().count()).sum();
    let room = width.saturating_sub(left_out(all).chars().count());
    let (mut rows, taken) = match most {
        0 => beginning(runs, room / 2),
        _ => layout(glyphs(runs), width, most),
    };
    let used = if most == 0 { rows.iter().map(|row| row.line.width()).sum() } else { 0 };
    let tail = ending(runs, room.saturating_sub(used));
    let mut shown = tail.iter().filter(|glyph| glyph.kind != GlyphKind::Mark).count();
    let (tail, _) = layout(tail.into_iter(), width, usize::MAX);
    // Where something is wrong, a line of it is always shown.
    if !rows.iter().chain(&tail).any(|row| row.is_bad) {
        let has_glyphs = |run: &&Run<'_, G>| !run.text.is_empty() || run.mark.is_some();
        let wrong = runs.iter().filter(has_glyphs).skip_while(|run| !run.is_bad);
        let wrong = wrong.take_while(|run| run.is_bad).flat_map(glyphs_of);
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
            Some(row) if (row.group, row.is_bad) == (first.group, first.is_bad) => {
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

/// Returns the first line of a text in fewer columns; line feeds become spaces.
fn beginning<G: Copy + PartialEq>(runs: &[Run<'_, G>], width: usize) -> (Vec<Row<G>>, usize) {
    let mut glyphs = glyphs(runs).peekable();
    let first = glyphs.peek().map(|first| (first.group, first.is_bad));
    let mut columns = 0;
    let fits = |glyph: &Glyph<G>| {
        columns += glyph.width.max(usize::from(glyph.kind == GlyphKind::LineFeed));
        columns <= width && Some((glyph.group, glyph.is_bad)) == first
    };
    let spaced = |glyph: Glyph<G>| match glyph.kind {
        GlyphKind::LineFeed => {
            Glyph { text: Visible::Character(' '), width: 1, kind: GlyphKind::Space, ..glyph }
        }
        _ => glyph,
    };
    let found: Vec<Glyph<G>> = glyphs.take_while(fits).map(spaced).collect();
    let taken = found.len();
    (row(found).into_iter().collect(), taken)
}

/// Returns the last characters of the text's last line that fit.
fn ending<G: Copy>(runs: &[Run<'_, G>], width: usize) -> Vec<Glyph<G>> {
    let (mut tail, mut columns) = (Vec::new(), 0);
    for glyph in glyphs(runs).rev() {
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
fn layout<G: Copy + PartialEq>(
    glyphs: impl Iterator<Item = Glyph<G>>,
    width: usize,
    most: usize,
) -> (Vec<Row<G>>, usize) {
    let mut rows: Vec<Row<G>> = Vec::new();
    // `open` is the line that is being filled; it may be broken after glyph number `space`.
    let (mut open, mut columns, mut space) = (Vec::<Glyph<G>>::new(), 0, 0);
    let mut taken = 0;
    let mut close = |open: &mut Vec<Glyph<G>>, count: usize| {
        let rest = open.split_off(count);
        let line = std::mem::replace(open, rest);
        taken += line.iter().filter(|glyph| glyph.kind != GlyphKind::Mark).count();
        rows.extend(row(line));
        rows.len() < most
    };
    for glyph in glyphs {
        let before = open.last().map(|last| (last.group, last.is_bad));
        if before.is_some_and(|before| before != (glyph.group, glyph.is_bad)) {
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

fn row<G: Copy>(glyphs: Vec<Glyph<G>>) -> Option<Row<G>> {
    let (group, is_bad) = glyphs.first().map(|first| (first.group, first.is_bad))?;
    let mut line = Line::new();
    for Glyph { text, width, style, .. } in glyphs {
        text.with(|text| line.push(style, text, width));
    }
    Some(Row { group, is_bad, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, width: usize, most: Option<usize>) -> Vec<String> {
        rows(&[Run::plain(text)], width, most)
            .iter()
            .map(|row| row.line.finish(80, false))
            .collect()
    }

    #[test]
    fn words_are_kept_and_long_ones_cut() {
        let text = "one two three\n\nabcdefghijklmn 漢字漢字漢字";
        let expected = ["one two", "three", "", "abcdefghij", "klmn", "漢字漢字漢", "字"];
        assert_eq!(lines(text, 10, None), expected);
        let hostile = "a\x1b[2Jb\tc\u{202e}";
        assert_eq!(lines(hostile, 20, None), ["a␛[2Jb    c<U+202E>"]);
    }

    #[test]
    fn a_long_text_shows_its_beginning_and_its_end() {
        let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let shown = |most| lines(&text, 60, Some(most));
        assert_eq!(shown(2), ["line 0", "line 1", "… 768 characters …line 99"]);
        assert_eq!(shown(0), ["line 0 line 1 line 2 … 761 characters …line 99"]);
        // What fits in a line more is shown.
        assert_eq!(lines("a\nb\nc", 20, Some(2)), ["a", "b", "c"]);
    }
}
