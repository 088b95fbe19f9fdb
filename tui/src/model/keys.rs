//! Keys, and rows of the tables that say what they do.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::command::Command;

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Binding {
    /// All keys that do it; the first two are shown in hints.
    pub(crate) keys: &'static [Key],
    pub(crate) command: Command,
    /// One or two words for the hint bar, empty = only in the help.
    pub(crate) hint: &'static str,
    /// A phrase for the help.
    pub(crate) help: &'static str,
}

/// A key as the table spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    code: KeyCode,
    control: bool,
}

/// A plain character.
pub(crate) const fn char(c: char) -> Key {
    Key {
        code: KeyCode::Char(c),
        control: false,
    }
}

/// A character with Control.
pub(crate) const fn control(c: char) -> Key {
    Key {
        code: KeyCode::Char(c),
        control: true,
    }
}

/// A named key.
pub(crate) const fn named(code: KeyCode) -> Key {
    Key {
        code,
        control: false,
    }
}

impl Key {
    /// How help and hints write it.
    pub(crate) fn label(self) -> String {
        let name = match self.code {
            KeyCode::Char(' ') => "space".to_owned(),
            KeyCode::Char(c) => c.to_string(),
            KeyCode::Up => "↑".to_owned(),
            KeyCode::Down => "↓".to_owned(),
            KeyCode::Left => "←".to_owned(),
            KeyCode::Right => "→".to_owned(),
            KeyCode::PageUp => "PgUp".to_owned(),
            KeyCode::PageDown => "PgDn".to_owned(),
            KeyCode::BackTab => "Shift-Tab".to_owned(),
            KeyCode::F(n) => format!("F{n}"),
            other => other.to_string(),
        };
        if self.control {
            format!("^{}", name.to_uppercase())
        } else {
            name
        }
    }

    pub(crate) fn is(self, event: KeyEvent) -> bool {
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        // Shift is part of the character; no key has Alt.
        self.code == event.code
            && self.control == control
            && !event.modifiers.contains(KeyModifiers::ALT)
    }
}

/// A table of keys, a row each: `keys => command, hint, help;`. An empty hint is only in the help.
macro_rules! bindings {
    ($($keys:expr => $command:ident $(($of:expr))?, $hint:literal, $help:literal;)*) => {
        &[$($crate::model::keys::Binding {
            keys: &$keys,
            command: $crate::model::Command::$command $(($of))?,
            hint: $hint,
            help: $help,
        }),*]
    };
}
pub(crate) use bindings;

pub(crate) const ENTER: [Key; 1] = [named(KeyCode::Enter)];
pub(crate) const BACK: [Key; 2] = [named(KeyCode::Esc), named(KeyCode::Backspace)];
pub(crate) const UP: [Key; 2] = [char('k'), named(KeyCode::Up)];
pub(crate) const DOWN: [Key; 2] = [char('j'), named(KeyCode::Down)];
pub(crate) const LEFT: [Key; 2] = [char('h'), named(KeyCode::Left)];
pub(crate) const RIGHT: [Key; 2] = [char('l'), named(KeyCode::Right)];
pub(crate) const FIRST: [Key; 2] = [char('g'), named(KeyCode::Home)];
pub(crate) const LAST: [Key; 2] = [char('G'), named(KeyCode::End)];
