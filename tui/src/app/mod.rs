//! The model: all that the screen is a function of. Changed by [`update()`] alone, read by drawing.

mod areas;
mod update;

use std::sync::Arc;

use heapglass_profiler::profile::{Frames, Measure};
use ratatui::layout::Size;
use ratatui::text::Line;

pub(crate) use areas::areas;
pub(crate) use update::update;

use crate::model::{Context, Data, Order, Prompt, TreeOptions, ViewId};
use crate::pages::{Page, about, help};
use crate::views::Views;
use crate::views::focus::Focus;
use crate::{Error, Options};

/// What the main loop must do for the model: it cannot reach the loader itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Pass this on to the loader.
    Load(Order),
    /// Stop the process, as ^Z does elsewhere, until it is continued.
    Suspend,
}

/// The whole state of the UI.
#[derive(Debug, Default)]
pub(crate) struct App {
    pub(crate) title: String,
    pub(crate) options: Options,
    pub(crate) size: Size,
    /// The last profile loaded; `None` until the first.
    pub(crate) data: Option<Arc<Data>>,
    pub(crate) view: ViewId,
    pub(crate) views: Views,
    /// The views that led here, each by a jump: where Esc leads back to.
    trail: Vec<ViewId>,
    /// Views whose state was made for the present data, measure, frames and size.
    fresh: Vec<ViewId>,
    pub(crate) measure: Measure,
    pub(crate) frames: Frames,
    /// The page open over the views, and its first line shown.
    pub(crate) page: Option<(Page, usize)>,
    pub(crate) prompt: Option<Prompt>,
    /// One line about the last key, until the next one.
    pub(crate) notice: Option<String>,
    /// What the loader is doing.
    pub(crate) progress: Option<String>,
    /// Why the last reload failed.
    pub(crate) trouble: Option<String>,
    /// Loading again may give something new.
    pub(crate) live: bool,
    pub(crate) paused: bool,
    /// Counts ticks, for what turns.
    pub(crate) ticks: u64,
    pub(crate) requests: Vec<Request>,
    /// The tree last asked for.
    tree_asked: TreeOptions,
    /// Set when the main loop must end, and how.
    pub(crate) exit: Option<Result<(), Error>>,
}

impl App {
    pub(crate) fn new(title: String, options: Options) -> Self {
        App {
            title,
            size: Size::new(80, 24),
            view: options.view,
            measure: options.measure,
            tree_asked: TreeOptions {
                measure: options.measure,
                ..TreeOptions::default()
            },
            options,
            ..App::default()
        }
    }

    /// The lines of a page for the present screen: the help for the view that is shown, or of the recording.
    pub(crate) fn lines(&self, page: Page) -> Vec<Line<'static>> {
        let cells = self.size.width;
        match (page, &self.data) {
            (Page::Help, _) => help::lines(self.view, cells, self.options.colour),
            (Page::About, Some(data)) => about::lines(data, &self.title, cells),
            (Page::About, None) => Vec::new(),
        }
    }

    /// What the keys mean at the moment.
    pub(crate) fn focus(&self) -> Focus {
        if self.data.is_none() {
            Focus::Loading
        } else if self.prompt.is_some() {
            Focus::Prompt
        } else if self.page.is_some() {
            Focus::Page
        } else if self.is_empty(self.view) {
            Focus::Empty
        } else {
            Focus::View(self.view)
        }
    }

    /// Whether the recording has nothing for the view: its keys would do nothing.
    fn is_empty(&self, view: ViewId) -> bool {
        self.data.as_ref().is_some_and(|data| match view {
            ViewId::Fields => data.profile.fields().is_empty(),
            ViewId::Arenas => data.profile.arenas.is_empty(),
            _ => false,
        })
    }

    /// The call tree that is or would be shown.
    pub(crate) fn tree_options(&self) -> TreeOptions {
        self.views.tree_options(self.measure, self.frames)
    }

    /// What views may read, once there is data.
    pub(crate) fn context(&self) -> Option<Context<'_>> {
        let data = self.data.as_ref()?;
        Some(Context {
            data,
            measure: self.measure,
            frames: self.frames,
            body: areas::body(self),
            source_roots: &self.options.source_roots,
            has_colour: self.options.colour,
        })
    }
}
