//! The commands that keys can give.

use heapglass_profiler::profile::Measure;

use super::view_id::ViewId;

/// A command that a key can give. Each has the same meaning in every view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Quit,
    /// Stop the process until it is continued.
    Suspend,
    Help,
    /// Describe the recording.
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
    /// Go one level in: zoom, open or follow.
    Enter,
    /// Go one level out.
    Back,
    /// Open the prompt for a regex.
    Search,
    /// Go to the next match.
    Next,
    Previous,
    /// Show the next of several stacks in one row.
    NextStack,
    PreviousStack,
    /// Find the selected symbol everywhere.
    SameSymbol,
    /// Show the selection in the other view that can show it.
    Follow,
    /// List the measures to choose from.
    Measures,
    /// Go back to the measure before this one.
    PreviousMeasure,
    Measure(Measure),
    /// Give the whole screen to the pane that receives keys, or take it back.
    Zoom,
    /// List the commands.
    Palette,
    /// Open the source line in the editor.
    OpenEditor,
    /// Copy the path and line of the source.
    CopyPlace,
    /// List the formats in which the view can be written.
    Formats,
    /// Write the view to a file.
    Write(Format),
    /// Switch between the colours for dark and for light backgrounds.
    Theme,
    Sort,
    ReverseSort,
    /// Sort by a column, counted among those that rows can be sorted by; by the same one again, in
    /// reverse order.
    SortBy(usize),
    Invert,
    /// Show all frames of stacks, or fold them again.
    AllFrames,
    /// Show the next choice of frames: folded, own, all, trimmed.
    NextFrames,
    /// Show or hide phases as outermost frames.
    Phases,
    /// Switch to the next kind of frames in the flamegraph.
    Grouping,
    /// Open or close every branch of a tree.
    OpenAll,
    /// Show the measured live values.
    Footprints,
    Pause,
    Reload,
    /// Take a snapshot of the heap of a running program.
    Snapshot,
    /// Compare all views with this moment.
    BaseIsNow,
    /// Go to the next moment of a recording.
    NextMoment,
    PreviousMoment,
    /// Keep this moment to compare others with it, or let it go.
    Anchor,
    /// Show the holder of the selected blocks.
    WhoHolds,
    Edit(Edit),
}

/// An edit of the open prompt.
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

/// A format in which a view can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Svg,
    Html,
    Csv,
}
