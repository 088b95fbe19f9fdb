//! What can happen: the only things `update` acts on. No state and no behaviour here.

use std::sync::Arc;

use ratatui::layout::Size;

use super::data::Data;
use super::view_id::ViewId;

/// Something happened.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// A key of the table was pressed.
    Command(Command),
    /// A character was typed into the open prompt.
    Typed(char),
    /// Text was pasted into the open prompt.
    Pasted(String),
    /// The terminal has this size now.
    Resized(Size),
    /// The loader says what it is doing.
    Progress(String),
    /// A profile was loaded; its functions have no names yet.
    Early(Arc<Data>),
    /// A profile was loaded; `live` = loading again may give something new.
    Loaded {
        data: Arc<Data>,
        live: bool,
        title: String,
    },
    /// Loading failed.
    LoadFailed(String),
    /// Loading panicked: nothing more will come.
    LoaderPanicked(String),
    /// Time passed while something turns.
    Tick,
}

/// What a key can ask for. One word a meaning, in every view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Quit,
    /// Stop the process until it is continued.
    Suspend,
    Help,
    /// What is known of the recording itself.
    About,
    Show(ViewId),
    NextView,
    PreviousView,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    First,
    Last,
    /// One level in: zoom, open, follow.
    Enter,
    /// One level out.
    Back,
    /// Open the prompt for a regex.
    Search,
    NextMatch,
    PreviousMatch,
    /// The selected symbol, wherever it is.
    SameSymbol,
    /// The selected thing in the other view that can show it.
    Follow,
    NextMeasure,
    PreviousMeasure,
    Sort,
    ReverseSort,
    Invert,
    /// All frames of stacks, or folded ones again.
    AllFrames,
    /// The next choice of frames: folded, own, all.
    NextFrames,
    /// The next of several stacks that read the same.
    NextStack,
    /// The one before.
    PreviousStack,
    /// Phases as outermost frames, shown or not.
    Phases,
    /// The next of what the flamegraph's frames can be.
    Grouping,
    /// Every branch of a tree, open or closed.
    OpenAll,
    /// Live values that were measured.
    Footprints,
    Pause,
    Reload,
    Edit(Edit),
}

/// What a key can do to the open prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Accept,
    Cancel,
    DeleteBack,
    DeleteForward,
    DeleteWord,
    Clear,
    Left,
    Right,
    Home,
    End,
}
