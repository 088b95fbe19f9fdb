//! Tests of the whole UI on a test terminal: snapshots of screens, colours, random keys, the main
//! loop.
//!
//! `cargo bless` accepts intended changes of screens.

mod arenas;
mod base;
mod colours;
mod habits;
mod large;
mod new_views;
mod picture;
mod questions;
mod random;
mod real;
mod screens;
mod search;
mod speed;
mod wasm;

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use heapglass_fixture as fixture;
use heapglass_profiler::profile::{Figures, Profile, Thread};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};
use ratatui::style::Modifier;

use crate::app::{App, areas, update};
use crate::model::{Data, Message};
use crate::run::pointed;
use crate::{Options, screen};

/// The sizes of screens that are snapshotted.
const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

/// Snapshots the screen after `keys` at each of the sizes.
macro_rules! snapshots {
    ($sample:path: $($name:ident: $keys:expr;)*) => {$(
        #[test]
        fn $name() {
            for (width, height) in crate::tests::SIZES {
                let mut screen = $sample(width, height);
                let text = screen.press($keys).text();
                insta::assert_snapshot!(format!("{}_{width}x{height}", stringify!($name)), text);
            }
        }
    )*};
}
use snapshots;

/// Snapshots the rows that matter after `keys` at each of the sizes, all of a sample together: the
/// first line of the view, and what is selected.
macro_rules! selected_rows {
    ($test:ident, $sample:path: $($name:ident: $keys:expr;)*) => {
        #[test]
        fn $test() {
            let mut text = String::new();
            $(
                text.push_str(&format!("{} ({})\n", stringify!($name), $keys));
                for (width, height) in crate::tests::SIZES {
                    let mut screen = $sample(width, height);
                    let rows = screen.press($keys).rows();
                    text.push_str(&format!("{width}x{height}\n{rows}"));
                }
            )*
            insta::assert_snapshot!(stringify!($test), text);
        }
    };
}
use selected_rows;

/// An app on a test terminal.
pub(crate) struct Screen {
    pub(crate) app: App,
    terminal: Terminal<TestBackend>,
}

impl Screen {
    /// Creates a screen with nothing loaded.
    pub(crate) fn empty(width: u16, height: u16, options: Options) -> Screen {
        let mut app = App::new("cities.hg".into(), options);
        update(&mut app, Message::Resized(Size::new(width, height)));
        let terminal = Terminal::new(TestBackend::new(width, height)).expect("a test terminal");
        Screen { app, terminal }
    }

    /// Creates a screen with the sample profile.
    pub(crate) fn sample(width: u16, height: u16) -> Screen {
        let options = Options {
            source_roots: vec!["src/tests/cities".into()],
            ..Options::default()
        };
        let mut screen = Screen::empty(width, height, options);
        screen.load(profile(), false);
        screen
    }

    /// Creates a screen with the sample that has fields, types and footprints.
    pub(crate) fn fleet(width: u16, height: u16) -> Screen {
        let options = Options {
            source_roots: Vec::new(),
            ..Options::default()
        };
        let mut screen = Screen::empty(width, height, options);
        screen.load(fleet(), false);
        screen
    }

    pub(crate) fn load(&mut self, profile: Profile, live: bool) {
        let base = self.app.options.base.clone();
        let data = Arc::new(Data::new(profile, base));
        let title = self.app.title.clone();
        update(&mut self.app, Message::Loaded { data, live, title });
    }

    /// Presses keys, named as in the table: `j`, `Enter`, `^U`. Types other words letter by letter.
    pub(crate) fn press(&mut self, keys: &str) -> &mut Screen {
        for word in keys.split_whitespace() {
            match named(word) {
                Some(event) => self.key(event),
                None => word
                    .chars()
                    .for_each(|c| self.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE))),
            }
        }
        self
    }

    pub(crate) fn key(&mut self, event: KeyEvent) {
        let focus = self.app.focus();
        let message = focus
            .command(event)
            .map(Message::Command)
            .or(focus.typed(event).map(Message::Typed));
        if let Some(message) = message {
            update(&mut self.app, message);
        }
    }

    pub(crate) fn mouse(&mut self, kind: MouseEventKind, column: u16, row: u16) -> &mut Screen {
        let modifiers = KeyModifiers::NONE;
        let event = MouseEvent {
            kind,
            column,
            row,
            modifiers,
        };
        if let Some(message) = pointed(&self.app, event) {
            update(&mut self.app, message);
        }
        self
    }

    /// Clicks the first cell of `text`.
    pub(crate) fn click(&mut self, text: &str) -> &mut Screen {
        let shown = self.text();
        let mut lines = (0..).zip(shown.lines());
        let found = lines.find_map(|(row, line)| {
            // Each line begins with a quotation mark.
            let at = line.find(text)?;
            Some((line.get(..at)?.chars().count() as u16 - 1, row))
        });
        let (column, row) = found.unwrap_or_else(|| panic!("no {text}:\n{shown}"));
        self.mouse(MouseEventKind::Down(MouseButton::Left), column, row)
    }

    pub(crate) fn resize(&mut self, width: u16, height: u16) {
        self.terminal.backend_mut().resize(width, height);
        update(&mut self.app, Message::Resized(Size::new(width, height)));
    }

    pub(crate) fn draw(&mut self) -> &Buffer {
        let app = &self.app;
        self.terminal
            .draw(|frame| screen::view(app, frame))
            .expect("drawing into memory");
        self.terminal.backend().buffer()
    }

    /// Returns the first line of the view, and each line with what is selected in it.
    fn rows(&mut self) -> String {
        let screen = Rect::from((Position::ORIGIN, self.app.size));
        let [_, _, _, body, _] = areas(screen, &self.app);
        let top = body.y;
        let buffer = self.draw();
        let line = |y: u16, of: &dyn Fn(&Cell) -> bool| {
            let cells = (0..buffer.area.width)
                .map(|x| &buffer[(x, y)])
                .filter(|cell| of(cell))
                .map(Cell::symbol);
            cells.collect::<String>().trim_end().to_owned()
        };
        let is_selected = |cell: &Cell| cell.modifier.contains(Modifier::REVERSED);
        let mut text = format!("  {}\n", line(top, &|_| true));
        for y in top..buffer.area.height.saturating_sub(1) {
            let selected = line(y, &is_selected);
            if !selected.is_empty() {
                text.push_str(&format!("> {selected}\n"));
            }
        }
        text
    }

    /// Returns the characters on the screen.
    pub(crate) fn text(&mut self) -> String {
        self.draw();
        self.terminal.backend().to_string()
    }
}

fn named(word: &str) -> Option<KeyEvent> {
    let code = match word {
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Tab" => KeyCode::Tab,
        "BackTab" => KeyCode::BackTab,
        "Backspace" => KeyCode::Backspace,
        "Space" => KeyCode::Char(' '),
        "PgUp" => KeyCode::PageUp,
        "PgDn" => KeyCode::PageDown,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        _ => {
            let control = word.strip_prefix('^')?.chars().next()?.to_ascii_lowercase();
            return Some(KeyEvent::new(KeyCode::Char(control), KeyModifiers::CONTROL));
        }
    };
    Some(KeyEvent::new(code, KeyModifiers::NONE))
}

/// Returns the sample without a start time, so that the clock of this machine does not decide
/// whether its sources changed.
pub(crate) fn profile() -> Profile {
    let mut profile = fixture::profile();
    profile.parts().process.started_unix_ns = 0;
    profile
}

/// Returns the sample with fields, types and footprints.
pub(crate) fn fleet() -> Profile {
    let mut profile = fixture::fleet();
    profile.parts().process.started_unix_ns = 0;
    profile
}

/// Returns the sample with two numbered workers.
pub(crate) fn with_workers() -> Profile {
    let mut profile = profile();
    for (number, total_bytes) in [(1, 1 << 20), (12, 3 << 20)] {
        profile.parts().threads.push(fixture::made!(Thread {
            name: format!("worker-{number}"),
            count: 1,
            figures: fixture::made!(Figures {
                total_bytes,
                total_blocks: 2,
            }),
        }));
    }
    profile
}

/// Returns a profile before its functions have names: the same sites with other frames.
fn unnamed() -> Arc<Data> {
    let mut profile = profile();
    for frame in profile.parts().frames {
        (frame.file, frame.line, frame.inlined) = (None, None, false);
    }
    let mut data = Data::new(profile, None);
    data.is_early = true;
    Arc::new(data)
}

#[test]
fn what_was_selected_before_names_were_there_stays_selected() {
    let mut screen = Screen::empty(120, 40, Options::default());
    update(&mut screen.app, Message::Early(unnamed()));
    // The functions in the stack of the selected site, below the list.
    let stack = |screen: &mut Screen| -> Vec<String> {
        let text = screen.text();
        let below = text
            .lines()
            .skip_while(|line| !line.contains("innermost first"));
        let names = below
            .skip(1)
            .take(4)
            .map(|line| line.trim_start().chars().take(24));
        names.map(Iterator::collect).collect()
    };
    screen.press("5");
    let first = stack(&mut screen);
    screen.press("jj");
    let third = stack(&mut screen);
    assert_ne!(third, first);
    screen.load(profile(), false);
    assert_eq!(stack(&mut screen), third);
}

#[test]
fn a_load_that_fails_after_the_figures_are_shown_ends_with_its_error() {
    let mut screen = Screen::empty(120, 40, Options::default());
    update(&mut screen.app, Message::Early(unnamed()));
    assert!(screen.app.exit.is_none());
    update(
        &mut screen.app,
        Message::LoadFailed("cannot read symbols".into()),
    );
    let error = screen.app.exit.and_then(Result::err).expect("an error");
    assert!(error.to_string().contains("cannot read symbols"), "{error}");
}

#[test]
fn a_profile_without_names_is_shown_until_the_one_with_names_is_there() {
    let mut screen = Screen::empty(120, 40, Options::default());
    let data = unnamed();
    update(&mut screen.app, Message::Early(Arc::clone(&data)));
    let doing = "reading symbols of cities: 3 of 40";
    update(&mut screen.app, Message::Progress(doing.into()));
    let early = screen.text();
    assert!(early.contains(doing), "{early}");
    screen.load(profile(), false);
    let named = screen.text();
    assert!(!named.contains("reading symbols"), "{named}");
    // While live, the names of the previous load stay visible.
    update(&mut screen.app, Message::Early(data));
    assert_eq!(screen.text(), named);
}
