//! The states of a process, which records once, or again each time that somebody attaches to it.
//!
//! ```text
//!   NOTHING ──▶ STARTING ──▶ RECORDING ──▶ FINISHING | thread ──▶ ENDED ─┐
//!                 ▲ ▲ └──▶ REFUSED ─┐                                    │
//!                 │ └───────────────┘                                    │
//!                 └────────────────────── attach ────────────────────────┘
//! ```
//! The word lies on the page that the kernel wipes in a forked child. So a child begins at
//! `NOTHING` whatever its parent was doing, and never writes into or waits for inherited state.

use crate::{state, sys};
use std::sync::atomic::{AtomicBool, Ordering::*};

const NOTHING: u32 = 0;
const STARTING: u32 = 1;
/// A start failed. Another one may be tried.
const REFUSED: u32 = 2;
const RECORDING: u32 = 3;
const ENDED: u32 = 4;
/// Added to the number of the thread that finishes.
const FINISHING: u32 = 1 << 31;

/// `true` if the tables, locks and lanes were created, by this process or its parent.
static MADE: AtomicBool = AtomicBool::new(false);

/// Maximum wait for another thread to finish, about ten seconds.
const SLEEPS: u32 = 100_000;

fn advance(from: u32, to: u32) -> bool {
    let word = state::life();
    word.compare_exchange(from, to, AcqRel, Acquire).is_ok()
}

/// Begins a start. Returns `false` if this process is starting, recording, or has recorded before.
/// Calls `forget_parent` if the state in memory is inherited: locks held by threads that do not
/// exist here, and tables of the parent's recording.
pub(crate) fn start(forget_parent: impl FnOnce()) -> bool {
    if advance(REFUSED, STARTING) {
        return true;
    }
    let starts = advance(NOTHING, STARTING);
    if starts && MADE.swap(true, AcqRel) {
        forget_parent();
    }
    starts
}

/// Begins another start after a recording has ended. Returns `false` if none has.
pub(crate) fn start_again() -> bool {
    advance(ENDED, STARTING)
}

/// Takes back [`start_again`].
pub(crate) fn stay_ended() {
    state::life().store(ENDED, Release);
}

/// Ends the start, successful or not.
pub(crate) fn started(records: bool) {
    let next = if records { RECORDING } else { REFUSED };
    state::life().store(next, Release);
}

/// Begins to finish the recording. If several threads try, one gets `true` and must call [`ended`];
/// the others get `false` when the recording is finished.
pub(crate) fn finish() -> bool {
    let me = FINISHING | sys::thread_id();
    if advance(RECORDING, me) {
        return true;
    }
    // A signal handler in the finishing thread would wait for itself, and the wait for a killed
    // thread would never end.
    sys::Patience::new(SLEEPS).wait_until(|| {
        let life = state::life().load(Acquire);
        life & FINISHING == 0 || life == me
    });
    false
}

/// Notes that the recording is finished.
pub(crate) fn ended() {
    state::life().store(ENDED, Release);
}

/// Returns `true` if this process, not its parent, has a recording, in progress or finished.
pub(crate) fn has_recording() -> bool {
    state::life().load(Acquire) >= RECORDING
}
