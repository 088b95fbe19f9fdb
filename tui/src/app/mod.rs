//! The model: the whole state that the screen is drawn from. Only [`update()`] changes it; drawing
//! only reads it.

mod areas;
mod update;

use heapglass_profiler::calltree::CallTreeOptions;
use std::path::PathBuf;
use std::sync::Arc;

use heapglass_profiler::profile::{Frames, Measure};
use ratatui::layout::Size;
use ratatui::text::Line;

pub(crate) use areas::areas;
pub(crate) use update::update;

use crate::export::Export;
use crate::model::{Context, Data, Order, Prompt, ViewId};
use crate::pages::menu::Menu;
use crate::pages::{Page, about, help};
use crate::text::{clean, paragraph};
use crate::views::Views;
use crate::views::focus::Focus;
use crate::{Error, Options};

/// A request of the model to the main loop, because the model cannot reach the loader itself.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    /// Pass this order on to the loader.
    Load(Order),
    /// Stop the process until it is continued, as ^Z does elsewhere.
    Suspend,
    /// Open this file in the editor, at this line.
    Edit(PathBuf, Option<u32>),
    /// Put this text into the clipboard of the terminal.
    Copy(String),
    /// Write the view to a file.
    Write(Box<Export>),
}

/// The whole state of the UI.
#[derive(Debug, Default)]
pub(crate) struct App {
    pub(crate) title: String,
    pub(crate) options: Options,
    pub(crate) size: Size,
    /// The last profile loaded; `None` before the first one.
    pub(crate) data: Option<Arc<Data>>,
    pub(crate) view: ViewId,
    pub(crate) views: Views,
    /// The views that led to this one by jumps. Esc goes back to them.
    trail: Vec<ViewId>,
    /// Views whose state was computed for the current data, measure, frames and size.
    fresh: Vec<ViewId>,
    pub(crate) measure: Measure,
    /// The measure before this one.
    measure_before: Measure,
    pub(crate) frames: Frames,
    /// The page that covers the views, with the index of its first visible line.
    pub(crate) page: Option<(Page, usize)>,
    pub(crate) prompt: Option<Prompt>,
    /// The list over the view to choose a command from.
    pub(crate) menu: Option<Menu>,
    /// `true` if one pane of the view has the whole screen.
    pub(crate) is_zoomed: bool,
    /// A message about the last key, shown until the next one.
    pub(crate) notice: Option<String>,
    /// The current step of the loader.
    pub(crate) progress: Option<String>,
    /// The reason why the last reload failed.
    pub(crate) trouble: Option<String>,
    /// `true` if loading again may give something new.
    pub(crate) live: bool,
    pub(crate) paused: bool,
    /// Number of ticks, for animations.
    pub(crate) ticks: u64,
    pub(crate) requests: Vec<Request>,
    /// Sentences about the file that was written last.
    pub(crate) written: Vec<String>,
    /// Options of the tree that was last asked for.
    tree_asked: CallTreeOptions,
    /// The result of the UI, set when the main loop must end.
    pub(crate) exit: Option<Result<(), Error>>,
}

impl App {
    pub(crate) fn new(title: String, options: Options) -> Self {
        App {
            title,
            size: Size::new(80, 24),
            view: options.view,
            measure: options.measure,
            measure_before: options.measure,
            tree_asked: CallTreeOptions {
                measure: options.measure,
                ..CallTreeOptions::default()
            },
            options,
            ..App::default()
        }
    }

    /// Returns the lines of a page for the current screen: the help for the current view, or the
    /// description of the recording.
    pub(crate) fn lines(&self, page: Page) -> Vec<Line<'static>> {
        let cells = self.size.width;
        match (page, &self.data) {
            (Page::Help, _) => help::lines(self.view, cells, self.options.colour),
            (Page::About, Some(data)) => about::lines(data, &self.title, cells),
            (Page::About, None) => Vec::new(),
            (Page::Written, _) => {
                let lines = self
                    .written
                    .iter()
                    .flat_map(|text| paragraph(&clean(text), cells.into(), "  "));
                lines.map(Line::raw).collect()
            }
        }
    }

    /// Returns the focus, which decides the meaning of keys.
    pub(crate) fn focus(&self) -> Focus {
        if self.data.is_none() {
            Focus::Loading
        } else if let Some(menu) = &self.menu {
            if menu.is_typed() {
                Focus::Palette
            } else {
                Focus::Menu
            }
        } else if self.prompt.is_some() {
            Focus::Prompt
        } else if self.page.is_some() {
            Focus::Page
        } else {
            self.focus_of_view()
        }
    }

    /// Returns the focus without the pages, lists and prompts over the view.
    fn focus_of_view(&self) -> Focus {
        if self.is_empty(self.view) {
            Focus::Empty
        } else {
            Focus::View(self.view)
        }
    }

    /// Returns `true` if the recording has nothing for the view, so that the view's keys would do
    /// nothing.
    fn is_empty(&self, view: ViewId) -> bool {
        self.data.as_ref().is_some_and(|data| match view {
            ViewId::Fields => data.profile.fields().is_empty(),
            ViewId::Arenas => data.profile.arenas().is_empty(),
            ViewId::Time => data.profile.process().merged.is_some(),
            ViewId::Heap => data.profile.snapshots().is_empty(),
            _ => false,
        })
    }

    /// Returns the options of the call tree that the flamegraph shows, or would show.
    pub(crate) fn tree_options(&self) -> CallTreeOptions {
        self.views.tree_options(self.measure, self.frames)
    }

    /// Returns the data that views may read, once a profile is loaded.
    pub(crate) fn context(&self) -> Option<Context<'_>> {
        let data = self.data.as_ref()?;
        Some(Context {
            data,
            measure: self.measure,
            frames: self.frames,
            body: areas::body(self),
            source_roots: &self.options.source_roots,
            has_colour: self.options.colour,
            is_zoomed: self.is_zoomed,
        })
    }
}
