//! How a command ended, as an exit status and as a sentence.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By exit, with this status.
    Exit(u8),
    /// By a signal.
    Signal {
        /// Its number.
        number: i32,
        /// Whether it left a core file.
        core: bool,
    },
    /// The kernel would not say.
    Unknown,
}

impl Ended {
    /// The status to end with ourselves: the command's, 128 + number after a signal, as shells have it.
    pub(crate) fn status(self) -> u8 {
        match self {
            Ended::Exit(status) => status,
            Ended::Signal { number, .. } => u8::try_from(128 + number).unwrap_or(255),
            Ended::Unknown => 255,
        }
    }

    /// Whether it was killed by `SIGKILL`, or reports that its own child was.
    pub(crate) fn by_sigkill(self) -> bool {
        const SIGKILL: i32 = 9;
        self == Ended::Exit(128 + SIGKILL as u8)
            || matches!(self, Ended::Signal { number, .. } if number == SIGKILL)
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Exit((code & 0xff) as u8),
            (None, Some(number)) => Ended::Signal {
                number,
                core: status.core_dumped(),
            },
            (None, None) => Ended::Unknown,
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Ended::Exit(0) => f.write_str("ended"),
            Ended::Exit(status) => write!(f, "ended with status {status}"),
            Ended::Signal { number, core } => {
                f.write_str("was killed by ")?;
                match signal_hook::low_level::signal_name(number) {
                    Some(name) => f.write_str(name)?,
                    None => write!(f, "signal {number}")?,
                }
                f.write_str(if core { " (core dumped)" } else { "" })
            }
            Ended::Unknown => f.write_str("ended, its status could not be read"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_becomes_128_plus_its_number_and_is_named() {
        let ended = Ended::from(ExitStatus::from_raw(15));
        assert_eq!(ended.status(), 143);
        assert_eq!(ended.to_string(), "was killed by SIGTERM");
    }

    #[test]
    fn a_status_is_kept() {
        let ended = Ended::from(ExitStatus::from_raw(7 << 8));
        assert_eq!(
            (ended.status(), ended.to_string().as_str()),
            (7, "ended with status 7")
        );
    }

    #[test]
    fn a_shell_that_reports_a_killed_child_counts_as_killed() {
        assert!(Ended::Exit(137).by_sigkill());
        assert!(!Ended::Exit(1).by_sigkill());
    }
}
