//! The screen around the views: header, tabs, hints, help, loading. Reads the model and never
//! changes it.

mod footer;
mod header;
mod loading;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::Widget;

use crate::app::{App, areas};
use crate::model::Command;
use crate::theme;

/// Returns the command for a click outside the view: on a tab, or on the measure.
pub(crate) fn command_at(app: &App, at: Position) -> Option<Command> {
    let screen = Rect::from((Position::ORIGIN, app.size));
    let [top, ..] = areas(screen, app);
    let is_tabs = top.height == 2 && at.y == top.y + 1 && at.x < top.width;
    let data = app.data.as_ref().filter(|_| is_tabs)?;
    header::command_at(app, data, top.width, at.x)
}

/// Draws everything.
pub(crate) fn view(app: &App, frame: &mut Frame<'_>) {
    let area = frame.area();
    let [top, losses, base, body, bottom] = areas(area, app);
    let buffer = frame.buffer_mut();
    match app.context() {
        None => loading::render(app, area, buffer),
        Some(cx) => {
            header::render(app, cx.data, top, buffer);
            header::render_losses(cx.data, losses, buffer);
            header::render_base(&cx, app.views.get(app.view).rows_by(), base, buffer);
            if let Some((page, first)) = app.page {
                let lines = app.lines(page).into_iter();
                for (line, row) in lines.skip(first).zip(body.rows()) {
                    line.render(row, buffer);
                }
            } else {
                app.views.get(app.view).render(&cx, body, buffer);
            }
            let mut cursor = footer::render(app, bottom, buffer);
            if let Some(menu) = &app.menu {
                cursor = menu.render(body, buffer);
            }
            if let Some(cursor) = cursor {
                frame.set_cursor_position(cursor);
            }
        }
    }
    theme::degrade(&app.options, frame.buffer_mut());
}
