//! The state of the terminal. A guard restores it on every way out, and the panic hook restores it
//! before a panic is printed.

use std::io::{IsTerminal, Stdout, stdin, stdout};
use std::panic::{self, PanicHookInfo};
use std::sync::{Arc, Mutex};

use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use crate::Error;

type Hook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

/// Restores the terminal when dropped.
pub(super) struct Guard {
    previous: Arc<Hook>,
    /// Panics of other threads, printed only after the terminal is restored.
    panics: Arc<Mutex<Vec<String>>>,
}

/// Sets up the terminal for the UI.
pub(super) fn enter() -> Result<(Terminal<CrosstermBackend<Stdout>>, Guard), Error> {
    if !stdin().is_terminal() || !stdout().is_terminal() {
        return Err(Error::terminal(
            "starting",
            "standard input or output is not a terminal",
        ));
    }
    let failed = |error| Error::terminal("starting", error);
    let guard = Guard::new();
    take()?;
    let terminal = Terminal::new(CrosstermBackend::new(stdout())).map_err(failed)?;
    Ok((terminal, guard))
}

/// Enters raw mode on the alternate screen.
pub(super) fn take() -> Result<(), Error> {
    let failed = |error| Error::terminal("starting", error);
    enable_raw_mode().map_err(failed)?;
    execute!(
        stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        EnableMouseCapture
    )
    .map_err(failed)
}

/// Restores the terminal. Ignores errors, because there is no terminal to report them on.
pub(super) fn leave() {
    let _ = disable_raw_mode();
    let _ = execute!(
        stdout(),
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        Show
    );
}

impl Guard {
    fn new() -> Guard {
        let previous: Arc<Hook> = Arc::from(panic::take_hook());
        let panics: Arc<Mutex<Vec<String>>> = Arc::default();
        let ui = std::thread::current().id();
        panic::set_hook(Box::new({
            let (previous, panics) = (Arc::clone(&previous), Arc::clone(&panics));
            move |info| {
                if std::thread::current().id() == ui || cfg!(panic = "abort") {
                    leave();
                    previous(info);
                } else if let Ok(mut panics) = panics.lock() {
                    // The UI continues for a moment, so do not print on its screen.
                    panics.push(info.to_string());
                }
            }
        }));
        Guard { previous, panics }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        leave();
        // The hook cannot be changed while unwinding, and the process is about to end.
        if !std::thread::panicking() {
            let previous = Arc::clone(&self.previous);
            panic::set_hook(Box::new(move |info| previous(info)));
        }
        if let Ok(panics) = self.panics.lock() {
            for panic in panics.iter() {
                eprintln!("{panic}");
            }
        }
    }
}
