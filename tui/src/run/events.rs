//! Where events come from: the terminal, or a script in tests.

use std::time::Duration;

use crossterm::event::{self, Event};

use crate::Error;

/// A source of events.
pub(super) trait Events {
    /// The next event, or `None` when none came in time.
    fn next(&mut self, patience: Duration) -> Result<Option<Event>, Error>;

    /// Stops the process until somebody continues it, the terminal given back meanwhile.
    fn suspend(&mut self) -> Result<(), Error>;
}

/// The terminal's keys, sizes and pastes, and the signals that end a program.
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
            // NOTE: stays registered after the UI, setting a flag nobody reads: whoever waits for a program after it has
            // handlers of their own, and restoring the default would overrule them.
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
            // Stops here; goes on when the shell continues it. Without job control it goes on at once.
            let stopped = kill_process(getpid(), Signal::TSTP);
            super::terminal::take()?;
            stopped.map_err(|error| Error::terminal("suspending", error))?;
        }
        Ok(())
    }
}

/// Waits for a key, and sees a terminal that is gone: crossterm would read its end without end, at a whole core.
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
        // A signal: what it means, the next round will tell.
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(Error::terminal("waiting for keys", error)),
    }
    if waited[0]
        .revents()
        .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
    {
        return Err(Error::terminal("reading keys", "the terminal is gone"));
    }
    // What there is, a changed size included, is there now.
    Ok(Duration::ZERO)
}
