//! What can happen: the only things `update` acts on; and what it asks of the loader. No state and no behaviour here.

use std::sync::Arc;

use ratatui::layout::Size;

use super::command::Command;
use super::data::{Data, TreeOptions};

/// What the loader is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Reload,
    Pause(bool),
    /// The call tree to make of the next profile before it is shown.
    Tree(TreeOptions),
}

/// Something happened.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// A key of the table was pressed.
    Command(Command),
    /// Text was typed or pasted into the open prompt.
    Typed(String),
    /// The terminal has this size now.
    Resized(Size),
    /// What the loader is doing.
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
