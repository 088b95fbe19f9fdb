//! The mouse.

use ratatui::layout::Position;

/// An event of the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// The cell, on the screen or in the view.
    pub(crate) at: Position,
    pub(crate) action: Action,
}

/// An action of the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The left button was pressed.
    Press,
    /// The mouse moved while the left button is down.
    Drag,
    WheelUp,
    WheelDown,
}
