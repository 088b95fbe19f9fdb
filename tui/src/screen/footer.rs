//! The last line: the prompt, a notice, or as many hints as fit. All hints come from the key table.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::App;
use crate::model::keys::Binding;
use crate::model::{Command, Prompt};
use crate::text::{clean, fit_end, width};
use crate::theme;
use crate::widgets::write;

/// Draws the line. Returns the position of the cursor while the user types.
pub(crate) fn render(app: &App, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    if let Some(prompt) = &app.prompt {
        let cx = app.context();
        let found = cx.and_then(|cx| app.views.get(app.view).found(&cx));
        return render_prompt(prompt, &found.unwrap_or_default(), area, buffer);
    }
    if let Some(notice) = &app.notice {
        write(buffer, area, &clean(notice), theme::strong());
    } else if let Some(trouble) = &app.trouble {
        let text = format!("not refreshed: {}", clean(trouble));
        write(buffer, area, &text, theme::error());
    } else {
        hints(app, area.width as usize).render(area, buffer);
    }
    None
}

fn render_prompt(
    prompt: &Prompt,
    found: &str,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let cells = area.width as usize;
    let label = format!("{}: /", prompt.label);
    // The part left of the cursor has priority, and its end is always visible.
    let room = cells.saturating_sub(width(&label) + 1);
    let before = prompt.before_cursor();
    let shown = fit_end(&before, room).into_owned();
    let after: String = prompt.text().chars().skip(before.chars().count()).collect();
    let column = width(&label) + width(&shown);
    let (note, style) = match &prompt.error {
        Some(error) => (error.as_str(), theme::error()),
        // The regex itself stands to the left already.
        None => (found.rsplit(": ").next().unwrap_or(found), theme::dim()),
    };
    let line = Line::from(vec![
        Span::styled(label, theme::key()),
        Span::raw(shown),
        Span::raw(after),
        Span::raw("   "),
        Span::styled(clean(note).into_owned(), style),
    ]);
    line.render(area, buffer);
    let column = u16::try_from(column).ok()?;
    (column < area.width).then(|| Position::new(area.x + column, area.y))
}

/// Returns the hints for the focus in the order of the table, with help and quit last.
pub(crate) fn hints(app: &App, cells: usize) -> Line<'static> {
    let rows = app
        .focus()
        .sections()
        .into_iter()
        .flatten()
        .filter(|row| !row.hint.is_empty());
    let is_last = |row: &&Binding| matches!(row.command, Command::Help | Command::Quit);
    let (last, others): (Vec<&Binding>, Vec<&Binding>) = rows.partition(is_last);
    let last: Line<'static> = grouped(&last).into_iter().flatten().collect();
    let mut line = Line::default();
    for hint in grouped(&others) {
        let wide: usize = hint.iter().map(Span::width).sum();
        if line.width() + last.width() + wide > cells {
            break;
        }
        line.extend(hint);
    }
    line.extend(last);
    line
}

/// Returns one hint for neighbouring rows with the same hint: `j/k move`.
fn grouped(rows: &[&Binding]) -> Vec<[Span<'static>; 2]> {
    let groups = rows.chunk_by(|a, b| a.hint == b.hint);
    let hint = |group: &[&Binding]| {
        let keys: Vec<String> = group
            .iter()
            .filter_map(|row| row.keys.first())
            .map(|key| key.label())
            .collect();
        let hint = group.first().map_or("", |row| row.hint);
        let keys = Span::styled(keys.join("/"), theme::key());
        [keys, Span::raw(format!(" {hint}  "))]
    };
    groups.map(hint).collect()
}
