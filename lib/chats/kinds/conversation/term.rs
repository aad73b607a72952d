//! A conversation in lines: messages under their roles, and before each line what it is trained on as.

use super::shown::{Piece, PieceKind, ShownConversation, ShownMessage, TokenBorder};
use super::training::{MaskFit, TokenTraining, TrainedCounts};
use crate::tokenizer::token_bytes;
use crate::view::term::{Artist, DrawingOptions, Line, Row, Run, Style, facts, rows, width_of};
use crate::visible::visible;
use crate::wording::counted;

/// Columns before a line of a message, with masks and without masks.
const GUTTER: usize = 4;
const INDENT: usize = 2;

/// The least columns of a screen on which two answers stand side by side.
const WIDE: usize = 100;
const BETWEEN: &str = " | ";

/// The most lines of a message that is not trained on, and of one that is, in descending order: the
/// first pair that fits the screen is taken.
const LINES: [(usize, usize); 7] = [(4, 4), (2, 4), (1, 3), (0, 3), (0, 2), (0, 1), (0, 0)];

/// The letters drawn so far that the head does not name.
#[derive(Default)]
struct Letters(Vec<TokenTraining>);

/// Returns the lines of a conversation, after a line of the letters that come for the first time.
pub fn lines(shown: &ShownConversation, number: &str, artist: &mut Artist) -> Vec<Line> {
    let new = new_letters(&mut artist.memory::<Letters>().0, &shown.counts);
    let drawing = &artist.drawing;
    let height = drawing.height.map(|lines| lines.saturating_sub(new.len()));
    let below = DrawingOptions { height, ..drawing.clone() };
    [new, fitting_lines(shown, number, &below)].concat()
}

/// Returns the line about the letters that every record with masks needs.
pub fn legend() -> Line {
    Line::new()
        .add(Style::REASONING, "R│ reasoning")
        .add(Style::FINAL, "  F│ final")
        .add(Style::PLAIN, "  ·│ not trained on")
        .add(Style::DIM, "  →R the next token is reasoning")
}

/// Returns a line that names the letters that come for the first time, if there are any.
fn new_letters(known: &mut Vec<TokenTraining>, counts: &TrainedCounts) -> Vec<Line> {
    let mut line = Line::new();
    for (trained, _) in &counts.0 {
        let is_in_head = matches!(
            trained,
            TokenTraining::Unknown | TokenTraining::Not | TokenTraining::As(1 | 2)
        );
        if !is_in_head && !known.contains(trained) {
            let space = if line.width() > 0 { "  " } else { "" };
            line =
                line.add(Style::PLAIN, &format!("{space}{}│ {}", trained.letter(), trained.name()));
            known.push(*trained);
        }
    }
    Vec::from_iter((line.width() > 0).then_some(line))
}

fn fitting_lines(shown: &ShownConversation, number: &str, drawing: &DrawingOptions) -> Vec<Line> {
    let drawn = |(context, trained): (usize, usize)| {
        lines_of(shown, number, drawing, (Some(context), Some(trained)))
    };
    let Some(height) = drawing.height else {
        return lines_of(shown, number, drawing, (drawing.lines, drawing.lines));
    };
    let fitting = LINES.into_iter().map(drawn).find(|lines| lines.len() <= height);
    let mut lines = fitting.unwrap_or_else(|| drawn(LINES[LINES.len() - 1]));
    if lines.len() > height.max(8) {
        let more = lines.len() - (height.max(8) - 1);
        lines.truncate(height.max(8) - 1);
        let text = format!("… {} (all of them: --lines 0)", counted(more as u64, "more line"));
        lines.push(Line::new().add(Style::DIM, &text));
    }
    lines
}

/// Returns the lines. `most` has the most lines of a message that is not trained on, and of one
/// that is.
fn lines_of(
    shown: &ShownConversation,
    number: &str,
    drawing: &DrawingOptions,
    most: (Option<usize>, Option<usize>),
) -> Vec<Line> {
    let has_masks = shown.has_masks();
    let mut lines = head(shown, number, has_masks).wrapped(drawing.width);
    if let Some(place) = &shown.place {
        lines.extend(Line::new().add(Style::DIM, place).wrapped(drawing.width));
    }
    let wrong = shown.fit.and_then(MaskFit::message);
    for note in shown.notes.iter().cloned().chain(wrong) {
        lines.extend(Line::new().add(Style::BAD, &format!("! {note}")).wrapped(drawing.width));
    }
    let message_lines = |message: &ShownMessage, width: usize| {
        let mut lines = Vec::new();
        let is_end = message.pieces.iter().all(|piece| piece.kind == PieceKind::Eod);
        if message.role.is_some() || !is_end {
            lines.extend(title(message, has_masks).wrapped(width));
        }
        let is_context =
            |piece: &Piece| piece.trained == TokenTraining::Not && piece.expected.is_none();
        let most = if message.pieces.iter().all(is_context) { most.0 } else { most.1 };
        let has_tokens = message.pieces.iter().any(|piece| !piece.tokens.is_empty());
        lines.extend(match drawing.tokens && has_tokens {
            true => token_lines(message, has_masks, most, width),
            false => text_lines(message, has_masks, most, width),
        });
        lines
    };
    let is_wide = drawing.width >= WIDE;
    for (at, message) in shown.messages.iter().enumerate() {
        let next = shown.messages.get(at + 1).filter(|next| is_wide && next.is_beside);
        match next {
            Some(next) => {
                let width = (drawing.width - BETWEEN.len()) / 2;
                let both = [message_lines(message, width), message_lines(next, width)];
                lines.extend(side_by_side(both, width));
            }
            None if is_wide && message.is_beside => {}
            None => lines.extend(message_lines(message, drawing.width)),
        }
    }
    lines
}

/// Returns lines that stand beside others, from a column on.
fn side_by_side([left, right]: [Vec<Line>; 2], width: usize) -> Vec<Line> {
    let count = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let line = |_| {
        let left = left.next().unwrap_or_default().pad(width).add(Style::DIM, BETWEEN);
        left.join(right.next().unwrap_or_default())
    };
    (0..count).map(line).collect()
}

/// Returns the line with the id and with how much of the sequence is trained on.
fn head(shown: &ShownConversation, number: &str, has_masks: bool) -> Line {
    let kind = if shown.tokens.is_some() { "sequence" } else { "conversation" };
    let id = shown.id.as_deref().unwrap_or(kind);
    let size = shown.tokens.map(|tokens| counted(tokens as u64, "token")).unwrap_or_default();
    let is_counted = has_masks && shown.tokens.is_some();
    let counts = if is_counted { in_words(&shown.counts) } else { String::new() };
    let size = facts(&[size, counts]);
    let line = Line::new().add(Style::BOLD, &format!("{number}{id}"));
    if size.is_empty() { line } else { line.add(Style::PLAIN, &format!("  {size}")) }
}

/// Returns "300 reasoning, 100 final", without tokens that are not trained on.
fn in_words(counts: &TrainedCounts) -> String {
    let is_not = |trained| matches!(trained, TokenTraining::Not | TokenTraining::ByWeight);
    let trained = counts.0.iter().filter(|(trained, _)| !is_not(*trained));
    let words: Vec<String> = trained
        .map(|(trained, count)| {
            format!("{} {}", crate::wording::grouped(*count as u64), trained.name())
        })
        .collect();
    if words.is_empty() { "nothing trained on".to_string() } else { words.join(", ") }
}

fn title(message: &ShownMessage, has_masks: bool) -> Line {
    let style = match (message.role.as_deref(), message.channel.as_deref()) {
        (None, _) => Style::DIM,
        (Some("assistant"), Some("analysis")) => Style::REASONING_TITLE,
        (Some("assistant"), Some("final") | None) => Style::FINAL_TITLE,
        (Some("assistant"), Some(_)) => Style::COMMENTARY_TITLE,
        (Some("system"), _) => Style::SYSTEM_TITLE,
        (Some("developer"), _) => Style::DEVELOPER_TITLE,
        (Some("user"), _) => Style::USER_TITLE,
        _ => Style::TOOL_TITLE,
    };
    let line = Line::new().add(style, &message.title());
    let all: usize = message.counts.0.iter().map(|(_, count)| count).sum();
    let size = match (&message.counts.0[..], has_masks) {
        ([], _) => return line,
        (_, false) => counted(all as u64, "token"),
        ([(TokenTraining::Not, _)], _) => counted(all as u64, "token"),
        ([(only, _)], _) => format!("{}, all {}", counted(all as u64, "token"), only.name()),
        (_, true) => {
            let of = |count: &(TokenTraining, usize)| format!("{} {}", count.1, count.0.name());
            let parts: Vec<String> = message.counts.0.iter().map(of).collect();
            format!("{}: {}", counted(all as u64, "token"), parts.join(", "))
        }
    };
    line.add(Style::DIM, &format!("  {size}"))
}

/// Returns what stands before a line of text.
fn gutter(trained: TokenTraining, is_bad: bool, has_masks: bool) -> Line {
    if !has_masks {
        return Line::new().add(Style::PLAIN, "  ");
    }
    let style = if is_bad { Style::BAD } else { style_of(trained) };
    let sign = if is_bad { '!' } else { ' ' };
    Line::new().add(style, &format!("{sign}{}│ ", trained.letter()))
}

fn text_lines(
    message: &ShownMessage,
    has_masks: bool,
    most: Option<usize>,
    width: usize,
) -> Vec<Line> {
    let before = if has_masks { GUTTER } else { INDENT };
    let runs: Vec<Run<'_, TokenTraining>> = message.pieces.iter().map(run).collect();
    let rows = rows(&runs, width.saturating_sub(before), most);
    let line = |row: Row<TokenTraining>| gutter(row.group, row.is_bad, has_masks).join(row.line);
    rows.into_iter().map(line).collect()
}

/// Returns the style of text that is trained on in this way.
fn style_of(trained: TokenTraining) -> Style {
    match trained {
        TokenTraining::Unknown | TokenTraining::Not | TokenTraining::ByWeight => Style::PLAIN,
        TokenTraining::As(1) => Style::REASONING,
        TokenTraining::As(2) => Style::FINAL,
        TokenTraining::Trained | TokenTraining::As(_) => Style::OTHER,
        TokenTraining::Odd { .. } => Style::BAD,
    }
}

/// Returns the style of a piece.
fn piece_style(piece: &Piece) -> Style {
    let style = style_of(piece.trained);
    match piece.kind {
        PieceKind::Unknown => Style::BAD,
        PieceKind::Control | PieceKind::Eod if style == Style::PLAIN => Style::DIM,
        _ => style,
    }
}

/// Returns the text of a piece as it is laid out.
fn run(piece: &Piece) -> Run<'_, TokenTraining> {
    let mark = piece.mark.map(|mark| {
        let style = if mark.expected.is_some() { Style::BAD } else { Style::BOLD };
        (format!("→{}", mark.next.letter()), style)
    });
    Run {
        text: &piece.text,
        style: piece_style(piece),
        group: piece.trained,
        is_bad: piece.expected.is_some(),
        mark,
    }
}

/// A token with its id below it.
struct Column {
    text: String,
    id: String,
    style: Style,
    trained: TokenTraining,
    is_bad: bool,
    width: usize,
}

/// Draws tokens between borders, with their ids in a second line.
fn token_lines(
    message: &ShownMessage,
    has_masks: bool,
    most: Option<usize>,
    width: usize,
) -> Vec<Line> {
    let before = if has_masks { GUTTER } else { INDENT };
    let width = width.saturating_sub(before).max(16);
    let columns: Vec<Column> = message.pieces.iter().flat_map(columns).collect();
    let lines_of = |runs: &[&[Column]]| -> Vec<Line> {
        runs.iter().flat_map(|run| pair(run, has_masks)).collect()
    };
    let runs = runs(&columns, width);
    let Some(most) = most.map(|most| most.max(1)).filter(|most| runs.len() > most + 2) else {
        return lines_of(&runs);
    };
    // The first line, the lines where masks are wrong, and the last line are shown.
    let hidden = &runs[most..runs.len() - 1];
    let is_wrong = |run: &&&[Column]| run.iter().any(|column| column.is_bad);
    let wrong: Vec<&[Column]> = hidden.iter().filter(is_wrong).take(1).copied().collect();
    let left_out: usize = hidden.iter().map(|run| run.len()).sum();
    let left_out = left_out - wrong.iter().map(|run| run.len()).sum::<usize>();
    let text = format!("… {} …", counted(left_out as u64, "token"));
    let mut lines = lines_of(&runs[..most]);
    lines.push(Line::new().pad(before).add(Style::DIM, &text));
    lines.extend(lines_of(&wrong));
    lines.extend(lines_of(&runs[runs.len() - 1..]));
    lines
}

/// Returns the tokens of each line: as many as fit and are trained on in one way.
fn runs(columns: &[Column], width: usize) -> Vec<&[Column]> {
    let (mut runs, mut start, mut used) = (Vec::new(), 0, 0);
    for (at, column) in columns.iter().enumerate() {
        let is_same = columns
            .get(start)
            .is_none_or(|first| (first.trained, first.is_bad) == (column.trained, column.is_bad));
        if at > start && (used + column.width + 1 > width || !is_same) {
            runs.push(&columns[start..at]);
            (start, used) = (at, 0);
        }
        used += column.width + 1;
    }
    runs.push(&columns[start..]);
    runs
}

fn columns(piece: &Piece) -> impl Iterator<Item = Column> {
    let mut start = 0;
    piece.tokens.iter().enumerate().map(move |(at, TokenBorder { id, bytes, end })| {
        let (id, end) = (*id, *end);
        let bytes = bytes.as_deref().or_else(|| token_bytes(id));
        let known = bytes.and_then(|bytes| str::from_utf8(bytes).ok());
        let mut text: String = match (known, bytes) {
            (Some(text), _) => text.chars().fold(String::new(), |mut shown, character| {
                visible(character).push_to(&mut shown);
                shown
            }),
            // The token is a part of a character.
            (None, Some(bytes)) => bytes.iter().map(|byte| format!("\\x{byte:02X}")).collect(),
            (None, None) => piece.text.get(start..end).unwrap_or_default().to_string(),
        };
        start = end;
        if let Some(mark) = piece.mark.filter(|_| at + 1 == piece.tokens.len()) {
            text += &format!("→{}", mark.next.letter());
        }
        let id = id.to_string();
        let width = width_of(&text).max(id.len());
        let (style, trained, is_bad) =
            (piece_style(piece), piece.trained, piece.expected.is_some());
        Column { text, id, style, trained, is_bad, width }
    })
}

/// Returns the two lines of some tokens.
fn pair(columns: &[Column], has_masks: bool) -> Vec<Line> {
    let Some(first) = columns.first() else { return Vec::new() };
    let mut texts = gutter(first.trained, first.is_bad, has_masks);
    let mut ids = Line::new().pad(texts.width());
    for column in columns {
        let end = texts.width() + column.width;
        texts = texts.add(column.style, &column.text).pad(end).add(Style::DIM, "│");
        ids = ids.add(Style::DIM, &column.id).pad(end + 1);
    }
    vec![texts, ids]
}
