//! The time that a run records: after a delay, and for a while.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::args::Window;

/// Pauses and resumes the recordings of a run when the time comes.
#[derive(Debug)]
pub(super) struct Recorded {
    window: Window,
    began: Instant,
    /// The last request to each recording: `true` is a pause.
    told: BTreeMap<PathBuf, bool>,
}

impl Recorded {
    pub(super) fn new(window: Window, began: Instant) -> Recorded {
        Recorded {
            window,
            began,
            told: BTreeMap::new(),
        }
    }

    /// Returns the moments at which recording begins and ends, after the start of the command.
    fn moments(&self) -> (Duration, Option<Duration>) {
        let begin = self.window.delay.unwrap_or_default();
        let end = self.window.duration;
        (begin, end.map(|duration| begin + duration))
    }

    /// Returns the time until recording begins or ends, or `longest` if that is shorter.
    pub(super) fn until_change(&self, longest: Duration) -> Duration {
        let now = self.began.elapsed();
        let (begin, end) = self.moments();
        let next = [Some(begin), end].into_iter().flatten();
        let next = next.filter(|moment| *moment > now).min();
        next.map_or(longest, |moment| longest.min(moment - now))
    }

    /// Pauses or resumes the recordings that are not as they should be now. Programs that start
    /// later begin paused if there is a delay.
    pub(super) fn tell(&mut self, recordings: &[PathBuf]) {
        if self.window == Window::default() {
            return;
        }
        let now = self.began.elapsed();
        let (begin, end) = self.moments();
        let is_paused = now < begin || end.is_some_and(|end| now >= end);
        for path in recordings {
            let begins_paused = self.window.delay.is_some();
            let was_paused = self.told.entry(path.clone()).or_insert(begins_paused);
            if *was_paused != is_paused {
                // A program that has ended has nothing to pause.
                #[cfg(target_os = "linux")]
                let _ = heapglass_profiler::attach::ask_paused(path, is_paused);
                *was_paused = is_paused;
            }
        }
    }
}
