//! The messages that `update` acts on, and the orders for the loader. Has no state and no
//! behaviour.

use std::sync::Arc;

use ratatui::layout::Size;

use super::command::Command;
use super::data::Data;
use super::pointer::Pointer;
use heapglass_profiler::calltree::CallTreeOptions;

/// An order for the loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Reload,
    /// Take a snapshot of the program's heap.
    Snapshot,
    /// Compare the next profiles with the last one.
    BaseIsNow,
    Pause(bool),
    /// Build this call tree for the next profile before it is shown.
    Tree(CallTreeOptions),
}

/// An event.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// A key of the table was pressed.
    Command(Command),
    /// Text was typed or pasted into the open prompt.
    Typed(String),
    /// The mouse was used, at a cell of the screen.
    Pointed(Pointer),
    /// Something was done outside of the model, with this result.
    Notice(String),
    /// A file was written: sentences about it.
    Written(Vec<String>),
    /// The terminal has a new size.
    Resized(Size),
    /// The loader reports its current step.
    Progress(String),
    /// A profile was loaded, but its functions have no names yet.
    Early(Arc<Data>),
    /// A profile was loaded. `live` is `true` if loading again may give something new.
    Loaded {
        data: Arc<Data>,
        live: bool,
        title: String,
    },
    /// Another thread has computed what a view asked for.
    Computed,
    /// Another thread panicked while it computed what a view asked for.
    ComputingPanicked(String),
    /// Loading failed.
    LoadFailed(String),
    /// A snapshot was taken, or there is none: a sentence.
    Snapshot(String),
    /// Loading panicked, so no more messages will come.
    LoaderPanicked(String),
    /// Time passed during an animation.
    Tick,
}
