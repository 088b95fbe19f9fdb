//! The layout of the screen: the view and the lines around it.

use ratatui::layout::{Position, Rect, Size};

use super::App;
use crate::widgets::split;

/// Below this height, the view takes the place of the lines around it.
const ROOMY: u16 = 8;

/// Returns the size of a view on the current screen.
pub(super) fn body(app: &App) -> Size {
    place(app).as_size()
}

/// Returns the area of a view on the current screen.
pub(super) fn place(app: &App) -> Rect {
    let screen = Rect::from((Position::ORIGIN, app.size));
    let [_, _, _, body, _] = areas(screen, app);
    body
}

/// Returns the areas of header, losses, base (if there is one), view and footer. Empty areas are
/// not drawn.
pub(crate) fn areas(area: Rect, app: &App) -> [Rect; 5] {
    let data = app.data.as_ref();
    let has_losses = data.is_some_and(|data| !data.profile.losses().is_empty());
    let is_zoomed = app.is_zoomed && data.is_some();
    let header = match area.height {
        _ if is_zoomed => 0,
        ROOMY.. => 2,
        height => u16::from(height > 1),
    };
    let is_tall = area.height >= 2 * ROOMY && !is_zoomed;
    let losses = u16::from(has_losses && is_tall);
    let base = u16::from(data.is_some_and(|data| data.base.is_some()) && is_tall);
    let footer = u16::from(area.height > 2);
    let body = area.height - header - losses - base - footer;
    split(area, [header, losses, base, body, footer])
}
