//! The keys: one table from which look-up, help and hint bar are all made, so none can drift from the others.
//!
//! A view brings its own rows (`keys.rs` in its folder), which win over the common ones; no key is compared anywhere else.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::ViewId;
use crate::app::message::{Command, Edit};

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

    fn is(self, event: KeyEvent) -> bool {
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        // Shift is part of the character; Alt is nobody's.
        self.code == event.code
            && self.control == control
            && !event.modifiers.contains(KeyModifiers::ALT)
    }
}

/// What is in front, hence which rows apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    /// Nothing loaded yet.
    Loading,
    View(ViewId),
    /// A page over the views: the help, or what is known of the recording.
    Page,
    Prompt,
}

impl Focus {
    /// The tables that apply, the first to know a key wins.
    pub(crate) fn tables(self) -> [&'static [Binding]; 2] {
        match self {
            Focus::Loading => [LOADING, &[]],
            Focus::View(view) => [view.bindings(), COMMON],
            Focus::Page => [PAGE, LOADING],
            Focus::Prompt => [PROMPT, &[]],
        }
    }

    /// What `event` asks for.
    pub(crate) fn command(self, event: KeyEvent) -> Option<Command> {
        let rows = self.tables().into_iter().flatten();
        rows.into_iter()
            .find(|row| row.keys.iter().any(|key| key.is(event)))
            .map(|row| row.command)
    }

    /// The character `event` types into the prompt, when it has the focus.
    pub(crate) fn typed(self, event: KeyEvent) -> Option<char> {
        let plain = !event
            .modifiers
            .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match event.code {
            KeyCode::Char(c) if self == Focus::Prompt && plain => Some(c),
            _ => None,
        }
    }
}

const LOADING: &[Binding] = &[Binding {
    keys: &[char('q'), control('c')],
    command: Command::Quit,
    hint: "quit",
    help: "quit",
}];

const COMMON: &[Binding] = &[
    Binding {
        keys: &[char('?'), named(KeyCode::F(1))],
        command: Command::Help,
        hint: "help",
        help: "this help",
    },
    Binding {
        keys: &[char('!')],
        command: Command::About,
        hint: "",
        help: "the recording, its losses",
    },
    Binding {
        keys: &[char('q'), control('c')],
        command: Command::Quit,
        hint: "quit",
        help: "quit",
    },
    Binding {
        keys: &[named(KeyCode::Tab)],
        command: Command::NextView,
        hint: "view",
        help: "next view",
    },
    Binding {
        keys: &[named(KeyCode::BackTab)],
        command: Command::PreviousView,
        hint: "",
        help: "previous view",
    },
    Binding {
        keys: &[char('1')],
        command: Command::Show(ViewId::Overview),
        hint: "",
        help: "overview",
    },
    Binding {
        keys: &[char('2')],
        command: Command::Show(ViewId::Flamegraph),
        hint: "",
        help: "flamegraph",
    },
    Binding {
        keys: &[char('3')],
        command: Command::Show(ViewId::Sites),
        hint: "",
        help: "sites",
    },
    Binding {
        keys: &[char('4')],
        command: Command::Show(ViewId::Threads),
        hint: "",
        help: "threads",
    },
    Binding {
        keys: &[char('m')],
        command: Command::NextMeasure,
        hint: "",
        help: "next measure",
    },
    Binding {
        keys: &[char('M')],
        command: Command::PreviousMeasure,
        hint: "",
        help: "previous measure",
    },
    Binding {
        keys: &[char(' ')],
        command: Command::Pause,
        hint: "",
        help: "pause the live view",
    },
    Binding {
        keys: &[char('r'), control('l')],
        command: Command::Reload,
        hint: "",
        help: "load it again now",
    },
    Binding {
        keys: &[named(KeyCode::Esc)],
        command: Command::Back,
        hint: "",
        help: "one level out",
    },
];

const PAGE: &[Binding] = &[
    Binding {
        keys: &[
            named(KeyCode::Esc),
            char('?'),
            named(KeyCode::F(1)),
            char('!'),
            named(KeyCode::Enter),
        ],
        command: Command::Back,
        hint: "close",
        help: "close the page",
    },
    Binding {
        keys: &[char('j'), named(KeyCode::Down)],
        command: Command::Down,
        hint: "scroll",
        help: "scroll down",
    },
    Binding {
        keys: &[char('k'), named(KeyCode::Up)],
        command: Command::Up,
        hint: "scroll",
        help: "scroll up",
    },
    Binding {
        keys: &[named(KeyCode::PageDown)],
        command: Command::PageDown,
        hint: "",
        help: "a page down",
    },
    Binding {
        keys: &[named(KeyCode::PageUp)],
        command: Command::PageUp,
        hint: "",
        help: "a page up",
    },
    Binding {
        keys: &[char('g'), named(KeyCode::Home)],
        command: Command::First,
        hint: "",
        help: "to the top",
    },
    Binding {
        keys: &[char('G'), named(KeyCode::End)],
        command: Command::Last,
        hint: "",
        help: "to the end",
    },
];

pub(crate) const PROMPT: &[Binding] = &[
    edit(
        &[named(KeyCode::Enter)],
        Edit::Accept,
        "accept",
        "accept the regex",
    ),
    edit(
        &[named(KeyCode::Esc), control('c'), control('g')],
        Edit::Cancel,
        "cancel",
        "leave it as it was",
    ),
    edit(&[control('u')], Edit::Clear, "clear", "clear the line"),
    edit(&[control('w')], Edit::DeleteWord, "", "delete a word"),
    edit(
        &[named(KeyCode::Backspace), control('h')],
        Edit::DeleteBack,
        "",
        "delete before the cursor",
    ),
    edit(
        &[named(KeyCode::Delete), control('d')],
        Edit::DeleteForward,
        "",
        "delete under the cursor",
    ),
    edit(
        &[named(KeyCode::Left), control('b')],
        Edit::Left,
        "",
        "cursor left",
    ),
    edit(
        &[named(KeyCode::Right), control('f')],
        Edit::Right,
        "",
        "cursor right",
    ),
    edit(
        &[named(KeyCode::Home), control('a')],
        Edit::Home,
        "",
        "to the beginning",
    ),
    edit(
        &[named(KeyCode::End), control('e')],
        Edit::End,
        "",
        "to the end",
    ),
];

const fn edit(keys: &'static [Key], edit: Edit, hint: &'static str, help: &'static str) -> Binding {
    Binding {
        keys,
        command: Command::Edit(edit),
        hint,
        help,
    }
}

/// The tables of the help of `view`, with their headings.
pub(crate) fn help_sections(view: ViewId) -> [(&'static str, &'static [Binding]); 3] {
    [
        (view.title(), view.bindings()),
        ("Everywhere", COMMON),
        ("While typing a regex", PROMPT),
    ]
}

/// The keys that move in every view that has a selection: one spelling for all of them.
pub(crate) mod moves {
    use super::{Key, char, named};
    use crossterm::event::KeyCode;

    pub(crate) const UP: &[Key] = &[char('k'), named(KeyCode::Up)];
    pub(crate) const DOWN: &[Key] = &[char('j'), named(KeyCode::Down)];
    pub(crate) const LEFT: &[Key] = &[char('h'), named(KeyCode::Left)];
    pub(crate) const RIGHT: &[Key] = &[char('l'), named(KeyCode::Right)];
    pub(crate) const PAGE_UP: &[Key] = &[named(KeyCode::PageUp), super::control('b')];
    pub(crate) const PAGE_DOWN: &[Key] = &[named(KeyCode::PageDown), super::control('f')];
    pub(crate) const FIRST: &[Key] = &[char('g'), named(KeyCode::Home)];
    pub(crate) const LAST: &[Key] = &[char('G'), named(KeyCode::End)];
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_table_gives_one_key_two_meanings() {
        for focus in ViewId::ALL.iter().map(|v| Focus::View(*v)).chain([
            Focus::Page,
            Focus::Prompt,
            Focus::Loading,
        ]) {
            for table in focus.tables() {
                let mut seen = HashSet::new();
                for key in table.iter().flat_map(|row| row.keys) {
                    assert!(
                        seen.insert(*key),
                        "{} means two things in {focus:?}",
                        key.label()
                    );
                }
            }
        }
    }

    #[test]
    fn no_help_is_cut_on_eighty_columns() {
        for view in ViewId::ALL {
            for row in help_sections(view).iter().flat_map(|(_, rows)| *rows) {
                assert!(row.help.len() <= 26, "{}", row.help);
            }
        }
    }

    #[test]
    fn control_c_gets_out_of_everything() {
        let event = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        for view in ViewId::ALL {
            assert_eq!(Focus::View(view).command(event), Some(Command::Quit));
        }
        assert_eq!(Focus::Page.command(event), Some(Command::Quit));
        assert_eq!(Focus::Loading.command(event), Some(Command::Quit));
        assert_eq!(
            Focus::Prompt.command(event),
            Some(Command::Edit(Edit::Cancel))
        );
    }

    #[test]
    fn the_digit_of_a_view_is_its_place_among_the_tabs() {
        for (index, view) in ViewId::ALL.into_iter().enumerate() {
            let digit = std::char::from_digit(index as u32 + 1, 10).expect("fewer than ten views");
            let event = KeyEvent::new(KeyCode::Char(digit), KeyModifiers::NONE);
            assert_eq!(
                Focus::View(ViewId::Overview).command(event),
                Some(Command::Show(view))
            );
        }
    }

    #[test]
    fn capitals_arrive_with_or_without_the_shift_flag() {
        for modifiers in [KeyModifiers::NONE, KeyModifiers::SHIFT] {
            let event = KeyEvent::new(KeyCode::Char('M'), modifiers);
            assert_eq!(
                Focus::View(ViewId::Overview).command(event),
                Some(Command::PreviousMeasure)
            );
        }
    }
}
