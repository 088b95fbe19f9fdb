//! Keys, and the rows of the key tables.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::command::Command;

/// A row of a key table.
#[derive(Debug)]
pub(crate) struct Binding {
    /// The keys of the command. Hints show the first two.
    pub(crate) keys: &'static [Key],
    pub(crate) command: Command,
    /// One or two words for the hint bar. An empty hint appears only in the help.
    pub(crate) hint: &'static str,
    /// A phrase for the help.
    pub(crate) help: &'static str,
}

/// A key in a key table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    code: KeyCode,
    control: bool,
}

/// Returns a plain character.
pub(crate) const fn char(c: char) -> Key {
    Key {
        code: KeyCode::Char(c),
        control: false,
    }
}

/// Returns a character with Control.
pub(crate) const fn control(c: char) -> Key {
    Key {
        code: KeyCode::Char(c),
        control: true,
    }
}

/// Returns a named key.
pub(crate) const fn named(code: KeyCode) -> Key {
    Key {
        code,
        control: false,
    }
}

impl Key {
    /// Returns the name of the key for help and hints.
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
        // Shift is already part of the character, and no key uses Alt.
        self.code == event.code
            && self.control == control
            && !event.modifiers.contains(KeyModifiers::ALT)
    }
}

/// Defines a key table, one row per line: `keys => command, hint, help;`. A row with an empty hint
/// appears only in the help.
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
