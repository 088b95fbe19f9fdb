//! The end of a command, as an exit status and as a sentence.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The end of a command; `None` if its status could not be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended(pub(super) Option<ExitStatus>);

impl Ended {
    /// Returns the number of the signal that killed the command.
    pub(crate) fn signal(self) -> Option<i32> {
        self.0?.signal()
    }

    /// Returns the exit status for heapglass: that of the command, or 128 + number after a signal,
    /// as in shells.
    pub(crate) fn status(self) -> u8 {
        let after_signal = || self.signal().map(|number| 128 + number);
        let status = self
            .0
            .and_then(|status| status.code())
            .or_else(after_signal);
        status.map_or(255, |status| u8::try_from(status).unwrap_or(255))
    }

    /// Returns `true` if the command was killed by `SIGKILL`, or reports this of its own child.
    pub(crate) fn by_sigkill(self) -> bool {
        const SIGKILL: u8 = 9;
        self.status() == 128 + SIGKILL
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(status) = self.0 else {
            return f.write_str("ended, but its status could not be read");
        };
        let Some(number) = status.signal() else {
            return match self.status() {
                0 => f.write_str("ended"),
                status => write!(f, "ended with status {status}"),
            };
        };
        f.write_str("was killed by ")?;
        match signal_hook::low_level::signal_name(number) {
            Some(name) => f.write_str(name)?,
            None => write!(f, "signal {number}")?,
        }
        f.write_str(if status.core_dumped() {
            " (core dumped)"
        } else {
            ""
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(raw: i32) -> Ended {
        Ended(Some(ExitStatus::from_raw(raw)))
    }

    #[test]
    fn a_signal_becomes_128_plus_its_number_and_is_named() {
        let ended = of(15);
        assert_eq!((ended.status(), ended.signal()), (143, Some(15)));
        assert_eq!(ended.to_string(), "was killed by SIGTERM");
    }

    #[test]
    fn a_status_is_kept() {
        let ended = of(7 << 8);
        assert_eq!(
            (ended.status(), ended.to_string().as_str()),
            (7, "ended with status 7")
        );
    }

    #[test]
    fn a_shell_that_reports_a_killed_child_counts_as_killed() {
        assert!(of(137 << 8).by_sigkill() && of(9).by_sigkill());
        assert!(!of(1 << 8).by_sigkill() && !Ended(None).by_sigkill());
    }
}
