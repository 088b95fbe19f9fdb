//! The screen before the first profile: the current step, with an animation.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::App;
use crate::text::clean;
use crate::theme;
use crate::widgets::{Lines, below};

const TURNING: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const TURNING_ASCII: [&str; 4] = ["|", "/", "-", "\\"];

/// Draws the loading screen.
pub(crate) fn render(app: &App, area: Rect, buffer: &mut Buffer) {
    let frames: &[&str] = if app.options.unicode {
        &TURNING
    } else {
        &TURNING_ASCII
    };
    let turning = frames.get(app.ticks as usize % frames.len());
    let turning = (turning.copied().unwrap_or_default(), theme::key());
    let doing = clean(app.progress.as_deref().unwrap_or("loading"));
    let mut lines = Lines::new(below(area, area.height.saturating_sub(3) / 3), buffer);
    let title = format!("heapglass · {}", clean(&app.title));
    lines.line(&title, theme::strong());
    let doing = format!(" {doing}");
    lines.spans([[turning, (&doing, theme::plain())]].into_iter());
    lines.line("q quits", theme::dim());
}
