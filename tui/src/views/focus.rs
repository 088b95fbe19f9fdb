//! The meaning of keys: one table for look-up, help and hint bar, so that they cannot differ.
//!
//! A view adds its own rows (its `BINDINGS`), which override the common ones. No other code
//! compares keys.

use std::collections::HashSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{
    advice, arenas, fields, flame, heap, leaks, overview, phases, sites, threads, time, types,
};
use crate::model::keys::{
    BACK, Binding, DOWN, ENTER, FIRST, Key, LAST, UP, bindings, char, control, named,
};
use crate::model::{Command, Edit, ViewId};

/// Returns the rows of the key table that only this view has.
fn bindings_of(view: ViewId) -> &'static [Binding] {
    match view {
        ViewId::Overview => overview::BINDINGS,
        ViewId::Flamegraph => flame::BINDINGS,
        ViewId::Types => types::BINDINGS,
        ViewId::Fields => fields::BINDINGS,
        ViewId::Sites => sites::BINDINGS,
        ViewId::Threads => threads::BINDINGS,
        ViewId::Arenas => arenas::BINDINGS,
        ViewId::Time => time::BINDINGS,
        ViewId::Leaks => leaks::BINDINGS,
        ViewId::Heap => heap::BINDINGS,
        ViewId::Advice => advice::BINDINGS,
        ViewId::Phases => phases::BINDINGS,
    }
}

/// The part of the UI that receives keys, which decides the rows that apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    /// Nothing loaded yet.
    Loading,
    View(ViewId),
    /// A view for which the recording has nothing.
    Empty,
    /// A page that covers the views.
    Page,
    /// A list to choose from.
    Menu,
    /// A list to choose from by typing.
    Palette,
    Prompt,
}

impl Focus {
    /// Returns the tables that apply. The first table that has a key wins.
    fn tables(self) -> [&'static [Binding]; 3] {
        match self {
            Focus::Loading => [LOADING, &[], &[]],
            Focus::View(view) => [bindings_of(view), MOVES, COMMON],
            Focus::Empty => [&[], &[], COMMON],
            Focus::Page => [PAGE, MOVES, COVERED],
            Focus::Menu => [MENU, MOVES, COVERED],
            Focus::Palette => [PALETTE, PROMPT, &[]],
            Focus::Prompt => [PROMPT, &[], &[]],
        }
    }

    /// Returns the tables, without rows whose keys are all taken by earlier tables.
    pub(crate) fn sections(self) -> [Vec<&'static Binding>; 3] {
        let mut taken: HashSet<Key> = HashSet::new();
        self.tables().map(|table| {
            let open = |row: &&Binding| !row.keys.iter().all(|key| taken.contains(key));
            let rows: Vec<&'static Binding> = table.iter().filter(open).collect();
            taken.extend(table.iter().flat_map(|row| row.keys));
            rows
        })
    }

    /// Returns the command for `event`.
    pub(crate) fn command(self, event: KeyEvent) -> Option<Command> {
        let rows = self.tables().into_iter().flatten();
        rows.into_iter()
            .find(|row| row.keys.iter().any(|key| key.is(event)))
            .map(|row| row.command)
    }

    /// Returns the text that `event` types into the prompt, if the prompt has the focus.
    pub(crate) fn typed(self, event: KeyEvent) -> Option<String> {
        let plain = !event
            .modifiers
            .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match event.code {
            KeyCode::Char(c) if matches!(self, Focus::Prompt | Focus::Palette) && plain => {
                Some(c.to_string())
            }
            _ => None,
        }
    }
}

const LOADING: &[Binding] = bindings! {
    [char('q'), control('c')] => Quit, "quit", "quit";
    [control('z')] => Suspend, "", "suspend; fg resumes";
};

/// Keys behind pages and lists, which `q` closes.
const COVERED: &[Binding] = bindings! {
    [control('c')] => Quit, "quit", "quit";
    [control('z')] => Suspend, "", "suspend; fg resumes";
};

/// Keys that move, the same in every view and page.
const MOVES: &[Binding] = bindings! {
    DOWN => Down, "move", "move down";
    UP => Up, "move", "move up";
    [named(KeyCode::PageDown), control('f')] => PageDown, "", "move down a page";
    [named(KeyCode::PageUp), control('b')] => PageUp, "", "move up a page";
    FIRST => First, "", "go to the first";
    LAST => Last, "", "go to the last";
};

const COMMON: &[Binding] = bindings! {
    [char('?'), named(KeyCode::F(1))] => Help, "help", "show this help";
    [char('!')] => About, "", "describe the recording";
    [char('q'), control('c')] => Quit, "quit", "quit";
    [control('z')] => Suspend, "", "suspend; fg resumes";
    [named(KeyCode::Tab)] => NextView, "view", "show the next view";
    [named(KeyCode::BackTab)] => PreviousView, "", "show the previous view";
    [char('1')] => Show(ViewId::Overview), "", "show the overview";
    [char('2')] => Show(ViewId::Flamegraph), "", "show the flamegraph";
    [char('3')] => Show(ViewId::Types), "", "show types";
    [char('4')] => Show(ViewId::Fields), "", "show fields";
    [char('5')] => Show(ViewId::Sites), "", "show sites";
    [char('6')] => Show(ViewId::Threads), "", "show threads";
    [char('7')] => Show(ViewId::Arenas), "", "show arenas";
    [char('8')] => Show(ViewId::Time), "", "show the heap over time";
    [char('9')] => Show(ViewId::Leaks), "", "show leaks";
    [char('0')] => Show(ViewId::Heap), "", "show who holds the heap";
    [char('A')] => Show(ViewId::Advice), "", "show advice";
    [char('P')] => Show(ViewId::Phases), "", "show phases";
    [char('m')] => Measures, "", "choose a measure";
    [char('M')] => PreviousMeasure, "", "use the measure before";
    [char('E')] => OpenEditor, "", "open the line in $EDITOR";
    [char('y')] => CopyPlace, "", "copy path and line";
    [char('x')] => Formats, "", "write as SVG, HTML or CSV";
    [char('t')] => Theme, "", "switch light and dark";
    [char('z')] => Zoom, "", "enlarge or shrink a pane";
    [char(':'), control('p')] => Palette, "", "list the commands";
    [char(' ')] => Pause, "", "pause or resume";
    [char('r'), control('l')] => Reload, "", "reload now";
    [char('H')] => Snapshot, "", "take a heap snapshot";
    [char('B')] => BaseIsNow, "", "show changes from now on";
    BACK => Back, "", "go one level out";
};

const PAGE: &[Binding] = bindings! {
    [named(KeyCode::Esc), char('q'), char('?'), named(KeyCode::F(1)), char('!')] => Back, "close", "close the page";
};

const MENU: &[Binding] = bindings! {
    ENTER => Enter, "choose", "choose the selected row";
    [named(KeyCode::Esc), char('q'), named(KeyCode::Backspace)] => Back, "close", "close the list";
    [char('m'), named(KeyCode::Tab)] => Down, "", "move down";
};

const PALETTE: &[Binding] = bindings! {
    ENTER => Enter, "run", "run the selected command";
    [named(KeyCode::Esc), control('c'), control('g')] => Back, "close", "close the list";
    [named(KeyCode::Down), control('n'), named(KeyCode::Tab)] => Down, "move", "move down";
    [named(KeyCode::Up), control('p'), named(KeyCode::BackTab)] => Up, "move", "move up";
    [named(KeyCode::PageDown)] => PageDown, "", "move down a page";
    [named(KeyCode::PageUp)] => PageUp, "", "move up a page";
};

const PROMPT: &[Binding] = bindings! {
    ENTER => Edit(Edit::Accept), "accept", "accept the regex";
    [named(KeyCode::Esc), control('c'), control('g')] => Edit(Edit::Cancel), "cancel", "undo and close";
    [control('u')] => Edit(Edit::Clear), "clear", "clear the line";
    [control('w')] => Edit(Edit::DeleteWord), "", "delete a word";
    [named(KeyCode::Backspace), control('h')] => Edit(Edit::DeleteBack), "", "delete before the cursor";
    [named(KeyCode::Delete), control('d')] => Edit(Edit::DeleteForward), "", "delete under the cursor";
    [named(KeyCode::Left), control('b')] => Edit(Edit::Left), "", "move left";
    [named(KeyCode::Right), control('f')] => Edit(Edit::Right), "", "move right";
    [named(KeyCode::Home), control('a')] => Edit(Edit::Home), "", "go to the beginning";
    [named(KeyCode::End), control('e')] => Edit(Edit::End), "", "go to the end";
};

/// A heading, with the rows whose keys are not all taken by earlier tables.
pub(crate) type Section = (&'static str, Vec<&'static Binding>);

/// Returns the tables for the help of `view`, with headings.
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
            Focus::Empty,
            Focus::Page,
            Focus::Menu,
            Focus::Palette,
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
    fn the_key_on_a_tab_shows_its_view() {
        for view in ViewId::ALL {
            let event = KeyEvent::new(KeyCode::Char(view.key()), KeyModifiers::NONE);
            for from in ViewId::ALL {
                assert_eq!(Focus::View(from).command(event), Some(Command::Show(view)));
            }
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
