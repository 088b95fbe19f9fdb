//! The pages over the views: the help, and what is known of the recording.

mod about;
mod help;

use ratatui::text::Line;

use crate::model::{Data, ViewId};

/// A page over the views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// The keys.
    Help,
    /// What is known of the recording, and what was lost.
    About,
}

/// The lines of a page for a screen `cells` wide: the help while `view` is shown, or of the recording of that title.
pub(crate) fn lines(
    page: Page,
    data: Option<&Data>,
    view: ViewId,
    (title, cells): (&str, u16),
) -> Vec<Line<'static>> {
    match (page, data) {
        (Page::Help, _) => help::lines(view, cells),
        (Page::About, Some(data)) => about::lines(data, title, cells),
        (Page::About, None) => Vec::new(),
    }
}
