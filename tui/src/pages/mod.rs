//! The pages over the views: the help, and what is known of the recording.

mod about;
mod help;

use ratatui::text::Line;

use crate::app::App;

/// A page over the views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// The keys.
    Help,
    /// What is known of the recording, and what was lost.
    About,
}

/// The lines of a page for the present screen: the help for the view that is shown, or of the recording.
pub(crate) fn lines(app: &App, page: Page) -> Vec<Line<'static>> {
    let cells = app.size.width;
    match (page, &app.data) {
        (Page::Help, _) => help::lines(app.view, cells),
        (Page::About, Some(data)) => about::lines(data, &app.title, cells),
        (Page::About, None) => Vec::new(),
    }
}
