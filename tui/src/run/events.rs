//! Sources of events: the terminal, or a script in tests.

use std::time::Duration;

use crossterm::event::{self, Event};

use crate::Error;

/// A source of events.
pub(super) trait Events {
    /// Returns the next event, or `None` if none came in time.
    fn next(&mut self, patience: Duration) -> Result<Option<Event>, Error>;

    /// Restores the terminal and stops the process until it is continued.
    fn suspend(&mut self) -> Result<(), Error>;
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
