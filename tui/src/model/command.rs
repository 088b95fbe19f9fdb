//! What keys can ask for.

use super::view_id::ViewId;

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
    /// The next of what was found, or of several stacks that read the same.
    Next,
    Previous,
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
