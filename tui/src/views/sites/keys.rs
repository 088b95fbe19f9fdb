//! The keys of the sites table: rows of the one key table.

use crossterm::event::KeyCode;

use crate::app::Command;
use crate::app::keys::{Binding, char, moves, named};

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = &[
    Binding {
        keys: &[named(KeyCode::Enter)],
        command: Command::Enter,
        hint: "stack",
        help: "into the stack",
    },
    Binding {
        keys: &[named(KeyCode::Esc), named(KeyCode::Backspace)],
        command: Command::Back,
        hint: "out",
        help: "out, then end the filters",
    },
    Binding {
        keys: &[char('s')],
        command: Command::Sort,
        hint: "sort",
        help: "sort by the next column",
    },
    Binding {
        keys: &[char('S')],
        command: Command::ReverseSort,
        hint: "",
        help: "the other way round",
    },
    Binding {
        keys: &[char('/')],
        command: Command::Search,
        hint: "filter",
        help: "by function or file, regex",
    },
    Binding {
        keys: &[char('#')],
        command: Command::SameSymbol,
        hint: "same",
        help: "sites through the symbol",
    },
    Binding {
        keys: &[char('o')],
        command: Command::Follow,
        hint: "flamegraph",
        help: "in the flamegraph",
    },
    Binding {
        keys: &[char('a')],
        command: Command::AllFrames,
        hint: "",
        help: "all frames, untrimmed",
    },
    Binding {
        keys: moves::DOWN,
        command: Command::Down,
        hint: "",
        help: "next site or frame",
    },
    Binding {
        keys: moves::UP,
        command: Command::Up,
        hint: "",
        help: "previous site or frame",
    },
    Binding {
        keys: moves::PAGE_DOWN,
        command: Command::PageDown,
        hint: "",
        help: "a page down",
    },
    Binding {
        keys: moves::PAGE_UP,
        command: Command::PageUp,
        hint: "",
        help: "a page up",
    },
    Binding {
        keys: moves::FIRST,
        command: Command::First,
        hint: "",
        help: "to the first",
    },
    Binding {
        keys: moves::LAST,
        command: Command::Last,
        hint: "",
        help: "to the last",
    },
];
