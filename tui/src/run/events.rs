//! Sources of events: the terminal, or a script in tests.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use crossterm::Command;
use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{self, Event};

use super::editor;
use crate::Error;

/// A source of events.
pub(super) trait Events {
    /// Returns the next event, or `None` if none came in time.
    fn next(&mut self, patience: Duration) -> Result<Option<Event>, Error>;

    /// Restores the terminal and stops the process until it is continued.
    fn suspend(&mut self) -> Result<(), Error>;

    /// Gives the terminal to the editor until it ends. Returns a sentence about the result.
    fn edit(&mut self, path: &Path, line: Option<u32>) -> Result<String, Error>;

    /// Puts `text` into the clipboard of the terminal.
    fn copy(&mut self, text: &str) -> Result<(), Error>;
}

/// The keys, sizes and pastes of the terminal, and the signals that end a program.
#[derive(Debug)]
pub(super) struct TerminalEvents {
    #[cfg(unix)]
    ended: std::sync::Arc<std::sync::atomic::AtomicBool>,
}

impl TerminalEvents {
    pub(super) fn new() -> Result<Self, Error> {
        #[cfg(unix)]
        {
            use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
            // NOTE: the handler stays registered after the UI and sets a flag that nobody reads. A
            // caller that continues has handlers of its own, and restoring the default would
            // override them.
            let ended = std::sync::Arc::default();
            for signal in [SIGTERM, SIGHUP, SIGINT, SIGQUIT] {
                signal_hook::flag::register(signal, std::sync::Arc::clone(&ended))
                    .map_err(|error| Error::terminal("setting up signals", error))?;
            }
            Ok(TerminalEvents { ended })
        }
        #[cfg(not(unix))]
        Ok(TerminalEvents {})
    }
}

impl Events for TerminalEvents {
    fn edit(&mut self, path: &Path, line: Option<u32>) -> Result<String, Error> {
        super::terminal::leave();
        let text = editor::open(path, line);
        super::terminal::take()?;
        Ok(text)
    }

    fn copy(&mut self, text: &str) -> Result<(), Error> {
        let is_in_tmux = std::env::var_os("TMUX").is_some_and(|value| !value.is_empty());
        let is_screen = super::terminal::is_in_gnu_screen() && !is_in_tmux;
        let mut out = std::io::stdout();
        let written = out.write_all(clipboard(text, is_screen).as_bytes());
        written
            .and_then(|()| out.flush())
            .map_err(|error| Error::terminal("copying", error))
    }

    fn next(&mut self, patience: Duration) -> Result<Option<Event>, Error> {
        #[cfg(unix)]
        if self.ended.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Error::terminal(
                "reading keys",
                "a signal ended the program",
            ));
        }
        let failed = |error| Error::terminal("reading keys", error);
        #[cfg(unix)]
        let patience = wait_for_input(patience)?;
        if event::poll(patience).map_err(failed)? {
            event::read().map(Some).map_err(failed)
        } else {
            Ok(None)
        }
    }

    fn suspend(&mut self) -> Result<(), Error> {
        #[cfg(unix)]
        {
            use rustix::process::{Signal, getpid, kill_process};
            super::terminal::leave();
            // The process stops here until the shell continues it. Without job control, it
            // continues at once.
            let stopped = kill_process(getpid(), Signal::TSTP);
            super::terminal::take()?;
            stopped.map_err(|error| Error::terminal("suspending", error))?;
        }
        Ok(())
    }
}

/// Returns the sequence that puts `text` into the clipboard (OSC 52). GNU screen passes
/// it on only inside a sequence of its own. That one ends at the first ESC \, so the inner one ends
/// with BEL.
fn clipboard(text: &str, is_screen: bool) -> String {
    let mut sequence = String::new();
    // Writing to a string cannot fail.
    let _ = CopyToClipboard::to_clipboard_from(text).write_ansi(&mut sequence);
    if is_screen {
        let inner = sequence.trim_end_matches("\x1b\\");
        format!("\x1bP{inner}\x07\x1b\\")
    } else {
        sequence
    }
}

/// Waits for a key, and detects a terminal that is gone. Crossterm would read the end of file
/// forever and use a whole core.
#[cfg(unix)]
fn wait_for_input(patience: Duration) -> Result<Duration, Error> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = std::io::stdin();
    let mut waited = [PollFd::new(&stdin, PollFlags::IN)];
    let timeout = Timespec {
        tv_sec: patience.as_secs().try_into().unwrap_or(1),
        tv_nsec: patience.subsec_nanos().into(),
    };
    match poll(&mut waited, Some(&timeout)) {
        // A signal arrived. The next round handles it.
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(Error::terminal("waiting for keys", error)),
    }
    if waited[0]
        .revents()
        .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
    {
        return Err(Error::terminal("reading keys", "the terminal is gone"));
    }
    // Read all pending events now, including a changed size.
    Ok(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clipboard_gets_text_that_cannot_end_the_sequence() {
        assert_eq!(
            clipboard("src/a.rs:1", false),
            "\x1b]52;c;c3JjL2EucnM6MQ==\x1b\\"
        );
        let wrapped = clipboard("\x1b\\", true);
        assert_eq!(wrapped, "\x1bP\x1b]52;c;G1w=\x07\x1b\\");
        assert_eq!(wrapped.matches("\x1b\\").count(), 1);
    }
}
