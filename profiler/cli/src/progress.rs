//! A line on standard error that says what a command does, if that takes long.
//!
//! It is shown only if standard error is a terminal that understands escape sequences, so that it
//! never ends up in a file.

use std::fmt::Display;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use heapglass_profiler::units::printable;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

use crate::terminal;

/// The waiting time after which the line is shown.
const PATIENCE: Duration = Duration::from_millis(400);
/// The interval between drawings.
const INTERVAL: Duration = Duration::from_millis(100);

/// Work that may take long. Its line disappears when this is dropped.
pub(crate) struct Working {
    bar: ProgressBar,
    /// Dropped to end the thread that shows the line.
    _ends: Option<Sender<()>>,
}

impl Working {
    /// Begins work; `what` says what is done.
    pub(crate) fn new(what: impl Display) -> Working {
        let style = ProgressStyle::with_template("heapglass: {msg}");
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
            .with_finish(ProgressFinish::AndClear);
        let working = Working {
            _ends: terminal::understands_escapes(&io::stderr()).then(|| show_later(bar.clone())),
            bar,
        };
        working.show(what);
        working
    }

    /// Says what is done now. Escapes control characters, because names may come from anywhere.
    pub(crate) fn show(&self, what: impl Display) {
        let what = what.to_string();
        self.bar.set_message(printable(&what).into_owned());
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        // The thread may show the line until then, and has a bar of its own.
        self._ends = None;
        self.bar.finish_and_clear();
    }
}

/// Shows the bar when the work has taken a while, also if nothing is reported meanwhile.
fn show_later(bar: ProgressBar) -> Sender<()> {
    let (ends, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let mut wait = PATIENCE;
        while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            if wait == PATIENCE {
                bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
                wait = INTERVAL;
            }
            bar.tick();
        }
    });
    ends
}
