//! The main loop: keys and loaded profiles in, screens out. Generic over terminal and event source, so tests run it whole.
//! It owns no state but the loop's; what anything means is `update`'s business.

mod events;
mod loader;
mod terminal;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyEventKind};
use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::layout::Size;

use crate::app::{App, Request, update};
use crate::model::Message;
use crate::{Error, Options, Source, screen};
use events::{Events, TerminalEvents};
use loader::Loader;

/// The longest the loop waits for a key before it looks for a loaded profile.
const PATIENCE: Duration = Duration::from_millis(100);

/// The longest a run of pasted or repeated keys is taken in before the screen is drawn again.
const BURST: Duration = Duration::from_millis(30);

/// Shows `source` on the terminal until the user quits.
///
/// Blocks. Puts the terminal into raw mode on its alternate screen and brings it back whatever happens: quit, error,
/// panic, SIGINT, SIGTERM, SIGQUIT or SIGHUP. A load still under way on its own thread is not waited for.
///
/// From then on those signals do nothing by themselves: a program that goes on handles them itself.
///
/// # Errors
///
/// When standard input and output are no terminal, when the terminal fails, and when the first load does
/// ([`Error::is_load`]): the terminal is as before by then, and the error not yet printed.
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
        for request in app.requests.drain(..) {
            match request {
                Request::Load(order) => loader.order(order),
                Request::Suspend => {
                    events.suspend()?;
                    // What the shell wrote meanwhile is not known.
                    terminal
                        .clear()
                        .map_err(|error| Error::terminal("drawing", error))?;
                    stale = true;
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

/// Takes in what was pressed; `true` when the screen must be drawn again.
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
    // The loading screen has something that turns.
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
        Event::Paste(text) => Some(Message::Typed(text.clone())),
        Event::Resize(width, height) => Some(Message::Resized(Size::new(*width, *height))),
        _ => None,
    }
}
