//! The screen around the views: header, tabs, hints, help, loading. Reads the model, never changes it.

mod about;
mod footer;
mod header;
mod help;
mod loading;

use ratatui::Frame;
use ratatui::layout::{Rect, Size};

use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::{App, Page};

/// Below this height the lines around the view give way to it.
const ROOMY: u16 = 8;

/// Where things are on a screen of one size.
#[derive(Clone, Copy, Debug)]
struct Areas {
    header: Rect,
    losses: Rect,
    body: Rect,
    footer: Rect,
}

/// Draws everything.
pub(crate) fn view(app: &App, frame: &mut Frame<'_>) {
    let area = frame.area();
    let areas = areas(area, app);
    let buffer = frame.buffer_mut();
    match app.context() {
        None => loading::render(app, area, buffer),
        Some(cx) => {
            header::render(app, cx.data, areas.header, buffer);
            header::render_losses(cx.data, areas.losses, buffer);
            if let Some((page, first)) = app.page {
                let lines = page_lines(app, page).into_iter().skip(first as usize);
                for (line, row) in lines.zip(areas.body.rows()) {
                    line.render(row, buffer);
                }
            } else {
                app.views.get(app.view).render(&cx, areas.body, buffer);
            }
            if let Some(cursor) = footer::render(app, areas.footer, buffer) {
                frame.set_cursor_position(cursor);
            }
        }
    }
    app.theme.degrade(frame.buffer_mut());
}

/// The lines of a page for the present width.
pub(crate) fn page_lines(app: &App, page: Page) -> Vec<Line<'static>> {
    match (page, &app.data) {
        (Page::Help, _) => help::lines(app.view, app.size.width),
        (Page::About, Some(data)) => about::lines(data, &app.title, app.size.width),
        (Page::About, None) => Vec::new(),
    }
}

/// The room a view has on the present screen.
pub(crate) fn body(app: &App) -> Size {
    areas(
        Rect::from((ratatui::layout::Position::ORIGIN, app.size)),
        app,
    )
    .body
    .as_size()
}

fn areas(area: Rect, app: &App) -> Areas {
    let lossy = app
        .data
        .as_ref()
        .is_some_and(|data| !data.losses().is_empty());
    let header = if area.height >= ROOMY {
        2
    } else {
        u16::from(area.height > 1)
    };
    let losses = u16::from(lossy && area.height >= 2 * ROOMY);
    let footer = u16::from(area.height > 2);
    let rows = |top: u16, height: u16| Rect {
        x: area.x,
        y: area.y + top,
        width: area.width,
        height,
    };
    let body = area.height - header - losses - footer;
    Areas {
        header: rows(0, header),
        losses: rows(header, losses),
        body: rows(header + losses, body),
        footer: rows(header + losses + body, footer),
    }
}
