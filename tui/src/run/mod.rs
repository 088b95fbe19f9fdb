//! The main loop: reads keys and loaded profiles, and draws screens. Generic over terminal and
//! event source, so that tests can run all of it. Its only state is that of the loop; `update`
//! decides what messages mean.

mod editor;
mod events;
mod loader;
#[cfg(all(test, target_os = "linux"))]
mod pty;
mod terminal;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::path::Path;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyEventKind, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::layout::{Position, Size};

use crate::app::{App, Request, update};
use crate::model::{Action, Message, Pointer};
use crate::{Error, Options, Source, screen};
use events::{Events, TerminalEvents};
use loader::Loader;

/// The longest wait for a key before the loop looks for a loaded profile.
const PATIENCE: Duration = Duration::from_millis(100);

/// The longest time to take in pasted or repeated keys before drawing again.
const BURST: Duration = Duration::from_millis(30);

/// Shows `source` on the terminal until the user quits.
///
/// Blocks until then. Puts the terminal into raw mode on its alternate screen and always restores
/// it: on quit, error, panic, SIGINT, SIGTERM, SIGQUIT or SIGHUP. Does not wait for a load that is
/// still in progress on its own thread.
///
/// After this call, these signals no longer end the process by default. A program that continues
/// must handle them itself.
///
/// # Errors
///
/// Returns an error if standard input or output is not a terminal, if the terminal fails, or if the
/// first load fails ([`Error::is_load`]). The terminal is then already restored, and the error is
/// not printed.
pub fn run(source: impl Source, options: Options) -> Result<(), Error> {
    let mut app = App::new(source.title(), options);
    let (mut terminal, guard) = terminal::enter()?;
    let loader = Loader::start(source, &app.options, app.tree_options());
    let mut events = TerminalEvents::new()?;
    let result = main_loop(&mut terminal, &mut events, &loader, &mut app);
    drop(guard);
    result
}

fn main_loop<B: Backend>(
    terminal: &mut Terminal<B>,
    events: &mut impl Events,
    loader: &Loader,
    app: &mut App,
) -> Result<(), Error>
where
    B::Error: Display,
{
    let size = terminal
        .size()
        .map_err(|error| Error::terminal("asking for its size", error))?;
    update(app, Message::Resized(size));
    let mut stale = true;
    loop {
        while let Some(message) = loader.next() {
            update(app, message);
            stale = true;
        }
        for request in std::mem::take(&mut app.requests) {
            stale = true;
            match request {
                Request::Load(order) => loader.order(order),
                Request::Copy(text) => events.copy(&text)?,
                Request::Write(export) => {
                    let written = export.write_into(Path::new("."));
                    update(app, written.map_or_else(Message::Notice, Message::Written));
                }
                Request::Suspend => {
                    events.suspend()?;
                    clear(terminal)?;
                }
                Request::Edit(path, line) => {
                    let text = events.edit(&path, line)?;
                    clear(terminal)?;
                    update(app, Message::Notice(text));
                }
            }
        }
        if let Some(exit) = app.exit.take() {
            return exit;
        }
        if stale {
            terminal
                .draw(|frame| screen::view(app, frame))
                .map_err(|error| Error::terminal("drawing", error))?;
        }
        stale = take_events(events, app)?;
    }
}

/// Makes the next drawing write the whole screen, because another program may have written to it.
fn clear<B: Backend>(terminal: &mut Terminal<B>) -> Result<(), Error>
where
    B::Error: Display,
{
    let cleared = terminal.clear();
    cleared.map_err(|error| Error::terminal("drawing", error))
}

/// Handles pending events. Returns `true` if the screen must be drawn again.
fn take_events(events: &mut impl Events, app: &mut App) -> Result<bool, Error> {
    let mut patience = PATIENCE;
    let mut taken = false;
    let begun = Instant::now();
    while let Some(event) = events.next(patience)? {
        if let Some(message) = message_of(app, &event) {
            update(app, message);
            taken = true;
        }
        if app.exit.is_some() || (taken && begun.elapsed() > PATIENCE + BURST) {
            break;
        }
        patience = Duration::ZERO;
    }
    // The loading screen has an animation.
    if !taken && app.data.is_none() {
        update(app, Message::Tick);
        taken = true;
    }
    Ok(taken)
}

fn message_of(app: &App, event: &Event) -> Option<Message> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            let focus = app.focus();
            let command = focus.command(*key).map(Message::Command);
            command.or_else(|| focus.typed(*key).map(Message::Typed))
        }
        Event::Mouse(mouse) => pointed(app, *mouse),
        Event::Paste(text) => Some(Message::Typed(text.clone())),
        Event::Resize(width, height) => Some(Message::Resized(Size::new(*width, *height))),
        _ => None,
    }
}

/// Returns the message of the mouse: a command for a click on a tab, else the event itself.
pub(crate) fn pointed(app: &App, mouse: MouseEvent) -> Option<Message> {
    let action = match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => Action::Press,
        MouseEventKind::Drag(MouseButton::Left) => Action::Drag,
        MouseEventKind::ScrollUp => Action::WheelUp,
        MouseEventKind::ScrollDown => Action::WheelDown,
        _ => return None,
    };
    let at = Position::new(mouse.column, mouse.row);
    let is_covered = app.menu.is_some() || app.page.is_some() || app.prompt.is_some();
    let command = screen::command_at(app, at).filter(|_| action == Action::Press && !is_covered);
    let pointed = || Message::Pointed(Pointer { at, action });
    Some(command.map_or_else(pointed, Message::Command))
}
