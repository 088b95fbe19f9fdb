//! The keys: one table from which look-up, help and hint bar are all made, so none can drift from the others.
//!
//! A view brings its own rows (its `BINDINGS`), which win over the common ones; no key is compared anywhere else.

use std::collections::HashSet;

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
    fn tables(self) -> [&'static [Binding]; 3] {
        match self {
            Focus::Loading => [LOADING, &[], &[]],
            Focus::View(view) => [view.bindings(), MOVES, COMMON],
            Focus::Page => [PAGE, MOVES, LOADING],
            Focus::Prompt => [PROMPT, &[], &[]],
        }
    }

    /// The tables, each without the rows that an earlier one takes all keys of.
    pub(crate) fn sections(self) -> [Vec<&'static Binding>; 3] {
        let mut taken: HashSet<Key> = HashSet::new();
        self.tables().map(|table| {
            let open = |row: &&Binding| !row.keys.iter().all(|key| taken.contains(key));
            let rows: Vec<&'static Binding> = table.iter().filter(open).collect();
            taken.extend(table.iter().flat_map(|row| row.keys));
            rows
        })
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

/// A table of keys, a row each: `keys => command, hint, help;`. An empty hint is only in the help.
macro_rules! bindings {
    ($($keys:expr => $command:ident $(($of:expr))?, $hint:literal, $help:literal;)*) => {
        &[$($crate::app::keys::Binding {
            keys: &$keys,
            command: $crate::app::Command::$command $(($of))?,
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

const LOADING: &[Binding] = bindings! {
    [char('q'), control('c')] => Quit, "quit", "quit";
};

/// In every view and page: one spelling for what moves.
const MOVES: &[Binding] = bindings! {
    DOWN => Down, "move", "down";
    UP => Up, "move", "up";
    [named(KeyCode::PageDown), control('f')] => PageDown, "", "a page down";
    [named(KeyCode::PageUp), control('b')] => PageUp, "", "a page up";
    FIRST => First, "", "to the first";
    LAST => Last, "", "to the last";
};

const COMMON: &[Binding] = bindings! {
    [char('?'), named(KeyCode::F(1))] => Help, "help", "this help";
    [char('!')] => About, "", "the recording, its losses";
    [char('q'), control('c')] => Quit, "quit", "quit";
    [named(KeyCode::Tab)] => NextView, "view", "next view";
    [named(KeyCode::BackTab)] => PreviousView, "", "previous view";
    [char('1')] => Show(ViewId::Overview), "", "overview";
    [char('2')] => Show(ViewId::Flamegraph), "", "flamegraph";
    [char('3')] => Show(ViewId::Types), "", "types";
    [char('4')] => Show(ViewId::Fields), "", "fields";
    [char('5')] => Show(ViewId::Sites), "", "sites";
    [char('6')] => Show(ViewId::Threads), "", "threads";
    [char('7')] => Show(ViewId::Arenas), "", "arenas";
    [char('m')] => NextMeasure, "", "next measure";
    [char('M')] => PreviousMeasure, "", "previous measure";
    [char(' ')] => Pause, "", "pause the live view";
    [char('r'), control('l')] => Reload, "", "load it again now";
    BACK => Back, "", "one level out";
};

const PAGE: &[Binding] = bindings! {
    [named(KeyCode::Esc), char('?'), named(KeyCode::F(1)), char('!'), named(KeyCode::Enter)] => Back, "close", "close the page";
};

const PROMPT: &[Binding] = bindings! {
    ENTER => Edit(Edit::Accept), "accept", "accept the regex";
    [named(KeyCode::Esc), control('c'), control('g')] => Edit(Edit::Cancel), "cancel", "leave it as it was";
    [control('u')] => Edit(Edit::Clear), "clear", "clear the line";
    [control('w')] => Edit(Edit::DeleteWord), "", "delete a word";
    [named(KeyCode::Backspace), control('h')] => Edit(Edit::DeleteBack), "", "delete before the cursor";
    [named(KeyCode::Delete), control('d')] => Edit(Edit::DeleteForward), "", "delete under the cursor";
    [named(KeyCode::Left), control('b')] => Edit(Edit::Left), "", "cursor left";
    [named(KeyCode::Right), control('f')] => Edit(Edit::Right), "", "cursor right";
    [named(KeyCode::Home), control('a')] => Edit(Edit::Home), "", "to the beginning";
    [named(KeyCode::End), control('e')] => Edit(Edit::End), "", "to the end";
};

/// A heading, and the rows of a table that no earlier table takes all keys of.
pub(crate) type Section = (&'static str, Vec<&'static Binding>);

/// The tables of the help of `view`, with their headings.
pub(crate) fn help_sections(view: ViewId) -> [Section; 4] {
    let [own, moves, common] = Focus::View(view).sections();
    [
        (view.title(), own),
        ("Moving", moves),
        ("Everywhere", common),
        ("While typing a regex", PROMPT.iter().collect()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

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
            for row in help_sections(view).iter().flat_map(|(_, rows)| rows) {
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
