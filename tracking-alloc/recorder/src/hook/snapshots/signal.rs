//! The signal at which a snapshot is taken: its handler only sets a flag, which the next check
//! sees.

use crate::sys;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::*};

/// `true` if the signal came and no snapshot was taken yet.
static CAME: AtomicBool = AtomicBool::new(false);
/// The signal whose handler was installed; 0 = none.
static INSTALLED: AtomicI32 = AtomicI32::new(0);

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

/// Returns `true` if the signal came. Does not forget it.
#[inline]
pub(super) fn came() -> bool {
    CAME.load(Relaxed)
}

/// Forgets that the signal came.
pub(super) fn forget() {
    CAME.store(false, Relaxed);
}

extern "C" fn note(_: libc::c_int) {
    CAME.store(true, Relaxed);
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

/// Installs the handler of the signal that a text names, where the program has none.
pub(super) fn install(text: &[u8]) {
    if text.is_empty() {
        return;
    }
    let Some(signal) = parse(text) else {
        sys::write_stderr(&[
            b"heapglass: no snapshots by signal: invalid HEAPGLASS_SNAPSHOT_SIGNAL `",
            text,
            b"`; use USR1, USR2, HUP, ALRM, VTALRM, PROF or WINCH\n",
        ]);
        return;
    };
    if handler_of(signal) != Some(libc::SIG_DFL) {
        sys::write_stderr(&[
            b"heapglass: no snapshots by signal: the program handles or ignores ",
            text,
            b" itself; name another one in HEAPGLASS_SNAPSHOT_SIGNAL\n",
        ]);
        return;
    }
    if set_handler(signal, note as *const () as libc::sighandler_t) {
        INSTALLED.store(signal, Relaxed);
    }
}

/// Removes the handler, unless the program has set its own since. The code of this library may be
/// unloaded.
pub(super) fn remove() {
    let signal = INSTALLED.swap(0, Relaxed);
    if signal != 0 && handler_of(signal) == Some(note as *const () as libc::sighandler_t) {
        // NOTE: ignored, because the default of most ends the program, and the signal may be on its
        // way.
        set_handler(signal, libc::SIG_IGN);
    }
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
    // SAFETY: the handler only stores a flag.
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
