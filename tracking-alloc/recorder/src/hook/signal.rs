//! Signals by which the program is asked for something. A handler only counts, and the next cold
//! path sees the count.

use crate::sys;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::*};

/// A signal that a variable of the environment names.
pub(super) struct Signal {
    /// Number of times that the signal came since somebody looked.
    came: AtomicU32,
    /// The signal whose handler was installed; 0 = none.
    installed: AtomicI32,
}

/// The signal at which a snapshot is taken.
pub(super) static SNAPSHOT: Signal = Signal::new();
/// The signal that pauses and resumes the recording.
pub(super) static TOGGLE: Signal = Signal::new();

/// Installs the handlers of the signals that the environment names.
pub(crate) fn install_signals() {
    SNAPSHOT.install(b"HEAPGLASS_SNAPSHOT_SIGNAL", b"no snapshots by signal");
    TOGGLE.install(b"HEAPGLASS_TOGGLE_SIGNAL", b"no pauses by signal");
}

/// Removes the handlers at the end of the recording.
pub(crate) fn remove_signals() {
    SNAPSHOT.remove();
    TOGGLE.remove();
}

/// Forgets the signals that came to the parent, for a forked child that starts its own recording.
pub(crate) fn forget_signals() {
    SNAPSHOT.take();
    TOGGLE.take();
}

/// Signals by name, without `SIG`. Others stop or end the program for good reasons.
const SIGNALS: [(&[u8], libc::c_int); 7] = [
    (b"USR1", libc::SIGUSR1),
    (b"USR2", libc::SIGUSR2),
    (b"HUP", libc::SIGHUP),
    (b"ALRM", libc::SIGALRM),
    (b"VTALRM", libc::SIGVTALRM),
    (b"PROF", libc::SIGPROF),
    (b"WINCH", libc::SIGWINCH),
];

extern "C" fn note(number: libc::c_int) {
    for signal in [&SNAPSHOT, &TOGGLE] {
        if signal.installed.load(Relaxed) == number {
            signal.came.fetch_add(1, Relaxed);
        }
    }
}

impl Signal {
    const fn new() -> Signal {
        Signal {
            came: AtomicU32::new(0),
            installed: AtomicI32::new(0),
        }
    }

    /// Returns `true` if the signal came. Does not forget it.
    #[inline]
    pub(super) fn came(&self) -> bool {
        self.came.load(Relaxed) != 0
    }

    /// Returns how often the signal came, and forgets it.
    pub(super) fn take(&self) -> u32 {
        self.came.swap(0, Relaxed)
    }

    /// Installs the handler of the signal in a variable of the environment, unless the program has
    /// one. `purpose` is what does not happen otherwise: `no snapshots by signal`.
    pub(super) fn install(&self, variable: &[u8], purpose: &[u8]) {
        let Some(text) = sys::environment(variable).filter(|text| !text.is_empty()) else {
            return;
        };
        let Some(number) = parse(text) else {
            sys::write_stderr(&[
                b"heapglass: ",
                purpose,
                b": invalid ",
                variable,
                b" `",
                text,
                b"`; use USR1, USR2, HUP, ALRM, VTALRM, PROF or WINCH\n",
            ]);
            return;
        };
        let handler = handler_of(number);
        if handler == Some(own_handler()) && self.installed.load(Relaxed) == number {
            // Inherited by a forked child.
            return;
        }
        if handler != Some(libc::SIG_DFL) {
            sys::write_stderr(&[
                b"heapglass: ",
                purpose,
                b": the program handles, ignores or already uses ",
                text,
                b" itself; name another one in ",
                variable,
                b"\n",
            ]);
            return;
        }
        self.installed.store(number, Relaxed);
        if !set_handler(number, own_handler()) {
            self.installed.store(0, Relaxed);
        }
    }

    /// Removes the handler, unless the program has set its own since. The code of this library may
    /// be unloaded.
    pub(super) fn remove(&self) {
        let number = self.installed.swap(0, Relaxed);
        if number != 0 && handler_of(number) == Some(own_handler()) {
            // NOTE: ignored, because the default of most ends the program, and the signal may be on
            // its way.
            set_handler(number, libc::SIG_IGN);
        }
    }
}

/// Returns the signal with a name (`USR2`, `SIGUSR2`) or number.
fn parse(text: &[u8]) -> Option<libc::c_int> {
    let name = text.strip_prefix(b"SIG").unwrap_or(text);
    let by_name = SIGNALS.iter().find(|(known, _)| *known == name);
    let number = || std::str::from_utf8(text).ok()?.parse().ok();
    let signal = by_name.map(|(_, signal)| *signal).or_else(number)?;
    SIGNALS
        .iter()
        .any(|(_, known)| *known == signal)
        .then_some(signal)
}

fn own_handler() -> libc::sighandler_t {
    note as *const () as libc::sighandler_t
}

fn handler_of(signal: libc::c_int) -> Option<libc::sighandler_t> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a place to write to; nothing is changed.
    let asked = unsafe { libc::sigaction(signal, null(), action.as_mut_ptr()) };
    // SAFETY: all-zero bytes are a valid action, and the call may have overwritten them.
    (asked == 0).then(|| unsafe { action.assume_init() }.sa_sigaction)
}

fn set_handler(signal: libc::c_int, handler: libc::sighandler_t) -> bool {
    // SAFETY: all-zero bytes are a valid action.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the handler only reads and increments atomics.
    unsafe { libc::sigaction(signal, &raw const action, null_mut()) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_known_by_name_and_number() {
        assert_eq!(parse(b"USR2"), Some(libc::SIGUSR2));
        assert_eq!(parse(b"SIGUSR1"), Some(libc::SIGUSR1));
        assert_eq!(parse(b"12"), Some(12).filter(|_| libc::SIGUSR2 == 12));
        for wrong in [&b"KILL"[..], b"9", b"SEGV", b"11", b"usr1", b"0", b"-1"] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }
}
