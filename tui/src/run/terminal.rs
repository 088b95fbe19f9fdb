//! The state of the terminal. A guard restores it on every way out, and the panic hook restores it
//! before a panic is printed.

use std::io::{IsTerminal, Stdout, stdin, stdout};
use std::panic::{self, PanicHookInfo};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crossterm::cursor::{MoveTo, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::execute;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use crate::Error;

type Hook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

/// `true` while the UI has the screen.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

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

/// Enters raw mode on the alternate screen. GNU screen and the Linux console have none by default,
/// so what is on the screen has to be erased.
pub(super) fn take() -> Result<(), Error> {
    let failed = |error| Error::terminal("starting", error);
    enable_raw_mode().map_err(failed)?;
    IS_TAKEN.store(true, Ordering::Relaxed);
    execute!(
        stdout(),
        EnterAlternateScreen,
        Clear(ClearType::All),
        EnableBracketedPaste
    )
    .map_err(failed)?;
    if is_in_gnu_screen() {
        return Ok(());
    }
    execute!(stdout(), EnableMouseCapture).map_err(failed)
}

/// Returns `true` inside GNU screen. While it reports the mouse, it keeps a lone Esc back until the
/// next key (4.9), so the mouse is not used there.
pub(super) fn is_in_gnu_screen() -> bool {
    std::env::var_os("STY").is_some_and(|value| !value.is_empty())
}

/// Restores the terminal. Ignores errors, because there is no terminal to report them on.
pub(super) fn leave() {
    let _ = disable_raw_mode();
    // Only once: a panic is printed between the hook and the end of the guard.
    if IS_TAKEN.swap(false, Ordering::Relaxed) {
        // Without an alternate screen, the shell goes on at the top.
        let _ = execute!(stdout(), Clear(ClearType::All), MoveTo(0, 0));
    }
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
