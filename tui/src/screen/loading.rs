//! The screen before the first profile: what is being done, and that something still moves.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::App;
use crate::text::{clean, fit};
use crate::theme;

const TURNING: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const TURNING_ASCII: [&str; 4] = ["|", "/", "-", "\\"];

/// Draws the loading screen.
pub(crate) fn render(app: &App, area: Rect, buffer: &mut Buffer) {
    let frames: &[&'static str] = if app.theme.unicode {
        &TURNING
    } else {
        &TURNING_ASCII
    };
    let turning = frames
        .get(app.ticks as usize % frames.len())
        .copied()
        .unwrap_or("");
    let cells = area.width as usize;
    let doing = app.progress.as_deref().unwrap_or("loading");
    let lines = [
        Line::styled(
            fit(&format!("heapglass · {}", clean(&app.title)), cells).into_owned(),
            theme::strong(),
        ),
        Line::from(vec![
            Span::styled(turning, theme::key()),
            Span::raw(fit(&format!(" {}", clean(doing)), cells.saturating_sub(1)).into_owned()),
        ]),
        Line::styled("q quits", theme::dim()),
    ];
    let top = area.height.saturating_sub(lines.len() as u16) / 3;
    for (line, row) in lines.into_iter().zip(area.rows().skip(top as usize)) {
        line.render(row, buffer);
    }
}
