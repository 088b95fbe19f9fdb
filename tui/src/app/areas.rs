//! Where things are on the screen: the view, and the lines around it.

use ratatui::layout::{Rect, Size};

use super::App;

/// Below this height the lines around the view give way to it.
const ROOMY: u16 = 8;

/// Where things are on a screen of one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Areas {
    pub(crate) header: Rect,
    pub(crate) losses: Rect,
    /// What the base is, where there is one.
    pub(crate) base: Rect,
    pub(crate) body: Rect,
    pub(crate) footer: Rect,
}

/// The room a view has on the present screen.
pub(super) fn body(app: &App) -> Size {
    areas(
        Rect::from((ratatui::layout::Position::ORIGIN, app.size)),
        app,
    )
    .body
    .as_size()
}

pub(crate) fn areas(area: Rect, app: &App) -> Areas {
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
    let has_base = app.options.base.is_some();
    let base = u16::from(has_base && area.height >= 2 * ROOMY);
    let footer = u16::from(area.height > 2);
    let rows = |top: u16, height: u16| Rect {
        x: area.x,
        y: area.y + top,
        width: area.width,
        height,
    };
    let top = header + losses + base;
    let body = area.height - top - footer;
    Areas {
        header: rows(0, header),
        losses: rows(header, losses),
        base: rows(header + losses, base),
        body: rows(top, body),
        footer: rows(top + body, footer),
    }
}
