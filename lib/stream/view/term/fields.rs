//! A record of any other type in lines: each value after its name.

use super::DrawingOptions;
use super::line::{Line, Style, width_of};
use super::text::{Run, rows};
use crate::view::{ShownField, ShownFields};

/// The widest column of names.
const NAME: usize = 24;

pub fn lines(shown: &ShownFields, number: &str, drawing: &DrawingOptions) -> Vec<Line> {
    let mut lines = vec![Line::new().add(Style::BOLD, &format!("{number}record"))];
    let widest = shown.fields.iter().map(|field| width_of(&field.name)).max().unwrap_or(0);
    let column = 2 + widest.min(NAME) + 2;
    for ShownField { name, value } in &shown.fields {
        let name = Line::new().add(Style::PLAIN, "  ").add(Style::OTHER, name);
        let Some(value) = value else {
            lines.push(name.pad(column).add(Style::DIM, "null"));
            continue;
        };
        let width = drawing.width.saturating_sub(column);
        let most = drawing.height.map_or(drawing.lines, |_| Some(0));
        let mut all = rows(&[Run::plain(value)], width, most).into_iter().map(|row| row.line);
        lines.push(name.pad(column).join(all.next().unwrap_or_default()));
        lines.extend(all.map(|line| Line::new().pad(column).join(line)));
    }
    lines
}
