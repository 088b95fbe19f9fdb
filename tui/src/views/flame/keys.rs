//! The keys of the flamegraph: rows of the one key table.

use crossterm::event::KeyCode;

use crate::app::Command;
use crate::app::keys::{Binding, char, moves, named};

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = &[
    Binding {
        keys: &[named(KeyCode::Enter)],
        command: Command::Enter,
        hint: "zoom",
        help: "zoom into the frame",
    },
    Binding {
        keys: &[named(KeyCode::Esc), named(KeyCode::Backspace)],
        command: Command::Back,
        hint: "out",
        help: "zoom out, end the search",
    },
    Binding {
        keys: &[char('/')],
        command: Command::Search,
        hint: "search",
        help: "search functions by regex",
    },
    Binding {
        keys: &[char('n')],
        command: Command::NextMatch,
        hint: "",
        help: "next match by size",
    },
    Binding {
        keys: &[char('N')],
        command: Command::PreviousMatch,
        hint: "",
        help: "previous match",
    },
    Binding {
        keys: &[char('#')],
        command: Command::SameSymbol,
        hint: "same",
        help: "the symbol, everywhere",
    },
    Binding {
        keys: &[char('i')],
        command: Command::Invert,
        hint: "invert",
        help: "allocations on top",
    },
    Binding {
        keys: &[char('o')],
        command: Command::Follow,
        hint: "sites",
        help: "sites that pass through",
    },
    Binding {
        keys: &[char('p')],
        command: Command::Phases,
        hint: "phases",
        help: "phases as outermost frames",
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
        help: "to the widest frame below",
    },
    Binding {
        keys: moves::UP,
        command: Command::Up,
        hint: "",
        help: "to the frame above",
    },
    Binding {
        keys: moves::LEFT,
        command: Command::Left,
        hint: "",
        help: "to the frame on the left",
    },
    Binding {
        keys: moves::RIGHT,
        command: Command::Right,
        hint: "",
        help: "to the frame on the right",
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
        help: "to the zoomed frame",
    },
    Binding {
        keys: moves::LAST,
        command: Command::Last,
        hint: "",
        help: "down the widest frames",
    },
];
