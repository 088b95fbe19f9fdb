//! The help: every row of the key table that applies, in two columns if they fit. Generated
//! from the table alone.

use ratatui::text::{Line, Span};

use crate::model::ViewId;
use crate::model::keys::Binding;
use crate::text::{pad, width};
use crate::theme;
use crate::views::focus::help_sections;

const KEYS: usize = 11;
const COLUMN: usize = 54;

/// Returns the help for `view` on a screen `cells` wide, with the meaning of the colours if there
/// are any.
pub(crate) fn lines(view: ViewId, cells: u16, has_colour: bool) -> Vec<Line<'static>> {
    let sections = help_sections(view);
    let cells = cells as usize;
    let columns = if cells >= 72 { 2 } else { 1 };
    let wide = (cells / columns).min(COLUMN);
    let mut blocks: Vec<Vec<Line<'static>>> = sections
        .iter()
        .map(|(title, rows)| section(title, rows, wide))
        .collect();
    // The keys of the view, those that move and the colours go left, the others right.
    let left = if has_colour {
        blocks.insert(2, legend(wide));
        3
    } else {
        2
    };
    if columns == 1 {
        return blocks.into_iter().flatten().collect();
    }
    let mut blocks = blocks.into_iter();
    let left: Vec<Line<'static>> = blocks.by_ref().take(left).flatten().collect();
    let right: Vec<Line<'static>> = blocks.flatten().collect();
    let rows = left.len().max(right.len());
    let mut left = left.into_iter();
    let mut right = right.into_iter();
    (0..rows)
        .map(|_| {
            let mut line = left.next().unwrap_or_default();
            line.push_span(Span::raw(" ".repeat(wide.saturating_sub(line.width()))));
            line.extend(right.next().unwrap_or_default().spans);
            line
        })
        .collect()
}

fn section(title: &'static str, rows: &[&'static Binding], wide: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(title, theme::heading())];
    for row in rows {
        let mut keys: Vec<String> = row.keys.iter().map(|key| key.label()).collect();
        while keys.len() > 1 && width(&keys.join(" ")) > KEYS - 1 {
            keys.pop();
        }
        let text = pad(row.help, wide.saturating_sub(KEYS + 3));
        lines.push(Line::from(vec![
            Span::raw("  "),
            Span::styled(pad(&keys.join(" "), KEYS), theme::key()),
            Span::raw(text.trim_end().to_owned()),
        ]));
    }
    lines.push(Line::default());
    lines
}

/// Returns a legend of the colours, in lines of up to `wide` cells.
fn legend(wide: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled("Colours", theme::heading())];
    for (of, entries) in [
        ("functions", theme::code_legend()),
        ("types", theme::kind_legend()),
        ("base", theme::change_legend()),
    ] {
        let mut line = Line::from(Span::raw(format!("  {}", pad(of, KEYS))));
        for (name, style) in entries {
            if line.width() + width(name) + 3 > wide {
                lines.push(line);
                line = Line::from(Span::raw(" ".repeat(KEYS + 2)));
            }
            line.push_span(Span::styled(format!(" {name} "), style));
            line.push_span(Span::raw(" "));
        }
        lines.push(line);
    }
    lines.push(Line::default());
    lines
}
