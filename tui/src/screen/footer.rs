//! The last line: the prompt, a notice, or the hints, as many as fit. Hints come from the key table and nowhere else.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::App;
use crate::model::keys::Binding;
use crate::model::{Command, Prompt};
use crate::text::{clean, fit, fit_end, width};
use crate::theme;

/// Draws the line; answers where the cursor belongs while typing.
pub(crate) fn render(app: &App, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    if let Some(prompt) = &app.prompt {
        return render_prompt(prompt, area, buffer);
    }
    let cells = area.width as usize;
    if let Some(notice) = &app.notice {
        Line::styled(fit(&clean(notice), cells).into_owned(), theme::strong()).render(area, buffer);
    } else if let Some(trouble) = &app.trouble {
        let text = format!("not refreshed: {}", clean(trouble));
        Line::styled(fit(&text, cells).into_owned(), theme::error()).render(area, buffer);
    } else {
        hints(app, cells).render(area, buffer);
    }
    None
}

fn render_prompt(prompt: &Prompt, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let cells = area.width as usize;
    let label = format!("{}: /", prompt.label);
    // The part left of the cursor has precedence: its end always shows.
    let room = cells.saturating_sub(width(&label) + 1);
    let before = prompt.before_cursor();
    let shown = fit_end(&before, room).into_owned();
    let after: String = prompt.text().chars().skip(before.chars().count()).collect();
    let column = width(&label) + width(&shown);
    let error = prompt
        .error
        .as_ref()
        .map(|e| format!("   {e}"))
        .unwrap_or_default();
    let line = Line::from(vec![
        Span::styled(label, theme::key()),
        Span::raw(shown),
        Span::raw(after),
        Span::styled(clean(&error).into_owned(), theme::error()),
    ]);
    line.render(area, buffer);
    let column = u16::try_from(column)
        .ok()
        .filter(|column| *column < area.width)?;
    Some(Position::new(area.x + column, area.y))
}

/// The hints of what has the focus, in the order of the table, with help and quit always last.
pub(crate) fn hints(app: &App, cells: usize) -> Line<'static> {
    let rows: Vec<&Binding> = app
        .focus()
        .sections()
        .into_iter()
        .flatten()
        .filter(|row| !row.hint.is_empty())
        .collect();
    let is_last = |row: &&Binding| matches!(row.command, Command::Help | Command::Quit);
    let last: Vec<_> = grouped(rows.iter().copied().filter(is_last));
    let mut used: usize = last.iter().map(|hint| hint.0).sum();
    let mut line = Line::default();
    for (wide, spans) in grouped(rows.iter().copied().filter(|row| !is_last(row))) {
        if used + wide > cells {
            break;
        }
        used += wide;
        line.extend(spans);
    }
    line.extend(last.into_iter().flat_map(|(_, spans)| spans));
    line
}

/// A hint: its width, and what is written.
type Hint = (usize, Vec<Span<'static>>);

/// One hint for neighbours of the same hint: `j/k move`.
fn grouped<'a>(rows: impl Iterator<Item = &'a Binding>) -> Vec<Hint> {
    let mut groups: Vec<(String, &str)> = Vec::new();
    for row in rows {
        let key = row.keys.first().map(|key| key.label()).unwrap_or_default();
        match groups.last_mut() {
            Some((keys, hint)) if *hint == row.hint => {
                keys.push('/');
                keys.push_str(&key);
            }
            _ => groups.push((key, row.hint)),
        }
    }
    groups
        .into_iter()
        .map(|(keys, hint)| spelled(keys, hint))
        .collect()
}

fn spelled(keys: String, hint: &str) -> Hint {
    let text = format!(" {hint}  ");
    (
        width(&keys) + width(&text),
        vec![Span::styled(keys, theme::key()), Span::raw(text)],
    )
}
